//! APIC ids: the numbers by which interrupts and firmware know the CPUs of an x86 machine, and what their bits mean.
//!
//! The processor tells its own id only, so a thread goes to each CPU in turn and asks there (CPUID leaf 0x1f, 0x0b
//! where that is missing, else 1). The thread is one of its own: the affinity of the caller stays as it is.

use std::io;

/// What one step in the bits of the id tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApicLevel {
    /// The processor's word for it: 1 threads, 2 cores, 3 modules, 4 tiles, 5 dies, 6 groups of dies.
    pub kind: u8,
    /// The id shifted right by this many bits is the number of the next larger thing.
    pub shift: u32,
}

/// The answer of one CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Apic {
    /// The CPU.
    pub cpu: u32,
    /// Its id.
    pub id: u32,
    /// The leaf that told it.
    pub leaf: u32,
    /// The steps, from the threads of a core up; empty for leaf 1.
    pub levels: Vec<ApicLevel>,
}

/// Asks each of these CPUs for its id. A CPU that this process may not use answers with the kernel's reason (EINVAL:
/// offline, or outside the cpuset).
///
/// Errors: no x86 processor (`Unsupported`), or no thread to be had.
pub fn read(cpus: &[u32]) -> io::Result<Vec<(u32, io::Result<Apic>)>> {
    let cpus = cpus.to_vec();
    let asking = std::thread::Builder::new().name("apic".to_owned());
    let asking = asking.spawn(move || cpus.into_iter().map(|cpu| (cpu, ask(cpu))).collect::<Vec<_>>())?;
    let answers = asking.join().map_err(|_| io::Error::other("the asking thread panicked"))?;
    match answers.iter().any(|(_, answer)| is_unsupported(answer)) {
        true => Err(io::Error::new(io::ErrorKind::Unsupported, "APIC ids are a thing of x86 processors")),
        false => Ok(answers),
    }
}

fn is_unsupported(answer: &io::Result<Apic>) -> bool {
    answer.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::Unsupported)
}

fn ask(cpu: u32) -> io::Result<Apic> {
    pin(cpu)?;
    // SAFETY: the call has no arguments and touches no memory.
    let here = unsafe { libc::sched_getcpu() };
    if u32::try_from(here) != Ok(cpu) {
        return Err(io::Error::other("the kernel moved the asking thread"));
    }
    answer(cpu)
}

/// Binds the calling thread to one CPU.
fn pin(cpu: u32) -> io::Result<()> {
    const BITS: u32 = u64::BITS;
    let mut mask = vec![0_u64; (cpu / BITS + 1) as usize];
    if let Some(word) = mask.last_mut() {
        *word = 1 << (cpu % BITS);
    }
    // SAFETY: the kernel reads as many bytes as the mask has; 0 is the calling thread.
    let done =
        unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, size_of_val(&mask[..]), mask.as_ptr()) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(target_arch = "x86_64")]
fn answer(cpu: u32) -> io::Result<Apic> {
    const LEVELS: u32 = 8;
    let leaf = |leaf: u32, part: u32| {
        #[allow(unused_unsafe, reason = "unsafe to call up to Rust 1.93, safe from then on")]
        // SAFETY: every x86-64 processor has the CPUID instruction.
        unsafe {
            std::arch::x86_64::__cpuid_count(leaf, part)
        }
    };
    let highest = leaf(0, 0).eax;
    // A leaf that exists and says nothing has no CPUs in its first part.
    let told =
        [0x1f, 0x0b].into_iter().find(|number| *number <= highest && leaf(*number, 0).ebx & 0xffff != 0);
    let Some(number) = told else {
        return Ok(Apic { cpu, id: leaf(1, 0).ebx >> 24, leaf: 1, levels: Vec::new() });
    };
    let parts = (0..LEVELS)
        .map(|part| leaf(number, part))
        .map(|part| ((part.ecx >> 8 & 0xff) as u8, part.eax & 0x1f));
    let levels = parts.take_while(|(kind, _)| *kind != 0).map(|(kind, shift)| ApicLevel { kind, shift });
    Ok(Apic { cpu, id: leaf(number, 0).edx, leaf: number, levels: levels.collect() })
}

#[cfg(not(target_arch = "x86_64"))]
fn answer(_cpu: u32) -> io::Result<Apic> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod tests {
    use super::read;
    use crate::cpulist::parse_list;
    use crate::root::Root;
    use crate::sysinfo;

    fn allowed() -> Vec<u32> {
        let status = Root::live().read("proc/thread-self/status").unwrap().unwrap();
        parse_list(sysinfo::status_field(&status, "Cpus_allowed_list").unwrap()).unwrap()
    }

    #[test]
    fn the_kernel_knows_the_same_ids() {
        let before = allowed();
        let answers = read(&before).unwrap();
        assert_eq!(allowed(), before, "the caller stays where it was");
        let known = sysinfo::apic_ids(&Root::live().read("proc/cpuinfo").unwrap().unwrap());
        assert_eq!(answers.len(), before.len());
        for (cpu, answer) in &answers {
            let apic = answer.as_ref().unwrap();
            assert_eq!(apic.cpu, *cpu);
            if let Some((_, id)) = known.iter().find(|(known, _)| known == cpu) {
                assert_eq!(apic.id, *id, "CPU {cpu}");
            }
            assert!(apic.levels.windows(2).all(|pair| pair[0].shift <= pair[1].shift), "{apic:?}");
        }
    }

    #[test]
    fn a_cpu_that_is_not_there_answers_with_the_reason() {
        let answers = read(&[9999]).unwrap();
        let error = answers[0].1.as_ref().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
    }
}
