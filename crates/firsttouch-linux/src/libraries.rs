//! File names of libraries that decide who allocates: how they begin.

/// Our own agent, wherever the launcher put it.
pub const AGENT: &str = "libfirsttouch_preload";

/// Runtimes of sanitizers, which must come first among a program's libraries and refuse to start otherwise.
pub const SANITIZERS: [&str; 6] =
    ["libasan.", "libtsan.", "libubsan.", "liblsan.", "libhwasan.", "libclang_rt."];

/// Allocators of their own.
pub const ALLOCATORS: [&str; 4] = ["libjemalloc.", "libmimalloc.", "libtcmalloc", "libsnmalloc"];

/// What starts a Java virtual machine, and the machine itself.
pub const JVM: [&str; 2] = ["libjli.", "libjvm."];
