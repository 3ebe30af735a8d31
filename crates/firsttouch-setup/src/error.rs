//! Why a machine is not set up.

use firsttouch_journal::JournalError;
use firsttouch_machine::MachineError;
use firsttouch_placement::format_bytes;
use std::io;

/// Why nothing was changed, or what was changed had to be taken back.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The machine cannot be read.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The journal cannot be kept.
    #[error(transparent)]
    Journal(JournalError),
    /// A file cannot be read or changed.
    #[error("cannot {what} {path}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: String,
        /// What the kernel answered.
        source: io::Error,
    },
    /// There is something else where a file of ours would be.
    #[error("{path} is {found}")]
    InTheWay {
        /// The file.
        path: String,
        /// What is there.
        found: &'static str,
    },
    /// The words mean nothing, or nothing on this machine.
    #[error("{what}")]
    Words {
        /// What is wrong with them.
        what: String,
        /// What would be right.
        hint: String,
    },
    /// So much is asked for that the machine could not go on.
    #[error("{} are asked for, of {} that the machine has left: {} have to stay free", format_bytes(*growth), format_bytes(*available), format_bytes(*rest))]
    Starves {
        /// More bytes than are reserved now.
        growth: u64,
        /// Bytes that can be had without swapping.
        available: u64,
        /// Bytes that are to stay.
        rest: u64,
    },
    /// A node has less than is asked of it.
    #[error("{} are asked for, of {} that node {node} has left", format_bytes(*growth), format_bytes(*available))]
    NodeStarves {
        /// More bytes than are reserved now.
        growth: u64,
        /// Bytes that are free or hold pages of files.
        available: u64,
        /// The node.
        node: u32,
    },
    /// The kernel would promise nobody any more memory.
    #[error(
        "no program could get memory any more: the kernel would promise {} at most, and has promised {}; {} have to be left",
        format_bytes(*most), format_bytes(*promised), format_bytes(*least)
    )]
    Overcommitted {
        /// Bytes that it would promise.
        most: u64,
        /// Bytes that it has promised.
        promised: u64,
        /// Bytes that have to be left.
        least: u64,
    },
    /// We were asked to stop; what this session had changed was taken back.
    #[error("interrupted: what was changed by then was taken back")]
    Interrupted,
}

impl SetupError {
    pub(crate) fn io(what: &'static str, path: &str, source: io::Error) -> SetupError {
        SetupError::Io { what, path: path.to_owned(), source }
    }

    pub(crate) fn words(what: impl Into<String>, hint: impl Into<String>) -> SetupError {
        SetupError::Words { what: what.into(), hint: hint.into() }
    }

    /// The line that mends it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            SetupError::Machine(_) | SetupError::Interrupted => return None,
            SetupError::Journal(JournalError::Io { .. }) => {
                "nothing is changed that could not be taken back: the folder of the journal has to be on a disk with room"
                    .to_owned()
            }
            SetupError::Journal(error) => error.hint(),
            SetupError::Io { what, source, .. } => match source.raw_os_error() {
                Some(libc::EACCES) if *what == "read" => "only root may read it: the same behind `sudo`".to_owned(),
                Some(libc::EROFS) => {
                    "the file system is read-only: in a container the host has to be set up, on the host".to_owned()
                }
                Some(libc::EACCES | libc::EPERM) => "only root may do that, and not everywhere".to_owned(),
                _ => return None,
            },
            SetupError::InTheWay { path, .. } => format!("have a look at it: ls -l {path}"),
            SetupError::Words { hint, .. } => hint.clone(),
            SetupError::NodeStarves { .. } => {
                "ask for fewer or of other nodes, or insist by --force".to_owned()
            }
            SetupError::Overcommitted { .. } => {
                "end what takes the memory, or have more of it counted first: sudo sysctl vm.overcommit_ratio=PERCENT"
                    .to_owned()
            }
            SetupError::Starves { .. } => {
                "ask for fewer, state what is to stay free by --rest SIZE, or insist by --force".to_owned()
            }
        })
    }

    /// Whether the words are at fault.
    pub fn is_usage(&self) -> bool {
        matches!(self, SetupError::Words { .. })
    }
}

impl From<JournalError> for SetupError {
    fn from(error: JournalError) -> SetupError {
        SetupError::Journal(error)
    }
}

#[cfg(test)]
mod tests {
    use super::SetupError;
    use std::io;

    #[test]
    fn who_may_not_read_is_told_who_may() {
        let refused = |what| SetupError::io(what, "/x", io::Error::from_raw_os_error(libc::EACCES)).hint();
        assert_eq!(refused("read").as_deref(), Some("only root may read it: the same behind `sudo`"));
        assert_eq!(refused("change").as_deref(), Some("only root may do that, and not everywhere"));
    }
}
