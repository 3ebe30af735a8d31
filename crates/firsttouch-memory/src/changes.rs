//! What a program does to its own mappings, limits and rights that concerns placed memory: a look at each system call, by
//! whatever function of C it is made, before the kernel sees it.
//!
//! A block that was made read-only, say, is unmapped by glibc when it is freed; ours is recycled, and must be made anew
//! first. A reservation of address space, and memory that is held for reuse, would count against a limit that the program
//! sets itself, and be locked with all the rest. And a program that confines itself to some system calls (seccomp) has not counted on ours.
//!
//! What the program does by system calls of its own is not seen here: see `arena/chunks.rs` for how it is noticed.

use crate::arena::Reach;
use crate::heap::Heap;
use crate::interposer::Interposer;
use crate::pages::BASE;
use core::ffi::{c_int, c_long, c_void};
use firsttouch_linux::sys::{self, Answer};

/// The arguments of a system call.
pub type Arguments = [usize; 6];

/// `SHM_REMAP` of shmat(2).
const SHM_REMAP: c_int = 0o40000;
/// `UFFDIO_REGISTER` (ioctl_userfaultfd(2)): `_IOWR(0xaa, 0, struct uffdio_register)`.
const UFFDIO_REGISTER: usize = 0xc020_aa00;
/// Linux 5.17 and 6.10.
const SYS_SET_MEMPOLICY_HOME_NODE: c_long = 450;
const SYS_MSEAL: c_long = 462;

/// Takes note of a system call that the program is about to make, and answers whether all that it is for has been done.
///
/// # Safety
/// The arguments are those of the call.
pub unsafe fn note<S: Interposer>(number: c_long, arguments: &Arguments) -> bool {
    let heap = S::heap();
    let [first, second, third, fourth, fifth, _] = *arguments;
    let changes_as = |address: usize, bytes: usize, reach| {
        if concerns(heap, address, bytes) {
            heap.set_altered(address as *const u8, bytes, reach);
        }
    };
    let changes = |address: usize, bytes: usize| changes_as(address, bytes, Reach::Ends);
    let advises = |address: usize, bytes: usize| changes_as(address, bytes, Reach::All);
    let splits = |address: usize, bytes: usize| {
        if concerns(heap, address, bytes) {
            heap.note_split(address, bytes);
        }
    };
    let leaves = |address: usize, bytes: usize| {
        S::leaving_range(address, bytes);
        changes(address, bytes);
    };
    let replaces = |address: usize, bytes: usize| {
        S::leaving_range(address, bytes);
        if concerns(heap, address, bytes) {
            heap.set_replaced(address as *const u8, bytes);
        }
    };
    if matches!(number, libc::SYS_set_mempolicy | libc::SYS_mbind) {
        heap.note_policy();
    }
    // NumPy asks for huge pages for each of its large arrays.
    if number == libc::SYS_madvise
        && third as c_int == libc::MADV_HUGEPAGE
        && let Some(end) = end_of_pages(first, second)
        && let Some(backing) = heap.asks_huge(first, end)
    {
        // On reserved pages it has no effect, and of a part of one the kernel refuses it, as it would not of the program's own memory.
        return backing.is_reserved_pool();
    }
    match number {
        libc::SYS_mprotect
        | libc::SYS_pkey_mprotect
        | libc::SYS_munlock
        | libc::SYS_mbind
        | libc::SYS_remap_file_pages
        | SYS_SET_MEMPOLICY_HOME_NODE
        | SYS_MSEAL => changes(first, second),
        libc::SYS_mlock | libc::SYS_mlock2 => {
            heap.note_lock(number == libc::SYS_mlock2 && third & libc::MLOCK_ONFAULT as usize != 0);
            changes(first, second);
        }
        libc::SYS_madvise if !is_about_contents(third as c_int) => advises(first, second),
        libc::SYS_madvise if discards(third as c_int) => {
            S::leaving_range(first, second);
            if discard(heap, first, second, third as c_int) {
                return true;
            }
            splits(first, second);
        }
        libc::SYS_madvise if pages_out(third as c_int) => splits(first, second),
        // Whosever memory it is of, also the caller's own. Who confined itself gets no freed ones any more.
        libc::SYS_process_madvise if !is_about_contents(fourth as c_int) && !heap.is_confined() => {
            vectors(second, third).for_each(|[start, bytes]| advises(start, bytes));
        }
        libc::SYS_process_madvise if pages_out(fourth as c_int) && !heap.is_confined() => {
            vectors(second, third).for_each(|[start, bytes]| splits(start, bytes));
        }
        libc::SYS_munmap => leaves(first, second),
        libc::SYS_mmap if fourth as c_int & libc::MAP_FIXED != 0 => replaces(first, second),
        libc::SYS_mremap => {
            leaves(first, second);
            if fourth as c_int & libc::MREMAP_FIXED != 0 {
                replaces(fifth, third);
            }
        }
        libc::SYS_shmat if third as c_int & SHM_REMAP != 0 && heap.owns(second as *const u8) => {
            replaces(second, segment_bytes(first));
        }
        libc::SYS_ioctl if second == UFFDIO_REGISTER => {
            if let Some([start, bytes]) = words_at(third) {
                leaves(start, bytes);
            }
        }
        // The pipe has these very pages from then on, also when they are freed. Who confined itself gets no freed ones any more.
        libc::SYS_vmsplice if !heap.is_confined() => {
            vectors(second, third).for_each(|[start, bytes]| changes(start, bytes));
        }
        libc::SYS_setrlimit => note_limit(heap, 0, first, second),
        libc::SYS_prlimit64 => note_limit(heap, first, second, third),
        // It would lock the reservation, too: that counts as locked memory, and Linux before 5.18 goes through it page by page when
        // the program ends. The child of vfork(2) has our memory and ends soon.
        libc::SYS_mlockall if heap.is_of_this_process() => {
            heap.note_lock(first as c_int & libc::MCL_ONFAULT != 0);
            heap.ration_locked();
        }
        _ if confines(number, arguments) => heap.confine(),
        _ => {}
    }
    false
}

/// Whether a range may have a part of placed memory.
fn concerns(heap: &Heap, address: usize, bytes: usize) -> bool {
    heap.owns(address as *const u8) || heap.owns(address.saturating_add(bytes) as *const u8)
}

/// How much a segment of shared memory maps; without an answer of the kernel, as much as there can be.
fn segment_bytes(segment: usize) -> usize {
    // SAFETY: an all-zero structure is valid.
    let mut about: libc::shmid_ds = unsafe { core::mem::zeroed() };
    let arguments = [segment, libc::IPC_STAT as usize, (&raw mut about) as usize, 0, 0, 0];
    // SAFETY: fills the structure.
    unsafe { sys::call(libc::SYS_shmctl, arguments) }.map_or(usize::MAX, |_| about.shm_segsz)
}

/// Whether by this call a program confines itself to some system calls (seccomp(2)). Without a filter it only finds out what the
/// kernel knows.
pub fn confines(number: c_long, arguments: &Arguments) -> bool {
    let [first, second, third, ..] = *arguments;
    match number {
        libc::SYS_prctl if first == libc::PR_SET_SECCOMP as usize => {
            second as u32 != libc::SECCOMP_MODE_FILTER || third != 0
        }
        libc::SYS_seccomp => match first as u32 {
            libc::SECCOMP_SET_MODE_STRICT => true,
            libc::SECCOMP_SET_MODE_FILTER => third != 0,
            _ => false,
        },
        _ => false,
    }
}

/// Whether an advice is about contents and pages only. Any other stays with the mapping, and would be what the next owner of
/// the memory meets.
fn is_about_contents(advice: c_int) -> bool {
    matches!(
        advice,
        libc::MADV_NORMAL
            | libc::MADV_RANDOM
            | libc::MADV_SEQUENTIAL
            | libc::MADV_WILLNEED
            | libc::MADV_DONTNEED
            | libc::MADV_FREE
            | libc::MADV_COLD
            | libc::MADV_PAGEOUT
            | libc::MADV_POPULATE_READ
            | libc::MADV_POPULATE_WRITE
            | libc::MADV_COLLAPSE
    )
}

/// Whether by this advice a program does without the contents.
fn discards(advice: c_int) -> bool {
    matches!(advice, libc::MADV_DONTNEED | libc::MADV_FREE)
}

/// Whether by this advice a program says that it does without the memory for now. The kernel pages out by small pages where it has to do
/// with a part of a huge one.
fn pages_out(advice: c_int) -> bool {
    matches!(advice, libc::MADV_COLD | libc::MADV_PAGEOUT)
}

/// The end of a range of whole pages; what is none, the kernel tells.
fn end_of_pages(address: usize, bytes: usize) -> Option<usize> {
    let end = address.checked_add(bytes.checked_next_multiple_of(BASE)?)?;
    (end > address && address.is_multiple_of(BASE)).then_some(end)
}

/// Discards a range of a block on reserved pages, and answers whether that was one. The kernel discards whole ones of these (Linux
/// 5.18); of a part it says that it has done so, or refuses, and the program counts on zeroes there.
fn discard(heap: &Heap, address: usize, bytes: usize, advice: c_int) -> bool {
    let Some(end) = end_of_pages(address, bytes) else { return false };
    if !heap.is_on_reserved_pages(address, end) {
        return false;
    }
    // Otherwise the contents may go, and may stay as well.
    if advice == libc::MADV_DONTNEED {
        // SAFETY: a part of a block that may be written, whose owner does without what is there.
        unsafe { heap.clearer().clear(address as *mut u8, end - address) };
    }
    true
}

/// A limit of memory is about to be set: a reservation of address space would count against the one, what is held for reuse
/// against the other. `limit` is the address of the caller's structure, which on 64-bit machines is the kernel's, or null.
fn note_limit(heap: &Heap, process: usize, resource: usize, limit: usize) {
    let counts = [libc::RLIMIT_AS as usize, libc::RLIMIT_DATA as usize].contains(&resource);
    if !counts || limit == 0 {
        return;
    }
    // The child of vfork(2), or another process, has limits of its own, and vfork's has our memory.
    if !heap.is_of_this_process() || process != 0 && process as u32 != heap.process() {
        return;
    }
    if words_at(limit).is_some_and(|[current, _]| current as u64 != libc::RLIM_INFINITY) {
        heap.ration();
    }
}

/// What the program tells the kernel at an address. Where it cannot be read the kernel will say so; where the kernel copies nothing
/// for anybody, the address is taken for a good one.
fn words_at(address: usize) -> Option<[usize; 2]> {
    let mut words = [0_usize; 2];
    let target = (&raw mut words) as usize;
    // SAFETY: an array of ours of that size; the kernel reads the program's.
    match unsafe { sys::copy_readable(address, target, size_of_val(&words)) } {
        Ok(copied) => (copied == size_of_val(&words)).then_some(words),
        Err(libc::EFAULT) => None,
        // SAFETY: the program's, which it hands to the kernel.
        Err(_) => Some(unsafe { (address as *const [usize; 2]).read_unaligned() }),
    }
}

/// The parts of memory that the program tells the kernel of in an array (readv(2)), up to where that cannot be read.
fn vectors(address: usize, count: usize) -> impl Iterator<Item = [usize; 2]> {
    let count = count.min(libc::UIO_MAXIOV as usize);
    (0..count).map_while(move |index| words_at(address.wrapping_add(index * size_of::<libc::iovec>())))
}

/// Gives up what may be why the kernel had no room for a call; whether there may be room now.
fn make_room(heap: &Heap, number: c_long, [_, second, third, fourth, fifth, _]: Arguments) -> bool {
    // For who confined itself the kernel is asked nothing more.
    if heap.is_confined() {
        return false;
    }
    let is_for_pool = match number {
        libc::SYS_mmap if fourth as c_int & libc::MAP_ANONYMOUS == 0 => is_on_pool(fifth),
        libc::SYS_mmap => fourth as c_int & libc::MAP_HUGETLB != 0,
        libc::SYS_shmget => third as c_int & libc::SHM_HUGETLB != 0,
        _ => false,
    };
    // What is held may be all that the pool has.
    if is_for_pool {
        return heap.make_room();
    }
    heap.make_room_for_mapping(match number {
        libc::SYS_mmap => second,
        libc::SYS_mremap => third.saturating_sub(second),
        _ => 0,
    })
}

/// Whether a file is on the pages of a reserved pool.
fn is_on_pool(file: usize) -> bool {
    // SAFETY: an all-zero structure is valid.
    let mut about: libc::statfs = unsafe { core::mem::zeroed() };
    // SAFETY: fills the structure.
    let answer = unsafe { sys::call(libc::SYS_fstatfs, [file, (&raw mut about) as usize, 0, 0, 0, 0]) };
    answer.is_ok() && about.f_type == libc::HUGETLBFS_MAGIC
}

/// Whether there may be room now for a call that allocates in a file and found none: for a file of a pool's what is held is given up.
pub fn make_room_in_file<S: Interposer>(file: c_int) -> bool {
    let heap = S::heap();
    !heap.is_confined() && is_on_pool(file as usize) && heap.make_room()
}

/// Makes a system call for the program. Where the kernel has no room for it, but would have without us, what is held for reuse
/// and reserved is given up first.
///
/// # Safety
/// As for the call.
pub unsafe fn call<S: Interposer>(number: c_long, arguments: Arguments) -> Answer {
    // SAFETY: the caller's call.
    if unsafe { note::<S>(number, &arguments) } {
        return Ok(0);
    }
    // SAFETY: likewise.
    let answer = unsafe { sys::call(number, arguments) };
    let wants_room = number != libc::SYS_ioctl && number != libc::SYS_prctl;
    if answer == Err(libc::ENOMEM) && wants_room && make_room(S::heap(), number, arguments) {
        // SAFETY: likewise.
        return unsafe { sys::call(number, arguments) };
    }
    answer
}

/// The same in the way of C: -1 and errno on failure.
///
/// # Safety
/// As for the call.
pub unsafe fn call_c<S: Interposer>(number: c_long, arguments: Arguments) -> isize {
    // SAFETY: the same contract.
    match unsafe { call::<S>(number, arguments) } {
        Ok(value) => value as isize,
        Err(error) => {
            // SAFETY: the thread's errno.
            unsafe { *libc::__errno_location() = error };
            -1
        }
    }
}

/// pkey_mprotect(2). Without a key it is mprotect, also where the kernel has no keys.
///
/// # Safety
/// As in C.
pub unsafe fn pkey_mprotect<S: Interposer>(
    address: *mut c_void,
    bytes: usize,
    protection: c_int,
    key: c_int,
) -> c_int {
    if key == -1 {
        let arguments = [address as usize, bytes, protection as usize, 0, 0, 0];
        // SAFETY: the same call, by definition.
        return unsafe { call_c::<S>(libc::SYS_mprotect, arguments) as c_int };
    }
    let arguments = [address as usize, bytes, protection as usize, key as usize, 0, 0];
    // SAFETY: the same call.
    unsafe { call_c::<S>(libc::SYS_pkey_mprotect, arguments) as c_int }
}

/// prlimit(2), and setrlimit(2), which is the same for the process itself; on 64-bit machines with the kernel's structure.
///
/// # Safety
/// As in C.
pub unsafe fn prlimit<S: Interposer>(
    process: libc::pid_t,
    resource: c_int,
    new: *const libc::rlimit,
    old: *mut libc::rlimit,
) -> c_int {
    let arguments = [process as usize, resource as usize, new as usize, old as usize, 0, 0];
    // SAFETY: the same call.
    unsafe { call_c::<S>(libc::SYS_prlimit64, arguments) as c_int }
}

/// Defines C's functions that change memory of the process's and are nothing but a system call, for an [`Interposer`]: an agent exports
/// them by their names, a library redirects calls to them. What comes before `unsafe extern "C" fn` is in braces.
///
/// `mremap` and `ioctl` take fewer arguments at times: then something is in the registers of the others all the same.
#[macro_export]
macro_rules! functions_that_change_memory {
    ($interposer:path, $before:tt) => {
        $crate::functions_that_change_memory! { @each $interposer, $before,
            mprotect(address: *mut c_void, bytes: usize, protection: c_int) -> c_int = SYS_mprotect;
            madvise(address: *mut c_void, bytes: usize, advice: c_int) -> c_int = SYS_madvise;
            munmap(address: *mut c_void, bytes: usize) -> c_int = SYS_munmap;
            mremap(address: *mut c_void, bytes: usize, new: usize, flags: c_int, target: *mut c_void)
                -> *mut c_void = SYS_mremap;
            mlock(address: *const c_void, bytes: usize) -> c_int = SYS_mlock;
            mlock2(address: *const c_void, bytes: usize, flags: c_uint) -> c_int = SYS_mlock2;
            munlock(address: *const c_void, bytes: usize) -> c_int = SYS_munlock;
            mlockall(flags: c_int) -> c_int = SYS_mlockall;
            remap_file_pages(address: *mut c_void, bytes: usize, protection: c_int, page: usize, flags: c_int)
                -> c_int = SYS_remap_file_pages;
            shmget(key: c_int, bytes: usize, flags: c_int) -> c_int = SYS_shmget;
            shmat(segment: c_int, address: *const c_void, flags: c_int) -> *mut c_void = SYS_shmat;
            mbind(address: *mut c_void, bytes: c_ulong, mode: c_int, nodes: *const c_ulong, most: c_ulong, flags: c_uint)
                -> c_long = SYS_mbind;
            ioctl(file: c_int, request: c_ulong, argument: *mut c_void) -> c_int = SYS_ioctl;
        }
    };
    (@each $interposer:path, $before:tt, $($name:ident $arguments:tt -> $answer:ty = $number:ident;)*) => {
        $($crate::functions_that_change_memory! { @one $interposer, $before, $name $arguments -> $answer = $number })*
    };
    (@one $interposer:path, { $($before:tt)* },
     $name:ident ($($argument:ident: $kind:ty),*) -> $answer:ty = $number:ident) => {
        #[doc = concat!(stringify!($name), "(2).")]
        $($before)* unsafe extern "C" fn $name($($argument: $kind),*) -> $answer {
            let mut arguments = [0; 6];
            for (place, argument) in arguments.iter_mut().zip([$($argument as usize),*]) {
                *place = argument;
            }
            // SAFETY: the same call.
            unsafe { $crate::changes::call_c::<$interposer>(libc::$number, arguments) as $answer }
        }
    };
}

/// Defines `syscall`(2), which makes any system call by its number. `$look` is called before, with the number and the first
/// five arguments, and answers the address of the C library's own function. That is jumped to, with the arguments as they
/// came and on the caller's stack: the call may be one after which there are two stacks (clone).
#[macro_export]
macro_rules! function_syscall {
    ($look:path, { $($before:tt)* }) => {
        /// syscall(2).
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        $($before)* unsafe extern "C" fn syscall() {
            core::arch::naked_asm!(
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "push r9",
                "sub rsp, 8",
                "call {look}",
                "add rsp, 8",
                "pop r9",
                "pop r8",
                "pop rcx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "jmp rax",
                look = sym $look,
            )
        }

        /// syscall(2).
        #[cfg(target_arch = "aarch64")]
        #[unsafe(naked)]
        $($before)* unsafe extern "C" fn syscall() {
            core::arch::naked_asm!(
                "stp x29, x30, [sp, #-80]!",
                "stp x0, x1, [sp, #16]",
                "stp x2, x3, [sp, #32]",
                "stp x4, x5, [sp, #48]",
                "str x6, [sp, #64]",
                "bl {look}",
                "mov x16, x0",
                "ldp x0, x1, [sp, #16]",
                "ldp x2, x3, [sp, #32]",
                "ldp x4, x5, [sp, #48]",
                "ldr x6, [sp, #64]",
                "ldp x29, x30, [sp], #80",
                "br x16",
                look = sym $look,
            )
        }
    };
}
