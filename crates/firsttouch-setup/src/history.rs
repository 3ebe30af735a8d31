//! The journal of `setup`: what was there before each change, and which changes can still be taken back.

use crate::{SetupError, Site, Topic};
use firsttouch_documents::{SetupAction, SetupEntry, SetupKind, to_line};
use firsttouch_journal::{JournalError, JournalFile, parse};
use std::fs;
use std::io;

/// Where it lies: it is of the machine, and outlasts boots as the files do that it tells of.
const JOURNAL: &str = "/var/lib/firsttouch/setup.jsonl";

/// The path of a machine's journal.
pub fn journal_path() -> &'static str {
    JOURNAL
}

/// What a journal says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetupHistory {
    /// Its whole lines.
    pub entries: Vec<SetupEntry>,
    /// Bytes of the whole lines; anything after them was cut off.
    pub whole_bytes: u64,
}

impl SetupHistory {
    /// Reads the text of a journal; the line that does not read, from 0, as the error.
    pub fn parse(text: &[u8]) -> Result<SetupHistory, usize> {
        let (entries, whole_bytes) = parse(text)?;
        match entries.first() {
            None | Some(SetupEntry::Begin { .. }) => Ok(SetupHistory { entries, whole_bytes }),
            Some(_) => Err(0),
        }
    }

    /// Reads that of a machine, and writes nothing. Nothing where there is none.
    pub fn read(site: &Site) -> Result<SetupHistory, SetupError> {
        let path = site.disk(JOURNAL);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(SetupHistory::default()),
            Err(source) => return Err(SetupError::io("read", &path.to_string_lossy(), source)),
        };
        SetupHistory::parse(&text).map_err(|line| JournalError::Line { path, line }.into())
    }

    /// The changes that were not taken back, newest first, as their lines.
    pub fn open_changes(&self) -> Vec<usize> {
        let undone = |line: usize| self.entries.contains(&SetupEntry::Undone { line });
        let changes = self.entries.iter().enumerate().rev();
        changes
            .filter(|(line, entry)| matches!(entry, SetupEntry::Change { .. }) && !undone(*line))
            .map(|(line, _)| line)
            .collect()
    }

    /// What was there after the change of a line, or after it could not be taken back, where that is not what was given.
    pub(crate) fn obtained(&self, line: usize) -> Option<&Option<String>> {
        self.entries.iter().rev().find_map(|entry| match entry {
            SetupEntry::Obtained { line: of, value } if *of == line => Some(value),
            _ => None,
        })
    }

    /// The last session was cut off before its end.
    pub fn is_cut_off(&self) -> bool {
        self.entries.last().is_some_and(|last| *last != SetupEntry::End)
    }

    /// The changes that a session which was cut off left open, newest first: those that it made, or those that it was about to
    /// take back.
    pub(crate) fn left_open(&self) -> Vec<usize> {
        if !self.is_cut_off() {
            return Vec::new();
        }
        let begin = self.entries.iter().rposition(|entry| matches!(entry, SetupEntry::Begin { .. }));
        match begin.map(|line| (line, &self.entries[line])) {
            Some((_, SetupEntry::Begin { action: SetupAction::Undo, asked, .. })) => {
                self.open_of(Topic::of(asked)).0
            }
            begin => {
                let mut open = self.open_changes();
                open.retain(|line| begin.is_none_or(|(begin, _)| *line > begin));
                open
            }
        }
    }

    /// The changes that were not taken back, newest first: those of a topic, or all; and of these the ones that cannot be taken
    /// back, because another topic has changed the same since.
    ///
    /// A folder goes with the last of what is in it, whoever made it.
    pub(crate) fn open_of(&self, topic: Option<Topic>) -> (Vec<usize>, Vec<usize>) {
        let open = self.open_changes();
        let Some(topic) = topic else { return (open, Vec::new()) };
        let place = |line: usize| match &self.entries[line] {
            SetupEntry::Change { what, path, .. } => (*what, path.as_str()),
            _ => (SetupKind::Once, ""),
        };
        let is_folder = |line: &usize| place(*line).0 == SetupKind::Folder;
        let of_topic = |line: &usize| self.topic_of(*line) == Some(topic);
        let is_under = |line: &usize| {
            open.iter().any(|newer| newer > line && place(*newer) == place(*line) && !of_topic(newer))
        };
        let (held, mut lines): (Vec<usize>, Vec<usize>) =
            open.iter().copied().filter(|line| of_topic(line) && !is_folder(line)).partition(is_under);
        // Newest first, a folder comes before the one that it is in.
        for folder in open.iter().copied().filter(is_folder) {
            let prefix = format!("{}/", place(folder).1);
            let inner = || open.iter().filter(|line| place(**line).1.starts_with(&prefix));
            let goes = inner().all(|line| lines.contains(line));
            if goes && (of_topic(&folder) || inner().next().is_some()) {
                lines.push(folder);
            }
        }
        lines.sort_unstable_by(|a, b| b.cmp(a));
        (lines, held)
    }

    /// What the session was about that made a change.
    fn topic_of(&self, line: usize) -> Option<Topic> {
        let begin = self.entries[..line].iter().rev().find_map(|entry| match entry {
            SetupEntry::Begin { asked, .. } => Some(asked),
            _ => None,
        });
        begin.and_then(|asked| Topic::of(asked))
    }
}

/// The journal that is written to.
#[derive(Debug)]
pub(crate) struct SetupJournal {
    file: JournalFile,
    pub(crate) history: SetupHistory,
}

impl SetupJournal {
    pub(crate) fn open(site: &Site) -> Result<SetupJournal, SetupError> {
        let (mut file, text) = JournalFile::open(&site.disk(JOURNAL), "sets this machine up", true)?;
        let history = SetupHistory::parse(&text)
            .map_err(|line| JournalError::Line { path: file.path().to_owned(), line })?;
        file.cut(history.whole_bytes)?;
        Ok(SetupJournal { file, history })
    }

    /// Adds a line; it is on the disk when this returns.
    pub(crate) fn write(&mut self, entry: SetupEntry) -> Result<(), SetupError> {
        self.file.write(&to_line(&entry))?;
        self.history.entries.push(entry);
        Ok(())
    }

    /// Removes the file, and its folder if that is empty then, where no change is open.
    pub(crate) fn close(self) {
        if self.history.open_changes().is_empty() {
            let folder = self.file.path().parent().map(std::path::Path::to_owned);
            self.file.remove();
            // One that holds something else stays.
            let _ = folder.map(fs::remove_dir);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SetupHistory;
    use firsttouch_documents::{SetupAction, SetupEntry, SetupKind, to_line};

    fn begin(action: SetupAction) -> SetupEntry {
        SetupEntry::Begin { action, began: "2026-01-01T00:00:00Z".to_owned(), asked: Vec::new() }
    }

    fn change(path: &str) -> SetupEntry {
        let (before, given) = (Some("0".to_owned()), Some("1".to_owned()));
        SetupEntry::Change {
            what: SetupKind::Setting,
            path: path.to_owned(),
            before,
            given,
            start_ticks: None,
        }
    }

    fn history(entries: &[SetupEntry]) -> SetupHistory {
        let text: String = entries.iter().map(to_line).collect();
        SetupHistory::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn what_a_cut_off_session_left_is_its_own() {
        let apply = || begin(SetupAction::Apply);
        let whole = [apply(), change("/a"), SetupEntry::End];
        assert_eq!((history(&whole).left_open(), history(&whole).open_changes()), (vec![], vec![1]));
        let cut = [&whole[..], &[apply(), change("/b"), change("/c")]].concat();
        assert_eq!((history(&cut).left_open(), history(&cut).open_changes()), (vec![5, 4], vec![5, 4, 1]));
        let undo = [&cut[..], &[begin(SetupAction::Undo), SetupEntry::Undone { line: 5 }]].concat();
        assert_eq!(history(&undo).left_open(), [4, 1]);
        assert_eq!(history(&[]).left_open(), [0usize; 0]);
    }

    #[test]
    fn what_is_not_ours_is_not_read() {
        let journal_of_attach =
            to_line(&begin(SetupAction::Apply)).replace("setup-journal", "attach-journal");
        assert_eq!(SetupHistory::parse(journal_of_attach.as_bytes()), Err(0));
        assert_eq!(SetupHistory::parse(to_line(&change("/a")).as_bytes()), Err(0));
    }
}
