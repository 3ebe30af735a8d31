//! The root below which `/proc` and `/sys` are read.
//!
//! A recorded machine is a folder with a `proc` and a `sys` in it, on disk or in memory; the live machine is `/`. All
//! take the same path through the code, so a test on a recording is a test of what runs.

use crate::tree::Tree;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// A file below the root that exists but cannot be read.
#[derive(Debug)]
pub struct ReadError {
    /// The file, as a path on this machine.
    pub path: PathBuf,
    /// What the kernel answered.
    pub source: io::Error,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot read {}: {}", self.path.display(), self.source)
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Where `/proc` and `/sys` are read: the live machine or a recorded one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    path: PathBuf,
    /// The files, where they are not on disk.
    tree: Option<Arc<Tree>>,
}

/// As many as the kernel follows before it answers ELOOP.
const MOST_LINKS: usize = 40;

impl Root {
    /// The machine this program runs on.
    pub fn live() -> Root {
        Root { path: PathBuf::from("/"), tree: None }
    }

    /// A recorded machine: a folder with `proc` and `sys` in it.
    pub fn at(path: impl Into<PathBuf>) -> Root {
        Root { path: path.into(), tree: None }
    }

    /// A recorded machine in memory; `path` is what it came from, for messages.
    pub fn of_tree(path: impl Into<PathBuf>, tree: Tree) -> Root {
        Root { path: path.into(), tree: Some(Arc::new(tree)) }
    }

    /// Whether this is the machine the program runs on, so that its kernel can be asked directly.
    pub fn is_live(&self) -> bool {
        self.tree.is_none() && self.path == Path::new("/")
    }

    /// Whether there is such a folder at all.
    pub fn exists(&self) -> bool {
        self.tree.is_some() || self.path.is_dir()
    }

    /// The folder itself, or the archive.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The text of a file without the white space and NULs at its end, `None` when there is no such file; bytes that are not
    /// UTF-8 become U+FFFD.
    ///
    /// The kernel ends its files with a newline at most. Recordings may end in NULs beside it: who reads a file of `/sys`
    /// into a buffer and writes the buffer out, as `hwloc-gather-topology` does, writes those out too. They are no part of what the
    /// kernel said, and no parser should have to know of them.
    pub fn read(&self, file: &str) -> Result<Option<String>, ReadError> {
        let bytes = self.locate(file).and_then(|path| match &self.tree {
            Some(tree) => tree.bytes(&path),
            None => fs::read(self.path.join(path)),
        });
        self.answer(file, bytes.map(|bytes| String::from_utf8_lossy(without_end(&bytes)).into_owned()))
    }

    /// The names in a folder, sorted; `None` when there is no such folder.
    pub fn list(&self, folder: &str) -> Result<Option<Vec<String>>, ReadError> {
        let names = self.locate(folder).and_then(|path| match &self.tree {
            Some(tree) => tree.names(&path),
            None => {
                let entries = fs::read_dir(self.path.join(path))?;
                entries.map(|entry| entry.map(|entry| entry.file_name())).collect()
            }
        });
        let text = |names: Vec<OsString>| {
            let mut names: Vec<String> =
                names.iter().map(|name| name.to_string_lossy().into_owned()).collect();
            names.sort_unstable();
            names
        };
        self.answer(folder, names.map(text))
    }

    /// Whether something exists at this path.
    pub fn has(&self, file: &str) -> bool {
        self.locate(file).is_ok_and(|path| self.tree.is_some() || self.path.join(path).exists())
    }

    /// The path below the root that remains when every symbolic link is followed; `None` when it leads nowhere.
    pub fn resolve(&self, file: &str) -> Option<PathBuf> {
        self.walk(file).ok()
    }

    /// What a symbolic link says, without following it; `None` for what is none. The links of `/proc/PID/fd` may say what
    /// is no path.
    pub fn link_text(&self, file: &str) -> Option<String> {
        let path = Path::new(file);
        let parent = self.locate(&path.parent()?.to_string_lossy()).ok()?;
        let target = self.link(&parent.join(path.file_name()?)).ok()??;
        Some(target.to_string_lossy().into_owned())
    }

    /// Size of a regular file in bytes, with its links followed; `None` for what is none.
    pub fn file_bytes(&self, file: &str) -> Option<u64> {
        let path = self.locate(file).ok()?;
        match &self.tree {
            Some(tree) => Some(tree.bytes(&path).ok()?.len() as u64),
            None => {
                fs::metadata(self.path.join(path)).ok().filter(fs::Metadata::is_file).map(|file| file.len())
            }
        }
    }

    fn answer<T>(&self, file: &str, answer: io::Result<T>) -> Result<Option<T>, ReadError> {
        match answer {
            Ok(value) => Ok(Some(value)),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(None)
            }
            Err(source) => Err(ReadError { path: self.path.join(file.trim_start_matches('/')), source }),
        }
    }

    /// The path below the root with its links followed; as it is on the live machine, where the kernel follows them.
    fn locate(&self, file: &str) -> io::Result<PathBuf> {
        if self.is_live() {
            return Ok(PathBuf::from(file));
        }
        self.walk(file)
    }

    /// Follows links as if the root were `/`: an absolute link in a recording means a file of the recording,
    /// and must never answer with a value of the machine that reads it.
    fn walk(&self, file: &str) -> io::Result<PathBuf> {
        let mut done = PathBuf::new();
        let mut pending: VecDeque<OsString> = steps(Path::new(file)).collect();
        let mut links = 0;
        while let Some(step) = pending.pop_front() {
            if step == ".." {
                done.pop();
                continue;
            }
            let candidate = done.join(&step);
            let Some(target) = self.link(&candidate)? else {
                done = candidate;
                continue;
            };
            links += 1;
            if links > MOST_LINKS {
                return Err(io::Error::other("too many levels of symbolic links"));
            }
            if target.is_absolute() {
                done = PathBuf::new();
            }
            for step in steps(&target).collect::<Vec<_>>().into_iter().rev() {
                pending.push_front(step);
            }
        }
        Ok(done)
    }

    /// The target of a link; `None` for what is none.
    fn link(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        if let Some(tree) = &self.tree {
            return tree.link(path);
        }
        let here = self.path.join(path);
        fs::symlink_metadata(&here)?.is_symlink().then(|| fs::read_link(&here)).transpose()
    }
}

fn without_end(bytes: &[u8]) -> &[u8] {
    let last = bytes.iter().rposition(|byte| *byte != 0 && !byte.is_ascii_whitespace());
    &bytes[..last.map_or(0, |last| last + 1)]
}

fn steps(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::{Root, without_end};

    #[test]
    fn the_live_machine_has_a_proc() {
        let root = Root::live();
        assert!(root.is_live());
        assert!(root.read("proc/self/status").unwrap().unwrap().contains("Name:"));
        assert!(root.resolve("proc/self").unwrap().starts_with("proc"));
    }

    #[test]
    fn what_is_missing_is_none() {
        let root = Root::at("/proc/self");
        assert!(!root.is_live());
        assert_eq!(root.read("no/such/file").unwrap(), None);
        assert_eq!(root.read("status/below-a-file").unwrap(), None);
        assert_eq!(root.list("no-such-folder").unwrap(), None);
        assert!(!root.has("no/such/file"));
    }

    #[test]
    fn what_a_recording_has_behind_the_text_is_no_part_of_it() {
        assert_eq!(without_end(b"0-3\n\0\0"), b"0-3");
        assert_eq!(without_end(b" 1\0 \n\t\0"), b" 1");
        assert_eq!(without_end(b"one\0two\n"), b"one\0two", "inside it stays");
        assert_eq!(without_end(b"\0\n"), b"");
        let release = Root::live().read("proc/sys/kernel/osrelease").unwrap().unwrap();
        assert_eq!(release, release.trim_end());
    }

    #[test]
    fn what_cannot_be_read_is_an_error_with_its_path() {
        let error = Root::at("/proc").read("self").unwrap_err();
        assert!(error.to_string().starts_with("cannot read /proc/self: "), "{error}");
    }

    #[test]
    fn a_link_is_read_and_the_file_behind_it_measured() {
        let scratch = std::env::current_exe().unwrap();
        let open = std::fs::File::open(&scratch).unwrap();
        let link = format!("proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&open));
        let root = Root::live();
        assert_eq!(root.link_text(&link).as_deref(), scratch.to_str());
        assert_eq!(root.file_bytes(&link), Some(open.metadata().unwrap().len()));
        assert_eq!((root.link_text("proc/self/stat"), root.file_bytes("proc/self/fd")), (None, None));
        // Below another root the same link leads nowhere, and never to the file of this machine.
        assert_eq!(Root::at("/proc").file_bytes(link.trim_start_matches("proc/")), None);
    }

    #[test]
    fn an_absolute_link_stays_below_the_root() {
        // /proc/self/root points to "/": below a recorded root it must mean that root, not this machine.
        let root = Root::at("/proc/self");
        assert_eq!(root.resolve("root/status").unwrap(), std::path::Path::new("status"));
        assert_eq!(root.resolve("../../status").unwrap(), std::path::Path::new("status"));
    }
}
