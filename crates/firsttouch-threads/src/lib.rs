//! Which CPU each thread gets, and what the threads of a process really have.
//!
//! [`compact`], [`scatter`] and [`groups`] put the CPUs of a machine in an order; the first thread gets the first CPU, and
//! so on. [`threads_of`] reads the threads of a process back.
//!
//! Architecture invariants: the orders are pure functions of a machine and of the CPUs that may be used; an order never
//! holds a CPU that is offline or not allowed, and never one twice.

#![forbid(unsafe_code)]

mod order;
mod read;
mod seats;

pub use order::{GroupsError, compact, groups, scatter};
pub use read::{ThreadState, thread_of, threads_of};
