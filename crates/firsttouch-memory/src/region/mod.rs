//! Owned mappings of memory with a kind of pages and a place: for those who place their own data.
//!
//! The heap serves allocations of programs that know nothing of it. A region is for code that does: it says what it
//! wants once ([`Builder`]), may create the pages ahead, grow, shrink, and reads back what it got ([`RegionReceipt`]).
//!
//! Invariants: what cannot be had is an error or shows in the receipt; a region has its addresses for itself, with a page
//! without access at either end where pages are not a pool's; nothing that fails loses contents.

mod advice;
mod builder;
mod chain;
mod error;
mod name;
mod plain;
mod policy;
mod receipt;
mod replicated;
mod resize;
mod shared;

pub use advice::Advice;
pub use builder::Builder;
pub use error::RegionError;
pub use name::Naming;
pub use plain::PlainData;
pub use policy::NodePolicy;
pub use receipt::RegionReceipt;
pub use replicated::{Replicated, ReplicationCost};
pub use resize::Growth;
pub use shared::{SharedRegion, small_shared};

use crate::arena::{MOST_SPLIT_CHUNKS, keep_below_2m};
use crate::backing::Backing;
use crate::coverage::{self, Coverage, Reader};
use crate::evidence::Evidence;
use crate::failures::Of;
use crate::pages::{BASE, HUGE, Pages};
use crate::reason::Reason;
use chain::{Refusal, first_of_chain};
use core::ops::Range;
use firsttouch_linux::sys;

const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// Zeroed memory with chosen pages, unmapped when dropped.
///
/// ```
/// use firsttouch_memory::{Pages, Region};
/// let mut region = Region::of(4 << 20).pages(Pages::Transparent).prefault().map()?;
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
    asked: Builder,
    backing: Backing,
    /// Why `backing` is not the first choice.
    fallback: Option<Reason>,
    /// By which it is told why transparent pages are small ones.
    evidence: Evidence,
    /// Why the policy is not in force.
    unplaced: Option<Reason>,
    naming: Naming,
}

impl Builder {
    /// Maps it, rounded up to whole pages of the kind that is obtained.
    pub fn map(self) -> Result<Region, RegionError> {
        self.check()?;
        Region::build(self)
    }
}

impl Region {
    /// A region of at least so many bytes, to be described further and then mapped.
    pub fn of(bytes: usize) -> Builder {
        Builder::new(bytes)
    }

    /// Maps at least `bytes` on a kind of pages; with a node, from that node only ([`NodePolicy::Bind`]): where it has no
    /// more, creating pages fails, and touching them may end the process. Ask the node for what it has free.
    pub fn map(bytes: usize, pages: Pages, node: Option<u32>) -> Result<Region, RegionError> {
        let builder = Region::of(bytes).pages(pages);
        match node {
            Some(node) => builder.bind(&[node]),
            None => builder,
        }
        .map()
    }

    fn build(asked: Builder) -> Result<Region, RegionError> {
        let mut region = first_of_chain(asked, |backing, fallback| Region::on(backing, asked, fallback))?;
        if asked.prefault {
            region.prefault()?;
        }
        Ok(region)
    }

    fn on(backing: Backing, asked: Builder, fallback: Option<Reason>) -> Result<Region, Refusal> {
        let wrong = |errno| Refusal::Error(RegionError::Map { bytes: asked.bytes, errno });
        let bytes = backing.whole(asked.bytes).ok_or_else(|| wrong(libc::ENOMEM))?;
        let address = if backing.is_reserved_pool() {
            map_pool_aligned(backing, bytes, asked.alignment())
                .map_err(|_| Refusal::Reason(Reason::PoolEmpty))?
        } else {
            let address = reserve_guarded(bytes, asked.alignment()).map_err(wrong)?;
            // SAFETY: inside the new mapping, which nobody else knows.
            if let Err(errno) = unsafe { sys::protect(address, bytes, READ_WRITE) } {
                // SAFETY: as above, with both guards.
                let _ = unsafe { sys::unmap(address - BASE, bytes + 2 * BASE) };
                return Err(wrong(errno));
            }
            address
        };
        let evidence = match backing {
            // To ask takes some 50 us, of which those that are soon filled would feel much.
            Backing::Transparent if bytes >= 16 * HUGE => Evidence::from_now(Of::Anonymous),
            _ => Evidence::since(None),
        };
        let mut region = Region {
            address,
            bytes,
            asked,
            backing,
            fallback,
            evidence,
            unplaced: None,
            naming: Naming::Unnamed,
        };
        let all = address..address + bytes;
        region.place(all.clone()).map_err(Refusal::Error)?;
        if backing.is_reserved_pool() {
            // A page that the pool promised can still be refused at first touch (the promise is not one of the node), and
            // then the process dies of SIGBUS. Here a refusal is an answer.
            create_in_pool(&all, asked.policy != NodePolicy::Inherited).map_err(Refusal::Reason)?;
        } else {
            region.advise_pages(all);
        }
        Ok(region)
    }

    /// Puts policy and name in force for a part.
    fn place(&mut self, part: Range<usize>) -> Result<(), RegionError> {
        self.unplaced = self.asked.policy.apply(self.address, part.clone())?;
        self.naming = self.asked.name.give(part.start, part.len());
        Ok(())
    }

    fn advise_pages(&self, part: Range<usize>) {
        let Some(advice) = self.backing.advice(self.asked.pages) else { return };
        // SAFETY: the mapping is ours; the advice changes no contents. What it achieved is read back.
        let _ = unsafe { sys::advise(part.start, part.len(), advice) };
        if self.backing == Backing::Multi {
            let first = part.start / HUGE;
            keep_below_2m(first * HUGE, (part.end / HUGE - first).min(MOST_SPLIT_CHUNKS as usize));
        }
    }

    fn guard_bytes(&self) -> usize {
        if self.backing.is_reserved_pool() { 0 } else { BASE }
    }

    /// Creates all pages now, so that their first use costs nothing more. Pages that came out small are collapsed into
    /// huge ones where those were asked for and the kernel can (Linux 6.1).
    pub fn prefault(&mut self) -> Result<(), RegionError> {
        self.create(0..self.bytes)
    }

    /// Creates the pages of a range of bytes.
    fn create(&mut self, range: Range<usize>) -> Result<(), RegionError> {
        let (from, to) = (self.address + range.start, self.address + range.end);
        // SAFETY: the mapping is ours; creating its pages changes no contents.
        match unsafe { sys::advise(from, range.len(), libc::MADV_POPULATE_WRITE) } {
            Ok(_) => {}
            // Before Linux 5.14: write to every page what is there.
            Err(libc::EINVAL) => {
                for byte in self.as_mut_slice()[range.clone()].iter_mut().step_by(BASE) {
                    // SAFETY: a byte of ours; volatile, so that the write is not left out.
                    unsafe { core::ptr::write_volatile(byte, core::ptr::read_volatile(byte)) };
                }
            }
            Err(errno) => return Err(RegionError::Prefault { bytes: range.len(), errno }),
        }
        let is_small = || Reader::open()?.read(from, to).map(|seen| seen.small > 0);
        if self.backing == Backing::Transparent && is_small() == Some(true) {
            // SAFETY: the mapping is ours; collapsing keeps contents. What it achieved is read back.
            let _ = unsafe { sys::advise(from, range.len(), libc::MADV_COLLAPSE) };
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
        self.backing.pages(self.asked.pages)
    }

    /// Why pages are smaller than asked for, most of them; `None` when they are not. Transparent pages are judged by those that exist.
    pub fn shortfall(&self) -> Option<Reason> {
        self.fallback.or_else(|| self.receipt().pages_reasons.main())
    }

    /// Its size in bytes: whole pages of the kind that was obtained.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Where it begins: for those who agree with others about who does what, by other means.
    pub fn as_ptr(&self) -> *mut u8 {
        self.address as *mut u8
    }

    /// Whether its pages and where they come from were to be those of a description.
    pub fn is_as(&self, described: &Builder) -> bool {
        (self.asked.pages, self.asked.policy) == (described.pages, described.policy)
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

    /// The memory as elements; what is left at the end is too short for one.
    pub fn as_slice_of<T: PlainData>(&self) -> &[T] {
        let elements = self.bytes / plain::element_bytes::<T>();
        // SAFETY: as for `as_slice`; pages are aligned for every element, and any bytes are elements.
        unsafe { core::slice::from_raw_parts(self.address as *const T, elements) }
    }

    /// The memory as elements, to be written.
    pub fn as_mut_slice_of<T: PlainData>(&mut self) -> &mut [T] {
        let elements = self.bytes / plain::element_bytes::<T>();
        // SAFETY: as for `as_mut_slice` and `as_slice_of`.
        unsafe { core::slice::from_raw_parts_mut(self.address as *mut T, elements) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        let guard = self.guard_bytes();
        // SAFETY: the mapping and its guards are ours, and nothing borrows them any more.
        let _ = unsafe { sys::unmap(self.address - guard, self.bytes + 2 * guard) };
    }
}

/// Addresses that nobody else has, without access, beginning at a multiple of `align`, with a page more at either end: so
/// that they never become one mapping with others, and what `/proc` says of them is said of them alone.
fn reserve_guarded(bytes: usize, align: usize) -> Result<usize, i32> {
    let room = bytes + align + 2 * BASE;
    // SAFETY: a new mapping at an address of the kernel's choice.
    let base = unsafe { sys::map_anonymous(0, room, libc::PROT_NONE, 0) }?;
    let address = (base + BASE).next_multiple_of(align);
    let (first, last) = (address - BASE, address + bytes + BASE);
    if first > base {
        // SAFETY: the unused beginning of the new mapping.
        let _ = unsafe { sys::unmap(base, first - base) };
    }
    if last < base + room {
        // SAFETY: its unused end.
        let _ = unsafe { sys::unmap(last, base + room - last) };
    }
    Ok(address)
}

/// Maps pages of a pool.
///
/// # Safety
/// With `MAP_FIXED` in `flags` the range must belong to the caller.
unsafe fn map_pool(backing: Backing, address: usize, bytes: usize, flags: i32) -> Result<usize, i32> {
    // SAFETY: the caller's duty.
    unsafe { sys::map_anonymous(address, bytes, READ_WRITE, backing.pool_flags() | flags) }
}

fn map_pool_aligned(backing: Backing, bytes: usize, align: usize) -> Result<usize, i32> {
    if align <= backing.chunk_bytes() {
        // SAFETY: a new mapping at an address of the kernel's choice.
        return unsafe { map_pool(backing, 0, bytes, 0) };
    }
    let address = reserve_guarded(bytes, align)?;
    // SAFETY: the addresses were reserved just now.
    let mapped = unsafe { map_pool(backing, address, bytes, libc::MAP_FIXED) };
    let (first, all) = if mapped.is_ok() { (address - BASE, BASE) } else { (address - BASE, bytes + BASE) };
    // SAFETY: the guards, which regions of a pool do not have; or all that was reserved.
    let _ = unsafe { sys::unmap(first, all) };
    // SAFETY: the guard at the end.
    let _ = unsafe { sys::unmap(address + bytes, BASE) };
    mapped
}

/// Creates pages of a pool, or says why there are none.
fn create_in_pool(range: &Range<usize>, is_placed: bool) -> Result<(), Reason> {
    // SAFETY: the caller's new mapping; creating its pages changes no contents.
    match unsafe { sys::advise(range.start, range.len(), libc::MADV_POPULATE_WRITE) } {
        Ok(_) => Ok(()),
        Err(libc::EINVAL) => Err(Reason::KernelTooOld),
        Err(libc::EFAULT) if !is_placed => Err(Reason::CgroupLimit),
        Err(_) => Err(Reason::PoolEmpty),
    }
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

    #[test]
    fn memory_of_a_name_is_where_others_put_it() {
        let places = "table=4k/inherit;a=thp/bind:0";
        let built = |name, places| Region::of(2 << 20).pages(Pages::Transparent).named(name, places);
        assert_eq!(built("table", places).unwrap().wished_pages(), Pages::Base);
        assert_eq!(built("other", places).unwrap().wished_pages(), Pages::Transparent);
        assert_eq!(built("table", "").unwrap().wished_pages(), Pages::Transparent);
        for (name, places) in [("table", "table"), ("a table", ""), ("", "")] {
            assert_eq!(built(name, places), None, "{name:?} {places:?}");
        }
        let mut small = built("table", places).unwrap().map().unwrap();
        small.as_mut_slice().fill(1);
        assert_eq!(small.pages(), Pages::Base);
        assert!(Coverage::of(small.address, small.address + small.bytes).is_none_or(|seen| seen.huge == 0));
    }

    #[test]
    fn a_name_shows_or_the_receipt_says_why_not() {
        let region = Region::of(2 << 20).name("first touch").map().unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let is_shown = maps.lines().any(|line| line.ends_with("[anon:first touch]"));
        match region.receipt().naming {
            Naming::Shown => assert!(is_shown, "{maps}"),
            Naming::Hidden { errno } => assert!(!is_shown && errno == libc::EINVAL),
            Naming::Unnamed => panic!("it has a name"),
        }
        // Not printable.
        let region = Region::of(2 << 20).name("a\nb").map().unwrap();
        assert_eq!(region.receipt().naming, Naming::Hidden { errno: libc::EINVAL });
        let long = "x".repeat(200);
        let region = Region::of(2 << 20).name(&long).map().unwrap();
        assert!(matches!(region.receipt().naming, Naming::Shown | Naming::Hidden { errno: libc::EINVAL }));
        assert_eq!(Region::of(1).map().unwrap().receipt().naming, Naming::Unnamed);
    }

    #[test]
    fn regions_begin_where_they_are_asked_to() {
        for (pages, align) in [(Pages::Base, 1 << 30), (Pages::Huge2M, 64 << 20), (Pages::Base, BASE)] {
            let mut region = Region::of(1 << 20).pages(pages).align(align).map().unwrap();
            assert_eq!(region.as_slice().as_ptr() as usize % align, 0);
            region.as_mut_slice().fill(1);
        }
        for align in [0, 3, 2048, 2 << 30] {
            let error = Region::of(1 << 20).align(align).map().unwrap_err();
            assert_eq!(error, RegionError::Align { align_bytes: align });
        }
    }

    #[test]
    fn plain_memory_may_have_a_policy_and_no_advice() {
        let mut region = Region::of(4 << 20).pages(Pages::Plain).prefer(&[0]).map().unwrap();
        region.as_mut_slice().fill(1);
        assert_eq!((region.pages(), region.shortfall()), (Pages::Plain, None));
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mapping = smaps.split_once(&std::format!("{:x}-", region.address)).unwrap().1;
        let flags = mapping.lines().find_map(|line| line.strip_prefix("VmFlags: ")).unwrap();
        assert!(flags.split(' ').all(|flag| flag != "hg" && flag != "nh"), "{flags}");
    }

    #[test]
    fn multi_size_pages_that_a_setting_forbids_are_told() {
        let mut region = Region::of(4 << 20).pages(Pages::Multi(64 << 10)).map().unwrap();
        assert_eq!(region.shortfall(), None);
        region.as_mut_slice().fill(1);
        let told: Vec<_> = region.receipt().shortfalls_of_pages().collect();
        let expected = crate::forbidden(region.pages()).map(|reason| (reason, region.len()));
        assert_eq!(told, Vec::from_iter(expected));
        assert_eq!(region.shortfall(), expected.map(|(reason, _)| reason));
    }

    #[test]
    fn advice_is_taken_for_parts_and_discarded_pages_are_zero() {
        let mut region = Region::of(4 << 20).pages(Pages::Base).prefault().map().unwrap();
        region.as_mut_slice().fill(9);
        for advice in [Advice::Sequential, Advice::Normal, Advice::Soon, Advice::NoDump, Advice::NoFork] {
            region.advise(BASE..4 * BASE, advice).unwrap();
        }
        for range in [1..BASE, 0..(4 << 20) + 1] {
            let error = region.advise(range, Advice::Random).unwrap_err();
            assert_eq!(error, RegionError::Advise { advice: Advice::Random, errno: libc::EINVAL });
        }
        // What a range has only a part of keeps its contents.
        region.discard(BASE..3 * BASE + 1).unwrap();
        region.discard(4 * BASE..5 * BASE - 1).unwrap();
        let expected = |page: usize| if (1..3).contains(&page) { 0 } else { 9 };
        for (page, bytes) in region.as_slice().chunks(BASE).enumerate() {
            assert!(bytes == [expected(page); BASE], "page {page}");
        }
        // It is many mappings by now, and grows all the same.
        assert!(region.grow(64 << 20).is_ok());
        assert_eq!((region.as_slice()[0], region.as_slice()[BASE], region.as_slice()[4 << 20]), (9, 0, 0));
    }

    #[test]
    fn receipts_of_parts_add_up() {
        let mut region = Region::of(8 << 20).pages(Pages::Base).prefer(&[0]).map().unwrap();
        region.as_mut_slice()[2 << 20..5 << 20].fill(1);
        let whole = region.receipt();
        assert_eq!(whole.coverage, Some(Coverage { huge: 0, small: 3 << 20 }));
        assert_eq!((whole.untouched_bytes(), whole.bytes_elsewhere().unwrap_or(0)), (Some(5 << 20), 0));
        assert_eq!(whole.shortfalls().count(), 0);
        let part = region.receipt_of(4 << 20..100 << 20);
        assert_eq!(part.bytes, 4 << 20);
        if let Some(seen) = part.coverage {
            assert_eq!(seen, Coverage { huge: 0, small: 1 << 20 });
        }
        if let Some(nodes) = part.bytes_by_node() {
            assert_eq!(nodes.map(|(_, bytes)| bytes).sum::<usize>(), 1 << 20);
        }
        assert_eq!(region.receipt_of(9 << 20..10 << 20).bytes, 0);
        let numbers: &[u32] = region.as_slice_of();
        assert_eq!((numbers.len(), numbers[(2 << 20) / 4]), (2 << 20, 0x0101_0101));
    }
}
