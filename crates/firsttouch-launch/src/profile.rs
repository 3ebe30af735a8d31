//! What a session is worth keeping for: the winner's placement as a profile, with what proves it.

use crate::configurations::Configuration;
use firsttouch_experiment::Verdict;
use firsttouch_placement::{Evidence, MachineKey, Profile, SCHEMA_VERSION, TuneReport};

/// Why a session has no profile to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoProfile {
    /// Nothing won.
    #[error("nothing is faster than the baseline")]
    NoWinner,
    /// The fresh runs did not say that the winner is faster.
    #[error("no placement was confirmed to be faster than the baseline")]
    NotConfirmed,
    /// The winner is no placement.
    #[error("the winner is another program's own way and not a placement")]
    NoPlacement,
}

/// The winner's placement as a profile, if the confirmation says that it is faster.
///
/// # Errors
/// Why there is none.
pub(crate) fn profile(
    report: &TuneReport,
    configurations: &[Configuration],
    machine: Option<MachineKey>,
) -> Result<Profile, NoProfile> {
    let Some(winner) = &report.winner else { return Err(NoProfile::NoWinner) };
    let Some(confirmation) = report.confirmation.as_ref().filter(|found| found.verdict == Verdict::Faster)
    else {
        return Err(NoProfile::NotConfirmed);
    };
    let Some(placement) =
        configurations.iter().find(|it| it.name == *winner).and_then(Configuration::placement)
    else {
        return Err(NoProfile::NoPlacement);
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
    use super::*;
    use crate::configurations::Means;
    use firsttouch_experiment::{Confirmation, Ratio};

    fn report(winner: Option<&str>, verdict: Option<Verdict>) -> TuneReport {
        TuneReport {
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
