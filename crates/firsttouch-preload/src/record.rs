//! The record of this process: where it is written, and when.

use crate::{HEAP, populate, threads};
use core::sync::atomic::{AtomicU32, Ordering};
use firsttouch_linux::{stack, sys};
use firsttouch_memory::RecordFile;
use firsttouch_memory::record_line::RecordLine;

/// Longest path of a record, with its zero byte.
const PATH_BYTES: usize = 4096;

/// The process that a record belongs to; 0 for none.
static RECORDING_PROCESS: AtomicU32 = AtomicU32::new(0);

/// Memory that is written once, by the constructor, before any other thread exists.
struct Once<T>(core::cell::UnsafeCell<T>);
// SAFETY: see the type: written before there are threads.
unsafe impl<T> Sync for Once<T> {}

static RECORD_PATH: Once<[u8; PATH_BYTES]> = Once(core::cell::UnsafeCell::new([0; PATH_BYTES]));

/// Records this process, from the constructor on: by its path, with the number of the process behind it if the program was
/// started by the one that was chosen, which has the name to itself.
pub(crate) fn begin(path: &[u8], process: u32, is_chosen: bool) {
    if let Some(file) = record_file(path, (!is_chosen).then_some(process)) {
        HEAP.record_to(file, !is_chosen);
        RECORDING_PROCESS.store(process, Ordering::Relaxed);
    }
}

/// Keeps the file of the record, whose name has the number behind it if there is one; `None` where it is none or too long. For the
/// constructor.
fn record_file(path: &[u8], number: Option<u32>) -> Option<RecordFile> {
    // SAFETY: the constructor runs before other threads, and once.
    let buffer = unsafe { &mut *RECORD_PATH.0.get() };
    let mut digits = [0; 11];
    let suffix = number.map_or(&[][..], |number| behind_a_dot(number, &mut digits));
    let length = path.len() + suffix.len();
    if path.is_empty() || length >= PATH_BYTES {
        return None;
    }
    buffer[..path.len()].copy_from_slice(path);
    buffer[path.len()..length].copy_from_slice(suffix);
    RecordFile::of(buffer)
}

/// `.4711`, at the end of `digits`.
fn behind_a_dot(mut number: u32, digits: &mut [u8; 11]) -> &[u8] {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    digits[at - 1] = b'.';
    &digits[at - 1..]
}

/// Whether there is a record of this process that is not written yet. The kernel is asked for nothing where there is none: the
/// program may be confined by then.
pub(crate) fn is_due() -> bool {
    let recording = RECORDING_PROCESS.load(Ordering::Relaxed);
    // A copy of the process that has confined itself may not be allowed the question; its heap knows the answer.
    recording != 0 && [0, recording].contains(&HEAP.process()) && recording == sys::process_id()
}

/// Writes the record, once, when the process that it belongs to ends, or before it confines itself to some system calls.
pub(crate) fn finish() {
    if is_due() {
        RECORDING_PROCESS.store(0, Ordering::Relaxed);
        HEAP.finish_record(&|line| {
            threads::report(line)?;
            populate::report(line)?;
            match HEAP.own_policies() {
                0 => Ok(()),
                count => line(RecordLine::OwnPolicies(count.into())),
            }
        });
    }
}

/// Writes the record and ends the process. A handler of a signal may do that, on a stack of a few KiB.
pub(crate) fn finish_and_exit(status: i32) -> ! {
    /// Several times what the record takes.
    const STACK_BYTES: usize = 256 << 10;
    extern "C" fn end(status: usize) -> ! {
        finish();
        sys::exit_now(status as i32)
    }
    if is_due() {
        // SAFETY: nobody returns from here.
        unsafe { stack::leave_for(end, status as usize, STACK_BYTES) }
    }
    sys::exit_now(status)
}

/// The record is that of the parent.
pub(crate) fn after_fork_in_child() {
    RECORDING_PROCESS.store(0, Ordering::Relaxed);
}
