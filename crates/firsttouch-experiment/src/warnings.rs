//! What makes the figures less sure, in sentences that say what to do about it.

use crate::Plan;
use crate::assess::{Assessment, Comparison};
use crate::history::History;
use crate::statistics::drift::drift;
use crate::statistics::sample::mean;
use crate::statistics::wilcoxon::{hodges_lehmann, signed_rank_p};
use crate::{Ratio, SessionRun, Verdict};

/// Five signed ranks cannot reach 5 % however clear the case is.
const FEWEST_FOR_SIGNED_RANKS: usize = 6;

/// A trend is told when chance makes one this clear in a hundred sessions.
const DRIFT_LEVEL: f64 = 0.01;

/// Why a phase ended.
#[derive(Debug)]
pub(crate) enum Ending<E> {
    /// Every live mean is precise enough.
    Precise,
    /// The cap on runs.
    MaxRuns,
    /// The cap on time.
    Budget,
    /// Somebody asked to stop.
    Interrupted,
    /// A run failed.
    Failed(usize, E),
}

/// Tells of outliers only where they move the mean by more than may pass as the same: a few runs in a hundred of any
/// program stand apart, and a warning about each would teach people to read past all of them.
pub(crate) fn outliers(name: &str, runs: &[SessionRun], same_band: f64) -> Option<String> {
    let wall_s = |keep: bool| -> Vec<f64> {
        runs.iter().filter(|run| keep || !run.outlier).map(|run| run.timed.wall_s).collect()
    };
    let (all, others) = (mean(&wall_s(true))?, mean(&wall_s(false))?);
    let shift = all / others - 1.0;
    (shift.abs() > same_band).then(|| {
        format!(
            "{} of {} runs of {name} stand apart from the others and move its mean by {:+.1} % (marked, and counted all \
             the same): something else may have used the machine; close it and measure again",
            runs.iter().filter(|run| run.outlier).count(),
            runs.len(),
            100.0 * shift
        )
    })
}

pub(crate) fn bimodal(name: &str, dip_p: f64) -> String {
    format!(
        "the times of {name} fall into more than one group (dip test, p = {dip_p:.3}), so its mean describes none of \
         them and its interval is too narrow: look at every run in the report, and place its threads and memory \
         so that only one group remains"
    )
}

pub(crate) fn disagreement(name: &str, comparison: &Comparison) -> Option<String> {
    let logs = &comparison.log_ratios;
    let (ratio, t_p) = (comparison.ratio?, comparison.p?);
    let centre = hodges_lehmann(logs)?.exp();
    if centre < ratio.low || centre > ratio.high {
        return Some(format!(
            "the median ratio of {name} ({centre:.3}x, Hodges-Lehmann) lies outside the interval of its mean ratio \
             ({}): a few runs decide the mean; look at every run in the report before you trust it",
            interval(ratio)
        ));
    }
    if logs.len() < FEWEST_FOR_SIGNED_RANKS {
        return None;
    }
    let rank_p = signed_rank_p(logs)?;
    let (t_says, ranks_say) = match comparison.verdict {
        Verdict::Faster | Verdict::Slower if rank_p > 0.05 => ("a difference", "none"),
        Verdict::Undecided if t_p > comparison.level && rank_p <= comparison.level => {
            ("no difference", "one")
        }
        _ => return None,
    };
    Some(format!(
        "for {name} the t interval sees {t_says} (p = {t_p:.3}) and Wilcoxon's signed ranks see {ranks_say} \
         (p = {rank_p:.3}): the runs are far from normal; give a smaller precision or more runs to settle it"
    ))
}

pub(crate) fn drifting(phase: &str, history: &History, same_band: f64) -> Option<String> {
    let groups: Vec<Vec<(u32, f64)>> = history
        .runs
        .iter()
        .map(|runs| runs.iter().map(|run| (run.order, run.timed.wall_s)).collect())
        .collect();
    let drift = drift(&groups)?;
    let certain = drift.p.is_some_and(|p| p < DRIFT_LEVEL);
    (certain && drift.change.abs() > same_band).then(|| {
        format!(
            "the machine became {} during the {phase} (times {:+.1} % from first to last run): the ratios allow for \
             it because every block holds the baseline, the means do not; let it warm up or cool down first, \
             or fix its clock frequency",
            if drift.change > 0.0 { "slower" } else { "faster" },
            100.0 * drift.change
        )
    })
}

pub(crate) fn imprecise<E>(
    plan: &Plan,
    history: &History,
    assessments: &[Assessment],
    ending: &Ending<E>,
) -> Option<String> {
    let (cause, remedy) = match ending {
        Ending::MaxRuns => ("the cap on runs", "allow more runs (--max-runs)"),
        Ending::Budget => ("the time budget", "allow more time (--budget) or fewer configurations"),
        Ending::Precise | Ending::Interrupted | Ending::Failed(..) => return None,
    };
    let short: Vec<String> = assessments
        .iter()
        .filter(|assessment| history.dropped_after[assessment.configuration].is_none())
        .filter_map(|assessment| {
            let name = &plan.configurations[assessment.configuration];
            match assessment.relative_error() {
                Some(error) if error <= plan.precision => None,
                Some(error) => Some(format!("{name} (±{:.1} %)", 100.0 * error)),
                None => Some(format!("{name} (unknown)")),
            }
        })
        .collect();
    let blocks = history.complete_blocks;
    if !short.is_empty() {
        Some(format!(
            "{cause} ended the runs before the means were known to ±{:.0} %: {}; {remedy}, or quiet the machine",
            100.0 * plan.precision,
            short.join(", ")
        ))
    } else if blocks < plan.min_blocks {
        Some(format!(
            "{cause} ended the runs after {blocks} of at least {} blocks: intervals from so few runs are often too \
             narrow; {remedy}",
            plan.min_blocks
        ))
    } else {
        None
    }
}

pub(crate) fn unconfirmed(name: &str, tied: bool) -> String {
    format!(
        "{name} {} but was not confirmed by fresh runs: the winner of many looks better than it is; \
         measure it against the baseline alone, with more time or runs",
        chosen(tied)
    )
}

pub(crate) fn not_borne_out(name: &str, tied: bool, searched: Option<Ratio>, verdict: Verdict) -> String {
    let searched = searched.map_or_else(String::new, |ratio| format!(" ({:.3}x)", ratio.value));
    format!(
        "{name} {}{searched} but fresh runs say {verdict}: believe the fresh runs, the search picks \
         whoever was lucky; keep the baseline, or measure again with a smaller precision",
        chosen(tied)
    )
}

/// How the search came to its choice.
fn chosen(tied: bool) -> &'static str {
    if tied { "was as fast as the fastest of the search" } else { "won the search" }
}

fn interval(ratio: Ratio) -> String {
    format!("{:.3}x to {:.3}x", ratio.low, ratio.high)
}
