//! Acting on another process: handles that cannot be recycled (`pidfd`), signals, and advice on its memory.

use crate::sys::{self, MADV_COLLAPSE};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// A handle on one process. Unlike its number it never comes to mean another one.
#[derive(Debug)]
pub struct ProcessHandle {
    fd: OwnedFd,
}

/// The line that mends an error that says that the kernel hands out no handles (`ENOSYS`).
pub fn needs_handles(error: &io::Error) -> Option<&'static str> {
    (error.kind() == io::ErrorKind::Unsupported).then_some(
        "Linux 5.3 or newer, outside of sandboxes and of emulators (valgrind) that know no pidfd_open",
    )
}

impl ProcessHandle {
    /// Takes hold of a process (Linux 5.3).
    pub fn open(pid: u32) -> io::Result<ProcessHandle> {
        let flags: libc::c_uint = 0;
        // SAFETY: the call takes two numbers and touches no memory of ours.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just handed this descriptor to us alone; it is close-on-exec by definition.
        let fd = unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) };
        Ok(ProcessHandle { fd })
    }

    /// Sends a signal; signal 0 only asks whether it could be sent.
    pub fn signal(&self, signal: i32) -> io::Result<()> {
        let no_information: *const libc::siginfo_t = std::ptr::null();
        let flags: libc::c_uint = 0;
        // SAFETY: without a siginfo the call reads no memory of ours.
        let answer = unsafe {
            libc::syscall(libc::SYS_pidfd_send_signal, self.fd.as_raw_fd(), signal, no_information, flags)
        };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Waits until the process has ended or the time is up (`None`: no limit); true if it has ended. A signal that
    /// interrupts the wait ends it early with false.
    pub fn wait_ended(&self, limit: Option<Duration>) -> io::Result<bool> {
        match poll(&[self.fd.as_fd()], limit) {
            Ok(ready) => Ok(ready[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Asks the kernel to put the whole blocks of a range onto huge pages (`MADV_COLLAPSE`, Linux 6.1; another process
    /// needs `CAP_SYS_NICE`). Success proves nothing: the kernel also says so when there was nothing to do.
    pub fn collapse(&self, start: u64, bytes: u64) -> io::Result<()> {
        self.advise_collapse(&[libc::iovec { iov_base: start as *mut libc::c_void, iov_len: bytes as usize }])
    }

    /// Asks with an empty list of ranges whether [`ProcessHandle::collapse`] is allowed: the kernel runs every check and
    /// does nothing. `EINVAL` is a kernel without the advice, `EPERM` a missing capability, `EACCES` a process that
    /// lets nobody look into it.
    pub fn may_collapse(&self) -> io::Result<()> {
        self.advise_collapse(&[])
    }

    fn advise_collapse(&self, ranges: &[libc::iovec]) -> io::Result<()> {
        let flags: libc::c_uint = 0;
        // SAFETY: the kernel reads as many ranges as the slice has; the addresses in them are the other process's, and
        // collapsing keeps the contents of memory, so even our own process would not notice.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_process_madvise,
                self.fd.as_raw_fd(),
                ranges.as_ptr(),
                ranges.len(),
                MADV_COLLAPSE,
                flags,
            )
        };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// The node of each page of a process, by address, or a negative error number (`-ENOENT`: nothing there,
/// `-EFAULT`: no such mapping). See move_pages(2); the process must be one that we may look into.
///
/// The call knows the process by its number alone: the caller makes sure, with a [`ProcessHandle`], that it still means
/// the same one.
pub fn nodes_of(pid: u32, addresses: &[u64], nodes: &mut [i32]) -> io::Result<()> {
    move_or_ask(pid, addresses, None, nodes)
}

/// Moves pages of a process, each to a node; `status` gets the node of each page afterwards, or a negative error number
/// (`-EACCES`: shared with others, `-EBUSY`: in use by the kernel or moved already with its neighbour, `-ENOMEM`: the node
/// is full). Pages that others map too are left. One address moves the whole page that it lies in, however large.
///
/// An answer above 0 means that some pages were not moved for a passing reason. As with [`nodes_of`], the caller makes
/// sure that the number still means the same process.
pub fn move_pages(pid: u32, addresses: &[u64], nodes: &[i32], status: &mut [i32]) -> io::Result<()> {
    move_or_ask(pid, addresses, Some(nodes), status)
}

fn move_or_ask(pid: u32, addresses: &[u64], nodes: Option<&[i32]>, status: &mut [i32]) -> io::Result<()> {
    let fits = status.len() == addresses.len() && nodes.is_none_or(|nodes| nodes.len() == addresses.len());
    // Number 0 would be ourselves.
    if !fits || pid == 0 {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    const MPOL_MF_MOVE: libc::c_int = 1 << 1;
    let flags = if nodes.is_some() { MPOL_MF_MOVE } else { 0 };
    // SAFETY: the kernel reads as many addresses and nodes, and writes as many answers, as the slices have; the addresses
    // are the other process's, and a page keeps its contents wherever it lies.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            pid as libc::pid_t,
            addresses.len(),
            addresses.as_ptr(),
            nodes.map_or(std::ptr::null(), <[i32]>::as_ptr),
            status.as_mut_ptr(),
            flags,
        )
    };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

impl From<OwnedFd> for ProcessHandle {
    /// A handle from a pidfd that somebody else has opened.
    fn from(fd: OwnedFd) -> ProcessHandle {
        ProcessHandle { fd }
    }
}

impl AsFd for ProcessHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A way to have all processors hand in their batches of pages, which `MADV_COLLAPSE` does first, and while it holds up the
/// changes of mappings of its process: on a busy machine that can take longer than all the rest. Done beforehand, here, it
/// holds up nobody, and finds little left to do then.
#[derive(Debug)]
pub struct Batches {
    /// A mapping of ours, large enough to hold a whole block, and never touched.
    address: usize,
}

impl Batches {
    const BYTES: usize = 4 << 20;

    /// Reserves the addresses that the call needs.
    pub fn new() -> io::Result<Batches> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let answer = unsafe { sys::map_anonymous(0, Self::BYTES, protection, libc::MAP_NORESERVE) };
        Ok(Batches { address: answer.map_err(io::Error::from_raw_os_error)? })
    }

    /// Has the batches handed in (Linux 6.1; before that, nothing happens).
    pub fn hand_in(&self) {
        const PAGE: usize = 4096;
        // What it answers does not matter: a page holds no whole block, so that nothing is collapsed.
        // SAFETY: the range is ours, and the advice changes no contents.
        let _ = unsafe { sys::advise(self.address, PAGE, MADV_COLLAPSE) };
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nobody knows its address.
        let _ = unsafe { sys::unmap(self.address, Self::BYTES) };
    }
}

/// Waits until one of the descriptors is readable (a pidfd: has ended) or the time is up, and tells which are.
pub fn poll<const N: usize>(fds: &[BorrowedFd<'_>; N], limit: Option<Duration>) -> io::Result<[bool; N]> {
    let mut entries =
        fds.each_ref().map(|fd| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 });
    let limit = limit.map(|limit| libc::timespec {
        tv_sec: limit.as_secs().try_into().unwrap_or(libc::time_t::MAX),
        tv_nsec: limit.subsec_nanos().into(),
    });
    let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: entries and limit live on our stack until the call returns; the count is that of the array.
    let answer = unsafe { libc::ppoll(entries.as_mut_ptr(), N as libc::nfds_t, limit, std::ptr::null()) };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(entries.map(|entry| entry.revents != 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_handle_sees_the_end_of_its_process() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let handle = ProcessHandle::open(child.id()).unwrap();
        handle.signal(0).unwrap();
        assert!(!handle.wait_ended(Some(Duration::ZERO)).unwrap());
        drop(child.stdin.take());
        assert!(handle.wait_ended(None).unwrap());
        child.wait().unwrap();
        assert_eq!(handle.signal(0).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }

    #[test]
    fn a_process_that_is_not_there_cannot_be_taken_hold_of() {
        let mut child = Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        assert_eq!(ProcessHandle::open(pid).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }

    #[test]
    fn batches_are_handed_in() {
        Batches::new().unwrap().hand_in();
    }

    #[test]
    fn collapsing_what_is_gone_says_so() {
        let mut child = Command::new("true").spawn().unwrap();
        let handle = ProcessHandle::open(child.id()).unwrap();
        child.wait().unwrap();
        let error = handle.collapse(0x10000, 2 << 20).unwrap_err();
        assert!(matches!(error.raw_os_error(), Some(libc::ESRCH | libc::EPERM | libc::ENOSYS)), "{error}");
    }
}
