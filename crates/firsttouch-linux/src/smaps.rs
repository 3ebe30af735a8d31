//! What is resident where: `/proc/PID/smaps`, `smaps_rollup` and `numa_maps`.

use crate::cpulist::parse_list;
use crate::maps::{Mapping, hex, kilobytes, process_file, read_text_first, unreadable};
use crate::process::Status;
use crate::rollup::hidden_bytes;
use crate::root::Root;
use crate::urgent::Precedence;
use std::collections::BTreeMap;
use std::io;

/// The size that `AnonHugePages`, `ShmemPmdMapped` and `FilePmdMapped` are counted in, on machines with base pages of 4 KiB.
pub const PMD_BYTES: u64 = 2 << 20;

/// The figures of one mapping, or of a whole process (`smaps_rollup`), in bytes.
///
/// `None` is a field this kernel does not print.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Resident, hugetlb pages not included.
    pub rss: Option<u64>,
    /// The proportional set size: of these, each page divided by the number of processes that map it.
    pub pss: Option<u64>,
    /// Of the resident bytes, pages of no file and no shared memory: the process's own, copies of a file's pages too.
    pub anonymous: Option<u64>,
    /// Of the resident bytes, on pages whose accessed bit is set: used since somebody last cleared it.
    pub referenced: Option<u64>,
    /// Of these, given up by the program (`MADV_FREE`): the kernel takes them back when it likes, unless they are written again.
    pub lazy_free: Option<u64>,
    /// Of these, anonymous memory on huge pages mapped by one entry. Multi-size pages are invisible here.
    pub anon_huge_pages: Option<u64>,
    /// Shared memory on such pages.
    pub shmem_pmd_mapped: Option<u64>,
    /// Page cache on such pages.
    pub file_pmd_mapped: Option<u64>,
    /// Hugetlb pages mapped by this process only.
    pub private_hugetlb: Option<u64>,
    /// Hugetlb pages mapped by several.
    pub shared_hugetlb: Option<u64>,
    /// Swapped out.
    pub swap: Option<u64>,
}

impl Figures {
    /// Resident bytes on transparent huge pages; unknown fields count nothing.
    pub fn transparent_huge(&self) -> u64 {
        sum([self.anon_huge_pages, self.shmem_pmd_mapped, self.file_pmd_mapped])
    }

    /// Resident bytes on hugetlb pages; unknown fields count nothing.
    pub fn hugetlb(&self) -> u64 {
        sum([self.private_hugetlb, self.shared_hugetlb])
    }

    fn take(&mut self, key: &str, bytes: u64) {
        let field = match key {
            "Rss" => &mut self.rss,
            "Pss" => &mut self.pss,
            "Anonymous" => &mut self.anonymous,
            "Referenced" => &mut self.referenced,
            "LazyFree" => &mut self.lazy_free,
            "AnonHugePages" => &mut self.anon_huge_pages,
            "ShmemPmdMapped" => &mut self.shmem_pmd_mapped,
            "FilePmdMapped" => &mut self.file_pmd_mapped,
            "Private_Hugetlb" => &mut self.private_hugetlb,
            "Shared_Hugetlb" => &mut self.shared_hugetlb,
            "Swap" => &mut self.swap,
            _ => return,
        };
        *field = Some(bytes);
    }
}

fn sum<const N: usize>(figures: [Option<u64>; N]) -> u64 {
    figures.into_iter().flatten().fold(0, u64::saturating_add)
}

/// One mapping with its figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// The mapping.
    pub mapping: Mapping,
    /// Its figures.
    pub figures: Figures,
    /// The page size the kernel uses for the mapping, in bytes.
    pub kernel_page_bytes: Option<u64>,
    /// The page size of the translation, in bytes.
    pub mmu_page_bytes: Option<u64>,
    /// A page fault here could give a transparent huge page.
    pub thp_eligible: Option<bool>,
    /// The two-letter flags, for example `rd wr mr mw me ac nh`.
    pub flags: Option<String>,
}

impl Region {
    /// Carries this two-letter flag: `nh` no huge pages wanted, `hg` huge pages wanted, `gd` grows down, `ht` hugetlb…
    pub fn has_flag(&self, flag: &str) -> bool {
        self.flags.as_deref().is_some_and(|flags| flags.split(' ').any(|word| word == flag))
    }

    fn take(&mut self, line: &str) -> Option<()> {
        let (key, rest) = line.split_once(':')?;
        match key {
            "VmFlags" => self.flags = Some(rest.trim().to_owned()),
            "THPeligible" => self.thp_eligible = Some(rest.trim() != "0"),
            _ => {
                // Fields that later kernels add need not be sizes.
                if let Some(bytes) = kilobytes(rest) {
                    match key {
                        "KernelPageSize" => self.kernel_page_bytes = Some(bytes),
                        "MMUPageSize" => self.mmu_page_bytes = Some(bytes),
                        _ => self.figures.take(key, bytes),
                    }
                }
            }
        }
        Some(())
    }
}

/// Reads the text of `smaps`; `None` if a line does not read.
pub fn parse_smaps(text: &str) -> Option<Vec<Region>> {
    let mut regions: Vec<Region> = Vec::new();
    for line in text.lines() {
        if let Some(mapping) = Mapping::parse(line) {
            regions.push(Region {
                mapping,
                figures: Figures::default(),
                kernel_page_bytes: None,
                mmu_page_bytes: None,
                thp_eligible: None,
                flags: None,
            });
        } else {
            regions.last_mut()?.take(line)?;
        }
    }
    Some(regions)
}

/// Reads the text of `smaps_rollup`; `None` if it is something else.
pub fn parse_smaps_rollup(text: &str) -> Option<Figures> {
    let mut lines = text.lines();
    Mapping::parse(lines.next()?)?;
    let mut figures = Figures::default();
    for line in lines {
        let (key, rest) = line.split_once(':')?;
        if let Some(bytes) = kilobytes(rest) {
            figures.take(key, bytes);
        }
    }
    Some(figures)
}

/// One line of `numa_maps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRegion {
    /// First address of the mapping.
    pub start: u64,
    /// Its memory policy, for example `default` or `interleave:0-1`.
    pub policy: String,
    /// Resident pages by node, in pages of [`NodeRegion::kernel_page_bytes`].
    pub pages_by_node: BTreeMap<u32, u64>,
    /// The page size the counts are in, in bytes; `None` where nothing is resident.
    pub kernel_page_bytes: Option<u64>,
    /// It maps a file, whose pages lie where whoever read them first had them: no policy of the process governs them.
    pub is_of_file: bool,
}

impl NodeRegion {
    fn parse(line: &str) -> Option<NodeRegion> {
        let mut words = line.split(' ');
        let start = hex(words.next()?)?;
        let mut policy = words.next()?.to_owned();
        // `prefer (many):0-1` and `weighted interleave:0-1` are two words.
        if matches!(policy.as_str(), "prefer" | "weighted") {
            policy = format!("{policy} {}", words.next()?);
        }
        let mut region = NodeRegion {
            start,
            policy,
            pages_by_node: BTreeMap::new(),
            kernel_page_bytes: None,
            is_of_file: false,
        };
        let mut is_huge = false;
        // A file name may hold escaped blanks only, so every word stands for itself.
        for word in words {
            // Reserved huge pages are those of a file that only the kernel knows.
            is_huge |= word == "huge";
            let Some((key, value)) = word.split_once('=') else { continue };
            region.is_of_file |= key == "file";
            if key == "kernelpagesize_kB" {
                region.kernel_page_bytes = Some(value.parse::<u64>().ok()?.checked_mul(1024)?);
            } else if let Some(node) = key.strip_prefix('N').and_then(|node| node.parse().ok()) {
                region.pages_by_node.insert(node, value.parse().ok()?);
            }
        }
        region.is_of_file &= !is_huge;
        Some(region)
    }

    /// The nodes that its policy names; `None` where it names none.
    pub fn policy_nodes(&self) -> Option<Vec<u32>> {
        parse_list(self.policy.rsplit_once(':')?.1)
    }

    /// Resident bytes by node; `None` where pages are there but not their size.
    pub fn bytes_by_node(&self) -> Option<BTreeMap<u32, u64>> {
        if self.pages_by_node.is_empty() {
            return Some(BTreeMap::new());
        }
        let page = self.kernel_page_bytes?;
        self.pages_by_node.iter().map(|(&node, &pages)| Some((node, pages.checked_mul(page)?))).collect()
    }
}

/// Reads the text of `numa_maps`; `None` if a line does not read.
pub fn parse_numa_maps(text: &str) -> Option<Vec<NodeRegion>> {
    text.lines().map(NodeRegion::parse).collect()
}

/// The mappings of a process with their figures. Walks the page tables: the cost grows with what is resident.
pub fn read_smaps(root: &Root, pid: u32) -> io::Result<Vec<Region>> {
    read_smaps_first(root, pid, &Precedence::none())
}

/// The same, before other threads: while the kernel walks a mapping the process cannot change any, and on a busy machine the
/// walk is interrupted for longer than it takes. Huge pages that the kernel leaves out
/// ([`hidden_bytes`]) are there.
pub fn read_smaps_first(root: &Root, pid: u32, precedence: &Precedence) -> io::Result<Vec<Region>> {
    let path = process_file(root, pid, "smaps");
    let counted = Status::read(root, pid).ok().and_then(|status| status.vm_rss_bytes).unwrap_or(0);
    let text = read_text_first(&path, precedence)?;
    let mut regions = parse_smaps(&text).ok_or_else(|| unreadable(&path))?;
    let shown = regions.iter().filter_map(|region| region.figures.rss).fold(0, u64::saturating_add);
    let missing = counted.saturating_sub(shown);
    if missing >= PMD_BYTES && are_watched(root) {
        // It may have ended.
        let on_nodes = read_numa_maps_first(root, pid, precedence).unwrap_or_default();
        show_hidden(&mut regions, &on_nodes, missing);
    }
    Ok(regions)
}

/// Whether the kernel of a machine watches memory.
fn are_watched(root: &Root) -> bool {
    let setting = root.read("proc/sys/kernel/numa_balancing").ok().flatten();
    setting.is_some_and(|mode| mode.trim() != "0")
}

/// Adds such huge pages as Linux 6.1 leaves out ([`hidden_bytes`]), at most `most` bytes, to the figures of the mappings that they lie in.
fn show_hidden(regions: &mut [Region], on_nodes: &[NodeRegion], mut most: u64) {
    let mut on_nodes = on_nodes.iter().peekable();
    for Region { mapping, figures, .. } in regions {
        while on_nodes.next_if(|other| other.start < mapping.start).is_some() {}
        let Some(same) = on_nodes.next_if(|other| other.start == mapping.start) else { continue };
        // No code and nothing else of a file is watched.
        let is_shared = mapping.is_shared_memory();
        if same.is_of_file && !is_shared {
            continue;
        }
        let all = same.bytes_by_node().unwrap_or_default().into_values().fold(0, u64::saturating_add);
        let shown = figures.rss.unwrap_or(0).saturating_add(figures.hugetlb());
        let hidden = hidden_bytes(shown.saturating_add(most), all, shown);
        most -= hidden;
        let add = |figure: &mut Option<u64>| *figure = Some(figure.unwrap_or(0).saturating_add(hidden));
        add(&mut figures.rss);
        // Who shares them is not known.
        add(&mut figures.pss);
        if is_shared {
            add(&mut figures.shmem_pmd_mapped);
        } else {
            add(&mut figures.anonymous);
            add(&mut figures.anon_huge_pages);
        }
    }
}

/// Resident pages by node, before other threads, as [`read_smaps_first`]. Not found where the kernel has no NUMA support.
pub fn read_numa_maps_first(root: &Root, pid: u32, precedence: &Precedence) -> io::Result<Vec<NodeRegion>> {
    let path = process_file(root, pid, "numa_maps");
    parse_numa_maps(&read_text_first(&path, precedence)?).ok_or_else(|| unreadable(&path))
}

/// Resident bytes of a process by NUMA node, but for pages of files and shared memory, which lie where others have them; `None` if
/// the kernel does not say, or if the process has ended without having been waited for.
pub fn read_bytes_by_node(root: &Root, pid: u32) -> io::Result<Option<BTreeMap<u32, u64>>> {
    let mut regions = read_numa_maps_first(root, pid, &Precedence::none())?;
    if regions.is_empty() {
        return Ok(None);
    }
    regions.retain(|region| !region.is_of_file);
    Ok(bytes_by_node(&regions))
}

/// Resident bytes by page size. Multi-size pages count as base pages: smaps does not show them.
pub fn bytes_by_page_size(regions: &[Region]) -> BTreeMap<u64, u64> {
    let mut sizes = BTreeMap::new();
    let mut add = |page: u64, bytes: u64| {
        if bytes > 0 {
            let sum = sizes.entry(page).or_insert(0u64);
            *sum = sum.saturating_add(bytes);
        }
    };
    for region in regions {
        let huge = region.figures.transparent_huge();
        let page = region.kernel_page_bytes.unwrap_or(4096);
        add(page, region.figures.hugetlb());
        add(PMD_BYTES, huge);
        add(page, region.figures.rss.unwrap_or(0).saturating_sub(huge));
    }
    sizes
}

/// Resident bytes by node; `None` if a line does not say its page size.
pub fn bytes_by_node(regions: &[NodeRegion]) -> Option<BTreeMap<u32, u64>> {
    let mut nodes = BTreeMap::new();
    for region in regions {
        for (node, bytes) in region.bytes_by_node()? {
            let sum = nodes.entry(node).or_insert(0u64);
            *sum = sum.saturating_add(bytes);
        }
    }
    Some(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maps::read_text;
    use proptest::prelude::*;

    const SMAPS: &str = "\
7f0000000000-7f0010000000 rw-p 00000000 00:00 0 
Size:             262144 kB
KernelPageSize:        4 kB
MMUPageSize:           4 kB
Rss:              262144 kB
AnonHugePages:    260096 kB
ShmemPmdMapped:        0 kB
FilePmdMapped:         0 kB
Shared_Hugetlb:        0 kB
Private_Hugetlb:       0 kB
Swap:                  0 kB
THPeligible:           1
VmFlags: rd wr mr mw me ac hg 
7f0020000000-7f0020400000 rw-p 00000000 00:0f 99                         /anon_hugepage (deleted)
Size:               4096 kB
KernelPageSize:     2048 kB
MMUPageSize:        2048 kB
Rss:                   0 kB
AnonHugePages:         0 kB
Private_Hugetlb:    4096 kB
ProtectionKey:         0
VmFlags: rd wr mr mw me de ht 
";

    #[test]
    fn regions_carry_their_figures() {
        let regions = parse_smaps(SMAPS).unwrap();
        assert_eq!(regions.len(), 2);
        assert_eq!(regions[0].figures.anon_huge_pages, Some(260_096 << 10));
        assert_eq!(regions[0].thp_eligible, Some(true));
        assert!(regions[0].has_flag("hg") && !regions[0].has_flag("nh"));
        assert_eq!(regions[1].mmu_page_bytes, Some(2 << 20));
        assert_eq!(regions[1].figures.swap, None, "what the kernel does not print is unknown");
        let sizes = bytes_by_page_size(&regions);
        assert_eq!(sizes, BTreeMap::from([(4096, 2 << 20), (2 << 20, (254 << 20) + (4 << 20))]));
    }

    #[test]
    fn the_rollup_reads() {
        let text = "55d000000000-7fff00000000 ---p 00000000 00:00 0    [rollup]\nRss:   1024 kB\nAnonHugePages:  0 kB\n";
        let figures = parse_smaps_rollup(text).unwrap();
        assert_eq!((figures.rss, figures.anon_huge_pages, figures.swap), (Some(1 << 20), Some(0), None));
        assert_eq!(parse_smaps_rollup("Rss: 1 kB"), None);
    }

    #[test]
    fn pages_are_counted_in_their_own_size() {
        let text = "7f0000000000 interleave:0-1 anon=1024 dirty=1024 N0=512 N1=512 kernelpagesize_kB=4\n\
            7f0020000000 default file=/anon_hugepage\\040(deleted) huge anon=2 dirty=2 N1=2 kernelpagesize_kB=2048\n\
            7f0030000000 default\n";
        let regions = parse_numa_maps(text).unwrap();
        assert_eq!(regions[0].policy, "interleave:0-1");
        assert_eq!((regions[0].policy_nodes(), regions[2].policy_nodes()), (Some(vec![0, 1]), None));
        let of_two_words =
            parse_numa_maps("7f00 weighted interleave:0-1\n7f01 prefer (many):1\n7f02 bind=static:3")
                .unwrap();
        let nodes: Vec<_> = of_two_words.iter().map(NodeRegion::policy_nodes).collect();
        assert_eq!(nodes, [Some(vec![0, 1]), Some(vec![1]), Some(vec![3])]);
        assert_eq!(bytes_by_node(&regions), Some(BTreeMap::from([(0, 2 << 20), (1, (2 << 20) + (4 << 20))])));
        let unsized_pages = parse_numa_maps("7f00 default anon=1 N0=1").unwrap();
        assert_eq!(bytes_by_node(&unsized_pages), None);
    }

    #[test]
    fn the_two_readings_of_ourselves_agree() {
        let root = &Root::live();
        let held = std::hint::black_box(vec![1u8; 32 << 20]);
        let regions = read_smaps(root, std::process::id()).unwrap();
        let total: u64 = bytes_by_page_size(&regions).values().sum();
        let rollup = read_text(&process_file(root, std::process::id(), "smaps_rollup")).unwrap();
        let rollup = parse_smaps_rollup(&rollup).unwrap().rss.unwrap();
        assert!(total >= held.len() as u64);
        assert!(total.abs_diff(rollup) < 8 << 20, "{total} against {rollup}");
    }

    const MIB: u64 = 1 << 20;

    #[test]
    fn huge_pages_that_are_watched_are_those_of_their_mappings() {
        let smaps = "10000000-18000000 rw-p 00000000 00:00 0\nRss: 4096 kB\nPss: 4096 kB\nAnonymous: 4096 kB\nAnonHugePages: 2048 kB\n\
                     20000000-20400000 rw-p 00000000 00:00 0\nRss: 12 kB\nAnonymous: 12 kB\n\
                     30000000-30400000 rw-s 00000000 00:01 7 /dev/zero (deleted)\nRss: 0 kB\n\
                     40000000-40400000 r-xp 00000000 08:01 7 /lib/code\nRss: 0 kB\n";
        let numa_maps = "10000000 default anon=4096 N0=3072 N1=1024 kernelpagesize_kB=4\n\
                         18000000 default\n\
                         20000000 default anon=600 N0=600 kernelpagesize_kB=4\n\
                         30000000 default file=/dev/zero\\040(deleted) N1=1024 kernelpagesize_kB=4\n\
                         40000000 default file=/lib/code N1=1024 kernelpagesize_kB=4\n";
        let shown = |most: u64| {
            let mut regions = parse_smaps(smaps).unwrap();
            show_hidden(&mut regions, &parse_numa_maps(numa_maps).unwrap(), most * MIB);
            regions
                .iter()
                .map(|Region { figures, .. }| {
                    [figures.rss, figures.anonymous, Some(figures.transparent_huge())]
                        .map(|it| it.unwrap_or(0) / MIB)
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(shown(100), [[16, 16, 14], [2, 2, 2], [4, 0, 4], [0, 0, 0]]);
        assert_eq!(shown(5), [[8, 8, 6], [0, 0, 0], [0, 0, 0], [0, 0, 0]]);
        assert_eq!(shown(0), [[4, 4, 2], [0, 0, 0], [0, 0, 0], [0, 0, 0]]);
    }

    proptest! {
        #[test]
        fn any_smaps_is_survived(text in "([0-9a-f]{1,5}-[0-9a-f]{1,5} rw-p 0 00:00 0\n)?([A-Za-z_]{1,14}: {0,3}[0-9]{0,22} ?(kB)?\n){0,5}") {
            if let Some(regions) = parse_smaps(&text) {
                let _ = bytes_by_page_size(&regions);
            }
            let _ = parse_smaps_rollup(&text);
        }

        #[test]
        fn any_numa_maps_is_survived(text in "([0-9a-f]{1,9} [a-z:0-9]{1,9}( (N|anon|kernelpagesize_kB)[0-9]{0,3}=[0-9]{0,22}){0,4}\n){0,4}") {
            if let Some(regions) = parse_numa_maps(&text) {
                let _ = bytes_by_node(&regions);
            }
        }
    }
}
