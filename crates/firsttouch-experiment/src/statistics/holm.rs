//! Holm's step-down procedure: many questions, one 5 % risk.
//!
//! S. Holm, "A simple sequentially rejective multiple test procedure", *Scandinavian Journal of Statistics* 6 (1979).

/// What the procedure decides about one hypothesis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// The hypothesis is rejected with the risk shared over the whole family.
    pub rejected: bool,
    /// The level it was held against. An interval at this level excludes the hypothesis exactly if it is rejected,
    /// so intervals printed at it agree with the procedure and each covers at least as often as an unadjusted one.
    pub level: f64,
}

/// Decides about a family of hypotheses by their p-values, with a risk of `alpha` of any false rejection.
/// Unknown p-values belong to the family and are never rejected.
pub fn holm(p_values: &[Option<f64>], alpha: f64) -> Vec<Decision> {
    let mut ascending: Vec<usize> = (0..p_values.len()).collect();
    let p = |index: usize| p_values[index].unwrap_or(1.0);
    ascending.sort_by(|&left, &right| p(left).total_cmp(&p(right)));

    let mut decisions = vec![Decision { rejected: false, level: alpha }; p_values.len()];
    let mut stopped_at = None;
    for (step, &index) in ascending.iter().enumerate() {
        // After the first hypothesis that stands, all later ones stand, held against its level.
        let level = stopped_at.unwrap_or(alpha / (p_values.len() - step) as f64);
        let rejected = stopped_at.is_none() && p_values[index].is_some_and(|p| p <= level);
        if !rejected {
            stopped_at = Some(level);
        }
        decisions[index] = Decision { rejected, level };
    }
    decisions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worked_example() {
        // p = 0.01, 0.04, 0.03, 0.005 at 5 %: 0.005 <= 0.05/4 and 0.01 <= 0.05/3 are rejected;
        // 0.03 > 0.05/2 stands, and so does 0.04 although it is below 0.05.
        let decisions = holm(&[Some(0.01), Some(0.04), Some(0.03), Some(0.005)], 0.05);
        let rejected: Vec<bool> = decisions.iter().map(|decision| decision.rejected).collect();
        assert_eq!(rejected, [true, false, false, true]);
        let levels: Vec<f64> = decisions.iter().map(|decision| decision.level).collect();
        assert_eq!(levels, [0.05 / 3.0, 0.05 / 2.0, 0.05 / 2.0, 0.05 / 4.0]);
    }

    #[test]
    fn one_hypothesis_is_a_plain_test() {
        assert_eq!(holm(&[Some(0.049)], 0.05), [Decision { rejected: true, level: 0.05 }]);
        assert_eq!(holm(&[Some(0.051)], 0.05), [Decision { rejected: false, level: 0.05 }]);
        assert!(holm(&[], 0.05).is_empty());
    }

    #[test]
    fn the_unknown_still_costs_its_share() {
        let decisions = holm(&[None, Some(0.03)], 0.05);
        assert!(!decisions[1].rejected, "0.03 is above 0.05 / 2");
        assert!(!holm(&[None], 1.0)[0].rejected);
    }
}
