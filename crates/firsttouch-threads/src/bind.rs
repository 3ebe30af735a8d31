//! Binding a thread of our own.

use firsttouch_linux::numa::{self, CpuBits};
use std::io;

/// Puts the calling thread on one CPU. `EINVAL` is a CPU that is offline, outside of the cpuset, or not there.
pub fn bind_this_thread(cpu: u32) -> io::Result<()> {
    const THIS_THREAD: u32 = 0;
    // No set can hold it: answered as the kernel answers for a CPU that it does not have.
    const NO_SUCH_CPU: i32 = 22;
    let bound =
        CpuBits::of(&[cpu]).ok_or(NO_SUCH_CPU).and_then(|cpus| numa::set_affinity(THIS_THREAD, &cpus));
    bound.map(drop).map_err(io::Error::from_raw_os_error)
}
