//! The programs of a session: one for each combination of varied values, each looked at as the program that it is.

use crate::conditions::Conditions;
use crate::configurations::BASELINE;
use crate::run::RunError;
use crate::subject::Subject;
use crate::vary::{Dimension, Values, VaryError, combinations, holds};
use firsttouch_process::{Environment, ProgramError};
use std::ffi::{OsStr, OsString};

/// A program as it was typed, and what is varied in it.
#[derive(Debug)]
pub(crate) struct Template<'a> {
    words: &'a [OsString],
    conditions: &'a Conditions,
    combinations: Vec<Values>,
}

/// The program with one value of each dimension.
#[derive(Debug)]
pub(crate) struct Combination {
    pub(crate) values: Values,
    pub(crate) subject: Subject,
    pub(crate) conditions: Conditions,
}

impl<'a> Template<'a> {
    /// Holds the names against what they are to stand in; `placements`: how many each combination is run under.
    ///
    /// # Errors
    /// Where a name stands nowhere, or there is too little or too much to compare.
    pub(crate) fn new(
        words: &'a [OsString],
        conditions: &'a Conditions,
        dimensions: &[Dimension],
        placements: usize,
    ) -> Result<Template<'a>, VaryError> {
        let input = conditions.input.as_deref().map(AsRef::as_ref);
        let lines = [conditions.setup.as_deref(), conditions.prepare.as_deref(), input];
        let texts: Vec<&OsStr> =
            words.iter().map(OsString::as_os_str).chain(lines.into_iter().flatten()).collect();
        for name in dimensions.iter().map(Dimension::name) {
            if !texts.iter().any(|text| holds(text, name)) {
                return Err(VaryError::Unused { name: name.to_owned() });
            }
        }
        let combinations = combinations(dimensions, placements)?;
        if !dimensions.is_empty() && combinations.len() * placements < 2 {
            return Err(VaryError::One);
        }
        Ok(Template { words, conditions, combinations })
    }

    /// Does what is due before anything else is run.
    pub(crate) fn set_up(&self, environment: &Environment) -> Result<(), RunError> {
        self.conditions.set_up(&self.combinations, environment)
    }

    /// Does what is due after the last run.
    pub(crate) fn clean_up(&self, environment: &Environment) -> Result<(), RunError> {
        self.conditions.clean_up(&self.combinations, environment)
    }

    /// Finds the program of each combination.
    ///
    /// # Errors
    /// Where there is none, or it cannot be executed.
    pub(crate) fn find(&self, environment: &Environment) -> Result<Vec<Combination>, ProgramError> {
        let found = |values: &Values| {
            Ok(Combination {
                subject: Subject::find(&values.words(self.words), environment)?,
                conditions: self.conditions.filled(values),
                values: values.clone(),
            })
        };
        self.combinations.iter().map(found).collect()
    }
}

impl Combination {
    /// What a configuration of it is called: its placement, then the values. The baseline's placement is said of the first alone.
    pub(crate) fn name(&self, placement: &str, is_first: bool) -> String {
        match (self.values.is_empty(), placement) {
            (true, _) => placement.to_owned(),
            (false, BASELINE) if !is_first => self.values.label(),
            (false, _) => format!("{placement} {}", self.values.label()),
        }
    }
}
