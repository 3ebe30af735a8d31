//! Which of several may be the best: a set that holds the best one with a known probability.

use super::contrast::{Contrast, contrasts};
use super::layout::Block;

/// Those of the `candidates` (entries of the blocks) that cannot be excluded from being the fastest of them. Over all looks together, the truly fastest
/// one is excluded with a probability of at most `alpha`: a confidence set for the best (P. Hansen, A. Lunde and J. Nason, "The
/// model confidence set", *Econometrica* 79, 2011), by e-values.
///
/// One is excluded where the mean of its e-values against all others, of which those count that are faster than it, reaches
/// 1/`alpha`. If it is the fastest, each of these is an e-value against "the other is not faster", and so is their mean. What is
/// asked is one question about one candidate, the true best, so nothing is to be shared among the candidates.
pub fn not_excluded(blocks: &[Block], candidates: &[usize], alpha: f64) -> Vec<usize> {
    let is_possible = |candidate: usize| {
        let against = contrasts(blocks, candidate);
        let others: Vec<f64> = candidates
            .iter()
            .filter(|&&other| other != candidate)
            .map(|&other| against.get(other).and_then(Option::as_ref).map_or(1.0, evidence_of_faster))
            .collect();
        super::sample::mean(&others).is_none_or(|mean| mean < 1.0 / alpha)
    };
    candidates.iter().copied().filter(|&candidate| is_possible(candidate)).collect()
}

fn evidence_of_faster(other: &Contrast) -> f64 {
    if other.log_ratio > 0.0 { other.log_e().exp() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(times: &[f64], count: usize) -> Vec<Block> {
        let wobble = |index: usize, number: usize| 0.01 * ((index + 1) * number % 5) as f64;
        (0..count)
            .map(|number| {
                let entry = |(index, time): (usize, &f64)| Some(time.ln() + wobble(index, number));
                times.iter().enumerate().map(entry).collect()
            })
            .collect()
    }

    #[test]
    fn the_slower_are_excluded_once_that_is_known() {
        let times = [1.0, 0.7, 0.8, 0.701];
        assert_eq!(not_excluded(&blocks(&times, 1), &[1, 2, 3], 0.05), [1, 2, 3], "one block tells nothing");
        assert_eq!(not_excluded(&blocks(&times, 8), &[1, 2, 3], 0.05), [1, 3]);
        assert_eq!(not_excluded(&blocks(&times, 8), &[2], 0.05), [2], "the best of one");
        assert!(not_excluded(&blocks(&times, 8), &[], 0.05).is_empty());
    }
}
