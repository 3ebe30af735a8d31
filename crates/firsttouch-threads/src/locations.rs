//! The CPUs that may be used, each with the things it shares with others.

use firsttouch_machine::Machine;
use std::collections::BTreeMap;

/// Where a CPU lies. What the machine does not tell is the same for all, so that it separates nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CpuLocation {
    pub(crate) cpu: u32,
    pub(crate) package: u32,
    pub(crate) node: u32,
    /// The first CPU of its last-level cache.
    pub(crate) cache: u32,
    /// The first CPU of its core.
    pub(crate) core: u32,
    /// 0 for the first allowed hardware thread of its core, 1 for the second.
    pub(crate) rank: u32,
}

/// The locations of the CPUs that are online and allowed, ascending by number.
pub(crate) fn locations(machine: &Machine, allowed: &[u32]) -> Vec<CpuLocation> {
    let mut used: BTreeMap<u32, u32> = BTreeMap::new();
    let mut cpus: Vec<_> =
        machine.cpus.iter().filter(|cpu| cpu.online && allowed.contains(&cpu.id)).collect();
    cpus.sort_by_key(|cpu| cpu.id);
    cpus.into_iter()
        .map(|cpu| {
            let core = cpu.core.and_then(|core| machine.cores.get(core)?.cpus.first().copied());
            let core = core.unwrap_or(cpu.id);
            let rank = used.entry(core).or_insert(0);
            let location = CpuLocation {
                cpu: cpu.id,
                package: cpu.package.unwrap_or(0),
                node: cpu.node.unwrap_or(0),
                cache: last_cache(machine, cpu.id),
                core,
                rank: *rank,
            };
            *rank += 1;
            location
        })
        .collect()
}

fn last_cache(machine: &Machine, cpu: u32) -> u32 {
    let own = machine.caches.iter().filter(|cache| cache.cpus.contains(&cpu));
    let last = own.max_by_key(|cache| cache.level);
    last.and_then(|cache| cache.cpus.iter().min().copied()).unwrap_or(0)
}
