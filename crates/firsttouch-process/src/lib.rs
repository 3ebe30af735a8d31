//! Other programs: finding out what they are, starting them to be measured, standing in for them, and collapsing
//! their memory while they run.
//!
//! - [`inspect`] resolves a program and says what kind it is; [`agent_reach`] whether a preload library reaches it.
//! - [`Launch`] starts a program: [`Launch::measure`] times it, [`Launch::exec`] becomes it, and
//!   [`run_and_wait`] stands in for it, passing signals on.
//! - [`Rank`] is what a launcher tells each process of a job; [`meet`] lets those on one machine tell each other something.
//! - [`asked_to_bind`] tells whether a program's library of OpenMP places its threads itself.
//! - [`Supervisor`] puts the memory of a running process onto huge pages from outside; [`whole_blocks`] finds what of it is
//!   worth that.
//!
//! Architecture invariants: nothing allocates between fork and exec; the timed region holds no work of ours; this
//! crate never prints, never exits and never reads the environment (it is passed in as an [`Environment`]). Whatever
//! it does to another process must leave that process as it would have run without us.

mod caller;
mod child;
mod counters;
pub mod elf;
mod ending;
mod environment;
pub mod exit_status;
mod inheritance;
mod kind;
mod launch;
mod meeting;
mod module;
mod openmp;
mod program;
mod ranks;
mod refusal;
mod running;
mod script;
mod stack;
mod supervise;
mod transparent;
mod witness;

pub use caller::is_closed;
pub use counters::why_no_counters;
pub use ending::{Ending, ExitPlan, Finished};
pub use environment::Environment;
pub use firsttouch_linux::numa::{CpuBits, Mode, NodeBits};
pub use firsttouch_linux::perf::Event;
pub use inheritance::{Inheritance, Step};
pub use kind::{Linkage, Privilege, ProgramKind, agent_reach, preloaded_allocator};
pub use launch::{Launch, Stream};
pub use meeting::{Meeting, Met, launcher_of, meet};
pub use module::{allocator_in, allocator_of_module};
pub use openmp::asked_to_bind;
pub use program::{Obstacle, Program, ProgramError, inspect, resolve};
pub use ranks::Rank;
pub use refusal::LaunchError;
pub use running::{Held, Running};
pub use stack::with_stack;
pub use supervise::{
    Blocks, GrowthLimit, Pass, SuperviseError, SuperviseRange, Supervisor, is_plain, is_special,
    is_thread_stack, is_watched, may_have_blocks, whole_blocks,
};
pub use transparent::run_and_wait;
