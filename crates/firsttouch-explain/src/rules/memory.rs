//! Who decides over nodes and amounts of memory: an inherited policy, automatic balancing, limits.

use super::machine::trap;
use crate::{Evidence, Finding, Weight};
use firsttouch_machine::{Bound, Limits, Machine};
use firsttouch_placement::{Pages, Reason, format_bytes};

pub(super) fn find(evidence: &Evidence, findings: &mut Vec<Finding>) {
    inherited_policy(evidence, findings);
    asked_balancing(evidence, findings);
    findings.extend(asked_against_demotion(evidence));
    findings.extend(group_limit(&evidence.machine().limits));
    asked_address_space(evidence, findings);
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

fn asked_balancing(evidence: &Evidence, findings: &mut Vec<Finding>) {
    let Some(mut finding) = balancing(evidence.machine()) else { return };
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
    (finding.weight, finding.effect) = (weight, effect.to_owned());
    findings.push(finding);
}

pub(super) fn balancing(machine: &Machine) -> Option<Finding> {
    const FILE: &str = "/proc/sys/kernel/numa_balancing";
    Some(trap(machine, "numa-balancing")?.proof(FILE, "1").set(FILE, "0"))
}

/// Policies say where pages are created; what is not used for long is demoted from there all the same.
fn asked_against_demotion(evidence: &Evidence) -> Option<Finding> {
    const FILE: &str = "/sys/kernel/mm/numa/demotion_enabled";
    let text = evidence.settings.text(FILE.trim_start_matches('/'));
    let on = text.filter(|text| matches!(*text, "true" | "1"))?;
    if !evidence.asks_memory() || evidence.machine().tiers.len() < 2 {
        return None;
    }
    let finding = Finding::new(
        "demotion",
        Weight::Weakens,
        "the kernel demotes pages to slower tiers of memory",
        "when it reclaims memory, the pages that are not used lose the nodes that were asked for, whatever the policy",
    );
    Some(finding.proof(FILE, on).set(FILE, "0"))
}

/// A control group that leaves less than a placement wants to have at hand.
pub(super) fn group_limit(limits: &Limits) -> Option<Finding> {
    let group = limits.cgroup_memory.as_ref()?;
    let (Bound::Bytes(limit), Some(file)) = (group.limit_bytes, &group.file) else { return None };
    let used = group.usage_bytes.map(|used| format!(", {} used", format_bytes(used))).unwrap_or_default();
    let at_limit = match file.ends_with("/memory.high") {
        true => "beyond it the program is slowed down, and its memory reclaimed",
        false => "at the limit the program is killed",
    };
    let finding = Finding::new(
        "cgroup-memory",
        Weight::Remark,
        format!("the control group may use {} of memory{used}", format_bytes(limit)),
        format!("freed blocks that the agent keeps count against it; {at_limit}"),
    );
    Some(finding.proof(file, limit.to_string()).remedy(format!("echo max | sudo tee {file}")))
}

fn asked_address_space(evidence: &Evidence, findings: &mut Vec<Finding>) {
    let Some(mut finding) = address_space(&evidence.machine().limits) else { return };
    if evidence.wanted.pages == Pages::Base {
        finding.weight = Weight::Remark;
    }
    findings.push(finding);
}

pub(super) fn address_space(limits: &Limits) -> Option<Finding> {
    let Some(Bound::Bytes(limit)) = limits.address_space_bytes else { return None };
    let finding = Finding::new(
        Reason::AddressSpaceLimit.word(),
        Weight::Weakens,
        format!("address space is limited to {}", format_bytes(limit)),
        "the agent keeps no address space in reserve: blocks that find no place are left to the C library",
    );
    Some(
        finding
            .proof("/proc/self/limits", format!("Max address space {limit}"))
            .remedy("ulimit -v unlimited"),
    )
}
