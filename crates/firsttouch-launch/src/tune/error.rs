//! Why a session has nothing to tell.

use crate::agent::AgentError;
use crate::configurations::ChoiceError;
use crate::metric::MetricError;
use crate::run::{OTHER_FOLDER, RunError};
use crate::vary::VaryError;
use firsttouch_linux::remote::needs_handles;
use firsttouch_placement::SkippedConfiguration;
use firsttouch_process::{LaunchError, ProgramError};
use std::io;
use std::path::PathBuf;

/// A session that did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// The configurations asked for are none, or nothing is left to compare.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// The values asked for cannot be varied.
    #[error(transparent)]
    Vary(#[from] VaryError),
    /// There is no program, or it cannot be executed.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// What the others are compared with cannot be had.
    #[error("the baseline cannot run here: {reason}")]
    Baseline {
        /// Why.
        reason: String,
        /// What would mend it.
        remedy: String,
    },
    /// None of the others can be had.
    #[error("nothing is left to compare with the baseline{}", why_last(.skipped))]
    NothingLeft {
        /// Why of each.
        skipped: Vec<SkippedConfiguration>,
    },
    /// The agent's file cannot be put anywhere.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// There is no place for what the program says.
    #[error("cannot make a folder")]
    Folder(#[source] io::Error),
    /// The program did not start.
    #[error(transparent)]
    Launch(LaunchError),
    /// The file of the program's input cannot be read.
    #[error("cannot read {}", .path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The program's input is a pipe: opening it would wait for somebody to write, and there is something to read in it once.
    #[error("{} is a pipe, which can be read once, and there are several runs", .path.display())]
    InputIsPipe {
        /// The pipe.
        path: PathBuf,
    },
    /// A line that was to run before or after the program failed.
    #[error(transparent)]
    Line(RunError),
    /// What is to be judged cannot be.
    #[error(transparent)]
    Metric(#[from] MetricError),
    /// A run had nothing that could be judged.
    #[error("there is nothing to judge of a run under `{name}`")]
    Unjudged {
        /// The configuration.
        name: String,
        /// Why.
        source: MetricError,
    },
    /// The end of a run could not be waited for.
    #[error("cannot wait for the program")]
    Wait(#[source] io::Error),
    /// A run failed.
    #[error("the program failed under `{name}`")]
    Run {
        /// The configuration.
        name: String,
        /// How it failed.
        source: RunError,
    },
}

/// Why the last of them cannot be had, after a colon.
fn why_last(skipped: &[SkippedConfiguration]) -> String {
    skipped.last().map(|one| format!(": {}", one.reason)).unwrap_or_default()
}

impl TuneError {
    pub(super) fn run(name: &str, error: RunError) -> TuneError {
        match error {
            RunError::Launch(error) => TuneError::Launch(error),
            line @ RunError::Line { .. } => TuneError::Line(line),
            RunError::Wait(error) => TuneError::Wait(error),
            RunError::Metric(source) => TuneError::Unjudged { name: name.to_owned(), source },
            source => TuneError::Run { name: name.to_owned(), source },
        }
    }

    /// The line that mends it, where there is one.
    pub fn hint(&self) -> Option<String> {
        let remedy = |skipped: Option<&SkippedConfiguration>| skipped.and_then(|one| one.remedy.clone());
        match self {
            TuneError::Choice(ChoiceError::Nothing { skipped }) => {
                skipped.iter().find_map(|skipped| remedy(Some(skipped)))
            }
            TuneError::Choice(_) | TuneError::Input { .. } => None,
            TuneError::InputIsPipe { .. } => {
                Some("write what comes from it into a file, and name that: --input FILE".to_owned())
            }
            TuneError::Folder(_) => Some(OTHER_FOLDER.to_owned()),
            TuneError::Vary(error) => error.hint(),
            TuneError::Program(error) => Some(error.hint()),
            TuneError::Metric(error) | TuneError::Unjudged { source: error, .. } => Some(error.hint()),
            TuneError::Line(_) => {
                Some("try it in a shell; of what it says only the error output is above".to_owned())
            }
            TuneError::Baseline { remedy, .. } => Some(remedy.clone()),
            TuneError::NothingLeft { skipped } => remedy(skipped.last()),
            TuneError::Agent(error) => Some(error.hint()),
            TuneError::Launch(error) => Some(error.hint()),
            TuneError::Wait(error) => needs_handles(error).map(str::to_owned),
            TuneError::Run { .. } => Some(
                "the program must end by itself, with status 0 (or --ignore-failure), before it can be timed"
                    .to_owned(),
            ),
        }
    }

    /// Whether what was asked for cannot be understood, whatever the machine.
    pub fn is_of_usage(&self) -> bool {
        match self {
            TuneError::Choice(error) => !matches!(error, ChoiceError::Nothing { .. }),
            TuneError::Vary(_) => true,
            TuneError::Metric(error) => error.is_of_usage(),
            _ => false,
        }
    }
}
