//! Runs tasks that send one another messages on workers that are bound to CPUs, measures what each task costs, and every so
//! many steps lets a strategy of `firsttouch-balance` move them.
//!
//! A [`Program`] says what tasks do. Each task has its state in a [`Region`](firsttouch_memory::Region) of its own, on the
//! node of its worker; when the task moves to another node its state is made anew there. What a task sends in one step,
//! its receiver finds in its inbox in the next, wherever either of them is by then.
//!
//! ```
//! use firsttouch_balance::Machine;
//! use firsttouch_memory::Region;
//! use firsttouch_runtime::{Context, Program, Runtime, Settings};
//!
//! /// Ten tasks that hand a number round, each adding its own.
//! struct Ring;
//!
//! impl Program for Ring {
//!     fn tasks(&self) -> u32 {
//!         10
//!     }
//!     fn state_bytes(&self, _: u32) -> usize {
//!         8
//!     }
//!     fn begin(&self, task: &mut Context<'_>, _: &mut Region) {
//!         if task.number() == 0 {
//!             task.send(1, 0, &[1_u64]);
//!         }
//!     }
//!     fn step(&self, task: &mut Context<'_>, state: &mut Region) {
//!         for message in task.inbox() {
//!             let sum = message.elements::<u64>()[0] + u64::from(task.number());
//!             state.as_mut_slice_of::<u64>()[0] = sum;
//!             task.send((task.number() + 1) % task.tasks(), 0, &[sum]);
//!         }
//!     }
//! }
//!
//! // Four workers on CPU 0, which pretend to be on two nodes.
//! let machine = Machine::parse("2:2 + 1:2")?;
//! let mut ring = Runtime::pretending(Ring, machine, &[0, 0, 0, 0], Settings::default())?;
//! ring.run(10)?;
//! assert_eq!(ring.state(0).as_slice_of::<u64>()[0], 1 + 45);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Architecture invariants: what tasks compute does not depend on where they are, on how many workers there are, or on
//! which of them is faster, because an inbox is sorted by sender and place among what that one sent; each message is
//! delivered once. Nobody sleeps for a time, and who waits spins for no longer than waking up takes. A task that panics
//! ends the run with its number. Nothing here prints or reads the environment.

#![forbid(unsafe_code)]

mod error;
mod mail;
mod program;
pub mod programs;
mod runtime;
mod worker;

pub use error::RuntimeError;
pub use firsttouch_documents::{Account, Balancing, Span, Step, WorkerStep};
pub use mail::Received;
pub use program::{Context, Program};
pub use runtime::{Runtime, Settings, TaskLocation};
