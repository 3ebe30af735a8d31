//! What every strategy is: a problem, a machine and a mapping in, a better mapping out.

use crate::{Machine, Mapping, Problem, ProblemError};
use std::time::{Duration, Instant};

/// What a message is worth against load in [`Numa`](crate::strategies::Numa).
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Alpha {
    /// Chosen by the strategy, which reports it.
    #[default]
    Auto,
    /// Seconds for each message.
    PerMessage(f64),
    /// Seconds for each byte.
    PerByte(f64),
}

/// What a strategy may do. Each one uses what concerns it.
#[derive(Clone, Debug, PartialEq)]
pub struct SolveOptions {
    /// The imbalance that is good enough.
    pub tolerance: f64,
    /// What a message is worth against load.
    pub alpha: Alpha,
    /// Most tasks that may leave their homes.
    pub most_migrations: Option<usize>,
    /// Most bytes that may move with them.
    pub most_migrated_bytes: Option<u64>,
    /// What a migration has to save: this many times the bytes that an average task sends in a step, at distance 1.
    pub migration_weight: f64,
    /// How many steps a mapping serves. The bytes of a task that migrates count once in that time; `None` leaves them out.
    pub steps: Option<f64>,
    /// Count what receiving messages takes, where the machine says what they cost: loads were measured with their messages where
    /// tasks are now, and change with the distances.
    pub receiving: bool,
    /// Look for cheaper distances even when the load is within the tolerance.
    pub improve: bool,
    /// How many times to look further after the first answer. `None`: with a time limit as many as fit; else as many as bring
    /// something (an amount of work that takes about a second at most) where all tasks are nowhere yet, and none where some have homes.
    pub rounds: Option<u32>,
    /// When to stop looking. A search that this cut short may differ the next time.
    pub time_limit: Option<Duration>,
    /// Give the mappings that trade makespan, cost and migrations against one another as well.
    pub front: bool,
    /// What random choices start from.
    pub seed: u64,
    /// Partitioners number their parts by chance. Numbered by the greatest overlap with the start unless this is set.
    pub raw: bool,
}

impl Default for SolveOptions {
    fn default() -> SolveOptions {
        SolveOptions {
            tolerance: 0.05,
            alpha: Alpha::Auto,
            most_migrations: None,
            most_migrated_bytes: None,
            migration_weight: 0.25,
            steps: None,
            receiving: false,
            improve: false,
            rounds: None,
            time_limit: None,
            front: false,
            seed: 0,
            raw: false,
        }
    }
}

/// A mapping that no other found is better than in every respect.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The mapping.
    pub mapping: Mapping,
    /// The imbalance it was looked for with.
    pub tolerance: f64,
    /// The work of its busiest core, in seconds.
    pub makespan_s: f64,
    /// Its bytes times distances.
    pub cost: f64,
    /// How many tasks it moves.
    pub migrations: usize,
}

/// What a strategy found.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// The mapping.
    pub mapping: Mapping,
    /// How long it took.
    pub elapsed: Duration,
    /// The alpha that was used, where one was.
    pub alpha: Option<Alpha>,
    /// How many rounds were made after the first answer.
    pub rounds: u32,
    /// Whether the time limit ended the search.
    pub cut_short: bool,
    /// Trade-offs, where they were asked for, by makespan.
    pub front: Vec<Point>,
}

/// What a strategy is asked. It was checked: the start is a mapping of the problem on the machine, and the options mean something.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Tasks and messages.
    pub problem: &'a Problem,
    /// Where they can be.
    pub machine: &'a Machine,
    /// Where they are.
    pub start: &'a Mapping,
    /// What may be done.
    pub options: &'a SolveOptions,
    /// When the clock was started.
    pub begun: Instant,
}

/// What a strategy answers; the clock and the trade-offs are seen to by [`Strategy::solve`].
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The mapping.
    pub mapping: Mapping,
    /// The alpha that was used, where one was.
    pub alpha: Option<Alpha>,
    /// How many rounds were made after the first answer.
    pub rounds: u32,
    /// Whether the time limit ended the search.
    pub cut_short: bool,
}

impl From<Mapping> for Answer {
    fn from(mapping: Mapping) -> Answer {
        Answer { mapping, alpha: None, rounds: 0, cut_short: false }
    }
}

/// Why there is no solution.
#[derive(Debug, thiserror::Error)]
pub enum StrategyError {
    /// The problem does not fit the machine.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The start is no mapping of this problem on this machine.
    #[error("the start is no mapping of this problem on this machine: {0}")]
    Start(String),
    /// An option that means nothing.
    #[error("{option} is {value}; {wanted}")]
    Option {
        /// Which one.
        option: &'static str,
        /// What it is.
        value: String,
        /// What it may be.
        wanted: &'static str,
    },
    /// What the strategy needs is not there.
    #[error("{strategy} cannot be used: {reason}")]
    Missing {
        /// Which strategy.
        strategy: &'static str,
        /// What is missing.
        reason: String,
        /// What would mend it.
        hint: &'static str,
    },
    /// Another program or library failed.
    #[error("{strategy} failed: {reason}")]
    Failed {
        /// Which strategy.
        strategy: &'static str,
        /// What it said.
        reason: String,
    },
    /// There is no strategy of this name.
    #[error("there is no strategy `{0}`")]
    Unknown(String),
}

impl StrategyError {
    /// What would mend it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            StrategyError::Problem(error) => Some(error.hint()),
            StrategyError::Missing { hint, .. } => Some(hint),
            StrategyError::Unknown(_) => Some("firsttouch balance solve --help lists the strategies"),
            StrategyError::Start(_) => {
                Some("start from a mapping of the same tasks, with pinned tasks at home")
            }
            StrategyError::Option { .. } => Some("give that option what it may be, or leave it out"),
            StrategyError::Failed { .. } => None,
        }
    }
}

/// A way to map tasks to cores.
pub trait Strategy: std::fmt::Debug {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// Maps the tasks of what was checked. The mapping is total, and pinned tasks are at home.
    ///
    /// # Errors
    ///
    /// Something that is not installed, or failed.
    fn map(&self, asked: &Asked<'_>) -> Result<Answer, StrategyError>;

    /// Mappings that trade makespan, cost and migrations against one another, the one found among them. None unless a
    /// strategy has some.
    fn front(&self, _asked: &Asked<'_>, _found: &Mapping) -> Vec<Point> {
        Vec::new()
    }

    /// Maps the tasks, from where they are, and says how long that took. Trade-offs are no part of that time.
    ///
    /// # Errors
    ///
    /// A problem that does not fit the machine, a start that is none, options that mean nothing, something that is not
    /// installed.
    fn solve(
        &self,
        problem: &Problem,
        machine: &Machine,
        start: &Mapping,
        options: &SolveOptions,
    ) -> Result<Solution, StrategyError> {
        check(problem, machine, start, options)?;
        let asked = Asked { problem, machine, start, options, begun: Instant::now() };
        let Answer { mapping, alpha, rounds, cut_short } = self.map(&asked)?;
        let elapsed = asked.begun.elapsed();
        let front = if options.front { self.front(&asked, &mapping) } else { Vec::new() };
        Ok(Solution { mapping, elapsed, alpha, rounds, cut_short, front })
    }
}

/// Whether there is something to solve at all.
fn check(
    problem: &Problem,
    machine: &Machine,
    start: &Mapping,
    options: &SolveOptions,
) -> Result<(), StrategyError> {
    problem.check(machine)?;
    if start.cores().len() != problem.len() {
        let reason = format!("it has {} tasks, the problem {}", start.cores().len(), problem.len());
        return Err(StrategyError::Start(reason));
    }
    if !start.is_valid(problem, machine) {
        return Err(StrategyError::Start(
            "a core that is not there, or a pinned task not at home".to_owned(),
        ));
    }
    let positive = |option, value: f64| {
        if value.is_finite() && value >= 0.0 {
            return Ok(());
        }
        let wanted = "it is a finite number, 0 or more";
        Err(StrategyError::Option { option, value: value.to_string(), wanted })
    };
    positive("tolerance", options.tolerance)?;
    positive("migration weight", options.migration_weight)?;
    if let Some(steps) = options.steps.filter(|steps| !steps.is_finite() || *steps <= 0.0) {
        let wanted = "it is a finite number above 0";
        return Err(StrategyError::Option { option: "steps", value: steps.to_string(), wanted });
    }
    match options.alpha {
        Alpha::PerMessage(alpha) | Alpha::PerByte(alpha) => positive("alpha", alpha),
        Alpha::Auto => Ok(()),
    }
}
