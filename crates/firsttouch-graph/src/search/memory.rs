//! What the searches do to memory that the language has no safe word for: asking for a cache line before it is needed, and
//! letting threads share cells that one of them owns.
//!
//! This is the only module of the searches with `unsafe`. Its functions are safe to call.

use std::sync::atomic::{AtomicU32, AtomicU64};

/// Asks for the cache line of an element. It need not exist: then nothing happens.
#[inline(always)]
pub(crate) fn prefetch<T>(of: &[T], index: usize) {
    let address = of.as_ptr().wrapping_add(index);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing that the program could see, and never faults, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a prefetch reads nothing that the program could see, and never faults, whatever the address.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}

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
