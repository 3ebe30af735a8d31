//! Whether a run wrote a file anew: one that is left from the run before must not be taken for this one's.
//!
//! The file may be the user's and the program may read it, so it stays where it is. What is changed before the run is its time of
//! modification alone, to one that no program sets; whoever writes it changes that. The time is put back where nobody did.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const MARK: SystemTime = SystemTime::UNIX_EPOCH;

/// A file that was not written as it should.
#[derive(Debug, thiserror::Error)]
pub enum Unwritten {
    /// It is not there.
    #[error("the run did not write {}", .path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// What is there is from before.
    #[error("the run did not write {}: what is there is older", .path.display())]
    Old {
        /// The file.
        path: PathBuf,
    },
    /// It is a folder, a pipe or a device.
    #[error("{} is no regular file", .path.display())]
    NoFile {
        /// Its name.
        path: PathBuf,
    },
    /// It cannot be looked at.
    #[error("cannot look at {}", .path.display())]
    Unseen {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Unwritten {
    /// The line that mends it.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Unwritten::Missing { .. } | Unwritten::Old { .. } => {
                "every run has to write it, whatever the placement, at that place from the folder that tune is started in"
            }
            Unwritten::NoFile { .. } => {
                "name a regular file; what the program writes to a stream is read by stdout:REGEX"
            }
            Unwritten::Unseen { .. } => "name a file in a folder that this user can read",
        }
    }
}

/// What was there before a run.
#[derive(Debug)]
pub(crate) struct Written {
    path: PathBuf,
    before: Option<Before>,
}

#[derive(Debug)]
struct Before {
    about: Metadata,
    /// Its time of modification is marked.
    is_marked: bool,
}

impl Written {
    /// Looks at what is there before a run, and marks it where the kernel lets us.
    ///
    /// # Errors
    /// Something is there that is no file, or that cannot be looked at.
    pub(crate) fn before(path: &Path) -> Result<Written, Unwritten> {
        let about = match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(Unwritten::Unseen { path: path.to_owned(), source }),
            Ok(about) if !about.is_file() => return Err(Unwritten::NoFile { path: path.to_owned() }),
            Ok(about) => Some(about),
        };
        let before = about.map(|about| {
            // Only its owner may set it; for others what the kernel tells has to do.
            let is_marked = File::open(path).and_then(|file| file.set_modified(MARK)).is_ok();
            let about = if is_marked { about } else { fs::metadata(path).unwrap_or(about) };
            Before { about, is_marked }
        });
        Ok(Written { path: path.to_owned(), before })
    }

    /// Whether the run wrote it.
    ///
    /// # Errors
    /// It did not.
    pub(crate) fn after(self) -> Result<(), Unwritten> {
        let path = self.path.clone();
        match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Unwritten::Missing { path }),
            Err(source) => Err(Unwritten::Unseen { path, source }),
            Ok(now) if self.is_as_before(&now) => Err(Unwritten::Old { path }),
            Ok(_) => Ok(()),
        }
    }

    fn is_as_before(&self, now: &Metadata) -> bool {
        let Some(before) = &self.before else { return false };
        let is_same = (now.dev(), now.ino()) == (before.about.dev(), before.about.ino());
        let untouched = match before.is_marked {
            true => now.modified().is_ok_and(|modified| modified == MARK),
            false => {
                let times =
                    |about: &Metadata| (about.mtime(), about.mtime_nsec(), about.ctime(), about.ctime_nsec());
                times(now) == times(&before.about) && now.len() == before.about.len()
            }
        };
        is_same && untouched
    }
}

impl Drop for Written {
    /// Puts the time back that nobody has changed since.
    fn drop(&mut self) {
        let Some(before) = self.before.as_ref().filter(|before| before.is_marked) else { return };
        let is_unwritten = fs::metadata(&self.path).is_ok_and(|now| self.is_as_before(&now));
        if is_unwritten && let Ok(modified) = before.about.modified() {
            // It was set a moment ago; if it cannot be now, nothing but a time is lost.
            let _ = File::open(&self.path).and_then(|file| file.set_modified(modified));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_run_wrote_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.json");
        let look = || Written::before(&path).unwrap();
        assert!(matches!(look().after(), Err(Unwritten::Missing { .. })));
        let seen = look();
        fs::write(&path, "1").unwrap();
        seen.after().unwrap();

        let modified = || fs::metadata(&path).unwrap().modified().unwrap();
        let before = modified();
        let seen = look();
        assert_eq!(modified(), MARK);
        assert!(matches!(seen.after(), Err(Unwritten::Old { .. })));
        assert_eq!((modified(), fs::read_to_string(&path).unwrap()), (before, "1".to_owned()));
        drop(look());
        assert_eq!(modified(), before, "a run that failed leaves it as it was, too");

        // The same text at once, in place and by another file's name.
        let seen = look();
        fs::write(&path, "1").unwrap();
        seen.after().unwrap();
        assert_ne!(modified(), MARK);
        let seen = look();
        fs::write(folder.path().join("new"), "1").unwrap();
        fs::rename(folder.path().join("new"), &path).unwrap();
        seen.after().unwrap();
        assert!(matches!(Written::before(folder.path()), Err(Unwritten::NoFile { .. })));
    }
}
