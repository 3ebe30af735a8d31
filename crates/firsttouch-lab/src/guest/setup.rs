//! Makes a bare kernel a system that programs find what they expect in.

use crate::job::Job;
use rustix::mount::{MountFlags, mount};
use rustix::system::finit_module;
use std::ffi::CStr;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const MEMORY: &str = "/sys/devices/system/memory";
const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// Mounts what every system has.
pub(super) fn mounts() -> io::Result<()> {
    // The kernel makes the root of its first file system as others make /tmp. In a folder that is everybody's nothing is safe
    // that root preloads.
    fs::set_permissions("/", Permissions::from_mode(0o755))?;
    let all = [
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("devtmpfs", "/dev"),
        ("tmpfs", "/dev/shm"),
        ("cgroup2", "/sys/fs/cgroup"),
    ];
    for (kind, place) in all {
        fs::create_dir_all(place)?;
        mount(kind, place, kind, MountFlags::empty(), None::<&CStr>)
            .map_err(|error| io::Error::other(format!("cannot mount {kind} on {place}: {error}")))?;
    }
    Ok(())
}

/// Makes the settings of a job.
pub(super) fn settings(job: &Job) -> io::Result<()> {
    job.modules.iter().try_for_each(|module| load(module))?;
    for node in &job.online {
        take_in(*node)?;
    }
    if let Some(mode) = &job.thp {
        write(Path::new(THP), mode)?;
    }
    Ok(())
}

/// Loads a module, compressed or not (Linux 5.17).
fn load(module: &Path) -> io::Result<()> {
    const COMPRESSED: i32 = 4;
    let flags = if module.extension().is_some_and(|end| end != "ko") { COMPRESSED } else { 0 };
    finit_module(File::open(module)?, c"", flags)
        .map_err(|error| io::Error::other(format!("cannot load {}: {error}", module.display())))
}

/// Makes the plugged memory of a node usable, movable, as systems do with memory that may be pulled again.
fn take_in(node: u32) -> io::Result<()> {
    let folder = format!("/sys/devices/system/node/node{node}");
    let blocks = blocks(Path::new(&folder))?;
    if blocks.is_empty() {
        return Err(io::Error::other(format!("node {node} has no memory plugged in ({folder}, {MEMORY})")));
    }
    for block in blocks {
        let state = block.join("state");
        if fs::read_to_string(&state)?.trim() == "offline" {
            write(&state, "online_movable")?;
        }
    }
    Ok(())
}

fn blocks(node: &Path) -> io::Result<Vec<PathBuf>> {
    let is_block =
        |name: &str| name.strip_prefix("memory").is_some_and(|number| number.parse::<u32>().is_ok());
    let entries = fs::read_dir(node)?.collect::<io::Result<Vec<_>>>()?;
    Ok(entries
        .iter()
        .filter(|entry| is_block(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect())
}

/// Writes a setting; the error names the file, which the kernel's answer does not.
pub(super) fn write(file: &Path, text: &str) -> io::Result<()> {
    fs::write(file, text).map_err(|error| {
        io::Error::new(error.kind(), format!("cannot write `{text}` to {}: {error}", file.display()))
    })
}
