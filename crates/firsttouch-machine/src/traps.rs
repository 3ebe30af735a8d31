//! Properties of a machine that make honest timing hard, each with what to do about it.

use crate::{Machine, Trap};

pub(crate) fn traps(machine: &Machine) -> Vec<Trap> {
    let mut traps = Vec::new();
    let mut trap = |name: &str, what: &str, effect: &str, remedy: &str| {
        traps.push(Trap {
            name: name.to_owned(),
            what: what.to_owned(),
            effect: effect.to_owned(),
            remedy: remedy.to_owned(),
        });
    };
    if machine.free_page_reporting == Some(true) {
        trap(
            "free-page-reporting",
            "memory that is freed goes back to the host within seconds",
            "its next first touch costs up to 60 times as much: the first run after a pause is slow whatever it does",
            "warm up right before every timed run (`firsttouch tune` does) and keep memory instead of freeing it \
             (the agent recycles it); on the host: virtio-balloon without free-page-reporting",
        );
    }
    let in_nodes = machine.nodes.iter().map(|node| node.size_bytes).sum::<Option<u64>>().unwrap_or(0);
    if machine.memory_bytes.is_some_and(|all| in_nodes > 0 && all - all / 10 > in_nodes) {
        trap(
            "memory-outside-nodes",
            "/proc/meminfo counts more memory than the nodes hold",
            "the rest is not in the machine at the moment (a balloon, hot-plugged memory), and its first touch may have \
             to wait for the host",
            "trust the free memory of the nodes, and warm up before timing",
        );
    }
    // Nodes without memory give nothing that could be moved.
    let with_memory =
        machine.nodes.iter().filter(|node| node.size_bytes.is_some_and(|size| size > 0)).count();
    if machine.numa_balancing == Some(true) && with_memory > 1 {
        trap(
            "numa-balancing",
            "automatic NUMA balancing is on",
            "the kernel moves pages between nodes while the program runs, by its own judgement: pages do not stay \
             where first touch put them",
            "echo 0 | sudo tee /proc/sys/kernel/numa_balancing",
        );
    }
    if machine.features.thp_disabled_by_prctl.as_deref() == Some("yes") {
        trap(
            "thp-disabled-by-prctl",
            "PR_SET_THP_DISABLE is set for this process, and is inherited by every program it starts",
            "madvise(MADV_HUGEPAGE) answers success and does nothing",
            "start from a shell or service that has not set it (systemd: MemoryTHP=)",
        );
    }
    traps
}
