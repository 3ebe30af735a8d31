//! A tree of files held in memory: what a recorded machine is when it comes as an archive.
//!
//! Invariants: nothing here touches a disk, so an archive can name whatever it likes and reaches nothing but itself; and no
//! path is longer or deeper than a kernel has any, so what is taken of memory and stack has a bound.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Files, folders and links by their path below the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    entries: BTreeMap<PathBuf, Entry>,
    path_bytes: usize,
}

/// The longest path that a kernel takes (`PATH_MAX`).
const MOST_PATH_BYTES: usize = 4096;
/// Far more than `/sys` has, whose deepest devices lie behind a dozen bridges.
const MOST_COMPONENTS: usize = 128;

/// A path that no file of `/proc` and `/sys` has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// How it begins.
    pub beginning: String,
    /// Its length.
    pub bytes: usize,
    /// How many names it is made of.
    pub components: usize,
}

impl TooLong {
    /// A path that may be kept, or what is wrong with it.
    fn check(path: &Path) -> Result<(), TooLong> {
        /// What a message has room for.
        const SHOWN: usize = 40;
        let (bytes, components) = (path.as_os_str().len(), path.components().count());
        if bytes <= MOST_PATH_BYTES && components <= MOST_COMPONENTS {
            return Ok(());
        }
        let beginning = path.as_os_str().to_string_lossy().chars().take(SHOWN).collect();
        Err(TooLong { beginning, bytes, components })
    }
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooLong { beginning, bytes, components } = self;
        write!(
            f,
            "the path {beginning:?}… has {bytes} bytes and {components} components, and no file of /proc and /sys has \
             more than {MOST_PATH_BYTES} and {MOST_COMPONENTS}"
        )
    }
}

impl std::error::Error for TooLong {}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Folder(BTreeSet<OsString>),
    File(Vec<u8>),
    Link(PathBuf),
}

impl Tree {
    /// A tree with nothing in it.
    pub fn new() -> Tree {
        Tree::default()
    }

    /// Adds a folder, and those above it. A path that is taken stays as it is.
    ///
    /// # Errors
    /// A path that is too long.
    pub fn add_folder(&mut self, path: &Path) -> Result<(), TooLong> {
        self.checked(path, Entry::Folder(BTreeSet::new()))
    }

    /// Adds a file, and the folders above it. A path that is taken stays as it is.
    ///
    /// # Errors
    /// A path that is too long.
    pub fn add_file(&mut self, path: &Path, bytes: Vec<u8>) -> Result<(), TooLong> {
        self.checked(path, Entry::File(bytes))
    }

    /// Adds a symbolic link, and the folders above it. A path that is taken stays as it is.
    ///
    /// # Errors
    /// A path that is too long, of the link or of what it leads to.
    pub fn add_link(&mut self, path: &Path, target: &Path) -> Result<(), TooLong> {
        TooLong::check(target)?;
        self.checked(path, Entry::Link(target.to_owned()))
    }

    /// The contents of a file; `None` for what is none. Links are not followed.
    pub fn file(&self, path: &Path) -> Option<&[u8]> {
        match self.entries.get(path) {
            Some(Entry::File(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// Whether something is at this path. Links on the way are not followed.
    pub fn has(&self, path: &Path) -> bool {
        self.entries.contains_key(path)
    }

    /// How many entries there are, folders included.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes of the paths of all entries: what a tree takes of memory beside the contents of its files.
    pub fn path_bytes(&self) -> usize {
        self.path_bytes
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Takes the part below a folder out of the tree; `None` if there is no such folder.
    pub fn below(mut self, folder: &Path) -> Option<Tree> {
        if folder.as_os_str().is_empty() {
            return Some(self);
        }
        let inner = self.entries.split_off(folder).into_iter();
        let entries: BTreeMap<PathBuf, Entry> = inner
            .map_while(|(path, entry)| Some((path.strip_prefix(folder).ok()?.to_owned(), entry)))
            .collect();
        let path_bytes = entries.keys().map(|path| path.as_os_str().len()).sum();
        matches!(entries.get(Path::new("")), Some(Entry::Folder(_))).then_some(Tree { entries, path_bytes })
    }

    /// The folders that have this entry, shallowest first.
    pub fn folders_with(&self, name: &str) -> Vec<PathBuf> {
        let having = |(path, entry): (&PathBuf, &Entry)| match entry {
            Entry::Folder(names) => names.contains(OsStr::new(name)).then(|| path.clone()),
            _ => None,
        };
        let mut folders: Vec<PathBuf> = self.entries.iter().filter_map(having).collect();
        folders.sort_by_key(|folder| folder.components().count());
        folders
    }

    fn checked(&mut self, path: &Path, entry: Entry) -> Result<(), TooLong> {
        TooLong::check(path)?;
        self.add(path, entry);
        Ok(())
    }

    /// Calls itself once for every component that is not there yet: [`MOST_COMPONENTS`] at most.
    fn add(&mut self, path: &Path, entry: Entry) {
        if self.entries.contains_key(path) {
            return;
        }
        if let (Some(parent), Some(name)) = (path.parent(), path.file_name()) {
            self.add(parent, Entry::Folder(BTreeSet::new()));
            if let Some(Entry::Folder(names)) = self.entries.get_mut(parent) {
                names.insert(name.to_owned());
            }
        }
        self.path_bytes += path.as_os_str().len();
        self.entries.insert(path.to_owned(), entry);
    }

    fn entry(&self, path: &Path) -> io::Result<&Entry> {
        self.entries.get(path).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// The target of a link; `None` for what is none. Links on the way are not followed.
    pub(crate) fn link(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        match self.entry(path)? {
            Entry::Link(target) => Ok(Some(target.clone())),
            _ => Ok(None),
        }
    }

    pub(crate) fn bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.entry(path)? {
            Entry::File(bytes) => Ok(bytes.clone()),
            Entry::Folder(_) => Err(io::ErrorKind::IsADirectory.into()),
            Entry::Link(_) => Err(io::ErrorKind::NotFound.into()),
        }
    }

    pub(crate) fn names(&self, path: &Path) -> io::Result<Vec<OsString>> {
        match self.entry(path)? {
            Entry::Folder(names) => Ok(names.iter().cloned().collect()),
            _ => Err(io::ErrorKind::NotADirectory.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Tree;
    use crate::root::Root;
    use std::path::{Path, PathBuf};

    fn recorded() -> Tree {
        let mut tree = Tree::new();
        tree.add_file(Path::new("top/sys/devices/a/numa_node"), b"1\n".to_vec()).unwrap();
        tree.add_link(Path::new("top/sys/class/a"), Path::new("../devices/a")).unwrap();
        tree.add_link(Path::new("top/sys/class/out"), Path::new("/../../etc/passwd")).unwrap();
        tree.add_link(Path::new("top/sys/class/loop"), Path::new("loop")).unwrap();
        tree.add_folder(Path::new("top/proc")).unwrap();
        tree.add_file(Path::new("beside"), Vec::new()).unwrap();
        tree
    }

    #[test]
    fn a_root_in_memory_reads_like_one_on_disk() {
        assert_eq!(recorded().folders_with("sys"), [PathBuf::from("top")]);
        let tree = recorded().below(Path::new("top")).unwrap();
        let root = Root::of_tree("recorded.tar", tree);
        assert!(!root.is_live() && root.exists());
        assert_eq!(root.read("sys/class/a/numa_node").unwrap().as_deref(), Some("1"));
        assert_eq!(root.list("sys/class").unwrap().unwrap(), ["a", "loop", "out"]);
        assert_eq!(root.list("").unwrap().unwrap(), ["proc", "sys"]);
        assert_eq!(root.resolve("sys/class/a").unwrap(), Path::new("sys/devices/a"));
        assert_eq!(root.read("sys/class/out").unwrap(), None, "`..` stops at the root");
        assert!(!root.has("sys/class/loop") && root.has("proc") && !root.has("beside"));
        assert!(root.read("sys/class/loop").is_err(), "endless");
        let error = root.read("proc").unwrap_err();
        assert!(error.to_string().starts_with("cannot read recorded.tar/proc: "), "{error}");
    }

    #[test]
    fn paths_that_no_kernel_has_are_refused() {
        let deep = |components: usize| PathBuf::from(vec!["a"; components].join("/"));
        let wide = |bytes: usize| PathBuf::from("ä".repeat(bytes / 2));
        let mut tree = Tree::new();
        for too_long in [deep(129), deep(200_000), wide(4098)] {
            let error = tree.add_file(&too_long, Vec::new()).unwrap_err();
            assert_eq!(
                (error.bytes, error.components),
                (too_long.as_os_str().len(), too_long.components().count())
            );
            assert!(error.to_string().len() < 300, "{error}");
            assert_eq!(tree.add_folder(&too_long), Err(error.clone()));
            assert_eq!(tree.add_link(&too_long, Path::new("x")), Err(error.clone()));
            assert_eq!(tree.add_link(Path::new("x"), &too_long), Err(error));
        }
        assert!(tree.is_empty() && tree.path_bytes() == 0);
        tree.add_file(&deep(128), Vec::new()).unwrap();
        tree.add_link(&wide(4096), &deep(128)).unwrap();
        assert_eq!(tree.len(), 1 + 128 + 1);
        // Of the deep one 1, 3, 5, … bytes.
        assert_eq!(tree.path_bytes(), 128 * 128 + 4096);
        assert_eq!(tree.below(&deep(127)).unwrap().path_bytes(), 1);
    }

    #[test]
    fn only_folders_are_roots() {
        assert!(recorded().below(Path::new("beside")).is_none());
        assert!(recorded().below(Path::new("nothing")).is_none());
        assert!(recorded().below(Path::new("")).is_some());
    }
}
