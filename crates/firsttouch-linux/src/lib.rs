//! The only place with raw system calls and with parsers of /proc and /sys.
//!
//! Parsers are pure functions over text. Reading goes through a root path that is given as a value, so that a
//! recorded machine, the live one and a guest take the same path. Unknown is `None`, never 0.
//!
//! Architecture invariant: no policy lives here; this crate says what the kernel says.

pub mod cpulist;
pub mod elf;
pub mod features;
pub mod maps;
pub mod perf;
pub mod process;
pub mod remote;
pub mod root;
pub mod smaps;
pub mod sys;
pub mod sysinfo;
