//! Whether this copy of the library serves the process: what the copies in one process ask each other.

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering};

/// Whether this library redirects calls: what another copy asks.
static SERVES: AtomicBool = AtomicBool::new(false);

/// Whether this library redirects calls now.
pub(crate) fn serves() -> bool {
    SERVES.load(Ordering::Relaxed)
}

/// Says so to the others.
pub(crate) fn set_serves(serves: bool) {
    SERVES.store(serves, Ordering::Relaxed);
}

/// 1 if this copy of the library redirects calls now, 0 otherwise. By this the copies that several bindings bring into one
/// process agree which one serves it.
#[unsafe(no_mangle)]
pub extern "C" fn firsttouch_ism_serves() -> c_int {
    c_int::from(serves())
}
