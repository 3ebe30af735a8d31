//! Changing the placement of a process that already runs, and taking it back.
//!
//! - [`Target`] takes hold of a process, and says before every step whether it is still the one that was meant.
//! - [`attach()`] binds its threads, collapses its memory onto huge pages and moves its pages to other nodes, by a [`Hand`];
//!   what was asked is a [`Wish`], what became of it an `AttachReport`. The hand is [`Outside`], or [`Inside`] by the agent.
//! - [`Look`] sees what threads do over a while, and [`choose`] has a strategy of `firsttouch-balance` give each busy one a
//!   CPU: a wish like any other.
//! - [`Journal`] has what was there before each step, written before the step is made; [`undo()`] goes back by it.
//!
//! Architecture invariants: the process comes before the result. Nothing that a step does can harm it: contents never
//! change, no thread of it waits longer than one call takes, calls are kept below a limit, and whatever is not as it was
//! expected ends the attach. A step that cannot be written down is not made. What was obtained is read back. This crate
//! never prints, never exits and never reads the environment.

#![forbid(unsafe_code)]

mod areas;
mod attach;
mod bind;
mod collapse;
mod destination;
mod fresh;
mod hand;
mod inside;
mod journal;
mod migrate;
mod observe;
mod pace;
mod reading;
mod runs;
mod store;
mod survey;
mod target;
mod undo;
mod window;
mod work;

pub use attach::{Around, AttachError, Wish, attach, may};
pub use bind::{Seats, SingleSeat};
pub use destination::Destination;
pub use hand::{Hand, Outside};
pub use inside::{ChannelError, Inside};
pub use journal::{Begin, Entry, JOURNAL_VERSION, Journal, JournalError, Story};
pub use observe::{Look, ObserveError, choose, seats};
pub use runs::{NodeRuns, NodeRunsError};
pub use store::{Kept, boot_id, forget, kept, story_of};
pub use target::{Image, Target, TargetError};
pub use undo::undo;
pub use work::{Phase, Progress};
