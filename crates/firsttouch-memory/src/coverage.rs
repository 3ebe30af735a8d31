//! Reading back what the kernel gave: resident bytes of our own address ranges, by page size and by node.
//!
//! `PAGEMAP_SCAN` (Linux 6.7) tells huge from small for any range, unprivileged. Older kernels have `smaps`, which
//! tells it for whole mappings only. Neither sees multi-size pages: those are told from base pages by
//! `/proc/kpageflags`, which only CAP_SYS_ADMIN may read.
//!
//! All is read of the calling thread: where the first one has ended, `/proc/self` shows nothing of the process.

use crate::lines::{Lines, keyed_kib, number};
use crate::pages::{BASE, GIGANTIC, HUGE};
use core::ffi::CStr;
use core::ops::Range;
use firsttouch_linux::numa;
use firsttouch_linux::rollup::{hidden_bytes, whole};
use firsttouch_linux::sys::{Descriptor, PAGE_IS_HUGE, PAGE_IS_PFNZERO, PageRegion, open_to_read};

/// Resident bytes of a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// On transparent or reserved huge pages.
    pub huge: usize,
    /// On smaller pages. The shared zero page counts as nothing.
    pub small: usize,
}

impl Coverage {
    /// Reads that of the whole pages of `[start, end)`, whatever lies there; `None` where the kernel does not tell it for
    /// parts of a mapping (before Linux 6.7, or without /proc).
    pub fn of(start: usize, end: usize) -> Option<Coverage> {
        Reader::open().filter(Reader::sees_blocks)?.read(start / BASE * BASE, end.next_multiple_of(BASE))
    }

    /// Resident bytes of the whole pages of `[start, end)` by node, in the order they are met; `None` where the kernel does not
    /// tell.
    pub fn by_node(start: usize, end: usize) -> Option<impl Iterator<Item = (u32, usize)> + use<>> {
        let (start, end) = (start / BASE * BASE, end.next_multiple_of(BASE));
        // A huge page is on one node.
        let step = if Coverage::of(start, end).is_some_and(|seen| seen.small == 0) { HUGE } else { BASE };
        Some(ByNode::look(start, end, step)?.iter().map(|(node, bytes)| (u32::from(node), bytes)))
    }

    /// What `smaps` showed of the mappings that begin in `[start, end)`, and the huge pages that it leaves out ([`hidden_bytes`]), of which
    /// no more than `counted` bytes of all are resident.
    fn with_hidden(mut self, start: usize, end: usize, counted: usize) -> Coverage {
        if balances_nodes()
            && let Some(nodes) = nodes(start, end)
        {
            let all: usize = nodes.iter().map(|(_, bytes)| bytes).sum();
            self.huge += hidden_bytes(counted as u64, all as u64, (self.huge + self.small) as u64) as usize;
        }
        self
    }
}

/// A way to read coverage that was found to work.
#[derive(Debug)]
pub(crate) enum Reader {
    Pagemap(Descriptor),
    Smaps,
}

impl Reader {
    /// The best way this kernel has; `None` without /proc.
    pub(crate) fn open() -> Option<Reader> {
        if let Ok(pagemap) = open_to_read(c"/proc/thread-self/pagemap") {
            let probe = &raw const pagemap as usize & !4095;
            let mut regions = [PageRegion::default(); 1];
            if pagemap.scan_pages(probe, probe + 4096, &mut regions).is_ok() {
                return Some(Reader::Pagemap(pagemap));
            }
        }
        open_to_read(c"/proc/thread-self/smaps").ok().map(|_| Reader::Smaps)
    }

    /// Whether single blocks can be told apart.
    pub(crate) fn sees_blocks(&self) -> bool {
        matches!(self, Reader::Pagemap(_))
    }

    /// Coverage of `[start, end)`, which must be whole pages; with `smaps`, of the mappings that lie inside.
    pub(crate) fn read(&self, start: usize, end: usize) -> Option<Coverage> {
        self.read_with(start, end, &mut |_| {})
    }

    /// The same; `small` gets the ranges on smaller pages, where single blocks can be told apart.
    pub(crate) fn read_with(
        &self,
        start: usize,
        end: usize,
        small: &mut dyn FnMut(Range<usize>),
    ) -> Option<Coverage> {
        match self {
            Reader::Pagemap(pagemap) => scan(pagemap, start, end, small),
            Reader::Smaps => {
                let (shown, walked_to) = smaps(start, end)?;
                Some(shown.with_hidden(start, walked_to, usize::MAX))
            }
        }
    }
}

fn scan(
    pagemap: &Descriptor,
    start: usize,
    end: usize,
    small: &mut dyn FnMut(Range<usize>),
) -> Option<Coverage> {
    let mut coverage = Coverage::default();
    let mut regions = [PageRegion::default(); 64];
    let mut at = start;
    while at < end {
        let (filled, walked_to) = pagemap.scan_pages(at, end, &mut regions).ok()?;
        for region in &regions[..filled] {
            let bytes = (region.end - region.start) as usize;
            // Memory that was only read shows the shared zero page, small or huge: no page of its own exists.
            if region.categories & PAGE_IS_PFNZERO != 0 {
                continue;
            }
            if region.categories & PAGE_IS_HUGE != 0 {
                coverage.huge += bytes;
            } else {
                coverage.small += bytes;
                small(region.start as usize..region.end as usize);
            }
        }
        if walked_to <= at {
            return None;
        }
        at = walked_to;
    }
    Some(coverage)
}

/// Resident bytes of `[start, end)` that lie on compound pages smaller than 2 MiB, looked up once per `unit` (the
/// multi-size page asked for); `None` without the right to read page frames.
pub(crate) fn compound_bytes(start: usize, end: usize, unit: usize) -> Option<usize> {
    const PRESENT: u64 = 1 << 63;
    const FRAME: u64 = (1 << 55) - 1;
    const COMPOUND: u64 = 1 << 15 | 1 << 16;
    let pagemap = open_to_read(c"/proc/thread-self/pagemap").ok()?;
    let flags = open_to_read(c"/proc/kpageflags").ok()?;
    let mut bytes = 0;
    let mut at = start;
    while at < end {
        let next = (at + 1).next_multiple_of(unit).min(end);
        let entry = pagemap.number_at((at / BASE) as u64)?;
        if entry & PRESENT != 0 {
            // Without CAP_SYS_ADMIN the frame number reads as zero.
            let frame = Some(entry & FRAME).filter(|frame| *frame != 0)?;
            if flags.number_at(frame)? & COMPOUND != 0 {
                bytes += next - at;
            }
        }
        at = next;
    }
    Some(bytes)
}

/// What `smaps` shows of the mappings that lie inside `[start, end)`, and where the last of them ends. Out of line, as [`nodes`].
#[inline(never)]
fn smaps(start: usize, end: usize) -> Option<(Coverage, usize)> {
    let mut lines = Lines::open(c"/proc/thread-self/smaps")?;
    let (mut coverage, mut walked_to) = (Coverage::default(), start);
    let mut inside = false;
    while let Some(line) = lines.next() {
        if let Some((from, to)) = mapping_range(line) {
            inside = start <= from && to <= end;
            walked_to = if inside { to } else { walked_to };
        } else if inside && let Some((key, kib)) = keyed_kib(line) {
            match key {
                b"Rss" => coverage.small += kib << 10,
                b"AnonHugePages" | b"ShmemPmdMapped" => {
                    coverage.huge += kib << 10;
                    coverage.small = coverage.small.saturating_sub(kib << 10);
                }
                b"Private_Hugetlb" | b"Shared_Hugetlb" => coverage.huge += kib << 10,
                _ => {}
            }
        }
    }
    Some((coverage, walked_to))
}

/// Nodes that are told apart. Their numbers may be any: POWER9 counts its graphics cards' memory down from 255.
const NODES: usize = 64;

/// Resident bytes by node, in a form that fits the smallest stack a thread may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByNode {
    nodes: [u16; NODES],
    pages: [u32; NODES],
    count: usize,
}

impl ByNode {
    const NOTHING: ByNode = ByNode { nodes: [0; NODES], pages: [0; NODES], count: 0 };

    /// `None` if there are more nodes than can be told apart.
    fn add(&mut self, node: usize, bytes: usize) -> Option<()> {
        let node = u16::try_from(node).ok()?;
        let index = self.nodes[..self.count].iter().position(|known| *known == node).unwrap_or(self.count);
        *self.nodes.get_mut(index)? = node;
        self.pages[index] = self.pages[index].checked_add(u32::try_from(bytes / BASE).ok()?)?;
        self.count = self.count.max(index + 1);
        Some(())
    }

    /// Resident bytes of `[start, end)` by node, one look for each `step`; `None` if the kernel does not tell.
    pub(crate) fn look(start: usize, end: usize, step: usize) -> Option<ByNode> {
        const AT_ONCE: usize = 128;
        let mut found = ByNode::NOTHING;
        let mut at = start;
        while at < end {
            let (mut addresses, mut sizes, mut count) = ([0; AT_ONCE], [0; AT_ONCE], 0);
            while count < AT_ONCE && at < end {
                let next = (at + 1).next_multiple_of(step).min(end);
                (addresses[count], sizes[count]) = (at, next - at);
                (at, count) = (next, count + 1);
            }
            let mut nodes = [-1; AT_ONCE];
            numa::nodes_of(&addresses[..count], &mut nodes[..count]).ok()?;
            for (node, bytes) in nodes[..count].iter().zip(sizes) {
                if let Ok(node) = usize::try_from(*node) {
                    found.add(node, bytes)?;
                }
            }
        }
        Some(found)
    }

    /// Node and bytes, in the order they were met.
    pub(crate) fn iter(self) -> impl Iterator<Item = (u16, usize)> {
        let pages = self.pages.into_iter().map(|pages| pages as usize * BASE);
        self.nodes.into_iter().zip(pages).take(self.count)
    }
}

/// Resident bytes by node of the mappings inside `[start, end)`; `None` on kernels without NUMA. Out of line: who asks has little stack
/// left, and has asked for other things just before.
#[inline(never)]
pub(crate) fn nodes(start: usize, end: usize) -> Option<ByNode> {
    let mut lines = Lines::open(c"/proc/thread-self/numa_maps")?;
    let mut nodes = ByNode::NOTHING;
    while let Some(line) = lines.next() {
        let words = || line.split(|byte| *byte == b' ');
        let Some(address) = words().next().and_then(|word| number(word, 16)) else { continue };
        if !(start..end).contains(&address) {
            continue;
        }
        let kib = words().find_map(|word| number(word.strip_prefix(b"kernelpagesize_kB=")?, 10));
        for rest in words().filter_map(|word| word.strip_prefix(b"N")) {
            let mut parts = rest.splitn(2, |byte| *byte == b'=');
            let mut part = || number(parts.next()?, 10);
            if let (Some(node), Some(pages)) = (part(), part()) {
                nodes.add(node, pages * kib.map_or(BASE, |kib| kib << 10))?;
            }
        }
    }
    Some(nodes)
}

/// Whether the kernel watches memory to move it itself. Out of line, as [`nodes`].
#[inline(never)]
fn balances_nodes() -> bool {
    Lines::open(c"/proc/sys/kernel/numa_balancing")
        .is_some_and(|mut lines| lines.next().is_some_and(|mode| mode.trim_ascii() != b"0"))
}

/// The whole process: resident bytes by the size of pages.
pub(crate) fn process() -> Option<[(usize, usize); 3]> {
    let counted = resident_bytes(false)?;
    let (resident, shown) = whole(counted as u64, || all_mappings().map(|it| (it.0, it)).ok_or(())).ok()?;
    let in_pools = (shown.huge + shown.small).saturating_sub(resident as usize);
    let Coverage { huge, small } = shown.with_hidden(0, usize::MAX, counted + in_pools);
    // All mappings are gone through for it.
    let gigantic = if in_pools < GIGANTIC { 0 } else { gigantic_bytes().unwrap_or(0).min(huge) };
    Some([(BASE, small), (HUGE, huge - gigantic), (GIGANTIC, gigantic)])
}

/// Those on pages of 1 GiB, which the sums over all mappings do not tell from pages of 2 MiB. Out of line, as [`nodes`].
#[inline(never)]
fn gigantic_bytes() -> Option<usize> {
    let mut lines = Lines::open(c"/proc/thread-self/smaps")?;
    let mut gigantic = Gigantic::default();
    while let Some(line) = lines.next() {
        gigantic.read(line);
    }
    Some(gigantic.bytes)
}

/// Bytes on pages of 1 GiB in the lines of `smaps`.
#[derive(Default)]
struct Gigantic {
    is_inside: bool,
    bytes: usize,
}

impl Gigantic {
    fn read(&mut self, line: &[u8]) {
        match keyed_kib(line) {
            Some((b"KernelPageSize", kib)) => self.is_inside = kib << 10 == GIGANTIC,
            Some((b"Private_Hugetlb" | b"Shared_Hugetlb", kib)) if self.is_inside => self.bytes += kib << 10,
            _ => {}
        }
    }
}

/// The sums over all mappings: resident bytes without those on pages of a pool, and all by size.
fn all_mappings() -> Option<(u64, Coverage)> {
    let mut lines = Lines::open(c"/proc/thread-self/smaps_rollup")?;
    let (mut resident, mut coverage) = (0, Coverage::default());
    while let Some(line) = lines.next() {
        match keyed_kib(line) {
            Some((b"Rss", kib)) => {
                resident += kib << 10;
                coverage.small += kib << 10;
            }
            Some((b"AnonHugePages" | b"ShmemPmdMapped" | b"FilePmdMapped", kib)) => {
                coverage.huge += kib << 10;
                coverage.small = coverage.small.saturating_sub(kib << 10);
            }
            Some((b"Private_Hugetlb" | b"Shared_Hugetlb", kib)) => coverage.huge += kib << 10,
            _ => {}
        }
    }
    Some((resident as u64, coverage))
}

/// Resident bytes of the process by the kernel's own count; with `has_pool` those on pages of a pool, too, which costs more.
pub(crate) fn resident_bytes(has_pool: bool) -> Option<usize> {
    if !has_pool {
        let mut lines = Lines::open(c"/proc/thread-self/statm")?;
        let pages = lines.next()?.split(|byte| *byte == b' ').nth(1)?;
        return number(pages, 10)?.checked_mul(BASE);
    }
    let (mut lines, mut sum) = (Lines::open(c"/proc/thread-self/status")?, None);
    while let Some(line) = lines.next() {
        if let Some((b"VmRSS" | b"HugetlbPages", kib)) = keyed_kib(line) {
            sum = Some(sum.unwrap_or(0) + (kib << 10));
        }
    }
    sum
}

/// Whether a one-line settings file has `[word]` selected; `None` if it cannot be read.
pub(crate) fn is_selected(path: &CStr, word: &[u8]) -> Option<bool> {
    let mut lines = Lines::open(path)?;
    let line = lines.next()?;
    Some(
        line.split(|byte| *byte == b' ').any(|choice| {
            choice.strip_prefix(b"[").and_then(|choice| choice.strip_suffix(b"]")) == Some(word)
        }),
    )
}

/// `start-end perms …`, the head of a mapping in `smaps`.
fn mapping_range(line: &[u8]) -> Option<(usize, usize)> {
    let dash = line.iter().position(|byte| *byte == b'-')?;
    let space = line.iter().position(|byte| *byte == b' ')?;
    Some((number(&line[..dash], 16)?, number(line.get(dash + 1..space)?, 16)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::HUGE;

    #[test]
    fn both_readers_agree_about_fresh_memory() {
        const BYTES: usize = 8 << 20;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // Between pages without access: otherwise the kernel may join it with a mapping of another test's.
        // SAFETY: a new mapping.
        let room =
            unsafe { firsttouch_linux::sys::map_anonymous(0, BYTES + 2 * BASE, libc::PROT_NONE, 0) }.unwrap();
        let at = room + BASE;
        // SAFETY: memory of the test's.
        unsafe { firsttouch_linux::sys::protect(at, BYTES, protection) }.unwrap();
        // SAFETY: only forbids huge pages, so that small ones are certain.
        unsafe { firsttouch_linux::sys::advise(at, BYTES, libc::MADV_NOHUGEPAGE) }.unwrap();
        for page in 0..100 {
            // SAFETY: inside the mapping.
            unsafe { *((at + page * 4096) as *mut u8) = 1 };
        }
        let expected = Coverage { huge: 0, small: 100 * 4096 };
        assert_eq!(Reader::Smaps.read(at, at + BYTES), Some(expected));
        if let Some(reader @ Reader::Pagemap(_)) = Reader::open() {
            assert_eq!(reader.read(at, at + BYTES), Some(expected));
        }
        if let Some(nodes) = nodes(at, at + BYTES) {
            assert_eq!(nodes.iter().map(|(_, bytes)| bytes).sum::<usize>(), expected.small);
        }
        // SAFETY: not used any more.
        unsafe { firsttouch_linux::sys::unmap(room, BYTES + 2 * BASE) }.unwrap();
    }

    #[test]
    fn as_many_nodes_as_there_is_room_for_are_told_apart() {
        let mut nodes = ByNode::NOTHING;
        for node in 0..NODES {
            assert!(nodes.add(255 - node, BASE).and_then(|()| nodes.add(255 - node, HUGE)).is_some());
        }
        assert!(nodes.iter().all(|(_, bytes)| bytes == BASE + HUGE) && nodes.iter().count() == NODES);
        assert!(nodes.add(256, BASE).is_none());
    }

    #[test]
    fn pages_of_a_gibibyte_are_those_of_their_mappings() {
        let mut gigantic = Gigantic::default();
        for line in [
            "7f0000000000-7f0080000000 rw-p 00000000 00:0f 7 /anon_hugepage (deleted)",
            "KernelPageSize:  1048576 kB",
            "Shared_Hugetlb:        0 kB",
            "Private_Hugetlb: 2097152 kB",
            "7f0080000000-7f0080400000 rw-p 00000000 00:0f 8 /anon_hugepage (deleted)",
            "KernelPageSize:     2048 kB",
            "Private_Hugetlb:    4096 kB",
        ] {
            gigantic.read(line.as_bytes());
        }
        assert_eq!(gigantic.bytes, 2 * GIGANTIC);
    }

    #[test]
    fn heads_of_smaps_read() {
        assert_eq!(mapping_range(b"7f00-8000 rw-p 0000 00:00 0"), Some((0x7f00, 0x8000)));
        assert_eq!(mapping_range(b"Rss:  12 kB"), None);
    }
}
