//! A second opinion that does not ask for normal noise: Wilcoxon's signed ranks and the Hodges–Lehmann estimate.
//!
//! F. Wilcoxon, "Individual comparisons by ranking methods", *Biometrics Bulletin* 1 (1945);
//! J. L. Hodges and E. L. Lehmann, "Estimates of location based on rank tests", *Ann. Math. Statist.* 34 (1963).

use super::sample::median;
use statrs::distribution::{ContinuousCDF, Normal};

/// Up to this many differences the distribution is counted out; beyond it the normal one is as good.
const EXACT_UP_TO: usize = 50;

/// Two-sided p-value of the signed-rank test that differences lie around 0. Zeros are left out, tied sizes share
/// their rank (and the exact distribution is that of the shared ranks). `None` if no difference is left.
pub fn signed_rank_p(differences: &[f64]) -> Option<f64> {
    let mut nonzero: Vec<f64> = differences.iter().copied().filter(|difference| *difference != 0.0).collect();
    if nonzero.is_empty() {
        return None;
    }
    nonzero.sort_by(|left, right| left.abs().total_cmp(&right.abs()));
    let doubled = doubled_ranks(&nonzero);
    let positive: usize =
        nonzero.iter().zip(&doubled).filter(|(difference, _)| **difference > 0.0).map(|(_, rank)| rank).sum();
    if nonzero.len() <= EXACT_UP_TO {
        Some(exact_p(&doubled, positive))
    } else {
        normal_p(&doubled, positive)
    }
}

/// The median of the means of all pairs, each value paired with itself too; `None` of nothing.
pub fn hodges_lehmann(values: &[f64]) -> Option<f64> {
    let means: Vec<f64> = (0..values.len())
        .flat_map(|first| (first..values.len()).map(move |second| 0.5 * (values[first] + values[second])))
        .collect();
    median(&means)
}

/// Twice the ranks of values sorted by size: shared ranks are halves, their doubles are whole.
fn doubled_ranks(sorted: &[f64]) -> Vec<usize> {
    let mut ranks = Vec::with_capacity(sorted.len());
    for tied in sorted.chunk_by(|left, right| left.abs() == right.abs()) {
        let first = ranks.len() + 1;
        let last = ranks.len() + tied.len();
        ranks.extend(std::iter::repeat_n(first + last, tied.len()));
    }
    ranks
}

/// Every rank is positive with probability 1/2, independently: the distribution of their sum, one rank at a time.
fn exact_p(doubled: &[usize], positive: usize) -> f64 {
    let total: usize = doubled.iter().sum();
    let mut probability = vec![0.0; total + 1];
    probability[0] = 1.0;
    let mut reached = 0;
    for &rank in doubled {
        reached += rank;
        for sum in (0..=reached).rev() {
            let with = if sum >= rank { probability[sum - rank] } else { 0.0 };
            probability[sum] = 0.5 * (probability[sum] + with);
        }
    }
    let at_most: f64 = probability[..=positive].iter().sum();
    let at_least: f64 = probability[positive..].iter().sum();
    (2.0 * at_most.min(at_least)).min(1.0)
}

/// The sum has half the total as its mean and a quarter of the sum of squares as its variance.
fn normal_p(doubled: &[usize], positive: usize) -> Option<f64> {
    let mean = doubled.iter().sum::<usize>() as f64 / 2.0;
    let variance = doubled.iter().map(|&rank| (rank * rank) as f64).sum::<f64>() / 4.0;
    // One half rank of continuity correction, in doubled ranks.
    let distance = ((positive as f64 - mean).abs() - 1.0).max(0.0);
    let p = 2.0 * Normal::new(0.0, 1.0).ok()?.sf(distance / variance.sqrt());
    Some(p.min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_cases_by_hand() {
        // Five of one sign: 2 of the 32 sign patterns are as extreme.
        assert!((signed_rank_p(&[0.1, 0.2, 0.3, 0.4, 0.5]).unwrap() - 2.0 / 32.0).abs() < 1e-15);
        // Only the smallest is negative: rank sums 0 and 1 below, one pattern each, twice for two sides.
        assert!((signed_rank_p(&[-0.1, 0.2, 0.3, 0.4, 0.5]).unwrap() - 4.0 / 32.0).abs() < 1e-15);
        // Ranks 1, 2, 3 with the largest negative: W+ = 3 of 6, the very middle.
        assert_eq!(signed_rank_p(&[0.1, 0.2, -0.3]), Some(1.0));
        // Ties 1.5, 1.5, 3, all positive: still 1 of 8 on each side.
        assert!((signed_rank_p(&[0.1, 0.1, 0.3]).unwrap() - 0.25).abs() < 1e-15);
        // Ties 1.5, 1.5, 3 with one of the tied negative: W- = 1.5, reached by 3 of 8 patterns or fewer.
        assert!((signed_rank_p(&[-0.1, 0.1, 0.3]).unwrap() - 0.75).abs() < 1e-15);
    }

    #[test]
    fn critical_value_of_the_printed_table() {
        // n = 10, two-sided 5 %: the table's critical value is 8. W- = 8 is significant, W- = 9 is not.
        let with_negative = |ranks: &[usize]| -> f64 {
            let values: Vec<f64> = (1..=10)
                .map(|rank| if ranks.contains(&rank) { -(rank as f64) } else { rank as f64 })
                .collect();
            signed_rank_p(&values).unwrap()
        };
        assert!(with_negative(&[8]) < 0.05);
        assert!(with_negative(&[9]) > 0.05);
        assert!((with_negative(&[8]) - with_negative(&[1, 2, 5])).abs() < 1e-15);
    }

    #[test]
    fn exact_and_normal_meet() {
        let values: Vec<f64> =
            (1..=50).map(|i| if i % 3 == 0 { -f64::from(i) } else { f64::from(i) }).collect();
        let doubled: Vec<usize> = (1..=50).map(|rank| 2 * rank).collect();
        let positive = (1..=50).filter(|i| i % 3 != 0).map(|i| 2 * i).sum();
        let exact = signed_rank_p(&values).unwrap();
        let normal = normal_p(&doubled, positive).unwrap();
        assert!((exact - normal).abs() < 0.002, "{exact} {normal}");
    }

    #[test]
    fn zeros_say_nothing() {
        assert_eq!(signed_rank_p(&[0.0, 0.0]), None);
        assert_eq!(signed_rank_p(&[]), None);
        assert_eq!(signed_rank_p(&[0.0, 0.3]), Some(1.0));
    }

    #[test]
    fn hodges_lehmann_by_hand() {
        // Pair means of 1, 2, 10: 1, 1.5, 5.5, 2, 6, 10; their median is 3.75.
        assert_eq!(hodges_lehmann(&[1.0, 2.0, 10.0]), Some(3.75));
        assert_eq!(hodges_lehmann(&[4.0]), Some(4.0));
        assert_eq!(hodges_lehmann(&[]), None);
    }
}
