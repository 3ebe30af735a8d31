//! A machine made of random numbers: programs with known times, noise, drift, moods and faults.

use crate::random::Random;
use firsttouch_experiment::{
    ConfirmationState, Launcher, Meanwhile, Observer, Phase, PhaseProgress, Plan, RunRequest, SessionResult,
    Silent, TimedRun, Verdict, run,
};
use std::time::Duration;

/// Its settings are plain fields: a test states the machine it needs.
pub(crate) struct Machine {
    /// True time of each configuration in seconds.
    pub(crate) base_s: Vec<f64>,
    /// Relative standard deviation of independent noise.
    pub(crate) noise: f64,
    /// Normal noise instead of log-normal.
    pub(crate) normal: bool,
    /// What each run takes beside the program, as its preparation does.
    pub(crate) beside_s: f64,
    /// Relative slow-down per run.
    pub(crate) drift_per_run: f64,
    /// Relative standard deviation of noise that changes slowly (AR(1), 0.95 from run to run).
    pub(crate) slow_noise: f64,
    /// Configuration, probability and factor of a slow mode.
    pub(crate) slow_mode: Option<(usize, f64, f64)>,
    /// Configuration, relative standard deviation and persistence from run to run of noise that it has alone.
    pub(crate) mood: Option<(usize, f64, f64)>,
    /// Configuration, and by how much runs directly after it are slower.
    pub(crate) spoiler: Option<(usize, f64)>,
    /// Probability of steal during a run, and by how much it makes that slower; how much a run has is drawn as well.
    pub(crate) steal: Option<(f64, f64)>,
    /// After this phase all configurations are as slow as the baseline.
    pub(crate) gains_end_with: Option<Phase>,
    /// Interruption is reported once so many runs were made.
    pub(crate) interrupt_after: Option<usize>,
    /// The run (by order) that fails.
    pub(crate) fail_at: Option<u32>,
    /// Every request, in order.
    pub(crate) requests: Vec<RunRequest>,
    random: Random,
    slow_state: f64,
    mood_state: f64,
    previous: Option<usize>,
    elapsed_s: f64,
}

/// What a failing program says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broken(pub(crate) u32);

impl Machine {
    pub(crate) fn new(base_s: &[f64], noise: f64, seed: u64) -> Self {
        Machine {
            base_s: base_s.to_vec(),
            noise,
            normal: false,
            beside_s: 0.0,
            drift_per_run: 0.0,
            slow_noise: 0.0,
            slow_mode: None,
            mood: None,
            spoiler: None,
            steal: None,
            gains_end_with: None,
            interrupt_after: None,
            fail_at: None,
            requests: Vec::new(),
            // Away from the seeds of the schedules.
            random: Random::new(seed ^ 0x9e37_79b9_7f4a_7c15, 0),
            slow_state: 0.0,
            mood_state: 0.0,
            previous: None,
            elapsed_s: 0.0,
        }
    }

    /// The time of one run of a configuration, as the run of that order.
    pub(crate) fn wall_s(&mut self, configuration: usize, order: u32) -> f64 {
        let noise = self.noise * self.random.normal();
        let noise = if self.normal { (1.0 + noise).max(0.01) } else { noise.exp() };
        self.slow_state = 0.95 * self.slow_state + (1.0 - 0.95f64 * 0.95).sqrt() * self.random.normal();
        let slow = (self.slow_noise * self.slow_state).exp();
        let mood = self.random.uniform();
        let mode = match self.slow_mode {
            Some((moody, probability, factor)) if moody == configuration && mood < probability => factor,
            _ => 1.0,
        };
        let mut own = 1.0;
        if let Some((_, deviation, persistence)) = self.mood.filter(|(moody, ..)| *moody == configuration) {
            self.mood_state = persistence * self.mood_state
                + (1.0 - persistence * persistence).sqrt() * self.random.normal();
            own = (deviation * self.mood_state).exp();
        }
        if self.spoiler.is_some_and(|(spoiler, _)| self.previous == Some(spoiler)) {
            own *= 1.0 + self.spoiler.map_or(0.0, |(_, slower)| slower);
        }
        self.previous = Some(configuration);
        own * self.base_s[configuration] * noise * slow * mode * (1.0 + self.drift_per_run * f64::from(order))
    }
}

impl Machine {
    /// What the kernel tells of a run. Only steal makes it slow; without any, nothing is known of that.
    fn meanwhile(&mut self) -> Meanwhile {
        let Some((probability, _)) = self.steal else { return Meanwhile::default() };
        let strikes = self.random.uniform() < probability;
        let share = if strikes { self.random.uniform() } else { 0.0 };
        let ticks = |share: f64| (share * 100.0).round() / 100.0;
        Meanwhile {
            steal_s: Some(ticks(share)),
            other_cpu_s: Some(ticks(0.1 * self.random.uniform())),
            frequency_mhz: Some(3000.0 + 100.0 * self.random.normal()),
            host_taken_bytes: Some(0),
            host_given_bytes: Some(0),
            ..Meanwhile::default()
        }
    }
}

impl Launcher for Machine {
    type Error = Broken;

    fn launch(&mut self, request: &RunRequest) -> Result<TimedRun, Broken> {
        self.requests.push(request.clone());
        if self.fail_at == Some(request.order) {
            return Err(Broken(request.order));
        }
        let is_over = self.gains_end_with.is_some_and(|phase| phase != request.phase);
        let mut wall_s = self.wall_s(if is_over { 0 } else { request.configuration }, request.order);
        let meanwhile = self.meanwhile();
        if let Some(((_, slower), share)) = self.steal.zip(meanwhile.steal_s) {
            wall_s *= 1.0 + slower * share;
        }
        self.elapsed_s += wall_s + self.beside_s;
        Ok(TimedRun {
            wall_s,
            user_s: wall_s,
            minor_faults: 1 + u64::from(request.order),
            meanwhile,
            ..TimedRun::default()
        })
    }

    fn elapsed(&self) -> Duration {
        Duration::from_secs_f64(self.elapsed_s)
    }

    fn interrupted(&self) -> bool {
        self.interrupt_after.is_some_and(|most| self.requests.len() >= most)
    }
}

/// Keeps every progress report.
#[derive(Default)]
pub(crate) struct Notebook {
    pub(crate) pages: Vec<PhaseProgress>,
    pub(crate) started: usize,
    pub(crate) finished: usize,
}

impl Observer for Notebook {
    fn run_started(&mut self, _: &RunRequest) {
        self.started += 1;
    }

    fn run_finished(&mut self, _: &RunRequest, _: &TimedRun) {
        self.finished += 1;
    }

    fn block_finished(&mut self, progress: &PhaseProgress) {
        self.pages.push(progress.clone());
    }
}

pub(crate) fn plan(configurations: usize, seed: u64) -> Plan {
    let names =
        std::iter::once("baseline".to_owned()).chain((1..configurations).map(|i| format!("alternative-{i}")));
    Plan::new(names.take(configurations).collect(), seed)
}

pub(crate) fn session(plan: &Plan, machine: &mut Machine) -> SessionResult<Broken> {
    run(plan, machine, &mut Silent)
}

/// What a reader takes home: what the fresh runs say.
pub(crate) fn headline(outcome: &SessionResult<Broken>) -> Option<ConfirmationState> {
    outcome.confirmation.as_ref().map(|confirmation| confirmation.state)
}

/// Whether the search called any of these configurations faster or slower.
pub(crate) fn tells_apart(
    outcome: &SessionResult<Broken>,
    configurations: impl IntoIterator<Item = usize>,
) -> bool {
    configurations.into_iter().any(|index| {
        matches!(outcome.configurations[index].verdict(), Some(Verdict::Faster | Verdict::Slower))
    })
}
