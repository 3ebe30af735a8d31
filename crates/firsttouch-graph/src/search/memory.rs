//! What the searches do to memory that the language has no safe word for: letting threads share cells that one of them owns.
//!
//! This is the only module of the searches with `unsafe`. Its functions are safe to call.

use std::sync::atomic::{AtomicU32, AtomicU64};

/// The same cells as atomics, while they are borrowed.
pub(crate) fn share_u32(cells: &mut [u32]) -> &[AtomicU32] {
    // SAFETY: size and alignment of both types are the same, and the cells are borrowed from their only owner, so that
    // nobody reads or writes them but as atomics.
    unsafe { std::slice::from_raw_parts(cells.as_mut_ptr().cast(), cells.len()) }
}

/// The same cells as atomics, while they are borrowed.
pub(crate) fn share_u64(cells: &mut [u64]) -> &[AtomicU64] {
    const { assert!(align_of::<u64>() == align_of::<AtomicU64>()) };
    // SAFETY: as in `share_u32`; the alignment is asserted above, because on some processors of 32 bits it differs.
    unsafe { std::slice::from_raw_parts(cells.as_mut_ptr().cast(), cells.len()) }
}
