//! The file in which somebody who changes things writes what was there before each step, so that it can be taken back.
//!
//! Lines of JSON, each a document of one kind, in a file that its user alone can read. What the lines say, and how a step is
//! taken back, is the business of who writes them: `attach` and `setup`.
//!
//! Architecture invariants: a line is in the file (`write(2)` has answered, and of lasting journals `fdatasync(2)`, too) before
//! the step that it describes is made. A last line without its end was cut off by a crash, and its step was never made: it
//! is read as absent. While a journal is open, nobody else writes to it.

#![forbid(unsafe_code)]

use firsttouch_documents::{Document, SCHEMA_VERSION, from_json};
use serde::Deserialize;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

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
    /// Somebody else has it open.
    #[error("another firsttouch {at_work} right now")]
    Busy {
        /// What the other one does.
        at_work: String,
    },
}

impl JournalError {
    /// The line that mends it.
    pub fn hint(&self) -> String {
        match self {
            JournalError::Io { .. } => {
                "no step is made without a journal: set XDG_STATE_HOME to a folder of your own on a disk with room; earlier journals stay \
                 where they are"
                    .to_owned()
            }
            JournalError::Line { path, .. } => {
                format!("it was changed by somebody else; to give up what it knows: rm {}", path.display())
            }
            JournalError::Busy { .. } => "wait for it, or end it by Ctrl-C; its steps stay in the journal".to_owned(),
        }
    }
}

/// What one line says, if it is a document of this kind and of the version of today, or from before there were kinds.
fn line_of<E: Document>(line: &[u8]) -> Option<E> {
    #[derive(Deserialize)]
    struct Head {
        kind: Option<String>,
        schema_version: Option<u32>,
    }
    let line = std::str::from_utf8(line).ok()?;
    let head: Head = serde_json::from_str(line).ok()?;
    let is_ours = head.kind.is_none_or(|kind| kind == E::KIND.word())
        && head.schema_version.is_none_or(|version| version == SCHEMA_VERSION);
    if is_ours { from_json(line).ok() } else { None }
}

/// The whole lines of a journal's text, and how many bytes they take: anything after them was cut off. The line that does not
/// read, from 0, as the error.
pub fn parse<E: Document>(text: &[u8]) -> Result<(Vec<E>, u64), usize> {
    let whole_bytes = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let lines = text[..whole_bytes].split_inclusive(|byte| *byte == b'\n').enumerate();
    let entries: Result<Vec<E>, usize> = lines.map(|(number, line)| line_of(line).ok_or(number)).collect();
    Ok((entries?, whole_bytes as u64))
}

/// A journal that is written to.
#[derive(Debug)]
pub struct JournalFile {
    path: PathBuf,
    file: File,
    whole_bytes: u64,
    lasting: bool,
}

impl JournalFile {
    /// Opens a journal, or makes one that only its user can read, and its folder; `at_work` says what its writer does, to who
    /// finds it open. A `lasting` one is on the disk before each step, for what outlasts a crash of the machine. Returns the text, too.
    pub fn open(path: &Path, at_work: &str, lasting: bool) -> Result<(JournalFile, Vec<u8>), JournalError> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed("make", folder))?;
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600);
        let opened = JournalFile::locked(path, options, "make", at_work, lasting)?;
        if lasting {
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed("keep", folder))?;
        }
        Ok(opened)
    }

    /// Opens a journal that is there, to go back by it; `None` where there is none. One that cannot be written to is read all the same:
    /// steps can be taken back, and not be noted.
    pub fn open_kept(path: &Path, at_work: &str) -> Result<Option<(JournalFile, Vec<u8>)>, JournalError> {
        let open = |writes| {
            let mut options = OpenOptions::new();
            options.read(true).append(writes);
            JournalFile::locked(path, options, "open", at_work, false)
        };
        let kind = |error: &JournalError| match error {
            JournalError::Io { source, .. } => Some(source.kind()),
            _ => None,
        };
        match open(true) {
            Err(error) if kind(&error) == Some(io::ErrorKind::NotFound) => Ok(None),
            Err(error)
                if matches!(
                    kind(&error),
                    Some(io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
                ) =>
            {
                open(false).map(Some)
            }
            opened => opened.map(Some),
        }
    }

    fn locked(
        path: &Path,
        mut options: OpenOptions,
        what: &'static str,
        at_work: &str,
        lasting: bool,
    ) -> Result<(JournalFile, Vec<u8>), JournalError> {
        let mut file = loop {
            let file = options.custom_flags(libc::O_NOFOLLOW).open(path).map_err(failed(what, path))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(fs::TryLockError::WouldBlock) => {
                    return Err(JournalError::Busy { at_work: at_work.to_owned() });
                }
                Err(fs::TryLockError::Error(source)) => return Err(failed("lock", path)(source)),
            }
            // Its last writer may have removed it since it was opened: lines in it would go with it.
            if is_at(&file, path) {
                break file;
            }
        };
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed("read", path))?;
        let whole_bytes = text.len() as u64;
        Ok((JournalFile { path: path.to_owned(), file, whole_bytes, lasting }, text))
    }

    /// Cuts it off after so many bytes, if it is longer.
    pub fn cut(&mut self, whole_bytes: u64) -> Result<(), JournalError> {
        if whole_bytes < self.whole_bytes {
            self.file.set_len(whole_bytes).map_err(|source| self.failed("mend", source))?;
            self.whole_bytes = whole_bytes;
        }
        Ok(())
    }

    /// Adds a line, which ends in a newline. When it answers, the line is in the file.
    pub fn write(&mut self, line: &str) -> Result<(), JournalError> {
        // One call: a reader sees the line whole or, after a crash, cut off at its end.
        let written = self.file.write_all(line.as_bytes());
        let written = written.and_then(|()| if self.lasting { self.file.sync_data() } else { Ok(()) });
        if let Err(source) = written {
            // What came to the file of it must not join with a later line.
            let _ = self.file.set_len(self.whole_bytes);
            return Err(self.failed("write", source));
        }
        self.whole_bytes += line.len() as u64;
        Ok(())
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the file.
    pub fn remove(self) {
        // One that stays is only looked at once more.
        let _ = fs::remove_file(&self.path);
    }

    fn failed(&self, what: &'static str, source: io::Error) -> JournalError {
        failed(what, &self.path)(source)
    }
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> JournalError {
    let path = path.to_owned();
    move |source| JournalError::Io { what, path, source }
}

/// Whether a path leads to this file.
fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(ours), Ok(there)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    (ours.dev(), ours.ino()) == (there.dev(), there.ino())
}

impl Drop for JournalFile {
    fn drop(&mut self) {
        // A child that was forked meanwhile, and is not its program yet, would keep the lock.
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::{JournalError, JournalFile};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn one_writes_and_what_was_cut_off_does_not_join_with_what_follows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state/lines.jsonl");
        let (mut journal, text) = JournalFile::open(&path, "works", true).unwrap();
        assert!(text.is_empty());
        journal.write("{}\n").unwrap();
        let second = JournalFile::open(&path, "counts", true).unwrap_err();
        assert!(
            matches!(&second, JournalError::Busy { .. }) && second.to_string().contains("firsttouch counts")
        );
        drop(journal);
        std::fs::write(&path, "{}\n{\"a").unwrap();
        let (mut journal, text) = JournalFile::open(&path, "works", true).unwrap();
        assert_eq!(text, b"{}\n{\"a");
        journal.cut(3).unwrap();
        journal.write("[]\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}\n[]\n");
        // Who opened it before it was removed has the lock of a file that nobody finds.
        let opened = std::fs::File::open(&path).unwrap();
        assert!(super::is_at(&opened, &path));
        let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        journal.remove();
        assert!(!path.exists() && !super::is_at(&opened, &path));
        std::fs::write(&path, "").unwrap();
        assert!(!super::is_at(&opened, &path));
    }
}
