//! Room to work in: what the stack limit leaves of the first thread's stack may be too little.

use crate::child::Signals;
use std::io;
use std::panic::resume_unwind;
use std::thread;

/// Does `work` where the stack has `bytes`: here, or where the limit of stacks (`RLIMIT_STACK`, which is as it was for the programs that
/// are started) is lower, on a thread that has a stack of that size; the limit is for first threads alone.
///
/// While that thread works, this one takes none of the signals that are sent to the process.
///
/// # Errors
/// There is no memory for such a stack, or no thread more is allowed.
pub fn with_stack<T: Send>(bytes: usize, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the kernel fills the limit.
    unsafe { libc::getrlimit(libc::RLIMIT_STACK, &raw mut limit) };
    if limit.rlim_cur >= bytes as libc::rlim_t {
        return Ok(work());
    }
    let ours = Signals::all().block();
    let answer = thread::scope(|scope| {
        let worker = thread::Builder::new().stack_size(bytes).spawn_scoped(scope, || {
            ours.restore();
            work()
        })?;
        Ok(worker.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    ours.restore();
    answer
}
