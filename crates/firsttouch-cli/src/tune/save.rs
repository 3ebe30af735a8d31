//! `--save`: the winner's placement as a profile, with what proves it.

use super::configs::Configuration;
use crate::export;
use crate::output::{self, Outcome};
use firsttouch_placement::{Evidence, MachineKey, Profile, SCHEMA_VERSION, TuneReport, Verdict};
use std::path::Path;

/// Writes the profile, if the confirmation says that the winner is faster; says why not otherwise.
pub(crate) fn save(
    file: &Path,
    report: &TuneReport,
    configurations: &[Configuration],
    machine: Option<MachineKey>,
) -> Outcome<()> {
    match profile(report, configurations, machine) {
        Ok(profile) => {
            export::write(file, &profile.to_text())?;
            output::message(&format!("the placement is kept in {}\n", file.display()));
        }
        Err(reason) => output::message(&format!("{reason}: {} is not written\n", file.display())),
    }
    Ok(())
}

fn profile(
    report: &TuneReport,
    configurations: &[Configuration],
    machine: Option<MachineKey>,
) -> Result<Profile, &'static str> {
    let Some(winner) = &report.winner else { return Err("nothing is faster than the baseline") };
    let Some(confirmation) = report.confirmation.as_ref().filter(|found| found.verdict == Verdict::Faster)
    else {
        return Err("no placement was confirmed to be faster than the baseline");
    };
    let Some(placement) =
        configurations.iter().find(|it| it.name == *winner).and_then(Configuration::placement)
    else {
        return Err("the winner is another program's own way and not a placement");
    };
    let runs = confirmation.baseline_runs.len() + confirmation.winner_runs.len();
    Ok(Profile {
        schema_version: SCHEMA_VERSION,
        placement: placement.clone(),
        evidence: Some(Evidence {
            command: report.command.clone(),
            ratio: confirmation.ratio,
            verdict: confirmation.verdict,
            runs: u32::try_from(runs).unwrap_or(u32::MAX),
            date: report.started.clone(),
            command_hash: Evidence::hash_of(&report.command),
        }),
        machine,
    })
}

#[cfg(test)]
mod tests {
    use super::super::configs::Means;
    use super::*;
    use firsttouch_placement::{Confirmation, Ratio};

    fn report(winner: Option<&str>, verdict: Option<Verdict>) -> TuneReport {
        TuneReport {
            schema_version: SCHEMA_VERSION,
            command: vec!["a".to_owned()],
            seed: 1,
            started: "2026-01-01T00:00:00Z".to_owned(),
            machine: serde_json::Value::Null,
            configurations: Vec::new(),
            skipped: Vec::new(),
            winner: winner.map(str::to_owned),
            tied_with: None,
            confirmation: verdict.map(|verdict| Confirmation {
                ratio: Some(Ratio { value: 2.0, low: 1.9, high: 2.1 }),
                verdict,
                baseline_runs: Vec::new(),
                winner_runs: Vec::new(),
            }),
            interrupted: false,
            quick: false,
            warnings: Vec::new(),
        }
    }

    #[test]
    fn only_a_confirmed_placement_is_kept() {
        let placement: firsttouch_placement::Placement = "2m,prefault".parse().unwrap();
        let configurations = [
            Configuration { name: "baseline".to_owned(), means: Means::Plain },
            Configuration { name: "2m".to_owned(), means: Means::Placed(placement.clone()) },
            Configuration {
                name: "numactl-local".to_owned(),
                means: Means::Numactl("--localalloc".to_owned()),
            },
        ];
        let of = |winner, verdict| profile(&report(winner, verdict), &configurations, None);
        let kept = of(Some("2m"), Some(Verdict::Faster)).unwrap();
        assert_eq!(kept.placement, placement);
        assert_eq!(Profile::parse(&kept.to_text()).unwrap(), kept);
        assert!(of(None, None).is_err());
        assert!(of(Some("2m"), None).is_err());
        assert!(of(Some("2m"), Some(Verdict::Undecided)).is_err());
        assert!(of(Some("numactl-local"), Some(Verdict::Faster)).is_err());
    }
}
