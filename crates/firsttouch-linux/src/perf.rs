//! Hardware counters of a process and everything it starts, through `perf_event_open`.

use std::fs::File;
use std::io::{self, Read};
use std::mem::size_of;
use std::os::fd::FromRawFd;

/// What can be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    /// Instructions retired.
    Instructions,
    /// Processor cycles.
    Cycles,
    /// Misses of the data translation buffer on loads: what huge pages are for.
    DtlbLoadMisses,
    /// Misses of the last cache level.
    CacheMisses,
    /// Page faults, counted by the kernel itself.
    PageFaults,
}

impl Event {
    /// Every event.
    pub const ALL: [Event; 5] =
        [Event::Instructions, Event::Cycles, Event::DtlbLoadMisses, Event::CacheMisses, Event::PageFaults];

    /// The name that `perf` uses too.
    pub fn name(self) -> &'static str {
        match self {
            Event::Instructions => "instructions",
            Event::Cycles => "cycles",
            Event::DtlbLoadMisses => "dTLB-load-misses",
            Event::CacheMisses => "cache-misses",
            Event::PageFaults => "page-faults",
        }
    }

    /// `type` and `config` of the kernel's interface.
    fn code(self) -> (u32, u64) {
        const HARDWARE: u32 = 0;
        const SOFTWARE: u32 = 1;
        const HARDWARE_CACHE: u32 = 3;
        match self {
            Event::Cycles => (HARDWARE, 0),
            Event::Instructions => (HARDWARE, 1),
            Event::CacheMisses => (HARDWARE, 3),
            Event::PageFaults => (SOFTWARE, 2),
            // Cache 3 is the data translation buffer, operation 0 a read, result 1 a miss.
            Event::DtlbLoadMisses => (HARDWARE_CACHE, 3 | 1 << 16),
        }
    }
}

/// The first published layout of `struct perf_event_attr` (64 bytes): every kernel takes it.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_kind: u32,
    config1: u64,
}

const DISABLED: u64 = 1 << 0;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const ENABLE_ON_EXEC: u64 = 1 << 12;
const FORMAT_TOTAL_TIMES: u64 = 1 | 2;
const FLAG_FD_CLOEXEC: libc::c_ulong = 8;

/// A counter attached to a process.
#[derive(Debug)]
pub struct Counter {
    event: Event,
    file: File,
    user_only: bool,
}

/// What a counter says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The raw count.
    pub value: u64,
    /// How long it was wanted, in nanoseconds.
    pub enabled_ns: u64,
    /// How long the hardware really counted, in nanoseconds.
    pub running_ns: u64,
}

impl Count {
    /// The count over the whole time, extrapolated where counters took turns; `None` if nothing was ever counted.
    ///
    /// ```
    /// use firsttouch_linux::perf::Count;
    /// let half = Count { value: 10, enabled_ns: 8, running_ns: 4 };
    /// assert_eq!(half.estimate(), Some(20));
    /// assert_eq!(Count { running_ns: 0, ..half }.estimate(), None);
    /// ```
    pub fn estimate(self) -> Option<u64> {
        let value = u128::from(self.value) * u128::from(self.enabled_ns);
        u64::try_from(value.checked_div(u128::from(self.running_ns))?).ok()
    }
}

impl Counter {
    /// Attaches a counter to a process of ours that waits before its `exec`: it starts with the `exec` and takes in every
    /// process and thread started afterwards. Where counting the kernel is not allowed, only user mode is counted.
    pub fn attach(event: Event, pid: u32) -> io::Result<Counter> {
        match Counter::open(event, pid, false) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM)) => {
                Counter::open(event, pid, true)
            }
            answer => answer,
        }
    }

    fn open(event: Event, pid: u32, user_only: bool) -> io::Result<Counter> {
        let (kind, config) = event.code();
        let attributes = Attributes {
            kind,
            size: size_of::<Attributes>() as u32,
            config,
            read_format: FORMAT_TOTAL_TIMES,
            flags: DISABLED
                | INHERIT
                | ENABLE_ON_EXEC
                | EXCLUDE_HYPERVISOR
                | if user_only { EXCLUDE_KERNEL } else { 0 },
            ..Attributes::default()
        };
        let any_cpu: libc::c_int = -1;
        let no_group: libc::c_int = -1;
        // SAFETY: the kernel reads `size` bytes of the attributes, which live until the call returns.
        let fd = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                pid as libc::pid_t,
                any_cpu,
                no_group,
                FLAG_FD_CLOEXEC,
            )
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just handed this descriptor to us alone.
        let file = unsafe { File::from_raw_fd(fd as libc::c_int) };
        Ok(Counter { event, file, user_only })
    }

    /// What it counts.
    pub fn event(&self) -> Event {
        self.event
    }

    /// It counts user mode only.
    pub fn user_only(&self) -> bool {
        self.user_only
    }

    /// What it has counted so far. Processes that ended are included, those still running too.
    pub fn read(&self) -> io::Result<Count> {
        let mut bytes = [0; 24];
        (&self.file).read_exact(&mut bytes)?;
        let word = |index: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[index * 8..][..8]);
            u64::from_ne_bytes(word)
        };
        Ok(Count { value: word(0), enabled_ns: word(1), running_ns: word(2) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_the_published_one() {
        assert_eq!(size_of::<Attributes>(), 64);
    }

    #[test]
    fn a_counter_that_is_not_running_has_no_estimate() {
        // Attached to ourselves it waits for an exec that never comes.
        match Counter::attach(Event::PageFaults, std::process::id()) {
            Ok(counter) => assert_eq!(counter.read().unwrap().estimate(), None),
            Err(error) => {
                let number = error.raw_os_error().unwrap();
                let known = [libc::EACCES, libc::EPERM, libc::ENOSYS, libc::ENOENT, libc::EOPNOTSUPP];
                assert!(known.contains(&number), "{error}");
            }
        }
    }

    #[test]
    fn large_counts_do_not_overflow() {
        let count = Count { value: u64::MAX, enabled_ns: u64::MAX, running_ns: u64::MAX };
        assert_eq!(count.estimate(), Some(u64::MAX));
        assert_eq!(Count { running_ns: 1, ..count }.estimate(), None);
    }
}
