//! A session from its first run to its outcome.

use crate::circumstances;
use crate::history::History;
use crate::phase::{Ending, Runner};
use crate::race::{ALPHA, BASELINE, Race};
use crate::statistics::dip::dip_p;
use crate::statistics::sample::{mean, outliers, standard_deviation};
use crate::warnings;
use crate::{ConfigurationResult, Confirmation, ConfirmationState, Decided, Judged, SessionRun, Verdict};
use crate::{Launcher, Observer, Phase, Plan, SessionResult};

/// Runs the plan and says what it proved. However it ends — decided, caps, interruption, a failed program — the
/// outcome holds everything that was measured.
///
/// ```
/// use firsttouch_experiment::{ConfirmationState, Launcher, Plan, RunRequest, Silent, TimedRun, run};
/// use std::{convert::Infallible, time::Duration};
///
/// /// A program that huge pages make a quarter faster, on a machine that wobbles by a percent.
/// struct Pretend(u32);
///
/// impl Launcher for Pretend {
///     type Error = Infallible;
///     fn launch(&mut self, request: &RunRequest) -> Result<TimedRun, Infallible> {
///         self.0 += 1;
///         let wobble = 1.0 + 0.01 * f64::from(self.0 % 3);
///         let wall_s = if request.configuration == 1 { 2.0 } else { 2.5 } * wobble;
///         Ok(TimedRun { wall_s, ..TimedRun::default() })
///     }
///     fn elapsed(&self) -> Duration {
///         Duration::from_secs(2 * u64::from(self.0))
///     }
///     fn interrupted(&self) -> bool {
///         false
///     }
/// }
///
/// let plan = Plan::new(vec!["baseline".to_owned(), "thp".to_owned()], 7);
/// let outcome = run(&plan, &mut Pretend(0), &mut Silent);
/// assert_eq!(outcome.recommended, Some(1));
/// let confirmation = outcome.confirmation.expect("something to confirm");
/// assert_eq!(confirmation.state, ConfirmationState::Confirmed);
/// assert!(confirmation.ratio.is_some_and(|ratio| ratio.low < 1.25 && 1.25 < ratio.high));
/// ```
pub fn run<L: Launcher, O: Observer + ?Sized>(
    plan: &Plan,
    launcher: &mut L,
    observer: &mut O,
) -> SessionResult<L::Error> {
    let mut runner = Runner::new(plan, launcher, observer);
    let mut search = History::new(plan, (0..plan.configurations.len()).collect());
    let mut race = Race::new(plan, &search);
    let mut notes = Vec::new();

    if let Some(Ok(places)) = runner.affordable(&search, &race, plan.confirm) {
        race.favour(&places);
    }
    let mut ending = runner.phase(Phase::Search, &mut search, &mut race, plan.confirm);
    let recommended = race.recommended();
    let mut confirmed = None;
    if let Some(recommended) =
        recommended.filter(|_| plan.confirm && !matches!(ending, Ending::Interrupted | Ending::Failed(..)))
    {
        let mut fresh = History::new(plan, vec![BASELINE, recommended]);
        let mut question = Race::confirming(plan, &fresh, &search, recommended);
        let fresh_ending = runner.phase(Phase::Confirmation, &mut fresh, &mut question, false);
        if fresh.is_begun() {
            confirmed = Some(confirmation(plan, &mut fresh, &question, &runner, &mut notes));
        }
        // What the confirmation left of the time belongs to what was still open when it began.
        ending = match (ending, fresh_ending) {
            (Ending::Reserved, Ending::Decided | Ending::MaxRuns) => {
                runner.phase(Phase::Search, &mut search, &mut race, false)
            }
            (earlier @ (Ending::Budget | Ending::MaxRuns), Ending::Decided) => earlier,
            (_, later) => later,
        };
    }
    // What was confirmed stays what is recommended, whatever was found out about others since.
    let best: Vec<usize> = race.best();
    if let Some(recommended) = recommended.filter(|place| !best.contains(place)) {
        let verdict = race.decision(recommended).map(|decision| decision.verdict);
        notes.extend(warnings::since_recommended(plan, recommended, verdict, best.first().copied()));
    }
    notes.extend(warnings::undecided(plan, &race, &search, &ending));
    notes.extend(warnings::drifting(plan, "search", &search));
    notes.extend(warnings::dependent(plan, &search));
    notes.extend(circumstances::explained(plan, &search));
    let configurations: Vec<ConfigurationResult> = (0..plan.configurations.len())
        .map(|configuration| result(&runner, &mut search, &race, configuration, &mut notes))
        .collect();
    let runs: Vec<&[SessionRun]> = configurations.iter().map(|result| &result.runs[..]).collect();
    notes.extend(warnings::slow_in_one(plan, &runs));
    notes.extend(circumstances::settings(&runs));
    let (interrupted, failure) = match ending {
        Ending::Interrupted => (true, None),
        Ending::Failed(configuration, error) => (false, Some((configuration, error))),
        Ending::Decided | Ending::MaxRuns | Ending::Budget | Ending::Reserved => (false, None),
    };
    SessionResult {
        configurations,
        best,
        recommended,
        confirmation: confirmed,
        interrupted,
        failure,
        warnings: notes,
    }
}

/// Marks outliers and looks for groups; tells both, but groups explain their outliers.
pub(crate) fn inspect(plan: &Plan, name: &str, runs: &mut [SessionRun], notes: &mut Vec<String>) -> bool {
    let value = |run: &SessionRun| plan.objective.value(&run.timed);
    let values: Vec<f64> = runs.iter().filter_map(value).collect();
    for (run, marked) in runs.iter_mut().filter(|run| value(run).is_some()).zip(outliers(&values)) {
        run.outlier = marked;
    }
    let grouped = dip_p(&values).filter(|&p| p < ALPHA);
    notes.extend(grouped.map(|p| warnings::bimodal(plan, name, p)));
    notes.extend(warnings::outliers(plan, name, runs).filter(|_| grouped.is_none()));
    grouped.is_some()
}

fn result<L: Launcher, O: Observer + ?Sized>(
    runner: &Runner<'_, L, O>,
    search: &mut History,
    race: &Race<'_>,
    configuration: usize,
    notes: &mut Vec<String>,
) -> ConfigurationResult {
    let plan = runner.plan;
    let name = &plan.configurations[configuration];
    let values = search.values(configuration);
    let ratio = race.ratio(configuration);
    notes.extend(
        ratio.and_then(|ratio| warnings::far_from_normal(name, ratio, &search.log_ratios(configuration))),
    );
    let sums = ratio.zip(search.ratio_of_sums(configuration));
    notes.extend(sums.and_then(|(ratio, of_sums)| warnings::means_disagree(plan, name, ratio, of_sums)));
    let mut runs = std::mem::take(&mut search.runs[configuration]);
    let bimodal = inspect(plan, name, &mut runs, notes);
    let wall_s: Vec<f64> = runs.iter().map(|run| run.timed.wall_s).collect();
    let judged = mean(&values).filter(|_| !plan.objective.is_wall());
    ConfigurationResult {
        runs,
        mean_wall_s: mean(&wall_s).unwrap_or(0.0),
        deviation_wall_s: standard_deviation(&wall_s),
        judged: judged.map(|mean| Judged { mean, deviation: standard_deviation(&values) }),
        ratio,
        decided: race.decision(configuration).and_then(|decision| Decided::of(&decision)),
        forecast: runner.forecast(race, configuration, configuration),
        bimodal,
    }
}

fn confirmation<L: Launcher, O: Observer + ?Sized>(
    plan: &Plan,
    fresh: &mut History,
    question: &Race<'_>,
    runner: &Runner<'_, L, O>,
    notes: &mut Vec<String>,
) -> Confirmation {
    /// Its place in the blocks of the confirmation.
    const RECOMMENDED: usize = 1;
    let recommended = fresh.participants[RECOMMENDED];
    let name = |configuration: usize| format!("{} (confirmation)", plan.configurations[configuration]);
    notes.extend(warnings::drifting(plan, "confirmation", fresh));
    notes.extend(warnings::dependent(plan, fresh));
    let ratio = question.ratio(RECOMMENDED);
    notes.extend(ratio.and_then(|ratio| {
        warnings::far_from_normal(&name(recommended), ratio, &fresh.log_ratios(RECOMMENDED))
    }));
    let mut runs_of = |configuration: usize| {
        let mut runs = std::mem::take(&mut fresh.runs[configuration]);
        inspect(plan, &name(configuration), &mut runs, notes);
        runs
    };
    Confirmation {
        state: match question.decision(RECOMMENDED).map(|decision| decision.verdict) {
            Some(Verdict::Faster) => ConfirmationState::Confirmed,
            Some(Verdict::Same | Verdict::Slower) => ConfirmationState::Refuted,
            None => ConfirmationState::NotYet,
        },
        ratio,
        forecast: runner.forecast(question, RECOMMENDED, recommended),
        baseline_runs: runs_of(BASELINE),
        recommended_runs: runs_of(recommended),
    }
}
