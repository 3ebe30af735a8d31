//! What hosts of one kind have in common: settings and hardware, each as one short text.

use crate::MachineEvidence;
use firsttouch_machine::{Bound, Machine};
use firsttouch_placement::format_bytes;
use std::collections::{BTreeMap, BTreeSet};

/// Files of the settings of which there is one. Not the ones that differ by themselves: counts, names, what is free.
const SETTINGS: &str = "\
proc/sys/kernel/shmall
proc/sys/kernel/shmmax
proc/sys/kernel/yama/ptrace_scope
proc/sys/vm/max_map_count
proc/sys/vm/overcommit_memory
proc/sys/vm/overcommit_ratio
proc/sys/vm/swappiness
proc/sys/vm/zone_reclaim_mode
sys/devices/system/clocksource/clocksource0/current_clocksource
sys/devices/system/cpu/cpufreq/boost
sys/devices/system/cpu/intel_pstate/no_turbo
sys/devices/system/cpu/isolated
sys/devices/system/cpu/nohz_full
sys/devices/system/cpu/smt/control
sys/kernel/mm/ksm/run
sys/kernel/mm/numa/demotion_enabled
sys/kernel/mm/transparent_hugepage/khugepaged/pages_to_scan";

/// Files of which there are many, by how their paths begin and end: every value that occurs is told once.
const MANY: [(&str, &str); 6] = [
    ("sys/class/infiniband/", "/state"),
    ("sys/devices/system/cpu/cpu", "/cpufreq/energy_performance_preference"),
    ("sys/devices/system/cpu/cpu", "/cpufreq/scaling_driver"),
    ("sys/devices/system/cpu/cpu", "/cpufreq/scaling_governor"),
    ("sys/devices/system/edac/mc/mc", "/size"),
    ("sys/devices/system/edac/mc/mc", "/size_mb"),
];

/// Words of the kernel's command line that decide over memory and CPUs, by how they begin. The others are the host's own: what it boots, and
/// from where.
const OF_COMMAND_LINE: &str = "\
amd_pstate= cgroup clocksource= cma= default_hugepagesz= hugepages= hugepagesz= hugetlb_cma= idle= init_on_ intel_iommu= amd_iommu= intel_idle. intel_pstate= iommu= \
irqaffinity= isolcpus= kernelcore= maxcpus= mem= memmap= mitigations= movable nohz nosmt nr_cpus= numa= numa_balancing= page_poison= \
preempt= processor.max_cstate= psi= rcu_nocbs rcu_nocb_poll skew_tick= systemd.unified_cgroup_hierarchy= threadirqs thp_ transparent_hugepage tsc=";

/// The facts of a machine, by the file that holds them or a word. What is unknown is left out.
pub(crate) fn facts(evidence: &MachineEvidence) -> BTreeMap<String, String> {
    let (machine, settings) = (&evidence.report.machine, &evidence.settings);
    let mut facts = BTreeMap::new();
    for file in SETTINGS.lines() {
        facts.extend(settings.text(file).map(|text| (format!("/{file}"), text.to_owned())));
    }
    for (start, end) in MANY {
        let values: BTreeSet<&str> = settings.between(start, end).into_iter().map(|(_, text)| text).collect();
        if !values.is_empty() {
            let values = values.into_iter().collect::<Vec<_>>().join(", ");
            facts.insert(format!("/{start}*{end}"), values);
        }
    }
    if let Some(line) = settings.text("proc/cmdline") {
        let is_shared = |word: &&str| OF_COMMAND_LINE.split_whitespace().any(|start| word.starts_with(start));
        let words: Vec<&str> = line.split_whitespace().filter(is_shared).collect();
        facts.insert("/proc/cmdline".to_owned(), words.join(" "));
    }
    of_machine(machine, &mut facts);
    // An empty list of CPUs, which some kernels write as `(null)`, or no such word.
    let nothing = facts.values_mut().filter(|text| text.is_empty() || *text == "(null)");
    nothing.for_each(|text| "none".clone_into(text));
    facts
}

fn of_machine(machine: &Machine, facts: &mut BTreeMap<String, String>) {
    let count = |of: usize| (of > 0).then(|| of.to_string());
    let bound = |bound: Option<Bound>| match bound? {
        Bound::Bytes(bytes) => Some(format_bytes(bytes)),
        Bound::Unlimited => Some("unlimited".to_owned()),
    };
    let thp = &machine.thp;
    let told = [
        ("kernel", machine.kernel.clone()),
        ("processor", machine.cpu_model.clone()),
        ("product", machine.product.clone()),
        ("hypervisor", machine.hypervisor.clone()),
        ("CPUs", machine.cpus_online.map(|cpus| cpus.to_string())),
        ("cores", count(machine.cores.len())),
        ("packages", count(machine.packages.len())),
        ("nodes", count(machine.nodes.len())),
        ("memory", machine.memory_bytes.map(|bytes| format_bytes(as_built(bytes)))),
        ("swap", machine.swap_bytes.map(|bytes| format_bytes(as_built(bytes)))),
        ("ulimit -l", bound(machine.limits.memlock_bytes)),
        ("ulimit -v", bound(machine.limits.address_space_bytes)),
        ("/sys/kernel/mm/transparent_hugepage/enabled", thp.enabled.clone()),
        ("/sys/kernel/mm/transparent_hugepage/defrag", thp.defrag.clone()),
        ("/sys/kernel/mm/transparent_hugepage/shmem_enabled", thp.shmem_enabled.clone()),
        (
            "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
            thp.khugepaged_defrag.map(|on| u8::from(on).to_string()),
        ),
        ("/proc/sys/kernel/numa_balancing", machine.numa_balancing.map(|on| u8::from(on).to_string())),
        ("/proc/sys/kernel/perf_event_paranoid", machine.perf_event_paranoid.map(|level| level.to_string())),
    ];
    facts.extend(told.into_iter().filter_map(|(word, text)| Some((word.to_owned(), text?))));
    for size in &thp.sizes {
        let file = "/sys/kernel/mm/transparent_hugepage/hugepages-";
        facts.extend(
            size.enabled
                .as_ref()
                .map(|enabled| (format!("{file}{}kB/enabled", size.page_bytes >> 10), enabled.clone())),
        );
    }
    for pool in &machine.pools {
        facts.extend(pool.pages.map(|pages| (format!("{}/nr_hugepages", pool.folder()), pages.to_string())));
    }
}

/// Memory as it is built in: what the kernel tells is less by what firmware and kernel keep, and not by the same on every boot, so it is rounded
/// up to a sixteenth of the next power of two.
fn as_built(bytes: u64) -> u64 {
    let step = (bytes.max(16).next_power_of_two() / 16).max(1);
    bytes.div_ceil(step).saturating_mul(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_told_as_it_is_built_in() {
        let of = |gib: f64| as_built((gib * f64::from(1 << 30)) as u64) >> 30;
        assert_eq!((of(15.5), of(125.5), of(125.7), of(755.2), of(768.0)), (16, 128, 128, 768, 768));
        assert_eq!((as_built(0), as_built(1)), (0, 1));
    }
}
