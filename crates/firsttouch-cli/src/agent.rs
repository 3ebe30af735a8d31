//! Puts the agent, which this binary carries inside, into a file that the loader can preload.

use anyhow::Context;
use std::env;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::output::{Failure, Outcome};

/// The agent's code.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libfirsttouch_preload.so"));

/// The path of the agent's file, written now if it is not there.
///
/// It is kept for the next time, in a directory only we can write to: whoever could replace the file would run
/// code in our programs. Everybody can read it: a service that root starts becomes another user before it works.
pub(crate) fn install() -> Outcome<PathBuf> {
    let mut refused = Vec::new();
    for directory in candidates()? {
        match install_in(&directory) {
            Ok(path) => return Ok(path),
            Err(error) => refused.push(format!("{}: {error:#}", directory.display())),
        }
    }
    Err(Failure::message(format!("there is no directory for the agent's file\n  {}", refused.join("\n  ")))
        .hint("set XDG_CACHE_HOME to a directory of your own that allows programs to be mapped"))
}

fn candidates() -> anyhow::Result<Vec<PathBuf>> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let uid = own_uid().context("cannot make a temporary file")?;
    Ok([
        absolute("XDG_CACHE_HOME").map(|cache| cache.join("firsttouch")),
        // Where other users get to: root's home is closed to them.
        (uid == 0).then(|| PathBuf::from("/var/cache/firsttouch")),
        // A home that does not exist (services have such) is not ours to make.
        absolute("HOME").filter(|home| home.is_dir()).map(|home| home.join(".cache/firsttouch")),
        Some(PathBuf::from(format!("/tmp/firsttouch-{uid}"))),
    ]
    .into_iter()
    .flatten()
    .collect())
}

/// The user we act as, asked of the kernel in the only way that needs no system call of our own: who owns a
/// file we make.
fn own_uid() -> io::Result<u32> {
    Ok(tempfile::tempfile()?.metadata()?.uid())
}

fn install_in(directory: &Path) -> anyhow::Result<PathBuf> {
    let path = directory.join(format!("libfirsttouch_preload-{}.so", env!("FIRSTTOUCH_AGENT_HASH")));
    let text = path.to_str().context("the path is not UTF-8")?;
    if text.contains([' ', ':']) {
        anyhow::bail!("LD_PRELOAD cannot hold a path with a space or a colon");
    }
    DirBuilder::new().recursive(true).mode(0o755).create(directory)?;
    let about = fs::symlink_metadata(directory)?;
    if !about.is_dir() {
        anyhow::bail!("not a directory (symbolic links are not followed)");
    }
    if about.uid() != own_uid()? {
        anyhow::bail!("belongs to another user");
    }
    if about.mode() & 0o022 != 0 {
        anyhow::bail!("others can write to it");
    }
    // Without /proc nothing is known about mounts; the loader will complain if it must.
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    if forbids_execution(&mounts, &fs::canonicalize(directory)?) {
        anyhow::bail!("lies on a file system mounted noexec");
    }
    if about.mode() & 0o055 != 0o055 {
        // Made by an earlier version, or under a narrow umask.
        fs::set_permissions(directory, Permissions::from_mode(0o755))?;
    }
    if !holds(&path) {
        // Under another name first: a program that starts meanwhile sees all of the file or nothing.
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(LIBRARY)?;
        file.as_file().set_permissions(Permissions::from_mode(0o644))?;
        file.persist(&path)?;
    }
    Ok(path)
}

/// The file is there and is the agent, byte for byte.
fn holds(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| about.is_file())
        && fs::read(path).is_ok_and(|content| content == LIBRARY)
}

/// Whether the mount that `path` lies on has the option `noexec`, by the text of /proc/self/mountinfo.
fn forbids_execution(mounts: &str, path: &Path) -> bool {
    let mut deepest = (0, false);
    for line in mounts.lines() {
        // Fields: id, parent, device, root, mount point, options, …
        let mut fields = line.split(' ').skip(4);
        let (Some(point), Some(options)) = (fields.next(), fields.next()) else { continue };
        // The later of two mounts on the same point hides the earlier one.
        if path.starts_with(point) && point.len() >= deepest.0 {
            deepest = (point.len(), options.split(',').any(|option| option == "noexec"));
        }
    }
    deepest.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    const MOUNTS: &str = "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
        30 22 0:26 / /tmp rw,nosuid,noexec - tmpfs tmpfs rw\n\
        31 30 0:27 / /tmp/run rw,nosuid - tmpfs tmpfs rw\n";

    #[test]
    fn the_deepest_mount_decides() {
        assert!(!forbids_execution(MOUNTS, Path::new("/home/a")));
        assert!(forbids_execution(MOUNTS, Path::new("/tmp/firsttouch-0")));
        assert!(!forbids_execution(MOUNTS, Path::new("/tmp/run/x")));
        assert!(!forbids_execution(MOUNTS, Path::new("/tmpfiles")));
        assert!(!forbids_execution("", Path::new("/tmp")));
    }

    #[test]
    fn the_file_is_made_once_and_mended_when_it_was_changed() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path().join("a/b");
        let path = install_in(&directory).unwrap();
        assert_eq!(fs::read(&path).unwrap(), LIBRARY);
        let made = fs::metadata(&path).unwrap().ino();
        assert_eq!(fs::metadata(install_in(&directory).unwrap()).unwrap().ino(), made);
        fs::write(&path, "something else").unwrap();
        assert_eq!(fs::read(install_in(&directory).unwrap()).unwrap(), LIBRARY);
    }

    #[test]
    fn other_users_can_load_it_and_not_write_it() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path().join("cache");
        fs::create_dir(&directory).unwrap();
        fs::set_permissions(&directory, Permissions::from_mode(0o700)).unwrap();
        let path = install_in(&directory).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&directory), mode(&path)), (0o755, 0o644));
    }

    #[test]
    fn a_directory_that_others_control_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let open = scratch.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
        assert!(install_in(&open).unwrap_err().to_string().contains("others can write"));
        let link = scratch.path().join("link");
        symlink(scratch.path(), &link).unwrap();
        assert!(install_in(&link).unwrap_err().to_string().contains("not a directory"));
        assert!(
            install_in(&scratch.path().join("with space")).unwrap_err().to_string().contains("LD_PRELOAD")
        );
    }
}
