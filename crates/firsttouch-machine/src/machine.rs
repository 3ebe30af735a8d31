//! The machine as a whole.

use crate::{
    ApicIds, Cache, Core, CoreKind, Cpu, Device, Features, Limits, Node, Package, Part, Pool, Root, Thp,
    Tier, Trap,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a machine has and allows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Machine {
    /// The name of the processor.
    pub cpu_model: Option<String>,
    /// How many CPUs run.
    pub cpus_online: Option<u32>,
    /// The release of the kernel.
    pub kernel: Option<String>,
    /// Maker and model of the machine.
    pub product: Option<String>,
    /// Whether this is a virtual machine.
    pub virtual_machine: Option<bool>,
    /// The hypervisor.
    pub hypervisor: Option<String>,
    /// All memory.
    pub memory_bytes: Option<u64>,
    /// Memory that can be had without swapping.
    pub memory_available_bytes: Option<u64>,
    /// Swap space.
    pub swap_bytes: Option<u64>,
    /// Logical CPUs, ascending.
    pub cpus: Vec<Cpu>,
    /// Cores.
    pub cores: Vec<Core>,
    /// Kinds of cores, the fastest first; none when all cores are alike.
    pub core_kinds: Vec<CoreKind>,
    /// Clusters of cores, where they are more than a core and less than a die or package.
    pub clusters: Vec<Part>,
    /// Dies, where a package has several and the kernel tells them (Linux 5.2).
    pub dies: Vec<Part>,
    /// Packages.
    pub packages: Vec<Package>,
    /// Caches, the nearest to the cores first.
    pub caches: Vec<Cache>,
    /// What the processor says of its APIC ids, where it was asked (`status --apic`).
    pub apic: Option<ApicIds>,
    /// Memory nodes; one for the whole machine where the kernel knows none.
    pub nodes: Vec<Node>,
    /// Memory tiers, the fastest first.
    pub tiers: Vec<Tier>,
    /// Devices that live next to a node.
    pub devices: Vec<Device>,
    /// Transparent huge pages.
    pub thp: Thp,
    /// Pools of reserved huge pages, ascending by size.
    pub pools: Vec<Pool>,
    /// The kernel's weights of interleaving by node (Linux 6.9).
    pub interleave_weights: Option<BTreeMap<u32, u32>>,
    /// Whether the kernel moves pages between nodes by its own judgement.
    pub numa_balancing: Option<bool>,
    /// What ordinary users may count: -1 everything, 2 their own programs, 3 and above nothing.
    pub perf_event_paranoid: Option<i32>,
    /// Whether freed memory goes back to a host.
    pub free_page_reporting: Option<bool>,
    /// Features of the running kernel, found by trying.
    pub features: Features,
    /// Limits of this process.
    pub limits: Limits,
    /// Capabilities in force, of those that matter here; `None` when unknown.
    pub capabilities: Option<Vec<String>>,
    /// Capabilities that could be had at all (the bounding set), of the same ones.
    pub capabilities_possible: Option<Vec<String>>,
    /// The program that asks, for commands that name it; of the live machine only.
    #[serde(skip)]
    pub own_program: Option<String>,
    /// What will mislead who does not know it.
    pub traps: Vec<Trap>,
    /// Files that exist and could not be read, with the kernel's answer.
    pub unreadable: Vec<String>,
}

/// What is remarked where a machine was read without /sys.
pub(crate) const NO_SYS: &str = "/sys is missing: caches, nodes, huge pages and devices are unknown";

/// Whether there is a /sys below a root.
pub(crate) fn has_sys(root: &Root) -> bool {
    root.has("sys/devices")
}

impl Machine {
    /// Whether there was no /sys to be read, so that a page size that is not found may be there all the same.
    pub fn lacks_sys(&self) -> bool {
        self.unreadable.iter().any(|remark| remark == NO_SYS)
    }

    /// The mode of transparent huge pages: `always`, `madvise` or `never`; `None` if the kernel has none.
    pub fn thp_mode(&self) -> Option<&str> {
        self.thp.enabled.as_deref()
    }

    /// Memory that we can have without swapping: the machine's, or what our control group still lets us have where that is less.
    pub fn memory_for_us_bytes(&self) -> Option<u64> {
        let limits = [self.memory_available_bytes, self.limits.cgroup_headroom_bytes()];
        limits.into_iter().flatten().min()
    }

    /// Memory that stays available when pools grow, unless somebody says otherwise: an eighth, and no less than 256 MiB.
    pub fn rest_bytes(&self) -> u64 {
        const LEAST: u64 = 256 << 20;
        self.memory_bytes.map_or(LEAST, |all| (all / 8).max(LEAST))
    }

    /// The pool of this page size.
    pub fn pool(&self, page_bytes: u64) -> Option<&Pool> {
        self.pools.iter().find(|pool| pool.page_bytes == page_bytes)
    }

    /// Whether a capability is in force; `None` when unknown.
    pub fn has_capability(&self, name: &str) -> Option<bool> {
        self.capabilities.as_ref().map(|held| held.iter().any(|one| one == name))
    }
}
