//! The single steps of a filler, for those who compare them.

use crate::residency::PAGE;
use firsttouch_linux::sys;
use firsttouch_memory::FillMeans;
use std::io;
use std::ops::Range;

/// Fills memory with a byte, by the calling thread and by this means.
///
/// # Panics
/// If the processor does not have the means ([`FillMeans::is_available`]).
pub fn store(means: FillMeans, memory: &mut [u8], value: u8) {
    assert!(means.is_available(), "{means:?} was to be used on a processor without it");
    // SAFETY: the memory is borrowed, and the processor has the means.
    unsafe { means.fill(memory.as_mut_ptr(), memory.len(), value) };
}

/// Makes the kernel create the whole pages of memory that do not exist yet (Linux 5.14). What exists keeps its contents.
pub fn populate(memory: &mut [u8]) -> io::Result<()> {
    let start = memory.as_mut_ptr() as usize;
    let whole = start.next_multiple_of(PAGE)..(start + memory.len()) / PAGE * PAGE;
    if whole.is_empty() {
        return Ok(());
    }
    // SAFETY: the pages are borrowed.
    unsafe { populate_pages(whole) }.map_err(io::Error::from_raw_os_error)
}

/// Makes the kernel create pages.
///
/// # Safety
/// Writing to the range must be allowed.
pub(crate) unsafe fn populate_pages(range: Range<usize>) -> Result<(), i32> {
    // SAFETY: the caller's duty; creating pages changes no contents.
    unsafe { sys::advise(range.start, range.len(), sys::MADV_POPULATE_WRITE) }.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_memory::{Pages, Region};

    #[test]
    fn pages_are_created_and_what_is_there_is_kept() {
        let mut region = Region::map(1 << 20, Pages::Base, None).unwrap();
        region.as_mut_slice()[5000] = 7;
        match populate(region.as_mut_slice()) {
            Ok(()) => {
                let seen = region.coverage();
                assert!(seen.is_none_or(|seen| seen.small == region.as_slice().len()), "{seen:?}");
            }
            Err(error) => assert_eq!(error.raw_os_error(), Some(22), "an older kernel"),
        }
        assert_eq!(region.as_slice()[5000], 7);
        populate(&mut region.as_mut_slice()[1..100]).unwrap();
        store(FillMeans::String, &mut region.as_mut_slice()[1..5001], 0);
        assert!(region.as_slice().iter().all(|byte| *byte == 0));
    }
}
