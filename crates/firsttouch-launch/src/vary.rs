//! What else than the placement differs between configurations: named values, and the words of a program that hold them.

mod range;

use firsttouch_linux::program::text_of;
use range::in_range;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// More configurations than this are no comparison: each of them costs a run in every block.
pub(crate) const MOST_CONFIGURATIONS: usize = 256;

/// A name and the values that stand for it in turn: `threads=1,2,4`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    name: String,
    values: Vec<OsString>,
}

/// Values that cannot be varied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VaryError {
    /// There is no `=`.
    #[error("expected NAME=VALUES, for example threads=1,2,4 or threads=1..8")]
    Form,
    /// A name that cannot stand in braces.
    #[error("`{name}` is not a name: letters, digits, `-` and `_` make one")]
    Name {
        /// The name.
        name: String,
    },
    /// A name without values.
    #[error("`{name}` has no values: expected some, for example {name}=1,2,4")]
    NoValues {
        /// The name.
        name: String,
    },
    /// A value that occurs twice.
    #[error("`{name}` has the value `{value}` twice")]
    ValueTwice {
        /// The name.
        name: String,
        /// The value.
        value: String,
    },
    /// A range that has no values.
    #[error("`{range}` is empty: expected LOW..HIGH, or LOW..HIGH:STEP with a step above 0")]
    Range {
        /// The range.
        range: String,
    },
    /// A name that occurs twice.
    #[error("`{name}` is varied twice")]
    NameTwice {
        /// The name.
        name: String,
    },
    /// A name that nothing holds that a run depends on.
    #[error(
        "`{name}` is varied, but `{{{name}}}` occurs neither in the program nor in a line before its runs"
    )]
    Unused {
        /// The name.
        name: String,
    },
    /// One configuration alone.
    #[error("one value leaves nothing to compare with")]
    One,
    /// More than anybody can compare.
    #[error("{number} configurations are too many: at most {MOST_CONFIGURATIONS}")]
    TooMany {
        /// How many it would be.
        number: u128,
    },
}

impl VaryError {
    /// What mends it, where there is more to say than what is wrong.
    pub fn hint(&self) -> Option<String> {
        match self {
            VaryError::Unused { name } => {
                let variable = name.to_uppercase().replace('-', "_");
                Some(format!(
                    "write {{{name}}} where the value belongs: env {variable}={{{name}}} PROGRAM, or PROGRAM {{{name}}}"
                ))
            }
            VaryError::One => Some("give it a second value, or placements to try".to_owned()),
            VaryError::TooMany { .. } => {
                Some("try far apart values first, then those around the best".to_owned())
            }
            _ => None,
        }
    }
}

impl Dimension {
    /// A name and its values.
    ///
    /// # Errors
    /// Where the name is none, or values are missing, twice, or too many.
    pub fn new(name: &str, values: Vec<OsString>) -> Result<Dimension, VaryError> {
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        {
            return Err(VaryError::Name { name: name.to_owned() });
        }
        let name = name.to_owned();
        if values.is_empty() {
            return Err(VaryError::NoValues { name });
        }
        if values.len() > MOST_CONFIGURATIONS {
            return Err(VaryError::TooMany { number: values.len() as u128 });
        }
        let twice = values.iter().enumerate().find(|(index, value)| values[..*index].contains(value));
        match twice {
            Some((_, value)) => Err(VaryError::ValueTwice { name, value: text_of(value.as_bytes()) }),
            None => Ok(Dimension { name, values }),
        }
    }

    /// `NAME=VALUES`: values with commas between them, of which each may be a range of numbers, both ends included (`1..8`,
    /// `1..16:4`, `0.1..0.5:0.1`). `\,` is a comma within a value, and `\\` a backslash.
    ///
    /// # Errors
    /// Where it does not read so.
    pub fn parse(text: &OsStr) -> Result<Dimension, VaryError> {
        let bytes = text.as_bytes();
        let at = bytes.iter().position(|byte| *byte == b'=').ok_or(VaryError::Form)?;
        let (name, list) = (text_of(&bytes[..at]), &bytes[at + 1..]);
        let mut values = Vec::new();
        for value in if list.is_empty() { Vec::new() } else { split(list) } {
            match std::str::from_utf8(&value).ok().and_then(in_range) {
                Some(range) => values.extend(range?.into_iter().map(OsString::from)),
                None => values.push(OsString::from_vec(value)),
            }
        }
        Dimension::new(&name, values)
    }

    /// What stands in braces.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it stands for, in turn.
    pub fn values(&self) -> &[OsString] {
        &self.values
    }
}

/// The members of a list, as hyperfine splits one: by commas that no backslash stands before.
fn split(list: &[u8]) -> Vec<Vec<u8>> {
    let (mut members, mut bytes) = (vec![Vec::new()], list.iter().copied().peekable());
    while let Some(byte) = bytes.next() {
        let escaped = match byte {
            b'\\' => bytes.next_if(|next| matches!(next, b',' | b'\\')),
            _ => None,
        };
        match (byte, escaped, members.last_mut()) {
            (b',', None, _) | (_, _, None) => members.push(Vec::new()),
            (_, escaped, Some(member)) => member.push(escaped.unwrap_or(byte)),
        }
    }
    members
}

/// One value of each dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Values(Vec<(String, OsString)>);

/// Every combination of the values, in the order of the first dimension, then the second; without dimensions the one that has none.
///
/// # Errors
/// Where a name is there twice, or the combinations are too many for a session of so many placements.
pub(crate) fn combinations(dimensions: &[Dimension], placements: usize) -> Result<Vec<Values>, VaryError> {
    for (index, dimension) in dimensions.iter().enumerate() {
        if dimensions[..index].iter().any(|earlier| earlier.name == dimension.name) {
            return Err(VaryError::NameTwice { name: dimension.name.clone() });
        }
    }
    let number = dimensions
        .iter()
        .fold(placements as u128, |number, one| number.saturating_mul(one.values.len() as u128));
    if number > MOST_CONFIGURATIONS as u128 && !dimensions.is_empty() {
        return Err(VaryError::TooMany { number });
    }
    Ok(dimensions.iter().fold(vec![Values::default()], |combinations, Dimension { name, values }| {
        let with = |Values(before): &Values, value: &OsString| {
            Values(before.iter().cloned().chain([(name.clone(), value.clone())]).collect())
        };
        combinations
            .iter()
            .flat_map(|before| values.iter().map(|value| with(before, value)).collect::<Vec<_>>())
            .collect()
    }))
}

impl Values {
    /// Whether nothing is varied.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `threads=2 input=large`, for people.
    pub(crate) fn label(&self) -> String {
        let each = self.0.iter().map(|(name, value)| format!("{name}={}", text_of(value.as_bytes())));
        each.collect::<Vec<_>>().join(" ")
    }

    /// As documents hold them.
    pub(crate) fn texts(&self) -> BTreeMap<String, String> {
        self.0.iter().map(|(name, value)| (name.clone(), text_of(value.as_bytes()))).collect()
    }

    /// A text with its values for the names in braces. Braces around anything else stay, and values are not read again.
    pub(crate) fn fill(&self, text: &OsStr) -> OsString {
        let (mut filled, mut rest) = (Vec::new(), text.as_bytes());
        while let Some(&byte) = rest.first() {
            let found = self.0.iter().find_map(|(name, value)| Some((value, after(rest, name)?)));
            match found {
                Some((value, after)) => {
                    filled.extend_from_slice(value.as_bytes());
                    rest = after;
                }
                None => {
                    filled.push(byte);
                    rest = &rest[1..];
                }
            }
        }
        OsString::from_vec(filled)
    }

    /// Words with the values. One that is nothing but names goes where their values are empty, so that an option can be there or not.
    pub(crate) fn words(&self, words: &[OsString]) -> Vec<OsString> {
        let each = words.iter().map(|word| (word, self.fill(word)));
        each.filter(|(word, filled)| !filled.is_empty() || word.is_empty())
            .map(|(_, filled)| filled)
            .collect()
    }
}

/// Whether a text holds a name in braces.
pub(crate) fn holds(text: &OsStr, name: &str) -> bool {
    let bytes = text.as_bytes();
    (0..bytes.len()).any(|at| after(&bytes[at..], name).is_some())
}

/// What comes after a name in braces, if the text begins with it.
fn after<'a>(text: &'a [u8], name: &str) -> Option<&'a [u8]> {
    text.strip_prefix(b"{")?.strip_prefix(name.as_bytes())?.strip_prefix(b"}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Dimension, VaryError> {
        Dimension::parse(OsStr::new(text))
    }

    fn values(text: &str) -> Vec<String> {
        parse(text).unwrap().values.iter().map(|value| value.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn lists_read_as_hyperfines() {
        assert_eq!(values("threads=1,2,4"), ["1", "2", "4"]);
        assert_eq!(values(r"x=a\,b,c\\d,e\f"), ["a,b", r"c\d", r"e\f"]);
        assert_eq!(values("program=./old,../new"), ["./old", "../new"]);
        assert_eq!(values("setting=A=1,B=2"), ["A=1", "B=2"]);
        assert_eq!(values("fast=,--fast"), ["", "--fast"]);
        assert_eq!(values("n=1,4..6,a..b,1..,..2"), ["1", "4", "5", "6", "a..b", "1..", "..2"]);
    }

    #[test]
    fn what_is_no_dimension_is_refused() {
        let twice = |value: &str| VaryError::ValueTwice { name: "n".to_owned(), value: value.to_owned() };
        assert_eq!(parse("threads"), Err(VaryError::Form));
        assert!(matches!(parse("=1,2"), Err(VaryError::Name { .. })));
        assert!(matches!(parse("a b=1,2"), Err(VaryError::Name { .. })));
        assert!(matches!(parse("n="), Err(VaryError::NoValues { .. })));
        assert_eq!(parse("n=1..3,2"), Err(twice("2")));
        assert!(matches!(parse("n=1,8..1"), Err(VaryError::Range { .. })));
        assert!(matches!(parse("n=1..256,0"), Err(VaryError::TooMany { number: 257 })));
    }

    #[test]
    fn words_that_are_no_text_are_values() {
        let bytes = OsString::from_vec(b"file=caf\xe9,b".to_vec());
        let dimension = Dimension::parse(&bytes).unwrap();
        let combinations = combinations(&[dimension], 1).unwrap();
        assert_eq!(combinations[0].fill(OsStr::new("<{file}>")).into_vec(), b"<caf\xe9>");
        assert_eq!(combinations[0].label(), r"file=caf\xe9");
    }

    #[test]
    fn combinations_are_a_product_in_order() {
        let dimensions = [parse("n=1,2").unwrap(), parse("file=a,b").unwrap()];
        let labels = |dimensions| -> Vec<String> {
            combinations(dimensions, 1).unwrap().iter().map(Values::label).collect()
        };
        assert_eq!(labels(&dimensions), ["n=1 file=a", "n=1 file=b", "n=2 file=a", "n=2 file=b"]);
        assert_eq!(labels(&[]), [""]);
        let twice = [parse("n=1").unwrap(), parse("n=2").unwrap()];
        assert!(matches!(combinations(&twice, 1), Err(VaryError::NameTwice { .. })));
        let many = [parse("a=1..100").unwrap(), parse("b=1..100").unwrap()];
        assert!(matches!(combinations(&many, 3), Err(VaryError::TooMany { number: 30_000 })));
    }

    #[test]
    fn values_stand_for_their_names_and_nothing_else_changes() {
        let dimensions = [parse("n=4").unwrap(), parse("x={n}").unwrap(), parse("flag=,-v").unwrap()];
        let values = &combinations(&dimensions, 1).unwrap()[0];
        let fill = |text: &str| values.fill(OsStr::new(text)).into_string().unwrap();
        assert_eq!(fill("A={n}{n} {other} {} {{n}} { n} {n"), "A=44 {other} {} {4} { n} {n");
        assert_eq!(fill("{x}"), "{n}", "values are not read again");
        let words = ["p", "{flag}", "a{flag}", "", "{n}"].map(OsString::from);
        assert_eq!(values.words(&words), ["p", "a", "", "4"]);
        assert!(holds(OsStr::new("a{n}"), "n") && !holds(OsStr::new("n{nn}"), "n"));
    }
}
