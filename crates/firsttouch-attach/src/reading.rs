//! The receipts of an attach: what the process has, by page size and node, and the CPUs of its threads.

use crate::areas::Areas;
use crate::bind::{self, ThreadAffinity};
use crate::executor::Executor;
use crate::survey::Survey;
use crate::target::Target;
use crate::window::{Window, next_window};
use firsttouch_linux::maps::Backing;
use firsttouch_linux::process::{Status, unless_ended};
use firsttouch_linux::smaps::{NodeRegion, read_numa_maps_first};
use firsttouch_placement::{
    AttachAsked, Obtained, Pages, Placement, ProcessTree, Receipt, ThreadReport, Via,
};
use firsttouch_sorted::SortedMap;
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

/// Threads in a receipt.
const MOST_THREADS: usize = 256;

/// How to read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    pub(crate) target: &'a Target,
    pub(crate) asked: &'a AttachAsked,
    pub(crate) affinity: &'a ThreadAffinity,
    /// The nodes that have memory.
    pub(crate) nodes: &'a [u32],
    pub(crate) stall_limit: Duration,
}

/// What was read of a process at one moment.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) areas: Areas,
    /// What the program has advised for its mappings was read.
    pub(crate) knows_advice: bool,
    /// What the program may have waited for the reading.
    pub(crate) longest_walk: Duration,
    pub(crate) receipt: Receipt,
    by_mapping: Option<ByMapping>,
}

/// Bytes by node of each mapping that is no file's, by its first address.
type ByMapping = SortedMap<u64, BTreeMap<u32, u64>>;

impl Reading {
    /// Bytes on huge pages in what is worked on.
    pub(crate) fn huge_bytes(&self) -> u64 {
        self.areas.worked_on.iter().map(|area| area.huge_bytes).sum()
    }

    /// Bytes by node of the mapping that begins at an address; nothing where nobody says.
    pub(crate) fn nodes_of(&self, start: u64) -> impl Iterator<Item = (u32, u64)> + '_ {
        let nodes = self.by_mapping.as_ref().and_then(|mappings| mappings.get(&start));
        nodes.into_iter().flatten().map(|(node, bytes)| (*node, *bytes))
    }
}

impl Reader<'_> {
    /// The process as it is now.
    pub(crate) fn read(&self, executor: &mut dyn Executor) -> io::Result<Reading> {
        let (root, member) = (self.target.root(), self.target.member());
        let survey = Survey::read(self.target, self.stall_limit)?;
        let resident: u64 = survey.bytes_by_page_size.values().sum();
        let by_mapping = match self.nodes {
            [_] => None,
            _ if survey.in_pieces => Some(self.nodes_in_pieces(&survey, executor)?),
            _ => {
                let read = read_numa_maps_first(root, member, self.target.precedence());
                unless_ended(read)?.as_deref().and_then(by_mapping)
            }
        };
        let bytes_by_node = match self.nodes {
            [only] => Some(BTreeMap::from([(*only, resident)])),
            _ => by_mapping.as_ref().map(sum),
        };
        let threads = bind::threads_of(self.target)?;
        let threads = threads.iter().take(MOST_THREADS).enumerate().map(|(place, thread)| ThreadReport {
            number: place as u32,
            name: Some(thread.name.clone()),
            cpu_asked: self
                .affinity
                .single
                .get(&thread.id)
                .map(|single_cpu| single_cpu.cpu)
                .or_else(|| self.affinity.order.get(place % self.affinity.order.len().max(1)).copied()),
            cpus_obtained: Some(thread.cpus.clone()),
        });
        let peak = Status::read(root, member).ok().and_then(|status| status.vm_hwm_bytes);
        let mut receipt = self.without_reading();
        receipt.tree = Some(ProcessTree { pid: member, at_peak: survey.memory, ..ProcessTree::default() });
        receipt.obtained = Some(Obtained {
            placed_bytes: resident,
            peak_bytes: peak.unwrap_or(resident).max(resident),
            process_bytes_by_page_size: Some(survey.bytes_by_page_size.clone()),
            bytes_by_page_size: survey.bytes_by_page_size,
            bytes_by_node,
            threads: threads.collect(),
            ..Obtained::default()
        });
        receipt.complete = true;
        let areas = Areas::of(&survey.seen, self.asked.files);
        let (knows_advice, longest_walk) = (!survey.in_pieces, survey.longest_walk);
        Ok(Reading { areas, knows_advice, longest_walk, receipt, by_mapping })
    }

    /// The receipt of a process that cannot be read any more.
    pub(crate) fn without_reading(&self) -> Receipt {
        Receipt {
            program: self.target.name().to_owned(),
            asked: Placement {
                pages: if self.asked.huge_pages { Pages::Transparent } else { Pages::Plain },
                min_size: 0,
                via: Via::Supervise,
                memory: self.asked.memory.clone(),
                threads: self.asked.threads.clone(),
                ..Placement::default()
            },
            obtained: None,
            cpus_obtained: None,
            tree: None,
            shortfalls: Vec::new(),
            via: Via::Supervise,
            blocks: Vec::new(),
            complete: false,
            ending: None,
            notes: Vec::new(),
        }
    }

    /// The nodes of what is no file's, asked for page by page: `numa_maps` would hold the process up.
    fn nodes_in_pieces(&self, survey: &Survey, executor: &mut dyn Executor) -> io::Result<ByMapping> {
        let mut mappings = ByMapping::default();
        for seen in survey.seen.iter().filter(|seen| seen.mapping.backing() != Backing::File) {
            let mut at = seen.mapping.start;
            let bytes_by_node = mappings.entry(at).or_insert(BTreeMap::new());
            while let Some((start, end)) = next_window(self.target, at, seen.mapping.end)? {
                at = end;
                for (page, node) in Window::read(self.target, executor, start, end)?.pages {
                    if let Ok(node) = u32::try_from(node) {
                        *bytes_by_node.entry(node).or_insert(0) += page.bytes;
                    }
                }
            }
        }
        Ok(mappings)
    }
}

/// But for pages of files, which lie where others have them; `None` if the kernel does not say.
fn by_mapping(regions: &[NodeRegion]) -> Option<ByMapping> {
    let own = regions.iter().filter(|region| !region.is_of_file);
    let mappings: Option<ByMapping> =
        own.map(|region| Some((region.start, region.bytes_by_node()?))).collect();
    mappings.filter(|_| !regions.is_empty())
}

fn sum(mappings: &ByMapping) -> BTreeMap<u32, u64> {
    let mut all = BTreeMap::new();
    for (node, bytes) in mappings.values().flatten() {
        *all.entry(*node).or_insert(0) += bytes;
    }
    all
}
