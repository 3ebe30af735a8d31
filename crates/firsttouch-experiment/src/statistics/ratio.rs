//! The ratio of two configurations and what it says.

use super::sample::{mean, standard_deviation};
use super::student::{MeanInterval, values_needed};
use crate::{Ratio, Verdict};

/// Natural logarithms beyond this are cut off: their exponentials would not survive a JSON document.
const LARGEST_LOGARITHM: f64 = 700.0;

/// Logarithms of how many times faster `times` are than `reference`, pair by pair. Pairs in which a time is not
/// positive and finite say nothing and are left out.
pub fn log_ratios<'a>(pairs: impl IntoIterator<Item = (&'a f64, &'a f64)>) -> Vec<f64> {
    let usable = |time: f64| time > 0.0 && time.is_finite();
    pairs
        .into_iter()
        .filter(|&(&reference, &time)| usable(reference) && usable(time))
        .map(|(reference, time)| reference.ln() - time.ln())
        .collect()
}

/// The geometric mean of the ratios with its Student-t interval that misses with probability `alpha`; `None` with
/// fewer than two.
pub fn ratio_interval(log_ratios: &[f64], alpha: f64) -> Option<Ratio> {
    let interval = MeanInterval::of(log_ratios, alpha)?;
    let half_width = interval.half_width?;
    let back = |logarithm: f64| logarithm.clamp(-LARGEST_LOGARITHM, LARGEST_LOGARITHM).exp();
    Some(Ratio {
        value: back(interval.mean),
        low: back(interval.mean - half_width),
        high: back(interval.mean + half_width),
    })
}

/// Reads the verdict off the interval, so that whoever sees the one can check the other.
///
/// An interval wholly inside the band is `Same` even if it excludes 1: a difference that is certain and certainly
/// too small to matter.
pub fn judge(ratio: Ratio, same_band: f64) -> Verdict {
    if ratio.low >= 1.0 - same_band && ratio.high <= 1.0 + same_band {
        Verdict::Same
    } else if ratio.low > 1.0 {
        Verdict::Faster
    } else if ratio.high < 1.0 {
        Verdict::Slower
    } else {
        Verdict::Undecided
    }
}

/// About how many more pairs settle an undecided ratio, if mean and spread stay as they are: until the interval
/// excludes 1 or fits into the band, whichever is nearer. `None` with fewer than two pairs.
pub fn more_pairs_needed(log_ratios: &[f64], alpha: f64, same_band: f64) -> Option<u32> {
    let deviation = standard_deviation(log_ratios)?;
    let distance = mean(log_ratios)?.abs();
    let room_in_band = same_band.ln_1p() - distance;
    let target = distance.max(room_in_band);
    let needed = values_needed(deviation, target, alpha);
    Some(needed.saturating_sub(log_ratios.len() as u32).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(low: f64, high: f64) -> Ratio {
        Ratio { value: (low * high).sqrt(), low, high }
    }

    #[test]
    fn a_ratio_by_hand() {
        // Ratios 2 and 8: geometric mean 4. Logarithms ln 2 and ln 8 have s = ln 4 / sqrt 2, so the half-width is
        // 12.7062 * ln 4 / 2 = ln 4 * 6.3531.
        let logs = log_ratios([(&2.0, &1.0), (&8.0, &1.0)]);
        let interval = ratio_interval(&logs, 0.05).unwrap();
        assert!((interval.value - 4.0).abs() < 1e-12);
        assert!((interval.high.ln() - 4f64.ln() * 7.353_1).abs() < 1e-3);
        assert!((interval.low.ln() + 4f64.ln() * 5.353_1).abs() < 1e-3);
    }

    #[test]
    fn useless_pairs_are_left_out() {
        assert_eq!(
            log_ratios([(&0.0, &1.0), (&1.0, &f64::NAN), (&2.0, &2.0), (&f64::INFINITY, &1.0)]),
            [0.0]
        );
        assert_eq!(ratio_interval(&[0.1], 0.05), None);
        assert_eq!(ratio_interval(&[], 0.05), None);
    }

    #[test]
    fn the_interval_speaks() {
        assert_eq!(judge(ratio(1.01, 1.06), 0.02), Verdict::Faster);
        assert_eq!(judge(ratio(0.90, 0.99), 0.02), Verdict::Slower);
        assert_eq!(judge(ratio(0.985, 1.015), 0.02), Verdict::Same);
        assert_eq!(judge(ratio(0.97, 1.01), 0.02), Verdict::Undecided);
        assert_eq!(
            judge(ratio(1.003, 1.015), 0.02),
            Verdict::Same,
            "certain, and certainly too small to matter"
        );
        assert_eq!(judge(ratio(1.0, 1.5), 0.02), Verdict::Undecided);
    }

    #[test]
    fn more_pairs_end_the_doubt() {
        // Mean 1 %, spread 4 %: half-width 1 % needs about (2 * 0.04 / 0.01)^2 = 64 pairs.
        let logs: Vec<f64> = (0..10).map(|i| 0.01 + if i % 2 == 0 { 0.038 } else { -0.038 }).collect();
        let more = more_pairs_needed(&logs, 0.05, 0.02).unwrap();
        assert!((50..65).contains(&more), "{more}");
        assert_eq!(more_pairs_needed(&[0.1], 0.05, 0.02), None);
        assert_eq!(more_pairs_needed(&[0.1, 0.1], 0.05, 0.02), Some(1));
    }

    #[test]
    fn absurd_spreads_stay_finite() {
        let interval = ratio_interval(&[-600.0, 650.0], 0.001).unwrap();
        assert!(interval.low > 0.0 && interval.high.is_finite());
    }
}
