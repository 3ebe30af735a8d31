//! `execl`, `execlp` and `execle` (exec(3)), whose arguments are as many as there are: glibc's own go to the kernel past us.
//!
//! Each puts the registers that may have arguments beside those on the stack, and hands on where they are.

use crate::exec::{execv, execve, execvp};
use core::arch::naked_asm;
use core::ffi::{c_char, c_int};
use firsttouch_linux::stack;

type Strings = *const *const c_char;

/// The arguments of a call, of which the first is a path: those in registers, then those on the stack.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Arguments(*const usize);

impl Arguments {
    /// One of them, counted from 0.
    ///
    /// # Safety
    /// There must be as many.
    unsafe fn get(self, index: usize) -> usize {
        // Behind the six in registers lies where the call returns to.
        #[cfg(target_arch = "x86_64")]
        let place = if index < 6 { index } else { index + 1 };
        // Before the eight in registers lie the caller's frame and where the call returns to.
        #[cfg(target_arch = "aarch64")]
        let place = index + 2;
        // SAFETY: the caller's duty.
        unsafe { *self.0.add(place) }
    }

    /// Calls `act` with the path, with what follows it up to a null as an array, and with the place of what follows the null.
    ///
    /// # Safety
    /// There must be a null behind the path.
    unsafe fn with_array(self, act: impl FnOnce(*const c_char, Strings, usize) -> c_int) -> c_int {
        // SAFETY: the caller's duty.
        let count = (1..).take_while(|&index| unsafe { self.get(index) } != 0).count();
        stack::with_words(count + 1, |words| {
            for (index, word) in words[..count].iter_mut().enumerate() {
                // SAFETY: counted above.
                *word = unsafe { self.get(index + 1) };
            }
            // SAFETY: the path comes first.
            let path = unsafe { self.get(0) };
            act(path as *const c_char, words.as_ptr().cast(), count + 2)
        })
    }
}

unsafe extern "C" fn execl_with(arguments: Arguments) -> c_int {
    // SAFETY: the contract of execl.
    unsafe { arguments.with_array(|path, array, _| execv(path, array)) }
}

unsafe extern "C" fn execlp_with(arguments: Arguments) -> c_int {
    // SAFETY: the contract of execlp.
    unsafe { arguments.with_array(|file, array, _| execvp(file, array)) }
}

unsafe extern "C" fn execle_with(arguments: Arguments) -> c_int {
    // SAFETY: the contract of execle: the environment is the argument behind the null.
    unsafe { arguments.with_array(|path, array, next| execve(path, array, arguments.get(next) as Strings)) }
}

macro_rules! functions_of_lists {
    ($($name:ident: $act:ident;)*) => {$(
        #[doc = concat!(stringify!($name), "(3).")]
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() -> c_int {
            naked_asm!(
                "push r9",
                "push r8",
                "push rcx",
                "push rdx",
                "push rsi",
                "push rdi",
                "mov rdi, rsp",
                "sub rsp, 8",
                "call {act}",
                "add rsp, 56",
                "ret",
                act = sym $act,
            )
        }

        #[doc = concat!(stringify!($name), "(3).")]
        #[cfg(target_arch = "aarch64")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() -> c_int {
            naked_asm!(
                "stp x29, x30, [sp, #-80]!",
                "stp x0, x1, [sp, #16]",
                "stp x2, x3, [sp, #32]",
                "stp x4, x5, [sp, #48]",
                "stp x6, x7, [sp, #64]",
                "mov x0, sp",
                "bl {act}",
                "ldp x29, x30, [sp], #80",
                "ret",
                act = sym $act,
            )
        }
    )*};
}

functions_of_lists! {
    execl: execl_with;
    execlp: execlp_with;
    execle: execle_with;
}
