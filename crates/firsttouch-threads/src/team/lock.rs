//! A lock that the panic of another thread does not close.

use crate::sync::{Mutex, MutexGuard};
use std::sync::PoisonError;

/// A panic elsewhere does not make these values wrong.
pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
