//! Every finding about the machine: its word, what it weighs where no profile says otherwise, and what has to be asked for
//! `explain` to tell of it. docs/doctor.md has the same list for users.

use crate::Weight;

/// What a finding decides over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decides {
    /// Kinds of pages.
    Pages,
    /// Nodes of memory.
    Nodes,
    /// CPUs.
    Cpus,
    /// None of them alone, or `explain` looks at it more closely by a rule of its own.
    Else,
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) id: &'static str,
    /// `None`: not worth a word unless a profile gives it a weight.
    pub(crate) weight: Option<Weight>,
    pub(crate) decides: Decides,
}

const fn row(id: &'static str, weight: Option<Weight>, decides: Decides) -> Entry {
    Entry { id, weight, decides }
}

const OVERRIDES: Option<Weight> = Some(Weight::Overrides);
const WEAKENS: Option<Weight> = Some(Weight::Weakens);
const REMARK: Option<Weight> = Some(Weight::Remark);

pub(crate) const CATALOG: &[Entry] = &[
    row("thp-never", OVERRIDES, Decides::Else),
    row("thp-always", REMARK, Decides::Else),
    row("thp-disabled-by-prctl", OVERRIDES, Decides::Else),
    row("mthp-off", WEAKENS, Decides::Else),
    row("thp-defrag", WEAKENS, Decides::Pages),
    row("khugepaged-off", REMARK, Decides::Pages),
    row("shmem-huge", REMARK, Decides::Else),
    row("pool-idle", REMARK, Decides::Else),
    row("pool-uneven", REMARK, Decides::Else),
    row("memory-fragmented", WEAKENS, Decides::Pages),
    row("hugetlbfs-unmounted", REMARK, Decides::Else),
    row("memlock-low", WEAKENS, Decides::Else),
    row("address-space-limit", WEAKENS, Decides::Else),
    row("cgroup-memory", REMARK, Decides::Else),
    row("cgroup-hugetlb", WEAKENS, Decides::Else),
    row("shmmax-low", REMARK, Decides::Else),
    row("shmall-low", REMARK, Decides::Else),
    row("overcommit-strict", WEAKENS, Decides::Else),
    row("max-map-count-low", WEAKENS, Decides::Pages),
    row("numa-balancing", WEAKENS, Decides::Else),
    row("zone-reclaim", WEAKENS, Decides::Nodes),
    row("swappiness-high", REMARK, Decides::Else),
    row("swap-used", WEAKENS, Decides::Else),
    row("ksm-runs", WEAKENS, Decides::Pages),
    row("free-page-reporting", REMARK, Decides::Else),
    row("memory-outside-nodes", REMARK, Decides::Else),
    row("governor", WEAKENS, Decides::Else),
    row("turbo-off", REMARK, Decides::Else),
    row("smt-on", None, Decides::Else),
    row("cpus-offline", WEAKENS, Decides::Else),
    row("cpu-quota", WEAKENS, Decides::Cpus),
    row("isolcpus", REMARK, Decides::Else),
    row("isolcpus-ticks", WEAKENS, Decides::Cpus),
    row("nohz-not-isolated", REMARK, Decides::Else),
    row("clocksource-slow", WEAKENS, Decides::Else),
    row("irq-isolated", WEAKENS, Decides::Cpus),
    row("irq-far", REMARK, Decides::Else),
    row("node-without-memory", WEAKENS, Decides::Nodes),
    row("nodes-uneven", REMARK, Decides::Nodes),
    row("dimms-uneven", WEAKENS, Decides::Else),
    row("edac-errors", WEAKENS, Decides::Else),
    row("tier-unused", REMARK, Decides::Else),
    row("hmat-missing", REMARK, Decides::Else),
    row("cache-mode", REMARK, Decides::Nodes),
    row("pcie-slow-link", WEAKENS, Decides::Else),
    row("device-without-node", REMARK, Decides::Else),
    row("several-adapters", REMARK, Decides::Else),
    row("infiniband-down", WEAKENS, Decides::Else),
    row("verbs-missing", WEAKENS, Decides::Else),
    row("cpuset-cpus", REMARK, Decides::Else),
    row("cpuset-mems", REMARK, Decides::Else),
    row("refused-call", WEAKENS, Decides::Else),
    row("seccomp", REMARK, Decides::Else),
    row("daemon-numad", WEAKENS, Decides::Nodes),
    row("daemon-tuned", REMARK, Decides::Else),
    row("daemon-irqbalance", None, Decides::Else),
    row("daemon-earlyoom", REMARK, Decides::Else),
    row("perf-paranoid", REMARK, Decides::Else),
    row("ptrace-scope", REMARK, Decides::Else),
    row("kernel-defect", WEAKENS, Decides::Else),
    row("bandwidth-low", WEAKENS, Decides::Else),
    row("latency-high", WEAKENS, Decides::Else),
    row("creation-slow", WEAKENS, Decides::Else),
];

pub(crate) fn entry(id: &str) -> Option<&'static Entry> {
    CATALOG.iter().find(|entry| entry.id == id)
}
