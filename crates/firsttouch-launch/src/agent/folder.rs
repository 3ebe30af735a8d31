//! Folders that nobody else can change: neither what is in them nor where their path leads.
//!
//! Whoever can replace a library that is preloaded runs code as those who preload it, also later: programs load it again whenever
//! they start others. So each folder on the way is root's or one's own and only they write to it, as OpenSSH wants it of the
//! keys it believes. A folder like /tmp is refused although its sticky bit keeps others from renaming what is ours:
//! what clears old files away there (systemd-tmpfiles) takes ours, too, and then anybody may make the name anew.

use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

/// What everybody else may do with a folder at most: read it.
const MODE: u32 = 0o755;
const STICKY: u32 = 0o1000;

/// Why a folder is no place for what runs as code.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Where its path leads cannot be found out.
    #[error("cannot follow {}: {error}", .path.display())]
    Follow {
        /// The path.
        path: PathBuf,
        /// What the kernel said.
        error: io::Error,
    },
    /// Its path leads nowhere.
    #[error("{} leads nowhere", .path.display())]
    Nowhere {
        /// The path.
        path: PathBuf,
    },
    /// It cannot be looked at.
    #[error("cannot look at {}: {error}", .path.display())]
    Look {
        /// The path.
        path: PathBuf,
        /// What the kernel said.
        error: io::Error,
    },
    /// It cannot be made.
    #[error("cannot make {}: {error}", .path.display())]
    Make {
        /// The path.
        path: PathBuf,
        /// What the kernel said.
        error: io::Error,
    },
    /// Something else has its name.
    #[error("{} is no folder", .path.display())]
    NoFolder {
        /// The path.
        path: PathBuf,
    },
    /// Another user owns it.
    #[error("{} belongs to user {uid}, who could put another file in its place", .path.display())]
    OfAnother {
        /// The path.
        path: PathBuf,
        /// Whose it is.
        uid: u32,
    },
    /// Everybody puts files there.
    #[error("{} is everybody's: when the file is cleared away there, others can make it anew", .path.display())]
    OfEverybody {
        /// The path.
        path: PathBuf,
    },
    /// Others can write to it.
    #[error("others can write to {} (mode {mode:03o}): chmod go-w {}", .path.display(), .path.display())]
    Open {
        /// The path.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The loader would take its path apart.
    #[error("LD_PRELOAD cannot hold a path with a space or a colon, or that is not UTF-8")]
    NotPreloadable,
    /// Nothing on its file system can be executed.
    #[error("lies on a file system mounted noexec")]
    NoExecution,
    /// The file cannot be written there.
    #[error("{0}")]
    Write(#[from] io::Error),
}

/// Whose folders are believed, beside root's.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    uid: u32,
    /// The texts of /etc/passwd and /etc/group.
    passwd: String,
    group: String,
}

/// Where a path leads: without symbolic links, and without `..`. What is not there yet stays as it is named.
pub(crate) fn resolved(path: &Path) -> Result<PathBuf, FolderError> {
    let mut missing = Vec::new();
    for existing in path.ancestors() {
        match fs::canonicalize(existing) {
            Ok(real) => return Ok(missing.iter().rev().fold(real, |path, name| path.join(name))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let Some(Component::Normal(name)) = existing.components().next_back() else { break };
                missing.push(name);
            }
            Err(error) => return Err(FolderError::Follow { path: existing.to_owned(), error }),
        }
    }
    Err(FolderError::Nowhere { path: path.to_owned() })
}

impl Owner {
    /// The user we act as.
    pub(crate) fn current() -> Owner {
        // A user that they do not list has no group of his own.
        let text = |path| fs::read_to_string(path).unwrap_or_default();
        Owner {
            uid: rustix::process::geteuid().as_raw(),
            passwd: text("/etc/passwd"),
            group: text("/etc/group"),
        }
    }

    pub(crate) fn is_root(&self) -> bool {
        self.uid == 0
    }

    /// Makes sure that only root and this owner can change a folder or where its path leads; `makes` what is missing, readable by
    /// all. The path is [`resolved`].
    ///
    /// From the top down: once a folder is found to be out of the reach of others, they cannot put another one in the place of
    /// what is in it.
    pub(crate) fn secures(&self, path: &Path, makes: bool) -> Result<(), FolderError> {
        let mut way: Vec<&Path> = path.ancestors().collect();
        way.reverse();
        for folder in way {
            let about = match fs::symlink_metadata(folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && makes => {
                    self.make(folder, folder == path)?
                }
                about => about.map_err(|error| FolderError::Look { path: folder.to_owned(), error })?,
            };
            self.check(folder, &about)?;
        }
        Ok(())
    }

    fn make(&self, folder: &Path, is_last: bool) -> Result<Metadata, FolderError> {
        let failed = |error| FolderError::Make { path: folder.to_owned(), error };
        match DirBuilder::new().mode(MODE).create(folder) {
            // A narrow umask must not keep services away that become another user. What else is in a user's cache is private.
            Ok(()) if is_last || self.is_root() => {
                fs::set_permissions(folder, Permissions::from_mode(MODE)).map_err(failed)?;
            }
            // Ranks of a job start at the same time. What another has made is looked at as what was there.
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
            _ => {}
        }
        fs::symlink_metadata(folder).map_err(failed)
    }

    fn check(&self, folder: &Path, about: &Metadata) -> Result<(), FolderError> {
        let (path, mode) = (folder.to_owned(), about.mode() & 0o7777);
        if !about.is_dir() {
            Err(FolderError::NoFolder { path })
        } else if !self.believes(about) {
            Err(FolderError::OfAnother { path, uid: about.uid() })
        } else if self.alone_writes(about) {
            Ok(())
        } else if mode & STICKY != 0 {
            Err(FolderError::OfEverybody { path })
        } else {
            Err(FolderError::Open { path, mode })
        }
    }

    /// A file that only root and this owner can write to.
    pub(crate) fn owns(&self, about: &Metadata) -> bool {
        about.is_file() && self.believes(about) && self.alone_writes(about)
    }

    fn believes(&self, about: &Metadata) -> bool {
        about.uid() == 0 || about.uid() == self.uid
    }

    fn alone_writes(&self, about: &Metadata) -> bool {
        match about.mode() & 0o022 {
            0 => true,
            // Where each user has a group of his own, his umask often lets it write.
            0o020 => about.uid() == self.uid && self.has_group_alone(about.gid()),
            _ => false,
        }
    }

    /// Whether a group is this user's and has no other member. Of users that /etc/passwd does not list nothing is known, and root's
    /// group has members in containers that are in no list.
    fn has_group_alone(&self, gid: u32) -> bool {
        let users = || self.passwd.lines().filter_map(User::of);
        let Some(own) = users().find(|user| user.uid == self.uid && user.gid == gid) else { return false };
        let mut groups = self.group.lines().filter_map(|line| {
            let mut fields = line.split(':');
            let (name, _, number, members) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
            (number.parse() == Ok(gid)).then_some((name, members))
        });
        let is_own = |(name, members): (&str, &str)| {
            name == own.name && members.split(',').all(|member| member.is_empty() || member == own.name)
        };
        !self.is_root()
            && users().all(|user| user.gid != gid || user.uid == self.uid)
            && groups.next().is_some_and(is_own)
            && groups.next().is_none()
    }
}

/// A line of /etc/passwd.
struct User<'a> {
    name: &'a str,
    uid: u32,
    gid: u32,
}

impl User<'_> {
    fn of(line: &str) -> Option<User<'_>> {
        let mut fields = line.split(':');
        let (name, _, uid, gid) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        Some(User { name, uid: uid.parse().ok()?, gid: gid.parse().ok()? })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::sync::Barrier;
    use std::thread;
    use tempfile::TempDir;

    /// Where only this user gets to: below the build's own folder or, if that is in a place that is everybody's, at home.
    pub(in crate::agent) fn scratch() -> TempDir {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let mut folders = [Some(env!("OUT_DIR").into()), home, Some("/var/lib".into())].into_iter().flatten();
        let is_ours = |folder: &PathBuf| {
            resolved(folder).is_ok_and(|folder| Owner::current().secures(&folder, false).is_ok())
                && tempfile::tempdir_in(folder).is_ok()
        };
        tempfile::tempdir_in(folders.find(is_ours).expect("a folder that nobody else can change")).unwrap()
    }

    fn refusal(path: &Path) -> String {
        Owner::current().secures(path, true).unwrap_err().to_string()
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn what_is_missing_is_made_and_readable() {
        let scratch = scratch();
        let path = resolved(&scratch.path().join("a/b/c")).unwrap();
        assert!(Owner::current().secures(&path, false).is_err());
        Owner::current().secures(&path, true).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o755);
        Owner::current().secures(&path, false).unwrap();
    }

    #[test]
    fn whoever_comes_first_makes_it() {
        // As the ranks of a job do that start at the same time.
        let scratch = scratch();
        let owner = Owner::current();
        for round in 0..100 {
            let path = resolved(&scratch.path().join(format!("{round}/a/b/c"))).unwrap();
            let together = Barrier::new(4);
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        together.wait();
                        owner.secures(&path, true).unwrap();
                    });
                }
            });
        }
    }

    #[test]
    fn every_folder_on_the_way_counts() {
        let scratch = scratch();
        let (open, inner) = (scratch.path().join("open"), scratch.path().join("open/mine"));
        fs::create_dir_all(&inner).unwrap();
        set_mode(&inner, 0o755);
        for (mode, why) in
            [(0o777, "others can write"), (0o775, "others can write"), (0o1777, "is everybody's")]
        {
            set_mode(&open, mode);
            let said = refusal(&inner);
            assert!(said.contains(why) && said.contains("/open"), "{mode:o}: {said}");
        }
        set_mode(&open, 0o755);
        Owner::current().secures(&inner, false).unwrap();
        // What is no folder, and what it would be made in.
        fs::write(inner.join("file"), "").unwrap();
        assert!(refusal(&inner.join("file/below")).contains("is no folder"));
    }

    #[test]
    fn links_are_followed_once_and_for_all() {
        let scratch = scratch();
        let (real, link) = (scratch.path().join("real"), scratch.path().join("link"));
        fs::create_dir(&real).unwrap();
        symlink(&real, &link).unwrap();
        let path = resolved(&link.join("new/../newer")).unwrap_err();
        assert!(path.to_string().contains("leads nowhere"), "{path}");
        assert_eq!(resolved(&link.join("new")).unwrap(), fs::canonicalize(&real).unwrap().join("new"));
        // One that is put there in between, or leads nowhere, is no folder.
        fs::remove_file(&link).unwrap();
        symlink("nothing", &link).unwrap();
        assert!(refusal(&link).contains("is no folder"));
    }

    #[test]
    fn a_group_of_ones_own_may_write() {
        let passwd = "root:x:0:0::/:/bin/sh\nann:x:1000:1000::/:/bin/sh\nbob:x:1001:1001::/:/bin/sh\n\
            eve:x:1002:100::/:/bin/sh\n";
        let group = "root:x:0:\nann:x:1000:ann\nbob:x:1001:eve\nusers:x:100:\n";
        let owner = |uid| Owner { uid, passwd: passwd.to_owned(), group: group.to_owned() };
        let alone = |uid, gid| owner(uid).has_group_alone(gid);
        assert!(alone(1000, 1000));
        // Another member; a group of several; somebody else's; root's; nobody's.
        for (uid, gid) in [(1001, 1001), (1002, 100), (1002, 1000), (0, 0), (77, 1000)] {
            assert!(!alone(uid, gid), "{uid} {gid}");
        }
        let shared = passwd.replace("bob:x:1001:1001", "bob:x:1001:1000");
        assert!(!Owner { passwd: shared, ..owner(1000) }.has_group_alone(1000));
    }
}
