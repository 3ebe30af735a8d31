//! Who carries out a step: by calls on the process from ours ([`Remote`]), or somebody inside it.

use crate::target::Target;
use firsttouch_linux::numa::{self, CpuBits};
use firsttouch_linux::remote::{self, ProcessHandle};
use firsttouch_placement::ExecutorKind;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// The steps that an attach is made of. An answer is the kernel's own, as an error number; success proves nothing, so
/// that what was obtained is always read back.
pub trait Executor: fmt::Debug {
    /// How it does it.
    fn kind(&self) -> ExecutorKind;

    /// Whether it may collapse memory at all; nothing is changed.
    fn may_collapse(&mut self) -> io::Result<()>;

    /// Puts the whole 2 MiB blocks of a range onto huge pages (`MADV_COLLAPSE`).
    fn collapse(&mut self, start: u64, bytes: u64) -> io::Result<()>;

    /// The node of each page, or a negative error number. `nodes` is as long as `addresses`.
    fn nodes_of(&mut self, addresses: &[u64], nodes: &mut [i32]) -> io::Result<()>;

    /// Moves each page to its node; `status` gets where it lies afterwards, or a negative error number. All three are
    /// equally long.
    fn move_pages(&mut self, addresses: &[u64], nodes: &[i32], status: &mut [i32]) -> io::Result<()>;

    /// Sets the CPUs of one thread of the process.
    fn set_affinity(&mut self, thread: u32, cpus: &CpuBits) -> io::Result<()>;
}

/// Calls on the process from ours: `process_madvise` (Linux 6.1 for collapsing, `CAP_SYS_NICE`), `move_pages`,
/// `sched_setaffinity`.
#[derive(Debug)]
pub struct Remote {
    member: u32,
    handle: ProcessHandle,
}

impl Remote {
    /// An executor on a process.
    pub fn new(target: &Target) -> io::Result<Remote> {
        let fd: OwnedFd = target.handle().as_fd().try_clone_to_owned()?;
        Ok(Remote { member: target.member(), handle: ProcessHandle::from(fd) })
    }

    /// The calls that know a process by its number must not reach one that came after it.
    fn still_there(&self) -> io::Result<()> {
        self.handle.signal(0).or_else(|error| match error.raw_os_error() {
            // There, but we may not send it signals.
            Some(libc::EPERM) => Ok(()),
            _ => Err(error),
        })
    }
}

impl Executor for Remote {
    fn kind(&self) -> ExecutorKind {
        ExecutorKind::Remote
    }

    fn may_collapse(&mut self) -> io::Result<()> {
        self.handle.may_collapse()
    }

    fn collapse(&mut self, start: u64, bytes: u64) -> io::Result<()> {
        self.handle.collapse(start, bytes)
    }

    fn nodes_of(&mut self, addresses: &[u64], nodes: &mut [i32]) -> io::Result<()> {
        self.still_there()?;
        remote::nodes_of(self.member, addresses, nodes)
    }

    fn move_pages(&mut self, addresses: &[u64], nodes: &[i32], status: &mut [i32]) -> io::Result<()> {
        self.still_there()?;
        remote::move_pages(self.member, addresses, nodes, status)
    }

    fn set_affinity(&mut self, thread: u32, cpus: &CpuBits) -> io::Result<()> {
        self.still_there()?;
        numa::set_affinity(thread, cpus).map(|_| ()).map_err(io::Error::from_raw_os_error)
    }
}
