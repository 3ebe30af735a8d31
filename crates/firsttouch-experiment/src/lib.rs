//! Proved: the scheduler and the statistics behind `firsttouch tune`.
//!
//! [`run`] executes a [`Plan`] against a [`Launcher`] and returns what the runs prove:
//!
//! - **Randomised complete blocks.** Every block runs each live configuration once, baseline included, in a
//!   fresh random order, so that slow changes of the machine hit all of them alike. One execution of the program
//!   is one observation: page placement and address layout are drawn anew by each.
//! - **A rule that decides** ([`Decider`]), looked at after every block: evidence that stays valid however often it is looked at
//!   (e-values), pooled over all configurations, with the number of them counted. Who is decided leaves, and its time goes to the
//!   others. The session ends when nothing is left to decide, or at a cap.
//! - **A ratio with an interval** that may be read at any time (a confidence sequence), and for what is undecided the number of runs
//!   that it would take.
//! - **The best**: those faster than the baseline that cannot be told apart from the best of them; of these, the one that asks least of the
//!   program and of the machine is recommended.
//! - **A confirmation**: fresh blocks of what is recommended and of the baseline alone. What wins a search looks better than it is
//!   because it was chosen for looking good; only the confirmed ratio is free of that. It ends confirmed, refuted, or not yet.
//!
//! [`compare`] says the same of values that somebody else measured, in blocks or one configuration after the other, and of several sessions
//! together.
//!
//! Architecture invariant: this crate does no I/O, reads no clock and never sleeps. Programs, time and interruption
//! come through the [`Launcher`], progress leaves through the [`Observer`], and the same plan with the same samples
//! gives the same outcome. It depends on no other crate of ours: what a configuration is, and what it obtained, its callers know.

#![forbid(unsafe_code)]

mod allocation;
mod circumstances;
mod comparison;
mod decide;
mod history;
mod launcher;
mod meanwhile;
mod measured;
mod metric;
mod observer;
mod phase;
mod plan;
mod race;
mod run;
mod schedule;
mod session;
mod session_result;
pub mod statistics;
mod verdict;
mod warnings;

pub use comparison::{
    AcrossSessions, ComparedConfiguration, ComparedSession, Comparison, ComparisonRules, Interval, compare,
};
pub use decide::{Decider, Decision};
pub use launcher::{Launcher, Phase, RunRequest};
pub use meanwhile::{Aslr, Meanwhile};
pub use measured::{MeasuredConfiguration, MeasuredRun, MeasuredSession};
pub use metric::{Metric, NoMetric, Objective};
pub use observer::{LiveSummary, Observer, PhaseProgress, Silent};
pub use plan::Plan;
pub use run::{SessionRun, TimedRun};
pub use session::run;
pub use session_result::{
    ConfigurationResult, Confirmation, ConfirmationState, Decided, Forecast, Judged, SessionResult,
};
pub use verdict::{Ratio, Verdict};
