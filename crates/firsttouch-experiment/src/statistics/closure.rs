//! Many questions, one risk, with e-values: the closed test of averages.
//!
//! A hypothesis is rejected if every set of hypotheses that holds it is, and a set is rejected if the mean of its e-values is
//! large: the mean of e-values is one, however they depend on each other. V. Vovk and R. Wang, "E-values: calibration, combination and
//! applications", *Annals of Statistics* 49 (2021), algorithm 1. Where all alternatives gain this asks no more of each than
//! one would be asked alone; among many without effect it asks as much of one as Bonferroni does.
//!
//! The mean may be a weighted one, with weights that were chosen before: what weighs little is asked more, and costs the others less.

use firsttouch_sorted::sort_by;

/// Natural logarithms of the e-values with the whole family counted: one that reaches 1/`alpha` is rejected, and the
/// probability of any false rejection is at most `alpha`.
pub fn adjusted_log_e(log_e: &[f64]) -> Vec<f64> {
    weighed_log_e(log_e, &vec![1.0; log_e.len()])
}

/// The same with a weight for each, positive numbers.
pub fn weighed_log_e(log_e: &[f64], weights: &[f64]) -> Vec<f64> {
    let mut ascending: Vec<usize> = (0..log_e.len()).collect();
    sort_by(&mut ascending, |&left, &right| log_e[left].total_cmp(&log_e[right]));
    let mut adjusted = vec![0.0; log_e.len()];
    for (place, &index) in ascending.iter().enumerate() {
        // Of all sets that hold this one, those with the smallest of the others have the smallest means.
        let (mut weight, mut sum) = (weights[index], weights[index] * log_e[index].exp());
        let mut least = log_e[index];
        for &other in &ascending[..place] {
            weight += weights[other];
            sum += weights[other] * log_e[other].exp();
            least = least.min((sum / weight).ln());
        }
        adjusted[index] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adjusted(e: &[f64]) -> Vec<f64> {
        let logs: Vec<f64> = e.iter().map(|e| e.ln()).collect();
        adjusted_log_e(&logs).iter().map(|log| (log.exp() * 1e9).round() / 1e9).collect()
    }

    #[test]
    fn a_worked_example() {
        // {40} 40, {40, 2} 21, {40, 2, 0} 14, {40, 30} 35 ...: the least of those that hold 40 is 14. {30, 2, 0}: 32/3.
        assert_eq!(adjusted(&[40.0, 0.0, 30.0, 2.0]), [14.0, 0.0, (32.0 / 3.0 * 1e9f64).round() / 1e9, 1.0]);
    }

    #[test]
    fn alone_and_among_equals_nothing_is_asked() {
        assert_eq!(adjusted(&[25.0]), [25.0]);
        assert_eq!(adjusted(&[25.0, 25.0, 25.0]), [25.0, 25.0, 25.0]);
        assert!(adjusted(&[]).is_empty());
    }

    #[test]
    fn the_most_certain_stay_finite() {
        assert!(adjusted_log_e(&[600.0; 64]).iter().all(|log| log.is_finite()));
    }

    proptest::proptest! {
        /// Against every subset, one by one.
        #[test]
        fn as_by_definition(all in proptest::collection::vec((0.0f64..100.0, 0.01f64..1.0), 1..7)) {
            let (e, weights): (Vec<f64>, Vec<f64>) = all.into_iter().unzip();
            let logs: Vec<f64> = e.iter().map(|e| e.ln()).collect();
            for (index, adjusted) in weighed_log_e(&logs, &weights).iter().enumerate() {
                let sets = (1u32..1 << e.len()).filter(|set| set >> index & 1 == 1);
                let means = sets.map(|set| {
                    let held = || (0..e.len()).filter(|at| set >> at & 1 == 1);
                    held().map(|at| weights[at] * e[at]).sum::<f64>() / held().map(|at| weights[at]).sum::<f64>()
                });
                let least = means.fold(f64::INFINITY, f64::min);
                proptest::prop_assert!((adjusted.exp() - least).abs() <= 1e-9 * least.max(1.0));
            }
        }
    }
}
