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

/// Room for one descriptor and its head in a control message (`CMSG_SPACE`).
const CONTROL_BYTES: usize = 24;

/// A control message with one descriptor, as `struct cmsghdr` lays it out on 64-bit kernels.
#[repr(C)]
#[derive(Clone, Copy)]
struct Control {
    length: usize,
    level: i32,
    kind: i32,
    descriptor: i32,
    /// Nothing, or a second descriptor.
    second: i32,
}

const _: () = assert!(size_of::<Control>() == CONTROL_BYTES);
/// Without the padding (`CMSG_LEN`).
const CONTROL_LENGTH: usize = 20;

/// Hands an open file to the process at the other end of a Unix socket (`SCM_RIGHTS`), with one byte beside it.
pub fn send_descriptor(socket: i32, file: &Descriptor) -> Result<(), i32> {
    let byte = [0_u8];
    let control = Control {
        length: CONTROL_LENGTH,
        level: libc::SOL_SOCKET,
        kind: libc::SCM_RIGHTS,
        descriptor: file.0,
        second: 0,
    };
    let part = libc::iovec { iov_base: byte.as_ptr().cast_mut().cast(), iov_len: 1 };
    let message = message(&part, &raw const control as usize);
    let flags = libc::MSG_NOSIGNAL as usize;
    loop {
        // SAFETY: the message, its part and the control message live until the call returns.
        match unsafe {
            call(libc::SYS_sendmsg, [socket as usize, &raw const message as usize, flags, 0, 0, 0])
        } {
            Err(libc::EINTR) => {}
            answer => return answer.map(drop),
        }
    }
}

/// Receives what [`send_descriptor`] sent, and waits for it; `EBADMSG` for a message without a file, `ECONNRESET` when
/// the other end is gone.
pub fn receive_descriptor(socket: i32) -> Result<Descriptor, i32> {
    let mut byte = [0_u8];
    let mut control = Control { length: 0, level: 0, kind: 0, descriptor: -1, second: -1 };
    let part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let mut message = message(&part, &raw mut control as usize);
    let flags = libc::MSG_CMSG_CLOEXEC as usize;
    let received = loop {
        // SAFETY: the message, its part and the room for the control message live until the call returns.
        match unsafe { call(libc::SYS_recvmsg, [socket as usize, &raw mut message as usize, flags, 0, 0, 0]) }
        {
            Err(libc::EINTR) => {}
            answer => break answer?,
        }
    };
    let has_files = message.msg_controllen >= CONTROL_LENGTH
        && (control.level, control.kind) == (libc::SOL_SOCKET, libc::SCM_RIGHTS);
    match control.length {
        CONTROL_LENGTH if has_files => Ok(Descriptor(control.descriptor)),
        CONTROL_BYTES if has_files => {
            // Two fit into the room for one; of more the kernel has closed the others.
            drop((Descriptor(control.descriptor), Descriptor(control.second)));
            Err(libc::EBADMSG)
        }
        _ if received == 0 => Err(libc::ECONNRESET),
        _ => Err(libc::EBADMSG),
    }
}

fn message(part: &libc::iovec, control: usize) -> libc::msghdr {
    // SAFETY: numbers and pointers, all of which may be zero.
    let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
    message.msg_iov = core::ptr::from_ref(part).cast_mut();
    message.msg_iovlen = 1;
    message.msg_control = control as *mut libc::c_void;
    message.msg_controllen = CONTROL_BYTES as _;
    message
}

/// Waits until there is something to read or to accept, or the other end is gone; false if the time is up before. `ECANCELED` as
/// soon as there is something to read from the other file.
pub fn wait(socket: &Descriptor, other: &Descriptor, seconds: u32) -> Result<bool, i32> {
    let mut entries =
        [socket, other].map(|file| libc::pollfd { fd: file.0, events: libc::POLLIN, revents: 0 });
    let limit = libc::timespec { tv_sec: seconds.into(), tv_nsec: 0 };
    let arguments = [entries.as_mut_ptr() as usize, entries.len(), &raw const limit as usize, 0, 0, 0];
    // SAFETY: entries and time live until the call returns.
    match unsafe { call(libc::SYS_ppoll, arguments) } {
        Ok(_) if entries[1].revents != 0 => Err(libc::ECANCELED),
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

/// Takes all capabilities from the calling thread, for good, and those that the files it executes would give it. Others of the
/// process keep theirs.
pub fn leave_capabilities() -> Answer {
    // SAFETY: sets a flag of the thread.
    unsafe { call(libc::SYS_prctl, [libc::PR_SET_NO_NEW_PRIVS as usize, 1, 0, 0, 0, 0]) }?;
    // _LINUX_CAPABILITY_VERSION_3: effective, permitted and inheritable in two halves.
    let header = [0x2008_0522_u32, 0];
    let halves = [[0_u32; 3]; 2];
    // SAFETY: the kernel reads as many sets as the version says.
    unsafe { call(libc::SYS_capset, [header.as_ptr() as usize, halves.as_ptr() as usize, 0, 0, 0, 0]) }
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
    use crate::sys::effective_user;
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
        let (quiet, loud) = crate::sys::socket_pair().unwrap();
        assert_eq!(wait(&listening, &quiet, 0), Ok(false));
        let mut client = UnixStream::connect_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        assert_eq!(wait(&listening, &quiet, 5), Ok(true));
        drop(loud);
        assert_eq!(wait(&listening, &quiet, 5), Err(libc::ECANCELED));
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
    fn an_open_file_goes_through_a_socket() {
        use std::os::fd::AsRawFd;
        let (here, there) = UnixStream::pair().unwrap();
        let file = crate::memfd::create(c"sent", None).unwrap();
        crate::memfd::set_size(&file, 4096).unwrap();
        send_descriptor(here.as_raw_fd(), &file).unwrap();
        let received = receive_descriptor(there.as_raw_fd()).unwrap();
        assert_ne!(received.0, file.0);
        assert_eq!(crate::memfd::shape(&received), Ok((4096, None)));
        { &here }.write_all(b"x").unwrap();
        assert_eq!(receive_descriptor(there.as_raw_fd()).unwrap_err(), libc::EBADMSG);
        drop(here);
        assert_eq!(receive_descriptor(there.as_raw_fd()).unwrap_err(), libc::ECONNRESET);
        assert_eq!(send_descriptor(there.as_raw_fd(), &file), Err(libc::EPIPE));
    }

    #[test]
    fn a_thread_leaves_files_and_capabilities_without_taking_them_from_others() {
        let (reader, writer) = std::io::pipe().unwrap();
        thread::spawn(|| {
            // SAFETY: the thread uses no file of before.
            let left = unsafe { leave_files() };
            assert!(matches!(left, Ok(_) | Err(libc::ENOSYS)), "{left:?}");
            leave_capabilities().unwrap();
            if left.is_ok() {
                let (first, _second) = crate::sys::socket_pair().unwrap();
                assert_eq!(first.0, 0, "nothing else is open");
            }
            let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            for line in ["CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "NoNewPrivs:\t1"] {
                assert!(status.contains(line), "{status}");
            }
        })
        .join()
        .unwrap();
        drop(writer);
        assert_eq!({ reader }.read(&mut [0; 8]).unwrap(), 0, "no copy of the pipe is left");
    }
}
