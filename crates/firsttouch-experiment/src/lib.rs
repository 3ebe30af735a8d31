//! Proved: the scheduler and the statistics behind `firsttouch tune`.
//!
//! [`run`] executes a [`Plan`] against a [`Launcher`] and returns what the runs prove:
//!
//! - **Randomised complete blocks.** Every block runs each live configuration once, baseline included, in a
//!   fresh random order, so that slow changes of the machine hit all of them alike. One execution of the program
//!   is one observation: page placement and address layout are drawn anew by each.
//! - **A precision stop.** Runs end when the 95 % Student-t half-width of every live mean is within the asked
//!   fraction of the mean at two block ends in a row, and never before the smallest number of blocks. The rule
//!   looks at variances only, never at differences, so it does not favour any verdict.
//! - **A ratio with an interval** from the per-block log ratios, Holm-adjusted over the configurations. Every
//!   verdict is read off the printed interval, so a reader can check it: faster above 1, slower below 1, same
//!   inside the band around 1, else undecided.
//! - **Successive elimination** of configurations that are certainly worse than the best.
//! - **Least intrusion first.** Where a plan ranks its configurations, one that is proved as fast as the fastest, and of a
//!   lower rank, wins in its place.
//! - **A confirmation**: fresh blocks of winner and baseline alone. The winner of a search looks better than it is
//!   because it was chosen for looking good; only the confirmed ratio is free of that.
//!
//! Architecture invariant: this crate does no I/O, reads no clock and never sleeps. Programs, time and interruption
//! come through the [`Launcher`], progress leaves through the [`Observer`], and the same plan with the same samples
//! gives the same outcome. It depends on no other crate of ours: what a configuration is, and what it obtained, its callers know.

#![forbid(unsafe_code)]

mod assess;
mod decide;
mod eliminate;
mod history;
mod launcher;
mod observer;
mod plan;
mod run;
mod schedule;
mod session;
mod session_result;
pub mod statistics;
mod stop;
mod tie;
mod verdict;
mod warnings;

pub use decide::{Decider, Decision};
pub use launcher::{Launcher, Phase, RunRequest};
pub use observer::{LiveSummary, Observer, PhaseProgress, Silent};
pub use plan::Plan;
pub use run::{SessionRun, TimedRun};
pub use session::run;
pub use session_result::{ConfigurationResult, Confirmation, SessionResult};
pub use verdict::{Ratio, Verdict};
