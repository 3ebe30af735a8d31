//! Rules over the machine: what is wrong with it, or good to know, before anything is asked.

mod catalog;
mod containers;
mod cpus;
mod daemons;
mod devices;
mod interrupts;
mod kernel;
mod limits;
mod measured;
mod nodes;
mod permissions;
mod pools;
mod reclaim;
mod transparent;
mod unseen;

pub(crate) use catalog::{CATALOG, Decides, entry};
pub(crate) use measured::{measured, worse};
pub(crate) use unseen::unseen;

use crate::{Finding, MachineEvidence, Weight};

/// What is found, before a profile weighs it.
pub(crate) struct Found<'a> {
    pub(crate) evidence: &'a MachineEvidence,
    findings: Vec<Finding>,
}

impl Found<'_> {
    fn add(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// A file of the settings and what stands there.
    fn text(&self, file: &str) -> Option<&str> {
        self.evidence.settings.text(file)
    }

    fn number(&self, file: &str) -> Option<u64> {
        self.evidence.settings.number(file)
    }
}

/// A finding with the weight that it has where no profile says otherwise.
fn noted(id: &str, what: impl Into<String>, effect: impl Into<String>) -> Finding {
    debug_assert!(entry(id).is_some(), "{id} is not in the catalog");
    let weight = entry(id).and_then(|entry| entry.weight).unwrap_or(Weight::Remark);
    Finding::new(id, weight, what, effect)
}

/// A trap of the machine model as a finding: name, text and remedy are defined there.
pub(crate) fn trap(machine: &firsttouch_machine::Machine, name: &str) -> Option<Finding> {
    let trap = machine.traps.iter().find(|trap| trap.name == name)?;
    Some(noted(name, &trap.what, &trap.effect).remedy(&trap.remedy))
}

/// All findings, each rule's in its order.
pub(crate) fn find(evidence: &MachineEvidence) -> Vec<Finding> {
    let mut found = Found { evidence, findings: Vec::new() };
    let rules = [
        transparent::find,
        pools::find,
        limits::find,
        reclaim::find,
        cpus::find,
        interrupts::find,
        nodes::find,
        devices::find,
        containers::find,
        daemons::find,
        permissions::find,
        kernel::find,
        measured::find,
    ];
    for rule in rules {
        rule(&mut found);
    }
    found.findings
}
