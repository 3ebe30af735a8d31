//! Who keeps CPUs from the program: cpusets, affinity masks, isolated CPUs.

use crate::{Evidence, Finding, Weight};
use firsttouch_linux::cpulist::format_list;

pub(super) fn find(evidence: &Evidence, findings: &mut Vec<Finding>) {
    cpuset(evidence, findings);
    affinity(evidence, findings);
    isolated(evidence, findings);
    tickless(evidence, findings);
}

fn cpuset(evidence: &Evidence, findings: &mut Vec<Finding>) {
    let limits = &evidence.machine().limits;
    let online = evidence.online_cpus();
    if let Some(cpus) = &limits.cpuset_cpus
        && online.iter().any(|cpu| !cpus.contains(cpu))
    {
        let effect = if evidence.asks_threads() {
            "threads are placed among the CPUs of the cpuset only"
        } else {
            "the program runs on the CPUs of the cpuset only"
        };
        let what = format!("a cpuset leaves CPUs {} of {}", format_list(cpus), format_list(&online));
        findings.push(
            Finding::new("cpuset-cpus", weight(evidence.asks_cpus()), what, effect)
                .proof("/proc/self/cgroup", "the control group's cpuset.cpus.effective")
                .proof("/proc/self/status", allowed_line(evidence, "Cpus_allowed_list"))
                .remedy(format!(
                    "widen it: docker run --cpuset-cpus={0}, or systemctl set-property UNIT AllowedCPUs={0}",
                    format_list(&online)
                )),
        );
    }
    let with_memory: Vec<u32> = evidence
        .machine()
        .nodes
        .iter()
        .filter(|node| node.size_bytes.is_some_and(|size| size > 0))
        .map(|node| node.id)
        .collect();
    // The kernel's own word counts every node that could exist: only those with memory matter.
    if let Some(nodes) = limits.allowed_nodes.as_ref()
        && with_memory.iter().any(|node| !nodes.contains(node))
    {
        let left: Vec<u32> = with_memory.iter().copied().filter(|node| nodes.contains(node)).collect();
        let what =
            format!("a cpuset leaves memory nodes {} of {}", format_list(&left), format_list(&with_memory));
        findings.push(
            Finding::new(
                "cpuset-mems",
                weight(evidence.asks_memory()),
                what,
                "memory comes from these nodes only, whatever policy is set",
            )
            .proof("/proc/self/status", allowed_line(evidence, "Mems_allowed_list"))
            .remedy(format!(
                "widen it: docker run --cpuset-mems={0}, or systemctl set-property UNIT AllowedMemoryNodes={0}",
                format_list(&with_memory)
            )),
        );
    }
}

/// A mask narrower than the cpuset: somebody set it on purpose, and everything started inherits it.
fn affinity(evidence: &Evidence, findings: &mut Vec<Finding>) {
    let limits = &evidence.machine().limits;
    let Some(allowed) = &limits.allowed_cpus else { return };
    let online = evidence.online_cpus();
    let could = |cpu: &u32| limits.cpuset_cpus.as_ref().is_none_or(|cpuset| cpuset.contains(cpu));
    // Isolated CPUs are outside the mask that the first process of the machine starts with.
    let kept: Vec<u32> = (online.iter().copied())
        .filter(|cpu| could(cpu) && !allowed.contains(cpu) && !evidence.isolated.contains(cpu))
        .collect();
    if kept.is_empty() {
        return;
    }
    let what = format!("this process was started bound to CPUs {}", format_list(allowed));
    let effect = "the program inherits the mask; CPUs outside of it are refused by `run` (a launcher such as taskset, \
                  numactl, srun or mpirun set it)";
    findings.push(
        Finding::new("affinity", weight(evidence.asks_cpus()), what, effect)
            .proof("/proc/self/status", allowed_line(evidence, "Cpus_allowed_list"))
            .remedy(format!(
                "start firsttouch without it, or: taskset -c {} firsttouch …",
                format_list(&online)
            )),
    );
}

fn isolated(evidence: &Evidence, findings: &mut Vec<Finding>) {
    if evidence.isolated.is_empty() {
        return;
    }
    let list = format_list(&evidence.isolated);
    let used: Vec<u32> =
        evidence.wanted_cpus().iter().copied().filter(|cpu| evidence.isolated.contains(cpu)).collect();
    let what = format!("CPUs {list} are isolated from the scheduler");
    let finding = if used.is_empty() {
        let effect =
            "no thread runs there unless it is bound there by number: for the program they do not exist";
        Finding::new("isolcpus", Weight::Remark, what, effect)
    } else if !evidence.asks_threads() {
        let effect = format!(
            "the scheduler spreads nothing over CPUs {}: threads stay where they start, and may share one of them",
            format_list(&used)
        );
        Finding::new("isolcpus", Weight::Weakens, what, effect)
    } else {
        let effect = format!(
            "threads bound to CPUs {} stay there, but two threads on one of them are never spread again",
            format_list(&used)
        );
        Finding::new("isolcpus", Weight::Weakens, what, effect)
    };
    findings.push(
        finding
            .proof("/sys/devices/system/cpu/isolated", &list)
            .remedy("take isolcpus= from the kernel's command line, or name the CPUs: --threads LIST"),
    );
}

fn tickless(evidence: &Evidence, findings: &mut Vec<Finding>) {
    let used: Vec<u32> =
        evidence.wanted_cpus().iter().copied().filter(|cpu| evidence.tickless.contains(cpu)).collect();
    if used.is_empty() {
        return;
    }
    let what = format!("CPUs {} run without a clock tick while one thread is on them", format_list(&used));
    let effect =
        "good for one thread each; with more than one the tick comes back and system calls cost more";
    findings.push(
        Finding::new("nohz-full", Weight::Remark, what, effect)
            .proof("/sys/devices/system/cpu/nohz_full", format_list(&evidence.tickless)),
    );
}

fn weight(asked: bool) -> Weight {
    if asked { Weight::Weakens } else { Weight::Remark }
}

fn allowed_line(evidence: &Evidence, field: &str) -> String {
    format!("{field}: {}", evidence.status(field).unwrap_or("(not there)"))
}
