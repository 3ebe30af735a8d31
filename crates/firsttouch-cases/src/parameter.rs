//! What can be chosen of a case, and what was.

use crate::error::CaseError;
use firsttouch_placement::{format_bytes, parse_size};
use firsttouch_sorted::SortedMap;

/// Something that can be chosen.
#[derive(Debug)]
pub struct Parameter {
    /// Its word, as `--NAME` has it.
    pub name: &'static str,
    /// What it is, in one line.
    pub meaning: &'static str,
    /// What it can be.
    pub kind: Kind,
    /// Its value where nothing is said.
    pub default: &'static str,
    /// The same of a quick look.
    pub quick: &'static str,
}

impl Parameter {
    /// One with its usual value and that of a quick look.
    pub(crate) const fn new(
        name: &'static str,
        meaning: &'static str,
        kind: Kind,
        [default, quick]: [&'static str; 2],
    ) -> Parameter {
        Parameter { name, meaning, kind, default, quick }
    }
}

/// What values can be.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A whole number within these limits, both included.
    Count(u64, u64),
    /// Bytes within these limits, both included: `64K`, `1.5G`.
    Bytes(u64, u64),
    /// One of these words.
    Word(&'static [&'static str]),
    /// Anything: a file.
    Text,
}

impl Kind {
    /// The number that a text is, or its length of what is no number.
    fn read(self, text: &str) -> Option<u64> {
        match self {
            Kind::Count(least, most) => text.parse().ok().filter(|number| (least..=most).contains(number)),
            Kind::Bytes(least, most) => parse_size(text).filter(|bytes| (least..=most).contains(bytes)),
            Kind::Word(words) => words.contains(&text).then_some(0),
            Kind::Text => Some(0),
        }
    }

    /// The values in words.
    pub fn expected(self) -> String {
        match self {
            Kind::Count(least, most) => format!("a whole number from {least} to {most}"),
            Kind::Bytes(least, most) => {
                format!("a size from {} to {}, for example 64M", format_bytes(least), format_bytes(most))
            }
            Kind::Word(words) => words.join(", "),
            Kind::Text => "anything".to_owned(),
        }
    }
}

/// The values of all parameters of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    values: SortedMap<&'static str, (String, u64)>,
}

impl Arguments {
    /// The values of these parameters of a case: those that were chosen, and the defaults of the others.
    pub(crate) fn chosen(
        case: &'static str,
        parameters: &[Parameter],
        chosen: &[(String, String)],
        quick: bool,
    ) -> Result<Arguments, CaseError> {
        let names = || parameters.iter().map(|it| it.name).collect::<Vec<_>>().join(", ");
        for (name, _) in chosen {
            if !parameters.iter().any(|parameter| parameter.name == name) {
                let known = if parameters.is_empty() { "none".to_owned() } else { names() };
                return Err(CaseError::NoParameter { case, name: name.clone(), known });
            }
        }
        let value = |parameter: &Parameter| {
            let chosen = chosen.iter().rev().find(|(name, _)| name == parameter.name);
            let default = if quick { parameter.quick } else { parameter.default };
            let text = chosen.map_or(default, |(_, text)| text.as_str()).to_owned();
            match parameter.kind.read(&text) {
                Some(number) => Ok((parameter.name, (text, number))),
                None => {
                    Err(CaseError::Value { name: parameter.name, text, expected: parameter.kind.expected() })
                }
            }
        };
        Ok(Arguments { values: parameters.iter().map(value).collect::<Result<_, _>>()? })
    }

    /// The number of a parameter that is a count or bytes.
    ///
    /// # Panics
    /// If the case has no such parameter.
    pub fn number(&self, name: &str) -> usize {
        usize::try_from(self.entry(name).1).expect("64 bits")
    }

    /// The text of a parameter.
    ///
    /// # Panics
    /// If the case has no such parameter.
    pub fn word(&self, name: &str) -> &str {
        &self.entry(name).0
    }

    /// All of them: name and text.
    pub fn texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.values.iter().map(|(name, (text, _))| (*name, text.as_str()))
    }

    fn entry(&self, name: &str) -> &(String, u64) {
        let entry = self.values.get(name);
        entry.unwrap_or_else(|| panic!("`{name}` is none of the case's parameters"))
    }
}
