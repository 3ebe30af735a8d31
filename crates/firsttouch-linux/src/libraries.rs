//! File names of libraries that decide who allocates: how they begin. And which C library the agent can live with.

use crate::sys::open_to_read;
use core::ffi::{CStr, c_char};

/// Our own agent, wherever the launcher put it.
pub const AGENT: &str = "libfirsttouch_preload";

/// Runtimes of sanitizers, which must come first among a program's libraries and refuse to start otherwise.
pub const SANITIZERS: [&str; 6] =
    ["libasan.", "libtsan.", "libubsan.", "liblsan.", "libhwasan.", "libclang_rt."];

/// Allocators of their own.
pub const ALLOCATORS: [&str; 4] = ["libjemalloc.", "libmimalloc.", "libtcmalloc", "libsnmalloc"];

/// Whether this is the name of a loader of the GNU C library, on whatever architecture; musl's is `ld-musl-…`, uClibc's `ld-uClibc-…`.
fn is_glibc_loader(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    name.starts_with(b"ld-linux") || name.starts_with(b"ld64.so.") || name == b"ld.so.1"
}

/// From this release on libc.so.6 has what other libraries had before (GNU C Library, NEWS of 2.34). What is linked with it wants that version,
/// without which an older loader ends the program. A loader that has it names it.
const VERSION: &[u8] = b"GLIBC_2.34\0";
const VERSION_MINOR: u32 = 34;

/// Whether a loader is not that of a GNU C library that the agent can be loaded beside: it is another one's, or one's that is older than 2.34 while ours is
/// not. That of the system is read as well: it may be another system's, after chroot(2) or in a container. `ld.so`, the link that came with
/// 2.34, says by its name nothing of whose it is.
pub fn is_loader_of_others(loader: &CStr) -> bool {
    let path = loader.to_bytes();
    let has_to_tell = is_link(path);
    let is_known = has_to_tell || is_glibc_loader(path);
    !is_known
        || (has_to_tell || glibc_minor() >= VERSION_MINOR) && lacks_version(loader).unwrap_or(has_to_tell)
}

fn is_link(path: &[u8]) -> bool {
    path.rsplit(|byte| *byte == b'/').next() == Some(b"ld.so")
}

/// Whether that is the name of a loader, which can be started with a program as its argument.
pub fn is_loader(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    name.starts_with(b"ld-") || name.starts_with(b"ld.so") || name.starts_with(b"ld64.so")
}

/// Of the release of the C library that this process has, which is 2.x.
pub fn glibc_minor() -> u32 {
    unsafe extern "C" {
        fn gnu_get_libc_version() -> *const c_char;
    }
    // SAFETY: takes no argument and answers a constant string.
    let version = unsafe { CStr::from_ptr(gnu_get_libc_version()) }.to_bytes();
    let digits = version.split(|byte| *byte == b'.').nth(1).unwrap_or_default();
    digits
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .fold(0, |sum, byte| 10 * sum + u32::from(byte - b'0'))
}

/// Whether a loader's names, which come first in its file, leave the version out; `None` if it cannot be read.
fn lacks_version(loader: &CStr) -> Option<bool> {
    const MOST_BYTES: u64 = 64 << 10;
    let Ok(file) = open_to_read(loader) else { return None };
    let (mut at, mut window) = (0, [0; 512]);
    while at < MOST_BYTES {
        let Ok(filled) = file.read_at(at, &mut window) else { return None };
        if window[..filled].windows(VERSION.len()).any(|words| words == VERSION) {
            return Some(false);
        }
        if filled < window.len() {
            break;
        }
        // The name may lie across the end.
        at += (window.len() - VERSION.len()) as u64;
    }
    Some(true)
}

/// What starts a Java virtual machine, and the machine itself.
pub const JVM: [&str; 2] = ["libjli.", "libjvm."];

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use std::ffi::CString;

    #[test]
    fn loaders_are_told_by_their_names_and_by_what_they_name() {
        let folder = tempfile::tempdir().unwrap();
        let is_of_others = |name: &str, content: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            is_loader_of_others(&CString::new(path.to_str().unwrap()).unwrap())
        };
        let across = |at: usize| [vec![b'x'; at].as_slice(), b"\0GLIBC_2.34\0GLIBC_2.35\0"].concat();
        assert!(is_of_others("ld-musl-x86_64.so.1", &across(0)) && !is_of_others("ld.so", &across(0)));
        assert!((480..520).chain([4000]).all(|at| !is_of_others("ld-linux-x86-64.so.2", &across(at))));
        let older: &[u8] = b"GLIBC_2.3\0GLIBC_2.4\0GLIBC_PRIVATE\0";
        assert!(is_of_others("ld.so", older) && is_of_others("/usr/libexec/ld-elf.so.1", &across(0)));
        assert_eq!(is_of_others("ld-linux-x86-64.so.2", older), glibc_minor() >= VERSION_MINOR);
        assert!(is_loader(b"/lib/ld-musl-x86_64.so.1") && is_loader(b"ld.so") && !is_loader(b"/usr/bin/ld"));
        assert!(!is_loader_of_others(c"/nowhere/ld-linux-x86-64.so.2") && glibc_minor() > 16);
    }
}
