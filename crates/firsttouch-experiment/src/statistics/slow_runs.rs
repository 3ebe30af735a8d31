//! Slow runs that one configuration has and the others have not.

use statrs::distribution::{DiscreteCDF, Hypergeometric};

/// Risk of a false alarm over all configurations.
const ALPHA: f64 = 0.05;

/// How many runs of a configuration stand apart on the slow side, of how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowRuns {
    /// That many are slow.
    pub slow: u32,
    /// Of that many.
    pub runs: u32,
}

/// The configuration that has more slow runs than chance gives it, if there is one: its index. R. Fisher's exact test
/// (*The Design of Experiments*, 1935) of each against all others together, shared among them (Bonferroni).
pub fn in_one_only(counts: &[SlowRuns]) -> Option<usize> {
    let sum = |of: fn(&SlowRuns) -> u32| counts.iter().map(|count| u64::from(of(count))).sum::<u64>();
    let (slow, runs) = (sum(|count| count.slow), sum(|count| count.runs));
    let p = |count: &SlowRuns| {
        // Of all runs, so many are slow: how likely are so many, or more, among those of this configuration?
        let chance = Hypergeometric::new(runs, slow, u64::from(count.runs)).ok()?;
        count.slow.checked_sub(1).map(|fewer| chance.sf(u64::from(fewer)))
    };
    let level = ALPHA / counts.len().max(1) as f64;
    counts
        .iter()
        .enumerate()
        .filter_map(|(index, count)| Some((index, p(count).filter(|p| *p < level)?)))
        .min_by(|left, right| left.1.total_cmp(&right.1))
        .map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(counts: &[(u32, u32)]) -> Vec<SlowRuns> {
        counts.iter().map(|&(slow, runs)| SlowRuns { slow, runs }).collect()
    }

    #[test]
    fn one_that_has_them_all_is_found() {
        assert_eq!(in_one_only(&counts(&[(0, 30), (6, 30), (0, 30)])), Some(1));
        assert_eq!(in_one_only(&counts(&[(6, 30), (0, 30)])), Some(0), "Fisher: 0.012");
        assert_eq!(in_one_only(&counts(&[(3, 30), (0, 30)])), None, "Fisher: 0.12");
        assert_eq!(in_one_only(&counts(&[(5, 30), (4, 30), (6, 30)])), None);
        assert_eq!(in_one_only(&counts(&[(0, 30), (0, 30)])), None);
        assert_eq!(in_one_only(&counts(&[(0, 0), (0, 0)])), None);
        assert_eq!(in_one_only(&[]), None);
    }
}
