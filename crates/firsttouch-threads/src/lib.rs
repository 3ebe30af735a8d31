//! Gives each thread a CPU, and reads back which CPUs the threads of a process may run on.
//!
//! [`compact`], [`scatter`] and [`groups`] put the CPUs of a machine in an order; the first thread gets the first CPU, and
//! so on. [`shares`] divides CPUs among several processes. [`threads_of`] reads the threads of a process back. A [`Team`] is threads of our own on such CPUs, for programs
//! that share work out themselves; [`at_once`] starts threads for a moment.
//!
//! Architecture invariants: the orders are pure functions of a machine and of the CPUs that may be used; an order never
//! holds a CPU that is offline or not allowed, and never one twice. A team calls the work it is given while the caller
//! waits, never later; its one unsafe step is to forget, for that time, how long the work lives.

#![deny(unsafe_code)]

mod at_once;
mod bind;
mod locations;
mod order;
mod read;
mod shares;
mod sync;
#[expect(unsafe_code, reason = "work that is lent to threads that outlive it")]
mod team;

pub use at_once::at_once;
pub use bind::bind_this_thread;
pub use order::{GroupsError, compact, groups, groups_across, scatter};
pub use read::{ThreadState, thread_of, threads_of};
pub use shares::{SharesError, cores, shares};
pub use team::{Member, PerGroup, Schedule, Team, TeamError};

/// What would mend that a thread cannot be started.
pub const MORE_THREADS: &str = "fewer threads, or a higher limit: ulimit -u, pids.max";
