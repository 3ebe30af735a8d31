//! From files to a decision.

use super::{MeasuredFile, sessions};
use firsttouch_documents::{DecisionReport, DecisionSource};
use firsttouch_experiment::{ComparisonRules, MeasuredConfiguration, MeasuredSession, compare};

/// How to decide.
#[derive(Clone, Debug, PartialEq)]
pub struct DecideOptions {
    /// The configuration that the others are compared with; without, the first one of all.
    pub baseline: Option<String>,
    /// More is better.
    pub higher_is_better: bool,
    /// Half-width of the band around 1 in which a ratio counts as the same.
    pub same_band: f64,
    /// Every file is one configuration, which is called as the file.
    pub by_file: bool,
}

/// Files that cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum DecideError {
    /// Two files in different units.
    #[error("`{file}` has values in {unit}, and those before are in {other}")]
    Units {
        /// The file.
        file: String,
        /// Its unit.
        unit: String,
        /// That of the others.
        other: String,
    },
    /// A file with several configurations, where each file is to be one.
    #[error("`{file}` has several configurations, and --by-file compares files that have one: {names}")]
    Several {
        /// The file.
        file: String,
        /// Its configurations.
        names: String,
    },
    /// No such baseline.
    #[error("there is no configuration `{baseline}`; there are {names}")]
    Baseline {
        /// What was asked.
        baseline: String,
        /// What there is.
        names: String,
    },
    /// Nothing beside the baseline.
    #[error("there is nothing to compare `{baseline}` with in any session")]
    Alone {
        /// The baseline.
        baseline: String,
    },
    /// The same values twice, which would count as two sessions that agree.
    #[error("the sessions {one} and {other} have the same values, and are one")]
    Twice {
        /// The first.
        one: String,
        /// The second.
        other: String,
    },
}

impl DecideError {
    /// The line that helps.
    pub fn hint(&self) -> &'static str {
        match self {
            DecideError::Units { .. } => "compare files in one unit",
            DecideError::Several { .. } => "leave --by-file out to compare the configurations in the files",
            DecideError::Baseline { .. } => "--baseline NAME takes one of them",
            DecideError::Alone { .. } => {
                "--by-file compares files of which each has one configuration, as before and after a change"
            }
            DecideError::Twice { .. } => "name each file once",
        }
    }
}

/// Decides what files say, each with what it is called.
///
/// A file is a session, or holds some. Files with a single configuration are put together in their order, and a session ends where a name comes
/// again.
///
/// # Errors
/// Files that cannot be compared.
pub fn decide(
    mut files: Vec<(String, MeasuredFile)>,
    options: &DecideOptions,
) -> Result<DecisionReport, DecideError> {
    let sources = files
        .iter()
        .map(|(name, file)| DecisionSource { file: name.clone(), format: file.format.word().to_owned() })
        .collect();
    let unit = unit(&files)?;
    if options.by_file {
        files.iter_mut().try_for_each(|(name, file)| called_as_file(name, file))?;
    }
    let mut notes: Vec<String> = files.iter().flat_map(|(_, file)| file.notes.clone()).collect();
    if files.iter().any(|(_, file)| file.format.is_one_process()) {
        notes.push(
            "all values of a benchmark come from one process, in which memory lies as it happened to: another execution may find another \
             ratio; execute it several times, and name all files, each of which is a session then"
                .to_owned(),
        );
    }
    let higher_is_better = options.higher_is_better || files.iter().any(|(_, file)| file.higher_is_better);
    let sessions = all_sessions(files);
    let names: Vec<&str> = {
        let mut names = Vec::new();
        for configuration in sessions.iter().flat_map(|session| &session.configurations) {
            if !names.contains(&configuration.name.as_str()) {
                names.push(&configuration.name);
            }
        }
        names
    };
    let baseline = match &options.baseline {
        Some(baseline) if names.contains(&baseline.as_str()) => baseline.clone(),
        Some(baseline) => {
            return Err(DecideError::Baseline { baseline: baseline.clone(), names: listed(&names) });
        }
        None => (*names.first().unwrap_or(&"")).to_owned(),
    };
    let has_baseline =
        |session: &MeasuredSession| session.configurations.iter().any(|one| one.name == baseline);
    if !sessions.iter().any(|session| has_baseline(session) && session.configurations.len() > 1) {
        return Err(DecideError::Alone { baseline });
    }
    for (at, session) in sessions.iter().enumerate() {
        if let Some(other) =
            sessions[..at].iter().find(|other| other.configurations == session.configurations)
        {
            return Err(DecideError::Twice { one: other.name.clone(), other: session.name.clone() });
        }
        if !has_baseline(session) {
            notes.push(format!("{} has no runs of the baseline, and compares nothing", session.name));
        }
    }
    let rules = ComparisonRules { baseline, higher_is_better, same_band: options.same_band };
    let mut comparison = compare(&sessions, rules);
    comparison.notes.extend(notes);
    Ok(DecisionReport { sources, unit, comparison })
}

/// The unit of all files that say one.
fn unit(files: &[(String, MeasuredFile)]) -> Result<Option<String>, DecideError> {
    let mut of_all: Option<&str> = None;
    for (name, file) in files {
        match (of_all, file.unit.as_deref()) {
            (Some(other), Some(unit)) if unit != other => {
                let (file, unit, other) = (name.clone(), unit.to_owned(), other.to_owned());
                return Err(DecideError::Units { file, unit, other });
            }
            (None, own) => of_all = own,
            _ => {}
        }
    }
    Ok(of_all.map(str::to_owned))
}

fn called_as_file(name: &str, file: &mut MeasuredFile) -> Result<(), DecideError> {
    if let [session] = &file.sessions[..]
        && session.configurations.len() == 1
    {
        file.name(name);
        return Ok(());
    }
    let configurations = file.sessions.iter().flat_map(|session| &session.configurations);
    let names: Vec<&str> = configurations.map(|one| one.name.as_str()).collect();
    Err(DecideError::Several { file: name.to_owned(), names: listed(&names) })
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The sessions of all files, in their order, with names that tell them apart.
fn all_sessions(files: Vec<(String, MeasuredFile)>) -> Vec<MeasuredSession> {
    let several = files.len() > 1;
    let mut whole = Vec::new();
    let mut single: Vec<(String, MeasuredConfiguration)> = Vec::new();
    for (file, measured) in files {
        let alone = measured.sessions.len() == 1;
        for mut session in measured.sessions {
            if alone && session.name.is_empty() && session.configurations.len() == 1 {
                single.extend(session.configurations.pop().map(|one| (file.clone(), one)));
                continue;
            }
            session.name = match (session.name.is_empty(), several) {
                (true, _) => file.clone(),
                (false, true) => format!("{file}: {}", session.name),
                (false, false) => session.name,
            };
            whole.push(session);
        }
    }
    whole.extend(sessions(single));
    whole
}
