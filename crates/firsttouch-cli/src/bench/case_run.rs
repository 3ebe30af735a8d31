//! What a run of a case says: written by it and read by the session that started it. Programs of others write the same.

use firsttouch_cases::Checksum;
use firsttouch_placement::{CaseWork, ObjectObtained};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::{fmt, fs, io};

/// What a run says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CaseRun {
    /// Time of a step: the mean of those that were timed.
    pub(crate) seconds: f64,
    pub(super) checksum: RunChecksum,
    /// What nobody counts of programs of others.
    #[serde(default)]
    pub(crate) work: Option<CaseWork>,
    /// The limit that bounds it: bytes or operations by second, or seconds of a read.
    #[serde(default)]
    pub(super) limit: Option<f64>,
    #[serde(default)]
    pub(super) notes: Vec<String>,
    /// What arrays with a place of their own obtained.
    #[serde(default)]
    pub(super) objects: BTreeMap<String, ObjectObtained>,
}

/// A checksum as JSON has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum RunChecksum {
    /// Hexadecimal digits: 64 bits are more than numbers of JSON hold.
    Exact {
        exact: String,
    },
    Near {
        value: f64,
        within: f64,
    },
}

impl CaseRun {
    /// Where the time of a step is, for the metric.
    pub(super) const SECONDS: &str = "/seconds";

    pub(super) fn write(&self, file: &Path) -> anyhow::Result<()> {
        Ok(fs::write(file, serde_json::to_string(self)?)?)
    }

    pub(crate) fn read(file: &Path) -> io::Result<CaseRun> {
        Ok(serde_json::from_str(&fs::read_to_string(file)?)?)
    }
}

impl RunChecksum {
    /// Whether two are of the same result. What does not read agrees with nothing.
    pub(super) fn agrees(&self, other: &RunChecksum) -> bool {
        self.checksum().zip(other.checksum()).is_some_and(|(one, other)| one.agrees(other))
    }

    fn checksum(&self) -> Option<Checksum> {
        match self {
            RunChecksum::Exact { exact } => u64::from_str_radix(exact, 16).ok().map(Checksum::Exact),
            RunChecksum::Near { value, within } => Some(Checksum::Near { value: *value, within: *within }),
        }
    }
}

impl From<Checksum> for RunChecksum {
    fn from(checksum: Checksum) -> RunChecksum {
        match checksum {
            Checksum::Exact(bits) => RunChecksum::Exact { exact: format!("{bits:016x}") },
            Checksum::Near { value, within } => RunChecksum::Near { value, within },
        }
    }
}

impl fmt::Display for RunChecksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunChecksum::Exact { exact } => f.write_str(exact),
            RunChecksum::Near { value, .. } => write!(f, "{value}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("result");
        for checksum in [Checksum::Exact(u64::MAX - 1), Checksum::Near { value: 0.1, within: 1e-9 }] {
            let run = CaseRun {
                seconds: 0.25,
                checksum: checksum.into(),
                work: Some(CaseWork { bytes: 3, operations: u64::MAX }),
                limit: Some(1e11),
                notes: vec!["4 lanes".to_owned()],
                objects: BTreeMap::new(),
            };
            run.write(&file).unwrap();
            assert_eq!(CaseRun::read(&file).unwrap(), run);
        }
    }

    #[test]
    fn a_program_of_others_says_what_it_has() {
        let read = |text: &str| serde_json::from_str::<CaseRun>(text).unwrap();
        let exact = read(r#"{"seconds": 1.5, "checksum": {"exact": "ff"}}"#);
        assert!(exact.checksum.agrees(&Checksum::Exact(255).into()));
        let near = read(r#"{"seconds": 1, "checksum": {"value": 2, "within": 1e-6}}"#);
        assert!(near.checksum.agrees(&Checksum::Near { value: 2.0, within: 1e-6 }.into()));
        assert!(!exact.checksum.agrees(&near.checksum));
        let garbled = read(r#"{"seconds": 1, "checksum": {"exact": "no digits"}}"#);
        assert!(!garbled.checksum.agrees(&garbled.checksum.clone()));
    }
}
