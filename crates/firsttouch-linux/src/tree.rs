//! A tree of files held in memory: what a recorded machine is when it comes as an archive.
//!
//! Invariant: nothing here touches a disk, so an archive can name whatever it likes and reaches nothing but itself.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

/// Files, folders and links by their path below the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    entries: BTreeMap<PathBuf, Entry>,
}

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
    pub fn add_folder(&mut self, path: &Path) {
        self.add(path, Entry::Folder(BTreeSet::new()));
    }

    /// Adds a file, and the folders above it. A path that is taken stays as it is.
    pub fn add_file(&mut self, path: &Path, bytes: Vec<u8>) {
        self.add(path, Entry::File(bytes));
    }

    /// Adds a symbolic link, and the folders above it. A path that is taken stays as it is.
    pub fn add_link(&mut self, path: &Path, target: &Path) {
        self.add(path, Entry::Link(target.to_owned()));
    }

    /// The contents of a file; `None` for what is none. Links are not followed.
    pub fn file(&self, path: &Path) -> Option<&[u8]> {
        match self.entries.get(path) {
            Some(Entry::File(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// How many entries there are, folders included.
    pub fn len(&self) -> usize {
        self.entries.len()
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
        matches!(entries.get(Path::new("")), Some(Entry::Folder(_))).then_some(Tree { entries })
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
        tree.add_file(Path::new("top/sys/devices/a/numa_node"), b"1\n".to_vec());
        tree.add_link(Path::new("top/sys/class/a"), Path::new("../devices/a"));
        tree.add_link(Path::new("top/sys/class/out"), Path::new("/../../etc/passwd"));
        tree.add_link(Path::new("top/sys/class/loop"), Path::new("loop"));
        tree.add_folder(Path::new("top/proc"));
        tree.add_file(Path::new("beside"), Vec::new());
        tree
    }

    #[test]
    fn a_root_in_memory_reads_like_one_on_disk() {
        assert_eq!(recorded().folders_with("sys"), [PathBuf::from("top")]);
        let tree = recorded().below(Path::new("top")).unwrap();
        let root = Root::of_tree("recorded.tar", tree);
        assert!(!root.is_live() && root.exists());
        assert_eq!(root.read("sys/class/a/numa_node").unwrap().as_deref(), Some("1\n"));
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
    fn only_folders_are_roots() {
        assert!(recorded().below(Path::new("beside")).is_none());
        assert!(recorded().below(Path::new("nothing")).is_none());
        assert!(recorded().below(Path::new("")).is_some());
    }
}
