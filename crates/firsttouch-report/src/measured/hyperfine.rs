//! hyperfine's `--export-json`: `results[]` with `command`, `times` (seconds), `parameters` and `exit_codes`.

use super::{MeasuredError, MeasuredFile, MeasuredFormat, runs};
use crate::number::plural;
use firsttouch_experiment::{MeasuredConfiguration, Metric};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Export {
    results: Vec<Outcome>,
}

#[derive(Deserialize)]
struct Outcome {
    command: String,
    #[serde(default)]
    times: Vec<f64>,
    #[serde(default)]
    parameters: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    exit_codes: Vec<Option<i64>>,
}

impl Outcome {
    /// So many runs ended with another status than 0.
    fn failures(&self) -> usize {
        self.exit_codes.iter().filter(|code| **code != Some(0)).count()
    }

    /// Whether all did.
    fn has_failed(&self) -> bool {
        !self.exit_codes.is_empty() && self.failures() == self.exit_codes.len()
    }
}

pub(super) fn read(text: &str) -> Result<MeasuredFile, MeasuredError> {
    let shape = |reason: String| MeasuredError::Shape { format: MeasuredFormat::Hyperfine, reason };
    let export: Export = serde_json::from_str(text).map_err(|error| shape(error.to_string()))?;
    let mut configurations: Vec<MeasuredConfiguration> = Vec::new();
    let mut notes = Vec::new();
    // Programs such as diff end so where they have done their work.
    let all_failed = export.results.iter().all(Outcome::has_failed);
    for outcome in &export.results {
        let name = unique(outcome, &export.results, &configurations);
        if outcome.times.is_empty() {
            notes.push(format!("{name} is left out: its times are not in the file"));
            continue;
        }
        let zeros = outcome.times.iter().filter(|time| **time == 0.0).count();
        if zeros > 0 {
            notes.push(format!(
                "{name} is left out: {zeros} of its {} times are 0: hyperfine took the shell's time off them; with -N it starts none",
                outcome.times.len()
            ));
            continue;
        }
        let (count, failed) = (outcome.exit_codes.len(), outcome.failures());
        if outcome.has_failed() && !all_failed {
            let all = if count == 1 { "its run".to_owned() } else { format!("all of its {count} runs") };
            notes.push(format!("{name} is left out: {all} ended with another status than 0"));
            continue;
        }
        if failed > 0 {
            notes.push(format!(
                "{failed} of {} of {name} ended with another status than 0, and count all the same",
                plural(count, "run")
            ));
        }
        let runs = runs(&outcome.times, &name).map_err(shape)?;
        configurations.push(MeasuredConfiguration { name, runs });
    }
    Ok(MeasuredFile {
        metric: Some(Metric::Wall),
        notes,
        ..MeasuredFile::of_session(MeasuredFormat::Hyperfine, Some("s"), configurations)
    })
}

/// The command, which `--command-name` may have made the same for all: then with its parameters, and then with a number.
fn unique(outcome: &Outcome, all: &[Outcome], before: &[MeasuredConfiguration]) -> String {
    let mut name = outcome.command.clone();
    if all.iter().filter(|other| other.command == outcome.command).count() > 1
        && !outcome.parameters.is_empty()
    {
        let word =
            |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let parameters: Vec<String> =
            outcome.parameters.iter().map(|(key, value)| format!("{key}={}", word(value))).collect();
        name = format!("{name} ({})", parameters.join(", "));
    }
    let is_taken = |name: &str| before.iter().any(|one| one.name == name);
    if !is_taken(&name) {
        return name;
    }
    let numbered = (2..).map(|number: u32| format!("{name} #{number}")).find(|name| !is_taken(name));
    numbered.unwrap_or(name)
}
