//! The lines of the journal of `attach`: what was there before each step, from which the step is taken back.

use firsttouch_placement::{AttachAsked, AttachEnded};
use serde::{Deserialize, Serialize};

/// The program that a process is. Its start time stays when it becomes another by `exec`; this does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ProgramImage {
    /// The file it was started from.
    pub program: String,
    /// Where its code begins.
    pub start_code: u64,
    /// Where its stack began.
    pub start_stack: u64,
}

/// What an attach begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct JournalBegin {
    /// The process.
    pub pid: u32,
    /// When the process started, in clock ticks after boot.
    pub start_ticks: u64,
    /// The boot that it belongs to.
    pub boot_id: String,
    /// The name of the machine: the folder may be that of several. Absent where the kernel did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The PID namespace in which the process has this number; absent where the kernel did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid_namespace: Option<u64>,
    /// The program that it is.
    pub image: ProgramImage,
    /// Its words.
    pub command: String,
    /// When the attach began (RFC 3339).
    pub began: String,
    /// The same in clock ticks after boot, as processes tell when they started; absent in older journals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_ticks: Option<u64>,
    /// What was asked.
    pub asked: AttachAsked,
}

/// One line of the journal of an attach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum JournalEntry {
    /// An attach begins.
    Begin(Box<JournalBegin>),
    /// The CPUs of a thread are set.
    Affinity {
        /// The thread.
        thread: u32,
        /// When it started.
        start_ticks: u64,
        /// The CPUs before, as a list.
        before: String,
        /// The CPUs that it is given.
        given: String,
    },
    /// A range is collapsed onto huge pages. There is no way back: no call from outside splits them, and each has one node.
    Collapse {
        /// First address.
        start: u64,
        /// Its size.
        bytes: u64,
    },
    /// Pages of a range are moved to other nodes.
    Move {
        /// First address.
        start: u64,
        /// The node of each 4 KiB page before.
        nodes: String,
        /// The node that each is moved to, none for those that stay; absent in older journals, where all that lie elsewhere since count as
        /// moved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
    },
    /// The step of this line (counted from 0) was taken back, or is not there any more.
    Undone {
        /// The line.
        line: usize,
    },
    /// The attach, or the undo, is over.
    End {
        /// Why.
        ended: AttachEnded,
    },
}

impl JournalEntry {
    /// Whether it is a step with a way back.
    pub fn can_be_taken_back(&self) -> bool {
        matches!(self, JournalEntry::Affinity { .. } | JournalEntry::Move { .. })
    }
}
