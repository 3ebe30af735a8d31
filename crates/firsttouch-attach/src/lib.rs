//! Changing the placement of a process that already runs, and taking it back.
//!
//! - [`Target`] takes hold of a process, and says before every step whether it is still the one that was meant.
//! - [`attach()`] binds its threads, collapses its memory onto huge pages and moves its pages to other nodes, by a [`Executor`];
//!   what was asked is a [`ResolvedRequest`], what became of it an `AttachReport`. The executor is [`Remote`], or [`InProcess`] by the agent.
//! - [`Look`] sees what threads do over a while, and [`choose`] has a strategy of `firsttouch-balance` give each busy one a
//!   CPU: a request like any other.
//! - [`Journal`] has what was there before each step, written before the step is made; [`undo()`] goes back by it.
//!
//! Architecture invariants: the process comes before the result. Nothing that a step does can harm it: contents never
//! change, no thread of it waits longer than one call takes, calls are kept below a limit, and whatever is not as it was
//! expected ends the attach. A step that cannot be written down is not made. What was obtained is read back. This crate
//! never prints, never exits and never reads the environment.

#![forbid(unsafe_code)]

mod areas;
mod attach;
mod back;
mod bind;
mod collapse;
mod destination;
mod executor;
mod fresh;
mod heirs;
mod in_process;
mod journal;
mod makers;
mod migrate;
mod observe;
mod pace;
mod reading;
mod runs;
mod stayed;
mod store;
mod survey;
mod target;
mod undo;
mod window;
mod work;

pub use attach::{AttachContext, AttachError, ResolvedRequest, attach, may};
pub use bind::{SingleCpu, ThreadAffinity};
pub use destination::Destination;
pub use executor::{Executor, Remote};
pub use firsttouch_journal::JournalError;
pub use in_process::{ChannelError, InProcess};
pub use journal::{Journal, JournalHistory, Owner};
pub use observe::{Look, ObserveError, affinity, choose};
pub use runs::{NodeRuns, NodeRunsError};
pub use store::{Kept, forget, kept};
pub use target::{Target, TargetError};
pub use undo::undo;
pub use work::{AttachProgress, Phase};
