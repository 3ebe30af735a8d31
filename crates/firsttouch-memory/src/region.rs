//! One owned mapping of memory with a kind of pages and, where wanted, a node: for those who place their own data.
//!
//! The heap serves allocations of programs that know nothing of it. A region is for code that does: it says what it
//! wants once, may create the pages ahead, and reads back what it got.

use crate::arena::{Backing, MOST_SPLIT_CHUNKS, keep_below_2m};
use crate::coverage::{self, Coverage, Reader};
use crate::pages::{BASE, HUGE, Pages};
use crate::reason::Reason;
use crate::snapshot::why_small;
use core::fmt;
use firsttouch_linux::numa::{self, Mode, NodeBits};
use firsttouch_linux::sys;

const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// Zeroed memory with chosen pages, unmapped when dropped.
///
/// ```
/// use firsttouch_memory::{Pages, Region};
/// let mut region = Region::map(4 << 20, Pages::Transparent, None)?;
/// region.prefault()?;
/// region.as_mut_slice()[0] = 1;
/// if let Some(pages) = region.coverage() {
///     assert_eq!(pages.huge + pages.small, region.as_slice().len());
/// }
/// # Ok::<(), firsttouch_memory::RegionError>(())
/// ```
#[derive(Debug)]
pub struct Region {
    address: usize,
    /// Whole pages of the kind that was obtained.
    bytes: usize,
    asked: Pages,
    backing: Backing,
    /// Why `backing` is not the first choice.
    fallback: Option<Reason>,
}

/// Memory that cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegionError {
    /// No address space, or no memory promised by the kernel.
    Map {
        /// What was asked for.
        bytes: usize,
        /// The kernel's error number.
        errno: i32,
    },
    /// The kernel does not bind memory to this node.
    Bind {
        /// The node.
        node: u32,
        /// The kernel's error number.
        errno: i32,
    },
    /// The pages could not be created.
    Prefault {
        /// The size of the region.
        bytes: usize,
        /// The kernel's error number.
        errno: i32,
    },
}

impl RegionError {
    /// What would mend it.
    pub fn hint(self) -> &'static str {
        match self {
            RegionError::Map { .. } => {
                "less memory, or a higher limit: ulimit -v, memory.max, vm.overcommit_memory"
            }
            RegionError::Bind { errno: libc::EPERM, .. } => {
                "the sandbox forbids mbind: docker run --cap-add SYS_NICE, or run outside of it"
            }
            RegionError::Bind { .. } => "firsttouch status lists the nodes and those this process may use",
            RegionError::Prefault { .. } => "less memory, or a node with more of it: see firsttouch status",
        }
    }
}

impl fmt::Display for RegionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegionError::Map { bytes, errno } => {
                write!(f, "the kernel maps no {bytes} bytes (error {errno})")
            }
            RegionError::Bind { node, errno } => {
                write!(f, "the kernel does not bind memory to node {node} (error {errno})")
            }
            RegionError::Prefault { bytes, errno } => {
                write!(f, "the kernel does not create the pages of {bytes} bytes (error {errno})")
            }
        }
    }
}

impl core::error::Error for RegionError {}

impl Region {
    /// Maps at least `bytes`, rounded up to whole pages of the kind that is obtained. Where reserved pages cannot be had,
    /// the next smaller kind is taken, and [`Region::shortfall`] says why.
    ///
    /// With a node, the memory may come from that node only (`MPOL_BIND`): where the node has no more, creating pages
    /// fails, and touching them may end the process. Ask the node for what it has free.
    pub fn map(bytes: usize, pages: Pages, node: Option<u32>) -> Result<Region, RegionError> {
        let mut fallback = None;
        for &backing in Backing::chain(pages) {
            let unit = match backing {
                Backing::Base | Backing::Multi => BASE,
                Backing::Transparent | Backing::Huge2M | Backing::Huge1G => backing.chunk_bytes(),
            };
            let whole = bytes.max(1).checked_next_multiple_of(unit);
            let Some(whole) = whole.filter(|whole| *whole < isize::MAX as usize / 2) else {
                return Err(RegionError::Map { bytes, errno: libc::ENOMEM });
            };
            if !backing.is_reserved_pool() {
                let address = map_guarded(whole)?;
                let region = Region { address, bytes: whole, asked: pages, backing, fallback };
                region.bind(node)?;
                region.advise();
                return Ok(region);
            }
            match Region::from_pool(whole, pages, backing, node) {
                Ok(mut region) => {
                    region.fallback = fallback;
                    return Ok(region);
                }
                Err(Refusal::Reason(reason)) => fallback = fallback.or(Some(reason)),
                Err(Refusal::Error(error)) => return Err(error),
            }
        }
        // Every chain ends with a kind that needs no pool.
        Err(RegionError::Map { bytes, errno: libc::ENOMEM })
    }

    /// Maps pages of a pool and creates them at once: a page that the pool promised can still be refused at first touch
    /// (the promise is not one of the node), and then the process dies of SIGBUS. Here a refusal is an answer.
    fn from_pool(bytes: usize, asked: Pages, backing: Backing, node: Option<u32>) -> Result<Region, Refusal> {
        let size = if backing == Backing::Huge1G { libc::MAP_HUGE_1GB } else { libc::MAP_HUGE_2MB };
        // SAFETY: a new mapping at an address of the kernel's choice.
        let address = unsafe { sys::map_anonymous(0, bytes, READ_WRITE, libc::MAP_HUGETLB | size) }
            .map_err(|_| Refusal::Reason(Reason::PoolEmpty))?;
        let region = Region { address, bytes, asked, backing, fallback: None };
        region.bind(node).map_err(Refusal::Error)?;
        // SAFETY: the mapping is ours; creating its pages changes no contents.
        match unsafe { sys::advise(address, bytes, libc::MADV_POPULATE_WRITE) } {
            Ok(_) => Ok(region),
            Err(libc::EINVAL) => Err(Refusal::Reason(Reason::KernelTooOld)),
            Err(libc::EFAULT) if node.is_none() => Err(Refusal::Reason(Reason::CgroupLimit)),
            Err(_) => Err(Refusal::Reason(Reason::PoolEmpty)),
        }
    }

    fn bind(&self, node: Option<u32>) -> Result<(), RegionError> {
        let Some(node) = node else { return Ok(()) };
        let Some(nodes) = NodeBits::of(&[node]) else {
            return Err(RegionError::Bind { node, errno: libc::EINVAL });
        };
        numa::set_policy_of(self.address, self.bytes, Mode::Bind, &nodes)
            .map(drop)
            .map_err(|errno| RegionError::Bind { node, errno })
    }

    fn advise(&self) {
        let advice = if self.backing == Backing::Base { libc::MADV_NOHUGEPAGE } else { libc::MADV_HUGEPAGE };
        // SAFETY: the mapping is ours; the advice changes no contents. What it achieved is read back.
        let _ = unsafe { sys::advise(self.address, self.bytes, advice) };
        if self.backing == Backing::Multi {
            keep_below_2m(self.address, (self.bytes / HUGE).min(MOST_SPLIT_CHUNKS as usize));
        }
    }

    /// Creates all pages now, so that their first use costs nothing more. Pages that came out small are collapsed into
    /// huge ones where those were asked for and the kernel can (Linux 6.1).
    pub fn prefault(&mut self) -> Result<(), RegionError> {
        // SAFETY: the mapping is ours; creating its pages changes no contents.
        match unsafe { sys::advise(self.address, self.bytes, libc::MADV_POPULATE_WRITE) } {
            Ok(_) => {}
            // Before Linux 5.14: write to every page what is there.
            Err(libc::EINVAL) => {
                for byte in self.as_mut_slice().iter_mut().step_by(BASE) {
                    // SAFETY: a byte of ours; volatile, so that the write is not left out.
                    unsafe { core::ptr::write_volatile(byte, core::ptr::read_volatile(byte)) };
                }
            }
            Err(errno) => return Err(RegionError::Prefault { bytes: self.bytes, errno }),
        }
        if self.backing == Backing::Transparent && self.coverage().is_some_and(|seen| seen.small > 0) {
            // SAFETY: the mapping is ours; collapsing keeps contents. What it achieved is read back.
            let _ = unsafe { sys::advise(self.address, self.bytes, libc::MADV_COLLAPSE) };
        }
        Ok(())
    }

    /// The pages that exist now, huge and small; `None` where the kernel does not tell.
    pub fn coverage(&self) -> Option<Coverage> {
        Reader::open()?.read(self.address, self.address + self.bytes)
    }

    /// The bytes that exist now on each node that has some; `None` on kernels without NUMA.
    pub fn bytes_by_node(&self) -> Option<impl Iterator<Item = (u32, usize)> + use<>> {
        let bytes = coverage::nodes(self.address, self.address + self.bytes)?;
        Some(bytes.iter().map(|(node, bytes)| (u32::from(node), bytes)).filter(|(_, bytes)| *bytes > 0))
    }

    /// The kind of pages behind the region: what was asked for, or what it fell back to.
    pub fn pages(&self) -> Pages {
        match (self.backing, self.asked) {
            (Backing::Base, _) => Pages::Base,
            (Backing::Multi, asked) => asked,
            (Backing::Transparent, _) => Pages::Transparent,
            (Backing::Huge2M, _) => Pages::Huge2M,
            (Backing::Huge1G, _) => Pages::Huge1G,
        }
    }

    /// Why pages are smaller than asked for; `None` when they are not. Transparent pages are judged by those that exist.
    pub fn shortfall(&self) -> Option<Reason> {
        self.fallback.or_else(|| {
            let small = self.backing == Backing::Transparent && self.coverage()?.small > 0;
            small.then(|| why_small(Pages::Transparent, 0))
        })
    }

    /// The memory. Pages that were never written read as zero.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the mapping is readable, as long as said, initialised by the kernel, and lives as long as `self`.
        unsafe { core::slice::from_raw_parts(self.address as *const u8, self.bytes) }
    }

    /// The memory, to be written.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is writable, as long as said, initialised by the kernel, and borrowed from its only owner.
        unsafe { core::slice::from_raw_parts_mut(self.address as *mut u8, self.bytes) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        let guard = if self.backing.is_reserved_pool() { 0 } else { BASE };
        // SAFETY: the mapping and its guards are ours, and nothing borrows them any more.
        let _ = unsafe { sys::unmap(self.address - guard, self.bytes + 2 * guard) };
    }
}

enum Refusal {
    /// Not these pages; others may do.
    Reason(Reason),
    /// No pages will do.
    Error(RegionError),
}

/// A mapping at a multiple of 2 MiB with a page without access at either end: so it never becomes one mapping with
/// another, and what `/proc` says of it is said of it alone.
fn map_guarded(bytes: usize) -> Result<usize, RegionError> {
    let wrong = |errno| RegionError::Map { bytes, errno };
    let room = bytes + HUGE + 2 * BASE;
    // SAFETY: a new mapping at an address of the kernel's choice.
    let base = unsafe { sys::map_anonymous(0, room, libc::PROT_NONE, 0) }.map_err(wrong)?;
    let address = (base + BASE).next_multiple_of(HUGE);
    let (first, last) = (address - BASE, address + bytes + BASE);
    if first > base {
        // SAFETY: the unused beginning of the new mapping.
        let _ = unsafe { sys::unmap(base, first - base) };
    }
    if last < base + room {
        // SAFETY: its unused end.
        let _ = unsafe { sys::unmap(last, base + room - last) };
    }
    // SAFETY: inside the new mapping, which nobody else knows.
    if let Err(errno) = unsafe { sys::protect(address, bytes, READ_WRITE) } {
        // SAFETY: the rest of the new mapping.
        let _ = unsafe { sys::unmap(first, last - first) };
        return Err(wrong(errno));
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn a_region_is_zero_writable_and_whole() {
        let mut region = Region::map(5 << 20, Pages::Transparent, None).unwrap();
        assert_eq!(region.as_slice().len(), 6 << 20);
        assert_eq!(region.as_slice().as_ptr() as usize % HUGE, 0);
        assert!(region.as_slice().iter().all(|byte| *byte == 0));
        region.as_mut_slice().fill(7);
        assert_eq!(region.as_slice()[(6 << 20) - 1], 7);
    }

    #[test]
    fn prefaulted_pages_exist_and_are_counted_once() {
        // Side by side and alike: the kernel would make one mapping of them.
        let mut regions: Vec<Region> =
            (0..3).map(|_| Region::map(4 << 20, Pages::Base, None).unwrap()).collect();
        for region in &mut regions {
            region.prefault().unwrap();
        }
        for region in &regions {
            assert_eq!(region.coverage(), Some(Coverage { huge: 0, small: 4 << 20 }));
            assert_eq!(region.shortfall(), None);
            if let Some(nodes) = region.bytes_by_node() {
                assert_eq!(nodes.map(|(_, bytes)| bytes).sum::<usize>(), 4 << 20);
            }
        }
    }

    #[test]
    fn huge_pages_come_or_there_is_a_reason() {
        for pages in [Pages::Transparent, Pages::Huge2M, Pages::Auto] {
            let mut region = Region::map(8 << 20, pages, None).unwrap();
            region.prefault().unwrap();
            let Some(seen) = region.coverage() else { continue };
            assert_eq!(seen.huge + seen.small, 8 << 20, "{pages}");
            let as_asked = seen.small == 0 && (region.pages() == pages || pages == Pages::Auto);
            assert!(as_asked || region.shortfall().is_some(), "{pages}: {seen:?} {region:?}");
        }
    }

    #[test]
    fn memory_is_bound_to_a_node_that_exists_only() {
        match Region::map(4 << 20, Pages::Transparent, Some(0)) {
            Ok(mut region) => {
                region.prefault().unwrap();
                let nodes: Option<Vec<(u32, usize)>> = region.bytes_by_node().map(Iterator::collect);
                assert_eq!(nodes.unwrap_or_else(|| std::vec![(0, 4 << 20)]), [(0, 4 << 20)]);
            }
            // A sandbox, or a kernel without NUMA.
            Err(error) => {
                assert!(
                    matches!(error, RegionError::Bind { node: 0, errno: libc::EPERM | libc::ENOSYS }),
                    "{error}"
                );
            }
        }
        for node in [900, 5000] {
            let error = Region::map(1 << 20, Pages::Base, Some(node)).unwrap_err();
            assert!(matches!(error, RegionError::Bind { .. }), "{error}");
            assert!(!error.hint().is_empty());
        }
    }

    #[test]
    fn more_than_there_can_be_is_an_error() {
        for bytes in [usize::MAX, 1 << 62, 1 << 50] {
            assert!(matches!(Region::map(bytes, Pages::Base, None), Err(RegionError::Map { .. })), "{bytes}");
        }
    }
}
