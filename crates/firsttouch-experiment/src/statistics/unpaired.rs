//! One configuration against another where all runs of the one were made and then all of the other, so that no blocks tie them.
//!
//! The difference of the means of the logarithms, each with its own variance (B. Welch, "The generalization of 'Student's' problem
//! when several different population variances are involved", *Biometrika* 34, 1947), and the degrees of freedom of the one with fewer runs:
//! with those the t test is wrong no more often than it says, however the variances differ (J. Hájek, "Inequalities for the generalized
//! Student's distribution and their applications", *Selected Translations in Mathematical Statistics and Probability* 2, 1962). An estimate of
//! what they are, as Satterthwaite's, takes few runs that look alike by chance for quiet ones.
//!
//! What a [`Contrast`] makes of it is the same mixture as in blocks, with the harmonic mean of the numbers of runs in the place of the
//! number of blocks. For who looks after every run there is no theorem, because the quotient of the variances
//! is a parameter that no group of transformations takes out (the Behrens-Fisher problem): the t distribution is
//! an approximation, and the interval an asymptotic confidence sequence (I. Waudby-Smith, D. Arbour, R. Sinha, E. Kennedy and A. Ramdas,
//! "Time-uniform central limit theory and asymptotic confidence sequences", *Annals of Statistics* 52, 2024). How close it comes
//! with few runs, unequal noise and unequal numbers, looked at after every run, the example `elsewhere` shows.

use super::contrast::Contrast;
use super::sample::{mean, standard_deviation};

/// Every configuration against the reference, from the logarithms of what was measured in the runs of each; `None` for the reference
/// itself, and where one of them has fewer than two runs. The `blocks` of a contrast are those that would tell as much.
pub fn unpaired_contrasts(runs: &[Vec<f64>], reference: usize) -> Vec<Option<Contrast>> {
    let of = |values: &Vec<f64>| {
        let count = values.len() as f64;
        Some((mean(values)?, standard_deviation(values)?.powi(2) / count, count))
    };
    let beside = runs.get(reference).and_then(of);
    let contrast = |configuration: usize| {
        let ((base, base_error, base_count), (own, own_error, own_count)) =
            beside.zip(of(&runs[configuration]))?;
        Some(Contrast {
            log_ratio: base - own,
            standard_error: (base_error + own_error).sqrt(),
            freedom: base_count.min(own_count) - 1.0,
            blocks: (2.0 / (1.0 / base_count + 1.0 / own_count)) as u32,
        })
    };
    (0..runs.len()).map(|index| contrast(index).filter(|_| index != reference)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn welch_by_hand() {
        // Variances 1 and 4 of 3 and 5 runs: 1/3 + 4/5 = 17/15.
        let runs = [vec![4.0, 5.0, 6.0], vec![1.0, 1.0, 3.0, 5.0, 5.0], vec![0.0]];
        let seen = unpaired_contrasts(&runs, 0);
        assert_eq!((seen[0], seen[2]), (None, None));
        let seen = seen[1].unwrap();
        assert_eq!((seen.log_ratio, seen.blocks), (2.0, 3));
        assert!((seen.standard_error.powi(2) - 17.0 / 15.0).abs() < 1e-12);
        assert_eq!(seen.freedom, 2.0);
    }

    #[test]
    fn equal_runs_are_as_two_samples() {
        let seen = unpaired_contrasts(&[vec![1.0, 2.0, 3.0], vec![2.0, 3.0, 4.0]], 1)[0].unwrap();
        assert_eq!((seen.log_ratio, seen.blocks), (1.0, 3));
        assert_eq!(seen.freedom, 2.0);
        let silent = unpaired_contrasts(&[vec![1.0; 4], vec![0.5; 4]], 0)[1].unwrap();
        assert_eq!((silent.standard_error, silent.freedom), (0.0, 3.0));
        assert!(unpaired_contrasts(&[], 0).is_empty());
    }
}
