//! A tie goes to whoever intrudes least.
//!
//! "As fast as the fastest" is a claim of its own and needs proof like any other: that two were not told apart may
//! just mean that there were too few runs. So one ties with the fastest if nothing is found between them **and** a loss
//! that would matter is excluded. Both are read off one interval of the per-block ratios to the fastest, which is
//! shared (Bonferroni) among all that could take its place. The fastest was chosen for looking fast, which makes the others
//! look slower beside it than they are: what error that adds is on the side of the fastest.

use crate::Plan;
use crate::assess::{ALPHA, Assessment};
use crate::history::History;
use crate::statistics::ratio::{judge, ratio_interval};
use crate::{Ratio, Verdict};

/// What may be lost of what the fastest gains: a small gain must not shrink to nothing within the precision.
const LOSS_OF_GAIN: f64 = 0.5;

/// One that is as fast as the fastest and intrudes less.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tie {
    pub(crate) configuration: usize,
    /// How many times faster it is than the fastest.
    pub(crate) ratio: Ratio,
}

/// The least intrusive among those that tie with the fastest; of equally intrusive ones the faster. `None` where the
/// fastest itself intrudes least.
///
/// One that was dropped takes part with the blocks that it ran in: it may be certainly slower by less than matters.
pub(crate) fn less_intrusive(
    plan: &Plan,
    history: &History,
    assessments: &[Assessment],
    fastest: usize,
) -> Option<Tie> {
    let rank = |configuration: usize| plan.intrusion.get(configuration).copied().unwrap_or(0);
    let faster = || assessments.iter().filter(|assessment| assessment.verdict() == Some(Verdict::Faster));
    let gain = faster().find(|assessment| assessment.configuration == fastest)?.ratio()?.value;
    let most = plan.precision.ln_1p().min(LOSS_OF_GAIN * gain.ln());
    let candidates: Vec<usize> = faster()
        .map(|assessment| assessment.configuration)
        .filter(|&configuration| rank(configuration) < rank(fastest))
        .collect();
    let level = ALPHA / candidates.len().max(1) as f64;
    candidates
        .iter()
        .filter_map(|&configuration| {
            let ratio = ratio_interval(&history.log_ratios(fastest, configuration), level)?;
            ties(ratio, most, plan.same_band).then_some(Tie { configuration, ratio })
        })
        .min_by(|left, right| {
            let ranks = rank(left.configuration).cmp(&rank(right.configuration));
            ranks.then(right.ratio.value.total_cmp(&left.ratio.value))
        })
}

/// `most`: the logarithm of the largest loss that does not matter.
fn ties(ratio: Ratio, most: f64, same_band: f64) -> bool {
    let told_apart = judge(ratio, same_band) == Verdict::Slower;
    !told_apart && ratio.low.ln() >= -most
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(low: f64, high: f64) -> Ratio {
        Ratio { value: (low * high).sqrt(), low, high }
    }

    #[test]
    fn a_tie_is_proved_and_not_merely_unrefuted() {
        let most = 0.05f64.ln_1p();
        assert!(ties(ratio(0.97, 1.01), most, 0.02));
        assert!(!ties(ratio(0.90, 1.05), most, 0.02), "it may be a tenth slower");
        assert!(!ties(ratio(0.96, 0.99), most, 0.02), "it is slower, and by more than passes as the same");
        assert!(
            ties(ratio(0.981, 0.995), most, 0.02),
            "certainly slower, and certainly by too little to matter"
        );
        assert!(!ties(ratio(0.97, 1.01), 0.02, 0.02), "half of a small gain may be lost");
        assert!(ties(ratio(1.01, 1.2), most, 0.02));
    }
}
