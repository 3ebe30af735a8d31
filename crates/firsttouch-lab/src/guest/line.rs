//! The line to the host.

use crate::wire::Sender;
use std::fs::File;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The line to the host, shared by the threads that pass on what a program writes.
pub(super) type Line = Mutex<Sender<File>>;

pub(super) fn locked(line: &Line) -> MutexGuard<'_, Sender<File>> {
    // A thread that panicked has sent whole frames or ended the job.
    line.lock().unwrap_or_else(PoisonError::into_inner)
}
