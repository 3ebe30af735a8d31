//! The runs of one phase: block after block, until nothing is left to decide or something ends it.

use crate::allocation::{Candidate, FEWEST_BLOCKS, decidable, one_block};
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

/// So many blocks confirm a large gain, where the search has told of the noise.
const FRESH_BLOCKS: u32 = 4;

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
            let mut next = race.live().to_vec();
            match self.affordable(history, race, keeps_time) {
                Some(Ok(affordable)) => next = affordable,
                // A block that the budget cuts short is better than nothing.
                Some(Err(ending)) if history.block() > 0 => return ending,
                Some(Err(_)) | None => {}
            }
            if let Some(ending) = self.block(phase, history, &next) {
                return ending;
            }
            history.finish_block();
            race.look(history);
            let progress = self.progress(phase, history, race);
            self.observer.block_finished(&progress);
        }
        Ending::Decided
    }

    /// What a run of a configuration takes, with its preparation: the mean of those so far, before the first what its untimed run took, by how
    /// much longer the baseline's take.
    pub(crate) fn cost(&self, configuration: usize) -> Duration {
        let mean = |at: usize| self.spent[at].0.checked_div(self.spent[at].1);
        let untimed_s = |at: usize| self.plan.untimed.get(at).map_or(0.0, |run| run.wall_s);
        mean(configuration).unwrap_or_else(|| {
            let longer = mean(BASELINE).map(|mean| mean.as_secs_f64() / untimed_s(BASELINE));
            let longer = longer.filter(|longer| longer.is_finite()).unwrap_or(1.0);
            Duration::try_from_secs_f64(untimed_s(configuration) * longer).unwrap_or(Duration::ZERO)
        })
    }

    /// Who runs in the next block where there is a budget, the baseline first.
    pub(crate) fn affordable(
        &self,
        history: &History,
        race: &Race<'_>,
        keeps_time: bool,
    ) -> Option<Result<Vec<usize>, Ending<L::Error>>> {
        let budget = self.plan.budget?;
        let left = budget.saturating_sub(self.launcher.elapsed());
        let for_confirmation = budget.mul_f64(if keeps_time { MOST_FOR_CONFIRMATION } else { 0.0 });
        let candidates = self.candidates(history, race);
        let kept = self.kept(race).min(for_confirmation);
        // What will be recommended is not known from the beginning on, but that it has to be confirmed is.
        let expected = match race.recommended() {
            Some(_) => Duration::ZERO,
            None => self.cost(BASELINE).saturating_mul(2 * FRESH_BLOCKS).min(for_confirmation),
        };
        let baseline = self.cost(BASELINE);
        let free = left.saturating_sub(kept);
        let mut places = decidable(&candidates, baseline, free.saturating_sub(expected));
        if places.is_empty() {
            places = decidable(&candidates, baseline, free);
        }
        if places.is_empty() {
            places = one_block(&candidates, baseline, free);
        }
        if places.is_empty() {
            let is_time_kept = !one_block(&candidates, baseline, left).is_empty();
            return Some(Err(if is_time_kept { Ending::Reserved } else { Ending::Budget }));
        }
        places.insert(0, BASELINE);
        Some(Ok(places))
    }

    /// Those about whom something is left to decide, and what it takes.
    fn candidates(&self, history: &History, race: &Race<'_>) -> Vec<Candidate> {
        let has_begun = history.block() > 0;
        let candidate = |&place: &usize| {
            let configuration = history.participants[place];
            let forecast = race.decision(place).map_or_else(|| race.blocks_left(place), |_| Some(1));
            Candidate {
                place,
                blocks: match (history.runs[configuration].len() as u32, forecast) {
                    // Those that run are to be decided before others are tried that promised less.
                    (0, _) if has_begun => 2 * FEWEST_BLOCKS,
                    // The first forecasts are no better than that.
                    (runs @ ..FEWEST_BLOCKS, forecast) => {
                        forecast.unwrap_or(u32::MAX).min(FEWEST_BLOCKS - runs)
                    }
                    (_, forecast) => forecast.unwrap_or(u32::MAX),
                },
                cost: self.cost(configuration),
                gain: mean(&history.log_ratios(place)).unwrap_or_else(|| self.plan.promised(configuration)),
            }
        };
        race.live().iter().filter(|&&place| place != BASELINE).map(candidate).collect()
    }

    /// The time that the confirmation of what would be recommended now will need. What it does not need goes back to the search.
    fn kept(&self, race: &Race<'_>) -> Duration {
        let Some(recommended) = race.recommended() else { return Duration::ZERO };
        let blocks = race.contrast(recommended).and_then(|contrast| fresh_blocks(contrast, ALPHA));
        let block = self.cost(BASELINE) + self.cost(recommended);
        let time = blocks.and_then(|blocks| block.checked_mul(blocks.saturating_mul(SAFETY)));
        time.unwrap_or(Duration::MAX)
    }

    /// What it would take to decide about the configuration at this place of a phase.
    pub(crate) fn forecast(&self, race: &Race<'_>, place: usize, configuration: usize) -> Option<Forecast> {
        let runs = race.blocks_left(place)?;
        let block = self.cost(configuration) + self.cost(BASELINE);
        Some(Forecast { runs, seconds: block.as_secs_f64() * f64::from(runs) })
    }

    /// Runs those at these places once, unless something ends the session inside the block.
    fn block(&mut self, phase: Phase, history: &mut History, places: &[usize]) -> Option<Ending<L::Error>> {
        for place in self.schedule.block(places) {
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
        let wants_forecasts = self.observer.wants_forecasts();
        let summary = |(place, &configuration): (usize, &usize)| LiveSummary {
            configuration,
            runs: history.runs[configuration].len() as u32,
            mean: mean(&history.values(configuration)),
            ratio: race.ratio(place),
            decided: race.decision(place).map(|decision| (decision.verdict, decision.blocks)),
            forecast: wants_forecasts.then(|| self.forecast(race, place, configuration)).flatten(),
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
