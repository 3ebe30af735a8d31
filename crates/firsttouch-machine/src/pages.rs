//! Page sizes: the settings of transparent huge pages and the pools of reserved ones.

use crate::reader::Reader;
use firsttouch_linux::root::Root;
use firsttouch_linux::sysinfo::chosen;
use serde::{Deserialize, Serialize};

const THP: &str = "sys/kernel/mm/transparent_hugepage";
const POOLS: &str = "sys/kernel/mm/hugepages";
const NODES: &str = "sys/devices/system/node";

/// The word of a size of pages: `64k`, `2m`, `1g`.
pub fn page_word(bytes: u64) -> String {
    match bytes.trailing_zeros() {
        30.. => format!("{}g", bytes >> 30),
        20.. => format!("{}m", bytes >> 20),
        _ => format!("{}k", bytes >> 10),
    }
}

/// The settings of transparent huge pages; all `None` on a kernel without them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Thp {
    /// `always`, `madvise` or `never`.
    pub enabled: Option<String>,
    /// What a fault does when no huge page is free: `always`, `defer`, `defer+madvise`, `madvise`, `never`.
    pub defrag: Option<String>,
    /// The same as `enabled`, for shared memory.
    pub shmem_enabled: Option<String>,
    /// Whether the background thread may compact memory.
    pub khugepaged_defrag: Option<bool>,
    /// Whether reading untouched memory maps a shared huge page of zeros.
    pub use_zero_page: Option<bool>,
    /// The size of a transparent huge page.
    pub hpage_pmd_size_bytes: Option<u64>,
    /// Settings per size (Linux 6.8), ascending; the largest is the transparent huge page itself.
    pub sizes: Vec<ThpSize>,
}

/// The settings of one size of multi-size transparent huge pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ThpSize {
    /// The size.
    pub page_bytes: u64,
    /// `always`, `inherit` (follows the general setting), `madvise` or `never`; `None` for sizes of shared memory only.
    pub enabled: Option<String>,
    /// The same, for shared memory.
    pub shmem_enabled: Option<String>,
}

impl ThpSize {
    /// The word that decides: `inherit` stands for the general setting.
    pub fn effective<'a>(&'a self, general: &'a Thp) -> Option<&'a str> {
        match self.enabled.as_deref()? {
            "inherit" => general.enabled.as_deref(),
            word => Some(word),
        }
    }
}

/// The pool of reserved pages of one size. Counts are pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Pool {
    /// The size of its pages.
    pub page_bytes: u64,
    /// Pages in the pool (`nr_hugepages`).
    pub pages: Option<u64>,
    /// Pages not in use.
    pub free: Option<u64>,
    /// Free pages that are promised to mappings already.
    pub reserved: Option<u64>,
    /// Pages beyond the pool's size, taken from ordinary memory for as long as they are used.
    pub surplus: Option<u64>,
    /// How many surplus pages there may be.
    pub overcommit: Option<u64>,
    /// The pool by node.
    pub nodes: Vec<NodePool>,
}

/// A node's part of a pool. Counts are pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct NodePool {
    /// The node.
    pub node: u32,
    /// Pages in the pool.
    pub pages: Option<u64>,
    /// Pages not in use.
    pub free: Option<u64>,
    /// Pages beyond the pool's size.
    pub surplus: Option<u64>,
}

impl Pool {
    /// The pools as they are now, ascending by size; what cannot be read is not known.
    pub fn read_all(root: &Root) -> Vec<Pool> {
        pools(&Reader::new(root))
    }

    /// Pages a new mapping can have: free ones that are not promised, and what may be taken beyond the pool.
    pub fn available(&self) -> Option<u64> {
        let unpromised = self.free?.saturating_sub(self.reserved.unwrap_or(0));
        let beyond = self.overcommit.unwrap_or(0).saturating_sub(self.surplus.unwrap_or(0));
        Some(unpromised + beyond)
    }

    /// The folder of its settings.
    pub fn folder(&self) -> String {
        format!("/{POOLS}/hugepages-{}kB", self.page_bytes >> 10)
    }
}

pub(crate) fn thp(reader: &Reader<'_>) -> Thp {
    let setting = |name: &str| {
        let text = reader.text(&format!("{THP}/{name}"))?;
        chosen(&text).map(str::to_owned)
    };
    let sizes = sizes_in(reader, THP).into_iter().map(|page_bytes| {
        let folder = format!("hugepages-{}kB", page_bytes >> 10);
        let (enabled, shared) =
            (setting(&format!("{folder}/enabled")), setting(&format!("{folder}/shmem_enabled")));
        ThpSize { page_bytes, enabled, shmem_enabled: shared }
    });
    Thp {
        enabled: setting("enabled"),
        defrag: setting("defrag"),
        shmem_enabled: setting("shmem_enabled"),
        khugepaged_defrag: reader.flag(&format!("{THP}/khugepaged/defrag")),
        use_zero_page: reader.flag(&format!("{THP}/use_zero_page")),
        hpage_pmd_size_bytes: reader.number(&format!("{THP}/hpage_pmd_size")),
        sizes: sizes.collect(),
    }
}

pub(crate) fn pools(reader: &Reader<'_>) -> Vec<Pool> {
    let nodes = reader.numbered(NODES, "node");
    let mut sizes = sizes_in(reader, POOLS);
    for node in &nodes {
        sizes.extend(sizes_in(reader, &format!("{NODES}/node{node}/hugepages")));
    }
    sizes.sort_unstable();
    sizes.dedup();
    sizes.into_iter().map(|page_bytes| pool(reader, page_bytes, &nodes)).collect()
}

fn pool(reader: &Reader<'_>, page_bytes: u64, nodes: &[u32]) -> Pool {
    let folder = format!("hugepages-{}kB", page_bytes >> 10);
    let whole = |name: &str| reader.number(&format!("{POOLS}/{folder}/{name}"));
    let parts = nodes.iter().filter_map(|&node| {
        let part = |name: &str| reader.number(&format!("{NODES}/node{node}/hugepages/{folder}/{name}"));
        let pages = part("nr_hugepages");
        pages.is_some().then(|| NodePool {
            node,
            pages,
            free: part("free_hugepages"),
            surplus: part("surplus_hugepages"),
        })
    });
    let nodes: Vec<NodePool> = parts.collect();
    // Some recordings hold the nodes' folders only.
    let sum = |part: fn(&NodePool) -> Option<u64>| {
        nodes.iter().map(part).sum::<Option<u64>>().filter(|_| !nodes.is_empty())
    };
    Pool {
        page_bytes,
        pages: whole("nr_hugepages").or_else(|| sum(|node| node.pages)),
        free: whole("free_hugepages").or_else(|| sum(|node| node.free)),
        reserved: whole("resv_hugepages"),
        surplus: whole("surplus_hugepages").or_else(|| sum(|node| node.surplus)),
        overcommit: whole("nr_overcommit_hugepages"),
        nodes,
    }
}

/// The sizes of the folders `hugepages-NkB`, in bytes, ascending.
fn sizes_in(reader: &Reader<'_>, folder: &str) -> Vec<u64> {
    let names = reader.names(folder);
    let kilobytes = |name: &String| name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse::<u64>().ok();
    let mut sizes: Vec<u64> =
        names.iter().filter_map(kilobytes).filter_map(|kb| kb.checked_mul(1024)).collect();
    sizes.sort_unstable();
    sizes
}
