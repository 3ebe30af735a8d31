//! What the slow runs of a configuration have more of than its fast ones.

use super::layout::{Block, residuals};
use super::student::tail;
use firsttouch_sorted::sort_by;

/// Risk of a false alarm over all that is looked at.
const ALPHA: f64 = 0.05;

/// Of a configuration with fewer runs nothing is told: the distribution below is that of many.
const FEWEST_RUNS: usize = 8;

/// A weaker association explains so little that it is not worth telling, however certain it is: a twenty-fifth of the variance of the ranks.
const LEAST_CORRELATION: f64 = 0.2;

/// Something that slow runs have more of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Association {
    /// Which of those that were looked at.
    pub factor: usize,
    /// Rank correlation within configurations, from -1 to 1.
    pub correlation: f64,
    /// Its mean in the slower half of the runs of each configuration.
    pub slow: f64,
    /// Its mean in the faster half.
    pub fast: f64,
}

/// Those of `factors` that slow runs have more of, of as many as there are. Each has the shape of the blocks.
///
/// How slow a run is, is what is left of it in a two-way layout: neither that a configuration is slow nor that the machine was slow
/// for a whole block plays a part. Both are ranked within each configuration, the sum of the products of the ranks is held against what it is
/// over all orders of the runs of a configuration, and all configurations are added up (a stratified rank test as that of P. van
/// Elteren 1960, with Spearman's scores), shared among all factors that vary (Bonferroni).
pub fn associated(blocks: &[Block], factors: &[Vec<Block>]) -> Vec<Association> {
    let slowness = residuals(blocks);
    let tests: Vec<Option<(f64, Association)>> = factors
        .iter()
        .enumerate()
        .map(|(factor, values)| {
            let strata =
                (0..blocks.first()?.len()).map(|configuration| stratum(&slowness, values, configuration));
            test(factor, &strata.collect::<Vec<_>>())
        })
        .collect();
    let level = ALPHA / tests.iter().flatten().count().max(1) as f64;
    let is_told = |(p, found): &(f64, Association)| *p < level && found.correlation >= LEAST_CORRELATION;
    tests.into_iter().flatten().filter(is_told).map(|(_, found)| found).collect()
}

/// The runs of a configuration: how slow each was, and how much of the factor it had.
fn stratum(slowness: &[Block], values: &[Block], configuration: usize) -> Vec<(f64, f64)> {
    let of = |(slowness, value): (&Block, &Block)| {
        let value = value.get(configuration).copied().flatten().filter(|value| value.is_finite())?;
        Some((slowness[configuration]?, value))
    };
    slowness.iter().zip(values).filter_map(of).collect()
}

/// The probability of so much or more of it without an association; `None` where nothing varies.
fn test(factor: usize, strata: &[Vec<(f64, f64)>]) -> Option<(f64, Association)> {
    let (mut sum, mut variance, mut slow_square, mut value_square) = (0.0, 0.0, 0.0, 0.0);
    let (mut slow, mut fast) = (Vec::new(), Vec::new());
    for stratum in strata.iter().filter(|stratum| stratum.len() >= FEWEST_RUNS) {
        let slowness = centred_ranks(stratum.iter().map(|(slowness, _)| *slowness));
        let values = centred_ranks(stratum.iter().map(|(_, value)| *value));
        let square = |ranks: &[f64]| ranks.iter().map(|rank| rank * rank).sum::<f64>();
        let squares = (square(&slowness), square(&values));
        sum += slowness.iter().zip(&values).map(|(slowness, value)| slowness * value).sum::<f64>();
        variance += squares.0 * squares.1 / (stratum.len() - 1) as f64;
        slow_square += squares.0;
        value_square += squares.1;
        for (rank, (_, value)) in slowness.iter().zip(stratum) {
            if *rank > 0.0 { slow.push(*value) } else { fast.push(*value) }
        }
    }
    if variance == 0.0 {
        return None;
    }
    let deviations = sum / variance.sqrt();
    let two_sided = tail(deviations, f64::INFINITY)?;
    let p = if deviations > 0.0 { 0.5 * two_sided } else { 1.0 };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let correlation = sum / (slow_square * value_square).sqrt();
    Some((p, Association { factor, correlation, slow: mean(&slow), fast: mean(&fast) }))
}

/// Ranks from the least on, those of equals being their mean, less the mean of all.
fn centred_ranks(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let values: Vec<f64> = values.collect();
    let mut order: Vec<usize> = (0..values.len()).collect();
    sort_by(&mut order, |&left, &right| values[left].total_cmp(&values[right]));
    let mut ranks = vec![0.0; values.len()];
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let mut first = 0;
    for equals in order.chunk_by(|&left, &right| values[left] == values[right]) {
        let rank = first as f64 + (equals.len() as f64 - 1.0) / 2.0;
        equals.iter().for_each(|&index| ranks[index] = rank - middle);
        first += equals.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise without chance: one of 0 to 96, spread by multiplication.
    fn noise(number: usize, configuration: usize, salt: usize) -> f64 {
        (((number * 31 + configuration * 17 + salt * 101 + 7) * 2_654_435_761) % 7_919 % 97) as f64
    }

    fn shape(blocks: usize, entry: impl Fn(usize, usize) -> f64) -> Vec<Block> {
        let block = |number| (0..3).map(|configuration| Some(entry(number, configuration))).collect();
        (0..blocks).map(block).collect()
    }

    /// One run of seven is disturbed.
    fn disturbed(number: usize, configuration: usize) -> bool {
        noise(number, configuration, 2) < 14.0
    }

    #[test]
    fn what_the_slow_runs_have_is_found_and_nothing_else() {
        let slow = |number, configuration| if disturbed(number, configuration) { 0.3 } else { 0.0 };
        let blocks = shape(30, |number, configuration| {
            configuration as f64 + 0.001 * noise(number, configuration, 0) + slow(number, configuration)
        });
        let unrelated = shape(30, |number, configuration| noise(number, configuration, 1));
        let steal = shape(30, slow);
        // A configuration that has more of something in all its runs is not slow by that.
        let of_one = shape(30, |_, configuration| configuration as f64);
        let found = associated(&blocks, &[unrelated.clone(), steal.clone(), of_one]);
        assert_eq!(found.iter().map(|found| found.factor).collect::<Vec<_>>(), [1], "{found:?}");
        assert!(found[0].correlation > 0.4 && found[0].slow > 3.0 * found[0].fast, "{found:?}");
        // Less of it in slow runs is another thing.
        let less = shape(30, |number, configuration| -slow(number, configuration));
        assert_eq!(associated(&blocks, &[unrelated, less]), []);
        assert_eq!(associated(&blocks[..7], &[steal[..7].to_vec()]), [], "too few");
    }

    #[test]
    fn what_is_unknown_or_the_same_tells_nothing() {
        let blocks = shape(30, |number, configuration| noise(number, configuration, 0));
        let unknown = vec![vec![None; 3]; 30];
        let constant = shape(30, |_, _| 1.0);
        assert_eq!(associated(&blocks, &[unknown, constant, Vec::new()]), []);
        assert_eq!(associated(&[], &[Vec::new()]), []);
    }

    #[test]
    fn equals_share_their_rank() {
        assert_eq!(centred_ranks([3.0, 1.0, 3.0, 2.0].into_iter()), [1.0, -1.5, 1.0, -0.5]);
        assert!(centred_ranks(std::iter::empty()).is_empty());
    }
}
