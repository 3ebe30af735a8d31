//! Between fork and exec: everything here runs in the child (or, for an exec without fork, at the end of ourselves).
//!
//! Architecture invariant: nothing in this file allocates, locks or unwinds after [`Image::prepare`]. Another thread of
//! the parent may have held any lock at the moment of the fork.

use crate::caller::{inherited, is_closed};
use crate::environment::{Environment, Number, PID_DIGITS, digits, number_in};
use crate::inheritance::{Inheritance, Step};
use std::ffi::{CString, NulError, OsString, c_char, c_int};
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A program with its arguments and environment, laid out as the kernel wants it.
#[derive(Debug)]
pub(crate) struct Image {
    path: CString,
    argument_pointers: Vec<*const c_char>,
    variable_pointers: Vec<*const c_char>,
    /// Where in the variables the number of the process is written.
    numbers: Vec<(*mut u8, Number)>,
    /// The strings that the pointers lead to.
    _arguments: Vec<CString>,
    _variables: Vec<Strings>,
}

/// A zero-terminated string, reached through its pointer only, so that it can be patched in place.
#[derive(Debug)]
struct Strings(*mut u8, usize);

impl Strings {
    fn new(mut bytes: Vec<u8>) -> Strings {
        bytes.push(0);
        let length = bytes.len();
        Strings(Box::into_raw(bytes.into_boxed_slice()).cast(), length)
    }
}

impl Drop for Strings {
    fn drop(&mut self) {
        // SAFETY: pointer and length come from Box::into_raw of a boxed slice of that length.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(self.0, self.1)) });
    }
}

impl Image {
    /// Lays everything out; the last moment at which memory is allocated.
    pub(crate) fn prepare(
        program: &Path,
        arguments: &[OsString],
        environment: &Environment,
    ) -> Result<Image, NulError> {
        let path = CString::new(program.as_os_str().as_bytes())?;
        let arguments: Vec<CString> =
            arguments.iter().map(|argument| CString::new(argument.as_bytes())).collect::<Result<_, _>>()?;
        let mut variables = Vec::new();
        let mut numbers = Vec::new();
        for string in environment.strings() {
            let number = number_in(&string, std::process::id());
            let mut string = CString::new(string)?.into_bytes();
            if let Some((at, _)) = number {
                string.resize(string.len().max(at + PID_DIGITS), 0);
            }
            let string = Strings::new(string);
            if let Some((at, kind)) = number {
                // SAFETY: so many digits from there on lie inside the allocation.
                numbers.push((unsafe { string.0.add(at) }, kind));
            }
            variables.push(string);
        }
        let end = std::iter::once(std::ptr::null());
        Ok(Image {
            path,
            argument_pointers: arguments
                .iter()
                .map(|argument| argument.as_ptr())
                .chain(end.clone())
                .collect(),
            variable_pointers: variables
                .iter()
                .map(|string| string.0.cast_const().cast())
                .chain(end)
                .collect(),
            numbers,
            _arguments: arguments,
            _variables: variables,
        })
    }

    /// Becomes the program. Returns the error number if the kernel refuses.
    ///
    /// # Safety
    /// The process gives up its image: to be called in a child after fork, or where nothing is left to be done.
    pub(crate) unsafe fn exec(&self) -> c_int {
        // SAFETY: the digits lie inside a variable that only this image reaches; both arrays end with a null pointer
        // and their strings with a zero.
        unsafe {
            for (place, kind) in &self.numbers {
                let own = digits(libc::getpid() as u32);
                let skipped = match kind {
                    Number::Padded => 0,
                    Number::Bare => own.iter().take_while(|digit| **digit == b'0').count(),
                };
                let length = PID_DIGITS - skipped;
                place.copy_from_nonoverlapping(own.as_ptr().add(skipped), length);
                if skipped > 0 {
                    // What is behind it was longer, or nothing.
                    place.add(length).write(0);
                }
            }
            libc::execve(
                self.path.as_ptr(),
                self.argument_pointers.as_ptr(),
                self.variable_pointers.as_ptr(),
            );
            *libc::__errno_location()
        }
    }
}

/// A set of signals.
#[derive(Clone, Copy)]
pub(crate) struct Signals(pub(crate) libc::sigset_t);

impl Signals {
    /// Of these.
    pub(crate) fn of(signals: &[c_int]) -> Signals {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigemptyset fills the set before it is used; unknown numbers are refused, not written.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for &signal in signals {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            Signals(set.assume_init())
        }
    }

    /// All there are.
    pub(crate) fn all() -> Signals {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigfillset fills the set.
        unsafe {
            libc::sigfillset(set.as_mut_ptr());
            Signals(set.assume_init())
        }
    }

    /// Blocks them for this thread too (`SIG_BLOCK`) and returns what was blocked before.
    pub(crate) fn block(&self) -> Signals {
        let mut before = MaybeUninit::uninit();
        // SAFETY: both sets are live; with a valid `how` the call cannot fail and fills the old set.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const self.0, before.as_mut_ptr());
            Signals(before.assume_init())
        }
    }

    /// Delivers those that are pending, and blocks them again.
    pub(crate) fn let_through_once(&self) {
        // SAFETY: the set is live; the old one is not asked for.
        unsafe {
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const self.0, std::ptr::null_mut());
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const self.0, std::ptr::null_mut());
        }
    }

    /// Takes away one that is pending.
    pub(crate) fn take_away(&self) {
        let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: set and time are live during the call; nothing is told of the signal.
        unsafe { libc::sigtimedwait(&raw const self.0, std::ptr::null_mut(), &raw const now) };
    }

    /// Makes them the only blocked ones of this thread.
    pub(crate) fn restore(&self) {
        // SAFETY: the set is live; the old one is not asked for.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}

impl std::fmt::Debug for Signals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signals")
    }
}

/// Everything the child needs, prepared by the parent.
#[derive(Debug)]
pub(crate) struct ChildPlan<'a> {
    pub(crate) image: &'a Image,
    /// What becomes standard input, output and error; `None` is our caller's.
    pub(crate) streams: &'a [Option<OwnedFd>; 3],
    /// The child reads one byte from it before it goes on; without one it ends.
    pub(crate) release: RawFd,
    /// The other end of that pipe, which the child must not keep open.
    pub(crate) release_writer: RawFd,
    /// Takes the child's use of resources so far, and, if the program does not start, the error number and the step.
    pub(crate) report: RawFd,
    /// What is blocked in the program.
    pub(crate) mask: &'a Signals,
    /// Its memory policy and CPUs.
    pub(crate) inheritance: &'a Inheritance,
}

/// The whole life of the child up to the program.
///
/// # Safety
/// To be called in the child after fork, with all signals blocked.
pub(crate) unsafe fn run(plan: &ChildPlan<'_>) -> ! {
    // SAFETY: async-signal-safe calls only, on descriptors that the parent prepared and on locals.
    unsafe {
        libc::close(plan.release_writer);
        default_handlers();
        let mut failure = [redirect(plan.streams), Step::Execute as c_int];
        if failure[0] == 0
            && let Err((step, error)) = plan.inheritance.apply()
        {
            failure = [error, step as c_int];
        }
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        write_all(plan.report, usage.as_ptr().cast(), size_of::<libc::rusage>());
        let mut byte = 0u8;
        if libc::read(plan.release, (&raw mut byte).cast(), 1) != 1 {
            libc::_exit(127);
        }
        if failure[0] == 0 {
            plan.mask.restore();
            failure[0] = plan.image.exec();
        }
        write_all(plan.report, failure.as_ptr().cast(), size_of_val(&failure));
        libc::_exit(127)
    }
}

/// Handlers of ours must not run in the child: they share pipes and memory with the parent's. What is ignored stays
/// ignored over the exec, as if we were not there; what the Rust runtime or we have changed is as our caller had it.
pub(crate) unsafe fn default_handlers() {
    // SAFETY: sigaction with live locals; signals that cannot be changed are refused without effect.
    unsafe {
        for signal in 1..=64 {
            let mut action = MaybeUninit::<libc::sigaction>::zeroed();
            if libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) != 0 {
                continue;
            }
            let handler = action.assume_init().sa_sigaction;
            if let Some(inherited) = inherited(signal) {
                libc::signal(signal, inherited);
            } else if handler != libc::SIG_DFL && handler != libc::SIG_IGN {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
    }
}

/// Puts the streams in place; the error number of the first that fails, or 0.
pub(crate) unsafe fn redirect(streams: &[Option<OwnedFd>; 3]) -> c_int {
    for (number, stream) in streams.iter().enumerate() {
        if let Some(stream) = stream {
            // SAFETY: dup2 on a descriptor that the parent keeps above the three standard ones, so none is
            // overwritten before its turn; the copy is not close-on-exec.
            unsafe {
                if libc::dup2(stream.as_raw_fd(), number as c_int) < 0 {
                    return *libc::__errno_location();
                }
            }
        } else if is_closed(number) {
            // SAFETY: takes a number; what is there is the runtime's /dev/null, which nobody else knows.
            unsafe { libc::close(number as c_int) };
        }
    }
    0
}

/// Writes to a pipe with room for it; a parent that is gone is no reason to do anything.
unsafe fn write_all(fd: RawFd, from: *const libc::c_void, bytes: usize) {
    // SAFETY: the caller names that many readable bytes.
    unsafe { libc::write(fd, from, bytes) };
}
