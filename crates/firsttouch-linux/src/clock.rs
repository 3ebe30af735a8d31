//! What our own work costs.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// Processor time that the calling thread has used since it began, in user mode and in the kernel
/// (`CLOCK_THREAD_CPUTIME_ID`). On a busy machine most of a call is waiting, which costs nobody anything.
pub fn thread_processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills the live struct; with this clock the call cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}

/// How long a thread has stood in the queue of a processor that ran something else (`/proc/PID/task/TID/schedstat`, a file of
/// kernels with `CONFIG_SCHED_INFO`). Together with its processor time it leaves what it waited for other things, or what
/// the host of a virtual machine took.
#[derive(Debug)]
pub struct QueueTime {
    file: File,
}

impl QueueTime {
    /// That of the calling thread, whoever reads it.
    pub fn of_this_thread() -> io::Result<QueueTime> {
        Ok(QueueTime { file: File::open("/proc/thread-self/schedstat")? })
    }

    /// So far; zero where the kernel does not say.
    pub fn read(&self) -> Duration {
        let mut text = [0; 64];
        let length = self.file.read_at(&mut text, 0).unwrap_or(0);
        let words = std::str::from_utf8(&text[..length]).unwrap_or_default();
        let waited_ns = words.split_ascii_whitespace().nth(1).and_then(|word| word.parse().ok());
        Duration::from_nanos(waited_ns.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::{QueueTime, thread_processor_time};
    use crate::numa::{self, CpuBits};

    #[test]
    fn work_takes_time() {
        let before = thread_processor_time();
        let mut sum = 0_u64;
        while thread_processor_time() == before {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(thread_processor_time() > before);
    }

    #[test]
    fn a_thread_that_shares_its_processor_waits_for_it() {
        use std::sync::atomic::{AtomicBool, Ordering};
        static DONE: AtomicBool = AtomicBool::new(false);
        let here = numa::affinity(0).unwrap().iter().next().unwrap();
        let sit = move || numa::set_affinity(0, &CpuBits::of(&[here]).unwrap()).unwrap();
        let other = std::thread::spawn(move || {
            sit();
            while !DONE.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let waited = std::thread::spawn(move || {
            sit();
            let queue = QueueTime::of_this_thread().unwrap();
            let before = queue.read();
            while queue.read() == before {}
            queue.read() - before
        });
        assert!(!waited.join().unwrap().is_zero());
        DONE.store(true, Ordering::Relaxed);
        other.join().unwrap();
    }
}
