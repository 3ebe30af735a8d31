//! What our own work costs.

use std::time::Duration;

/// Processor time that the calling thread has used since it began, in user mode and in the kernel
/// (`CLOCK_THREAD_CPUTIME_ID`). On a busy machine most of a call is waiting, which costs nobody anything.
pub fn thread_processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills the live struct; with this clock the call cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::thread_processor_time;

    #[test]
    fn work_takes_time() {
        let before = thread_processor_time();
        let mut sum = 0_u64;
        while thread_processor_time() == before {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(thread_processor_time() > before);
    }
}
