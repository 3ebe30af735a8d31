//! By what a file is known.

use super::MeasuredError;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;

/// What a file says that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Csv,
    Own,
    Hyperfine,
    GoogleBenchmark,
    CriterionSample,
    CargoCriterion,
}

/// Most keys that an error lists.
const MOST_KEYS: usize = 8;

/// Looks at the first character, and of JSON at the keys of the first object.
pub(super) fn mark(text: &str) -> Result<Mark, MeasuredError> {
    match text.trim_start().chars().next() {
        None => Err(MeasuredError::Empty),
        Some('<') => Ok(Mark::Own),
        Some('{') => {
            let mut values = serde_json::Deserializer::from_str(text).into_iter::<Keys>();
            of_keys(&values.next().transpose().map_err(MeasuredError::Json)?.unwrap_or_default().0)
        }
        Some('[') => Err(MeasuredError::UnknownJson { keys: "none, it is a list".to_owned() }),
        Some(_) => Ok(Mark::Csv),
    }
}

/// The keys of an object.
#[derive(Default, Deserialize)]
struct Keys(BTreeMap<String, IgnoredAny>);

fn of_keys(keys: &BTreeMap<String, IgnoredAny>) -> Result<Mark, MeasuredError> {
    let has = |key: &str| keys.contains_key(key);
    if has("kind") {
        return Ok(Mark::Own);
    }
    if has("results") {
        return Ok(Mark::Hyperfine);
    }
    if has("context") && has("benchmarks") {
        return Ok(Mark::GoogleBenchmark);
    }
    if has("reason") {
        return Ok(Mark::CargoCriterion);
    }
    if has("iters") && has("times") {
        return Ok(Mark::CriterionSample);
    }
    // benchmark.json; estimates.json.
    if has("full_id") || has("median_abs_dev") {
        return Err(MeasuredError::BesideSample);
    }
    let mut listed: Vec<String> = keys.keys().take(MOST_KEYS).map(|key| format!("`{key}`")).collect();
    if keys.len() > MOST_KEYS {
        listed.push("…".to_owned());
    }
    let keys = if listed.is_empty() { "none".to_owned() } else { listed.join(", ") };
    Err(MeasuredError::UnknownJson { keys })
}
