//! Stack where there may be little: a handler of a signal may have one of a few KiB, a thread as few as 16.

use crate::sys;
use core::arch::{asm, naked_asm};
use core::ffi::c_void;

/// Calls a function, from which nobody returns, on a new stack of so many bytes; on the one that there is, if no other can be had.
///
/// # Safety
/// Nothing on the stack of now is used any more: a handler of a signal may be called there.
pub unsafe fn leave_for(act: extern "C" fn(usize) -> !, argument: usize, bytes: usize) -> ! {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping.
    let Ok(stack) = (unsafe { sys::map_anonymous(0, bytes, protection, libc::MAP_STACK) }) else {
        act(argument)
    };
    let top = stack + bytes;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the new stack begins at a multiple of a page, as the function wants it; nothing of the old one is used.
    unsafe {
        asm!("mov rsp, {top}", "xor ebp, ebp", "call {act}", "ud2", top = in(reg) top, act = in(reg) act,
             in("rdi") argument, options(noreturn))
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: likewise.
    unsafe {
        asm!("mov sp, {top}", "mov x29, xzr", "blr {act}", "brk #1", top = in(reg) top, act = in(reg) act,
             in("x0") argument, options(noreturn))
    }
}

/// Calls `act` with so many words, zero at first, which take up exactly as much of the stack.
pub fn with_words<T>(count: usize, act: impl FnOnce(&mut [usize]) -> T) -> T {
    let (mut act, mut answer) = (Some(act), None);
    let mut once = |words: *mut usize| {
        // SAFETY: memory of this length, aligned, of which nobody else knows.
        let words = unsafe {
            words.write_bytes(0, count);
            core::slice::from_raw_parts_mut(words, count)
        };
        answer = act.take().map(|act| act(words));
    };
    // SAFETY: the function is that of this closure.
    unsafe { below(count * size_of::<usize>(), function_of(&once), (&raw mut once).cast()) };
    match answer {
        Some(answer) => answer,
        None => unreachable!(),
    }
}

type Act = unsafe extern "C" fn(*mut usize, *mut c_void);

fn function_of<F: FnMut(*mut usize)>(_: &F) -> Act {
    unsafe extern "C" fn call<F: FnMut(*mut usize)>(words: *mut usize, closure: *mut c_void) {
        // SAFETY: the closure that the function is of.
        unsafe { (*closure.cast::<F>())(words) }
    }
    call::<F>
}

/// Calls `act` with the address of so many bytes of the stack. They are touched page by page, so that what does not fit ends at the
/// guard, as anything that needs too much.
///
/// # Safety
/// `act` and `closure` must belong together.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn below(bytes: usize, act: Act, closure: *mut c_void) {
    naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "2:",
        "cmp rdi, 4096",
        "jb 3f",
        "sub rsp, 4096",
        "or qword ptr [rsp], 0",
        "sub rdi, 4096",
        "jmp 2b",
        "3:",
        "sub rsp, rdi",
        "and rsp, -16",
        "mov rax, rsi",
        "mov rdi, rsp",
        "mov rsi, rdx",
        "call rax",
        "leave",
        "ret",
    )
}

/// Calls `act` with the address of so many bytes of the stack. They are touched page by page, so that what does not fit ends at the
/// guard, as anything that needs too much.
///
/// # Safety
/// `act` and `closure` must belong together.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn below(bytes: usize, act: Act, closure: *mut c_void) {
    naked_asm!(
        "stp x29, x30, [sp, #-16]!",
        "mov x29, sp",
        "mov x9, sp",
        "2:",
        "cmp x0, #4096",
        "b.lo 3f",
        "sub x9, x9, #4096",
        "mov sp, x9",
        "str xzr, [sp]",
        "sub x0, x0, #4096",
        "b 2b",
        "3:",
        "sub x9, x9, x0",
        "and x9, x9, #-16",
        "mov sp, x9",
        "mov x9, x1",
        "mov x0, sp",
        "mov x1, x2",
        "blr x9",
        "mov sp, x29",
        "ldp x29, x30, [sp], #16",
        "ret",
    )
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn words_are_zero_and_ones_own() {
        for count in [0, 1, 2, 511, 512, 513, 5000] {
            let sum = with_words(count, |words| {
                assert!(words.len() == count && words.iter().all(|word| *word == 0));
                words.iter_mut().enumerate().for_each(|(index, word)| *word = index);
                let inner = with_words(3, |others| {
                    others.fill(usize::MAX);
                    others.len()
                });
                assert_eq!(inner, 3);
                words.iter().sum::<usize>()
            });
            assert_eq!(sum, count * count.saturating_sub(1) / 2);
        }
    }

    extern "C" fn exit(status: usize) -> ! {
        // More than the stack was that it came from.
        let room = [status as u8; 24 << 10];
        sys::exit_now(i32::from(core::hint::black_box(room)[12345]))
    }

    /// What the next test runs as a process of its own.
    #[test]
    #[ignore = "ends the process"]
    fn leave_and_exit() {
        // SAFETY: nothing on the stack is used any more.
        unsafe { leave_for(exit, 7, 64 << 10) }
    }

    #[test]
    fn who_leaves_a_stack_goes_on_with_another() {
        let own = std::env::current_exe().unwrap();
        let arguments = ["--ignored", "--exact", "stack::tests::leave_and_exit"];
        let ended = Command::new(own).args(arguments).output().unwrap();
        assert_eq!(ended.status.code(), Some(7), "{ended:?}");
    }
}
