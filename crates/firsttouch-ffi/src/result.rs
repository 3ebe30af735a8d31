//! What a call answers: a number, what it says, and what would mend it.

use core::ffi::{CStr, c_char};

/// What a call answers.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirsttouchResult {
    /// Done.
    Ok = 0,
    /// A pointer that must not be null is null, a range is empty or overlaps another, or a value is none that is known.
    BadArgument = 1,
    /// No kind of pages has this name.
    BadPages = 2,
    /// The kernel maps no such memory; errno says why.
    NoMemory = 3,
    /// The kernel does not bind memory to this node; errno says why.
    NoNode = 4,
    /// The pages could not be created; errno says why.
    NotCreated = 5,
    /// Allocations of this process cannot be redirected.
    Unsupported = 6,
    /// Placed blocks are live, so the redirection stays.
    Busy = 7,
    /// There is no room for another chosen library.
    TooMany = 8,
    /// The team is at work: another thread, or the work itself, has called it.
    InUse = 9,
    /// It belongs to the process that made it, and this is a forked child, which has none of its threads.
    OtherProcess = 10,
    /// A thread cannot be bound to this CPU; errno says why.
    NoCpu = 11,
    /// The machine has no room for these groups.
    NoRoom = 12,
    /// A thread cannot be started; errno says why.
    NoThread = 13,
}

impl FirsttouchResult {
    const ALL: [FirsttouchResult; 14] = [
        FirsttouchResult::Ok,
        FirsttouchResult::BadArgument,
        FirsttouchResult::BadPages,
        FirsttouchResult::NoMemory,
        FirsttouchResult::NoNode,
        FirsttouchResult::NotCreated,
        FirsttouchResult::Unsupported,
        FirsttouchResult::Busy,
        FirsttouchResult::TooMany,
        FirsttouchResult::InUse,
        FirsttouchResult::OtherProcess,
        FirsttouchResult::NoCpu,
        FirsttouchResult::NoRoom,
        FirsttouchResult::NoThread,
    ];

    /// What happened, and what would mend it.
    fn words(self) -> (&'static CStr, &'static CStr) {
        match self {
            FirsttouchResult::Ok => (c"done", c""),
            FirsttouchResult::BadArgument => (
                c"an argument is null or means nothing: an empty or overlapping range, a word, number or bits that are not known",
                c"firsttouch.h says what each function takes; sizes are bytes, 1 <= least <= most",
            ),
            FirsttouchResult::BadPages => (
                c"no kind of pages has this name",
                c"one of: 4k thp 2m 1g auto, or 16k to 1024k for multi-size pages",
            ),
            FirsttouchResult::NoMemory => (
                c"the kernel maps no such memory",
                c"less memory, or a higher limit: ulimit -v, memory.max, vm.overcommit_memory",
            ),
            FirsttouchResult::NoNode => (
                c"the kernel does not bind memory to this node",
                c"firsttouch status lists the nodes and those this process may use",
            ),
            FirsttouchResult::NotCreated => (
                c"the pages could not be created",
                c"less memory, or a node with more of it: see firsttouch status",
            ),
            FirsttouchResult::Unsupported => (
                c"allocations of this process cannot be redirected: a sanitizer is at work, or the C library is another",
                c"place it from outside: firsttouch run --via supervise -- PROGRAM",
            ),
            FirsttouchResult::Busy => (
                c"placed blocks are live, so the redirection stays, and does no harm",
                c"free them first; in R: remove the vectors and call gc()",
            ),
            FirsttouchResult::TooMany => {
                (c"no more libraries can be chosen", c"choose a prefix that several share, or \"\" for all")
            }
            FirsttouchResult::InUse => {
                (c"the team is at work", c"one piece of work at a time, and none from within another; or a team for each")
            }
            FirsttouchResult::OtherProcess => {
                (c"its threads are in the process that this one was forked from", c"make another after fork")
            }
            FirsttouchResult::NoCpu => (
                c"a thread cannot be bound to this CPU",
                c"firsttouch status lists the CPUs that are online and those this process may use",
            ),
            FirsttouchResult::NoRoom => (
                c"the machine has no room for these groups of cores",
                c"smaller groups, or fewer: firsttouch status shows the cores of each node",
            ),
            FirsttouchResult::NoThread => {
                (c"a thread cannot be started", c"fewer threads, or a higher limit: ulimit -u, pids.max")
            }
        }
    }

    /// With the kernel's answer in errno.
    pub(crate) fn with_errno(self, errno: i32) -> FirsttouchResult {
        // SAFETY: the thread's errno.
        unsafe { *libc::__errno_location() = errno };
        self
    }

    /// With what the kernel answered in errno, if it did.
    pub(crate) fn because_of(self, error: &std::io::Error) -> FirsttouchResult {
        self.with_errno(error.raw_os_error().unwrap_or(0))
    }

    fn of(number: i32) -> Option<FirsttouchResult> {
        FirsttouchResult::ALL.into_iter().find(|result| *result as i32 == number)
    }
}

impl From<i32> for FirsttouchResult {
    /// The answer of another copy of this library, which may know more.
    fn from(number: i32) -> Self {
        FirsttouchResult::of(number).unwrap_or(FirsttouchResult::Unsupported)
    }
}

/// One line that says what a result means. Never null; lives for ever.
#[unsafe(no_mangle)]
pub extern "C" fn firsttouch_message(result: i32) -> *const c_char {
    FirsttouchResult::of(result).map_or(c"no result has this number", |result| result.words().0).as_ptr()
}

/// One line that says what would mend it; empty where nothing needs to. Never null; lives for ever.
#[unsafe(no_mangle)]
pub extern "C" fn firsttouch_hint(result: i32) -> *const c_char {
    FirsttouchResult::of(result).map_or(c"", |result| result.words().1).as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_words() {
        for result in FirsttouchResult::ALL {
            assert_eq!(FirsttouchResult::of(result as i32), Some(result));
            assert!(!result.words().0.is_empty());
            assert_eq!(result.words().1.is_empty(), result == FirsttouchResult::Ok);
        }
        assert_eq!(FirsttouchResult::of(99), None);
    }
}
