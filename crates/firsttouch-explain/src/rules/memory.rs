//! Who decides over nodes and amounts of memory: an inherited policy, automatic balancing, limits.

use crate::{Evidence, Finding, Weight};
use firsttouch_machine::Bound;
use firsttouch_placement::{Pages, format_bytes};

pub(super) fn find(evidence: &Evidence, findings: &mut Vec<Finding>) {
    inherited_policy(evidence, findings);
    balancing(evidence, findings);
    group_limit(evidence, findings);
    address_space(evidence, findings);
}

/// numactl and the like set a policy and start us: the program would inherit it.
fn inherited_policy(evidence: &Evidence, findings: &mut Vec<Finding>) {
    let Some(line) = &evidence.inherited.policy else { return };
    let Some(policy) = line.split(' ').nth(1).filter(|policy| *policy != "default" && *policy != "local")
    else {
        return;
    };
    let what = format!("a memory policy is in force already: {policy}");
    let finding = if evidence.asks_memory() {
        Finding::new("inherited-policy", Weight::Remark, what, "the policy that was asked for replaces it")
    } else {
        Finding::new(
            "inherited-policy",
            Weight::Weakens,
            what,
            "the program inherits it, and no --memory replaces it",
        )
        .remedy("start firsttouch without numactl, or ask: --memory local")
    };
    findings.push(finding.proof("/proc/self/numa_maps", line));
}

fn balancing(evidence: &Evidence, findings: &mut Vec<Finding>) {
    let machine = evidence.machine();
    let several =
        machine.nodes.iter().filter(|node| node.size_bytes.is_some_and(|size| size > 0)).count() > 1;
    if machine.numa_balancing != Some(true) || !several {
        return;
    }
    let (weight, effect) = match (evidence.asks_memory(), evidence.asks_cpus()) {
        (true, _) => (
            Weight::Weakens,
            "the kernel samples accesses by page faults, and may move pages that no strict policy holds",
        ),
        (false, true) => (
            Weight::Weakens,
            "the kernel moves pages to the threads that use them, which helps placed threads, at the price of page faults",
        ),
        (false, false) => (Weight::Remark, "the kernel moves pages between nodes by its own judgement"),
    };
    findings.push(
        Finding::new("numa-balancing", weight, "automatic NUMA balancing is on", effect)
            .proof("/proc/sys/kernel/numa_balancing", "1")
            .remedy("echo 0 | sudo tee /proc/sys/kernel/numa_balancing"),
    );
}

/// A control group that leaves less than a placement wants to have at hand.
fn group_limit(evidence: &Evidence, findings: &mut Vec<Finding>) {
    let limits = &evidence.machine().limits;
    let Some(group) = &limits.cgroup_memory else { return };
    let (Bound::Bytes(limit), Some(file)) = (group.limit_bytes, &group.file) else { return };
    let used = group.usage_bytes.map(|used| format!(", {} used", format_bytes(used))).unwrap_or_default();
    findings.push(
        Finding::new(
            "cgroup-memory",
            Weight::Remark,
            format!("the control group may use {} of memory{used}", format_bytes(limit)),
            "freed blocks that the agent keeps count against it; at the limit the program is killed",
        )
        .proof(file, limit.to_string())
        .remedy(format!("echo max | sudo tee {file}")),
    );
}

fn address_space(evidence: &Evidence, findings: &mut Vec<Finding>) {
    let Some(Bound::Bytes(limit)) = evidence.machine().limits.address_space_bytes else { return };
    let finding = Finding::new(
        "address-space-limit",
        if evidence.wanted.pages == Pages::Base { Weight::Remark } else { Weight::Weakens },
        format!("address space is limited to {}", format_bytes(limit)),
        "the agent keeps no address space in reserve: blocks that find no place are left to the C library",
    );
    findings.push(
        finding
            .proof("/proc/self/limits", format!("Max address space {limit}"))
            .remedy("ulimit -v unlimited"),
    );
}
