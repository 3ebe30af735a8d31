//! From files to a decision.

use super::{MeasuredFile, sessions};
use firsttouch_documents::{DecisionReport, DecisionSource};
use firsttouch_experiment::{ComparisonRules, MeasuredConfiguration, MeasuredSession, compare};
use firsttouch_sorted::sort_by_key;

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
    /// Two files of different metrics, in different units, or in different directions.
    #[error("`{file}` has values {own}, and those before are {other}")]
    Differ {
        /// The file.
        file: String,
        /// What its values are.
        own: String,
        /// What those of the others are.
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
    /// The same values twice, which would count as two sessions, or configurations, that agree.
    #[error("{one} and {other} have the same values, and are one")]
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
            DecideError::Differ { .. } => "compare files of one metric, in one unit",
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
    let metric = of_all(&files, |file| file.metric.clone(), |metric| format!("of {metric}"))?;
    let unit = of_all(&files, |file| file.unit.clone(), |unit| format!("in {unit}"))?;
    let direction = |more: &bool| format!("of which {} is better", if *more { "more" } else { "less" });
    let more_is_better = of_all(&files, |file| file.higher_is_better, direction)?;
    if options.by_file {
        files.iter_mut().try_for_each(|(name, file)| called_as_file(name, file))?;
        for (at, (name, file)) in files.iter().enumerate() {
            let values = varying(file);
            let is_same = |(_, other): &&(String, MeasuredFile)| values.is_some() && varying(other) == values;
            if let Some((one, _)) = files[..at].iter().find(is_same) {
                return Err(DecideError::Twice { one: one.clone(), other: name.clone() });
            }
        }
    }
    let mut notes: Vec<String> = files.iter().flat_map(|(_, file)| file.notes.clone()).collect();
    if files.iter().any(|(_, file)| file.format.is_one_process()) {
        notes.push(
            "all values of a benchmark come from one process, in which memory lies as it happened to: another execution may find another \
             ratio; execute it several times, and name all files, each of which is a session then"
                .to_owned(),
        );
    }
    let higher_is_better = options.higher_is_better || more_is_better == Some(true);
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
    let sorted: Vec<_> = sessions.iter().map(sorted).collect();
    for (at, session) in sessions.iter().enumerate() {
        if let Some(other) = sorted[..at].iter().position(|other| *other == sorted[at]) {
            let [one, other] = [&sessions[other], session].map(|session| session.name.clone());
            return Err(DecideError::Twice { one, other });
        }
        if !has_baseline(session) {
            notes.push(format!("{} has no runs of the baseline, and compares nothing", session.name));
        }
    }
    let rules = ComparisonRules { baseline, metric, higher_is_better, same_band: options.same_band };
    let mut comparison = compare(&sessions, rules);
    comparison.notes.extend(notes);
    Ok(DecisionReport { sources, unit, comparison })
}

/// What all files say that say anything; `words` are for those that differ.
fn of_all<T: PartialEq>(
    files: &[(String, MeasuredFile)],
    said: impl Fn(&MeasuredFile) -> Option<T>,
    words: impl Fn(&T) -> String,
) -> Result<Option<T>, DecideError> {
    let mut of_all: Option<T> = None;
    for (file, measured) in files {
        let Some(own) = said(measured) else { continue };
        if let Some(other) = of_all.as_ref().filter(|other| **other != own) {
            let [own, other] = [&own, other].map(&words);
            return Err(DecideError::Differ { file: file.clone(), own, other });
        }
        of_all = Some(own);
    }
    Ok(of_all)
}

/// The runs of a session, in an order that does not depend on how a file has them. Values are more than 0, so that their bits have their order.
fn sorted(session: &MeasuredSession) -> Vec<(&str, Option<u32>, Option<u32>, u64)> {
    let runs = session.configurations.iter().flat_map(|one| {
        one.runs.iter().map(|run| (&one.name[..], run.block, run.order, run.value.to_bits()))
    });
    let mut runs: Vec<_> = runs.collect();
    sort_by_key(&mut runs, |run| *run);
    runs
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

/// The values of a file with one configuration, in their order, unless all are one number, as counts can be.
fn varying(file: &MeasuredFile) -> Option<Vec<u64>> {
    let runs = file.sessions.iter().flat_map(|session| &session.configurations).flat_map(|one| &one.runs);
    let values: Vec<u64> = runs.map(|run| run.value.to_bits()).collect();
    values.windows(2).any(|pair| pair[0] != pair[1]).then_some(values)
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
