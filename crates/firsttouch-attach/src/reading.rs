//! The receipts of an attach: what the process has, by page size and node, and the CPUs of its threads.

use crate::bind::{self, Seats};
use crate::target::Target;
use firsttouch_linux::process::Status;
use firsttouch_linux::smaps::{self, Region, read_smaps};
use firsttouch_placement::{
    AttachAsked, Obtained, Pages, Placement, Receipt, SCHEMA_VERSION, ThreadReport, Via,
};
use firsttouch_process::process_nodes;
use std::collections::BTreeMap;
use std::io;

/// Threads in a receipt.
const MOST_THREADS: usize = 256;

/// What was read of a process at one moment.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) regions: Vec<Region>,
    pub(crate) receipt: Receipt,
}

impl Reading {
    /// Anonymous bytes on huge pages.
    pub(crate) fn huge_bytes(&self) -> u64 {
        self.regions.iter().filter_map(|region| region.figures.anon_huge_pages).sum()
    }
}

/// Reads the process. `only_node`: the one node of a machine that has no other.
pub(crate) fn read(
    target: &Target,
    asked: &AttachAsked,
    seats: &Seats,
    only_node: Option<u32>,
) -> io::Result<Reading> {
    let (root, pid) = (target.root(), target.pid());
    let regions = read_smaps(root, pid)?;
    let bytes_by_page_size = smaps::bytes_by_page_size(&regions);
    let resident: u64 = bytes_by_page_size.values().sum();
    let bytes_by_node = match only_node {
        Some(node) => Some(BTreeMap::from([(node, resident)])),
        None => process_nodes(root, pid)?,
    };
    let threads = bind::threads_of(target)?;
    let threads = threads.iter().take(MOST_THREADS).enumerate().map(|(place, thread)| ThreadReport {
        number: place as u32,
        name: Some(thread.name.clone()),
        cpu_asked: seats.order.get(place % seats.order.len().max(1)).copied(),
        cpus_obtained: Some(thread.cpus.clone()),
    });
    let peak = Status::read(root, pid).ok().and_then(|status| status.vm_hwm_bytes);
    let mut receipt = without_reading(target, asked);
    receipt.obtained = Some(Obtained {
        placed_bytes: resident,
        peak_bytes: peak.unwrap_or(resident).max(resident),
        process_bytes_by_page_size: Some(bytes_by_page_size.clone()),
        bytes_by_page_size,
        bytes_by_node,
        threads: threads.collect(),
        ..Obtained::default()
    });
    receipt.complete = true;
    Ok(Reading { regions, receipt })
}

/// The receipt of a process that cannot be read any more.
pub(crate) fn without_reading(target: &Target, asked: &AttachAsked) -> Receipt {
    Receipt {
        schema_version: SCHEMA_VERSION,
        program: target.image().program.clone(),
        asked: Placement {
            pages: if asked.huge_pages { Pages::Transparent } else { Pages::Plain },
            min_size: 0,
            via: Via::Supervise,
            memory: asked.memory.clone(),
            threads: asked.threads.clone(),
            ..Placement::default()
        },
        obtained: None,
        shortfalls: Vec::new(),
        via: Via::Supervise,
        blocks: Vec::new(),
        complete: false,
        notes: Vec::new(),
    }
}
