//! What is wrong with a machine, whatever is placed on it.

use crate::evidence::tried;
use crate::facts::facts;
use crate::profile::PROFILE;
use crate::rules::machine::{CATALOG, entry, find, measured, unseen, worse};
use crate::{Finding, Profile, Weight};
use firsttouch_documents::DoctorHost;
use firsttouch_linux::trials::Trial;
use firsttouch_machine::{Machine, Root, Settings, Source, SourceError, StatusReport};
use firsttouch_sorted::sort_by_key;
use std::collections::BTreeMap;

/// Everything that rules over the machine look at.
#[derive(Clone, Debug)]
pub struct MachineEvidence {
    /// The machine, its limits, and what can be done on it.
    pub report: StatusReport,
    /// The settings that it does not hold.
    pub settings: Settings,
    /// Calls of placement, tried in children; empty for a recorded machine, whose kernel cannot be asked.
    pub trials: Vec<(&'static str, Trial)>,
    /// Why there was no child to try them in.
    pub untried: Option<String>,
    /// What was measured, if anything was.
    pub measurements: Measurements,
}

/// What was measured of a machine, by the words of `Quantity`, and what a profile expects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurements {
    /// What was measured.
    pub values: BTreeMap<String, u64>,
    /// What the profile expects.
    pub expected: BTreeMap<String, u64>,
    /// A value may be worse than what is expected by this part of it.
    pub tolerance: f64,
}

impl MachineEvidence {
    /// Looks at everything that a source holds; of the live machine also at what only trying tells.
    pub fn collect(source: &Source) -> Result<MachineEvidence, SourceError> {
        let root = match source {
            Source::Files(root) => Some(root),
            _ => None,
        };
        Ok(MachineEvidence::of(source.machine()?, root))
    }

    /// The same for a machine that was read already, from below a root if it was.
    pub fn of(machine: Machine, root: Option<&Root>) -> MachineEvidence {
        let (trials, untried) = root.map(tried).unwrap_or_default();
        MachineEvidence {
            settings: root.map(Settings::read).unwrap_or_default(),
            trials,
            untried,
            measurements: Measurements::default(),
            report: StatusReport::of(machine),
        }
    }

    /// The name that the machine has for itself.
    pub fn host_name(&self) -> Option<&str> {
        self.settings.text("proc/sys/kernel/hostname").filter(|name| !name.is_empty())
    }
}

/// Every finding about a machine that matters with a profile, the weightiest first.
pub fn diagnose(evidence: &MachineEvidence, profile: &Profile, name: &str) -> DoctorHost {
    let mut findings = find(evidence);
    profile.check(evidence, &mut findings);
    weigh(&mut findings, profile);
    by_weight(&mut findings);
    DoctorHost {
        name: name.to_owned(),
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        findings,
        unseen: unseen(evidence),
        measured: evidence.measurements.values.clone(),
        facts: facts(evidence),
    }
}

/// Holds what a host has measured against what `source` has by the same words, and adds what is worse by more than `tolerance`, a part of
/// it, to the findings. A value that is found to be bad already is told once.
pub fn hold_against(
    host: &mut DoctorHost,
    profile: &Profile,
    (source, expected): &(String, BTreeMap<String, u64>),
    tolerance: f64,
) {
    let is_told = |word: &str| {
        let proofs = host.findings.iter().flat_map(|finding| &finding.evidence);
        proofs.into_iter().any(|proof| proof.source == measured(word))
    };
    let untold = host.measured.iter().filter(|(word, _)| !is_told(word));
    let bad = |(word, &value): (&String, &u64)| worse(word, value, source, *expected.get(word)?, tolerance);
    let mut findings: Vec<Finding> = untold.filter_map(bad).collect();
    weigh(&mut findings, profile);
    host.findings.append(&mut findings);
    by_weight(&mut host.findings);
}

/// Gives every finding the weight that a profile has for it, and leaves out what it does not want.
fn weigh(findings: &mut Vec<Finding>, profile: &Profile) {
    findings.retain_mut(|finding| {
        let expected = finding.evidence.iter().any(|proof| proof.source == PROFILE);
        let usual = expected || entry(&finding.id).is_none_or(|entry| entry.weight.is_some());
        let asked = profile.weight(&finding.id);
        finding.weight = asked.flatten().unwrap_or(finding.weight);
        asked.map_or(usual, |weight| weight.is_some())
    });
}

/// The weightiest first, and within one weight as the rules come.
fn by_weight(findings: &mut [Finding]) {
    sort_by_key(findings, |finding: &Finding| finding.weight);
}

/// Every word that a finding about the machine may have, with its weight where no profile says otherwise; `None`: it is told only
/// where a profile gives it one.
pub fn catalog() -> impl Iterator<Item = (&'static str, Option<Weight>)> {
    CATALOG.iter().map(|entry| (entry.id, entry.weight))
}
