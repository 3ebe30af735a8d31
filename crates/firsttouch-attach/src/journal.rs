//! The journal: what was there before each step, written before the step is made.
//!
//! Lines of JSON, each a document of the kind `attach-journal`, in a file of its own for each process ([`Owner`]), readable by its
//! user alone. Lines that were written before there were kinds have none, and are read all the same. Each attach
//! adds a [`JournalBegin`] and a [`JournalEntry::End`]; what was taken back is noted, so that an undo can be taken up again.
//!
//! Invariant: a line is in the file before the step that it describes is made (`firsttouch-journal`).

use firsttouch_documents::{JournalBegin, JournalEntry, ProgramImage, to_line};
use firsttouch_journal::{JournalError, JournalFile, parse};
use firsttouch_linux::process::pid_namespace;
use firsttouch_linux::root::Root;
use std::io;
use std::path::{Path, PathBuf};

/// What a journal says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JournalHistory {
    /// Its whole lines.
    pub entries: Vec<JournalEntry>,
    /// Bytes of the whole lines; anything after them was cut off.
    pub whole_bytes: u64,
}

impl JournalHistory {
    /// Reads the text of a journal; the line that does not read, from 0, as the error.
    pub fn parse(text: &[u8]) -> Result<JournalHistory, usize> {
        let (entries, whole_bytes) = parse::<JournalEntry>(text)?;
        // Whatever begins otherwise is not ours to change.
        match entries.first() {
            None | Some(JournalEntry::Begin(_)) => Ok(JournalHistory { entries, whole_bytes }),
            Some(_) => Err(0),
        }
    }

    /// The first attach, with the process as it was then.
    pub fn begin(&self) -> Option<&JournalBegin> {
        self.entries
            .iter()
            .find_map(|entry| if let JournalEntry::Begin(begin) = entry { Some(&**begin) } else { None })
    }

    /// The steps that were not taken back, newest first, with their lines.
    pub fn open_steps(&self) -> Vec<(usize, &JournalEntry)> {
        let undone: std::collections::HashSet<usize> = self
            .entries
            .iter()
            .filter_map(|entry| if let JournalEntry::Undone { line } = entry { Some(*line) } else { None })
            .collect();
        let steps = self.entries.iter().enumerate().rev();
        let is_step = |entry: &JournalEntry| {
            matches!(
                entry,
                JournalEntry::Affinity { .. } | JournalEntry::Collapse { .. } | JournalEntry::Move { .. }
            )
        };
        steps.filter(|(line, entry)| is_step(entry) && !undone.contains(line)).collect()
    }

    /// What is to be taken back of a process that is this program, newest first. Attaches to the program that it was before are in the same
    /// journal.
    pub(crate) fn steps(&self, image: &ProgramImage) -> Vec<Step> {
        let mut begins = self.entries.iter().enumerate().rev().filter_map(|(line, entry)| match entry {
            JournalEntry::Begin(begin) => Some((line, begin)),
            _ => None,
        });
        let mut begin = begins.next();
        let step = |(line, entry): (usize, &JournalEntry)| {
            while begin.is_some_and(|(at, _)| at > line) {
                begin = begins.next();
            }
            Step {
                line,
                entry: entry.clone(),
                same_program: begin.is_some_and(|(_, begin)| begin.image == *image),
                began_ticks: begin.and_then(|(_, begin)| begin.began_ticks),
            }
        };
        self.open_steps().into_iter().map(step).collect()
    }

    /// How many of them can be taken back.
    pub fn undo_steps(&self) -> u64 {
        self.open_steps().iter().filter(|(_, entry)| entry.can_be_taken_back()).count() as u64
    }

    /// Whether the last attach or undo was cut off before its end.
    pub fn is_cut_off(&self) -> bool {
        self.entries.last().is_some_and(|entry| !matches!(entry, JournalEntry::End { .. }))
    }
}

/// Whose journal it is. A number and a start time are those of one process in a boot of a machine and in a PID namespace only, and
/// machines and containers may have the folder in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The process.
    pub pid: u32,
    /// When it began, in clock ticks after boot.
    pub start_ticks: u64,
    /// The boot; empty where the kernel does not tell.
    pub boot_id: String,
    /// The PID namespace that has this number for it; `None` where the kernel does not tell.
    pub pid_namespace: Option<u64>,
}

impl Owner {
    /// A process of this machine, by the number that we have for it.
    pub fn of(root: &Root, pid: u32, start_ticks: u64) -> Owner {
        Owner { pid, start_ticks, boot_id: boot_id(root), pid_namespace: pid_namespace(root) }
    }

    /// The file of its journal.
    pub fn path(&self, folder: &Path) -> PathBuf {
        let Owner { pid, start_ticks, boot_id, pid_namespace } = self;
        let namespace = pid_namespace.unwrap_or(0);
        // Random, and a part of it does.
        let boot = boot_id.split('-').next().unwrap_or_default();
        folder.join(format!("{pid}-{start_ticks}-{namespace}-{boot}.jsonl"))
    }

    fn at_work(&self) -> String {
        format!("is attached to process {}", self.pid)
    }
}

/// The name of this boot; empty where the kernel does not tell.
pub(crate) fn boot_id(root: &Root) -> String {
    let id = root.read("proc/sys/kernel/random/boot_id").ok().flatten().unwrap_or_default();
    id.trim().to_owned()
}

/// A journal that is written to. While it is open, nobody else writes to it.
#[derive(Debug)]
pub struct Journal {
    /// `None` where nothing is to be written.
    file: Option<JournalFile>,
    history: JournalHistory,
}

impl Journal {
    /// Opens the journal of a process in `folder`, or makes one that only its user can read.
    pub fn open(folder: &Path, owner: &Owner) -> Result<Journal, JournalError> {
        // What it changes goes with the machine: its lines need not outlast a crash of that.
        Journal::of(JournalFile::open(&owner.path(folder), &owner.at_work(), false)?)
    }

    /// Opens the journal of a process to go back by it: one that is not there is not made.
    pub(crate) fn open_kept(folder: &Path, owner: &Owner) -> Result<Journal, JournalError> {
        let opened = JournalFile::open_kept(&owner.path(folder), &owner.at_work())?;
        opened.map_or_else(|| Ok(Journal::nowhere()), Journal::of)
    }

    fn of((mut file, text): (JournalFile, Vec<u8>)) -> Result<Journal, JournalError> {
        let history = JournalHistory::parse(&text)
            .map_err(|line| JournalError::Line { path: file.path().to_owned(), line })?;
        file.cut(history.whole_bytes)?;
        Ok(Journal { file: Some(file), history })
    }

    /// The journal of who makes no step: a step that is written to it fails.
    pub(crate) fn nowhere() -> Journal {
        Journal { file: None, history: JournalHistory::default() }
    }

    /// Adds a line; returns its number when it is in the file.
    pub fn write(&mut self, entry: JournalEntry) -> Result<usize, JournalError> {
        let nowhere = || JournalError::Io {
            what: "write",
            path: PathBuf::new(),
            source: io::ErrorKind::NotFound.into(),
        };
        let line = to_line(&entry);
        self.file.as_mut().ok_or_else(nowhere)?.write(&line)?;
        self.history.whole_bytes += line.len() as u64;
        self.history.entries.push(entry);
        Ok(self.history.entries.len() - 1)
    }

    /// What it says so far.
    pub fn history(&self) -> &JournalHistory {
        &self.history
    }

    /// The file; an empty path where nothing is written.
    pub fn path(&self) -> &Path {
        self.file.as_ref().map_or(Path::new(""), JournalFile::path)
    }

    /// Removes the file where it holds no step that could be taken back.
    pub fn discard_if_empty(self) -> Option<PathBuf> {
        let file = self.file?;
        if self.history.open_steps().is_empty() {
            file.remove();
            return None;
        }
        Some(file.path().to_owned())
    }
}

/// A step that was not taken back yet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Its line in the journal.
    pub(crate) line: usize,
    pub(crate) entry: JournalEntry,
    /// The process is the program that it was then.
    pub(crate) same_program: bool,
    /// When its attach began, in clock ticks after boot, where the journal tells.
    pub(crate) began_ticks: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_placement::{AttachAsked, AttachEnded};
    use proptest::prelude::*;
    use std::fs::{self, OpenOptions};
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    fn owner(boot_id: &str) -> Owner {
        Owner { pid: 7, start_ticks: 99, boot_id: boot_id.to_owned(), pid_namespace: Some(9) }
    }

    fn begin(boot_id: &str) -> JournalEntry {
        JournalEntry::Begin(Box::new(JournalBegin {
            pid: 7,
            start_ticks: 99,
            boot_id: boot_id.to_owned(),
            host: Some("host".to_owned()),
            pid_namespace: Some(9),
            image: ProgramImage { program: "/bin/x".to_owned(), start_code: 1, start_stack: 2 },
            command: "x y".to_owned(),
            began: "2026-01-01T00:00:00Z".to_owned(),
            began_ticks: Some(100),
            asked: AttachAsked { huge_pages: true, ..AttachAsked::default() },
        }))
    }

    fn entry() -> impl Strategy<Value = JournalEntry> {
        prop_oneof![
            (any::<u32>(), any::<u64>()).prop_map(|(thread, start_ticks)| JournalEntry::Affinity {
                thread,
                start_ticks,
                before: "0-3".to_owned(),
                given: "2".to_owned()
            }),
            (any::<u64>(), any::<u64>()).prop_map(|(start, bytes)| JournalEntry::Collapse { start, bytes }),
            (any::<u64>(), "[0-9*,-]{0,9}", proptest::option::of("[0-9*,-]{0,9}"))
                .prop_map(|(start, nodes, to)| JournalEntry::Move { start, nodes, to }),
            (0usize..20).prop_map(|line| JournalEntry::Undone { line }),
            Just(JournalEntry::End { ended: AttachEnded::Interrupted }),
        ]
    }

    fn text(entries: &[JournalEntry]) -> Vec<u8> {
        let lines = entries.iter().map(to_line);
        lines.collect::<String>().into_bytes()
    }

    #[test]
    fn a_journal_is_its_users_alone_and_goes_on_where_it_was_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("a/b");
        let owner = owner("boot");
        let mut journal = Journal::open(&place, &owner).unwrap();
        let step = |start| JournalEntry::Move { start, nodes: "0*2".to_owned(), to: Some("1,-".to_owned()) };
        journal.write(begin("boot")).unwrap();
        assert_eq!(journal.write(step(4096)).unwrap(), 1);
        let busy = Journal::open(&place, &owner).unwrap_err();
        assert!(matches!(busy, JournalError::Busy { .. }), "{busy}");
        assert_eq!(busy.to_string(), "another firsttouch is attached to process 7 right now");
        let path = journal.path().to_owned();
        drop(journal);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&place)), (0o600, 0o700));
        // Cut off in the middle of a line.
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"step\":\"move\",\"sta").unwrap();
        let mut journal = Journal::open(&place, &owner).unwrap();
        assert!(journal.history().is_cut_off());
        assert_eq!(journal.write(step(8192)).unwrap(), 2);
        drop(journal);
        let history = JournalHistory::parse(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(history.open_steps(), [(2, &step(8192)), (1, &step(4096))]);
        // Of another boot, or PID namespace: another process.
        for other in
            [Owner { boot_id: "other".to_owned(), ..owner.clone() }, Owner { pid_namespace: None, ..owner }]
        {
            let journal = Journal::open(&place, &other).unwrap();
            assert_eq!(journal.history(), &JournalHistory::default());
            assert!(journal.discard_if_empty().is_none() && path.exists());
        }
    }

    #[test]
    fn what_was_taken_back_is_no_longer_open() {
        let step = JournalEntry::Move { start: 0, nodes: String::new(), to: None };
        let all = [begin("b"), step.clone(), step.clone(), JournalEntry::Undone { line: 2 }];
        let history = JournalHistory::parse(&text(&all)).unwrap();
        assert_eq!(history.open_steps(), [(1, &step)]);
        assert!(history.is_cut_off());
        assert_eq!(history.begin().map(|begin| begin.pid), Some(7));
    }

    #[test]
    fn steps_are_those_of_the_program_that_they_were_made_to() {
        let image = |start_code| ProgramImage { program: "/bin/x".to_owned(), start_code, start_stack: 2 };
        let begin = |start_code, ticks| match begin("b") {
            JournalEntry::Begin(begin) => JournalEntry::Begin(Box::new(JournalBegin {
                image: image(start_code),
                began_ticks: Some(ticks),
                ..*begin
            })),
            other => other,
        };
        let step = JournalEntry::Move { start: 0, nodes: "0*2".to_owned(), to: None };
        let entries = vec![begin(1, 70), step.clone(), begin(5, 80), step.clone(), step.clone()];
        let history = JournalHistory { entries, whole_bytes: 0 };
        let found: Vec<_> = history
            .steps(&image(5))
            .iter()
            .map(|step| (step.line, step.same_program, step.began_ticks))
            .collect();
        assert_eq!(found, [(4, true, Some(80)), (3, true, Some(80)), (1, false, Some(70))]);
    }

    #[test]
    fn lines_from_before_there_were_kinds_are_read() {
        let old = concat!(
            r#"{"step":"begin","schema_version":1,"pid":7,"start_ticks":99,"boot_id":"b","image":"#,
            r#"{"program":"/bin/x","start_code":1,"start_stack":2},"command":"x y","began":"2026-01-01T00:00:00Z","asked":"#,
            r#"{"huge_pages":true}}"#,
            "\n",
            r#"{"step":"move","start":4096,"nodes":"0*2"}"#,
            "\n",
            r#"{"step":"collapse","start":2097152,"bytes":2097152,"nodes":"0*512"}"#,
            "\n",
        );
        let folder = tempfile::tempdir().unwrap();
        fs::write(owner("b").path(folder.path()), old).unwrap();
        let mut journal = Journal::open(folder.path(), &owner("b")).unwrap();
        let step = JournalEntry::Move { start: 4096, nodes: "0*2".to_owned(), to: None };
        let collapse = JournalEntry::Collapse { start: 2 << 20, bytes: 2 << 20 };
        assert_eq!(journal.history().open_steps(), [(2, &collapse), (1, &step)]);
        assert_eq!(journal.history().undo_steps(), 1);
        // An undo goes on in the same file.
        journal.write(JournalEntry::Undone { line: 1 }).unwrap();
        let text = fs::read_to_string(journal.path()).unwrap();
        let last = text.lines().last().unwrap();
        assert_eq!(last, r#"{"kind":"attach-journal","schema_version":1,"step":"undone","line":1}"#);
        assert_eq!(JournalHistory::parse(text.as_bytes()).unwrap().undo_steps(), 0);
    }

    #[test]
    fn what_is_not_ours_is_not_read() {
        for (ours, other) in [("attach-journal", "watch"), ("\"schema_version\":1", "\"schema_version\":2")] {
            let other = String::from_utf8(text(&[begin("b")])).unwrap().replace(ours, other);
            assert_eq!(JournalHistory::parse(other.as_bytes()), Err(0), "{other}");
        }
        assert_eq!(JournalHistory::parse(b"hello\n"), Err(0));
        assert_eq!(JournalHistory::parse(b"{\"step\":\"undone\",\"line\":1}\n"), Err(0));
        let mut odd = text(&[begin("b")]);
        odd.extend_from_slice(b"{}\n");
        assert_eq!(JournalHistory::parse(&odd), Err(1));
        let folder = tempfile::tempdir().unwrap();
        fs::write(owner("b").path(folder.path()), &odd).unwrap();
        let error = Journal::open(folder.path(), &owner("b")).unwrap_err();
        assert!(
            matches!(error, JournalError::Line { line: 1, .. }) && error.hint().contains("rm "),
            "{error}"
        );
        // A link would lead our lines into somebody's file.
        let victim = folder.path().join("victim");
        fs::write(&victim, "").unwrap();
        std::os::unix::fs::symlink(&victim, owner("c").path(folder.path())).unwrap();
        assert!(matches!(Journal::open(folder.path(), &owner("c")), Err(JournalError::Io { .. })));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = JournalHistory::parse(&bytes);
        }

        #[test]
        fn a_journal_cut_anywhere_is_its_beginning(
            entries in proptest::collection::vec(entry(), 0..12),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut all = vec![begin("b")];
            all.extend(entries);
            let whole = text(&all);
            prop_assert_eq!(&JournalHistory::parse(&whole).unwrap().entries, &all);
            let part = &whole[..cut.index(whole.len() + 1)];
            let history = JournalHistory::parse(part).unwrap();
            prop_assert_eq!(&history.entries[..], &all[..history.entries.len()]);
            prop_assert!(history.whole_bytes as usize <= part.len());
            prop_assert_eq!(history.entries.len(), part.iter().filter(|byte| **byte == b'\n').count());
            for (line, step) in history.open_steps() {
                prop_assert_eq!(&history.entries[line], step);
            }
        }
    }
}
