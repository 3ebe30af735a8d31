//! Starting, placing, probing, timing and reading back a program: everything between a placement that somebody asked for and the
//! receipt of what was obtained.
//!
//! - [`Subject`] is a program with its arguments, [`Here`] the machine we are on, [`Start`] the one under a placement on the other,
//!   ready to be started as often as wanted.
//! - [`run_once`] is how a program is run here: it decides who looks on (nobody, a visitor, a supervisor), where the agents
//!   leave their records, how the run is waited for, and makes the receipt. [`run_accompanied`] is for those who look on themselves.
//! - [`warm()`] is the helper that keeps memory warm beside a timed run.
//! - [`tune()`] is a session: chooses configurations, looks at each, has `firsttouch-experiment` compare them, each run by
//!   [`run_once`], and makes the tune document.
//!
//! Architecture invariants: this crate never prints, never exits and never reads the environment of its own process: it is passed in
//! as an [`Environment`](firsttouch_process::Environment). What fails is an enum that says what would mend it.

#![forbid(unsafe_code)]

mod agent;
mod alternatives;
mod combination;
mod conditions;
mod configurations;
mod demand;
mod environment;
mod here;
mod intrusion;
mod job;
mod meanwhile;
mod metric;
mod movers;
mod nodes;
mod obstacle;
mod preparation;
mod probe;
mod profile;
mod receipt;
mod run;
mod session;
mod start;
mod subject;
mod surroundings;
mod tune;
mod unreached;
mod unserved;
mod vary;
mod visitor;
mod warm;
mod worker;
mod workshop;
mod written;

pub use agent::{AgentError, FolderError, RefusedFolder, install};
pub use alternatives::NotInstalled;
pub use conditions::Conditions;
pub use configurations::{ChoiceError, check_lists};
pub use here::{Here, NotHere, kept_file};
pub use job::{Gathering, gathered};
pub use metric::{MetricError, parse_metric};
pub use preparation::WarmUp;
pub use profile::NoProfile;
pub use run::{Manner, OTHER_FOLDER, Ran, RunError, Waiting, run_accompanied, run_once};
pub use session::{Interruption, padding};
pub use start::{NotReady, Start};
pub use subject::{Job, RANKS_PLACE, Subject};
pub use tune::{
    Budget, Stage, TuneError, TuneObserver, TuneRequest, Tuned, parse_budget, parse_share, parse_time, tune,
};
pub use vary::{Dimension, VaryError};
pub use warm::{WarmError, warm};
pub use worker::{WorkerAdvice, worker_advice};
pub use workshop::Workshop;
pub use written::Unwritten;
