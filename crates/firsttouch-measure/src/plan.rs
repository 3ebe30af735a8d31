//! What will be measured, decided from the machine model alone: nodes, CPUs, sizes, repetitions.

use crate::MeasureError;
use firsttouch_machine::{Bound, Machine, MeasuredNode, Node};
use firsttouch_memory::{HUGE, Pages};

/// What somebody wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasureOptions {
    /// The pages to measure on.
    pub pages: Pages,
    /// Bytes of each region; by the size of the caches where `None`.
    pub region_bytes: Option<u64>,
    /// Fewer and shorter repetitions.
    pub quick: bool,
    /// Core to core, too.
    pub cores: bool,
}

impl Default for MeasureOptions {
    fn default() -> MeasureOptions {
        MeasureOptions { pages: Pages::Transparent, region_bytes: None, quick: false, cores: false }
    }
}

/// A node whose CPUs measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CpuNode {
    /// Its row in the matrices.
    pub(crate) place: usize,
    /// Its CPUs that we may use; the first measures latency.
    pub(crate) cpus: Vec<u32>,
    /// Those that make load meanwhile: not on the core of the first.
    pub(crate) load_cpus: Vec<u32>,
}

/// A node whose memory is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemoryNode {
    /// Its column in the matrices.
    pub(crate) place: usize,
    /// Its number.
    pub(crate) id: u32,
}

/// The plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) nodes: Vec<MeasuredNode>,
    pub(crate) cpu_nodes: Vec<CpuNode>,
    pub(crate) memory_nodes: Vec<MemoryNode>,
    /// Memory must be bound: there is more than one node it could come from.
    pub(crate) bind: bool,
    pub(crate) pages: Pages,
    /// Bytes of every region; each memory node has two, one for latency and one for bandwidth.
    pub(crate) region_bytes: usize,
    /// Where pages of 4 KiB are compared with huge ones, as places in `cpu_nodes` and `memory_nodes`.
    pub(crate) page_pair: Option<(usize, usize)>,
    pub(crate) repetitions: u32,
    pub(crate) reads: u64,
    pub(crate) notes: Vec<String>,
}

/// Memory that is left alone in any case is as much as what is taken.
const SHARE: u64 = 2;
/// Regions of one node.
const REGIONS: u64 = 2;
/// Enough for caches of up to 256 MiB, and the size for which latency by page size is told.
const USUAL_BYTES: u64 = 1 << 30;
/// So many times the last-level caches of a node where they are larger.
const CACHES: u64 = 4;
/// With less, or less than twice the caches, a measurement would be one of the caches.
const LEAST_BYTES: u64 = 128 << 20;

impl Plan {
    pub(crate) fn of(machine: &Machine, options: &MeasureOptions) -> Result<Plan, MeasureError> {
        let mut notes = Vec::new();
        let nodes = MeasuredNode::all_of(machine);
        let cpu_nodes = cpu_nodes(machine);
        if cpu_nodes.is_empty() {
            return Err(MeasureError::NoCpu);
        }
        if let Some(size) = options.region_bytes.filter(|bytes| *bytes < HUGE as u64) {
            return Err(MeasureError::TooSmall { size });
        }
        let (caches, enough) = (cache_bytes(machine), enough_bytes(machine));
        let wanted = options.region_bytes.unwrap_or(USUAL_BYTES.max(caches * CACHES));
        let least = options.region_bytes.unwrap_or(LEAST_BYTES.max(enough));

        let candidates: Vec<(MemoryNode, u64)> = memory_nodes(machine, &mut notes);
        let most = candidates.iter().map(|(_, budget)| *budget).max().unwrap_or(0);
        let (fitting, small): (Vec<_>, Vec<_>) =
            candidates.into_iter().partition(|(_, budget)| *budget >= REGIONS * least);
        for (node, budget) in &small {
            notes.push(format!(
                "node {} was left out: {} MiB of its memory can be used, and {} MiB are needed",
                node.id,
                budget >> 20,
                (REGIONS * least) >> 20
            ));
        }
        let Some(budget) = fitting.iter().map(|(_, budget)| *budget).min() else {
            return Err(MeasureError::NotEnoughMemory { needed_bytes: REGIONS * least, free_bytes: most });
        };
        let memory_nodes: Vec<MemoryNode> = fitting.iter().map(|(node, _)| node.clone()).collect();
        let region_bytes = whole_blocks(wanted.min(budget / REGIONS));
        if (region_bytes as u64) < wanted.saturating_sub(HUGE as u64) {
            notes.push(format!(
                "regions are {} MiB instead of {}: no more memory is free",
                region_bytes >> 20,
                wanted >> 20
            ));
        }
        if (region_bytes as u64) < enough {
            notes.push(format!(
                "regions are {} MiB, and the last-level caches of a node {} MiB: what is measured is mostly the caches",
                region_bytes >> 20,
                caches >> 20
            ));
        }
        let page_pair = local_pair(&cpu_nodes, &memory_nodes)
            .filter(|(_, memory)| fitting[*memory].1 >= (REGIONS + 1) * region_bytes as u64);
        if memory_nodes.len() == 1 && machine.nodes.len() == 1 {
            notes.push("one node: there is no other to compare with".to_owned());
        }
        remark_on_caches(machine, &memory_nodes, &mut notes);

        let pairs = cpu_nodes.len() * memory_nodes.len();
        Ok(Plan {
            bind: nodes.len() > 1,
            pages: options.pages,
            region_bytes,
            page_pair,
            // Large machines have many pairs, which take their time; medians of five still have a spread to show.
            repetitions: match (options.quick, pairs) {
                (true, _) => 3,
                (false, ..=4) => 9,
                (false, ..=16) => 7,
                (false, _) => 5,
            },
            reads: if options.quick { 1 << 18 } else { 1 << 20 },
            nodes,
            cpu_nodes,
            memory_nodes,
            notes,
        })
    }

    /// Bytes of all regions.
    pub(crate) fn all_bytes(&self) -> u64 {
        let regions = self.memory_nodes.len() as u64 * REGIONS + u64::from(self.page_pair.is_some());
        regions * self.region_bytes as u64
    }
}

fn whole_blocks(bytes: u64) -> usize {
    (bytes as usize / HUGE).max(1) * HUGE
}

fn may_use(allowed: Option<&Vec<u32>>, id: u32) -> bool {
    allowed.is_none_or(|allowed| allowed.contains(&id))
}

fn cpu_nodes(machine: &Machine) -> Vec<CpuNode> {
    let node = |(place, node): (usize, &Node)| {
        let allowed = machine.limits.allowed_cpus.as_ref();
        let cpus: Vec<u32> = node.cpus.iter().copied().filter(|cpu| may_use(allowed, *cpu)).collect();
        let first = *cpus.first()?;
        let core = machine.cores.iter().find(|core| core.cpus.contains(&first));
        let beside = |cpu: &u32| *cpu != first && core.is_none_or(|core| !core.cpus.contains(cpu));
        let load_cpus = cpus.iter().copied().filter(beside).collect();
        Some(CpuNode { place, cpus, load_cpus })
    };
    machine.nodes.iter().enumerate().filter_map(node).collect()
}

/// The nodes with memory we may use, each with the bytes that may be taken of it.
fn memory_nodes(machine: &Machine, notes: &mut Vec<String>) -> Vec<(MemoryNode, u64)> {
    let allowed = machine.limits.allowed_nodes.as_ref();
    let mut with_memory: Vec<(usize, &Node)> = Vec::new();
    for (place, node) in machine.nodes.iter().enumerate() {
        if node.size_bytes.is_none_or(|size| size == 0) {
            continue;
        }
        if node.is_ordinary() {
            with_memory.push((place, node));
        } else {
            notes.push(format!("node {} was left out: it is the memory of a graphics processor", node.id));
        }
    }
    let only = with_memory.len() == 1;
    let (usable, closed): (Vec<_>, Vec<_>) =
        with_memory.into_iter().partition(|(_, node)| may_use(allowed, node.id));
    for (_, node) in closed {
        notes.push(format!("node {} was left out: the cpuset of this process does not have it", node.id));
    }
    let count = usable.len().max(1) as u64;
    let address_space = match machine.limits.address_space_bytes {
        Some(Bound::Bytes(bytes)) => Some(bytes),
        Some(Bound::Unlimited) | None => None,
    };
    let shared = [machine.limits.cgroup_headroom_bytes(), address_space].into_iter().flatten().min();
    usable
        .into_iter()
        .map(|(place, node)| {
            // What the page cache holds can be had, too; the kernel says how much of it for the whole machine only.
            let available = machine.memory_available_bytes.filter(|_| only);
            let free = available.or(node.free_bytes).unwrap_or(0);
            let budget = shared.map_or(free, |shared| free.min(shared / count)) / SHARE;
            (MemoryNode { place, id: node.id }, budget)
        })
        .collect()
}

/// Bytes of a region of which less than half fits in the caches: less of it, and what is measured is mostly the caches.
pub fn enough_bytes(machine: &Machine) -> u64 {
    cache_bytes(machine) * 2
}

/// The last-level caches in front of a node's memory, as large as any node has them.
fn cache_bytes(machine: &Machine) -> u64 {
    let last = machine.caches.iter().map(|cache| cache.level).max();
    let of_node = |node: &Node| -> u64 {
        let caches = machine.caches.iter().filter(|cache| Some(cache.level) == last);
        let near = caches.filter(|cache| cache.cpus.iter().any(|cpu| node.cpus.contains(cpu)));
        near.filter_map(|cache| cache.size_bytes).sum()
    };
    machine.nodes.iter().map(of_node).max().unwrap_or(0)
}

/// The first CPU node that has memory of its own.
fn local_pair(cpu_nodes: &[CpuNode], memory_nodes: &[MemoryNode]) -> Option<(usize, usize)> {
    cpu_nodes.iter().enumerate().find_map(|(cpu, node)| {
        let memory = memory_nodes.iter().position(|memory| memory.place == node.place)?;
        Some((cpu, memory))
    })
}

fn remark_on_caches(machine: &Machine, memory_nodes: &[MemoryNode], notes: &mut Vec<String>) {
    for node in memory_nodes {
        let caches = &machine.nodes[node.place].side_caches;
        let largest = caches.iter().filter_map(|cache| cache.size_bytes).max();
        if let Some(size) = largest {
            notes.push(format!(
                "node {} has a memory-side cache of {} MiB in front: what is measured is mostly that cache",
                node.id,
                size >> 20
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_machine::Root;
    use std::fs;

    const MIB: u64 = 1 << 20;

    /// Four CPUs on two cores of node 0, two on node 1, and memory alone on node 2; a third level of 32 MiB for each.
    fn machine(free_mib: [u64; 3], status: &str) -> Machine {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: String, text: &str| {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/cpuinfo".to_owned(), "processor : 0\nmodel name : Test\n");
        write("proc/self/status".to_owned(), status);
        let cpus = "sys/devices/system/cpu";
        write(format!("{cpus}/online"), "0-5\n");
        for cpu in 0..6 {
            write(
                format!("{cpus}/cpu{cpu}/topology/core_cpus_list"),
                ["0-1", "0-1", "2-3", "2-3", "4", "5"][cpu],
            );
            let cache = format!("{cpus}/cpu{cpu}/cache/index3");
            write(format!("{cache}/level"), "3");
            write(format!("{cache}/size"), "32768K");
            write(format!("{cache}/shared_cpu_list"), if cpu < 4 { "0-3" } else { "4-5" });
        }
        for (node, (cpus, free)) in ["0-3", "4-5", ""].iter().zip(free_mib).enumerate() {
            let folder = format!("sys/devices/system/node/node{node}");
            write(format!("{folder}/cpulist"), cpus);
            let total = if free == 0 { 0 } else { 64 << 20 };
            let text = format!("Node {node} MemTotal: {total} kB\nNode {node} MemFree: {} kB\n", free << 10);
            write(format!("{folder}/meminfo"), &text);
        }
        Machine::read(&Root::at(folder.path())).unwrap()
    }

    fn ids(plan: &Plan) -> Vec<u32> {
        plan.memory_nodes.iter().map(|node| node.id).collect()
    }

    #[test]
    fn every_node_with_cpus_meets_every_node_with_memory() {
        let plan = Plan::of(&machine([16 << 10; 3], ""), &MeasureOptions::default()).unwrap();
        assert_eq!(ids(&plan), [0, 1, 2]);
        assert_eq!(plan.cpu_nodes.len(), 2);
        assert_eq!(plan.cpu_nodes[0].cpus, [0, 1, 2, 3]);
        assert_eq!(plan.cpu_nodes[0].load_cpus, [2, 3], "the other half of the first core makes no load");
        assert_eq!((plan.region_bytes, plan.bind, plan.page_pair), (1 << 30, true, Some((0, 0))));
        assert_eq!(plan.all_bytes(), 7 << 30);
        assert!(plan.notes.is_empty(), "{:?}", plan.notes);
    }

    #[test]
    fn what_is_free_decides_the_size_and_who_takes_part() {
        let plan = Plan::of(&machine([1024, 16 << 10, 100], ""), &MeasureOptions::default()).unwrap();
        assert_eq!(ids(&plan), [0, 1]);
        assert_eq!(plan.region_bytes as u64, 256 * MIB);
        assert_eq!(plan.page_pair, None, "node 0 has no room for a third region");
        assert!(plan.notes.iter().any(|note| note.starts_with("node 2 was left out")), "{:?}", plan.notes);
        assert!(plan.notes.iter().any(|note| note.contains("256 MiB instead of 1024")), "{:?}", plan.notes);
        let error = Plan::of(&machine([200, 100, 100], ""), &MeasureOptions::default()).unwrap_err();
        assert!(
            matches!(error, MeasureError::NotEnoughMemory { needed_bytes, free_bytes }
                if needed_bytes == 256 * MIB && free_bytes == 100 * MIB),
            "{error}"
        );
    }

    #[test]
    fn regions_that_measure_the_caches_say_so_and_empty_ones_are_refused() {
        let plan = |bytes| {
            let options = MeasureOptions { region_bytes: Some(bytes), ..MeasureOptions::default() };
            Plan::of(&machine([16 << 10; 3], ""), &options)
        };
        let noted = plan(16 * MIB).unwrap().notes;
        assert!(
            noted.iter().any(|note| note.contains("are 16 MiB") && note.contains("a node 32 MiB")),
            "{noted:?}"
        );
        assert!(plan(64 * MIB).unwrap().notes.is_empty());
        for bytes in [0, 1, 2 * MIB - 1] {
            let error = plan(bytes).unwrap_err();
            assert!(matches!(error, MeasureError::TooSmall { size } if size == bytes), "{error}");
        }
    }

    #[test]
    fn a_node_without_memory_still_has_cpus() {
        let plan = Plan::of(&machine([0, 16 << 10, 16 << 10], ""), &MeasureOptions::default()).unwrap();
        assert_eq!((ids(&plan), plan.cpu_nodes.len(), plan.page_pair), (vec![1, 2], 2, Some((1, 0))));
    }

    #[test]
    fn the_cpuset_and_the_affinity_are_kept() {
        let status = "Cpus_allowed_list:\t3,5\nMems_allowed_list:\t0-1\n";
        let plan = Plan::of(&machine([16 << 10; 3], status), &MeasureOptions::default()).unwrap();
        assert_eq!(plan.cpu_nodes.iter().map(|node| node.cpus.clone()).collect::<Vec<_>>(), [[3], [5]]);
        assert!(plan.cpu_nodes[0].load_cpus.is_empty());
        assert_eq!(ids(&plan), [0, 1]);
        let error = Plan::of(&machine([16 << 10; 3], "Cpus_allowed_list:\t\n"), &MeasureOptions::default())
            .unwrap_err();
        assert!(matches!(error, MeasureError::NoCpu), "{error}");
    }

    #[test]
    fn a_size_that_was_asked_for_is_taken_as_it_is() {
        let options =
            MeasureOptions { region_bytes: Some(8 * MIB), quick: true, ..MeasureOptions::default() };
        let plan = Plan::of(&machine([64, 64, 64], ""), &options).unwrap();
        assert_eq!((plan.region_bytes as u64, plan.repetitions), (8 * MIB, 3));
    }
}
