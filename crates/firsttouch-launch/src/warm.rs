//! The warm-up of a run: memory that the host has ready.
//!
//! On a virtual machine with free page reporting, freed memory goes back to the host, within seconds even while a program runs. So it
//! is not enough to touch memory before: what the program touches late would be cold again. Memory that is in use stays, and
//! is given back here just before it is taken: the kernel hands out first what was freed last.

use firsttouch_memory::{Pages, Region, RegionError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::system::sysinfo;
use std::io::{self, Write};
use std::os::fd::AsFd;

/// Free memory that the program finds warm, whenever it takes some. Twice what it can touch in a [`PAUSE`]; as much of it as
/// lies free for seconds is cold again.
const AHEAD: u64 = 32 << 20;
/// How often free memory is looked at: that takes microseconds.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
/// Pieces in which memory is given back: whole huge pages.
const STEP: u64 = 2 << 20;

/// Why memory was not warmed.
#[derive(Debug, thiserror::Error)]
pub enum WarmError {
    /// There is no such memory.
    #[error(transparent)]
    Memory(#[from] RegionError),
    /// Nobody could be told or listened to.
    #[error("cannot talk to who asked for the warm-up")]
    Talk(#[source] io::Error),
}

impl From<Errno> for WarmError {
    fn from(errno: Errno) -> WarmError {
        WarmError::Talk(errno.into())
    }
}

/// Touches so many bytes, on large pages where they can be had, because the sooner it is done, the less cools down meanwhile. Then tells
/// it by a line, and gives the memory back as fast as free memory is taken on this machine, all that is left when
/// `input` ends.
///
/// # Errors
/// Where there is not so much memory, or nobody to tell.
pub fn warm(bytes: usize, input: impl AsFd, mut told: impl Write) -> Result<(), WarmError> {
    let mut region = Region::map(bytes, Pages::Transparent, None)?;
    region.prefault()?;
    let mut held = Held { bytes: region.as_slice().len() as u64, free_before: free_bytes(), released: 0 };
    told.write_all(b"warm\n").and_then(|()| told.flush()).map_err(WarmError::Talk)?;
    while held.released < held.bytes {
        let due = held.due(free_bytes());
        if due > 0 {
            let from = held.released as usize;
            region.discard(from..from + due as usize)?;
            held.released += due;
        }
        match poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&PAUSE)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => break,
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// Memory that is given back step by step.
#[derive(Debug)]
struct Held {
    bytes: u64,
    /// What was free when all of it was held.
    free_before: u64,
    released: u64,
}

impl Held {
    /// What is to be given back, so that [`AHEAD`] more is free than was when all was held.
    fn due(&self, free_now: u64) -> u64 {
        let missing = (self.free_before + AHEAD).saturating_sub(free_now);
        missing.next_multiple_of(STEP).min(self.bytes - self.released)
    }
}

/// Memory of the machine that nobody uses, not even for files.
fn free_bytes() -> u64 {
    let now = sysinfo();
    now.freeram.saturating_mul(now.mem_unit.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn memory_is_given_back_as_it_is_taken() {
        let mut held = Held { bytes: 100 * MIB, free_before: 1000 * MIB, released: 0 };
        let mut free = held.free_before;
        let mut give = |free: &mut u64| {
            let due = held.due(*free);
            held.released += due;
            *free += due;
            due
        };
        assert_eq!(give(&mut free), AHEAD);
        // Nothing is taken, nothing is given.
        assert_eq!(give(&mut free), 0);
        free -= 5 * MIB;
        assert_eq!(give(&mut free), 6 * MIB);
        // What the program frees, it can have again.
        free += 50 * MIB;
        assert_eq!(give(&mut free), 0);
        free -= 300 * MIB;
        assert_eq!(give(&mut free), 100 * MIB - AHEAD - 6 * MIB);
        assert_eq!(give(&mut free), 0);
    }

    #[test]
    fn it_is_told_and_ends_with_the_input() {
        let (input, end) = io::pipe().unwrap();
        drop(end);
        let mut told = Vec::new();
        warm(8 << 20, &input, &mut told).unwrap();
        assert_eq!(told, b"warm\n");
        assert!(matches!(warm(usize::MAX, &input, &mut told), Err(WarmError::Memory(_))));
    }
}
