//! criterion's samples: `sample.json` below `target/criterion`, as 0.7 writes it (the format is its own affair, and may change), and the
//! messages of `cargo criterion`, which are documented. A value is the time of a sample by its iterations.

use super::{MeasuredError, MeasuredFile, MeasuredFormat, runs, sessions};
use firsttouch_experiment::MeasuredConfiguration;
use serde::Deserialize;

#[derive(Deserialize)]
struct Sample {
    iters: Vec<f64>,
    times: Vec<f64>,
}

#[derive(Deserialize)]
struct Benchmark {
    full_id: String,
}

#[derive(Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    id: String,
    #[serde(default)]
    iteration_count: Vec<f64>,
    #[serde(default)]
    measured_values: Vec<f64>,
    #[serde(default)]
    unit: String,
}

/// `sample.json`, in nanoseconds. It does not say of which benchmark it is.
pub(super) fn sample(text: &str) -> Result<MeasuredFile, MeasuredError> {
    let shape = |reason: String| MeasuredError::Shape { format: MeasuredFormat::Criterion, reason };
    let sample: Sample = serde_json::from_str(text).map_err(|error| shape(error.to_string()))?;
    let values = by_iteration(&sample.times, &sample.iters, 1e-9).map_err(shape)?;
    let runs = runs(&values, "times").map_err(shape)?;
    let configuration = MeasuredConfiguration { name: String::new(), runs };
    Ok(MeasuredFile::of_session(MeasuredFormat::Criterion, Some("s"), vec![configuration]))
}

/// The name of a benchmark in `benchmark.json`, which lies beside `sample.json`.
///
/// # Errors
/// A text that holds no such name.
pub fn name(bytes: &[u8]) -> Result<String, MeasuredError> {
    let text = String::from_utf8_lossy(bytes);
    serde_json::from_str(&text).map(|benchmark: Benchmark| benchmark.full_id).map_err(|error| {
        MeasuredError::Shape {
            format: MeasuredFormat::Criterion,
            reason: format!("its benchmark.json does not read: {error}"),
        }
    })
}

/// Lines of messages, of which those about whole benchmarks count. Where a benchmark comes again a session begins.
pub(super) fn messages(text: &str) -> Result<MeasuredFile, MeasuredError> {
    let shape = |reason: String| MeasuredError::Shape { format: MeasuredFormat::CargoCriterion, reason };
    let mut configurations = Vec::new();
    let mut unit: Option<String> = None;
    for message in serde_json::Deserializer::from_str(text).into_iter::<Message>() {
        let message = message.map_err(|error| shape(error.to_string()))?;
        if message.reason != "benchmark-complete" {
            continue;
        }
        let (scale, own) = match message.unit.as_str() {
            "ns" => (1e-9, "s"),
            other => (1.0, other),
        };
        match &unit {
            Some(unit) if unit != own => {
                return Err(shape(format!("its values are in {unit} and in {own}")));
            }
            _ => unit = Some(own.to_owned()),
        }
        let values =
            by_iteration(&message.measured_values, &message.iteration_count, scale).map_err(shape)?;
        let runs = runs(&values, &message.id).map_err(shape)?;
        configurations.push((String::new(), MeasuredConfiguration { name: message.id, runs }));
    }
    let mut sessions = sessions(configurations);
    let several = sessions.len() > 1;
    for (session, number) in sessions.iter_mut().zip(1..) {
        session.name = if several { format!("run {number}") } else { String::new() };
    }
    Ok(MeasuredFile {
        format: MeasuredFormat::CargoCriterion,
        unit,
        metric: None,
        higher_is_better: None,
        sessions,
        notes: Vec::new(),
    })
}

fn by_iteration(times: &[f64], iterations: &[f64], scale: f64) -> Result<Vec<f64>, String> {
    if times.len() != iterations.len() {
        return Err(format!("it has {} times of {} samples", times.len(), iterations.len()));
    }
    Ok(times.iter().zip(iterations).map(|(time, iterations)| time / iterations * scale).collect())
}
