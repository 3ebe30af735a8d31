//! What a session is worth keeping for: the recommended placement as a profile, with what proves it.

use crate::configurations::{Configuration, Means};
use firsttouch_experiment::{Confirmation, ConfirmationState};
use firsttouch_placement::{Evidence, MachineKey, Profile, SCHEMA_VERSION, TuneReport};

/// Why a session has no profile to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoProfile {
    /// Nothing is recommended.
    #[error("nothing was found better than the baseline")]
    NothingFaster,
    /// The fresh runs did not say that it is faster.
    #[error("no placement was confirmed to be better than the baseline")]
    NotConfirmed,
    /// What is recommended is the program without a placement.
    #[error("what is recommended is the program without a placement")]
    Plain,
}

/// The recommended placement as a profile, if the confirmation says that it is faster.
///
/// # Errors
/// Why there is none.
pub(crate) fn profile(
    report: &TuneReport,
    configurations: &[Configuration],
    machine: Option<MachineKey>,
) -> Result<Profile, NoProfile> {
    let Some(recommended) = &report.recommended else { return Err(NoProfile::NothingFaster) };
    let confirmed = |found: &&Confirmation| found.state == ConfirmationState::Confirmed;
    let Some(confirmation) = report.confirmation.as_ref().filter(confirmed) else {
        return Err(NoProfile::NotConfirmed);
    };
    let means = configurations.iter().find(|it| it.name == *recommended).map(|it| &it.means);
    let Some(Means::Placed(placement)) = means else { return Err(NoProfile::Plain) };
    let configuration = report.configuration(recommended);
    let command = configuration.map_or(&report.command[..], |it| report.command_of(it));
    let runs = confirmation.baseline_runs.len() + confirmation.recommended_runs.len();
    Ok(Profile {
        schema_version: SCHEMA_VERSION,
        placement: placement.clone(),
        evidence: Some(Evidence {
            command: command.to_vec(),
            ratio: confirmation.ratio,
            judged: report.objective.clone(),
            runs: u32::try_from(runs).unwrap_or(u32::MAX),
            date: report.started.clone(),
            command_hash: Evidence::hash_of(command),
            varied: configuration.map(|it| it.varied.clone()).unwrap_or_default(),
        }),
        machine,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_experiment::{Objective, Ratio};

    fn report(recommended: Option<&str>, state: Option<ConfirmationState>) -> TuneReport {
        TuneReport {
            command: vec!["a".to_owned()],
            seed: 1,
            started: "2026-01-01T00:00:00Z".to_owned(),
            objective: Objective::default(),
            machine: serde_json::Value::Null,
            configurations: Vec::new(),
            skipped: Vec::new(),
            best: recommended.map(str::to_owned).into_iter().collect(),
            recommended: recommended.map(str::to_owned),
            spares: None,
            confirmation: state.map(|state| Confirmation {
                ratio: Some(Ratio { value: 2.0, low: 1.9, high: 2.1 }),
                state,
                forecast: None,
                baseline_runs: Vec::new(),
                recommended_runs: Vec::new(),
            }),
            interrupted: false,
            same_band: 0.02,
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
            Configuration { name: "plain".to_owned(), means: Means::Plain },
        ];
        let of = |recommended, state| profile(&report(recommended, state), &configurations, None);
        let confirmed = Some(ConfirmationState::Confirmed);
        let kept = of(Some("2m"), confirmed).unwrap();
        assert_eq!(kept.placement, placement);
        assert_eq!(Profile::parse(&kept.to_text()).unwrap(), kept);
        assert!(of(None, None).is_err());
        assert!(of(Some("2m"), None).is_err());
        assert!(of(Some("2m"), Some(ConfirmationState::NotYet)).is_err());
        assert!(of(Some("plain"), confirmed).is_err());
    }
}
