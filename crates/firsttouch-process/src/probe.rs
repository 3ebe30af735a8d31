//! Watching a process during an untimed run, to say afterwards what it had at its peak.

use crate::reading::{process_nodes, process_pages, unless_ended};
use firsttouch_linux::process::Status;
use firsttouch_linux::remote::ProcessHandle;
use firsttouch_linux::root::Root;
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

/// What a process had when its resident memory was at its peak, as far as looking at intervals tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessReading {
    /// Largest resident set by the kernel's own account, in bytes, as of the last look; hugetlb pages not included.
    /// `None` if the kernel does not say.
    pub peak_rss_bytes: Option<u64>,
    /// Resident bytes by page size at the fullest look; multi-size pages count as base pages.
    pub bytes_by_page_size: BTreeMap<u64, u64>,
    /// Resident bytes by node then, but for pages of files; `None` if the kernel does not say.
    pub bytes_by_node: Option<BTreeMap<u32, u64>>,
}

impl ProcessReading {
    /// Resident bytes at the fullest look, of all page sizes.
    pub fn resident_bytes(&self) -> u64 {
        self.bytes_by_page_size.values().sum()
    }
}

const SHORTEST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// A look walks the page tables of the process and holds up its page faults meanwhile: at most one part in ten.
const PAUSE_TO_COST: u32 = 10;

/// Looks at a process from time to time; the caller keeps the time.
#[derive(Debug)]
pub struct Watch {
    root: Root,
    pid: u32,
    pause: Duration,
    cost: Duration,
    peak_rss_bytes: Option<u64>,
    fullest: Option<(u64, ProcessReading)>,
}

impl Watch {
    /// A watch that has not looked yet.
    pub fn new(root: Root, pid: u32) -> Watch {
        Watch { root, pid, pause: SHORTEST_PAUSE, cost: Duration::ZERO, peak_rss_bytes: None, fullest: None }
    }

    /// Looks once; false if the process has ended.
    pub fn look(&mut self) -> io::Result<bool> {
        let begun = Instant::now();
        let there = self.look_now();
        self.cost = begun.elapsed();
        self.pause = (self.pause * 5 / 4).min(LONGEST_PAUSE);
        there
    }

    fn look_now(&mut self) -> io::Result<bool> {
        let Some(status) = unless_ended(Status::read(&self.root, self.pid))? else { return Ok(false) };
        let Some(resident) = status.resident_bytes() else { return Ok(false) };
        self.peak_rss_bytes = status.vm_hwm_bytes.or(self.peak_rss_bytes);
        // Close to the peak, the later look is the better one: pages are collapsed after they are filled.
        let enough = self.fullest.as_ref().map_or(0, |(fullest, _)| fullest - fullest / 50);
        if resident < enough {
            return Ok(true);
        }
        let Some(bytes_by_page_size) = process_pages(&self.root, self.pid)? else { return Ok(false) };
        let bytes_by_node = process_nodes(&self.root, self.pid)?;
        let resident = resident.max(self.fullest.as_ref().map_or(0, |(fullest, _)| *fullest));
        let reading =
            ProcessReading { peak_rss_bytes: self.peak_rss_bytes, bytes_by_page_size, bytes_by_node };
        self.fullest = Some((resident, reading));
        Ok(true)
    }

    /// How long to wait before the next look: 5 ms at first, growing to 100 ms, more where a look is costly.
    pub fn pause(&self) -> Duration {
        self.pause.max(self.cost * PAUSE_TO_COST)
    }

    /// The fullest look; `None` if the process ended before the first.
    pub fn reading(self) -> Option<ProcessReading> {
        let peak_rss_bytes = self.peak_rss_bytes;
        self.fullest.map(|(_, reading)| ProcessReading { peak_rss_bytes, ..reading })
    }
}

/// Watches a process to its end, without collecting it. `None` if it ended before the first look.
pub fn probe(root: Root, pid: u32) -> io::Result<Option<ProcessReading>> {
    let Some(handle) = unless_ended(ProcessHandle::open(pid))? else { return Ok(None) };
    let mut watch = Watch::new(root, pid);
    while watch.look()? && !handle.wait_ended(Some(watch.pause()))? {}
    Ok(watch.reading())
}
