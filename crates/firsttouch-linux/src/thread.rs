//! Threads that the C library knows nothing of: it neither counts them nor has them change users, and takes no lock because of them.
//!
//! See clone(2), signalfd(2). Invariant: nothing here allocates or touches `errno`.

use crate::sys::{self, Descriptor, call};
use crate::{numa, socket};
use core::arch::asm;
use core::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// What a thread has mapped: a page that nobody may touch, the stack, and two pages of its own in place of the C library's.
const MAPPED_BYTES: usize = 256 << 10;
const PAGE: usize = 4096;
/// The signal by which such a thread is woken: ignored by default, and blocked by these threads.
const WAKE: libc::c_int = libc::SIGURG;

/// The last thread that did something [apart], which the kernel may still count; 0 for none.
static APART: AtomicU32 = AtomicU32::new(0);

/// A number that is none, while a thread is being started.
const STARTING: u32 = u32::MAX;

/// What a thread does, with its argument.
pub type Function = extern "C" fn(usize);

/// The number of such a thread.
#[derive(Debug)]
pub struct Number {
    /// 0 where there is none: the kernel makes it that when the thread makes no system call any more.
    now: AtomicU32,
    /// That of the last one, which the kernel counts for some microseconds longer.
    last: AtomicU32,
}

impl Default for Number {
    fn default() -> Self {
        Number::new()
    }
}

impl Number {
    /// Of no thread yet.
    pub const fn new() -> Number {
        Number { now: AtomicU32::new(0), last: AtomicU32::new(0) }
    }

    /// There is none: in a copy of the process.
    pub fn forget(&self) {
        self.now.store(0, SeqCst);
        self.last.store(0, SeqCst);
    }
}

/// Starts a thread that calls `function`, and ends with it; it takes no signals. `number`, which is of no thread, becomes the thread's
/// until its end. Before that `is_allowed` is asked: who forbids threads and then [waits for their end](await_end) misses none.
///
/// # Safety
/// `function` must use nothing of the C library's but what needs neither `errno` nor anything else of the calling thread alone,
/// and must not unwind. `number` must stay until the end of the thread.
pub unsafe fn start(
    function: Function,
    argument: usize,
    number: &Number,
    is_allowed: impl FnOnce() -> bool,
) -> Result<(), i32> {
    let now = &number.now;
    now.compare_exchange(0, STARTING, SeqCst, SeqCst).map_err(|_| libc::EBUSY)?;
    let started = if is_allowed() {
        // SAFETY: the caller's duty.
        unsafe { start_as(function, argument, number) }
    } else {
        Err(libc::ECANCELED)
    };
    started.inspect_err(|_| {
        now.store(0, SeqCst);
        let arguments = [now.as_ptr() as usize, libc::FUTEX_WAKE as usize, i32::MAX as usize, 0, 0, 0];
        // SAFETY: the word is valid.
        let _ = unsafe { call(libc::SYS_futex, arguments) };
    })
}

/// Does something in a thread of its own with a table of files of its own, and waits for it: what is opened there is nowhere among
/// the files of the process, where another thread may count on the next number. `None` if that could not be done (Linux 5.9), and in
/// the child of a fork by a handler of a signal that interrupted this.
///
/// # Safety
/// As for the function of [`start`].
pub unsafe fn apart<T: Send, F: FnOnce() -> T + Send>(act: F) -> Option<T> {
    extern "C" fn perform<T, F: FnOnce() -> T>(work: usize) {
        // SAFETY: who waits for the thread has it, and does not look at it meanwhile.
        let (act, answer) = unsafe { &mut *(work as *mut (Option<F>, Option<T>)) };
        // SAFETY: the thread has used no descriptor yet.
        if unsafe { socket::leave_files() }.is_ok() {
            *answer = act.take().map(|act| act());
        }
    }
    let number = Number::new();
    let mut work = (Some(act), None);
    // SAFETY: the caller's duty; the thread is waited for.
    unsafe { start(perform::<T, F>, &raw mut work as usize, &number, || true) }.ok()?;
    await_last_call(&number);
    APART.store(number.last.load(SeqCst), SeqCst);
    work.1
}

/// Waits until the kernel does not count the last thread that did something [apart] any more.
pub fn await_apart() {
    await_gone(&APART);
}

/// What a thread begins with.
struct Start<'a> {
    function: Function,
    argument: usize,
    mapped: usize,
    number: &'a Number,
}

/// # Safety
/// As for [`start`].
unsafe fn start_as(function: Function, argument: usize, number: &Number) -> Result<(), i32> {
    let flags = libc::CLONE_VM
        | libc::CLONE_FS
        | libc::CLONE_FILES
        | libc::CLONE_SIGHAND
        | libc::CLONE_THREAD
        | libc::CLONE_SYSVSEM
        | libc::CLONE_SETTLS
        | libc::CLONE_PARENT_SETTID
        | libc::CLONE_CHILD_CLEARTID;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping.
    let mapped = unsafe { sys::map_anonymous(0, MAPPED_BYTES, protection, libc::MAP_STACK) }?;
    // SAFETY: the new mapping; a child of a fork has no thread that would need it.
    unsafe {
        let _ = sys::protect(mapped, PAGE, libc::PROT_NONE);
        let _ = sys::advise(mapped, MAPPED_BYTES, libc::MADV_DONTFORK);
    }
    let top = mapped + MAPPED_BYTES - 2 * PAGE;
    // What is left of the C library's needs an address, and guards its stack by a number, any, which it finds there. A debugger reads all
    // that glibc keeps of a thread, 2,304 bytes in 2.36: from that address on, or on the other processor before it.
    let own = top + PAGE;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: in the new mapping. By these words the C library and the compiler know where they are.
    unsafe {
        (own as *mut [usize; 3]).write([own, 0, own]);
    }
    let begin = top as *mut Start<'_>;
    // SAFETY: in the new mapping.
    unsafe { begin.write(Start { function, argument, mapped, number }) };
    let started = without_signals(|| {
        // SAFETY: the stack is new; the function's caller answers for what it does.
        unsafe { clone(flags as usize, top, number.now.as_ptr() as usize, own, begin) }
    });
    started.map(drop).inspect_err(|_| {
        // SAFETY: nobody uses it.
        let _ = unsafe { sys::unmap(mapped, MAPPED_BYTES) };
    })
}

/// `clone`, after which the child begins in [`run`].
///
/// # Safety
/// As for [`start`]; the stack and what is at `own` must be new.
unsafe fn clone(flags: usize, stack: usize, number: usize, own: usize, begin: *mut Start<'_>) -> sys::Answer {
    let answer: isize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the system call convention, as in `sys::call`; the child goes on with the same registers on its own stack, and does
    // not return from `run`.
    unsafe {
        asm!("syscall", "test rax, rax", "jnz 2f",
             "xor ebp, ebp", "mov rdi, r9", "call {run}", "ud2", "2:",
             inlateout("rax") libc::SYS_clone as isize => answer, in("rdi") flags, in("rsi") stack, in("rdx") number,
             in("r10") number, in("r8") own, in("r9") begin, run = sym run,
             lateout("rcx") _, lateout("r11") _);
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: likewise.
    unsafe {
        asm!("svc 0", "cbnz x0, 2f",
             "mov x29, xzr", "mov x30, xzr", "mov x0, x5", "bl {run}", "brk #1", "2:",
             in("x8") libc::SYS_clone, inlateout("x0") flags as isize => answer, in("x1") stack, in("x2") number, in("x3") own,
             in("x4") number, in("x5") begin, run = sym run);
    }
    if answer < 0 { Err(-answer as i32) } else { Ok(answer as usize) }
}

/// What the new thread does, and its end: it takes its stack away from under itself.
extern "C" fn run(begin: &Start<'_>) -> ! {
    let Start { function, argument, mapped, number } = *begin;
    number.last.store(number.now.load(SeqCst), SeqCst);
    function(argument);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: nothing is on the stack that is used again, and no signal comes.
    unsafe {
        asm!("syscall", "xor edi, edi", "mov eax, {exit}", "syscall", "ud2",
             in("rax") libc::SYS_munmap, in("rdi") mapped, in("rsi") MAPPED_BYTES, exit = const libc::SYS_exit,
             options(noreturn));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: likewise.
    unsafe {
        asm!("svc 0", "mov x0, xzr", "mov x8, #{exit}", "svc 0", "brk #1",
             in("x8") libc::SYS_munmap, in("x0") mapped, in("x1") MAPPED_BYTES, exit = const libc::SYS_exit,
             options(noreturn));
    }
}

/// Does something with all signals blocked, those too that the C library keeps to itself: a thread inherits that.
fn without_signals<T>(act: impl FnOnce() -> T) -> T {
    let before = sys::set_signal_mask(u64::MAX);
    let answer = act();
    sys::set_signal_mask(before);
    answer
}

/// A file that there is something to read from once the calling thread, one of these, is woken.
pub fn wakings() -> Result<Descriptor, i32> {
    let set = 1_u64 << (WAKE - 1);
    let arguments = [usize::MAX, &raw const set as usize, size_of::<u64>(), libc::SFD_CLOEXEC as usize, 0, 0];
    // SAFETY: creates a file, which nobody else knows of; the kernel reads the set.
    unsafe { call(libc::SYS_signalfd4, arguments) }.map(|descriptor| Descriptor(descriptor as i32))
}

/// Wakes the thread of that number, if it is one of this process, and waits until it is gone.
pub fn await_end(number: &Number) {
    await_last_call(number);
    await_gone(&number.last);
}

/// Waits until the kernel does not count the thread `ended` any more, which makes no system call. There is none then.
fn await_gone(ended: &AtomicU32) {
    /// As a rule the kernel is done within microseconds. But it may have taken the thread from its processor, for long on a busy machine;
    /// then it is given time, up to about a second.
    const YIELDS: u32 = 100;
    const SLEEPS: u32 = 1000;
    let last = ended.load(SeqCst);
    let still_counts = |_: &u32| last != 0 && numa::is_alive(sys::process_id(), last);
    for look in (0..YIELDS + SLEEPS).take_while(still_counts) {
        let millisecond = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
        let sleep = [&raw const millisecond as usize, 0, 0, 0, 0, 0];
        let (number, arguments) =
            if look < YIELDS { (libc::SYS_sched_yield, [0; 6]) } else { (libc::SYS_nanosleep, sleep) };
        // SAFETY: takes no argument, or reads a time.
        let _ = unsafe { call(number, arguments) };
    }
    // It may become another thread's.
    let _ = ended.compare_exchange(last, 0, SeqCst, SeqCst);
}

/// Wakes the thread of that number, if it is one of this process, and waits until it makes no system call any more.
fn await_last_call(number: &Number) {
    loop {
        let thread = number.now.load(SeqCst);
        let arguments = [sys::process_id() as usize, thread as usize, WAKE as usize, 0, 0, 0];
        // SAFETY: the signal only waits to be looked for.
        if thread == 0 || unsafe { call(libc::SYS_tgkill, arguments) } == Err(libc::ESRCH) {
            return;
        }
        let arguments = [number.now.as_ptr() as usize, libc::FUTEX_WAIT as usize, thread as usize, 0, 0, 0];
        // SAFETY: the word is valid. The kernel wakes whoever waits, and not by a private futex.
        let _ = unsafe { call(libc::SYS_futex, arguments) };
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use std::sync::Mutex;

    static NUMBER: Number = Number::new();
    static SEEN: AtomicU32 = AtomicU32::new(0);
    /// Of what is done apart the last thread is known.
    static APARTS: Mutex<()> = Mutex::new(());

    extern "C" fn wait_to_be_woken(_: usize) {
        let mut blocked = 0_u64;
        let arguments = [libc::SIG_BLOCK as usize, 0, &raw mut blocked as usize, size_of::<u64>(), 0, 0];
        // SAFETY: the kernel fills the set.
        let asked = unsafe { call(libc::SYS_rt_sigprocmask, arguments) };
        let (Ok(woken), Ok(_)) = (wakings(), asked) else { return };
        let is_all = (1..=64).all(|signal| {
            blocked >> (signal - 1) & 1 == 1 || signal == libc::SIGKILL || signal == libc::SIGSTOP
        });
        SEEN.store(if is_all { numa::thread_id() } else { 0 }, SeqCst);
        let Ok((quiet, _other)) = sys::socket_pair() else { return };
        while socket::wait(&quiet, &woken, 60) == Ok(false) {}
    }

    #[test]
    fn a_thread_runs_until_it_is_woken_and_then_is_gone() {
        // SAFETY: the function makes system calls only.
        let start = |is_allowed| unsafe { start(wait_to_be_woken, 0, &NUMBER, || is_allowed) };
        assert_eq!(start(false), Err(libc::ECANCELED));
        assert_eq!(NUMBER.now.load(SeqCst), 0);
        for _ in 0..50 {
            SEEN.store(0, SeqCst);
            start(true).unwrap();
            let number = NUMBER.now.load(SeqCst);
            assert_eq!(start(true), Err(libc::EBUSY));
            while SEEN.load(SeqCst) == 0 {
                std::thread::yield_now();
            }
            assert_eq!(SEEN.load(SeqCst), number);
            assert!(numa::is_alive(sys::process_id(), number));
            await_end(&NUMBER);
            assert_eq!(NUMBER.now.load(SeqCst), 0);
            assert!(!numa::is_alive(sys::process_id(), number));
        }
    }

    /// Of the calling thread: how many bytes after the address by which the C library knows it are zeroes, of as many as it may keep there.
    #[cfg(target_arch = "x86_64")]
    fn zeroes_of_the_c_library() -> usize {
        let own: *const [usize; 3];
        // SAFETY: the first word is the address itself, in every thread (ELF's thread-local storage).
        unsafe { asm!("mov {}, fs:0", out(reg) own, options(nostack, readonly)) };
        // SAFETY: what the test is about; behind the three words.
        let words = unsafe { core::slice::from_raw_parts(own.add(1).cast::<usize>(), PAGE / 8 - 3) };
        words.iter().take_while(|word| **word == 0).count() * 8
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_debugger_may_read_all_that_the_c_library_would_keep_of_a_thread() {
        let _alone = APARTS.lock().unwrap();
        // SAFETY: system calls only.
        assert_eq!(unsafe { apart(zeroes_of_the_c_library) }, Some(PAGE - 24));
    }

    #[test]
    fn what_is_opened_apart_is_among_nobodys_files() {
        let _alone = APARTS.lock().unwrap();
        let here = std::fs::File::open("/").unwrap();
        let lowest = || sys::open_to_read(c"/").map(|file| file.number());
        // SAFETY: system calls only.
        let there = unsafe { apart(lowest) };
        assert_eq!(there, Some(Ok(0)));
        drop(here);
    }

    #[test]
    fn who_waits_for_what_is_done_apart_finds_nobody_left() {
        let _alone = APARTS.lock().unwrap();
        for _ in 0..2000 {
            // SAFETY: system calls only.
            let number = unsafe { apart(numa::thread_id) }.unwrap();
            await_apart();
            assert!(!numa::is_alive(sys::process_id(), number));
        }
    }

    #[test]
    fn nobody_waits_for_a_thread_of_another_process() {
        await_end(&Number { now: AtomicU32::new(1), last: AtomicU32::new(0) });
    }
}
