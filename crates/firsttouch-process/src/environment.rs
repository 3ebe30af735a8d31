//! The environment of a program, as a value.

use firsttouch_memory::agent_settings::{ENTRY, PID_PLACEHOLDER};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The variables of a program, in order. A name occurs once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
}

impl Environment {
    /// The value of a variable.
    pub fn get(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        let name = name.as_ref();
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
    }

    /// Sets a variable.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        let (name, value) = (name.into(), value.into());
        match self.variables.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.variables.push((name, value)),
        }
    }

    /// Removes a variable.
    pub fn unset(&mut self, name: impl AsRef<OsStr>) {
        let name = name.as_ref();
        self.variables.retain(|(known, _)| known != name);
    }

    /// The variables in order.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// The `NAME=value` strings of the program, without the closing zero.
    pub(crate) fn strings(&self) -> impl Iterator<Item = Vec<u8>> {
        self.iter().map(|(name, value)| {
            let mut string = name.to_owned().into_vec();
            string.push(b'=');
            string.extend_from_slice(value.as_bytes());
            string
        })
    }
}

impl FromIterator<(OsString, OsString)> for Environment {
    fn from_iter<T: IntoIterator<Item = (OsString, OsString)>>(variables: T) -> Self {
        let mut environment = Environment::default();
        for (name, value) in variables {
            environment.set(name, value);
        }
        environment
    }
}

/// Where in the `NAME=value` string the digits of the placeholder begin, if it is the agent's and has one.
pub(crate) fn placeholder_in(string: &[u8]) -> Option<usize> {
    let settings = string.strip_prefix(ENTRY)?;
    let placeholder = PID_PLACEHOLDER.as_bytes();
    let at = settings.windows(placeholder.len()).position(|window| window == placeholder)?;
    Some(ENTRY.len() + at + PID_DIGITS_AT)
}

/// Number of digits of the placeholder.
pub(crate) const PID_DIGITS: usize = 10;
const PID_DIGITS_AT: usize = PID_PLACEHOLDER.len() - PID_DIGITS;

/// The digits that replace the placeholder. Runs between fork and exec: no allocation, no formatting machinery.
pub(crate) fn digits(pid: u32) -> [u8; PID_DIGITS] {
    let mut digits = [b'0'; PID_DIGITS];
    let mut rest = pid;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_memory::agent_settings::VARIABLE;

    #[test]
    fn a_name_occurs_once() {
        let mut environment: Environment = [("A", "1"), ("B", "2"), ("A", "3")]
            .map(|(name, value)| (name.into(), value.into()))
            .into_iter()
            .collect();
        assert_eq!(environment.get("A"), Some(OsStr::new("3")));
        environment.set("C", "4");
        environment.unset("B");
        let strings: Vec<_> = environment.strings().collect();
        assert_eq!(strings, [b"A=3".to_vec(), b"C=4".to_vec()]);
    }

    #[test]
    fn the_placeholder_is_found_in_the_agents_settings_only() {
        let string = format!("{VARIABLE}=pages=thp {PID_PLACEHOLDER} min=1");
        let at = placeholder_in(string.as_bytes()).unwrap();
        assert_eq!(&string[at..at + PID_DIGITS], "0000000000");
        assert_eq!(placeholder_in(format!("OTHER={PID_PLACEHOLDER}").as_bytes()), None);
        assert_eq!(placeholder_in(format!("{VARIABLE}=pid=7").as_bytes()), None);
        assert_eq!(&digits(u32::MAX), b"4294967295");
        assert_eq!(&digits(42), b"0000000042");
    }
}
