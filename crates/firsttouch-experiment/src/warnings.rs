//! What makes the figures less sure, in sentences that say what to do about it.

use crate::Plan;
use crate::history::History;
use crate::phase::Ending;
use crate::race::{BASELINE, Race};
use crate::statistics::dependence::{carry_over, persistence, persistence_in_series};
use crate::statistics::drift::{Drift, drift};
use crate::statistics::sample::{hodges_lehmann, mean, median};
use crate::statistics::slow_runs::{SlowRuns, in_one_only};
use crate::{Ratio, SessionRun};

/// A trend is told when chance makes one this clear in a hundred sessions.
const DRIFT_LEVEL: f64 = 0.01;

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
        "the times of {name} fall into more than one group (dip test, p = {dip_p:.3}), so its mean is the time of no \
         run: look at every run in the report, and place its threads and memory so that only one group remains"
    )
}

/// A ratio that a few runs decide: the median of the ratios lies outside the interval of their mean.
pub(crate) fn far_from_normal(name: &str, ratio: Ratio, log_ratios: &[f64]) -> Option<String> {
    let centre = hodges_lehmann(log_ratios)?.exp();
    (centre < ratio.low || centre > ratio.high).then(|| {
        format!(
            "the median ratio of {name} ({centre:.3}x, Hodges-Lehmann) lies outside the interval of its mean ratio \
             ({:.3}x to {:.3}x): a few runs decide the mean; look at every run in the report before you trust it",
            ratio.low, ratio.high
        )
    })
}

/// What the rule for independent noise cannot see in a phase: runs that depend on those before them.
pub(crate) fn dependent(plan: &Plan, history: &History) -> Vec<String> {
    persistent(plan, history).into_iter().chain(carried(plan, history)).collect()
}

/// Runs that resemble those of their configuration in the block before.
pub(crate) fn persistent(plan: &Plan, history: &History) -> Option<String> {
    let found = persistence(&history.blocks)?;
    let which = match history.participants[..] {
        // Their difference is all there is.
        [first, second] => format!("{} or {}", plan.configurations[first], plan.configurations[second]),
        _ => plan.configurations[history.participants[found.configuration]].clone(),
    };
    Some(resembling(&which, "in the block before", found.correlation))
}

/// Runs of a series that resemble those directly before.
pub(crate) fn persistent_in_series(names: &[String], series: &[Vec<f64>]) -> Option<String> {
    let found = persistence_in_series(series)?;
    Some(resembling(&names[found.configuration], "directly before", found.correlation))
}

fn resembling(which: &str, before: &str, correlation: f64) -> String {
    format!(
        "runs of {which} resemble those {before} (correlation {correlation:.2}): they are worth less than as many independent \
         ones, so the interval is too narrow and the verdict may be false; run the session again at another time, \
         and believe what both say"
    )
}

/// Runs that suffer or gain from what ran before them.
pub(crate) fn carried(plan: &Plan, history: &History) -> Option<String> {
    let found = carry_over(&history.blocks, &history.before())?;
    Some(format!(
        "runs directly after one of {} take {:.1} % {} than others: it leaves something behind, and what is compared \
         with it suffers or gains; a difference of about that size proves nothing",
        plan.configurations[history.participants[found.configuration]],
        100.0 * found.log_ratio.abs().exp_m1(),
        if found.log_ratio > 0.0 { "longer" } else { "less" }
    ))
}

/// Slow runs that one configuration has and the others have not.
pub(crate) fn slow_in_one(names: &[String], runs: &[&[SessionRun]]) -> Option<String> {
    let counts: Vec<SlowRuns> = runs
        .iter()
        .map(|runs| {
            let centre =
                median(&runs.iter().map(|run| run.timed.wall_s).collect::<Vec<f64>>()).unwrap_or(0.0);
            let slow = runs.iter().filter(|run| run.outlier && run.timed.wall_s > centre).count();
            SlowRuns { slow: slow as u32, runs: runs.len() as u32 }
        })
        .collect();
    let only = in_one_only(&counts)?;
    let SlowRuns { slow, runs } = counts[only];
    Some(format!(
        "{slow} of {runs} runs of {} are slow and stand apart, more than chance would give it beside the others: its ratio depends \
         on how many of them a session meets; find out what makes them slow, or make more runs",
        names[only]
    ))
}

/// The ratio of the mean times where it is another than the typical ratio, by more than may pass as the same.
pub(crate) fn means_disagree(name: &str, ratio: Ratio, means: (f64, f64), same_band: f64) -> Option<String> {
    let (baseline, mean) = means;
    let of_means = baseline / mean;
    (of_means.is_finite() && (of_means / ratio.value).ln().abs() > same_band.ln_1p()).then(|| {
        format!(
            "{name} is {:.3} times faster by the typical run, and {of_means:.3} times by the sum of all times: a few slow runs make the \
             difference; where the sum is what counts, go by the second",
            ratio.value
        )
    })
}

pub(crate) fn drifting(phase: &str, history: &History, same_band: f64) -> Option<String> {
    let drift = certain_drift(&history.runs, same_band)?;
    Some(format!(
        "the machine became {} during the {phase} (times {:+.1} % from first to last run): the ratios allow for \
         it because every block holds the baseline, the means do not; let it warm up or cool down first, \
         or fix its clock frequency",
        if drift.change > 0.0 { "slower" } else { "faster" },
        100.0 * drift.change
    ))
}

/// A trend within series of which one came after the other: what it makes of them is no difference.
pub(crate) fn drifting_in_series(runs: &[Vec<SessionRun>], same_band: f64) -> Option<String> {
    let drift = certain_drift(runs, same_band)?;
    Some(format!(
        "the machine became {} within the runs of each configuration ({:+.1} % from the first run of all to the last, if it went \
         on alike): nothing tells that from a difference, and one of about that size proves nothing; let the configurations take turns",
        if drift.change > 0.0 { "slower" } else { "faster" },
        100.0 * drift.change
    ))
}

fn certain_drift(runs: &[Vec<SessionRun>], same_band: f64) -> Option<Drift> {
    let groups: Vec<Vec<(u32, f64)>> =
        runs.iter().map(|runs| runs.iter().map(|run| (run.order, run.timed.wall_s)).collect()).collect();
    let certain = |drift: &Drift| drift.p.is_some_and(|p| p < DRIFT_LEVEL);
    drift(&groups).filter(|drift| certain(drift) && drift.change.abs() > same_band)
}

/// What the end of the session left undecided, and what it would take.
pub(crate) fn undecided<E>(plan: &Plan, race: &Race<'_>, ending: &Ending<E>) -> Option<String> {
    let (cause, remedy) = match ending {
        Ending::MaxRuns => ("the cap on runs", "allow more runs (--max-runs)"),
        Ending::Budget | Ending::Reserved => {
            ("the time budget", "allow more time (--budget) or fewer configurations")
        }
        Ending::Decided | Ending::Interrupted | Ending::Failed(..) => return None,
    };
    let open: Vec<String> = race
        .live()
        .iter()
        .filter(|&&place| place != BASELINE && race.decision(place).is_none())
        .map(|&place| {
            let name = &plan.configurations[place];
            match race.blocks_left(place) {
                Some(blocks) => format!("{name} (about {blocks} more blocks)"),
                None => name.clone(),
            }
        })
        .collect();
    (!open.is_empty()).then(|| {
        format!(
            "{cause} ended the runs before these were decided: {}; {remedy}, or quiet the machine",
            open.join(", ")
        )
    })
}

/// What was found out while the rest of the time was used up.
pub(crate) fn overtaken(recommended: &str, faster: &str) -> String {
    format!(
        "{faster} was found faster than {recommended} after {recommended} was confirmed: measure {faster} against the baseline alone"
    )
}
