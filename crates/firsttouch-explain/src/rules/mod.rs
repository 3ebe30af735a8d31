//! The rules: each looks at the evidence and says what it finds.

mod cpus;
mod launchers;
mod memory;
mod pages;
mod program;
mod runtimes;
mod sandbox;

use crate::{Evidence, Finding, Weight};

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
    // A stable order: within one weight, as the rules come.
    findings.sort_by_key(|finding| finding.weight);
    findings
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
