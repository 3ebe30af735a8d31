//! The files of the guest, before they are written: what lies where, and what it is a copy of.

use crate::LabError;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Place;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Symbolic links in a row, as many as the kernel follows.
const MOST_LINKS: u32 = 40;
/// What a guest's memory has no room for.
const MOST_FILE_BYTES: u64 = 1 << 30;

/// One file of the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Folder,
    /// A copy of a file of this machine.
    Copy {
        of: PathBuf,
        mode: u32,
        bytes: u64,
    },
    /// A file made for the guest.
    Made {
        contents: Vec<u8>,
        mode: u32,
    },
    Link {
        target: PathBuf,
    },
    /// A character device.
    Device {
        major: u32,
        minor: u32,
    },
}

/// Files by their path in the guest, without the leading `/`: folders before what they hold.
#[derive(Debug, Default)]
pub(crate) struct Tree(BTreeMap<PathBuf, Entry>);

impl Tree {
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Path, &Entry)> {
        self.0.iter().map(|(path, entry)| (path.as_path(), entry))
    }

    #[cfg(test)]
    pub(crate) fn contains(&self, path: &Path) -> bool {
        self.0.contains_key(&relative(path))
    }

    /// Puts a made file, a link or a device at an absolute path whose folders are no links.
    pub(crate) fn put(&mut self, path: impl AsRef<Path>, entry: Entry) {
        let path = relative(path.as_ref());
        self.folders_of(&path);
        self.0.insert(path, entry);
    }

    pub(crate) fn folder(&mut self, path: impl AsRef<Path>) {
        let path = relative(path.as_ref());
        self.folders_of(&path);
        self.0.entry(path).or_insert(Entry::Folder);
    }

    fn folders_of(&mut self, path: &Path) {
        for folder in path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
            self.0.entry(folder.to_owned()).or_insert(Entry::Folder);
        }
    }

    /// Copies a file of this machine to the same absolute path, with the links that lead to it. Answers where the file
    /// itself lies in the end. A folder is made, but not filled.
    pub(crate) fn copy(&mut self, path: &Path) -> Result<PathBuf, LabError> {
        let refused = |why: String| LabError::CopyIn { path: path.to_owned(), why };
        let mut rest: Vec<OsString> = names(path);
        rest.reverse();
        let mut at = PathBuf::from("/");
        let mut links = 0;
        while let Some(name) = rest.pop() {
            if name == ".." {
                at.pop();
                continue;
            }
            at.push(name);
            let about = fs::symlink_metadata(&at).map_err(|error| refused(error.to_string()))?;
            if about.is_symlink() {
                links += 1;
                if links > MOST_LINKS {
                    return Err(refused("its links lead in a circle".to_owned()));
                }
                let target = fs::read_link(&at).map_err(|error| refused(error.to_string()))?;
                self.put(&at, Entry::Link { target: target.clone() });
                if target.is_absolute() {
                    at = PathBuf::from("/");
                } else {
                    at.pop();
                }
                rest.extend(names(&target).into_iter().rev());
            } else if about.is_dir() {
                self.folder(&at);
            } else if !about.is_file() {
                return Err(refused("it is neither a file nor a folder".to_owned()));
            } else if about.len() > MOST_FILE_BYTES {
                return Err(refused("it is larger than the guest's memory".to_owned()));
            } else {
                let copy = Entry::Copy { of: at.clone(), mode: about.mode() & 0o7777, bytes: about.len() };
                // What was made for the guest stays.
                if let Place::Vacant(place) = self.0.entry(relative(&at)) {
                    place.insert(copy);
                }
            }
        }
        Ok(at)
    }
}

/// The names of a path in order, with `..` but without `/` and `.`.
fn names(path: &Path) -> Vec<OsString> {
    let named = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    named.map(|part| part.as_os_str().to_owned()).collect()
}

fn relative(path: &Path) -> PathBuf {
    path.strip_prefix("/").unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_on_the_way_are_kept() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().canonicalize().unwrap();
        fs::create_dir_all(folder.join("usr/lib")).unwrap();
        fs::write(folder.join("usr/lib/libx.so.1.2"), "x").unwrap();
        symlink("usr/lib", folder.join("lib")).unwrap();
        symlink("../lib/libx.so.1.2", folder.join("usr/lib/libx.so.1")).unwrap();
        let mut tree = Tree::default();
        let real = tree.copy(&folder.join("lib/libx.so.1")).unwrap();
        assert_eq!(real, folder.join("usr/lib/libx.so.1.2"));
        for (path, target) in [("lib", "usr/lib"), ("usr/lib/libx.so.1", "../lib/libx.so.1.2")] {
            let entry = &tree.0[&relative(&folder.join(path))];
            assert_eq!(*entry, Entry::Link { target: target.into() });
        }
        assert!(matches!(tree.0[&relative(&real)], Entry::Copy { bytes: 1, .. }));
        let paths: Vec<_> = tree.entries().map(|(path, _)| path).collect();
        assert!(paths.is_sorted());
    }

    #[test]
    fn what_cannot_be_copied_says_why() {
        let scratch = tempfile::tempdir().unwrap();
        symlink("round", scratch.path().join("round")).unwrap();
        let mut tree = Tree::default();
        let text = |path: PathBuf, tree: &mut Tree| tree.copy(&path).unwrap_err().to_string();
        assert!(text(scratch.path().join("round"), &mut tree).contains("in a circle"));
        assert!(text(scratch.path().join("absent"), &mut tree).contains("No such file"));
        assert!(text("/dev/null".into(), &mut tree).contains("neither a file nor a folder"));
    }
}
