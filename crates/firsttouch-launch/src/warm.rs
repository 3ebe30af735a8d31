//! The warm-up of a run: memory that the host has ready.
//!
//! On a virtual machine with free page reporting, freed memory goes back to the host, within seconds even while a program runs. So it
//! is not enough to touch memory before: what the program touches late would be cold again. Memory that is in use stays, and
//! is given back here just before it is taken: the kernel hands out first what was freed last.

use firsttouch_linux::sysinfo::meminfo;
use firsttouch_memory::{Pages, Region, RegionError};
use firsttouch_threads::at_once;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Signal, set_parent_process_death_signal};
use std::fs;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::thread;

/// Free memory that the program finds beside what it has taken, where the program is large: what is free cools down within seconds, which
/// slows the program down by chance, and is touched again before the next run (docs/results/tune.md).
const AHEAD: u64 = 512 << 20;
/// And where it is small. Each CPU keeps hundreds of MiB of what it freed in lists of its own, where other CPUs do not
/// find it (`high` in /proc/zoneinfo, which Linux 6.7 and later tune), and a program touches tens of MiB in a [`PAUSE`].
const LEAST_AHEAD: u64 = 256 << 20;
/// How often it is looked at what is taken: the look takes less than a hundredth of that.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };
/// Pieces in which memory is given back: whole huge pages.
const STEP: u64 = 2 << 20;
/// What touches memory: a few processors take all of its bandwidth.
const MOST_THREADS: usize = 8;

/// What to warm for a program of so many bytes: half as much again, because the kernel does not hand out just the pages that were touched (with an
/// eighth more, one run in ten of a program that fills a gigabyte was still slow), and no more than [`AHEAD`] on top.
pub(crate) fn bytes_for(peak_bytes: u64) -> u64 {
    peak_bytes + (peak_bytes / 2).min(AHEAD)
}

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

/// Touches so many bytes, on large pages where they can be had and on several processors, because the sooner it is done, the less cools down
/// meanwhile. Then tells it by a line, and gives the memory back as fast as memory of this machine is taken, all that is left when `input` ends.
///
/// # Errors
/// Where there is not so much memory, or nobody to tell.
pub fn warm(bytes: usize, input: impl AsFd, mut told: impl Write) -> Result<(), WarmError> {
    // Whoever asked can be killed before it hears of it.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let mut parts = touched(bytes)?;
    let part_bytes = parts[0].as_slice().len();
    let bytes = (parts.len() * part_bytes) as u64;
    let used = used_bytes();
    told.write_all(b"warm\n").and_then(|()| told.flush()).map_err(WarmError::Talk)?;
    let Some(used_before) = used else { return Ok(()) };
    let mut held = Held { bytes, used_before, released: 0 };
    while let Some(used) = used_bytes()
        && held.released < held.bytes
    {
        let due = held.due(used);
        if due > 0 {
            give_back(&mut parts, held.released as usize, due as usize)?;
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

/// Memory of so many bytes at least, in parts of one size, each touched by a thread of its own.
fn touched(bytes: usize) -> Result<Vec<Region>, RegionError> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let part = Region::of(bytes.div_ceil(threads).max(1)).pages(Pages::Transparent).prefault();
    at_once((0..threads).map(|_| move || part.map())).into_iter().collect()
}

/// Gives so many bytes back, from this byte of all parts on.
fn give_back(parts: &mut [Region], mut from: usize, mut bytes: usize) -> Result<(), RegionError> {
    while bytes > 0 {
        let each = parts[0].as_slice().len();
        let start = from % each;
        let end = each.min(start + bytes);
        parts[from / each].discard(start..end)?;
        (from, bytes) = (from + end - start, bytes - (end - start));
    }
    Ok(())
}

/// Memory that is given back step by step.
#[derive(Debug)]
struct Held {
    bytes: u64,
    /// What was used when all of it was held.
    used_before: u64,
    released: u64,
}

impl Held {
    /// What is to be given back, so that as much as [`bytes_for`] added, and [`LEAST_AHEAD`] at least, is free beside what others have
    /// taken since.
    fn due(&self, used_now: u64) -> u64 {
        let kept = self.bytes - self.released;
        let taken = (used_now + self.released).saturating_sub(self.used_before);
        (taken + (self.bytes / 3).clamp(LEAST_AHEAD, AHEAD))
            .saturating_sub(self.released)
            .next_multiple_of(STEP)
            .min(kept)
    }
}

/// Memory that processes and files have on this machine. Not what is not free: pages on their way to the host are neither.
fn used_bytes() -> Option<u64> {
    let now = meminfo(&fs::read_to_string("/proc/meminfo").ok()?);
    Some(now.anonymous_bytes? + now.cached_bytes?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn memory_is_given_back_as_it_is_taken() {
        let mut held = Held { bytes: 1000 * MIB, used_before: 3000 * MIB, released: 0 };
        let mut give = |others: u64| {
            // What is held is used, too.
            let due = held.due(2000 * MIB + others * MIB + 1000 * MIB - held.released);
            held.released += due;
            due / MIB
        };
        assert_eq!(give(0), 334);
        // Nothing is taken, nothing is given.
        assert_eq!(give(0), 0);
        assert_eq!(give(5), 6);
        // What the program freed, it can have again.
        assert_eq!([give(0), give(6)], [0, 0]);
        assert_eq!(give(300), 294);
        assert_eq!(give(2000), 1000 - 334 - 300);
        assert_eq!(give(3000), 0);
    }

    #[test]
    fn what_is_warmed_beyond_the_program_is_free_from_the_start() {
        let free_at_first = |peak: u64| {
            let bytes = bytes_for(peak);
            (Held { bytes, used_before: bytes, released: 0 }.due(bytes) / MIB, (bytes - peak) / MIB)
        };
        assert_eq!(
            [600, 1024, 9000].map(|mib| free_at_first(mib * MIB)),
            [(300, 300), (512, 512), (512, 512)]
        );
        assert_eq!([100, 300].map(|mib| free_at_first(mib * MIB)), [(150, 50), (256, 150)]);
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
