//! Student's t: the interval of a mean, and its distribution.

use super::sample::{mean, standard_deviation};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Upper tails are clamped into this range: outside it the library's inversion loses its digits, and no verdict
/// needs a level so extreme.
const UPPER_TAILS: (f64, f64) = (1e-6, 0.5);

/// A mean with the half-width of its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanInterval {
    /// The arithmetic mean.
    pub mean: f64,
    /// Half the width of the interval; `None` with a single value.
    pub half_width: Option<f64>,
}

impl MeanInterval {
    /// The interval of the mean of `values` that misses with probability `alpha`; `None` of nothing.
    pub fn of(values: &[f64], alpha: f64) -> Option<Self> {
        let mean = mean(values)?;
        let half_width = standard_deviation(values).map(|deviation| {
            quantile(0.5 * alpha, (values.len() - 1) as f64) * deviation / (values.len() as f64).sqrt()
        });
        Some(MeanInterval { mean, half_width })
    }
}

/// The value that Student's t with `freedom` degrees exceeds with probability `upper_tail`, which is clamped between
/// one in a million and one half. Fewer than one degree of freedom counts as one.
pub fn quantile(upper_tail: f64, freedom: f64) -> f64 {
    let (least, most) = UPPER_TAILS;
    distribution(freedom).map_or(f64::INFINITY, |t| -t.inverse_cdf(upper_tail.clamp(least, most)))
}

/// Probability that Student's t lies farther from 0 than `t`, on either side.
pub(crate) fn tail(t: f64, freedom: f64) -> Option<f64> {
    let p = 2.0 * distribution(freedom)?.sf(t.abs());
    p.is_finite().then_some(p.clamp(0.0, 1.0))
}

/// Probability that Student's t lies below `t`.
pub(crate) fn below(t: f64, freedom: f64) -> f64 {
    distribution(freedom).map_or(0.5, |distribution| distribution.cdf(t))
}

fn distribution(freedom: f64) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, freedom.max(1.0)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_agree_with_the_printed_tables() {
        // Upper 2.5 %, 0.5 % and 0.05 % points as any table of Student's t prints them.
        let table = [
            (0.025, 1.0, 12.706),
            (0.025, 2.0, 4.303),
            (0.025, 4.0, 2.776),
            (0.025, 9.0, 2.262),
            (0.025, 10.0, 2.228),
            (0.025, 30.0, 2.042),
            (0.025, 120.0, 1.980),
            (0.005, 1.0, 63.657),
            (0.005, 9.0, 3.250),
            (0.005, 20.0, 2.845),
            (0.0005, 5.0, 6.869),
            (0.0005, 10.0, 4.587),
        ];
        for (upper_tail, freedom, printed) in table {
            let computed = quantile(upper_tail, freedom);
            assert!((computed - printed).abs() < 6e-4, "{upper_tail} {freedom}: {computed} != {printed}");
        }
    }

    #[test]
    fn quantile_and_tail_are_inverse_where_verdicts_need_them() {
        for freedom in [1.0, 2.0, 4.0, 9.0, 50.0, 400.0] {
            for upper_tail in [2e-6, 1e-4, 1e-3, 0.0036, 0.025, 0.2] {
                let back = tail(quantile(upper_tail, freedom), freedom).unwrap() / 2.0;
                assert!((back / upper_tail - 1.0).abs() < 1e-4, "{freedom} {upper_tail} {back}");
            }
        }
    }

    #[test]
    fn interval_of_a_mean_by_hand() {
        // Mean 3, s = sqrt(2.5), t(4) = 2.776445: half-width 2.776445 * 1.581139 / 2.236068 = 1.963243.
        let interval = MeanInterval::of(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.05).unwrap();
        assert_eq!(interval.mean, 3.0);
        assert!((interval.half_width.unwrap() - 1.963_243).abs() < 1e-5);
    }

    #[test]
    fn one_value_has_a_mean_and_no_interval() {
        let interval = MeanInterval::of(&[2.0], 0.05).unwrap();
        assert_eq!(interval, MeanInterval { mean: 2.0, half_width: None });
        assert_eq!(MeanInterval::of(&[], 0.05), None);
    }
}
