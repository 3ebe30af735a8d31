//! Why a process cannot be watched.

use firsttouch_linux::process::{OWN_PROC, SHOWS_OTHERS};
use firsttouch_linux::remote::needs_handles;
use std::io;

/// Why a process cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// There is no such process.
    #[error("there is no process {pid}")]
    NoSuchProcess {
        /// The number asked for.
        pid: u32,
    },
    /// The number is that of a thread.
    #[error("{pid} is a thread, not a process")]
    Thread {
        /// The number asked for.
        pid: u32,
    },
    /// It has ended or is about to, and its parent has not noticed.
    #[error("process {pid} has ended; its parent has not collected it")]
    Ended {
        /// The process.
        pid: u32,
    },
    /// A thread of the kernel.
    #[error("process {pid} is a thread of the kernel: it has no memory of its own")]
    KernelThread {
        /// The process.
        pid: u32,
    },
    /// /proc is that of another PID namespace.
    #[error("cannot look at process {pid}: {SHOWS_OTHERS}")]
    OtherNamespace {
        /// The number asked for.
        pid: u32,
    },
    /// The kernel does not show it.
    #[error("cannot look at process {pid}")]
    Unreadable {
        /// The process.
        pid: u32,
        /// What the kernel answered.
        source: io::Error,
    },
}

impl WatchError {
    /// What would mend it.
    pub fn hint(&self) -> String {
        match self {
            WatchError::Thread { pid } => {
                format!("grep Tgid /proc/{pid}/status   # the process it belongs to")
            }
            WatchError::OtherNamespace { .. } => OWN_PROC.to_owned(),
            WatchError::Unreadable { pid, source } => needs_handles(source).map_or_else(
                || {
                    format!(
                        "ls -ld /proc/{pid}   # as its user or as root; /proc may be mounted with hidepid"
                    )
                },
                str::to_owned,
            ),
            _ => "ps -eo pid,stat,args   # the processes there are".to_owned(),
        }
    }
}
