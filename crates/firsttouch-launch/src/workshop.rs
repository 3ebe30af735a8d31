//! Folders for what lives no longer than a command. One that is left by a command that was killed goes when the next one makes its own.
//!
//! Whether the owner of a folder lives is told by a lock on the folder, which the kernel gives up with the owner, however it
//! ends. The number of a process tells less: where containers share a folder, or machines do over a network, the same number is
//! another process, or seems to be none. Where a file system knows no such locks nothing is removed.

use firsttouch_process::Environment;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, open};
use rustix::io::retry_on_intr;
use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Once;
use tempfile::TempDir;

/// How the names begin; digits, a dash, and as many letters and digits as [`DRAWN`] follow.
const PREFIX: &str = "firsttouch-";
/// Characters of a name that are drawn.
const DRAWN: usize = 12;
/// Only its owner gets into a folder of ours.
const MODE: u32 = 0o700;
const STICKY: u32 = 0o1000;
/// That another process removes a folder before it is locked hardly happens once.
const TRIES: u32 = 8;

/// A folder that vanishes with this value or, where this process is killed, when the next one makes such a folder.
#[derive(Debug)]
pub struct Workshop {
    folder: TempDir,
    /// Held as long as the folder is used; programs that we start do not inherit it.
    _lock: Option<OwnedFd>,
}

impl Workshop {
    /// Makes a folder where temporary ones lie (TMPDIR in `environment`); the first one of a process removes what dead owners left there.
    ///
    /// # Errors
    /// What the kernel says where none can be made.
    pub fn new(environment: &Environment) -> io::Result<Workshop> {
        static SWEPT: Once = Once::new();
        let place = environment.get("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
        // What cannot be cleaned up must not keep anybody from working.
        SWEPT.call_once(|| drop(sweep(&place, rustix::process::geteuid().as_raw())));
        Workshop::within(&place)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    fn within(place: &Path) -> io::Result<Workshop> {
        // The number is for people who wonder whose it is.
        let prefix = format!("{PREFIX}{}-", std::process::id());
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).rand_bytes(DRAWN).permissions(Permissions::from_mode(MODE));
        for _ in 0..TRIES {
            let folder = builder.tempdir_in(place)?;
            // A reader's lock: over NFS a folder has no other. Without any, nobody else can lock it to remove it.
            let lock = match folder_at(folder.path()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                other => other?,
            };
            let is_locked = retry_on_intr(|| flock(&lock, FlockOperation::LockShared)).is_ok();
            // Before it is locked it looks like one that was left, and may be gone at each of these steps.
            if is_at(&lock, folder.path()) {
                return Ok(Workshop { folder, _lock: is_locked.then_some(lock) });
            }
        }
        Err(io::Error::other("the folder vanished each time that it was made"))
    }
}

/// Removes the folders of this user in `place` whose owners are dead. What is not certainly such a folder is left alone.
fn sweep(place: &Path, uid: u32) -> io::Result<()> {
    if !is_safe(&fs::metadata(place)?, uid) {
        return Ok(());
    }
    for entry in fs::read_dir(place)?.flatten() {
        let path = entry.path();
        let is_ours = entry.file_name().to_str().is_some_and(is_name)
            && fs::symlink_metadata(&path).is_ok_and(|about| is_own_folder(&about, uid));
        if !is_ours {
            continue;
        }
        let Ok(folder) = folder_at(&path) else { continue };
        // Held until it is gone, so that of two who sweep only one removes it.
        if flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok() && is_at(&folder, &path) {
            // It follows no links.
            drop(fs::remove_dir_all(&path));
        }
    }
    Ok(())
}

/// Whether nobody but this user and root can put something else in the place of this user's folders in there.
fn is_safe(place: &Metadata, uid: u32) -> bool {
    let is_believed = place.uid() == 0 || place.uid() == uid;
    is_believed && (place.mode() & 0o022 == 0 || place.mode() & STICKY != 0)
}

fn is_own_folder(about: &Metadata, uid: u32) -> bool {
    about.is_dir() && about.uid() == uid && about.mode() & 0o7777 == MODE
}

/// Whether that is a name of ours to the letter.
fn is_name(name: &str) -> bool {
    let Some((pid, drawn)) = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-')) else {
        return false;
    };
    let is_pid = !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit());
    is_pid && drawn.len() == DRAWN && drawn.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn folder_at(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(open(path, flags, Mode::empty())?)
}

/// Whether what is open is what the path leads to now.
fn is_at(folder: &OwnedFd, path: &Path) -> bool {
    let Ok(open) = fstat(folder) else { return false };
    fs::symlink_metadata(path).is_ok_and(|named| (named.dev(), named.ino()) == (open.st_dev, open.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    /// A folder as a dead owner leaves it.
    fn left(place: &Path, name: &str) -> PathBuf {
        let path = place.join(name);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(MODE)).unwrap();
        fs::write(path.join("record"), "firsttouch-record 1\n").unwrap();
        path
    }

    fn own() -> u32 {
        rustix::process::geteuid().as_raw()
    }

    #[test]
    fn what_is_left_goes_and_what_is_used_stays() {
        let place = tempfile::tempdir().unwrap();
        let dead = left(place.path(), "firsttouch-4711-abcDEF012345");
        let used = Workshop::within(place.path()).unwrap();
        let name = used.path().file_name().unwrap().to_str().unwrap();
        assert!(is_name(name), "{name}");
        assert!(is_own_folder(&fs::symlink_metadata(used.path()).unwrap(), own()));
        sweep(place.path(), own()).unwrap();
        assert_eq!((dead.exists(), used.path().exists()), (false, true));
        let path = used.path().to_owned();
        drop(used);
        assert!(!path.exists());
    }

    #[test]
    fn what_merely_looks_like_ours_stays() {
        let place = tempfile::tempdir().unwrap();
        let elsewhere = left(place.path(), "elsewhere");
        let open = left(place.path(), "firsttouch-4711-openopenopen");
        fs::set_permissions(&open, Permissions::from_mode(0o755)).unwrap();
        let link = place.path().join("firsttouch-4711-linklinklink");
        symlink(&elsewhere, &link).unwrap();
        let file = place.path().join("firsttouch-4711-filefilefile");
        fs::write(&file, "").unwrap();
        let names = [
            "firsttouch-backup",
            "firsttouch-4711-short",
            "firsttouch--abcDEF012345",
            "firsttouch-47x1-abcDEF012345",
            "firsttouch-4711-abcDEF01234_",
            "firsttouch-4711-abcDEF012345-1",
            "x-firsttouch-4711-abcDEF012345",
        ];
        let named: Vec<PathBuf> = names.iter().map(|name| left(place.path(), name)).collect();
        // Within one that is ours, links are removed and not followed.
        let dead = left(place.path(), "firsttouch-4711-abcDEF012345");
        symlink(&elsewhere, dead.join("link")).unwrap();
        // Another user's, whoever we are.
        sweep(place.path(), own() + 1).unwrap();
        assert!(dead.exists());
        sweep(place.path(), own()).unwrap();
        assert!(!dead.exists());
        for path in named.iter().chain([&elsewhere, &open]) {
            assert!(path.join("record").exists(), "{}", path.display());
        }
        assert!(link.is_symlink() && file.exists());
    }

    /// Where others can rename what is ours, a name says nothing.
    #[test]
    fn in_a_place_that_others_change_nothing_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let dead = left(place.path(), "firsttouch-4711-abcDEF012345");
        fs::set_permissions(place.path(), Permissions::from_mode(0o777)).unwrap();
        sweep(place.path(), own()).unwrap();
        assert!(dead.exists());
        fs::set_permissions(place.path(), Permissions::from_mode(0o1777)).unwrap();
        sweep(place.path(), own()).unwrap();
        assert!(!dead.exists());
    }
}
