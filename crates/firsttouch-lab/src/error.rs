//! What can go wrong with a lab: what was asked, what happened, what would mend it.

use crate::release::Release;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a lab did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The emulator is not installed.
    #[error("QEMU ({program}) is not installed")]
    NoQemu {
        /// The program looked for.
        program: &'static str,
    },
    /// The guest is an x86-64 machine, and the programs here are not for that.
    #[error("the lab's machines are x86-64, and the programs of this one are {here}")]
    OtherProcessor {
        /// This machine's architecture.
        here: &'static str,
    },
    /// KVM was asked for and cannot be used.
    #[error("KVM cannot be used: {why}")]
    NoKvm {
        /// The kernel's answer.
        why: io::Error,
    },
    /// The kernel was not fetched yet.
    #[error("Debian's kernel {release} is not in {}", folder.display())]
    NoKernel {
        /// The kernel asked for.
        release: Release,
        /// Where it would lie.
        folder: PathBuf,
    },
    /// The kernel cannot be fetched or unpacked.
    #[error("cannot fetch Debian's kernel {release}: {what}")]
    Fetch {
        /// The kernel asked for.
        release: Release,
        /// Which step failed, with its own words.
        what: String,
    },
    /// A program, library or file that the guest needs.
    #[error("cannot take {} into the guest: {why}", path.display())]
    CopyIn {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// A library that a program needs is not found, and so it would not start there.
    #[error("cannot take {} into the guest: its library {name} is in no folder of the loader's", path.display())]
    NoLibrary {
        /// The program, or a library of it.
        path: PathBuf,
        /// The library.
        name: String,
    },
    /// A program that cannot be found here, so not there either.
    #[error(transparent)]
    Program(#[from] firsttouch_process::ProgramError),
    /// Files of the lab on this machine.
    #[error("{what}")]
    Io {
        /// What was to be done.
        what: String,
        /// The kernel's answer.
        #[source]
        source: io::Error,
    },
    /// The emulator ended before the guest said anything.
    #[error("QEMU refuses the machine: {said}")]
    Refused {
        /// What it wrote on stderr.
        said: String,
    },
    /// The guest's kernel panicked before it ran the first command, each time it was booted.
    #[error("the guest's kernel panicked while it started, {boots} times out of {boots}")]
    Panicked {
        /// How often it was booted.
        boots: u32,
        /// The last lines of its console.
        console: String,
    },
    /// The guest ended before it had done its job: a panic, or a death of init.
    #[error("the guest ended before it had run everything")]
    Died {
        /// The last lines of its console.
        console: String,
    },
    /// The guest was stopped when its time was over.
    #[error("the guest took longer than {} s; {}", limit.as_secs_f64(), progress(*ended))]
    Timeout {
        /// The time it had.
        limit: Duration,
        /// How many commands had ended; `None` if it had not booted.
        ended: Option<usize>,
        /// The last lines of its console.
        console: String,
    },
    /// The guest could not do what the job asked.
    #[error("in the guest: {why}")]
    Guest {
        /// In the guest's words.
        why: String,
        /// The last lines of its console.
        console: String,
    },
}

impl LabError {
    /// The command, or the instruction, that mends it.
    pub fn hint(&self) -> Option<String> {
        match self {
            LabError::NoQemu { .. } => {
                Some("sudo apt-get install --no-install-recommends qemu-system-x86".to_owned())
            }
            LabError::NoKvm { .. } => Some("leave --kvm out: software emulation needs no rights".to_owned()),
            LabError::NoKernel { release, .. } => Some(format!("firsttouch lab --fetch --kernel {release}")),
            LabError::Fetch { .. } => Some(
                "on a machine without apt: firsttouch lab --kernel VMLINUZ, a kernel for x86-64 with 8250 serial ports"
                    .to_owned(),
            ),
            LabError::CopyIn { .. } => Some("firsttouch lab --copy-in FILE takes further files in".to_owned()),
            LabError::NoLibrary { .. } => {
                Some("LD_LIBRARY_PATH says where it is, here and in the guest".to_owned())
            }
            LabError::Program(error) => Some(error.hint()),
            LabError::Timeout { .. } => Some("firsttouch lab --timeout 10m gives it longer".to_owned()),
            LabError::Refused { .. } => {
                Some("the version of QEMU matters: 7.2 is the oldest that was tried".to_owned())
            }
            LabError::OtherProcessor { .. }
            | LabError::Panicked { .. }
            | LabError::Died { .. }
            | LabError::Guest { .. }
            | LabError::Io { .. } => None,
        }
    }

    /// The last lines of the guest's console, where there was one.
    pub fn console(&self) -> Option<&str> {
        match self {
            LabError::Died { console }
            | LabError::Panicked { console, .. }
            | LabError::Timeout { console, .. }
            | LabError::Guest { console, .. } => Some(console.as_str()).filter(|text| !text.is_empty()),
            _ => None,
        }
    }

    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> LabError {
        let what = what.into();
        move |source| LabError::Io { what, source }
    }
}

/// How far a guest came.
fn progress(ended: Option<usize>) -> String {
    match ended {
        None => "it had not booted".to_owned(),
        Some(1) => "1 command had ended".to_owned(),
        Some(ended) => format!("{ended} commands had ended"),
    }
}
