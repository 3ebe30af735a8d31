//! The runs of one phase: block after block, until nothing is left to decide or something ends it.

use crate::history::History;
use crate::race::{ALPHA, BASELINE, Race};
use crate::schedule::Schedule;
use crate::statistics::forecast::fresh_blocks;
use crate::statistics::sample::mean;
use crate::{Forecast, Launcher, LiveSummary, Observer, Phase, PhaseProgress, Plan, RunRequest};
use std::time::Duration;

/// No more than this share of the budget is kept for the confirmation.
const MOST_FOR_CONFIRMATION: f64 = 0.5;

/// So many times the blocks that find the gain in nine of ten confirmations: the tenth needs more.
const SAFETY: u32 = 2;

/// Why a phase ended.
#[derive(Debug)]
pub(crate) enum Ending<E> {
    /// Nothing is left to decide.
    Decided,
    /// The cap on runs.
    MaxRuns,
    /// The cap on time.
    Budget,
    /// What is left of the time is kept for the confirmation.
    Reserved,
    /// Somebody asked to stop.
    Interrupted,
    /// A run failed.
    Failed(usize, E),
}

/// Makes the runs of a session, in all its phases.
#[derive(Debug)]
pub(crate) struct Runner<'a, L, O: ?Sized> {
    pub(crate) plan: &'a Plan,
    launcher: &'a mut L,
    observer: &'a mut O,
    schedule: Schedule,
    next_order: u32,
    /// What the runs of each configuration took, with their preparation, and how many they were.
    spent: Vec<(Duration, u32)>,
}

impl<'a, L: Launcher, O: Observer + ?Sized> Runner<'a, L, O> {
    pub(crate) fn new(plan: &'a Plan, launcher: &'a mut L, observer: &'a mut O) -> Self {
        let spent = vec![(Duration::ZERO, 0); plan.configurations.len()];
        Runner { plan, launcher, observer, schedule: Schedule::new(plan.seed), next_order: 0, spent }
    }

    /// Runs blocks until a rule ends the phase, or goes on with one that was ended. `keeps_time`: for a confirmation of what would be
    /// recommended.
    pub(crate) fn phase(
        &mut self,
        phase: Phase,
        history: &mut History,
        race: &mut Race<'_>,
        keeps_time: bool,
    ) -> Ending<L::Error> {
        while !race.live().is_empty() {
            if self.plan.max_runs.is_some_and(|most| history.block() >= most) {
                return Ending::MaxRuns;
            }
            if let Some(budget) = self.plan.budget.filter(|_| history.block() > 0) {
                let block: Duration = race.live().iter().map(|&at| self.cost(history.participants[at])).sum();
                let left = budget.saturating_sub(self.launcher.elapsed());
                if left < block {
                    return Ending::Budget;
                }
                let kept = if keeps_time { self.confirmation(race, budget) } else { Duration::ZERO };
                if left < block.saturating_add(kept) {
                    return Ending::Reserved;
                }
            }
            if let Some(ending) = self.block(phase, history, race) {
                return ending;
            }
            history.finish_block();
            race.look(history);
            let progress = self.progress(phase, history, race);
            self.observer.block_finished(&progress);
        }
        Ending::Decided
    }

    /// What a run of a configuration takes, with its preparation: the mean of those so far.
    pub(crate) fn cost(&self, configuration: usize) -> Duration {
        let (spent, runs) = self.spent[configuration];
        spent.checked_div(runs).unwrap_or(Duration::ZERO)
    }

    /// The time to keep for the confirmation of what would be recommended now. What it does not need goes back to the search.
    fn confirmation(&self, race: &Race<'_>, budget: Duration) -> Duration {
        let Some(recommended) = race.recommended() else { return Duration::ZERO };
        let most = budget.mul_f64(MOST_FOR_CONFIRMATION);
        let blocks = race.contrast(recommended).and_then(|contrast| fresh_blocks(contrast, ALPHA));
        let block = self.cost(BASELINE) + self.cost(recommended);
        let time = blocks.and_then(|blocks| block.checked_mul(blocks.saturating_mul(SAFETY)));
        time.map_or(most, |time| time.min(most))
    }

    /// What it would take to decide about the configuration at this place of a phase.
    pub(crate) fn forecast(&self, race: &Race<'_>, place: usize, configuration: usize) -> Option<Forecast> {
        let runs = race.blocks_left(place)?;
        let block = self.cost(configuration) + self.cost(BASELINE);
        Some(Forecast { runs, seconds: block.as_secs_f64() * f64::from(runs) })
    }

    /// Runs every live configuration once, unless something ends the session inside the block.
    fn block(&mut self, phase: Phase, history: &mut History, race: &Race<'_>) -> Option<Ending<L::Error>> {
        for place in self.schedule.block(race.live()) {
            let configuration = history.participants[place];
            if self.launcher.interrupted() {
                return Some(Ending::Interrupted);
            }
            let began = self.launcher.elapsed();
            if self.plan.budget.is_some_and(|most| began >= most) {
                return Some(Ending::Budget);
            }
            let request = RunRequest {
                configuration,
                phase,
                block: history.block(),
                order: self.next_order,
                environment_offset_bytes: self.schedule.environment_offset_bytes(),
            };
            self.observer.run_started(&request);
            match self.launcher.launch(&request) {
                Ok(timed) => {
                    self.observer.run_finished(&request, &timed);
                    history.record(&request, timed);
                    self.next_order += 1;
                    let (spent, runs) = &mut self.spent[configuration];
                    *spent += self.launcher.elapsed().saturating_sub(began);
                    *runs += 1;
                }
                // Ctrl-C reaches the program too, so its death then is the interruption and no fault of its own.
                Err(_) if self.launcher.interrupted() => return Some(Ending::Interrupted),
                Err(error) => return Some(Ending::Failed(configuration, error)),
            }
        }
        None
    }

    fn progress(&self, phase: Phase, history: &History, race: &Race<'_>) -> PhaseProgress {
        let summary = |(place, &configuration): (usize, &usize)| LiveSummary {
            configuration,
            runs: history.runs[configuration].len() as u32,
            mean: mean(&history.values(configuration)),
            ratio: race.ratio(place),
            decided: race.decision(place).map(|decision| (decision.verdict, decision.blocks)),
            forecast: self.forecast(race, place, configuration),
            is_live: race.live().contains(&place),
        };
        let configurations: Vec<LiveSummary> = history.participants.iter().enumerate().map(summary).collect();
        let forecasts: Vec<(u32, Duration)> = configurations
            .iter()
            .filter_map(|summary| Some((summary.forecast?.runs, self.cost(summary.configuration))))
            .collect();
        let remaining_blocks = forecasts.iter().map(|(blocks, _)| *blocks).max();
        let left = self.plan.budget.map(|budget| budget.saturating_sub(self.launcher.elapsed()));
        let remaining = remaining_blocks.map(|blocks| {
            let baseline = self.cost(BASELINE).saturating_mul(blocks);
            let all = forecasts
                .iter()
                .fold(baseline, |sum, (blocks, cost)| sum.saturating_add(cost.saturating_mul(*blocks)));
            left.map_or(all, |left| all.min(left))
        });
        PhaseProgress {
            phase,
            block: history.block().saturating_sub(1),
            configurations,
            remaining_blocks,
            remaining,
        }
    }
}
