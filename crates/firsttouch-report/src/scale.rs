//! Axes: from values to coordinates, with ticks at numbers people like.

/// How values are spread over the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spread {
    Linear,
    Log,
}

/// An axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    spread: Spread,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

/// More ticks than this are never drawn, whatever the values.
const MOST_TICKS: usize = 12;
/// Beyond this span values are shown on a logarithmic axis.
const LINEAR_SPAN: f64 = 4.0;

impl Scale {
    /// A linear axis; values that are not finite, or an empty range, give an axis around the low end.
    pub(crate) fn linear(low: f64, high: f64, pixels: (f64, f64)) -> Self {
        let low = if low.is_finite() { low.clamp(-1e300, 1e300) } else { 0.0 };
        let high = if high.is_finite() { high.clamp(-1e300, 1e300) } else { low };
        let (low, high) = if high > low { (low, high) } else { (low, low + low.abs().max(1.0) * 0.05) };
        Scale { spread: Spread::Linear, low, high, from: pixels.0, to: pixels.1 }
    }

    /// A logarithmic axis; the ends are forced to be positive and apart.
    pub(crate) fn log(low: f64, high: f64, pixels: (f64, f64)) -> Self {
        let low = if low.is_finite() { low.clamp(1e-12, 1e12) } else { 1.0 };
        let high = if high.is_finite() { high.clamp(1e-12, 1e15) } else { low };
        let high = if high > low * 1.001 { high } else { low * 1.05 };
        Scale { spread: Spread::Log, low, high, from: pixels.0, to: pixels.1 }
    }

    /// Logarithmic where the values span more than a factor of four, linear otherwise.
    pub(crate) fn by_span(low: f64, high: f64, pixels: (f64, f64)) -> Self {
        if low > 0.0 && high / low > LINEAR_SPAN {
            Scale::log(low, high, pixels)
        } else {
            Scale::linear(low, high, pixels)
        }
    }

    pub(crate) fn is_log(&self) -> bool {
        self.spread == Spread::Log
    }

    /// The coordinate of a value; values beyond an end are drawn at the end.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = match self.spread {
            Spread::Linear => (value - self.low) / (self.high - self.low),
            Spread::Log => (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln(),
        };
        let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
        self.from + share * (self.to - self.from)
    }

    /// Whether the value lies on the axis.
    pub(crate) fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// About `wanted` round numbers on the axis with their labels.
    pub(crate) fn ticks(&self, wanted: usize) -> Vec<(f64, String)> {
        if self.is_log() {
            let values = log_ticks(self.low, self.high, wanted);
            if values.len() >= 3 {
                return values.into_iter().map(|value| (value, plain(value))).collect();
            }
        }
        let step = nice_step((self.high - self.low) / wanted.max(1) as f64);
        let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
        linear_ticks(self.low, self.high, step)
            .into_iter()
            .map(|value| {
                let label =
                    if step.abs() < 1e9 { format!("{:.decimals$}", value + 0.0) } else { plain(value) };
                (value, label)
            })
            .collect()
    }

    /// About `wanted` whole numbers on the axis.
    pub(crate) fn whole_ticks(&self, wanted: usize) -> Vec<(f64, String)> {
        let step = nice_step((self.high - self.low) / wanted.max(1) as f64).max(1.0);
        linear_ticks(self.low, self.high, step).into_iter().map(|value| (value, plain(value + 0.0))).collect()
    }

    /// Ticks of an axis of bytes: round in binary units.
    pub(crate) fn byte_ticks(&self, wanted: usize) -> Vec<(f64, String)> {
        let step = binary_step((self.high - self.low) / wanted.max(1) as f64);
        linear_ticks(self.low, self.high, step)
            .into_iter()
            .map(|value| (value, crate::number::bytes(value)))
            .collect()
    }
}

/// The smallest of 1, 2, 5 times a power of ten that is not below the value.
fn nice_step(least: f64) -> f64 {
    let least = if least.is_finite() && least > 0.0 { least } else { 1.0 };
    let power = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= least * 0.999_999);
    factor.unwrap_or(10.0) * power
}

fn binary_step(least: f64) -> f64 {
    let least = if least.is_finite() { least.clamp(1.0, 1e18) } else { 1.0 };
    2f64.powf(least.log2().ceil())
}

fn linear_ticks(low: f64, high: f64, step: f64) -> Vec<f64> {
    let first = (low / step - 1e-9).ceil();
    (0..MOST_TICKS)
        .map(|index| (first + index as f64) * step)
        .take_while(|value| *value <= high + step * 1e-9)
        .filter(|value| value.is_finite())
        .collect()
}

/// 1, 2 and 5 times the powers of ten; only the powers where that is too many.
fn log_ticks(low: f64, high: f64, wanted: usize) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let within = |factors: &'static [f64]| -> Vec<f64> {
        (first..=last)
            .flat_map(|exponent| factors.iter().map(move |factor| factor * 10f64.powi(exponent)))
            .filter(|value| (low * 0.999_999..=high * 1.000_001).contains(value))
            .collect()
    };
    let fine = within(&[1.0, 2.0, 5.0]);
    if fine.len() <= wanted + 2 {
        return fine;
    }
    let powers = within(&[1.0]);
    let every = powers.len().div_ceil(MOST_TICKS).max(1);
    powers.into_iter().step_by(every).collect()
}

fn plain(value: f64) -> String {
    if value != 0.0 && !(1e-4..1e6).contains(&value.abs()) {
        return format!("{value:.0e}");
    }
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(ticks: &[(f64, String)]) -> Vec<&str> {
        ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn ticks_are_round() {
        let scale = Scale::linear(0.0, 9.7, (0.0, 100.0));
        assert_eq!(labels(&scale.ticks(5)), ["0", "2", "4", "6", "8"]);
        let scale = Scale::linear(0.93, 1.07, (0.0, 100.0));
        assert_eq!(labels(&scale.ticks(5)), ["0.95", "1.00", "1.05"]);
        let scale = Scale::by_span(0.1, 20.0, (0.0, 100.0));
        assert_eq!(labels(&scale.ticks(7)), ["0.1", "0.2", "0.5", "1", "2", "5", "10", "20"]);
        let scale = Scale::linear(-0.5, 6.5, (0.0, 100.0));
        assert_eq!(labels(&scale.whole_ticks(20)), ["0", "1", "2", "3", "4", "5", "6"]);
        let scale = Scale::linear(0.0, 400_000_000.0, (0.0, 100.0));
        assert_eq!(labels(&scale.byte_ticks(4)), ["0 B", "128 MiB", "256 MiB"]);
    }

    #[test]
    fn the_ends_are_the_ends() {
        for scale in [Scale::linear(2.0, 4.0, (10.0, 110.0)), Scale::log(1.0, 16.0, (10.0, 110.0))] {
            assert_eq!(scale.at(0.0), 10.0);
            assert!((scale.at(1e9) - 110.0).abs() < 1e-9);
        }
        assert_eq!(Scale::log(1.0, 16.0, (0.0, 100.0)).at(4.0), 50.0);
    }

    proptest! {
        #[test]
        fn no_values_break_an_axis(low: f64, high: f64, value: f64, wanted in 0usize..9) {
            for scale in [Scale::linear(low, high, (0.0, 100.0)), Scale::log(low, high, (0.0, 100.0)), Scale::by_span(low, high, (0.0, 100.0))] {
                prop_assert!((0.0..=100.0).contains(&scale.at(value)));
                prop_assert!(scale.ticks(wanted).len() <= 30);
                prop_assert!(scale.whole_ticks(wanted).len() <= MOST_TICKS);
                prop_assert!(scale.byte_ticks(wanted).len() <= MOST_TICKS);
            }
        }
    }
}
