//! Asks the running kernel what it can do, by doing it: on a few pages of our own, or with an empty list.
//!
//! Release numbers lie (distributions carry features back, sandboxes take calls away), so nothing here looks at
//! them. Each probe leaves the process as it was.

use crate::numa::{self, Mode};
use crate::sys::{self, Answer, MADV_COLLAPSE, MADV_POPULATE_WRITE, PAGE_IS_HUGE, PageRegion};
use crate::trials::{self, Trial};
use std::hint::black_box;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// 2 MiB, the size of the block that is collapsed.
const BLOCK: usize = 2 << 20;

/// Collapses one touched block and reads back whether it became a huge page; `Ok(None)` when the kernel accepted
/// the call and offers no way to read the result.
///
/// The answer alone would prove nothing: `MADV_COLLAPSE` also succeeds when it had nothing to do.
pub fn madvise_collapse() -> io::Result<Option<bool>> {
    let memory = Scratch::new(2 * BLOCK)?;
    let block = memory.address.next_multiple_of(BLOCK);
    memory.touch(block);
    // SAFETY: the block lies inside the scratch mapping; collapsing keeps contents.
    answer(unsafe { sys::advise(block, BLOCK, MADV_COLLAPSE) })?;
    Ok(scan(block, BLOCK).ok().map(|categories| categories & PAGE_IS_HUGE != 0))
}

/// Creates a page by `MADV_POPULATE_WRITE` (Linux 5.14).
pub fn madvise_populate_write() -> io::Result<()> {
    let memory = Scratch::new(page_bytes())?;
    // SAFETY: the page belongs to the scratch mapping.
    answer(unsafe { sys::advise(memory.address, memory.bytes, MADV_POPULATE_WRITE) }).map(drop)
}

/// Reads the pages of our own by `PAGEMAP_SCAN` (Linux 6.7); an answer without the touched page is an error.
pub fn pagemap_scan() -> io::Result<()> {
    let memory = Scratch::new(page_bytes())?;
    memory.touch(memory.address);
    match scan(memory.address, memory.bytes)? {
        0 => Err(io::Error::other("the page that was just written is not in the answer")),
        _ => Ok(()),
    }
}

/// Whether pages of another process may be collapsed: asks for an empty list of ranges of the parent process, which
/// runs every check of kernel and sandbox and does nothing. Of a parent outside of our PID namespace, or of another user, that tells nothing:
/// then a child asks about us.
pub fn process_madvise_collapse() -> io::Result<()> {
    match collapse_parent() {
        Err(libc::ESRCH | libc::EACCES) => match trials::in_child(collapse_parent)? {
            Trial::Works => Ok(()),
            Trial::Refused(error) => Err(io::Error::from_raw_os_error(error)),
            Trial::Killed(signal) => Err(io::Error::other(format!("killed by signal {signal}"))),
        },
        asked => answer(asked).map(drop),
    }
}

fn collapse_parent() -> Answer {
    // SAFETY: takes no argument and cannot fail.
    let parent = unsafe { sys::call(libc::SYS_getppid, [0; 6]) }?;
    if parent == 0 {
        return Err(libc::ESRCH);
    }
    // SAFETY: opens a descriptor for a process; reads no memory of ours.
    let descriptor = unsafe { sys::call(libc::SYS_pidfd_open, [parent, 0, 0, 0, 0, 0]) }?;
    let none: [libc::iovec; 0] = [];
    // SAFETY: the list of ranges is empty, so no memory is touched.
    let asked = unsafe {
        let arguments = [descriptor, none.as_ptr() as usize, none.len(), MADV_COLLAPSE as usize, 0, 0];
        sys::call(libc::SYS_process_madvise, arguments)
    };
    // SAFETY: it is ours, and nobody else has it.
    let _ = unsafe { sys::call(libc::SYS_close, [descriptor, 0, 0, 0, 0, 0]) };
    asked
}

/// What a probe finds, unless a filter of system calls kills who makes it.
fn spared<T>(probe: impl Fn() -> io::Result<T>) -> io::Result<T> {
    if trials::is_deadly(|| {
        let _ = probe();
        Ok(0)
    }) {
        return Err(io::Error::from_raw_os_error(libc::EPERM));
    }
    probe()
}

/// Whether a mapping may carry the policy of weighted interleaving (Linux 6.9).
pub fn weighted_interleave() -> io::Result<()> {
    mapping_policy(Mode::WeightedInterleave)
}

/// Whether a mapping may prefer several nodes (Linux 5.15).
pub fn preferred_many() -> io::Result<()> {
    mapping_policy(Mode::PreferredMany)
}

fn mapping_policy(mode: Mode) -> io::Result<()> {
    spared(|| {
        let memory = Scratch::new(page_bytes())?;
        let nodes = answer(numa::allowed_nodes())?;
        answer(numa::set_policy_of(memory.address, memory.bytes, mode, &nodes)).map(drop)
    })
}

/// How many instructions the processor counted over a short loop. A virtual machine may accept the counter and
/// count nothing, so only a number above zero means that there are counters.
pub fn hardware_counter() -> io::Result<u64> {
    spared(counted)
}

fn counted() -> io::Result<u64> {
    const PERF_TYPE_HARDWARE: u64 = 0;
    const PERF_COUNT_HW_INSTRUCTIONS: u64 = 1;
    const PERF_FLAG_FD_CLOEXEC: usize = 8;
    const EXCLUDE_KERNEL_AND_HYPERVISOR: u64 = 1 << 5 | 1 << 6;
    // The first published layout of perf_event_attr, eight words: type and size share the first (size in its upper
    // half, both little-endian), config is the second, the flags the sixth.
    let mut attributes = [0_u64; 8];
    attributes[0] = PERF_TYPE_HARDWARE | (size_of_val(&attributes) as u64) << 32;
    attributes[1] = PERF_COUNT_HW_INSTRUCTIONS;
    attributes[5] = EXCLUDE_KERNEL_AND_HYPERVISOR;
    let any_cpu = usize::MAX;
    let no_group = usize::MAX;
    let arguments = [attributes.as_ptr() as usize, 0, any_cpu, no_group, PERF_FLAG_FD_CLOEXEC, 0];
    // SAFETY: the structure has the layout and the size that it names; the counter is of this thread only.
    let counter = owned(unsafe { sys::call(libc::SYS_perf_event_open, arguments) })?;
    let before = count(&counter)?;
    for step in 0..10_000_u64 {
        black_box(step);
    }
    Ok(count(&counter)?.saturating_sub(before))
}

fn count(counter: &OwnedFd) -> io::Result<u64> {
    let mut value = 0_u64;
    let arguments = [counter.as_raw_fd() as usize, &raw mut value as usize, size_of::<u64>(), 0, 0, 0];
    // SAFETY: the kernel writes at most the eight bytes of `value`.
    answer(unsafe { sys::call(libc::SYS_read, arguments) })?;
    Ok(value)
}

/// The state of `PR_SET_THP_DISABLE` for this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThpDisable {
    /// Not set.
    No,
    /// Set: no transparent huge page for anybody in this process.
    Yes,
    /// Set except for memory that is advised (`PR_THP_DISABLE_EXCEPT_ADVISED`, Linux 6.18).
    ExceptAdvised,
}

/// Asks for the state of `PR_SET_THP_DISABLE`.
pub fn thp_disable() -> io::Result<ThpDisable> {
    // SAFETY: reads a flag of the process; the other arguments must be zero.
    let state =
        answer(unsafe { sys::call(libc::SYS_prctl, [libc::PR_GET_THP_DISABLE as usize, 0, 0, 0, 0, 0]) })?;
    match state {
        0 => Ok(ThpDisable::No),
        1 => Ok(ThpDisable::Yes),
        3 => Ok(ThpDisable::ExceptAdvised),
        other => Err(io::Error::other(format!("unknown state {other}"))),
    }
}

/// The twelve letters by which a hypervisor names itself to its guest, for example `KVMKVMKVM`.
#[cfg(target_arch = "x86_64")]
pub fn hypervisor_signature() -> Option<String> {
    #[allow(unused_unsafe, reason = "unsafe to call up to Rust 1.93, safe from then on")]
    // SAFETY: every x86-64 processor has the CPUID instruction.
    let (features, names) =
        unsafe { (std::arch::x86_64::__cpuid(1), std::arch::x86_64::__cpuid(0x4000_0000)) };
    const HYPERVISOR: u32 = 1 << 31;
    if features.ecx & HYPERVISOR == 0 {
        return None;
    }
    let letters = [names.ebx, names.ecx, names.edx].map(u32::to_le_bytes).concat();
    let name = String::from_utf8_lossy(&letters).trim_matches(['\0', ' ']).to_owned();
    (!name.is_empty()).then_some(name)
}

/// The twelve letters by which a hypervisor names itself to its guest: x86 only.
#[cfg(not(target_arch = "x86_64"))]
pub fn hypervisor_signature() -> Option<String> {
    None
}

/// The union of the categories of the pages in a range.
fn scan(start: usize, bytes: usize) -> io::Result<u64> {
    let pagemap = sys::open_to_read(c"/proc/thread-self/pagemap").map_err(io::Error::from_raw_os_error)?;
    let mut regions = [PageRegion::default(); 8];
    let (filled, _) =
        pagemap.scan_pages(start, start + bytes, &mut regions).map_err(io::Error::from_raw_os_error)?;
    Ok(regions.iter().take(filled).fold(0, |all, region| all | region.categories))
}

fn answer<T>(answer: Result<T, i32>) -> io::Result<T> {
    answer.map_err(io::Error::from_raw_os_error)
}

fn owned(answered: sys::Answer) -> io::Result<OwnedFd> {
    let descriptor = answer(answered)?;
    // SAFETY: the kernel just opened this descriptor for us and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor as i32) })
}

/// Bytes of a base page of this machine.
pub fn page_bytes() -> usize {
    // SAFETY: reads a constant of the system.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// A private mapping that vanishes with its owner.
struct Scratch {
    address: usize,
    bytes: usize,
}

impl Scratch {
    fn new(bytes: usize) -> io::Result<Scratch> {
        // SAFETY: a new mapping at an address of the kernel's choice.
        let address = answer(unsafe { sys::map_anonymous(0, bytes, libc::PROT_READ | libc::PROT_WRITE, 0) })?;
        Ok(Scratch { address, bytes })
    }

    fn touch(&self, address: usize) {
        assert!((self.address..self.address + self.bytes).contains(&address), "inside the mapping");
        // SAFETY: the byte lies inside a writable mapping that only this value knows.
        unsafe { std::ptr::without_provenance_mut::<u8>(address).write_volatile(1) };
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // SAFETY: the mapping belongs to this value and nothing points into it any more.
        let _ = unsafe { sys::unmap(self.address, self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel or sandbox may lack a call; then the answer is its own error number, never a crash or a guess.
    fn works_or_says_why<T>(answer: io::Result<T>) -> Option<T> {
        match answer {
            Ok(value) => Some(value),
            Err(error) => {
                let code = error.raw_os_error().expect("the kernel's own answer");
                let refusals =
                    [libc::EINVAL, libc::ENOSYS, libc::EPERM, libc::EACCES, libc::ENOTTY, libc::ENOENT];
                assert!(refusals.contains(&code), "{error}");
                None
            }
        }
    }

    #[test]
    fn every_probe_answers() {
        works_or_says_why(madvise_populate_write());
        let scans = works_or_says_why(pagemap_scan()).is_some();
        if let Some(huge) = works_or_says_why(madvise_collapse()) {
            assert_eq!(huge.is_some(), scans, "the result is read back wherever the kernel lets it be read");
        }
        works_or_says_why(weighted_interleave());
        works_or_says_why(thp_disable());
    }

    #[test]
    fn a_counter_that_opens_counts_or_stays_zero() {
        if let Some(instructions) = works_or_says_why(hardware_counter()) {
            assert!(instructions == 0 || instructions >= 10_000, "{instructions}");
        }
    }
}
