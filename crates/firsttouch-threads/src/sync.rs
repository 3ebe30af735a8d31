//! What threads wait by: the standard library's, or loom's, which tries every order in which threads can meet.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p firsttouch-threads --lib models` runs the tests that are made for it.

#[cfg(loom)]
pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard, atomic};
#[cfg(not(loom))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, atomic};
