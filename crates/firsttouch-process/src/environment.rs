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

/// How the number of the process is written into a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    /// With zeros in front, over as many digits.
    Padded,
    /// By itself, up to the end of the variable.
    Bare,
}

/// By these systemd tells a service that sockets (sd_listen_fds(3)) and the watchdog (sd_watchdog_enabled(3)) are meant for it, and for no process
/// that it starts.
const NAMED_BY_SYSTEMD: [&[u8]; 2] = [b"LISTEN_PID=", b"WATCHDOG_PID="];

/// Where in the `NAME=value` string the number of the process begins, if it belongs there: the agent's placeholder, or `own`, by which systemd
/// means the program.
pub(crate) fn number_in(string: &[u8], own: u32) -> Option<(usize, Number)> {
    if let Some(settings) = string.strip_prefix(ENTRY) {
        let placeholder = PID_PLACEHOLDER.as_bytes();
        let at = settings.windows(placeholder.len()).position(|window| window == placeholder)?;
        return Some((ENTRY.len() + at + PID_DIGITS_AT, Number::Padded));
    }
    let name = NAMED_BY_SYSTEMD.into_iter().find(|name| string.starts_with(name))?;
    (string[name.len()..] == *own.to_string().as_bytes()).then_some((name.len(), Number::Bare))
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
    fn the_number_belongs_into_the_agents_settings_and_where_systemd_means_us() {
        let string = format!("{VARIABLE}=pages=thp {PID_PLACEHOLDER} min=1");
        let (at, kind) = number_in(string.as_bytes(), 4711).unwrap();
        assert_eq!((&string[at..at + PID_DIGITS], kind), ("0000000000", Number::Padded));
        assert_eq!(number_in(b"LISTEN_PID=4711", 4711), Some((11, Number::Bare)));
        assert_eq!(number_in(b"WATCHDOG_PID=4711", 4711), Some((13, Number::Bare)));
        for other in ["LISTEN_PID=47112", "LISTEN_PID=", "MAINPID=4711", &format!("OTHER={PID_PLACEHOLDER}")]
        {
            assert_eq!(number_in(other.as_bytes(), 4711), None, "{other}");
        }
        assert_eq!(number_in(format!("{VARIABLE}=pid=7").as_bytes(), 7), None);
        assert_eq!(&digits(u32::MAX), b"4294967295");
        assert_eq!(&digits(42), b"0000000042");
    }
}
