//! Asking for memory before it is needed: what the language has no safe word for. Safe to call.

/// Asks for the line at a place, into the cache of level 1 or 2. It need not exist: then nothing happens.
#[inline(always)]
pub(crate) fn prefetch<const LEVEL: u8, T>(place: *const T) {
    const { assert!(matches!(LEVEL, 1 | 2)) };
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing that the program could see, and never faults, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        match LEVEL {
            1 => _mm_prefetch::<_MM_HINT_T0>(place.cast()),
            _ => _mm_prefetch::<_MM_HINT_T1>(place.cast()),
        }
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        use std::arch::asm;
        match LEVEL {
            1 => asm!("prfm pldl1keep, [{}]", in(reg) place, options(nostack, preserves_flags, readonly)),
            _ => asm!("prfm pldl2keep, [{}]", in(reg) place, options(nostack, preserves_flags, readonly)),
        }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = place;
}
