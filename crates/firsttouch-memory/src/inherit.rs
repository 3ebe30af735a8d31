//! How a forked child gets ordinary memory of its own in place of its parent's reserved pages.
//!
//! It copies them where they are. But while it does, another thread of the parent may write; the kernel, if the pool has
//! no second page, gives the writer the one there is and takes it from the child, where reading it would raise SIGBUS
//! from then on. So the child reads by ways of the kernel, which answers instead, and asks the parent for what is lost.
//! From there it comes as it is then, not as it was at the fork; so it is with the very page that a thread is changing.

use crate::pages::HUGE;
use firsttouch_linux::sys::{self, Descriptor};

const WORD: usize = size_of::<usize>();

/// In the parent: sends what the child asks for, until the child is done, or is no more.
pub fn serve(child: &Descriptor) {
    let mut request = [0; 2 * WORD];
    while child.read(&mut request) == Ok(request.len()) {
        let (Some(address), Some(bytes)) = (request.first_chunk(), request.last_chunk()) else { return };
        // What was given back meanwhile cannot be sent: the child learns it from the end of the socket.
        if child.send_memory(usize::from_ne_bytes(*address), usize::from_ne_bytes(*bytes)).is_err() {
            return;
        }
    }
}

/// In the child: copies `[address, address + bytes)` to new transparent memory and puts that in its place. On failure
/// the chunk stays what it was.
///
/// # Safety
/// The range is whole pages of a reserved pool, mapped by the caller, which nobody else in this process uses.
pub unsafe fn copy_to_ordinary_memory(address: usize, bytes: usize, parent: Option<&Descriptor>) {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // One chunk more, so that a range congruent modulo 2 MiB is inside; the rest is unmapped again.
    let room = bytes + HUGE;
    // SAFETY: a new mapping at an address of the kernel's choice.
    let Ok(scratch) = (unsafe { sys::map_anonymous(0, room, protection, 0) }) else { return };
    let from = scratch.next_multiple_of(HUGE);
    // SAFETY: the new mapping; then whole chunks of ours of which this thread is the only user (a forked child has one
    // thread). The move replaces the reserved pages by their copy in one step.
    unsafe {
        let _ = sys::advise(from, bytes, libc::MADV_HUGEPAGE);
        if copy(address, from, bytes, parent) {
            let _ = sys::move_pages_to(from, bytes, address);
        }
        let _ = sys::unmap(scratch, room);
    }
}

/// Copies a chunk, from here or from the parent; false if neither has it.
///
/// # Safety
/// The source must be a chunk of ours, the target writable; nobody else in this process may use them.
unsafe fn copy(source: usize, target: usize, bytes: usize, parent: Option<&Descriptor>) -> bool {
    // SAFETY: the caller's duty.
    let refused = match unsafe { sys::copy_readable(source, target, bytes) } {
        Ok(copied) if copied == bytes => return true,
        Ok(_) | Err(libc::EFAULT) => false,
        Err(_) => true,
    };
    // SAFETY: the caller's duty; the memory is new, and so initialised with zeroes.
    let place = unsafe { core::slice::from_raw_parts_mut(target as *mut u8, bytes) };
    if send_to_self(source, place) || parent.is_some_and(|parent| ask(parent, source, place)) {
        return true;
    }
    if parent.is_none() && refused {
        // No way is open, in a sandbox for example; then the plain one, whose danger is small.
        // SAFETY: the caller's duty.
        unsafe { core::ptr::copy_nonoverlapping(source as *const u8, target as *mut u8, bytes) };
        return true;
    }
    false
}

/// Asks the parent for its memory at `source`.
fn ask(parent: &Descriptor, source: usize, target: &mut [u8]) -> bool {
    let mut request = [0; 2 * WORD];
    request[..WORD].copy_from_slice(&source.to_ne_bytes());
    request[WORD..].copy_from_slice(&target.len().to_ne_bytes());
    parent.send_memory(request.as_ptr() as usize, request.len()).is_ok() && receive(parent, target)
}

/// Copies through a socket of this process's own: sending reads a page where it is. (`process_vm_readv` pins it, for which Linux 5.19
/// and newer want a second one of the pool where others have it as well.)
fn send_to_self(source: usize, target: &mut [u8]) -> bool {
    /// Fits into what a socket holds.
    const PART: usize = 16 << 10;
    let Ok((from, to)) = sys::socket_pair() else { return false };
    target.chunks_mut(PART).enumerate().all(|(index, part)| {
        from.send_memory(source + index * PART, part.len()).is_ok() && receive(&to, part)
    })
}

fn receive(socket: &Descriptor, target: &mut [u8]) -> bool {
    let mut received = 0;
    while received < target.len() {
        match socket.read(&mut target[received..]) {
            Ok(0) | Err(_) => return false,
            Ok(more) => received += more,
        }
    }
    true
}
