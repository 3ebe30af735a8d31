//! Filling mapped memory, by the means that is fastest on this machine now.
//!
//! What wins depends on the processor, on the size and on the minute (virtual machines wander between host cores), so
//! nothing is compiled in: the means the processor has are tried on real pieces of work and the best rate is followed,
//! with a fresh trial now and then.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use firsttouch_linux::sys;

/// A means of filling memory with one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum FillMeans {
    /// The string instruction `rep stosb` over the whole piece (on other processors: `memset`).
    String = 0,
    /// Non-temporal vector stores, which do not read the lines first.
    Streaming = 1,
    /// AMD's `clzero`, one whole line an instruction. For zero only: other bytes are streamed.
    Clzero = 2,
    /// AVX-512 stores through the caches: the fastest while the lines are there already, and the slowest where they must be
    /// read first.
    Vector = 3,
}

impl FillMeans {
    /// Every means.
    pub const ALL: [FillMeans; 4] =
        [FillMeans::String, FillMeans::Streaming, FillMeans::Clzero, FillMeans::Vector];

    /// Whether the processor has it. Asks the processor, which in a virtual machine takes tens of microseconds.
    pub fn is_available(self) -> bool {
        match self {
            FillMeans::String => true,
            FillMeans::Streaming => cfg!(target_arch = "x86_64"),
            FillMeans::Clzero => processor_has_clzero(),
            FillMeans::Vector => processor_has_avx512(),
        }
    }

    /// Fills a range with a byte. When it returns, all stores are visible to whoever is told.
    ///
    /// # Safety
    /// The range must be writable and nobody else may access it meanwhile; the processor must have the means.
    pub unsafe fn fill(self, address: *mut u8, bytes: usize, value: u8) {
        // SAFETY: the same contract.
        unsafe { fill_by(self, address, bytes, value) };
    }
}

/// Pieces below this many bytes are cleared by the string instruction at once: what the caller touches next is then
/// in cache (streaming pays from 4 MiB up when the memory is read right after).
const SMALL_BYTES: usize = 4 << 20;
/// The unit in which rates are measured.
const PIECE_BYTES: usize = 2 << 20;
/// After so many pieces each means is tried once more.
const RETRY_PIECES: u32 = 512;

/// Chooses among the means by their measured rates. Shared by all threads; a lost update costs a trial, no more.
#[derive(Debug)]
pub struct Clearer {
    /// Smoothed nanoseconds per piece, 0 = not tried yet.
    piece_ns: [AtomicU64; FillMeans::ALL.len()],
    pieces: AtomicU32,
    /// 0 = not asked, 1 = no, 2 = yes: CPUID traps to the hypervisor, tens of microseconds a time.
    clzero: AtomicU32,
}

impl Clearer {
    /// Nothing is known yet.
    pub const fn new() -> Self {
        Clearer {
            piece_ns: [const { AtomicU64::new(0) }; FillMeans::ALL.len()],
            pieces: AtomicU32::new(0),
            clzero: AtomicU32::new(0),
        }
    }

    /// Fills memory with zeroes.
    ///
    /// # Safety
    /// The range must be writable and nobody else may access it meanwhile.
    pub unsafe fn clear(&self, address: *mut u8, bytes: usize) {
        if bytes < SMALL_BYTES {
            // SAFETY: as for this function.
            unsafe { fill_by(FillMeans::String, address, bytes, 0) };
            return;
        }
        let mut done = 0;
        while done < bytes {
            let piece = PIECE_BYTES.min(bytes - done);
            let means = self.choose();
            let before = sys::now_ns();
            // SAFETY: the piece lies inside the range of this function.
            unsafe { fill_by(means, address.add(done), piece, 0) };
            if piece == PIECE_BYTES {
                self.learn(means, sys::now_ns() - before);
            }
            done += piece;
        }
    }

    /// The rate last seen of each means the processor has, in bytes per second; `None` before its first trial.
    pub fn rates(&self) -> [(FillMeans, Option<f64>); FillMeans::ALL.len()] {
        FillMeans::ALL.map(|means| {
            let ns = self.piece_ns[means as usize].load(Ordering::Relaxed);
            (means, (ns > 0).then(|| PIECE_BYTES as f64 * 1e9 / ns as f64))
        })
    }

    fn choose(&self) -> FillMeans {
        let piece = self.pieces.fetch_add(1, Ordering::Relaxed);
        // Large memory is in no cache.
        let candidates = || FillMeans::ALL.into_iter().filter(|means| *means != FillMeans::Vector);
        let available = || candidates().filter(|means| self.has(*means));
        let trial = available().nth((piece % RETRY_PIECES) as usize);
        trial.unwrap_or_else(|| {
            available()
                .min_by_key(|means| self.piece_ns[*means as usize].load(Ordering::Relaxed))
                .unwrap_or(FillMeans::String)
        })
    }

    /// Whether the processor has the means.
    fn has(&self, means: FillMeans) -> bool {
        if means != FillMeans::Clzero {
            return means.is_available();
        }
        if self.clzero.load(Ordering::Relaxed) == 0 {
            self.clzero.store(1 + u32::from(means.is_available()), Ordering::Relaxed);
        }
        self.clzero.load(Ordering::Relaxed) == 2
    }

    fn learn(&self, means: FillMeans, ns: u64) {
        let slot = &self.piece_ns[means as usize];
        let old = slot.load(Ordering::Relaxed);
        // The first trial may hit pages that are not resident yet: forget it quickly.
        slot.store(if old == 0 { ns } else { (old + ns) / 2 }.max(1), Ordering::Relaxed);
    }
}

impl Default for Clearer {
    fn default() -> Self {
        Clearer::new()
    }
}

#[cfg(target_arch = "x86_64")]
fn processor_has_clzero() -> bool {
    use core::arch::x86_64::__cpuid;
    __cpuid(0x8000_0000).eax >= 0x8000_0008 && __cpuid(0x8000_0008).ebx & 1 == 1
}

#[cfg(not(target_arch = "x86_64"))]
fn processor_has_clzero() -> bool {
    false
}

/// The instructions, and a system that saves their registers.
#[cfg(target_arch = "x86_64")]
fn processor_has_avx512() -> bool {
    use core::arch::x86_64::{__cpuid, __cpuid_count};
    const OSXSAVE: u32 = 1 << 27;
    const AVX512F: u32 = 1 << 16;
    /// Registers of SSE, AVX, and the three parts of AVX-512.
    const STATE: u32 = 0xe6;
    if __cpuid(1).ecx & OSXSAVE == 0 || __cpuid(0).eax < 7 || __cpuid_count(7, 0).ebx & AVX512F == 0 {
        return false;
    }
    let saved: u32;
    // SAFETY: the processor says that the system allows the instruction, which reads a register.
    unsafe {
        core::arch::asm!("xgetbv", in("ecx") 0, out("eax") saved, out("edx") _,
                         options(nomem, nostack, preserves_flags));
    }
    saved & STATE == STATE
}

#[cfg(not(target_arch = "x86_64"))]
fn processor_has_avx512() -> bool {
    false
}

/// Fills whole lines.
///
/// # Safety
/// The lines must be writable and `at` be aligned to one; the processor must have AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn store_lines(at: *mut u8, lines: usize, value: u8) {
    use core::arch::x86_64::{_mm512_set1_epi32, _mm512_store_si512};
    let vector = _mm512_set1_epi32(i32::from_ne_bytes([value; 4]));
    for line in 0..lines {
        // SAFETY: a line of the caller's.
        unsafe { _mm512_store_si512(at.add(line * 64).cast(), vector) };
    }
}

/// Fills by one means.
///
/// # Safety
/// As for [`FillMeans::fill`].
#[cfg(target_arch = "x86_64")]
unsafe fn fill_by(means: FillMeans, address: *mut u8, bytes: usize, value: u8) {
    use core::arch::asm;
    let string = |from: *mut u8, bytes: usize| {
        // SAFETY: the range lies inside that of this function; the direction flag is clear by the ABI.
        unsafe {
            asm!("rep stosb", inout("rcx") bytes => _, inout("rdi") from => _, in("al") value,
                 options(nostack, preserves_flags));
        }
    };
    const LINE: usize = 64;
    let head = address.align_offset(LINE).min(bytes);
    let lines = (bytes - head) / LINE;
    if means == FillMeans::String || lines == 0 {
        return string(address, bytes);
    }
    string(address, head);
    // SAFETY: head <= bytes.
    let body = unsafe { address.add(head) };
    match means {
        // SAFETY: the lines lie inside the range and are aligned; the processor has the means, by contract.
        FillMeans::Vector => unsafe { store_lines(body, lines, value) },
        FillMeans::Clzero if value == 0 => {
            for line in 0..lines {
                // SAFETY: the line lies inside the range and is aligned; clzero takes its address in rax.
                unsafe {
                    asm!("clzero", in("rax") body.add(line * LINE), options(nostack, preserves_flags));
                }
            }
        }
        _ => {
            use core::arch::x86_64::{__m128i, _mm_set1_epi8, _mm_stream_si128};
            // SSE2 is part of x86-64; four 16-byte streaming stores fill one line's write-combining buffer, as
            // wider ones do, and no feature has to be looked up.
            // SAFETY: every store lies inside the range and is 16-byte aligned.
            unsafe {
                let vector = _mm_set1_epi8(value as i8);
                let mut at = body.cast::<__m128i>();
                for _ in 0..lines {
                    _mm_stream_si128(at, vector);
                    _mm_stream_si128(at.add(1), vector);
                    _mm_stream_si128(at.add(2), vector);
                    _mm_stream_si128(at.add(3), vector);
                    at = at.add(4);
                }
            }
        }
    }
    // SAFETY: orders the non-temporal stores before whatever publishes the memory.
    unsafe { core::arch::x86_64::_mm_sfence() };
    let done = head + lines * LINE;
    // SAFETY: done <= bytes.
    string(unsafe { address.add(done) }, bytes - done);
}

/// Fills by `memset`, which on arm64 clears by `dc zva`.
///
/// # Safety
/// As for [`FillMeans::fill`].
#[cfg(not(target_arch = "x86_64"))]
unsafe fn fill_by(_: FillMeans, address: *mut u8, bytes: usize, value: u8) {
    // SAFETY: the caller's duty.
    unsafe { core::ptr::write_bytes(address, value, bytes) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    #[test]
    fn every_means_fills_exactly_its_range() {
        for means in FillMeans::ALL.into_iter().filter(|means| means.is_available()) {
            for (skip, bytes) in [(0, 4096), (1, 63), (3, 200), (64, 64), (60, 4), (17, 0), (5, 3000)] {
                for value in [0, 0x5b, 0xff] {
                    let mut memory = vec![0xaa_u8; 4200];
                    // SAFETY: the range lies inside the vector.
                    unsafe { means.fill(memory.as_mut_ptr().add(skip), bytes, value) };
                    let all = |range: core::ops::Range<usize>, value| {
                        memory[range].iter().all(|byte| *byte == value)
                    };
                    assert!(all(0..skip, 0xaa), "{means:?} before {skip}+{bytes}");
                    assert!(all(skip..skip + bytes, value), "{means:?} inside {skip}+{bytes}");
                    assert!(all(skip + bytes..4200, 0xaa), "{means:?} after {skip}+{bytes}");
                }
            }
        }
    }

    #[test]
    fn large_pieces_are_cleared_and_measured() {
        let clearer = Clearer::new();
        let mut memory = vec![0xaa_u8; 8 * PIECE_BYTES + 77];
        // SAFETY: the range is the vector.
        unsafe { clearer.clear(memory.as_mut_ptr(), memory.len()) };
        assert!(memory.iter().all(|byte| *byte == 0));
        for (means, rate) in clearer.rates() {
            let is_tried = means != FillMeans::Vector && clearer.has(means);
            assert_eq!(rate.is_some(), is_tried, "{means:?}");
        }
    }
}
