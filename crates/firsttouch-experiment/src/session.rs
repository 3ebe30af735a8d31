//! A session from its first run to its outcome.

use crate::assess::{ALPHA, Assessment, BASELINE, assess};
use crate::eliminate::out_of_the_race;
use crate::history::History;
use crate::schedule::Schedule;
use crate::statistics::dip::dip_p;
use crate::statistics::sample::{outliers, standard_deviation};
use crate::stop::PrecisionRule;
use crate::tie::{Tie, less_intrusive};
use crate::warnings::{self, Ending};
use crate::{ConfigurationResult, Confirmation, SessionRun, Verdict};
use crate::{Launcher, LiveSummary, Observer, Phase, PhaseProgress, Plan, RunRequest, SessionResult};
use std::time::Duration;

/// Part of the budget that the search may use when a confirmation is to follow.
const SEARCH_SHARE: f64 = 2.0 / 3.0;

/// Runs the plan and says what it proved. However it ends — precision, caps, interruption, a failed program — the
/// outcome holds everything that was measured.
///
/// ```
/// use firsttouch_experiment::{Launcher, Plan, RunRequest, TimedRun, Silent, run};
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
/// assert_eq!(outcome.winner, Some(1));
/// let ratio = outcome.confirmation.and_then(|confirmation| confirmation.ratio);
/// assert!(ratio.is_some_and(|ratio| ratio.low < 1.25 && 1.25 < ratio.high));
/// ```
pub fn run<L: Launcher, O: Observer + ?Sized>(
    plan: &Plan,
    launcher: &mut L,
    observer: &mut O,
) -> SessionResult<L::Error> {
    let mut session = Session { plan, launcher, observer, schedule: Schedule::new(plan.seed), next_order: 0 };
    let all: Vec<usize> = (0..plan.configurations.len()).collect();
    let (mut search, mut ending) = session.phase(Phase::Search, all);
    let assessments = assess(&search, plan.same_band);
    let mut notes = Vec::new();
    notes.extend(warnings::imprecise(plan, &search, &assessments, &ending));

    let fastest = fastest(&search, &assessments);
    let tie = fastest.and_then(|fastest| less_intrusive(plan, &search, &assessments, fastest));
    // What is recommended is what has to be confirmed.
    let winner = tie.map(|tie: Tie| tie.configuration).or(fastest);
    let mut confirmed = None;
    if let Some(winner) = winner {
        let name = &plan.configurations[winner];
        let searched = assessments[winner].ratio();
        if plan.confirm && !matches!(ending, Ending::Interrupted | Ending::Failed(..)) {
            let (mut fresh, fresh_ending) = session.phase(Phase::Confirmation, vec![BASELINE, winner]);
            let assessments = assess(&fresh, plan.same_band);
            if fresh.runs.iter().any(|runs| !runs.is_empty()) {
                notes.extend(warnings::imprecise(plan, &fresh, &assessments, &fresh_ending));
                confirmed = Some(confirmation(plan, &mut fresh, &assessments, winner, &mut notes));
            }
            ending = fresh_ending;
        }
        match &confirmed {
            Some(Confirmation { ratio: Some(_), verdict: Verdict::Faster, .. }) => {}
            Some(Confirmation { ratio: Some(_), verdict, .. }) => {
                notes.push(warnings::not_borne_out(name, tie.is_some(), searched, *verdict));
            }
            _ => notes.push(warnings::unconfirmed(name, tie.is_some())),
        }
    }

    notes.extend(warnings::drifting("search", &search, plan.same_band));
    let configurations =
        assessments.iter().map(|assessment| result(plan, &mut search, assessment, &mut notes)).collect();
    let (interrupted, failure) = match ending {
        Ending::Interrupted => (true, None),
        Ending::Failed(configuration, error) => (false, Some((configuration, error))),
        Ending::Precise | Ending::MaxRuns | Ending::Budget => (false, None),
    };
    SessionResult {
        configurations,
        winner,
        tied_with: fastest.zip(tie.map(|tie| tie.ratio)),
        confirmation: confirmed,
        interrupted,
        failure,
        warnings: notes,
    }
}

struct Session<'a, L, O: ?Sized> {
    plan: &'a Plan,
    launcher: &'a mut L,
    observer: &'a mut O,
    schedule: Schedule,
    next_order: u32,
}

impl<L: Launcher, O: Observer + ?Sized> Session<'_, L, O> {
    /// Runs blocks of the participants until a rule ends the phase.
    fn phase(&mut self, phase: Phase, participants: Vec<usize>) -> (History, Ending<L::Error>) {
        let began = self.launcher.elapsed();
        let mut history = History::new(self.plan.configurations.len(), participants);
        let mut rule = PrecisionRule::default();
        let mut longest_block = Duration::ZERO;
        if history.participants.is_empty() {
            return (history, Ending::Precise);
        }
        loop {
            if self.plan.max_runs.is_some_and(|most| history.complete_blocks >= most) {
                return (history, Ending::MaxRuns);
            }
            let block_began = self.launcher.elapsed();
            let first = history.complete_blocks == 0;
            if !first && self.allowance(phase).is_some_and(|most| block_began + longest_block > most) {
                return (history, Ending::Budget);
            }
            if let Some(ending) = self.block(phase, &mut history) {
                return (history, ending);
            }
            history.complete_blocks += 1;
            longest_block = longest_block.max(self.launcher.elapsed().saturating_sub(block_began));

            let assessments = assess(&history, self.plan.same_band);
            let dropped = match phase {
                Phase::Search => out_of_the_race(&history, &assessments),
                Phase::Confirmation => Vec::new(),
            };
            for &index in &dropped {
                history.dropped_after[index] = Some(history.complete_blocks - 1);
            }
            let live = history.live();
            let errors = assessments
                .iter()
                .filter(|assessment| live.contains(&assessment.configuration))
                .map(Assessment::relative_error);
            let precise = rule.satisfied(self.plan, history.complete_blocks, errors);
            let progress = self.progress(phase, &history, &assessments, &rule, dropped, began);
            self.observer.block_finished(&progress);
            if precise {
                return (history, Ending::Precise);
            }
        }
    }

    /// Runs every live configuration once, unless something ends the session inside the block.
    fn block(&mut self, phase: Phase, history: &mut History) -> Option<Ending<L::Error>> {
        for configuration in self.schedule.block(&history.live()) {
            if self.launcher.interrupted() {
                return Some(Ending::Interrupted);
            }
            if self.plan.budget.is_some_and(|most| self.launcher.elapsed() >= most) {
                return Some(Ending::Budget);
            }
            let request = RunRequest {
                configuration,
                phase,
                block: history.complete_blocks,
                order: self.next_order,
                environment_offset_bytes: self.schedule.environment_offset_bytes(),
            };
            self.observer.run_started(&request);
            match self.launcher.launch(&request) {
                Ok(timed) => {
                    self.observer.run_finished(&request, &timed);
                    history.record(&request, timed);
                    self.next_order += 1;
                }
                // Ctrl-C reaches the program too, so its death then is the interruption and no fault of its own.
                Err(_) if self.launcher.interrupted() => return Some(Ending::Interrupted),
                Err(error) => return Some(Ending::Failed(configuration, error)),
            }
        }
        None
    }

    /// The time at which this phase has to be over.
    fn allowance(&self, phase: Phase) -> Option<Duration> {
        let share = if phase == Phase::Search && self.plan.confirm { SEARCH_SHARE } else { 1.0 };
        self.plan.budget.map(|budget| budget.mul_f64(share))
    }

    fn progress(
        &self,
        phase: Phase,
        history: &History,
        assessments: &[Assessment],
        rule: &PrecisionRule,
        dropped: Vec<usize>,
        began: Duration,
    ) -> PhaseProgress {
        let configurations: Vec<LiveSummary> =
            assessments.iter().map(|assessment| summary(self.plan, history, assessment, rule)).collect();
        let live = || configurations.iter().filter(|summary| summary.dropped_after_block.is_none());
        let remaining_blocks = live().map(|summary| summary.remaining_runs).max().flatten();
        let live_count = live().count() as u32;

        // What a run costs beyond its own time (start, checks between runs) is in the time that has passed.
        let now = self.launcher.elapsed();
        let running: f64 = history.runs.iter().flatten().map(|run| run.timed.wall_s).sum();
        let overhead = now.saturating_sub(began).as_secs_f64() / running;
        let block_s: f64 = live().filter_map(|summary| summary.mean_wall_s).sum::<f64>() * overhead;
        let left_by_budget = self.allowance(phase).map(|most| most.saturating_sub(now));
        let remaining = remaining_blocks
            .and_then(|blocks| Duration::try_from_secs_f64(block_s * f64::from(blocks)).ok())
            .map(|estimate| left_by_budget.map_or(estimate, |left| estimate.min(left)));
        PhaseProgress {
            phase,
            block: history.complete_blocks.saturating_sub(1),
            dropped,
            remaining_blocks,
            remaining_runs: remaining_blocks.map(|blocks| blocks.saturating_mul(live_count)),
            remaining,
            configurations,
        }
    }
}

fn summary(plan: &Plan, history: &History, assessment: &Assessment, rule: &PrecisionRule) -> LiveSummary {
    let configuration = assessment.configuration;
    let dropped_after_block = history.dropped_after[configuration];
    let mean_wall_s = assessment.mean.map(|mean| mean.mean);
    let remaining_runs = if dropped_after_block.is_some() {
        Some(0)
    } else {
        standard_deviation(&history.wall_s(configuration))
            .zip(mean_wall_s.filter(|mean| *mean > 0.0))
            .map(|(deviation, mean)| rule.remaining_runs(plan, assessment.runs, deviation / mean))
    };
    LiveSummary {
        configuration,
        runs: assessment.runs,
        mean_wall_s,
        ci95_wall_s: assessment.mean.and_then(|mean| mean.half_width),
        relative_error: assessment.relative_error(),
        ratio: assessment.ratio(),
        verdict: assessment.verdict(),
        remaining_runs,
        dropped_after_block,
    }
}

/// The fastest of those that are faster than the baseline. One that was dropped is certainly worse than the best, but
/// its ratio is from other blocks; so those that ran to the end come first.
fn fastest(history: &History, assessments: &[Assessment]) -> Option<usize> {
    let rank = |assessment: &Assessment| {
        let survived = history.dropped_after[assessment.configuration].is_none();
        (survived, assessment.ratio().map_or(0.0, |ratio| ratio.value))
    };
    assessments
        .iter()
        .filter(|assessment| assessment.verdict() == Some(Verdict::Faster))
        .max_by(|left, right| {
            let (left, right) = (rank(left), rank(right));
            left.0.cmp(&right.0).then(left.1.total_cmp(&right.1))
        })
        .map(|assessment| assessment.configuration)
}

/// Marks outliers and looks for groups; tells both, but groups explain their outliers.
fn inspect(name: &str, runs: &mut [SessionRun], same_band: f64, notes: &mut Vec<String>) -> bool {
    let wall_s: Vec<f64> = runs.iter().map(|run| run.timed.wall_s).collect();
    for (run, marked) in runs.iter_mut().zip(outliers(&wall_s)) {
        run.outlier = marked;
    }
    let grouped = dip_p(&wall_s).filter(|&p| p < ALPHA);
    notes.extend(grouped.map(|p| warnings::bimodal(name, p)));
    notes.extend(warnings::outliers(name, runs, same_band).filter(|_| grouped.is_none()));
    grouped.is_some()
}

fn result(
    plan: &Plan,
    history: &mut History,
    assessment: &Assessment,
    notes: &mut Vec<String>,
) -> ConfigurationResult {
    let configuration = assessment.configuration;
    let name = &plan.configurations[configuration];
    let mut runs = std::mem::take(&mut history.runs[configuration]);
    let bimodal = inspect(name, &mut runs, plan.same_band, notes);
    let comparison = assessment.comparison.as_ref();
    notes.extend(comparison.and_then(|comparison| warnings::disagreement(name, comparison)));
    ConfigurationResult {
        runs,
        mean_wall_s: assessment.mean.map_or(0.0, |mean| mean.mean),
        ci95_wall_s: assessment.mean.and_then(|mean| mean.half_width),
        ratio: assessment.ratio(),
        verdict: assessment.verdict(),
        more_runs: comparison.and_then(|comparison| comparison.more_runs),
        bimodal,
        dropped_after_block: history.dropped_after[configuration],
    }
}

fn confirmation(
    plan: &Plan,
    history: &mut History,
    assessments: &[Assessment],
    winner: usize,
    notes: &mut Vec<String>,
) -> Confirmation {
    let fresh = |configuration: usize| format!("{} (confirmation)", plan.configurations[configuration]);
    notes.extend(warnings::drifting("confirmation", history, plan.same_band));
    let mut runs_of = |configuration: usize| {
        let mut runs = std::mem::take(&mut history.runs[configuration]);
        inspect(&fresh(configuration), &mut runs, plan.same_band, notes);
        runs
    };
    let (baseline_runs, winner_runs) = (runs_of(BASELINE), runs_of(winner));
    let comparison = assessments
        .iter()
        .find(|assessment| assessment.configuration == winner)
        .and_then(|a| a.comparison.as_ref());
    notes.extend(comparison.and_then(|comparison| warnings::disagreement(&fresh(winner), comparison)));
    Confirmation {
        ratio: comparison.and_then(|comparison| comparison.ratio),
        verdict: comparison.map_or(Verdict::Undecided, |comparison| comparison.verdict),
        baseline_runs,
        winner_runs,
    }
}
