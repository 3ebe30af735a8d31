//! The file that keeps measurements: one for each machine, so that a home folder shared by many machines serves them all. A
//! single measurement, as `measure --json` prints it, reads as well.

use crate::{AnyDocument, OpenError, Replacement, open, to_json};
use firsttouch_machine::{Machine, Measurement};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The measurements of some machines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Measurements {
    /// One for each machine.
    pub measurements: Vec<Measurement>,
}

/// A file of measurements that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MeasurementError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the kernel answered.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the kernel answered.
        source: io::Error,
    },
    /// The file does not read.
    #[error("{} is not a file of `firsttouch measure --save`", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: OpenError,
    },
    /// The file is another document.
    #[error("{} is not a file of `firsttouch measure --save` but a {kind} document", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// Its kind.
        kind: crate::Kind,
    },
}

impl MeasurementError {
    /// The line that mends it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        "firsttouch measure --save OTHER"
    }
}

/// The measurement of this machine in a file; `Ok(None)` where the file does not exist or holds other machines only.
///
/// # Errors
/// A file that cannot be read, or holds something else.
pub fn load_measurement(path: &Path, machine: &Machine) -> Result<Option<Measurement>, MeasurementError> {
    Ok(read(path)?.into_iter().rev().find(|measurement| measurement.is_of(machine)))
}

/// Puts a measurement into a file, in place of an older one of the same machine. The file is replaced as a whole: a reader
/// sees the old content or the new one. Core to core, where it was left out, stays as it was measured before.
///
/// # Errors
/// A file that cannot be read or written, or holds something else, which stays.
pub fn save_measurement(measurement: &Measurement, path: &Path) -> Result<(), MeasurementError> {
    let mut measurements = read(path)?;
    let mut measurement = measurement.clone();
    // What takes longest and changes least is not lost to a measurement that left it out.
    let older = measurements.iter().rfind(|other| other.is_of_same_machine(&measurement));
    measurement.cores = measurement.cores.or_else(|| older.and_then(|older| older.cores.clone()));
    measurements.retain(|other| !other.is_of_same_machine(&measurement));
    measurements.push(measurement);
    write(path, &Measurements { measurements })
        .map_err(|source| MeasurementError::Write { path: path.to_owned(), source })
}

/// What a file holds; nothing when there is no such file.
fn read(path: &Path) -> Result<Vec<Measurement>, MeasurementError> {
    // More than machines have; a device may never end.
    const MOST_BYTES: u64 = 1 << 28;
    let mut text = String::new();
    match File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text)) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(MeasurementError::Read { path: path.to_owned(), source }),
    };
    match open(&text).map_err(|source| MeasurementError::Open { path: path.to_owned(), source })? {
        AnyDocument::Measurements(kept) => Ok(kept.measurements),
        AnyDocument::Measurement(one) => Ok(vec![*one]),
        other => Err(MeasurementError::Other { path: path.to_owned(), kind: other.kind() }),
    }
}

fn write(path: &Path, all: &Measurements) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    match Replacement::of(path)? {
        Replacement::Stream(mut stream) => stream.write_all(to_json(all).as_bytes()),
        Replacement::Beside(mut beside) => {
            beside.file().write_all(to_json(all).as_bytes())?;
            beside.put(true)
        }
    }
}
