//! Unix sockets with abstract names, without the C library: what the agent's control channel listens on.
//!
//! See unix(7), close_range(2), capset(2). Invariant: nothing here allocates or touches `errno`.

use crate::sys::{Answer, Descriptor, call};
use core::mem::offset_of;

/// Who is at the other end of a socket, as the kernel noted when the connection was made or the listening began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The process, in our own numbering; 0 when it has none there.
    pub process: u32,
    /// Its effective user, in our own numbering.
    pub user: u32,
}

/// Listens on a new socket with an abstract name (without its zero byte).
pub fn listen(name: &[u8]) -> Result<Descriptor, i32> {
    const WAITING: usize = 8;
    let (domain, kind) = (libc::AF_UNIX as usize, (libc::SOCK_STREAM | libc::SOCK_CLOEXEC) as usize);
    // SAFETY: creates a socket, which nobody else knows of.
    let socket = unsafe { call(libc::SYS_socket, [domain, kind, 0, 0, 0, 0]) };
    let socket = socket.map(|descriptor| Descriptor(descriptor as i32))?;
    let mut address =
        libc::sockaddr_un { sun_family: libc::AF_UNIX as libc::sa_family_t, sun_path: [0; 108] };
    // The first byte stays zero.
    let room = address.sun_path.get_mut(1..=name.len()).ok_or(libc::ENAMETOOLONG)?;
    for (to, byte) in room.iter_mut().zip(name) {
        *to = *byte as libc::c_char;
    }
    let length = offset_of!(libc::sockaddr_un, sun_path) + 1 + name.len();
    let arguments = [socket.0 as usize, &raw const address as usize, length, 0, 0, 0];
    // SAFETY: the address lives until the call returns, and its length is named.
    unsafe { call(libc::SYS_bind, arguments) }?;
    // SAFETY: takes numbers only.
    unsafe { call(libc::SYS_listen, [socket.0 as usize, WAITING, 0, 0, 0, 0]) }?;
    Ok(socket)
}

/// Accepts a connection; reading from it and writing to it give up (`EAGAIN`) after some seconds.
pub fn accept(listening: &Descriptor, seconds: u32) -> Result<Descriptor, i32> {
    let arguments = [listening.0 as usize, 0, 0, libc::SOCK_CLOEXEC as usize, 0, 0];
    // SAFETY: without a place for the address nothing is written.
    let socket = unsafe { call(libc::SYS_accept4, arguments) };
    let socket = socket.map(|descriptor| Descriptor(descriptor as i32))?;
    let limit = libc::timeval { tv_sec: libc::time_t::from(seconds), tv_usec: 0 };
    for option in [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO] {
        let (option, level) = (option as usize, libc::SOL_SOCKET as usize);
        let arguments = [socket.0 as usize, level, option, &raw const limit as usize, size_of_val(&limit), 0];
        // SAFETY: the kernel reads a time of the length named.
        unsafe { call(libc::SYS_setsockopt, arguments) }?;
    }
    Ok(socket)
}

/// Who is at the other end.
pub fn peer(socket: &Descriptor) -> Result<Peer, i32> {
    peer_of(socket.0)
}

/// Who is at the other end of a connection, or listens there.
#[cfg(feature = "std")]
pub fn peer_of_stream(stream: &std::os::unix::net::UnixStream) -> std::io::Result<Peer> {
    use std::os::fd::AsRawFd;
    peer_of(stream.as_raw_fd()).map_err(std::io::Error::from_raw_os_error)
}

fn peer_of(socket: i32) -> Result<Peer, i32> {
    let mut found = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut length = size_of_val(&found) as libc::socklen_t;
    let (level, option) = (libc::SOL_SOCKET as usize, libc::SO_PEERCRED as usize);
    let arguments = [socket as usize, level, option, &raw mut found as usize, &raw mut length as usize, 0];
    // SAFETY: the kernel fills the structure, whose length is named.
    unsafe { call(libc::SYS_getsockopt, arguments) }?;
    Ok(Peer { process: u32::try_from(found.pid).unwrap_or(0), user: found.uid })
}

/// Waits until there is something to read or to accept, or the other end is gone; false if the time is up before.
pub fn wait(socket: &Descriptor, seconds: u32) -> Result<bool, i32> {
    let mut entry = libc::pollfd { fd: socket.0, events: libc::POLLIN, revents: 0 };
    let limit = libc::timespec { tv_sec: seconds.into(), tv_nsec: 0 };
    let arguments = [&raw mut entry as usize, 1, &raw const limit as usize, 0, 0, 0];
    // SAFETY: entry and time live until the call returns; there is one entry.
    match unsafe { call(libc::SYS_ppoll, arguments) } {
        Ok(ready) => Ok(ready > 0),
        Err(libc::EINTR) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Gives the calling thread a table of open files of its own, with nothing in it (Linux 5.9). The files of the process
/// stay as they are.
///
/// # Safety
/// Nothing that this thread does later may use a descriptor from before.
pub unsafe fn leave_files() -> Answer {
    const CLOSE_RANGE_UNSHARE: usize = 1 << 1;
    let all = [0, u32::MAX as usize, CLOSE_RANGE_UNSHARE, 0, 0, 0];
    // SAFETY: the caller's duty.
    unsafe { call(libc::SYS_close_range, all) }
}

/// Takes all capabilities but some (a bit for each) from the calling thread, for good. Others of the process keep theirs.
pub fn keep_capabilities(kept: u64) -> Answer {
    // _LINUX_CAPABILITY_VERSION_3: effective, permitted and inheritable in two halves.
    let header = [0x2008_0522_u32, 0];
    let mut halves = [[0_u32; 3]; 2];
    let arguments = [header.as_ptr() as usize, halves.as_mut_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: the kernel fills as many sets as the version says.
    unsafe { call(libc::SYS_capget, arguments) }?;
    for (half, kept) in halves.iter_mut().zip([kept as u32, (kept >> 32) as u32]) {
        half.iter_mut().for_each(|set| *set &= kept);
    }
    // SAFETY: the kernel reads what it has filled before.
    unsafe { call(libc::SYS_capset, arguments) }
}

/// The effective user of the calling thread.
pub fn effective_user() -> u32 {
    // SAFETY: takes no argument and cannot fail.
    unsafe { call(libc::SYS_geteuid, [0; 6]) }.unwrap_or(0) as u32
}

/// Whether the process lets others of the same user look into it (`PR_GET_DUMPABLE`).
pub fn is_dumpable() -> bool {
    // SAFETY: reads a flag of the process.
    let flag = unsafe { call(libc::SYS_prctl, [libc::PR_GET_DUMPABLE as usize, 0, 0, 0, 0, 0]) };
    flag == Ok(1)
}

/// Names the calling thread; the kernel keeps 15 bytes.
pub fn name_thread(name: &core::ffi::CStr) {
    // SAFETY: the kernel reads the string.
    let _ =
        unsafe { call(libc::SYS_prctl, [libc::PR_SET_NAME as usize, name.as_ptr() as usize, 0, 0, 0, 0]) };
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixStream};
    use std::thread;

    #[test]
    fn a_connection_names_both_its_ends() {
        let name = format!("firsttouch-test-{}", std::process::id());
        let listening = listen(name.as_bytes()).unwrap();
        assert_eq!(listen(name.as_bytes()).unwrap_err(), libc::EADDRINUSE);
        assert_eq!(listen(&[b'x'; 200]).unwrap_err(), libc::ENAMETOOLONG);
        assert_eq!(wait(&listening, 0), Ok(false));
        let mut client = UnixStream::connect_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        assert_eq!(wait(&listening, 5), Ok(true));
        let socket = accept(&listening, 5).unwrap();
        let own = Peer { process: std::process::id(), user: effective_user() };
        assert_eq!((peer(&socket), peer_of_stream(&client).unwrap()), (Ok(own), own));
        client.write_all(b"hello").unwrap();
        let mut bytes = [0; 8];
        assert_eq!(socket.read(&mut bytes), Ok(5));
        drop(socket);
        assert_eq!(client.read(&mut bytes).unwrap(), 0);
    }

    #[test]
    fn a_thread_leaves_files_and_capabilities_without_taking_them_from_others() {
        let (reader, writer) = std::io::pipe().unwrap();
        thread::spawn(|| {
            // SAFETY: the thread uses no file of before.
            let left = unsafe { leave_files() };
            assert!(matches!(left, Ok(_) | Err(libc::ENOSYS)), "{left:?}");
            keep_capabilities(0).unwrap();
            if left.is_ok() {
                let (first, _second) = crate::sys::socket_pair().unwrap();
                assert_eq!(first.0, 0, "nothing else is open");
            }
            let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            assert!(status.contains("CapEff:\t0000000000000000"), "{status}");
        })
        .join()
        .unwrap();
        drop(writer);
        assert_eq!({ reader }.read(&mut [0; 8]).unwrap(), 0, "no copy of the pipe is left");
    }
}
