//! What makes the figures less sure, in sentences that say what to do about it.

use crate::Plan;
use crate::history::History;
use crate::phase::Ending;
use crate::race::{BASELINE, Race};
use crate::statistics::dependence::{carry_over, persistence, persistence_in_series};
use crate::statistics::drift::{Drift, drift};
use crate::statistics::sample::{hodges_lehmann, mean, median};
use crate::statistics::slow_runs::{SlowRuns, in_one_only};
use crate::{Ratio, SessionRun, Verdict};

/// A trend is told when chance makes one this clear in a hundred sessions.
const DRIFT_LEVEL: f64 = 0.01;

/// Tells of outliers only where they move the mean by more than may pass as the same: a few runs in a hundred of any
/// program stand apart, and a warning about each would teach people to read past all of them.
pub(crate) fn outliers(plan: &Plan, name: &str, runs: &[SessionRun]) -> Option<String> {
    let values = |keep: bool| -> Vec<f64> {
        let kept = runs.iter().filter(|run| keep || !run.outlier);
        kept.filter_map(|run| plan.objective.value(&run.timed)).collect()
    };
    let (all, others) = (mean(&values(true))?, mean(&values(false))?);
    let shift = all / others - 1.0;
    (shift.abs() > plan.same_band).then(|| {
        format!(
            "{} of {} runs of {name} stand apart from the others and move its mean by {:+.1} % (marked, and counted all \
             the same): something else may have used the machine; close it and measure again",
            runs.iter().filter(|run| run.outlier).count(),
            runs.len(),
            100.0 * shift
        )
    })
}

pub(crate) fn bimodal(plan: &Plan, name: &str, dip_p: f64) -> String {
    format!(
        "the {} of {name} fall into more than one group (dip test, p = {dip_p:.3}), so its mean is that of no \
         run: look at every run in the report, and place its threads and memory so that only one group remains",
        plan.objective.values()
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
    let percent = 100.0 * found.log_ratio.abs().exp_m1();
    let differ = match (plan.objective.is_wall(), found.log_ratio > 0.0) {
        (true, true) => format!("take {percent:.1} % longer"),
        (true, false) => format!("take {percent:.1} % less"),
        (false, true) => format!("are {percent:.1} % worse"),
        (false, false) => format!("are {percent:.1} % better"),
    };
    Some(format!(
        "runs directly after one of {} {differ} than others: it leaves something behind, and what is compared \
         with it suffers or gains; a difference of about that size proves nothing",
        plan.configurations[history.participants[found.configuration]]
    ))
}

/// Slow runs that one configuration has and the others have not.
pub(crate) fn slow_in_one(plan: &Plan, runs: &[&[SessionRun]]) -> Option<String> {
    let loss = |run: &SessionRun| plan.objective.log_loss(&run.timed);
    let counts: Vec<SlowRuns> = runs
        .iter()
        .map(|runs| {
            let losses: Vec<f64> = runs.iter().filter_map(loss).collect();
            let centre = median(&losses).unwrap_or(f64::INFINITY);
            let slow =
                runs.iter().filter(|run| run.outlier && loss(run).is_some_and(|it| it > centre)).count();
            SlowRuns { slow: slow as u32, runs: runs.len() as u32 }
        })
        .collect();
    let only = in_one_only(&counts)?;
    let SlowRuns { slow, runs } = counts[only];
    let bad = if plan.objective.is_wall() { "slow" } else { "bad" };
    Some(format!(
        "{slow} of {runs} runs of {} are {bad} and stand apart, more than chance would give it beside the others: its ratio depends \
         on how many of them a session meets; find out what makes them {bad}, or make more runs",
        plan.configurations[only]
    ))
}

/// The ratio of the sums where it is another than the mean of the ratios, by more than may pass as the same.
pub(crate) fn means_disagree(plan: &Plan, name: &str, ratio: Ratio, of_sums: f64) -> Option<String> {
    (of_sums.is_finite() && (of_sums / ratio.value).ln().abs() > plan.same_band.ln_1p()).then(|| {
        let better = plan.objective.word(Verdict::Faster);
        let (values, few) =
            if plan.objective.is_wall() { ("times", "slow runs") } else { ("values", "runs") };
        let (means, what) = match plan.objective.higher_is_better {
            true => ("harmonic", "the time that equal work takes at these rates"),
            false => ("arithmetic", "the sum"),
        };
        format!(
            "{name} is {:.3} times {better} by the geometric mean of its ratios, and {of_sums:.3} times by the {means} means of all {values}: \
             a few {few} make the difference; where {what} is what counts, go by the second",
            ratio.value
        )
    })
}

pub(crate) fn drifting(plan: &Plan, phase: &str, history: &History) -> Option<String> {
    let drift = certain_drift(plan, &history.runs)?;
    let (who, remedy) = match plan.objective.is_wall() {
        true => ("the machine", "let it warm up or cool down first, or fix its clock frequency"),
        false => ("what is judged", "find out what else changes from run to run"),
    };
    Some(format!(
        "{who} became {} during the {phase} ({} {:+.1} % from first to last run): the ratios allow for \
         it, each being of runs of one block, the means do not; {remedy}",
        direction(plan, &drift),
        plan.objective.values(),
        100.0 * drift.change
    ))
}

/// A trend within series of which one came after the other: what it makes of them is no difference.
pub(crate) fn drifting_in_series(plan: &Plan, runs: &[Vec<SessionRun>]) -> Option<String> {
    let drift = certain_drift(plan, runs)?;
    Some(format!(
        "the machine became {} within the runs of each configuration ({:+.1} % from the first run of all to the last, if it went \
         on alike): nothing tells that from a difference, and one of about that size proves nothing; let the configurations take turns",
        direction(plan, &drift),
        100.0 * drift.change
    ))
}

fn certain_drift(plan: &Plan, runs: &[Vec<SessionRun>]) -> Option<Drift> {
    let value = |run: &SessionRun| Some((run.order, plan.objective.value(&run.timed)?));
    let groups: Vec<Vec<(u32, f64)>> =
        runs.iter().map(|runs| runs.iter().filter_map(value).collect()).collect();
    let certain = |drift: &Drift| drift.p.is_some_and(|p| p < DRIFT_LEVEL);
    drift(&groups).filter(|drift| certain(drift) && drift.change.abs() > plan.same_band)
}

/// Which way a trend goes, in the word of a verdict.
fn direction(plan: &Plan, drift: &Drift) -> &'static str {
    let is_better = (drift.change > 0.0) == plan.objective.higher_is_better;
    plan.objective.word(if is_better { Verdict::Faster } else { Verdict::Slower })
}

/// What the end of the session left undecided, and what it would take.
pub(crate) fn undecided<E>(
    plan: &Plan,
    race: &Race<'_>,
    history: &History,
    ending: &Ending<E>,
) -> Option<String> {
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
                None if history.runs[place].is_empty() => format!("{name} (never run)"),
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

/// What the search found after it had recommended one that is no longer among the best: by its verdict now, and another that is.
pub(crate) fn since_recommended(
    plan: &Plan,
    recommended: usize,
    verdict: Option<Verdict>,
    faster: Option<usize>,
) -> Option<String> {
    match verdict {
        Some(Verdict::Faster) => faster.map(|faster| overtaken(plan, recommended, faster)),
        verdict => Some(given_up(plan, recommended, verdict)),
    }
}

/// The search went on with what it had recommended, and found something else.
fn given_up(plan: &Plan, recommended: usize, verdict: Option<Verdict>) -> String {
    let recommended = &plan.configurations[recommended];
    let found = match verdict {
        None => "undecided",
        Some(Verdict::Same) => "the same",
        Some(verdict) => plan.objective.word(verdict),
    };
    let better = plan.objective.word(Verdict::Faster);
    format!(
        "{recommended} was {better} when it was recommended, and is {found} by all runs of the search: what fresh runs say of it rests on those alone, so repeat the session"
    )
}

/// What was found out while the rest of the time was used up.
fn overtaken(plan: &Plan, recommended: usize, faster: usize) -> String {
    let (recommended, faster) = (&plan.configurations[recommended], &plan.configurations[faster]);
    let better = plan.objective.word(Verdict::Faster);
    format!(
        "{faster} was found {better} than {recommended} after {recommended} was confirmed: measure {faster} against the baseline alone"
    )
}

#[cfg(test)]
mod tests {
    use crate::{Plan, Verdict};

    #[test]
    fn what_became_of_the_recommended_one_is_told() {
        let plan = Plan::new(["baseline", "a", "b"].map(str::to_owned).to_vec(), 1);
        let told = |verdict, faster| super::since_recommended(&plan, 1, verdict, faster);
        assert_eq!(told(Some(Verdict::Faster), None), None);
        assert!(told(Some(Verdict::Faster), Some(2)).unwrap().starts_with("b was found faster than a"));
        for (verdict, word) in
            [(None, "undecided"), (Some(Verdict::Same), "the same"), (Some(Verdict::Slower), "slower")]
        {
            for faster in [None, Some(2)] {
                let note = told(verdict, faster).unwrap();
                assert!(
                    note.starts_with(&format!("a was faster when it was recommended, and is {word} by")),
                    "{note}"
                );
            }
        }
    }
}
