//! The way into a queue: a page of the device's, or the kernel's write(2).
//!
//! Descriptors are stored to the page by `ENQCMD` (shared queues: the processor says whether it was taken) or `MOVDIR64B`
//! (queues of one's own). Processors of the fourth and fifth generation have an erratum (INTEL-SA-01084) for which the
//! kernel gives the page to privileged programs only; all others write descriptors to the file (Linux 6.10, and stable
//! kernels since), of which batches are refused.

use super::descriptor::Descriptor;
use firsttouch_linux::sys;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

const PAGE: usize = 4096;
const LINE: usize = 64;
/// See open(2).
const O_NONBLOCK: i32 = 0o4000;
const O_CLOEXEC: i32 = 0o2_000_000;

/// How descriptors are to go in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submission {
    /// By the page, where processor and kernel allow it, else by writing.
    Either,
    /// By the page, whatever the processor says of itself: where it lacks the instruction, the signal SIGILL comes.
    Page,
    /// By writing.
    Write,
}

#[derive(Debug)]
pub(super) struct Portal {
    file: File,
    /// `None`: descriptors are written to the file.
    page: Option<Page>,
    is_shared: bool,
}

/// The device's page, mapped.
#[derive(Debug)]
struct Page {
    address: usize,
    /// Stores to one line after the other overtake each other least.
    next: AtomicUsize,
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: our own mapping, which nobody stores to any more.
        let _ = unsafe { sys::unmap(self.address, PAGE) };
    }
}

/// What became of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Taken,
    /// The queue is full.
    Full,
}

impl Portal {
    pub(super) fn open(path: &Path, is_shared: bool, submission: Submission) -> io::Result<Portal> {
        let flags = O_NONBLOCK | O_CLOEXEC;
        let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
        let page = match submission {
            Submission::Write => None,
            Submission::Either => has_instruction(is_shared).then(|| map(&file)).and_then(Result::ok),
            Submission::Page => Some(map(&file)?),
        };
        Ok(Portal { file, page, is_shared })
    }

    /// Whether batches are taken.
    pub(super) fn takes_batches(&self) -> bool {
        self.page.is_some()
    }

    /// Hands a descriptor over. It, and what it names, must live until its completion was seen.
    pub(super) fn submit(&self, descriptor: &Descriptor) -> io::Result<Answer> {
        let Some(page) = &self.page else { return self.write(descriptor) };
        let line = page.next.fetch_add(1, Ordering::Relaxed) % (PAGE / LINE);
        let target = page.address + line * LINE;
        // SAFETY: the line lies in the device's page, which takes such stores and nothing else.
        let taken = unsafe { store(target, descriptor, self.is_shared) };
        Ok(if taken { Answer::Taken } else { Answer::Full })
    }

    fn write(&self, descriptor: &Descriptor) -> io::Result<Answer> {
        // SAFETY: 64 bytes of numbers without padding.
        let bytes = unsafe { &*std::ptr::from_ref(descriptor).cast::<[u8; LINE]>() };
        match (&self.file).write(bytes) {
            Ok(LINE) => Ok(Answer::Taken),
            Ok(_) => Err(io::Error::from(ErrorKind::WriteZero)),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                Ok(Answer::Full)
            }
            Err(error) => Err(error),
        }
    }
}

fn map(file: &File) -> io::Result<Page> {
    // SAFETY: a new mapping of one page of a file that is open.
    let address = unsafe { sys::map_shared_page(file.as_raw_fd()) }.map_err(io::Error::from_raw_os_error)?;
    Ok(Page { address, next: AtomicUsize::new(0) })
}

#[cfg(target_arch = "x86_64")]
fn has_instruction(is_shared: bool) -> bool {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    const ENQCMD: u32 = 1 << 29;
    const MOVDIR64B: u32 = 1 << 28;
    let wanted = if is_shared { ENQCMD } else { MOVDIR64B };
    __cpuid(0).eax >= 7 && __cpuid_count(7, 0).ecx & wanted != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn has_instruction(_: bool) -> bool {
    false
}

/// Stores 64 bytes at once; false if the queue is full, which only a shared one says.
///
/// # Safety
/// `target` is a line of the device's page.
#[cfg(target_arch = "x86_64")]
unsafe fn store(target: usize, descriptor: &Descriptor, is_shared: bool) -> bool {
    use std::arch::asm;
    let descriptor = std::ptr::from_ref(descriptor);
    if is_shared {
        let refused: u8;
        // What was stored before the descriptor is to be seen by the device, too.
        // SAFETY: reads the 64 bytes of the descriptor and stores them to the target, by contract the device's. The zero
        // flag says that they were not taken.
        unsafe {
            asm!("sfence", "enqcmd rax, [rdx]", "setz cl", in("rax") target, in("rdx") descriptor, out("cl") refused,
                 options(nostack));
        }
        return refused == 0;
    }
    // SAFETY: as above; a queue of one's own takes as many as it has entries, which is the caller's to count.
    unsafe {
        asm!("sfence", "movdir64b rax, [rdx]", in("rax") target, in("rdx") descriptor, options(nostack));
    }
    true
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn store(_: usize, _: &Descriptor, _: bool) -> bool {
    false
}
