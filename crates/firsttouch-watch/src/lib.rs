//! Looking at a process over time: what its memory lies on, where its threads are, what the kernel moved meanwhile.
//!
//! A [`Sampler`] gives a [`firsttouch_placement::WatchSample`] whenever it is asked, and says how long to wait before the
//! next. What is cheap is read every time. What costs more takes turns: walking the page tables, looking at every
//! thread, looking at the machine and at the family tree. Each has a share of the budget and is left out of a sample until
//! it has been paid for, so that a process of any size is watched at the same cost.
//!
//! Of the kernel's three ways to ask what is resident, `smaps_rollup` and `numa_maps` are used: the first answers in one
//! line and lets the process's lock go between mappings when somebody waits for it, the second alone knows nodes.
//! `smaps`, which tells the same as the first by mapping, is not read.
//!
//! Architecture invariants: the process watched must not be able to tell, except by the time a walk holds its lock, which
//! is measured and said; nothing is written to `/proc`; what was not read is `None`, never the value before.

#![forbid(unsafe_code)]

mod error;
mod family;
mod machine;
mod memory;
mod sampler;
mod threads;
mod turn;

pub use error::WatchError;
pub use sampler::{Options, Sampler};
