//! Who keeps CPUs from the program: cpusets, affinity masks, isolated CPUs.

use crate::{Evidence, Finding, Weight};
use firsttouch_linux::cpulist::format_list;
use firsttouch_linux::sysinfo::status_field;
use firsttouch_machine::{Machine, Node};

pub(super) fn find(evidence: &Evidence, findings: &mut Vec<Finding>) {
    cpuset(evidence, findings);
    affinity(evidence, findings);
    isolated(evidence, findings);
    tickless(evidence, findings);
}

fn cpuset(evidence: &Evidence, findings: &mut Vec<Finding>) {
    let effect = if evidence.asks_threads() {
        "threads are placed among the CPUs of the cpuset only"
    } else {
        "the program runs on the CPUs of the cpuset only"
    };
    let (machine, status) = (evidence.machine(), evidence.inherited.status.as_deref());
    let weighed = |finding: Finding, asked: bool| Finding { weight: weight(asked), ..finding };
    findings.extend(cpuset_cpus(machine, status, effect).map(|found| weighed(found, evidence.asks_cpus())));
    findings.extend(cpuset_mems(machine, status).map(|found| weighed(found, evidence.asks_memory())));
}

pub(super) fn cpuset_cpus(machine: &Machine, status: Option<&str>, effect: &str) -> Option<Finding> {
    let cpus = machine.limits.cpuset_cpus.as_ref()?;
    let online: Vec<u32> = machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id).collect();
    if online.iter().all(|cpu| cpus.contains(cpu)) {
        return None;
    }
    let left: Vec<u32> = online.iter().copied().filter(|cpu| cpus.contains(cpu)).collect();
    let what = format!("a cpuset leaves CPUs {} of {}", format_list(&left), format_list(&online));
    let finding = Finding::new("cpuset-cpus", Weight::Remark, what, effect)
        .proof("/proc/self/cgroup", format!("the cpuset's CPUs: {}", format_list(cpus)));
    let finding = match status.and_then(|text| status_field(text, "Cpus_allowed_list")) {
        Some(list) => finding.proof("/proc/self/status", format!("Cpus_allowed_list: {list}")),
        None => finding,
    };
    Some(finding.remedy(format!(
        "widen it: docker run --cpuset-cpus={0}, or systemctl set-property UNIT AllowedCPUs={0}",
        format_list(&online)
    )))
}

pub(super) fn cpuset_mems(machine: &Machine, status: Option<&str>) -> Option<Finding> {
    let nodes = machine.limits.allowed_nodes.as_ref()?;
    // The kernel's own word counts every node that could exist: only those with memory matter.
    let has_memory = |node: &&Node| node.size_bytes.is_some_and(|size| size > 0);
    let with_memory: Vec<u32> = machine.nodes.iter().filter(has_memory).map(|node| node.id).collect();
    if with_memory.iter().all(|node| nodes.contains(node)) {
        return None;
    }
    let left: Vec<u32> = with_memory.iter().copied().filter(|node| nodes.contains(node)).collect();
    let what =
        format!("a cpuset leaves memory nodes {} of {}", format_list(&left), format_list(&with_memory));
    let effect = "memory comes from these nodes only, whatever policy is set";
    let finding = Finding::new("cpuset-mems", Weight::Remark, what, effect)
        .proof("/proc/self/status", allowed_line(status, "Mems_allowed_list"));
    Some(finding.remedy(format!(
        "widen it: docker run --cpuset-mems={0}, or systemctl set-property UNIT AllowedMemoryNodes={0}",
        format_list(&with_memory)
    )))
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
            .proof(
                "/proc/self/status",
                allowed_line(evidence.inherited.status.as_deref(), "Cpus_allowed_list"),
            )
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
    let used: Vec<u32> =
        evidence.wanted_cpus().iter().copied().filter(|cpu| evidence.isolated.contains(cpu)).collect();
    let list = format_list(&used);
    let (weight, effect) = if used.is_empty() {
        let effect =
            "no thread runs there unless it is bound there by number: for the program they do not exist";
        (Weight::Remark, effect.to_owned())
    } else if !evidence.asks_threads() {
        let effect = format!(
            "the scheduler spreads nothing over CPUs {list}: threads stay where they start, and may share one of them"
        );
        (Weight::Weakens, effect)
    } else {
        let effect = format!(
            "threads bound to CPUs {list} stay there, but two threads on one of them are never spread again"
        );
        (Weight::Weakens, effect)
    };
    findings.push(Finding { weight, ..isolated_finding(&evidence.isolated, &effect) });
}

pub(super) fn isolated_finding(isolated: &[u32], effect: &str) -> Finding {
    let list = format_list(isolated);
    Finding::new("isolcpus", Weight::Remark, format!("CPUs {list} are isolated from the scheduler"), effect)
        .proof("/sys/devices/system/cpu/isolated", &list)
        .remedy("take isolcpus= from the kernel's command line, or name the CPUs: --threads LIST")
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

fn allowed_line(status: Option<&str>, field: &str) -> String {
    let value = status.and_then(|text| status_field(text, field));
    format!("{field}: {}", value.unwrap_or("(not there)"))
}
