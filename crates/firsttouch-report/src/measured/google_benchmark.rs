//! Google Benchmark's `--benchmark_out` as JSON: `benchmarks[]`, of which those with the `run_type` `iteration` are repetitions.

use super::{MeasuredError, MeasuredFile, MeasuredFormat, runs};
use firsttouch_experiment::{MeasuredConfiguration, Metric};
use firsttouch_sorted::sort_by_key;
use serde::Deserialize;

#[derive(Deserialize)]
struct Output {
    benchmarks: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    #[serde(default)]
    run_name: Option<String>,
    #[serde(default)]
    run_type: Option<String>,
    #[serde(default)]
    repetition_index: Option<u64>,
    #[serde(default)]
    real_time: Option<f64>,
    #[serde(default)]
    time_unit: Option<String>,
    #[serde(default)]
    error_occurred: bool,
    #[serde(default)]
    skipped: bool,
}

pub(super) fn read(text: &str) -> Result<MeasuredFile, MeasuredError> {
    let shape = |reason: String| MeasuredError::Shape { format: MeasuredFormat::GoogleBenchmark, reason };
    let output: Output = serde_json::from_str(text).map_err(|error| shape(error.to_string()))?;
    let mut measured: Vec<(&str, Vec<(u64, f64)>)> = Vec::new();
    let mut notes: Vec<String> = Vec::new();
    for entry in &output.benchmarks {
        let name = entry.run_name.as_deref().unwrap_or(&entry.name);
        match entry.run_type.as_deref() {
            Some("iteration") => {}
            Some("aggregate") => continue,
            other => {
                let found = other.map_or("none".to_owned(), |word| format!("`{word}`"));
                return Err(shape(format!(
                    "`{name}` has the run_type {found}, neither iteration nor aggregate"
                )));
            }
        }
        if entry.error_occurred || entry.skipped {
            let note = format!("{name} is left out: it ended with an error, or was skipped");
            if !notes.contains(&note) {
                notes.push(note);
            }
            continue;
        }
        let time = entry.real_time.ok_or_else(|| shape(format!("`{name}` has no real_time")))?;
        let unit = entry.time_unit.as_deref().unwrap_or("ns");
        let seconds = match unit {
            "ns" => time * 1e-9,
            "us" => time * 1e-6,
            "ms" => time * 1e-3,
            "s" => time,
            _ => return Err(shape(format!("`{name}` has the time_unit `{unit}`, none of ns, us, ms, s"))),
        };
        let place = match measured.iter().position(|(other, _)| *other == name) {
            Some(place) => place,
            None => {
                measured.push((name, Vec::new()));
                measured.len() - 1
            }
        };
        let repetitions = &mut measured[place].1;
        repetitions.push((entry.repetition_index.unwrap_or(repetitions.len() as u64), seconds));
    }
    let configurations = measured.into_iter().map(|(name, mut repetitions)| {
        sort_by_key(&mut repetitions, |(index, _)| *index);
        let values: Vec<f64> = repetitions.into_iter().map(|(_, seconds)| seconds).collect();
        Ok(MeasuredConfiguration { name: name.to_owned(), runs: runs(&values, name).map_err(shape)? })
    });
    let configurations = configurations.collect::<Result<Vec<_>, MeasuredError>>()?;
    Ok(MeasuredFile {
        metric: Some(Metric::Wall),
        notes,
        ..MeasuredFile::of_session(MeasuredFormat::GoogleBenchmark, Some("s"), configurations)
    })
}
