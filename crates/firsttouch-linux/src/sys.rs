//! System calls without the C library's wrappers: no `errno` is touched, nothing allocates, nothing can be interposed.
//!
//! The agent lives inside other people's `malloc`, where all three matter. Every function answers the kernel's own
//! value, or the positive error number as `Err`.

use core::arch::asm;
use core::ffi::CStr;
use libc::c_long;

/// The kernel's answer: a value, or a positive error number (`libc::ENOMEM` …).
pub type Answer = Result<usize, i32>;

/// `PAGEMAP_SCAN`, the ioctl of `/proc/PID/pagemap` (Linux 6.7): `_IOWR('f', 16, struct pm_scan_arg)`.
const PAGEMAP_SCAN: usize = 0xc060_6610;
/// Category bit: the page is resident.
pub const PAGE_IS_PRESENT: u64 = 1 << 3;
/// Category bit: the page is swapped out.
pub const PAGE_IS_SWAPPED: u64 = 1 << 4;
/// Category bit: the page is the shared zero page.
pub const PAGE_IS_PFNZERO: u64 = 1 << 5;
/// Category bit: the page is mapped by a PMD (transparent 2 MiB page) or is a hugetlb page.
pub const PAGE_IS_HUGE: u64 = 1 << 6;

/// One run of pages of the same categories, as `PAGEMAP_SCAN` returns it (`struct page_region`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct PageRegion {
    /// First address.
    pub start: u64,
    /// First address after the run.
    pub end: u64,
    /// Category bits (`PAGE_IS_…`).
    pub categories: u64,
}

#[repr(C)]
struct ScanArguments {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

/// Any system call.
///
/// # Safety
/// The caller answers for what the call does to the memory and the state of the process.
pub unsafe fn call(number: c_long, arguments: [usize; 6]) -> Answer {
    let [a, b, c, d, e, f] = arguments;
    let answer: isize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the x86-64 system call convention: number in rax, arguments in rdi, rsi, rdx, r10, r8, r9;
    // rcx and r11 are overwritten. What the call itself does is the caller's duty.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => answer, in("rdi") a, in("rsi") b, in("rdx") c,
             in("r10") d, in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the arm64 system call convention: number in x8, arguments in x0 to x5, answer in x0.
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") a as isize => answer, in("x1") b, in("x2") c, in("x3") d,
             in("x4") e, in("x5") f, options(nostack));
    }
    if (-4095..0).contains(&answer) { Err(-answer as i32) } else { Ok(answer as usize) }
}

/// `mmap` of private anonymous memory.
///
/// # Safety
/// With `MAP_FIXED` in `flags` the range must belong to the caller.
pub unsafe fn map_anonymous(address: usize, bytes: usize, protection: i32, flags: i32) -> Answer {
    let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new private anonymous mapping; a fixed address is the caller's duty.
    unsafe { call(libc::SYS_mmap, [address, bytes, protection as usize, flags as usize, usize::MAX, 0]) }
}

/// Maps the first page of an open file to be written, shared with whoever else has it: a device's page, too. By number,
/// because who opened it keeps it.
///
/// # Safety
/// What stores to the page do is the caller's to know.
pub unsafe fn map_shared_page(file: i32) -> Answer {
    // SAFETY: a new mapping at an address of the kernel's choice.
    unsafe {
        call(
            libc::SYS_mmap,
            [0, 4096, libc::PROT_WRITE as usize, libc::MAP_SHARED as usize, file as usize, 0],
        )
    }
}

/// `munmap`.
///
/// # Safety
/// The range must belong to the caller and not be used afterwards.
pub unsafe fn unmap(address: usize, bytes: usize) -> Answer {
    // SAFETY: the caller's duty.
    unsafe { call(libc::SYS_munmap, [address, bytes, 0, 0, 0, 0]) }
}

/// Advice that creates pages (Linux 5.14) and that makes huge ones of them (6.1).
pub use libc::{MADV_COLLAPSE, MADV_POPULATE_WRITE};

/// `madvise`.
///
/// # Safety
/// For advice that changes contents (`MADV_DONTNEED`, `MADV_FREE`), the range must belong to the caller.
pub unsafe fn advise(address: usize, bytes: usize, advice: i32) -> Answer {
    // SAFETY: the caller's duty.
    unsafe { call(libc::SYS_madvise, [address, bytes, advice as usize, 0, 0, 0]) }
}

/// `mincore`: of each page from an address on, whether it is resident (bit 0); an error if one is not mapped.
pub fn resident_pages(address: usize, pages: &mut [u8]) -> Answer {
    // SAFETY: fills the slice it is given, a byte for each page of 4 KiB.
    unsafe { call(libc::SYS_mincore, [address, pages.len() << 12, pages.as_mut_ptr() as usize, 0, 0, 0]) }
}

/// `mprotect`.
///
/// # Safety
/// The range must belong to the caller.
pub unsafe fn protect(address: usize, bytes: usize, protection: i32) -> Answer {
    // SAFETY: the caller's duty.
    unsafe { call(libc::SYS_mprotect, [address, bytes, protection as usize, 0, 0, 0]) }
}

/// `mremap` to a fixed address, leaving the source mapped and empty (`MREMAP_DONTUNMAP`, Linux 5.7). The source must be one
/// mapping: up to Linux 6.16 the target is unmapped before the kernel finds out that it is not.
///
/// # Safety
/// Both ranges must belong to the caller, must not overlap, and nobody may access them during the call.
pub unsafe fn move_pages_to(source: usize, bytes: usize, target: usize) -> Answer {
    const MREMAP_DONTUNMAP: usize = 4;
    let flags = libc::MREMAP_MAYMOVE as usize | libc::MREMAP_FIXED as usize | MREMAP_DONTUNMAP;
    // SAFETY: the caller's duty.
    unsafe { call(libc::SYS_mremap, [source, bytes, bytes, flags, target, 0]) }
}

/// Moves a mapping, or whole pages of one, from `source` to `target`, and leaves nothing at the source (mremap(2)): nothing more
/// is mapped than before, so that no limit stands in its way. What was at the target is gone.
///
/// # Safety
/// As for [`move_pages_to`].
pub unsafe fn move_mapping_to(source: usize, bytes: usize, target: usize) -> Answer {
    let flags = libc::MREMAP_MAYMOVE as usize | libc::MREMAP_FIXED as usize;
    // SAFETY: the caller's duty.
    unsafe { call(libc::SYS_mremap, [source, bytes, bytes, flags, target, 0]) }
}

/// Makes a mapping larger, elsewhere if there is no room behind it (mremap(2)); the answer is where it begins.
///
/// # Safety
/// The mapping must be the caller's, and nobody may use it meanwhile.
pub unsafe fn grow_mapping(source: usize, bytes: usize, new_bytes: usize) -> Answer {
    // SAFETY: the caller's duty.
    unsafe { call(libc::SYS_mremap, [source, bytes, new_bytes, libc::MREMAP_MAYMOVE as usize, 0, 0]) }
}

/// Names anonymous memory for those who read `/proc/PID/maps`: `[anon:NAME]` (`PR_SET_VMA_ANON_NAME`, Linux 5.17 if built
/// with it, else `EINVAL`). At most 79 bytes, printable, none of ``[]\\$` ``.
pub fn name_memory(address: usize, bytes: usize, name: &CStr) -> Answer {
    const PR_SET_VMA: usize = 0x5356_4d41;
    const PR_SET_VMA_ANON_NAME: usize = 0;
    let arguments = [PR_SET_VMA, PR_SET_VMA_ANON_NAME, address, bytes, name.as_ptr() as usize, 0];
    // SAFETY: changes no contents; the kernel reads the name.
    unsafe { call(libc::SYS_prctl, arguments) }
}

/// `open` for reading, relative to nothing; `path` ends with a zero byte.
pub fn open_to_read(path: &CStr) -> Result<Descriptor, i32> {
    open(path, libc::O_RDONLY | libc::O_CLOEXEC)
}

/// Creates or empties a file for writing, mode 0600, in a folder of the process's own user: in another's, which may have been made in
/// place of one that is gone, it is `EACCES`. Symbolic links are refused.
pub fn create_in(folder: &CStr, name: &CStr) -> Result<Descriptor, i32> {
    let folder = open(folder, libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC | libc::O_NOFOLLOW)?;
    if about(folder.0, c"".as_ptr(), libc::AT_EMPTY_PATH).is_none_or(|about| about.st_uid != effective_user())
    {
        return Err(libc::EACCES);
    }
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    open_at(folder.0, name, flags | libc::O_NONBLOCK)
}

/// `open` for reading and writing.
pub(crate) fn open_to_read_and_write(path: &CStr) -> Result<Descriptor, i32> {
    open(path, libc::O_RDWR | libc::O_CLOEXEC)
}

fn open(path: &CStr, flags: i32) -> Result<Descriptor, i32> {
    open_at(libc::AT_FDCWD, path, flags)
}

fn open_at(folder: i32, path: &CStr, flags: i32) -> Result<Descriptor, i32> {
    let arguments = [folder as usize, path.as_ptr() as usize, flags as usize, 0o600, 0, 0];
    // SAFETY: the path is a valid C string for the time of the call.
    unsafe { call(libc::SYS_openat, arguments) }.map(|descriptor| Descriptor(descriptor as i32))
}

/// `readlink`; answers the part of the buffer that was filled.
pub fn read_link<'a>(path: &CStr, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    let (address, length) = (buffer.as_mut_ptr() as usize, buffer.len());
    // SAFETY: the path is a valid C string and the buffer valid for writes of its length.
    let answer = unsafe {
        call(libc::SYS_readlinkat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, address, length, 0, 0])
    };
    buffer.get(..answer.ok()?)
}

/// Whether two names lead to one file; false where one of them cannot be followed.
pub fn is_same_file(one: &CStr, other: &CStr) -> bool {
    let [one, other] = [one, other]
        .map(|path| about(libc::AT_FDCWD, path.as_ptr(), 0).map(|about| (about.st_dev, about.st_ino)));
    one.is_some() && one == other
}

/// Whether a path, any pointer, leads to an ordinary file.
pub fn is_ordinary_file(path: *const core::ffi::c_char) -> bool {
    about(libc::AT_FDCWD, path, 0).is_some_and(|about| about.st_mode & libc::S_IFMT == libc::S_IFREG)
}

fn about(folder: i32, path: *const core::ffi::c_char, flags: i32) -> Option<libc::stat64> {
    // SAFETY: an all-zero structure is valid, and the call fills it.
    let mut about: libc::stat64 = unsafe { core::mem::zeroed() };
    let arguments = [folder as usize, path as usize, &raw mut about as usize, flags as usize, 0, 0];
    // SAFETY: the kernel checks the path; the structure is what it fills on 64-bit machines.
    unsafe { call(libc::SYS_newfstatat, arguments) }.ok().map(|_| about)
}

/// Two connected stream sockets, both closed on exec.
pub fn socket_pair() -> Result<(Descriptor, Descriptor), i32> {
    let mut ends = [0_i32; 2];
    let (domain, kind) = (libc::AF_UNIX as usize, (libc::SOCK_STREAM | libc::SOCK_CLOEXEC) as usize);
    // SAFETY: the array has room for the two descriptors.
    unsafe { call(libc::SYS_socketpair, [domain, kind, 0, ends.as_mut_ptr() as usize, 0, 0]) }?;
    Ok((Descriptor(ends[0]), Descriptor(ends[1])))
}

/// Copies memory of this process by way of the kernel (`process_vm_readv`): where it cannot be read there is an error,
/// or fewer bytes, and no signal.
///
/// # Safety
/// The target must be writable and nobody else may access it meanwhile.
pub unsafe fn copy_readable(source: usize, target: usize, bytes: usize) -> Answer {
    let (local, remote) = ([target, bytes], [source, bytes]);
    let process = process_id() as usize;
    let arguments = [process, local.as_ptr() as usize, 1, remote.as_ptr() as usize, 1, 0];
    // SAFETY: writes to the target, which is the caller's; the source is read by the kernel, which checks it.
    unsafe { call(libc::SYS_process_vm_readv, arguments) }
}

/// Whether there is memory to be read at an address; true, too, where the kernel does not tell.
pub fn is_readable(address: usize) -> bool {
    let mut byte = 0_u8;
    // SAFETY: a byte of ours.
    let copied = unsafe { copy_readable(address, &raw mut byte as usize, 1) };
    copied != Err(libc::EFAULT)
}

/// Replaces the process image; returns only the error.
///
/// # Safety
/// Path, arguments and environment must be what `execve` asks for.
pub unsafe fn execute(path: *const u8, arguments: *const *const u8, environment: *const *const u8) -> i32 {
    let all = [path as usize, arguments as usize, environment as usize, 0, 0, 0];
    // SAFETY: the caller's duty.
    unsafe { call(libc::SYS_execve, all) }.err().unwrap_or(0)
}

/// Ends the process, all threads, without any clean-up.
pub fn exit_now(status: i32) -> ! {
    loop {
        // SAFETY: does not return.
        let _ = unsafe { call(libc::SYS_exit_group, [status as usize, 0, 0, 0, 0, 0]) };
    }
}

/// An open file, closed when dropped.
#[derive(Debug)]
pub struct Descriptor(pub(crate) i32);

impl Descriptor {
    /// `read` into a buffer; 0 at the end.
    pub fn read(&self, buffer: &mut [u8]) -> Answer {
        loop {
            // SAFETY: the buffer is valid for writes of its length.
            match unsafe {
                call(libc::SYS_read, [self.0 as usize, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0])
            } {
                Err(libc::EINTR) => {}
                answer => return answer,
            }
        }
    }

    /// `pread` into a buffer; fewer bytes than asked for at the end.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Answer {
        let (address, length) = (buffer.as_mut_ptr() as usize, buffer.len());
        // SAFETY: the buffer is valid for writes of its length.
        unsafe { call(libc::SYS_pread64, [self.0 as usize, address, length, offset as usize, 0, 0]) }
    }

    /// The 64-bit number number `index` of a file of such numbers (`/proc/PID/pagemap`, `/proc/kpageflags`).
    pub fn number_at(&self, index: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        (self.read_at(index * 8, &mut bytes) == Ok(8)).then(|| u64::from_ne_bytes(bytes))
    }

    /// The number that the process knows it by.
    pub fn number(&self) -> i32 {
        self.0
    }

    /// Writes all of a buffer.
    pub fn write_all(&self, mut bytes: &[u8]) -> Result<(), i32> {
        while !bytes.is_empty() {
            // SAFETY: the buffer is valid for reads of its length.
            match unsafe {
                call(libc::SYS_write, [self.0 as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0])
            } {
                Ok(written) => bytes = &bytes[written.min(bytes.len())..],
                Err(libc::EINTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sends memory of this process, in whatever state it is, to the other end of a socket. What cannot be read is an
    /// error, and so is an end that was closed: neither raises a signal.
    pub fn send_memory(&self, address: usize, bytes: usize) -> Result<(), i32> {
        let (mut at, end) = (address, address + bytes);
        while at < end {
            let arguments = [self.0 as usize, at, end - at, libc::MSG_NOSIGNAL as usize, 0, 0];
            // SAFETY: the kernel reads the memory, and checks that it can.
            match unsafe { call(libc::SYS_sendto, arguments) } {
                Ok(sent) => at += sent,
                Err(libc::EINTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Runs `PAGEMAP_SCAN` (Linux 6.7) on an open `/proc/PID/pagemap`: resident pages of `[start, end)`, as runs.
    ///
    /// Answers how many runs were filled in and where the walk stopped; it is complete when that is `end`.
    pub fn scan_pages(
        &self,
        start: usize,
        end: usize,
        regions: &mut [PageRegion],
    ) -> Result<(usize, usize), i32> {
        scan_pages(self.0, start, end, 0, regions)
    }

    /// The same for pages that have contents, in memory or swapped out.
    pub fn scan_contents(
        &self,
        start: usize,
        end: usize,
        regions: &mut [PageRegion],
    ) -> Result<(usize, usize), i32> {
        scan(self.0, start, end, 0, PAGE_IS_PRESENT | PAGE_IS_SWAPPED, regions)
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours and is not used again.
        let _ = unsafe { call(libc::SYS_close, [self.0 as usize, 0, 0, 0, 0, 0]) };
    }
}

/// [`Descriptor::scan_pages`] on a descriptor that somebody else keeps; the walk stops after `max_pages`, if that is not 0.
pub(crate) fn scan_pages(
    pagemap: i32,
    start: usize,
    end: usize,
    max_pages: u64,
    regions: &mut [PageRegion],
) -> Result<(usize, usize), i32> {
    scan(pagemap, start, end, max_pages, PAGE_IS_PRESENT, regions)
}

/// The pages that are of any of these categories.
fn scan(
    pagemap: i32,
    start: usize,
    end: usize,
    max_pages: u64,
    categories: u64,
    regions: &mut [PageRegion],
) -> Result<(usize, usize), i32> {
    let mut arguments = ScanArguments {
        size: size_of::<ScanArguments>() as u64,
        flags: 0,
        start: start as u64,
        end: end as u64,
        walk_end: 0,
        vec: regions.as_mut_ptr() as u64,
        vec_len: regions.len() as u64,
        max_pages,
        category_inverted: 0,
        category_mask: 0,
        category_anyof_mask: categories,
        return_mask: categories | PAGE_IS_HUGE | PAGE_IS_PFNZERO,
    };
    let address = &raw mut arguments as usize;
    // SAFETY: the argument block has the kernel's layout and points to a buffer of the length it names.
    let filled = unsafe { call(libc::SYS_ioctl, [pagemap as usize, PAGEMAP_SCAN, address, 0, 0, 0]) }?;
    Ok((filled, arguments.walk_end as usize))
}

/// `write` of a message to standard error; what cannot be written is lost.
pub fn complain(message: &[u8]) {
    // SAFETY: the buffer is valid for reads of its length.
    let _ = unsafe { call(libc::SYS_write, [2, message.as_ptr() as usize, message.len(), 0, 0, 0]) };
}

/// A number that tells the calling thread from all others of the process: the address of its descriptor. No system call.
pub fn this_thread() -> usize {
    // SAFETY: takes no argument and cannot fail.
    unsafe { libc::pthread_self() as usize }
}

/// The process id, from the kernel (right after every kind of fork).
pub fn process_id() -> u32 {
    // SAFETY: takes no argument and cannot fail.
    unsafe { call(libc::SYS_getpid, [0; 6]) }.unwrap_or(0) as u32
}

/// The effective user of the calling thread.
pub fn effective_user() -> u32 {
    // SAFETY: takes no argument and cannot fail.
    unsafe { call(libc::SYS_geteuid, [0; 6]) }.unwrap_or(0) as u32
}

/// Takes the priority of real-time programs, if it has one, from the calling thread; see sched(7).
pub fn leave_real_time() {
    // SAFETY: asks about this thread.
    let policy = unsafe { call(libc::SYS_sched_getscheduler, [0; 6]) };
    if matches!(policy.map(|policy| policy as i32), Ok(libc::SCHED_FIFO | libc::SCHED_RR)) {
        let _ = set_policy(libc::SCHED_OTHER);
    }
}

/// Lets the calling thread run only where no other wants to (`SCHED_IDLE`); see sched(7).
pub fn set_idle_priority() -> Result<(), i32> {
    set_policy(libc::SCHED_IDLE)
}

/// For policies without a priority.
fn set_policy(policy: libc::c_int) -> Result<(), i32> {
    const THIS_THREAD: usize = 0;
    // All that the structure holds: for these policies the priority is zero.
    let parameters: libc::c_int = 0;
    let arguments = [THIS_THREAD, policy as usize, &raw const parameters as usize, 0, 0, 0];
    // SAFETY: decides when a thread runs; the kernel reads one number.
    unsafe { call(libc::SYS_sched_setscheduler, arguments) }.map(drop)
}

/// Whether there is a soft limit of the address space, or of the part of it that may be written.
pub fn mappings_are_limited() -> bool {
    [libc::RLIMIT_AS, libc::RLIMIT_DATA].into_iter().any(|resource| is_limited(resource as usize))
}

fn is_limited(resource: usize) -> bool {
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    let address = &raw mut limit as usize;
    // SAFETY: prlimit64 fills the structure whose address it is given.
    let answer = unsafe { call(libc::SYS_prlimit64, [0, resource, 0, address, 0, 0]) };
    answer.is_ok() && limit.rlim_cur != libc::RLIM64_INFINITY
}

/// Whether `PR_SET_THP_DISABLE` is set for the process; `None` if the kernel does not say.
pub fn thp_disabled_by_prctl() -> Option<bool> {
    // SAFETY: PR_GET_THP_DISABLE reads a flag of the process; the other arguments must be zero.
    let answer = unsafe { call(libc::SYS_prctl, [libc::PR_GET_THP_DISABLE as usize, 0, 0, 0, 0, 0]) };
    // Linux 6.18 answers 3 when advised regions are exempt (PR_THP_DISABLE_EXCEPT_ADVISED): ours are advised.
    answer.ok().map(|value| value == 1)
}

/// Nanoseconds of the monotonic clock, coarse (one tick) but free of system calls.
pub fn coarse_ns() -> u64 {
    clock(libc::CLOCK_MONOTONIC_COARSE)
}

/// Nanoseconds of the monotonic clock.
pub fn now_ns() -> u64 {
    clock(libc::CLOCK_MONOTONIC)
}

fn clock(id: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills the structure it is given; these clocks exist on every Linux, so errno is not touched.
    unsafe { libc::clock_gettime(id, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Nanoseconds of processor time that all threads of the process have used.
pub fn process_ns() -> u64 {
    clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Nanoseconds of processor time that the calling thread has used.
pub fn thread_ns() -> u64 {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Keeps these signals from the calling thread, a bit each, and no others, those too that the C library keeps to itself
/// (rt_sigprocmask(2)); answers what was kept from it before.
pub fn set_signal_mask(signals: u64) -> u64 {
    let mut before = 0_u64;
    let (new, old) = (&raw const signals as usize, &raw mut before as usize);
    let arguments = [libc::SIG_SETMASK as usize, new, old, size_of::<u64>(), 0, 0];
    // SAFETY: the kernel reads one set, and writes the other.
    let _ = unsafe { call(libc::SYS_rt_sigprocmask, arguments) };
    before
}

/// Waits while a futex word holds `value` (private futex).
pub fn futex_wait(word: &core::sync::atomic::AtomicU32, value: u32) {
    // An error is a spurious answer.
    let _ = wait_by_futex(word, value, 0);
}

/// The same for so many nanoseconds at most, less than a second; `ETIMEDOUT` if they have passed.
pub fn futex_wait_for(word: &core::sync::atomic::AtomicU32, value: u32, ns: u64) -> Answer {
    let time = libc::timespec { tv_sec: 0, tv_nsec: ns as libc::c_long };
    wait_by_futex(word, value, &raw const time as usize)
}

fn wait_by_futex(word: &core::sync::atomic::AtomicU32, value: u32, time: usize) -> Answer {
    let operation = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: the word is valid, and the time the caller's or none; spurious answers are allowed for.
    unsafe { call(libc::SYS_futex, [word.as_ptr() as usize, operation, value as usize, time, 0, 0]) }
}

/// Wakes at most so many waiters of a futex word.
pub fn futex_wake(word: &core::sync::atomic::AtomicU32, most: i32) {
    let operation = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: the word is valid.
    let _ = unsafe { call(libc::SYS_futex, [word.as_ptr() as usize, operation, most as usize, 0, 0, 0]) };
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{chown, symlink};
    use std::path::Path;

    #[test]
    fn a_file_is_created_in_a_folder_of_ones_own_only() {
        let path = |path: &Path| CString::new(path.as_os_str().as_bytes()).unwrap();
        let create = |folder: &Path, name: &CStr| create_in(&path(folder), name).map(drop);
        let base = tempfile::tempdir().unwrap();
        let own = base.path().join("own");
        fs::create_dir(&own).unwrap();
        fs::write(own.join("file"), "before").unwrap();
        assert_eq!(create(&own, c"file"), Ok(()));
        assert_eq!(fs::read(own.join("file")).unwrap(), b"");
        symlink(own.join("file"), own.join("link")).unwrap();
        assert_eq!(create(&own, c"link"), Err(libc::ELOOP));
        symlink(&own, base.path().join("link")).unwrap();
        assert_eq!(create(&base.path().join("link"), c"file"), Err(libc::ENOTDIR));
        // Nobody waits for somebody to read.
        // SAFETY: the path is a valid C string.
        let made = unsafe { libc::mkfifo(path(&own.join("fifo")).as_ptr(), 0o600) };
        assert_eq!((made, create(&own, c"fifo")), (0, Err(libc::ENXIO)));
        let of_another = match effective_user() {
            0 => own,
            _ => "/".into(),
        };
        if effective_user() == 0 {
            chown(&of_another, Some(12345), None).unwrap();
        }
        assert_eq!(create(&of_another, c"file"), Err(libc::EACCES));
    }
}
