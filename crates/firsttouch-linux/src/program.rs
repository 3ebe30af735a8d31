//! What a program is called by whoever started it.

use crate::maps::process_file;
use crate::root::Root;
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Bytes of a stranger as text; what is not UTF-8 is written out (`\xff`), so that two names never become one.
pub fn text_of(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text
}

/// The file of the program that a process runs, by the name that its user knows. The kernel's own answer (`/proc/PID/exe`) is
/// where links end: `redis-server` would be called `redis-check-rdb`, and `ls` of a BusyBox `busybox`. A link counts if the
/// process bears its name (`argv[0]`, `comm`) and it leads to the very file that runs.
pub fn program_of(root: &Root, pid: u32) -> io::Result<PathBuf> {
    let exe = process_file(root, pid, "exe");
    let file = std::fs::read_link(&exe)?;
    let Ok(running) = std::fs::metadata(&exe) else { return Ok(file) };
    let read = |name| std::fs::read(process_file(root, pid, name)).unwrap_or_default();
    let (words, comm) = (read("cmdline"), read("comm"));
    // Servers write what they do behind their name.
    let first = words.split(|byte| matches!(byte, 0 | b' ')).next().unwrap_or_default();
    let own_root = process_file(root, pid, "root");
    let there = |name: &Path| std::fs::metadata(own_root.join(name.strip_prefix("/").unwrap_or(name))).ok();
    let is_link =
        |name: &PathBuf| *name != file && there(name).is_some_and(|found| is_same(&found, &running));
    let beside = |name: &[u8]| Some(file.parent()?.join(Path::new(OsStr::from_bytes(name)).file_name()?));
    let started_as =
        Some(PathBuf::from(OsString::from_vec(first.to_vec()))).filter(|name| name.is_absolute());
    let names = [started_as, beside(first), beside(comm.trim_ascii_end())];
    Ok(names.into_iter().flatten().find(is_link).unwrap_or(file))
}

/// Device and inode of the file that a process executes, whatever its name means there; `None` if that cannot be seen.
pub fn executed_file(root: &Root, pid: u32) -> Option<(u64, u64)> {
    let running = std::fs::metadata(process_file(root, pid, "exe")).ok()?;
    Some((running.dev(), running.ino()))
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    #[test]
    fn what_is_no_text_is_written_out() {
        assert_eq!(text_of("größe".as_bytes()), "größe");
        assert_eq!(text_of(b"a\xff\xfeb"), "a\\xff\\xfeb");
    }

    /// A process that is called by a link, in a folder of its own, and with other words behind its name.
    #[test]
    fn a_program_is_called_by_the_link_that_it_was_started_by() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("check");
        let folders = std::env::var_os("PATH").unwrap();
        let cat = std::env::split_paths(&folders).map(|folder| folder.join("cat")).find(|file| file.exists());
        std::fs::copy(cat.unwrap(), &file).unwrap();
        std::os::unix::fs::symlink("check", folder.path().join("server")).unwrap();
        let called = |program: &str, zeroth: &str| {
            let mut command = Command::new(folder.path().join(program));
            let mut child = command.arg0(zeroth).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
            let name = program_of(&Root::live(), child.id()).unwrap();
            drop(child.stdin.take());
            child.wait().unwrap();
            name.strip_prefix(folder.path().canonicalize().unwrap()).unwrap().to_owned()
        };
        assert_eq!(called("server", "server *:6379"), Path::new("server"));
        assert_eq!(called("server", "whatever"), Path::new("server"), "by its comm");
        assert_eq!(called("check", "whatever"), Path::new("check"));
    }
}
