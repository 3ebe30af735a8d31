//! The C interface, `libfirsttouch`: huge pages inside a running session, regions of memory with receipts, fills in the
//! background, and teams of bound threads.
//!
//! `include/firsttouch.h` is made of this crate by cbindgen; a test keeps it fresh. `install` makes the static and the
//! shared library, with versions of symbols, and the file for pkg-config.
//!
//! A process has one session ([`ism`]). Where the agent was preloaded, the agent serves it (`provider`); otherwise the library
//! redirects calls of C's allocation functions in all loaded libraries (`redirect`, `object`) to an interposer: functions with
//! a heap in front of the process's own allocator (`process`).
//!
//! Fillers, pools and teams ([`fill`], [`pool`], [`team`]) are those of their crates, behind handles that a forked child can
//! tell from its own (`own`).
//!
//! Architecture invariants: no function prints, exits or reads the environment; none fails half-way; errors are numbers
//! that [`result`] explains. Only relocations that hold a function's address and nothing else are written, and pages get
//! the protection back that they had. Code that calls may still come to is never unloaded. What was redirected forwards
//! to the process's own functions by addresses of our own, never by a call that could be redirected itself.

#![allow(unreachable_pub, reason = "the functions are exported to C by their names, whatever Rust can reach")]

pub mod fill;
mod function;
mod heap;
pub mod ism;
mod lookup;
mod object;
mod own;
pub mod pool;
mod prepare;
mod process;
mod provider;
pub mod receipt;
mod redirect;
pub mod region;
pub mod result;
pub mod serving;
mod session;
pub mod status;
pub mod team;

pub use prepare::heap;
