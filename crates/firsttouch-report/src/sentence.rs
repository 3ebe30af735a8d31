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
            _ if words.is_empty() => {}
            Some(Part::Words(before)) => before.push_str(&words),
            _ => self.parts.push(Part::Words(words)),
        }
        self
    }

    pub(crate) fn name(mut self, name: &str) -> Self {
        self.parts.push(Part::Name(name.to_owned()));
        self
    }

    /// Words with names in backticks among them, as documents keep them.
    pub(crate) fn marked(mut self, mut text: &str) -> Self {
        while let Some([words, name, rest]) = next_name(text) {
            self = self.words(words).name(name);
            text = rest;
        }
        self.words(text)
    }

    /// The sentence, and another after it.
    pub(crate) fn then(self, other: &Sentence) -> Self {
        other.parts.iter().fold(self, |sentence, part| match part {
            Part::Words(words) => sentence.words(words),
            Part::Name(name) => sentence.name(name),
        })
    }

    /// The sentence with each kind of piece written its own way.
    pub(crate) fn written(&self, words: impl Fn(&str) -> String, name: impl Fn(&str) -> String) -> String {
        let write = |part: &Part| match part {
            Part::Words(text) => words(text),
            Part::Name(text) => name(text),
        };
        self.parts.iter().map(write).collect()
    }

    /// Text without marks, as it is.
    pub(crate) fn bare(&self) -> String {
        self.written(str::to_owned, str::to_owned)
    }

    /// Plain text, names in backticks.
    pub(crate) fn plain(&self) -> String {
        self.written(|words| visible(words).into_owned(), |name| format!("`{}`", visible(name)))
    }
}

/// What stands before the first name in backticks, the name, and the rest.
fn next_name(text: &str) -> Option<[&str; 3]> {
    let (words, rest) = text.split_once('`')?;
    let (name, rest) = rest.split_once('`')?;
    (!name.is_empty()).then_some([words, name, rest])
}

impl From<&String> for Sentence {
    fn from(text: &String) -> Self {
        Sentence::new().marked(text)
    }
}

#[cfg(test)]
mod tests {
    use super::{Part, Sentence};

    #[test]
    fn names_in_backticks_are_names_and_single_backticks_words() {
        let words = |text: &str| Part::Words(text.to_owned());
        let name = |text: &str| Part::Name(text.to_owned());
        let parts = |text: &str| Sentence::new().marked(text).parts;
        assert_eq!(parts("`a b`: as `c` has it"), [name("a b"), words(": as "), name("c"), words(" has it")]);
        assert_eq!(parts("as it is"), [words("as it is")]);
        assert_eq!(parts("one ` alone, and `` none"), [words("one "), name(" alone, and "), words("` none")]);
        assert_eq!(parts("it says ``"), [words("it says ``")]);
        assert_eq!(Sentence::new().marked("as `c` has it").plain(), "as `c` has it");
    }
}
