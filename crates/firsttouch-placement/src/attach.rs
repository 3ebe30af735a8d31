//! What was done to a process that already ran: asked, obtained before and after, and how to go back.

use crate::{MemoryPolicy, Receipt, Shortfall, ThreadPlacement};
use firsttouch_machine::OwnDevices;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What somebody wants for a process that already runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct AttachAsked {
    /// Collapse memory onto transparent huge pages: all that can be had from outside.
    pub huge_pages: bool,
    /// The nodes that its pages are moved to. Pages that it creates later follow its own policy.
    pub memory: MemoryPolicy,
    /// The CPUs that its threads are bound to.
    pub threads: ThreadPlacement,
    /// The node that the whole process was to go to, threads included; `memory` says so too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// The devices that it was to go near.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub near: Vec<String>,
    /// Pages of files too.
    pub files: bool,
    /// Its descendants too.
    pub tree: bool,
    /// The strategy of `balance` that chooses a CPU for each busy thread, by what these did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
}

/// How the steps were carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ExecutorKind {
    /// By calls on the process from ours.
    #[default]
    Remote,
    /// By the agent in the process, over its control channel.
    InProcess,
}

/// What a report tells of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AttachAction {
    /// A placement was carried out.
    #[default]
    Attach,
    /// It was only looked at what would change.
    DryRun,
    /// An earlier placement was taken back.
    Undo,
}

/// Why it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AttachEnded {
    /// Everything was gone through.
    #[default]
    Done,
    /// We were asked to stop.
    Interrupted,
    /// The process ended meanwhile.
    TargetEnded,
    /// The process became another program meanwhile: its old addresses mean nothing any more.
    TargetExec,
    /// Somebody began to trace the process (a debugger, a checkpoint).
    TargetTraced,
    /// Somebody stopped the process.
    TargetStopped,
    /// The kernel, or the agent, would not go on.
    Refused,
    /// The journal could not be written: no step is made that could not be taken back.
    JournalFailed,
    /// Calls kept taking longer than a pause may be.
    StallLimit,
}

impl AttachEnded {
    /// Whether steps can be taken back, and gone on with: not those of a process that is no more.
    pub fn may_be_undone(self) -> bool {
        self != AttachEnded::TargetEnded
    }

    /// The word of the document.
    pub fn word(self) -> &'static str {
        match self {
            AttachEnded::Done => "done",
            AttachEnded::Interrupted => "interrupted",
            AttachEnded::TargetEnded => "target-ended",
            AttachEnded::TargetExec => "target-exec",
            AttachEnded::TargetTraced => "target-traced",
            AttachEnded::TargetStopped => "target-stopped",
            AttachEnded::Refused => "refused",
            AttachEnded::JournalFailed => "journal-failed",
            AttachEnded::StallLimit => "stall-limit",
        }
    }

    /// The same as a sentence about the process.
    pub fn sentence(self) -> &'static str {
        match self {
            AttachEnded::Done => "everything was gone through",
            AttachEnded::Interrupted => "stopped on request before everything was gone through",
            AttachEnded::TargetEnded => "the process ended meanwhile",
            AttachEnded::TargetExec => "the process became another program meanwhile",
            AttachEnded::TargetTraced => {
                "somebody began to trace the process: it was left alone from then on"
            }
            AttachEnded::TargetStopped => "somebody stopped the process: it was left alone from then on",
            AttachEnded::Refused => "the kernel refused to go on",
            AttachEnded::JournalFailed => "the journal could not be written: nothing more was changed",
            AttachEnded::StallLimit => {
                "pauses could not be kept as short as asked: the process was left alone from then on"
            }
        }
    }
}

impl fmt::Display for AttachEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What there is to change, as seen before the first step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct AttachPlan {
    /// Bytes in blocks that can be collapsed onto huge pages.
    pub collapse_bytes: u64,
    /// Bytes that lie on other nodes than asked.
    pub move_bytes: u64,
    /// Threads whose CPUs are others than asked.
    pub threads: u32,
}

/// Asked, before, after, and what stood in the way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct AttachReport {
    /// The process.
    pub pid: u32,
    /// What this report tells of.
    pub action: AttachAction,
    /// What was asked; of an undo: nothing.
    pub asked: AttachAsked,
    /// What there was to change.
    pub planned: AttachPlan,
    /// The process before the first step.
    pub before: Receipt,
    /// The process after the last one; after a dry run, or where it could not be read any more, as far as known.
    pub after: Receipt,
    /// Bytes that lie on the node they were moved to, read back.
    pub moved_bytes: u64,
    /// Bytes that are on huge pages since, read back.
    pub collapsed_bytes: u64,
    /// Threads whose CPUs were set, read back.
    pub bound_threads: u32,
    /// The longest single call, which bounds what a thread of the process can have waited for us, in milliseconds.
    pub worst_pause_ms: f64,
    /// Of that call, what it used of a processor; the rest it waited: for one, or because the host of a virtual machine had
    /// taken it. `None` where the agent made it.
    #[serde(default)]
    pub worst_pause_cpu_ms: Option<f64>,
    /// The longest pause that was allowed, in milliseconds.
    pub stall_limit_ms: f64,
    /// Time from the first step to the last, in seconds.
    pub wall_s: f64,
    /// Reasons for everything that did not get what was asked.
    pub shortfalls: Vec<Shortfall>,
    /// The file that tells of the steps; `None` where none was made.
    pub journal: Option<String>,
    /// Steps that an undo can take back. What is collapsed stays huge, and where the process has ended there are none.
    #[serde(default)]
    pub undo_steps: u64,
    /// How the steps were carried out.
    pub executor: ExecutorKind,
    /// Why it ended.
    pub ended: AttachEnded,
    /// The devices that the process uses, where it was to go near them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_devices: Option<OwnDevices>,
    /// Remarks that are no shortfalls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The descendants that were attached too, each with a report of its own.
    #[serde(default)]
    pub children: Vec<AttachReport>,
}

/// A process that is attached to, by its journal; an entry of `attach --list --json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct AttachedProcess {
    /// The journal's file.
    pub journal: String,
    /// The process; this and what follows of it is `None` where the journal does not read.
    pub pid: Option<u32>,
    /// Its words.
    pub command: Option<String>,
    /// When it was attached to first (RFC 3339).
    pub began: Option<String>,
    /// It still runs.
    pub alive: bool,
    /// The last attach or undo was cut off.
    pub cut_off: bool,
    /// Steps that can be taken back.
    pub steps: usize,
}
