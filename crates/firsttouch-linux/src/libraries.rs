//! File names of libraries that decide who allocates: how they begin.

/// Our own agent, wherever the launcher put it.
pub const AGENT: &str = "libfirsttouch_preload";

/// Runtimes of sanitizers, which must come first among a program's libraries and refuse to start otherwise.
pub const SANITIZERS: [&str; 6] =
    ["libasan.", "libtsan.", "libubsan.", "liblsan.", "libhwasan.", "libclang_rt."];

/// Allocators of their own.
pub const ALLOCATORS: [&str; 4] = ["libjemalloc.", "libmimalloc.", "libtcmalloc", "libsnmalloc"];

/// Whether that is the name of a loader of the GNU C library, on whatever architecture; musl's is `ld-musl-…`, uClibc's `ld-uClibc-…`.
pub fn is_glibc_loader(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    name.starts_with(b"ld-linux") || name.starts_with(b"ld64.so.") || name == b"ld.so.1"
}

/// What starts a Java virtual machine, and the machine itself.
pub const JVM: [&str; 2] = ["libjli.", "libjvm."];
