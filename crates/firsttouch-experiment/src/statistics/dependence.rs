//! Runs that depend on runs before them, which no rule for independent noise sees.

use super::layout::{Block, residuals};
use super::sample::mean;
use super::student::tail;

/// Risk of a false alarm over all configurations, for each of the two questions.
const ALPHA: f64 = 0.05;

/// Of fewer blocks nothing is told: the distributions below are those of many.
const FEWEST_BLOCKS: usize = 8;

/// Logarithms of measurements that differ by no more than this in the mean differ by rounding alone.
const ROUNDING: f64 = 1e-12;

/// A configuration whose runs resemble its own runs in the block before, more than chance makes them: a slow one follows a slow one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Persistence {
    /// The configuration, by its entry in the blocks.
    pub configuration: usize,
    /// Correlation of a run with the one in the block before.
    pub correlation: f64,
}

/// The most persistent configuration, if there is one; of two alone, which one it is cannot be told.
///
/// The first serial correlation of the residuals of a two-way layout, which takes out what a drift of the machine has in common for all.
/// Without dependence it is about normal with a mean of −1/n and a variance of 1/n (M. Bartlett 1946; G. Box and G. Jenkins,
/// *Time Series Analysis*, 1970).
pub fn persistence(blocks: &[Block]) -> Option<Persistence> {
    let residuals = residuals(blocks);
    let configurations = blocks.first()?.len();
    // The residuals of a block add up to nothing: of two configurations they say the same.
    let level = ALPHA / configurations.saturating_sub(1).max(1) as f64;
    let of = |configuration: usize| {
        let values: Vec<f64> = residuals.iter().filter_map(|block| block[configuration]).collect();
        let (correlation, p) = serial_correlation(&values)?;
        (correlation > 0.0 && p < level).then_some(Persistence { configuration, correlation })
    };
    (0..configurations).filter_map(of).max_by(|left, right| left.correlation.total_cmp(&right.correlation))
}

/// The first serial correlation of logarithms around 0, and how likely chance makes one as large; `None` of too few, and where they are all the same.
fn serial_correlation(values: &[f64]) -> Option<(f64, f64)> {
    let squares: f64 = values.iter().map(|value| value * value).sum();
    let count = values.len() as f64;
    if values.len() < FEWEST_BLOCKS || squares <= count * ROUNDING * ROUNDING {
        return None;
    }
    let products: f64 = values.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let correlation = products / squares;
    let p = 0.5 * tail((correlation + 1.0 / count) * count.sqrt(), f64::INFINITY)?;
    Some((correlation, p))
}

/// The same of configurations that ran one after the other: the runs of each resemble its own runs before. A straight trend, which
/// [`drift`](super::drift::drift) tells of, is taken out.
pub fn persistence_in_series(series: &[Vec<f64>]) -> Option<Persistence> {
    let level = ALPHA / series.len().max(1) as f64;
    let of = |(configuration, values): (usize, &Vec<f64>)| {
        let (correlation, p) = serial_correlation(&without_trend(values)?)?;
        (correlation > 0.0 && p < level).then_some(Persistence { configuration, correlation })
    };
    let found = series.iter().enumerate().filter_map(of);
    found.max_by(|left, right| left.correlation.total_cmp(&right.correlation))
}

/// What is left of values when the straight line through them is taken out.
fn without_trend(values: &[f64]) -> Option<Vec<f64>> {
    let (centre, middle) = (mean(values)?, 0.5 * (values.len() as f64 - 1.0));
    let places = (0..values.len()).map(|place| place as f64 - middle);
    let spread: f64 = places.clone().map(|place| place * place).sum();
    let rise: f64 = places.clone().zip(values).map(|(place, value)| place * (value - centre)).sum();
    let slope = if spread > 0.0 { rise / spread } else { 0.0 };
    Some(places.zip(values).map(|(place, value)| value - centre - slope * place).collect())
}

/// Runs that come directly after a run of this configuration differ from the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CarryOver {
    /// The configuration that came before, by its entry in the blocks.
    pub configuration: usize,
    /// Logarithm of how many times longer the runs after it take.
    pub log_ratio: f64,
}

/// The clearest carry-over, if there is one. `before` has the shape of the blocks: for every run, which configuration ran
/// directly before it.
///
/// The slope of the measurements on "this one ran before", both with the effects of blocks and configurations taken out, and its
/// t test, shared among all that may have run before (Bonferroni).
pub fn carry_over(blocks: &[Block], before: &[Vec<Option<usize>>]) -> Option<CarryOver> {
    let configurations = blocks.first()?.len();
    let measured = residuals(blocks);
    if measured.iter().filter(|block| block.iter().any(Option::is_some)).count() < FEWEST_BLOCKS {
        return None;
    }
    let freedom: f64 =
        measured.iter().map(|block| block.iter().flatten().count().saturating_sub(1) as f64).sum::<f64>()
            - configurations as f64;
    let of = |configuration: usize| {
        let indicator: Vec<Block> = blocks
            .iter()
            .zip(before)
            .map(|(block, before)| {
                let entry = |(value, before): (&Option<f64>, &Option<usize>)| {
                    value.map(|_| f64::from(u8::from(*before == Some(configuration))))
                };
                block.iter().zip(before).map(entry).collect()
            })
            .collect();
        let indicator = residuals(&indicator);
        let pairs: Vec<(f64, f64)> = measured
            .iter()
            .flatten()
            .zip(indicator.iter().flatten())
            .filter_map(|(value, indicator)| Some(((*value)?, (*indicator)?)))
            .collect();
        let spread: f64 = pairs.iter().map(|(_, indicator)| indicator * indicator).sum();
        if spread < 1e-9 {
            return None;
        }
        let log_ratio = pairs.iter().map(|(value, indicator)| value * indicator).sum::<f64>() / spread;
        let left: f64 = pairs.iter().map(|(value, indicator)| (value - log_ratio * indicator).powi(2)).sum();
        let p = tail(log_ratio / (left / freedom.max(1.0) / spread).sqrt(), freedom)?;
        (p < ALPHA / configurations as f64).then_some((p, CarryOver { configuration, log_ratio }))
    };
    let clearest = (0..configurations).filter_map(of).min_by(|left, right| left.0.total_cmp(&right.0));
    clearest.map(|(_, carry_over)| carry_over)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise without chance: one of 0 to 6, spread by multiplication.
    fn noise(number: usize, configuration: usize) -> f64 {
        0.01 * (((number * 31 + configuration * 17 + 7) * 2_654_435_761) % 7_919 % 7) as f64
    }

    fn blocks(count: usize, effect: impl Fn(usize, usize) -> f64) -> Vec<Block> {
        let entry =
            |number, configuration| Some(noise(number, configuration) + effect(number, configuration));
        (0..count).map(|number| (0..3).map(|configuration| entry(number, configuration)).collect()).collect()
    }

    #[test]
    fn moods_of_one_configuration_are_seen_and_a_drift_of_all_is_none() {
        let moody = |number: usize, configuration: usize| {
            if configuration == 1 && number / 10 % 2 == 1 { 0.1 } else { 0.0 }
        };
        let found = persistence(&blocks(40, moody)).unwrap();
        assert!(found.configuration == 1 && found.correlation > 0.4, "{found:?}");
        assert_eq!(persistence(&blocks(40, |number, _| 0.1 * (number / 10) as f64)), None);
        assert_eq!(persistence(&blocks(7, moody)), None, "too few");
        assert_eq!(persistence(&[]), None);
    }

    #[test]
    fn moods_of_a_series_are_seen_and_a_trend_is_none() {
        let series = |effect: fn(usize) -> f64| -> Vec<Vec<f64>> {
            (0..2)
                .map(|which| (0..40).map(|at| noise(at, which) + effect(at) * which as f64).collect())
                .collect()
        };
        let found = persistence_in_series(&series(|at| if at / 10 % 2 == 1 { 0.1 } else { 0.0 })).unwrap();
        assert!(found.configuration == 1 && found.correlation > 0.4, "{found:?}");
        assert_eq!(persistence_in_series(&series(|at| 0.01 * at as f64)), None);
        assert_eq!(persistence_in_series(&[vec![1.0; 7], Vec::new()]), None, "too few");
    }

    #[test]
    fn rounding_is_no_dependence() {
        let constant: Vec<Vec<f64>> =
            (1..200).map(|at| vec![(1.0 + 0.001 * f64::from(at)).ln(); 30]).collect();
        for series in constant {
            assert_eq!(persistence_in_series(std::slice::from_ref(&series)), None, "{series:?}");
            let blocks: Vec<Block> = series.iter().map(|&value| vec![Some(value), Some(0.0)]).collect();
            assert_eq!(persistence(&blocks), None, "{series:?}");
        }
    }

    #[test]
    fn what_runs_after_a_spoiler_is_slower() {
        // The orders rotate; who runs first in a block comes after the last of the block before.
        let order = |number: usize| {
            [number % 3, (number + 1 + number / 3 % 2) % 3, (number + 2 - number / 3 % 2) % 3]
        };
        let before = |number: usize, configuration: usize| {
            let place = order(number).iter().position(|&it| it == configuration).unwrap();
            match (place, number) {
                (0, 0) => None,
                (0, _) => Some(order(number - 1)[2]),
                _ => Some(order(number)[place - 1]),
            }
        };
        let befores: Vec<Vec<Option<usize>>> = (0..40)
            .map(|number| (0..3).map(|configuration| before(number, configuration)).collect())
            .collect();
        let spoiled = blocks(
            40,
            |number, configuration| {
                if before(number, configuration) == Some(2) { 0.05 } else { 0.0 }
            },
        );
        let found = carry_over(&spoiled, &befores).unwrap();
        assert!(found.configuration == 2 && (found.log_ratio - 0.05).abs() < 0.02, "{found:?}");
        assert_eq!(carry_over(&blocks(40, |_, _| 0.0), &befores), None);
        assert_eq!(carry_over(&spoiled[..7], &befores[..7]), None, "too few");
        assert_eq!(carry_over(&[], &[]), None);
    }
}
