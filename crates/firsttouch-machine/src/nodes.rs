//! Memory nodes: size, distances, what the firmware says of their speed, and the tiers the kernel sorts them into.

use crate::kind::MemoryKind;
use crate::reader::Reader;
use firsttouch_linux::cpulist::parse_list;
use firsttouch_linux::sysinfo::{self, Meminfo};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const NODES: &str = "sys/devices/system/node";
const TIERS: &str = "sys/devices/virtual/memory_tiering";

/// One memory node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Node {
    /// Its number; numbers may have gaps.
    pub id: u32,
    /// Its CPUs that are online; none for a node that is memory alone (high-bandwidth, CXL, GPU).
    pub cpus: Vec<u32>,
    /// Memory of the node.
    pub size_bytes: Option<u64>,
    /// Memory of the node that nobody uses.
    pub free_bytes: Option<u64>,
    /// Distance to each node by its id, 10 being the node itself, as the firmware's table has it.
    pub distances: Option<BTreeMap<u32, u32>>,
    /// The kernel's memory tier, by the id in `tiers`.
    pub tier: Option<u32>,
    /// What the memory is; `None` when nothing tells.
    pub kind: Option<MemoryKind>,
    /// Speed as the firmware's table (HMAT) has it, for each class of initiators that it was stated for.
    pub access: Vec<Access>,
    /// Caches in front of the node's memory.
    pub side_caches: Vec<SideCache>,
}

impl Node {
    /// A node of which nothing is known but its CPUs.
    pub(crate) fn new(id: u32, cpus: Vec<u32>) -> Node {
        Node {
            id,
            cpus,
            size_bytes: None,
            free_bytes: None,
            distances: None,
            tier: None,
            kind: None,
            access: Vec::new(),
            side_caches: Vec::new(),
        }
    }

    /// The speed that the nearest CPUs see. Class 0 may be that of a nearer device (Linux 5.10 and later tell the two
    /// apart).
    pub fn speed_from_cpus(&self) -> Option<&Access> {
        let of = |class| self.access.iter().find(|access| access.class == class);
        of(1).or_else(|| of(0))
    }

    /// Whether memory is to be had here without asking for it by name: there is some, and it is not a graphics
    /// card's.
    pub fn is_ordinary(&self) -> bool {
        self.size_bytes != Some(0) && self.kind != Some(MemoryKind::Gpu)
    }
}

/// What the firmware says of a node's speed. The kernel shows the nearest initiators only: the speed from
/// elsewhere has to be measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Access {
    /// 0: the nearest initiators of any kind, 1: the nearest CPUs (Linux 5.10).
    pub class: u32,
    /// The nodes it was stated for.
    pub initiators: Vec<u32>,
    /// Latency of a read.
    pub read_latency_ns: Option<u64>,
    /// Latency of a write.
    pub write_latency_ns: Option<u64>,
    /// Bandwidth of reads.
    pub read_bandwidth_bytes_per_s: Option<u64>,
    /// Bandwidth of writes.
    pub write_bandwidth_bytes_per_s: Option<u64>,
}

/// A memory-side cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SideCache {
    /// 1 is the nearest to the memory.
    pub level: u32,
    /// Its size.
    pub size_bytes: Option<u64>,
    /// Bytes of one line.
    pub line_bytes: Option<u32>,
}

/// One memory tier: a lower id is faster memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Tier {
    /// The kernel's number.
    pub id: u32,
    /// Its nodes.
    pub nodes: Vec<u32>,
}

pub(crate) fn tiers(reader: &Reader<'_>) -> Vec<Tier> {
    let ids = reader.numbered(TIERS, "memory_tier").into_iter();
    ids.filter_map(|id| {
        let nodes = parse_list(&reader.text(&format!("{TIERS}/memory_tier{id}/nodelist"))?)?;
        Some(Tier { id, nodes })
    })
    .collect()
}

/// The nodes; a machine without a node folder is one node that has all CPUs and all memory.
pub(crate) fn nodes(reader: &Reader<'_>, online: &[u32], memory: &Meminfo, tiers: &[Tier]) -> Vec<Node> {
    let ids = reader.numbered(NODES, "node");
    if ids.is_empty() {
        let single = Node {
            size_bytes: memory.total_bytes,
            free_bytes: memory.free_bytes,
            ..Node::new(0, online.to_vec())
        };
        return if memory.total_bytes.is_some() { vec![single] } else { Vec::new() };
    }
    let possible = reader.set(&["possible"], &[], NODES).unwrap_or_default();
    ids.iter()
        .map(|&id| {
            let numbers =
                reader.text(&format!("{NODES}/node{id}/distance")).and_then(|text| sysinfo::distances(&text));
            let distances = numbers.and_then(|numbers| name_distances(id, &numbers, &ids, &possible));
            node(reader, id, online, tiers, distances)
        })
        .collect()
}

/// The file has one number per node that is online, in their order; some kernels count nodes that went offline
/// too. A row that fits neither, or where the node itself is not the nearest, is not understood.
fn name_distances(id: u32, numbers: &[u32], online: &[u32], possible: &[u32]) -> Option<BTreeMap<u32, u32>> {
    let named = [online, possible].into_iter().find(|nodes| nodes.len() == numbers.len())?;
    let distances: BTreeMap<u32, u32> = named.iter().copied().zip(numbers.iter().copied()).collect();
    (distances.get(&id) == numbers.iter().min()).then_some(distances)
}

fn node(
    reader: &Reader<'_>,
    id: u32,
    online: &[u32],
    tiers: &[Tier],
    distances: Option<BTreeMap<u32, u32>>,
) -> Node {
    let folder = format!("{NODES}/node{id}");
    let memory =
        reader.text(&format!("{folder}/meminfo")).map(|text| sysinfo::meminfo(&text)).unwrap_or_default();
    let mut cpus = reader.set(&["cpulist"], &["cpumap"], &folder).unwrap_or_default();
    cpus.retain(|cpu| online.contains(cpu));
    Node {
        size_bytes: memory.total_bytes,
        free_bytes: memory.free_bytes,
        distances,
        tier: tiers.iter().find(|tier| tier.nodes.contains(&id)).map(|tier| tier.id),
        access: [0, 1].into_iter().filter_map(|class| access(reader, &folder, class)).collect(),
        side_caches: side_caches(reader, &folder),
        ..Node::new(id, cpus)
    }
}

fn access(reader: &Reader<'_>, node: &str, class: u32) -> Option<Access> {
    let folder = format!("{node}/access{class}/initiators");
    // Firmware that leaves an entry out leaves a 0 in the kernel's file.
    let stated = |name: &str| reader.number::<u64>(&format!("{folder}/{name}")).filter(|value| *value > 0);
    let megabytes = |name: &str| stated(name).and_then(|value| value.checked_mul(1_000_000));
    let access = Access {
        class,
        initiators: reader.numbered(&folder, "node"),
        read_latency_ns: stated("read_latency"),
        write_latency_ns: stated("write_latency"),
        read_bandwidth_bytes_per_s: megabytes("read_bandwidth"),
        write_bandwidth_bytes_per_s: megabytes("write_bandwidth"),
    };
    let says_something = access.read_latency_ns.is_some()
        || access.write_latency_ns.is_some()
        || access.read_bandwidth_bytes_per_s.is_some()
        || access.write_bandwidth_bytes_per_s.is_some();
    says_something.then_some(access)
}

fn side_caches(reader: &Reader<'_>, node: &str) -> Vec<SideCache> {
    let folder = format!("{node}/memory_side_cache");
    let levels = reader.numbered(&folder, "index").into_iter();
    levels
        .map(|level| SideCache {
            level,
            size_bytes: reader.number(&format!("{folder}/index{level}/size")),
            line_bytes: reader.number(&format!("{folder}/index{level}/line_size")),
        })
        .collect()
}
