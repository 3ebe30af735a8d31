//! The journal: what was there before each step, written before the step is made.
//!
//! Lines of JSON in a file of its own for each process (number and start time), readable by its user alone. Each attach
//! adds a [`Begin`] and an [`Entry::End`]; what was taken back is noted, so that an undo can be taken up again.
//!
//! Invariant: a line is in the file (`write(2)` has answered) before the step that it describes is made. A last line
//! without its end was cut off by a crash, and its step was never made: it is read as absent.

use crate::target::Image;
use firsttouch_placement::{AttachAsked, AttachEnded};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Version of the lines.
pub const JOURNAL_VERSION: u32 = 1;

/// What an attach begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// [`JOURNAL_VERSION`].
    pub schema_version: u32,
    /// The process.
    pub pid: u32,
    /// When the process started, in clock ticks after boot.
    pub start_ticks: u64,
    /// The boot that it belongs to.
    pub boot_id: String,
    /// The program that it is.
    pub image: Image,
    /// Its words.
    pub command: String,
    /// When the attach began (RFC 3339).
    pub began: String,
    /// What was asked.
    pub asked: AttachAsked,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum Entry {
    /// An attach begins.
    Begin(Begin),
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
    /// A range is collapsed onto huge pages.
    Collapse {
        /// First address.
        start: u64,
        /// Its size.
        bytes: u64,
        /// The node of each 4 KiB page before; absent on machines with one node.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nodes: Option<String>,
    },
    /// Pages of a range are moved to other nodes.
    Move {
        /// First address.
        start: u64,
        /// The node of each 4 KiB page before.
        nodes: String,
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

impl Entry {
    /// Whether it is a step with a way back. What is collapsed stays huge: of a collapse only pages that it brought together from
    /// several nodes go back.
    pub fn can_be_taken_back(&self) -> bool {
        matches!(self, Entry::Affinity { .. } | Entry::Move { .. } | Entry::Collapse { nodes: Some(_), .. })
    }
}

/// What is wrong with a journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It cannot be made, read or written.
    #[error("cannot {what} the journal {}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the kernel answered.
        source: io::Error,
    },
    /// A line in it is none of ours.
    #[error("line {} of the journal {} does not read", line + 1, path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 0.
        line: usize,
    },
    /// Another attach or undo of the same process is at work.
    #[error("another firsttouch is attached to process {pid} right now")]
    Busy {
        /// The process.
        pid: u32,
    },
}

impl JournalError {
    /// The line that mends it.
    pub fn hint(&self) -> String {
        match self {
            JournalError::Io { .. } => {
                "no step is made without a journal: set XDG_STATE_HOME to a folder of your own on a disk with room".to_owned()
            }
            JournalError::Line { path, .. } => {
                format!("it was changed by somebody else; to give up what it knows: rm {}", path.display())
            }
            JournalError::Busy { .. } => "wait for it, or end it by Ctrl-C; its steps stay in the journal".to_owned(),
        }
    }
}

/// What a journal says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Story {
    /// Its whole lines.
    pub entries: Vec<Entry>,
    /// Bytes of the whole lines; anything after them was cut off.
    pub whole_bytes: u64,
}

impl Story {
    /// Reads the text of a journal; the line that does not read, from 0, as the error.
    pub fn parse(text: &[u8]) -> Result<Story, usize> {
        let whole_bytes = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let lines = text[..whole_bytes].split_inclusive(|byte| *byte == b'\n').enumerate();
        let entries: Result<Vec<Entry>, usize> =
            lines.map(|(number, line)| serde_json::from_slice(line).map_err(|_| number)).collect();
        let entries = entries?;
        // Whatever begins otherwise is not ours to change.
        match entries.first() {
            None | Some(Entry::Begin(_)) => Ok(Story { entries, whole_bytes: whole_bytes as u64 }),
            Some(_) => Err(0),
        }
    }

    /// The first attach, with the process as it was then.
    pub fn begin(&self) -> Option<&Begin> {
        self.entries.iter().find_map(|entry| if let Entry::Begin(begin) = entry { Some(begin) } else { None })
    }

    /// The steps that were not taken back, newest first, with their lines.
    pub fn open_steps(&self) -> Vec<(usize, &Entry)> {
        let undone: std::collections::HashSet<usize> = self
            .entries
            .iter()
            .filter_map(|entry| if let Entry::Undone { line } = entry { Some(*line) } else { None })
            .collect();
        let steps = self.entries.iter().enumerate().rev();
        let is_step = |entry: &Entry| {
            matches!(entry, Entry::Affinity { .. } | Entry::Collapse { .. } | Entry::Move { .. })
        };
        steps.filter(|(line, entry)| is_step(entry) && !undone.contains(line)).collect()
    }

    /// How many of them can be taken back.
    pub fn undo_steps(&self) -> u64 {
        self.open_steps().iter().filter(|(_, entry)| entry.can_be_taken_back()).count() as u64
    }

    /// Whether the last attach or undo was cut off before its end.
    pub fn is_cut_off(&self) -> bool {
        self.entries.last().is_some_and(|entry| !matches!(entry, Entry::End { .. }))
    }

    /// Every mask that a thread was given and that was not taken back.
    pub fn masks_given(&self) -> Vec<&str> {
        let steps = self.open_steps().into_iter();
        steps
            .filter_map(
                |(_, entry)| {
                    if let Entry::Affinity { given, .. } = entry { Some(given.as_str()) } else { None }
                },
            )
            .collect()
    }
}

/// A journal that is written to. While it is open, nobody else writes to it.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    /// `None` where nothing is to be written.
    file: Option<File>,
    story: Story,
}

impl Journal {
    /// Opens the journal of a process in `folder`, or makes one that only its user can read. What an earlier boot left under
    /// the same name is of another process, and goes.
    pub fn open(folder: &Path, pid: u32, start_ticks: u64, boot_id: &str) -> Result<Journal, JournalError> {
        let failed = |what, path: &Path| {
            let path = path.to_owned();
            move |source| JournalError::Io { what, path, source }
        };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed("make", folder))?;
        let path = path_of(folder, pid, start_ticks);
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&path)
            .map_err(failed("make", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(JournalError::Busy { pid }),
            Err(fs::TryLockError::Error(source)) => return Err(failed("lock", &path)(source)),
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed("read", &path))?;
        let mut story =
            Story::parse(&text).map_err(|line| JournalError::Line { path: path.clone(), line })?;
        if story.begin().is_some_and(|begin| begin.boot_id != boot_id) {
            story = Story::default();
        }
        if story.whole_bytes < text.len() as u64 {
            file.set_len(story.whole_bytes).map_err(failed("mend", &path))?;
        }
        Ok(Journal { path, file: Some(file), story })
    }

    /// The journal of who makes no step: a step that is written to it fails.
    pub(crate) fn nowhere() -> Journal {
        Journal { path: PathBuf::new(), file: None, story: Story::default() }
    }

    /// Adds a line; returns its number when it is in the file.
    pub fn write(&mut self, entry: Entry) -> Result<usize, JournalError> {
        let failed = |source| JournalError::Io { what: "write", path: self.path.clone(), source };
        let mut line = serde_json::to_vec(&entry).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        // One call: a reader sees the line whole or, after a crash, cut off at its end.
        let Some(file) = &mut self.file else { return Err(failed(io::ErrorKind::NotFound.into())) };
        if let Err(source) = file.write_all(&line) {
            // What came to the file of it must not join with a later line.
            let _ = file.set_len(self.story.whole_bytes);
            return Err(failed(source));
        }
        self.story.whole_bytes += line.len() as u64;
        self.story.entries.push(entry);
        Ok(self.story.entries.len() - 1)
    }

    /// What it says so far.
    pub fn story(&self) -> &Story {
        &self.story
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the file where it holds no step that could be taken back.
    pub fn discard_if_empty(mut self) -> Option<PathBuf> {
        if self.file.is_none() {
            None
        } else if self.story.open_steps().is_empty() {
            // A journal that stays is only listed once more.
            let _ = fs::remove_file(&self.path);
            None
        } else {
            Some(std::mem::take(&mut self.path))
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // A child that was forked meanwhile, and is not its program yet, would keep the lock.
        if let Some(file) = &self.file {
            let _ = file.unlock();
        }
    }
}

/// The name of a process's journal.
pub(crate) fn path_of(folder: &Path, pid: u32, start_ticks: u64) -> PathBuf {
    folder.join(format!("{pid}-{start_ticks}.jsonl"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::fs::PermissionsExt;

    fn begin(boot_id: &str) -> Entry {
        Entry::Begin(Begin {
            schema_version: JOURNAL_VERSION,
            pid: 7,
            start_ticks: 99,
            boot_id: boot_id.to_owned(),
            image: Image { program: "/bin/x".to_owned(), start_code: 1, start_stack: 2 },
            command: "x y".to_owned(),
            began: "2026-01-01T00:00:00Z".to_owned(),
            asked: AttachAsked { huge_pages: true, ..AttachAsked::default() },
        })
    }

    fn entry() -> impl Strategy<Value = Entry> {
        prop_oneof![
            (any::<u32>(), any::<u64>()).prop_map(|(thread, start_ticks)| Entry::Affinity {
                thread,
                start_ticks,
                before: "0-3".to_owned(),
                given: "2".to_owned()
            }),
            (any::<u64>(), any::<u64>(), proptest::option::of("[0-9*,-]{0,9}"))
                .prop_map(|(start, bytes, nodes)| Entry::Collapse { start, bytes, nodes }),
            (any::<u64>(), "[0-9*,-]{0,9}").prop_map(|(start, nodes)| Entry::Move { start, nodes }),
            (0usize..20).prop_map(|line| Entry::Undone { line }),
            Just(Entry::End { ended: AttachEnded::Interrupted }),
        ]
    }

    fn text(entries: &[Entry]) -> Vec<u8> {
        let lines = entries.iter().map(|entry| serde_json::to_string(entry).unwrap() + "\n");
        lines.collect::<String>().into_bytes()
    }

    #[test]
    fn a_journal_is_its_users_alone_and_goes_on_where_it_was_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("a/b");
        let mut journal = Journal::open(&place, 7, 99, "boot").unwrap();
        let step = |start| Entry::Move { start, nodes: "0*2".to_owned() };
        journal.write(begin("boot")).unwrap();
        assert_eq!(journal.write(step(4096)).unwrap(), 1);
        assert!(matches!(Journal::open(&place, 7, 99, "boot"), Err(JournalError::Busy { pid: 7 })));
        let path = journal.path().to_owned();
        drop(journal);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&place)), (0o600, 0o700));
        // Cut off in the middle of a line.
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"step\":\"move\",\"sta").unwrap();
        let mut journal = Journal::open(&place, 7, 99, "boot").unwrap();
        assert!(journal.story().is_cut_off());
        assert_eq!(journal.write(step(8192)).unwrap(), 2);
        drop(journal);
        let story = Story::parse(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(story.open_steps(), [(2, &step(8192)), (1, &step(4096))]);
        // Of another boot: another process.
        let journal = Journal::open(&place, 7, 99, "other boot").unwrap();
        assert_eq!(journal.story(), &Story::default());
        assert!(journal.discard_if_empty().is_none() && !path.exists());
    }

    #[test]
    fn what_was_taken_back_is_no_longer_open() {
        let step = Entry::Move { start: 0, nodes: String::new() };
        let all = [begin("b"), step.clone(), step.clone(), Entry::Undone { line: 2 }];
        let story = Story::parse(&text(&all)).unwrap();
        assert_eq!(story.open_steps(), [(1, &step)]);
        assert!(story.is_cut_off());
        assert_eq!(story.begin().map(|begin| begin.pid), Some(7));
    }

    #[test]
    fn what_is_not_ours_is_not_read() {
        assert_eq!(Story::parse(b"hello\n"), Err(0));
        assert_eq!(Story::parse(b"{\"step\":\"undone\",\"line\":1}\n"), Err(0));
        let mut odd = text(&[begin("b")]);
        odd.extend_from_slice(b"{}\n");
        assert_eq!(Story::parse(&odd), Err(1));
        let folder = tempfile::tempdir().unwrap();
        fs::write(path_of(folder.path(), 7, 99), &odd).unwrap();
        let error = Journal::open(folder.path(), 7, 99, "b").unwrap_err();
        assert!(
            matches!(error, JournalError::Line { line: 1, .. }) && error.hint().contains("rm "),
            "{error}"
        );
        // A link would lead our lines into somebody's file.
        let victim = folder.path().join("victim");
        fs::write(&victim, "").unwrap();
        std::os::unix::fs::symlink(&victim, path_of(folder.path(), 8, 1)).unwrap();
        assert!(matches!(Journal::open(folder.path(), 8, 1, "b"), Err(JournalError::Io { .. })));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Story::parse(&bytes);
        }

        #[test]
        fn a_journal_cut_anywhere_is_its_beginning(
            entries in proptest::collection::vec(entry(), 0..12),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut all = vec![begin("b")];
            all.extend(entries);
            let whole = text(&all);
            prop_assert_eq!(&Story::parse(&whole).unwrap().entries, &all);
            let part = &whole[..cut.index(whole.len() + 1)];
            let story = Story::parse(part).unwrap();
            prop_assert_eq!(&story.entries[..], &all[..story.entries.len()]);
            prop_assert!(story.whole_bytes as usize <= part.len());
            prop_assert_eq!(story.entries.len(), part.iter().filter(|byte| **byte == b'\n').count());
            for (line, step) in story.open_steps() {
                prop_assert_eq!(&story.entries[line], step);
            }
        }
    }
}
