//! The two words before a block: those that glibc's allocator keeps before a block that it mapped by itself.
//!
//! A placed block can reach glibc's own `free`, past whoever stands in front of it: through a pointer looked up in the C
//! library (ctypes, JNA, .NET), from a library opened with `RTLD_DEEPBIND`, or from another preload library. There it is
//! what the two words say: a mapped chunk, which glibc unmaps, moves or measures correctly. Nothing is lost but that
//! it is recycled; the table here keeps its pages as taken.
//!
//! Of the layout (glibc's malloc/malloc.c, `struct malloc_chunk`): the word at -16 is how far
//! the chunk lies behind the start of its mapping, the word at -8 the size of the chunk, with a bit (2) that says that it
//! was mapped. Until 2.42 the chunk goes to the end of its mapping; from 2.43 on two words lie behind it, the first of which belongs to
//! the block, as in every other chunk. `munmap_chunk` wants a start and a length that are whole pages, and the offset of the block in its
//! page to be a power of two. So blocks lie at an offset of their alignment, and those aligned to pages have a page before them.
//! Blocks aligned to huge pages have none: it would make a whole huge page for two words. The heap needs the words
//! only while its lock turns a thread away; its table is what counts.

use crate::pages::{BASE, HUGE};
use core::sync::atomic::{AtomicUsize, Ordering};
use firsttouch_linux::libraries::glibc_minor;

/// Bytes of the two words.
pub(crate) const BYTES: usize = 16;
const IS_MAPPED: usize = 2;
/// The release of glibc, 2.x, from which on there are words behind a mapped chunk.
const WORDS_BEHIND_FROM: u32 = 43;

/// Bytes of the words that this process's glibc has behind a mapped chunk.
fn behind_chunk() -> usize {
    const UNKNOWN: usize = usize::MAX;
    static KNOWN: AtomicUsize = AtomicUsize::new(UNKNOWN);
    let known = KNOWN.load(Ordering::Relaxed);
    if known != UNKNOWN {
        return known;
    }
    let bytes = if glibc_minor() >= WORDS_BEHIND_FROM { BYTES } else { 0 };
    KNOWN.store(bytes, Ordering::Relaxed);
    bytes
}

/// Bytes at the end of a run that are not its block's, which begins at this offset: glibc's functions would not keep them.
pub(crate) fn unusable_bytes(offset: usize) -> usize {
    if offset < BYTES { 0 } else { behind_chunk() / 2 }
}

/// Where in a run of pages a block begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Bytes from the start of the run to the block: 16 and its alignment's power of two, or a page, or 0.
    pub(crate) offset: u16,
    /// The run's alignment, and what is to be added to its start for that: in pages.
    pub(crate) alignment: u32,
    pub(crate) phase: u32,
}

impl Place {
    /// For a block with that alignment, a power of two; `None` if it is beyond all measure.
    pub(crate) fn of(alignment: usize) -> Option<Place> {
        let pages = u32::try_from((alignment / BASE).max(1)).ok()?;
        Some(if alignment < BASE {
            // That of glibc's own large blocks, so that vector code sees the alignment it sees without us and results stay
            // equal to the last bit.
            Place { offset: alignment.max(BYTES) as u16, alignment: 1, phase: 0 }
        } else if alignment < HUGE {
            Place { offset: BASE as u16, alignment: pages, phase: 1 }
        } else {
            Place { offset: 0, alignment: pages, phase: 0 }
        })
    }
}

/// Writes the words of a block that begins `offset` bytes into a run of so many bytes.
///
/// # Safety
/// The run must be mapped, and the block not yet, or only by the caller, in use.
pub(crate) unsafe fn write(run: usize, run_bytes: usize, offset: u16) {
    // SAFETY: the same contract.
    unsafe { write_as(behind_chunk(), run, run_bytes, offset) };
}

/// The same for a glibc with so many bytes behind a mapped chunk.
///
/// # Safety
/// As for [`write`].
unsafe fn write_as(behind: usize, run: usize, run_bytes: usize, offset: u16) {
    let offset = usize::from(offset);
    let Some(before) = offset.checked_sub(BYTES) else { return };
    let words = (run + before) as *mut usize;
    // SAFETY: 16 bytes inside the run, before the block; their alignment is that of the run's offset.
    unsafe {
        *words = before;
        *words.add(1) = (run_bytes - before - behind) | IS_MAPPED;
    }
}

/// The bytes that may be used at a block's address, by its words; `None` if they cannot be the words of a block.
///
/// # Safety
/// A block whose alignment is below 2 MiB must begin at the address.
pub(crate) unsafe fn usable_bytes(address: usize) -> Option<usize> {
    // SAFETY: the same contract.
    unsafe { usable_bytes_as(behind_chunk(), address) }
}

/// The same for a glibc with so many bytes behind a mapped chunk.
///
/// # Safety
/// As for [`usable_bytes`].
unsafe fn usable_bytes_as(behind: usize, address: usize) -> Option<usize> {
    let words = (address - BYTES) as *const usize;
    // SAFETY: before every such block lie its words.
    let (before, size) = unsafe { (*words, *words.add(1)) };
    let whole = before.checked_add(size & !IS_MAPPED)?.checked_add(behind)?;
    let run = address.checked_sub(BYTES)?.checked_sub(before)?;
    let plausible =
        size & 7 == IS_MAPPED && before < BASE && whole.is_multiple_of(BASE) && run.is_multiple_of(BASE);
    plausible.then(|| whole - before - BYTES - behind / 2)
}

/// Whether a block at that address has words before it, by its alignment.
pub(crate) fn is_before(address: usize) -> bool {
    !address.is_multiple_of(HUGE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    #[test]
    fn the_words_tell_the_size() {
        let mut memory = vec![0_u8; 8 * BASE];
        let run = (memory.as_mut_ptr() as usize).next_multiple_of(BASE);
        for alignment in [0, 1, 8, 16, 32, 64, 2048, 4096, 65536] {
            let place = Place::of(alignment).unwrap();
            let (offset, address) = (usize::from(place.offset), run + usize::from(place.offset));
            assert!(offset >= BYTES && offset.is_multiple_of(alignment.clamp(1, BASE)), "{alignment}");
            // As glibc's munmap_chunk wants it.
            assert!((address & (BASE - 1)).is_power_of_two() || address & (BASE - 1) == 0);
            for behind in [0, 16] {
                // SAFETY: memory of the test's.
                unsafe { write_as(behind, run, 5 * BASE, place.offset) };
                // SAFETY: as above.
                let (usable, size) =
                    unsafe { (usable_bytes_as(behind, address), *((address - 8) as *const usize)) };
                assert_eq!(usable, Some(5 * BASE - offset - behind / 2), "{alignment}");
                // As its `mmap_size` counts.
                assert_eq!(offset - BYTES + (size & !7) + behind, 5 * BASE, "{alignment}");
            }
        }
        assert_eq!((unusable_bytes(0), unusable_bytes(BYTES)), (0, behind_chunk() / 2));
        assert_eq!(Place::of(HUGE), Some(Place { offset: 0, alignment: 512, phase: 0 }));
        assert_eq!(Place::of(1 << 60), None);
    }
}
