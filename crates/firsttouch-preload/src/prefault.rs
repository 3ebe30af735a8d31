//! Creating the pages of a new block, or of new memory that processes share, before the program needs them: at once and in parallel, or of
//! blocks in the background.
//!
//! Only when asked for, and only what there is room for: where a control group or the machine has no more, the kernel kills who
//! creates a page, which a program that never touches it would not have done. The threads live for the time of one call, or for as long as there
//! is something to create.

use crate::{HEAP, background, helper, populate, record, room, threads};
use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicU8, Ordering};
use firsttouch_linux::sys;
use firsttouch_memory::agent_settings::Prefault;
use firsttouch_memory::{BASE, HUGE, Pages, Reason, small_shared};

/// Starting a thread costs some tens of microseconds, creating this many bytes of huge pages some milliseconds.
const BYTES_PER_THREAD: usize = 64 << 20;
/// Page creation is bound by memory bandwidth long before this many threads.
const MOST_THREADS: usize = 16;

/// A [`Prefault`].
static WHEN: AtomicU8 = AtomicU8::new(Prefault::No as u8);

/// When pages of new blocks are created from now on.
pub(crate) fn set(when: Prefault) {
    WHEN.store(when as u8, Ordering::Relaxed);
}

/// Whether memory is created before it is touched.
pub(crate) fn is_enabled() -> bool {
    WHEN.load(Ordering::Relaxed) != Prefault::No as u8
}

/// Whether shared memory is to be collapsed to huge pages.
pub(crate) fn collapses_shared() -> bool {
    matches!(HEAP.pages(), Some(Pages::Transparent | Pages::Auto))
}

#[derive(Clone, Copy)]
struct Share {
    start: usize,
    bytes: usize,
    collapse: bool,
    /// That of the thread that allocates.
    node: Option<u32>,
    /// What the kernel answered where it made no huge page.
    refusal: Option<c_int>,
}

/// Creates the pages of a new block, or has them created, if prefaulting is on. What fails is created at first touch, as without us, and so
/// is a block that there is no room for.
pub(crate) fn block(address: *mut u8, bytes: usize) {
    match Prefault::of(WHEN.load(Ordering::Relaxed).into()) {
        Some(Prefault::AtOnce) => create(address, bytes, false),
        Some(Prefault::Background) => background::block(address, bytes),
        Some(Prefault::No) | None => {}
    }
}

/// Creates the pages of new shared memory, at once; huge ones, if `collapse`, whatever `shmem_enabled` says but `deny` (Linux 6.1), because
/// the kernel takes collapsing for an order and not for advice: nothing of it stays with the mapping. What has small pages then is told in
/// the record.
pub(crate) fn shared(address: *mut u8, bytes: usize, collapse: bool) {
    create(address, bytes, collapse);
}

fn create(address: *mut u8, bytes: usize, collapse: bool) {
    let start = address as usize / BASE * BASE;
    let end = (address as usize + bytes).next_multiple_of(BASE);
    if room::has_room(end - start) {
        create_in_shares(start, end, collapse);
    }
}

/// Apart from the question for room, which needs its part of a stack that may be small.
#[inline(never)]
fn create_in_shares(start: usize, end: usize, collapse: bool) {
    let threads = ((end - start) / BYTES_PER_THREAD).clamp(1, processors().min(MOST_THREADS));
    let share = (end - start).div_ceil(threads).next_multiple_of(HUGE);
    let node = threads::own_node();
    let mut shares = [Share { start, bytes: 0, collapse, node, refusal: None }; MOST_THREADS];
    let mut handles = [0 as libc::pthread_t; MOST_THREADS];
    let mut started = [false; MOST_THREADS];
    for index in (0..threads).rev() {
        let from = (start + index * share).min(end);
        shares[index] = Share { start: from, bytes: share.min(end - from), ..shares[index] };
        if index > 0 {
            let argument = (&raw mut shares[index]).cast::<c_void>();
            started[index] = start_thread(&mut handles[index], argument);
        }
        if !started[index] {
            populate(&mut shares[index]);
        }
    }
    without_cancellation(|| {
        for index in 1..threads {
            if started[index] {
                // SAFETY: a joinable thread that was started above.
                unsafe { libc::pthread_join(handles[index], ptr::null_mut()) };
            }
        }
    });
    if let Some(refusal) = shares.iter().find_map(|share| share.refusal)
        && record::is_due()
        && let Some((small, forbidden)) = small_shared(start, end)
    {
        // What MADV_COLLAPSE answers (madvise(2)).
        let reason = forbidden.unwrap_or(match refusal {
            libc::EINVAL => Reason::KernelTooOld,
            libc::EBUSY => Reason::CgroupLimit,
            libc::EAGAIN => Reason::BusyPages,
            _ => Reason::NoContiguousMemory,
        });
        HEAP.refuse(reason, small);
    }
}

/// Does something in which the calling thread must not be cancelled: `malloc` is no cancellation point (pthreads(7)), and the
/// helpers work on its stack.
fn without_cancellation(act: impl FnOnce()) {
    unsafe extern "C" {
        fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
    }
    const DISABLED: c_int = 1;
    let mut before = 0;
    // SAFETY: sets the state of this thread, and fills the number.
    unsafe { pthread_setcancelstate(DISABLED, &raw mut before) };
    act();
    // SAFETY: the state that was.
    unsafe { pthread_setcancelstate(before, ptr::null_mut()) };
}

/// Starts a thread that takes no signals of the program's.
fn start_thread(handle: &mut libc::pthread_t, argument: *mut c_void) -> bool {
    // SAFETY: the argument outlives the thread, which is joined before the array of shares ends.
    helper::without_signals(|| unsafe { helper::create_helper(handle, ptr::null(), help, argument) == 0 })
}

extern "C" fn help(share: *mut c_void) -> *mut c_void {
    // SAFETY: the argument is a share of a block that is new and known to nobody else, and is this thread's until it ends.
    let share = unsafe { &mut *share.cast::<Share>() };
    threads::StandIn::new().create_on(share.node);
    populate(share);
    ptr::null_mut()
}

fn populate(share: &mut Share) {
    let Share { start, bytes, collapse, .. } = *share;
    let (mut at, end) = (start, start + bytes);
    while at < end {
        if at > start && !room::has_room_left(false) {
            break;
        }
        let to = ((at + room::PIECE) / HUGE * HUGE).min(end);
        if collapse {
            share.refusal = make_huge(at, to - at).err().or(share.refusal);
        }
        // SAFETY: the range is of a block that is new and known to nobody else.
        unsafe { populate::create_pages(at, to - at) };
        room::is_done(to - at);
        at = to;
    }
    room::is_done(end - at);
}

/// Makes the whole blocks of new shared memory huge pages, or answers what the kernel answered. It collapses only what has a page already;
/// what else belongs to the block comes with it, cleared.
fn make_huge(start: usize, bytes: usize) -> Result<(), c_int> {
    let (first, end) = (start.next_multiple_of(HUGE), (start + bytes) / HUGE * HUGE);
    for block in (first..end).step_by(HUGE) {
        // SAFETY: the page is of a mapping that is new and known to nobody else.
        if !unsafe { populate::create_pages(block, BASE) } {
            return Ok(());
        }
        // SAFETY: contents do not change.
        unsafe { sys::advise(block, HUGE, sys::MADV_COLLAPSE) }?;
    }
    Ok(())
}

/// Processors that this thread may run on.
fn processors() -> usize {
    // SAFETY: an all-zero set is valid, and the call fills it.
    let count = unsafe {
        let mut set: libc::cpu_set_t = core::mem::zeroed();
        match libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) {
            0 => libc::CPU_COUNT(&set),
            _ => 1,
        }
    };
    usize::try_from(count).unwrap_or(1).max(1)
}
