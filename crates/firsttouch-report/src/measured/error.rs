//! Why a file holds no values that could be compared.

use super::MeasuredFormat;
use crate::OpenError;

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum MeasuredError {
    /// Bytes that are no text.
    #[error("not text in UTF-8")]
    NotText(#[source] std::str::Utf8Error),
    /// Nothing but white space.
    #[error("the file is empty")]
    Empty,
    /// JSON that ends early or is none.
    #[error("JSON that does not read")]
    Json(#[source] serde_json::Error),
    /// JSON without any of the marks.
    #[error(
        "JSON that is neither hyperfine's, nor Google Benchmark's, nor criterion's, nor ours: its keys are {keys}"
    )]
    UnknownJson {
        /// The keys it has instead.
        keys: String,
    },
    /// A file of criterion that holds no samples.
    #[error("a file of criterion, but not the one with the samples")]
    BesideSample,
    /// A first line that names none of the columns.
    #[error("a first line that names no columns `configuration` and `value`: {found}")]
    UnknownColumns {
        /// The line.
        found: String,
    },
    /// A line that is wrong.
    #[error("line {line}: {reason}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// Not what its marks say.
    #[error("it looks like {format}, but {reason}")]
    Shape {
        /// What it looks like.
        format: MeasuredFormat,
        /// What is wrong.
        reason: String,
    },
    /// A file of the right kind with nothing in it.
    #[error("a file of {format} without any value to compare")]
    Nothing {
        /// What it is.
        format: MeasuredFormat,
    },
    /// A document of ours that cannot be opened.
    #[error(transparent)]
    Document(#[from] OpenError),
    /// A document of ours that holds no runs.
    #[error("a {kind} document holds no runs to compare")]
    NoRuns {
        /// What it is.
        kind: firsttouch_documents::Kind,
    },
}

impl MeasuredError {
    /// The line that helps.
    pub fn hint(&self) -> String {
        match self {
            MeasuredError::BesideSample => {
                "name the folder of the benchmark, target/criterion/NAME, or sample.json in it".to_owned()
            }
            MeasuredError::Line { .. } | MeasuredError::UnknownColumns { .. } => {
                "a table is comma-separated: block,configuration,value (block and session may be missing), one value a line; of hyperfine and of tune the JSON holds every run".to_owned()
            }
            MeasuredError::Nothing { format: MeasuredFormat::GoogleBenchmark } => {
                "--benchmark_repetitions=10 without --benchmark_report_aggregates_only writes every repetition".to_owned()
            }
            MeasuredError::Nothing { format: MeasuredFormat::Hyperfine } => {
                "times of 0 compare with nothing: hyperfine -N starts no shell whose time it would take off; --export-json holds every time"
                    .to_owned()
            }
            MeasuredError::Document(error) => error.hint(),
            _ => "what is read: CSV (configuration,value), --export-json of hyperfine and firsttouch tune, --benchmark_out of Google \
                  Benchmark, target/criterion/NAME, cargo criterion --message-format=json"
                .to_owned(),
        }
    }
}
