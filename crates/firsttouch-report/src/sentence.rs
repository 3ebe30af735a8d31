//! Sentences that name configurations, so that each format can set the names in its own way of writing code.

use crate::visible::visible;

/// A piece of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Words(String),
    /// The name of a configuration.
    Name(String),
}

/// Words and names, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sentence {
    pub(crate) parts: Vec<Part>,
}

impl Sentence {
    pub(crate) fn new() -> Self {
        Sentence::default()
    }

    pub(crate) fn words(mut self, words: impl Into<String>) -> Self {
        let words = words.into();
        match self.parts.last_mut() {
            Some(Part::Words(before)) => before.push_str(&words),
            _ => self.parts.push(Part::Words(words)),
        }
        self
    }

    pub(crate) fn name(mut self, name: &str) -> Self {
        self.parts.push(Part::Name(name.to_owned()));
        self
    }

    /// The sentence with each kind of piece written its own way.
    pub(crate) fn written(&self, words: impl Fn(&str) -> String, name: impl Fn(&str) -> String) -> String {
        let write = |part: &Part| match part {
            Part::Words(text) => words(text),
            Part::Name(text) => name(text),
        };
        self.parts.iter().map(write).collect()
    }

    /// Plain text, names in backticks.
    pub(crate) fn plain(&self) -> String {
        self.written(|words| visible(words).into_owned(), |name| format!("`{}`", visible(name)))
    }
}

impl From<&String> for Sentence {
    fn from(words: &String) -> Self {
        Sentence::new().words(words)
    }
}
