//! What the guest is to do, as it lies in its file system.

use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;

/// Where the job lies in the guest.
pub(crate) const JOB: &str = "/run/firsttouch-lab/job.json";
/// Our own program in the guest.
pub(crate) const OWN: &str = "/usr/bin/firsttouch";

/// Everything the guest does before it switches itself off.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Job {
    /// Commands in order.
    pub(crate) commands: Vec<GuestCommand>,
    /// Modules of the kernel to load first.
    pub(crate) modules: Vec<PathBuf>,
    /// Nodes whose plugged memory is made usable.
    pub(crate) online: Vec<u32>,
    /// The mode of transparent huge pages.
    pub(crate) thp: Option<String>,
    /// A shell at the end.
    pub(crate) shell: bool,
}

/// One command in the guest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct GuestCommand {
    /// The file to execute.
    pub(crate) program: PathBuf,
    /// Its arguments, the first being its name.
    pub(crate) words: Vec<OsString>,
    /// The folder it runs in.
    pub(crate) folder: PathBuf,
    /// Its environment.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// The CPUs and nodes it is confined to.
    pub(crate) cpuset: Cpuset,
    /// Files to hand back when it has ended.
    pub(crate) copy_out: Vec<PathBuf>,
}

/// What a container would allow a command: a control group's `cpuset.cpus` and `cpuset.mems` (cgroup version 2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpuset {
    /// CPUs, as a list; all where absent.
    pub cpus: Option<String>,
    /// Memory nodes, as a list; all where absent.
    pub nodes: Option<String>,
}

/// How a command in the guest ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// With this status.
    Exited(u8),
    /// By this signal.
    Signaled(u8),
    /// It could not be started; the kernel's answer.
    NotStarted(String),
}

impl Ending {
    /// The status a shell gives: that of the program, 128 and the signal, or 126.
    pub fn code(&self) -> u8 {
        match self {
            Ending::Exited(code) => *code,
            Ending::Signaled(signal) => signal.saturating_add(128),
            Ending::NotStarted(_) => 126,
        }
    }
}
