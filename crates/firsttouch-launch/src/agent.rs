//! Puts the agent, which this crate carries inside, into a file that the loader can preload.

mod folder;

pub use folder::FolderError;

use crate::environment::caches;
use firsttouch_process::Environment;
use flate2::read::ZlibDecoder;
use folder::Owner;
use std::fs::{self, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The agent's code, packed: unpacking takes about a millisecond, which is done where its file is written.
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libfirsttouch_preload.so.z"));

/// The agent's code.
fn library() -> io::Result<Vec<u8>> {
    let mut library = Vec::new();
    ZlibDecoder::new(PACKED).read_to_end(&mut library)?;
    Ok(library)
}

/// Where root's agent lies, and only there: whose folder root's XDG_CACHE_HOME and HOME name is another question (after `su`
/// without a dash, or `sudo -E`, those of the user who became root). Services that become another user get to it, too.
const SYSTEM: &str = "/var/cache/firsttouch";

/// A folder that the agent's file could not be put into, and why.
#[derive(Debug)]
pub struct RefusedFolder {
    /// Its path.
    pub path: PathBuf,
    /// Why.
    pub error: FolderError,
}

/// There is no folder for the agent's file.
#[derive(Debug, thiserror::Error)]
#[error("there is no folder for the agent's file{}", .refused.iter().map(|one| format!("\n  {}: {}", one.path.display(), one.error)).collect::<String>())]
pub struct AgentError {
    /// The folders that were tried.
    pub refused: Vec<RefusedFolder>,
    /// We act as root.
    pub is_root: bool,
}

impl AgentError {
    /// What would mend it.
    pub fn hint(&self) -> String {
        if self.is_root {
            return format!(
                "root's is {SYSTEM}: it and the folders above it must be root's, and writable by root alone; in a container that is \
                 read-only, --tmpfs {SYSTEM}:exec, or RUN firsttouch run -- true in its image; in a unit of systemd, CacheDirectory=firsttouch"
            );
        }
        format!(
            "set XDG_CACHE_HOME to a folder that nobody else can write to, nor to those above it; or have root put the file into \
             {SYSTEM}, for all: sudo firsttouch run -- true"
        )
    }
}

/// The path of the agent's file, written now if it is not there; in `environment`, XDG_CACHE_HOME and HOME name the folders of a user.
///
/// It is kept for the next time, where nobody else can replace it: whoever could would run code in our programs.
/// Everybody can read it: a service that root starts becomes another user before it works.
///
/// # Errors
/// Where no folder is out of the reach of others.
pub fn install(environment: &Environment) -> Result<PathBuf, AgentError> {
    let owner = Owner::current();
    // What root has put there is everybody's to load.
    if let Some(path) = place_in(Path::new(SYSTEM)).ok().filter(|path| is_kept(path, &owner)) {
        return Ok(path);
    }
    let mut refused = Vec::new();
    for path in candidates(&owner, environment) {
        match install_in(&path, &owner) {
            Ok(path) => return Ok(path),
            Err(error) => refused.push(RefusedFolder { path, error }),
        }
    }
    Err(AgentError { refused, is_root: owner.is_root() })
}

fn candidates(owner: &Owner, environment: &Environment) -> Vec<PathBuf> {
    if owner.is_root() {
        return vec![PathBuf::from(SYSTEM)];
    }
    caches(environment).collect()
}

/// The agent's file in a folder, by a path that leads there without symbolic links.
fn place_in(folder: &Path) -> Result<PathBuf, FolderError> {
    Ok(folder::resolved(folder)?.join(format!("libfirsttouch_preload-{}.so", env!("FIRSTTOUCH_AGENT_HASH"))))
}

/// The agent's file is there, and nobody else can put another one there.
fn is_kept(path: &Path, owner: &Owner) -> bool {
    let folder = path.parent().unwrap_or(path);
    owner.secures(folder, false).is_ok() && holds(path, owner) && check_place(folder).is_ok()
}

fn install_in(folder: &Path, owner: &Owner) -> Result<PathBuf, FolderError> {
    let path = place_in(folder)?;
    if path.to_str().is_none_or(|text| text.contains([' ', ':'])) {
        return Err(FolderError::NotPreloadable);
    }
    let folder = path.parent().ok_or_else(|| FolderError::Nowhere { path: path.clone() })?;
    owner.secures(folder, true)?;
    check_place(folder)?;
    let mode = fs::metadata(folder)?.mode();
    if mode & 0o055 != 0o055 {
        // Made by an earlier version, or under a narrow umask.
        fs::set_permissions(folder, Permissions::from_mode(0o755))?;
    }
    if !holds(&path, owner) {
        // Under another name first: a program that starts meanwhile sees all of the file or nothing.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&library()?)?;
        file.as_file().set_permissions(Permissions::from_mode(0o644))?;
        file.persist(&path).map_err(|refused| refused.error)?;
    }
    Ok(path)
}

/// Programs can be mapped from there.
fn check_place(folder: &Path) -> Result<(), FolderError> {
    // Without /proc nothing is known about mounts; the loader will complain if it must.
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    if forbids_execution(&mounts, folder) {
        return Err(FolderError::NoExecution);
    }
    Ok(())
}

/// The file is there and is the agent, whole, and nobody else writes to it.
fn holds(path: &Path, owner: &Owner) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| owner.owns(&about))
        && fs::read(path).is_ok_and(|content| is_whole(&content))
}

/// Whether the agent's file, which has the name of what was written to it, was not damaged since. Who would write something else there
/// on purpose is kept away from the folder.
fn is_whole(content: &[u8]) -> bool {
    format!("{:08x}", crc32fast::hash(content)) == env!("FIRSTTOUCH_AGENT_CRC32")
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
    use super::folder::tests::scratch;
    use super::*;

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

    /// Where only this user gets to; the usual place of temporary files is everybody's.
    fn installed_in(folder: &Path) -> Result<PathBuf, FolderError> {
        install_in(folder, &Owner::current())
    }

    #[test]
    fn the_file_is_made_once_and_mended_when_it_was_changed() {
        let scratch = scratch();
        let folder = scratch.path().join("a/b");
        let path = installed_in(&folder).unwrap();
        assert_eq!(fs::read(&path).unwrap(), library().unwrap());
        let made = || fs::metadata(installed_in(&folder).unwrap()).unwrap().ino();
        let first = made();
        assert_eq!(made(), first);
        fs::write(&path, "something else").unwrap();
        assert_eq!(fs::read(installed_in(&folder).unwrap()).unwrap(), library().unwrap());
        // The same bytes, which others may change when we have looked.
        let second = made();
        fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        assert_ne!(made(), second);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o644);
    }

    #[test]
    fn other_users_can_load_it_and_not_write_it() {
        let scratch = scratch();
        let folder = scratch.path().join("cache");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
        let path = installed_in(&folder).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&path)), (0o755, 0o644));
    }

    #[test]
    fn a_path_that_the_loader_would_take_apart_is_refused_and_not_made() {
        let scratch = scratch();
        for name in ["with space", "with:colon"] {
            let folder = scratch.path().join(name);
            assert!(installed_in(&folder).unwrap_err().to_string().contains("LD_PRELOAD"));
            assert!(!folder.exists());
        }
    }
}
