//! The CPUs that a thread may run on.

use crate::numa::{self, CpuBits};
use std::io;

/// Keeps the calling thread on these CPUs (`sched_setaffinity`). CPUs that are offline or outside the cpuset are left
/// out by the kernel; where none remains, it refuses with EINVAL.
pub fn pin_this_thread(cpus: &[u32]) -> io::Result<()> {
    let answer = CpuBits::of(cpus).ok_or(libc::EINVAL).and_then(|cpus| numa::set_affinity(0, &cpus));
    answer.map(drop).map_err(io::Error::from_raw_os_error)
}

/// The CPUs the calling thread may run on.
pub fn cpus_of_this_thread() -> io::Result<Vec<u32>> {
    numa::affinity(0).map(|cpus| cpus.iter().collect()).map_err(io::Error::from_raw_os_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_stays_where_it_is_put() {
        let all = cpus_of_this_thread().unwrap();
        for cpu in all {
            std::thread::spawn(move || {
                pin_this_thread(&[cpu]).unwrap();
                assert_eq!(cpus_of_this_thread().unwrap(), [cpu]);
            })
            .join()
            .unwrap();
        }
    }

    #[test]
    fn no_cpu_is_refused() {
        for cpus in [&[][..], &[100_000]] {
            assert_eq!(pin_this_thread(cpus).unwrap_err().raw_os_error(), Some(libc::EINVAL));
        }
    }
}
