//! What `setup` changes of a machine: asked, what was there before, and what was read back; and the lines of its journal.

use firsttouch_placement::Shortfall;
use serde::{Deserialize, Serialize};

/// What a report tells of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SetupAction {
    /// It was only looked at what would change.
    #[default]
    DryRun,
    /// Changes were made.
    Apply,
    /// Earlier ones were taken back.
    Undo,
}

/// What is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SetupKind {
    /// A file of `/proc` or `/sys` that holds a value.
    Setting,
    /// A file that is read at a boot or a login, with its whole text.
    File,
    /// A symbolic link, with what it says.
    Link,
    /// A folder.
    Folder,
    /// A limit of a running process, soft and hard.
    Limit,
    /// Something that is done and leaves nothing to be taken back.
    Once,
}

/// How far a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SetupState {
    /// It would be made.
    Planned,
    /// It is as asked already.
    Already,
    /// It is as asked now.
    Obtained,
    /// It is not, or not wholly, as asked.
    Short,
    /// It was left alone: somebody else has changed it since.
    Left,
}

/// One change of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SetupChange {
    /// What is changed.
    pub what: SetupKind,
    /// The file.
    pub path: String,
    /// What was there before; `None`: nothing.
    pub before: Option<String>,
    /// What is to be there; `None`: nothing.
    pub asked: Option<String>,
    /// What was read back; absent where nothing was done, or nothing is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obtained: Option<String>,
    /// How far it is.
    pub state: SetupState,
    /// Why what was asked was not obtained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortfall: Option<Shortfall>,
    /// What it is good for.
    pub why: String,
    /// The command of the shell that does the same.
    pub command: String,
    /// When the process started whose limit it is, in clock ticks after boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_ticks: Option<u64>,
}

/// What a machine was set up for, or would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SetupReport {
    /// Whether it was done.
    pub action: SetupAction,
    /// What was asked, in the words of the command line.
    pub asked: Vec<String>,
    /// Each change, in the order in which they are made.
    pub changes: Vec<SetupChange>,
    /// What else there is to know.
    pub notes: Vec<String>,
    /// Commands that remain to be typed.
    pub next: Vec<String>,
    /// The file by which the changes can be taken back; `None` where there is nothing to take back.
    pub journal: Option<String>,
    /// The command that takes them back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<String>,
}

/// One line of the journal of `setup`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum SetupEntry {
    /// Changes begin, or are about to be taken back.
    Begin {
        /// Which of the two.
        action: SetupAction,
        /// When (RFC 3339).
        began: String,
        /// What was asked, in the words of the command line.
        asked: Vec<String>,
    },
    /// Something is changed.
    Change {
        /// What is changed.
        what: SetupKind,
        /// The file.
        path: String,
        /// What was there before; `None`: nothing.
        before: Option<String>,
        /// What it is given; `None`: nothing.
        given: Option<String>,
        /// When the process started whose limit it is, in clock ticks after boot.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start_ticks: Option<u64>,
    },
    /// The change of this line (counted from 0), or taking it back, obtained something else than what was given.
    Obtained {
        /// The line.
        line: usize,
        /// What was there afterwards; `None`: nothing.
        value: Option<String>,
    },
    /// The change of this line (counted from 0) was taken back.
    Undone {
        /// The line.
        line: usize,
    },
    /// Everything that was begun is over.
    End,
}
