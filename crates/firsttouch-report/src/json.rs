//! JSON: the contract for programs, written and read.

use crate::OpenError;
use firsttouch_balance::BalanceReport;
use firsttouch_balance::trial::TrialReport;
use firsttouch_graph::{MergeReport, SearchBench, SearchReport};
use firsttouch_machine::{FillReport, Measurement};
use firsttouch_placement::{AttachReport, Ratio, Receipt, Recording, SCHEMA_VERSION, TuneReport};
use serde::Serialize;
use serde_json::Value;
use serde_json::error::Category;
use std::borrow::Cow;

const ALWAYS_JSON: &str = "documents hold strings, integers, finite numbers and maps with string keys only";

/// A session as indented JSON, ending in a newline.
pub fn tune(report: &TuneReport) -> String {
    let mut text = serde_json::to_string_pretty(finite(report).as_ref()).expect(ALWAYS_JSON);
    text.push('\n');
    text
}

/// A receipt as indented JSON, ending in a newline.
pub fn receipt(receipt: &Receipt) -> String {
    let mut text = serde_json::to_string_pretty(receipt).expect(ALWAYS_JSON);
    text.push('\n');
    text
}

/// What was done to a running process as indented JSON, ending in a newline.
pub fn attach(report: &AttachReport) -> String {
    let mut text = serde_json::to_string_pretty(report).expect(ALWAYS_JSON);
    text.push('\n');
    text
}

/// What a balancing did as indented JSON, ending in a newline.
pub fn balance(report: &BalanceReport) -> String {
    let mut text = serde_json::to_string_pretty(report).expect(ALWAYS_JSON);
    text.push('\n');
    text
}

/// The document's benchmarks as indented JSON, ending in a newline.
pub fn balance_trials(report: &TrialReport) -> String {
    let mut text = serde_json::to_string_pretty(report).expect(ALWAYS_JSON);
    text.push('\n');
    text
}

/// What filling memory costs as indented JSON, ending in a newline.
pub fn filling(report: &FillReport) -> String {
    let mut text = serde_json::to_string_pretty(report).expect(ALWAYS_JSON);
    text.push('\n');
    text
}

/// A search for shortest paths as indented JSON, ending in a newline.
pub fn search(report: &SearchReport) -> String {
    let mut text = serde_json::to_string_pretty(report).expect(ALWAYS_JSON);
    text.push('\n');
    text
}

/// Ways to search, compared, as indented JSON, ending in a newline.
pub fn search_bench(report: &SearchBench) -> String {
    let mut text = serde_json::to_string_pretty(report).expect(ALWAYS_JSON);
    text.push('\n');
    text
}

/// What the processes of a shared run have found as indented JSON, ending in a newline.
pub fn merge(report: &MergeReport) -> String {
    let mut text = serde_json::to_string_pretty(report).expect(ALWAYS_JSON);
    text.push('\n');
    text
}

/// A measurement as indented JSON, ending in a newline.
pub fn measurement(measurement: &Measurement) -> String {
    let mut text = serde_json::to_string_pretty(measurement).expect(ALWAYS_JSON);
    text.push('\n');
    text
}

/// A recording as one indented JSON document, ending in a newline.
pub fn recording(recording: &Recording) -> String {
    let mut text = serde_json::to_string_pretty(recording).expect(ALWAYS_JSON);
    text.push('\n');
    text
}

/// A line of a recording or of `watch --json`: its header, a sample or its end.
pub fn line(part: &impl Serialize) -> String {
    let mut text = serde_json::to_string(part).expect(ALWAYS_JSON);
    text.push('\n');
    text
}

/// A recording on one line, for the data block of the HTML.
pub(crate) fn compact_recording(recording: &Recording) -> String {
    serde_json::to_string(recording).expect(ALWAYS_JSON)
}

/// A measurement on one line, for the data block of the HTML.
pub(crate) fn compact_measurement(measurement: &Measurement) -> String {
    serde_json::to_string(measurement).expect(ALWAYS_JSON)
}

/// The session on one line, for the data block of the HTML.
pub(crate) fn compact(report: &TuneReport) -> String {
    serde_json::to_string(finite(report).as_ref()).expect(ALWAYS_JSON)
}

/// Reads a session from JSON.
pub fn read(text: &str) -> Result<TuneReport, OpenError> {
    if text.trim().is_empty() {
        return Err(OpenError::Empty);
    }
    let value: Value = serde_json::from_str(text).map_err(not_json)?;
    if let Some(found) = other_document(&value) {
        return Err(OpenError::OtherDocument { found });
    }
    match value.get("schema_version").and_then(Value::as_u64) {
        Some(found) if found != u64::from(SCHEMA_VERSION) => Err(OpenError::Version { found }),
        // A missing or odd version is reported with line and column by the reader of the whole document.
        // It reads the text again, not the value, for the same reason.
        _ => serde_json::from_str(text).map_err(OpenError::Shape),
    }
}

fn not_json(error: serde_json::Error) -> OpenError {
    match error.classify() {
        Category::Eof => OpenError::Truncated { line: error.line() },
        _ => OpenError::NotJson(error),
    }
}

/// What else the document could be, for the message; `None` where it has the marks of a session.
fn other_document(value: &Value) -> Option<&'static str> {
    let Some(object) = value.as_object() else { return Some("a bare JSON value") };
    let has = |key: &str| object.contains_key(key);
    if has("configurations") {
        None
    } else if has("asked") && has("obtained") {
        Some("a receipt (`run --receipt`)")
    } else if has("machine") && has("can") {
        Some("the machine's status (`status --json`)")
    } else if has("results") {
        Some("the export of another benchmark program")
    } else {
        Some("some other JSON")
    }
}

/// The document with every number that JSON cannot hold taken out, as unknown where the contract has a word for
/// it. A mean without runs is no figure, whatever stands there.
fn finite(report: &TuneReport) -> Cow<'_, TuneReport> {
    let sound = |ratio: &Ratio| [ratio.value, ratio.low, ratio.high].iter().all(|value| value.is_finite());
    let fine =
        report.configurations.iter().all(|configuration| {
            configuration.mean_wall_s.is_finite()
                && configuration.ci95_wall_s.is_none_or(f64::is_finite)
                && configuration.ratio.as_ref().is_none_or(sound)
        }) && report.confirmation.iter().all(|confirmation| confirmation.ratio.as_ref().is_none_or(sound))
            && report.tied_with.as_ref().is_none_or(|tie| sound(&tie.ratio));
    if fine {
        return Cow::Borrowed(report);
    }
    let mut report = report.clone();
    for configuration in &mut report.configurations {
        if !configuration.mean_wall_s.is_finite() {
            configuration.mean_wall_s = 0.0;
        }
        configuration.ci95_wall_s = configuration.ci95_wall_s.filter(|half| half.is_finite());
        configuration.ratio = configuration.ratio.filter(sound);
    }
    if let Some(confirmation) = &mut report.confirmation {
        confirmation.ratio = confirmation.ratio.filter(sound);
    }
    report.tied_with = report.tied_with.filter(|tie| sound(&tie.ratio));
    Cow::Owned(report)
}
