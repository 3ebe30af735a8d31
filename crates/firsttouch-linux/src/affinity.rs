//! The CPUs that a thread may run on.

use crate::sys;
use std::io;

/// Keeps the calling thread on these CPUs (`sched_setaffinity`). CPUs that are offline or outside the cpuset are left
/// out by the kernel; where none remains, it refuses with EINVAL.
pub fn pin_this_thread(cpus: &[u32]) -> io::Result<()> {
    let words = cpus.iter().max().map_or(1, |last| *last as usize / 64 + 1);
    let mut mask = vec![0_u64; words];
    for cpu in cpus {
        mask[*cpu as usize / 64] |= 1 << (cpu % 64);
    }
    let this_thread = 0;
    let arguments = [this_thread, size_of_val(mask.as_slice()), mask.as_ptr() as usize, 0, 0, 0];
    // SAFETY: the kernel reads a mask of the length it is told; only this thread is moved.
    let answer = unsafe { sys::call(libc::SYS_sched_setaffinity, arguments) };
    answer.map(drop).map_err(io::Error::from_raw_os_error)
}

/// The CPUs the calling thread may run on.
pub fn cpus_of_this_thread() -> io::Result<Vec<u32>> {
    // Enough for 8192 CPUs, the most that Linux is built for.
    let mut mask = [0_u64; 128];
    let arguments = [0, size_of_val(&mask), mask.as_mut_ptr() as usize, 0, 0, 0];
    // SAFETY: the kernel fills at most as many bytes as it is told.
    let filled =
        unsafe { sys::call(libc::SYS_sched_getaffinity, arguments) }.map_err(io::Error::from_raw_os_error)?;
    let cpus = (0_u32..).zip(mask[..filled.div_ceil(8)].iter().copied());
    Ok(cpus
        .flat_map(|(word, bits)| {
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word * 64 + bit)
        })
        .collect())
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
