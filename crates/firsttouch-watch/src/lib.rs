//! Looking at a process over time: what its memory lies on, where its threads are, what the kernel moved meanwhile.
//!
//! A [`Sampler`] gives a [`firsttouch_documents::WatchSample`] whenever it is asked, and says how long to wait before the
//! next. What is cheap is read every time. What costs more takes turns: walking the page tables, looking at every
//! thread, looking at the machine and at the family tree. Each has a share of the budget and is left out of a sample until
//! it has been paid for, so that a process of any size is watched at the same cost.
//!
//! What lies on huge pages is asked for by `PAGEMAP_SCAN`, and nodes by `move_pages`, in pieces between which the process may
//! change its mappings. Where that does not do, `smaps_rollup` and `numa_maps` tell: exactly, but the process may have to wait
//! for as long as a mapping is walked. `smaps` would tell no more, at a higher price.
//!
//! A [`TreeWatch`] looks for another reason: what a program and all that it starts had at their peak is the receipt of a run, so
//! it looks often, at `smaps`, and takes up to a tenth of the time while memory grows, then a hundredth.
//!
//! Architecture invariants: the process watched must not be able to tell, except by the time a walk holds its lock, which
//! is measured and said; nothing is written to `/proc`; what was not read is `None`, never the value before.

#![forbid(unsafe_code)]

mod error;
mod family;
mod machine;
mod marks;
mod memory;
mod nodes;
mod sampler;
mod scan;
mod threads;
mod tree;
mod turn;

pub use error::WatchError;
pub use marks::Mark;
pub use sampler::{Sampler, WatchOptions};
pub use tree::{PeakPages, TreeWatch, WithoutAgent};
