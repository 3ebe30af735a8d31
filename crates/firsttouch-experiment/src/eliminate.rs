//! Successive elimination: no more time for what is certainly worse.
//!
//! Dropping looks at differences, again and again, which a 5 % test does not survive: sooner or later one of several
//! equal configurations would look worse, be dropped at that moment and keep the verdict of that moment. So all
//! looks of a session share one small risk: look k is held at a level of RISK / (k (k + 1)), which sums to RISK, and
//! Holm shares it over the configurations.
//!
//! A configuration that is out of the race may still leave its own question open: is it slower than the baseline, or
//! the same? As long as nothing is faster than the baseline that question is what the session is about, so it is
//! kept until it has its answer. Once something is faster nobody needs it.

use crate::Verdict;
use crate::assess::{Assessment, BASELINE};
use crate::history::History;
use crate::statistics::holm::holm;
use crate::statistics::sample::mean;
use crate::statistics::student::two_sided_p;

/// Blocks before the first look.
const FIRST_LOOK_AFTER: u32 = 5;

/// Risk of dropping any configuration that is as good as the best, over a whole session.
const RISK: f64 = 0.01;

/// The live configurations that are certainly slower than the best live one and of no more use.
///
/// Never the baseline, which every ratio needs, and never the fastest of its alternatives: that one is what the session is
/// about, and its interval must not depend on when it looked worst.
pub(crate) fn out_of_the_race(history: &History, assessments: &[Assessment]) -> Vec<usize> {
    let verdict = |index: usize| {
        assessments.iter().find(|assessment| assessment.configuration == index).and_then(Assessment::verdict)
    };
    let something_is_faster =
        assessments.iter().any(|assessment| assessment.verdict() == Some(Verdict::Faster));
    certainly_worse(history)
        .into_iter()
        .filter(|&index| something_is_faster || verdict(index) != Some(Verdict::Undecided))
        .collect()
}

fn certainly_worse(history: &History) -> Vec<usize> {
    let Some(look) = (history.complete_blocks + 1).checked_sub(FIRST_LOOK_AFTER).filter(|&look| look > 0)
    else {
        return Vec::new();
    };
    let live = history.live();
    let speed = |index: usize| mean(&history.log_ratios(BASELINE, index)).unwrap_or(0.0);
    let fastest = |candidates: &[usize]| {
        candidates.iter().copied().max_by(|&left, &right| speed(left).total_cmp(&speed(right)))
    };
    let mut alternatives: Vec<usize> = live.iter().copied().filter(|&index| index != BASELINE).collect();
    let (Some(best), Some(leader)) = (fastest(&live), fastest(&alternatives)) else { return Vec::new() };
    alternatives.retain(|&index| index != leader);
    let behind: Vec<Vec<f64>> = alternatives.iter().map(|&index| history.log_ratios(best, index)).collect();
    let p_values: Vec<Option<f64>> = behind.iter().map(|logs| two_sided_p(logs)).collect();
    let level = RISK / (f64::from(look) * f64::from(look + 1));
    let decisions = holm(&p_values, level);
    let slower = |logs: &[f64]| mean(logs).is_some_and(|mean| mean < 0.0);
    alternatives
        .into_iter()
        .zip(behind)
        .zip(decisions)
        .filter(|((_, logs), decision)| decision.rejected && slower(logs))
        .map(|((index, _), _)| index)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::assess;
    use crate::{Phase, RunRequest, TimedRun};

    fn history(blocks: u32, walls: &[f64]) -> History {
        let mut history = History::new(walls.len(), (0..walls.len()).collect());
        for block in 0..blocks {
            for (configuration, base) in walls.iter().enumerate() {
                let request = RunRequest {
                    configuration,
                    phase: Phase::Search,
                    block,
                    order: 0,
                    environment_offset_bytes: 0,
                };
                let wobble = 1.0 + 0.01 * f64::from((7 * block + 3 * configuration as u32) % 5);
                history.record(&request, TimedRun { wall_s: base * wobble, ..TimedRun::default() });
            }
            history.complete_blocks += 1;
        }
        history
    }

    fn dropped(history: &History) -> Vec<usize> {
        out_of_the_race(history, &assess(history, 0.02))
    }

    #[test]
    fn keeps_the_undecided_while_nothing_is_faster() {
        let history = history(8, &[1.0, 1.0, 3.0]);
        let mut assessments = assess(&history, 0.02);
        assert_eq!(out_of_the_race(&history, &assessments), [2]);
        let of = |assessments: &mut [Assessment], index: usize, verdict| {
            if let Some(comparison) = &mut assessments[index].comparison {
                comparison.verdict = verdict;
            }
        };
        of(&mut assessments, 2, Verdict::Undecided);
        assert!(out_of_the_race(&history, &assessments).is_empty());
        of(&mut assessments, 1, Verdict::Faster);
        assert_eq!(out_of_the_race(&history, &assessments), [2]);
    }

    #[test]
    fn drops_the_certainly_worse_after_five_blocks() {
        assert!(dropped(&history(4, &[1.0, 1.0, 3.0])).is_empty());
        assert_eq!(dropped(&history(5, &[1.0, 1.0, 3.0])), [2]);
    }

    #[test]
    fn never_drops_the_baseline_nor_the_fastest_alternative() {
        assert_eq!(dropped(&history(8, &[9.0, 1.0, 3.0])), [2]);
        assert!(dropped(&history(8, &[9.0, 1.0])).is_empty());
        assert_eq!(dropped(&history(8, &[1.0, 8.0, 9.0])), [2]);
    }

    #[test]
    fn keeps_what_may_still_be_the_best() {
        assert!(dropped(&history(6, &[1.0, 1.001, 0.999])).is_empty());
        assert!(dropped(&history(6, &[1.0])).is_empty());
    }
}
