//! The rules: each looks at the evidence and says what it finds.

mod cpus;
mod launchers;
pub(crate) mod machine;
mod memory;
mod pages;
mod program;
mod runtimes;
mod sandbox;

use crate::{Evidence, Finding, MachineEvidence, Measurements, Weight};
use firsttouch_placement::Pages;
use firsttouch_sorted::sort_by_key;
use machine::Decides;

/// Every finding, what overrides first.
pub fn explain(evidence: &Evidence) -> Vec<Finding> {
    let mut findings = Vec::new();
    impossible(evidence, &mut findings);
    program::find(evidence, &mut findings);
    sandbox::find(evidence, &mut findings);
    cpus::find(evidence, &mut findings);
    runtimes::find(evidence, &mut findings);
    launchers::find(evidence, &mut findings);
    memory::find(evidence, &mut findings);
    pages::find(evidence, &mut findings);
    of_the_machine(evidence, &mut findings);
    // A stable order: within one weight, as the rules come.
    sort_by_key(&mut findings, |finding| finding.weight);
    findings
}

/// What `doctor` says of what was asked for, where no rule above looks at it more closely.
fn of_the_machine(evidence: &Evidence, findings: &mut Vec<Finding>) {
    let found = machine::find(&MachineEvidence {
        report: evidence.report.clone(),
        settings: evidence.settings.clone(),
        trials: Vec::new(),
        untried: None,
        measurements: Measurements::default(),
    });
    findings.extend(found.into_iter().filter(|finding| {
        match machine::entry(&finding.id).map(|entry| entry.decides) {
            Some(Decides::Pages) => !matches!(evidence.wanted.pages, Pages::Plain | Pages::Base),
            Some(Decides::Nodes) => evidence.asks_memory(),
            Some(Decides::Cpus) => evidence.asks_cpus(),
            Some(Decides::Else) | None => false,
        }
    }));
}

/// The placement cannot be given on this machine at all.
fn impossible(evidence: &Evidence, findings: &mut Vec<Finding>) {
    if let Err((why, mend)) = &evidence.wanted.resolved {
        let finding = Finding::new(
            "impossible",
            Weight::Overrides,
            why,
            "`run` refuses with exit status 125 and does not start the program",
        );
        findings.push(finding.proof("command line", &evidence.wanted.words).remedy(mend));
    }
}
