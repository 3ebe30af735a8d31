//! The only place with raw system calls and with parsers of /proc and /sys.
//!
//! Parsers are pure functions over text. Reading goes through a root path that is given as a value, so that a
//! recorded machine, the live one and a guest take the same path. Unknown is `None`, never 0.
//!
//! Architecture invariants: no policy lives here; this crate says what the kernel says. Without the feature `std` only
//! [`sys`], [`stack`], [`thread`], [`numa`], [`memfd`], [`socket`], [`channel`], [`libraries`] and [`rollup`]
//! are left, which the agent is made of.

#![cfg_attr(not(feature = "std"), no_std)]

#[cfg(feature = "std")]
pub mod access;
#[cfg(feature = "std")]
pub mod apic;
pub mod channel;
#[cfg(feature = "std")]
pub mod clock;
#[cfg(feature = "std")]
pub mod cpuid;
#[cfg(feature = "std")]
pub mod cpulist;
#[cfg(feature = "std")]
pub mod features;
pub mod libraries;
#[cfg(feature = "std")]
pub mod maps;
pub mod memfd;
#[cfg(feature = "std")]
pub mod network;
pub mod numa;
#[cfg(feature = "std")]
pub mod pagemap;
#[cfg(feature = "std")]
pub mod perf;
#[cfg(feature = "std")]
pub mod process;
#[cfg(feature = "std")]
pub mod program;
#[cfg(feature = "std")]
pub mod remote;
pub mod rollup;
#[cfg(feature = "std")]
pub mod root;
#[cfg(feature = "std")]
pub mod smaps;
pub mod socket;
pub mod stack;
pub mod sys;
#[cfg(feature = "std")]
pub mod sysinfo;
pub mod thread;
#[cfg(feature = "std")]
pub mod tree;
#[cfg(feature = "std")]
pub mod trials;
#[cfg(feature = "std")]
pub mod urgent;
#[cfg(feature = "std")]
pub mod vmstat;
