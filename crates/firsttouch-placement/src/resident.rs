//! What a process has resident, by kind, made of its `smaps`: a pure function.

use crate::{Resident, ResidentMemory};
use firsttouch_linux::smaps::{PMD_BYTES, Region};
use firsttouch_memory::may_be_placed;
use firsttouch_sorted::SortedMap;
use std::collections::BTreeMap;

/// A file, as a mapping names it: device and inode.
type File = ((u32, u32), u64);

/// What one process had at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessResident {
    /// As the process sees it: what it shares is whole in it.
    pub memory: ResidentMemory,
    /// Its part: each page divided by the number of processes that map it. Shared pages of a pool are not in it.
    part: ResidentMemory,
    /// Its part of what is of no file, by page size.
    part_by_page_size: BTreeMap<u64, u64>,
    /// Pages of a pool that several processes map, by the file that only the kernel knows: page size and bytes. The kernel
    /// tells no proportional set size of them.
    shared_pools: SortedMap<File, (u64, u64)>,
}

/// What several processes had together, where everything counts once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Together {
    /// By kind.
    pub memory: ResidentMemory,
    /// What is of no file, by page size.
    pub bytes_by_page_size: BTreeMap<u64, u64>,
}

/// `bytes` in the proportion of `part` to `whole`, at most `bytes`.
fn proportion(bytes: u64, part: u64, whole: u64) -> u64 {
    if whole == 0 {
        bytes
    } else {
        (u128::from(bytes) * u128::from(part.min(whole)) / u128::from(whole)) as u64
    }
}

fn add(sizes: &mut BTreeMap<u64, u64>, page: u64, bytes: u64) {
    if bytes > 0 {
        let sum = sizes.entry(page).or_insert(0);
        *sum = sum.saturating_add(bytes);
    }
}

impl ProcessResident {
    /// Adds up the mappings of a process.
    pub fn of(regions: &[Region]) -> ProcessResident {
        let mut all = ProcessResident::default();
        for region in regions {
            all.add_transparent(region);
            all.add_pool(region);
        }
        all
    }

    /// Everything but the pages of a pool.
    fn add_transparent(&mut self, region: &Region) {
        let (mapping, figures) = (&region.mapping, &region.figures);
        let Some(rss) = figures.rss.filter(|rss| *rss > 0) else { return };
        let pss = figures.pss.unwrap_or(rss);
        let page = region.kernel_page_bytes.unwrap_or(4096).min(PMD_BYTES);
        let anonymous = figures.anonymous.unwrap_or(0).min(rss);
        let shared_huge = figures.shmem_pmd_mapped.unwrap_or(0);
        let own =
            Resident { bytes: anonymous, huge_bytes: figures.anon_huge_pages.unwrap_or(0).min(anonymous) };
        let other = Resident {
            bytes: rss - anonymous,
            huge_bytes: (shared_huge + figures.file_pmd_mapped.unwrap_or(0)).min(rss - anonymous),
        };
        let is_shared = mapping.is_shared_memory() || shared_huge > 0;
        let parts = [own, other].map(|resident| Resident {
            bytes: proportion(resident.bytes, pss, rss),
            huge_bytes: proportion(resident.huge_bytes, pss, rss),
        });
        for (sums, [own, other]) in [(&mut self.memory, [own, other]), (&mut self.part, parts)] {
            *private(sums, mapping.start) += own;
            *(if is_shared { &mut sums.shared } else { &mut sums.files }) += other;
        }
        for part in parts.into_iter().take(if is_shared { 2 } else { 1 }) {
            add(&mut self.part_by_page_size, PMD_BYTES, part.huge_bytes);
            add(&mut self.part_by_page_size, page, part.bytes - part.huge_bytes);
        }
    }

    fn add_pool(&mut self, region: &Region) {
        let bytes = region.figures.hugetlb();
        if bytes == 0 {
            return;
        }
        let (mapping, resident) = (&region.mapping, Resident { bytes, huge_bytes: bytes });
        let page = region.kernel_page_bytes.unwrap_or(PMD_BYTES);
        if mapping.shared {
            self.memory.shared += resident;
            let (_, known) = self.shared_pools.entry((mapping.device, mapping.inode)).or_insert((page, 0));
            *known = known.saturating_add(bytes);
        } else {
            *private(&mut self.memory, mapping.start) += resident;
            *private(&mut self.part, mapping.start) += resident;
            add(&mut self.part_by_page_size, page, bytes);
        }
    }
}

/// Where private memory at an address counts.
fn private(sums: &mut ResidentMemory, address: u64) -> &mut Resident {
    if may_be_placed(address as *const u8) { &mut sums.placed } else { &mut sums.private }
}

impl Together {
    /// Adds up processes that were read at one moment.
    pub fn of<'a>(processes: impl Iterator<Item = &'a ProcessResident>) -> Together {
        let mut all = Together::default();
        let mut pools: SortedMap<File, (u64, u64)> = SortedMap::new();
        for process in processes {
            all.memory += process.part;
            for (page, bytes) in &process.part_by_page_size {
                add(&mut all.bytes_by_page_size, *page, *bytes);
            }
            for (file, (page, bytes)) in &process.shared_pools {
                let (_, most) = pools.entry(*file).or_insert((*page, 0));
                *most = (*most).max(*bytes);
            }
        }
        for (page, bytes) in pools.into_values() {
            all.memory.shared += Resident { bytes, huge_bytes: bytes };
            add(&mut all.bytes_by_page_size, page, bytes);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_linux::smaps::parse_smaps;

    const MIB: u64 = 1 << 20;

    fn region(line: &str, kilobytes: &[(&str, u64)]) -> String {
        let fields: String = kilobytes.iter().map(|(key, value)| format!("{key}: {value} kB\n")).collect();
        format!("{line}\n{fields}")
    }

    fn resident(mib: u64, huge_mib: u64) -> Resident {
        Resident { bytes: mib * MIB, huge_bytes: huge_mib * MIB }
    }

    /// A heap; a placed block; a library with a copied page; shared memory of two; pages of a pool of two.
    fn process() -> ProcessResident {
        let text = [
            region(
                "55d0c0000000-55d0c1000000 rw-p 00000000 00:00 0 [heap]",
                &[
                    ("KernelPageSize", 4),
                    ("Rss", 8192),
                    ("Pss", 4096),
                    ("Anonymous", 8192),
                    ("AnonHugePages", 2048),
                ],
            ),
            region(
                "200000000000-200001000000 rw-p 00000000 00:00 0",
                &[
                    ("KernelPageSize", 4),
                    ("Rss", 16384),
                    ("Pss", 16384),
                    ("Anonymous", 16384),
                    ("AnonHugePages", 16384),
                ],
            ),
            region(
                "7f0000000000-7f0001000000 rw-p 00000000 08:01 7 /lib/libc.so",
                &[
                    ("KernelPageSize", 4),
                    ("Rss", 4096),
                    ("Pss", 4096),
                    ("Anonymous", 1024),
                    ("AnonHugePages", 0),
                ],
            ),
            region(
                "7f1000000000-7f1001000000 rw-s 00000000 00:01 9 /dev/zero (deleted)",
                &[
                    ("KernelPageSize", 4),
                    ("Rss", 8192),
                    ("Pss", 4096),
                    ("Anonymous", 0),
                    ("ShmemPmdMapped", 4096),
                ],
            ),
            region(
                "7f2000000000-7f2001000000 rw-s 00000000 00:0f 11 /anon_hugepage (deleted)",
                &[("KernelPageSize", 1_048_576), ("Rss", 0), ("Shared_Hugetlb", 1_048_576)],
            ),
        ];
        ProcessResident::of(&parse_smaps(&text.concat()).unwrap())
    }

    #[test]
    fn every_byte_is_of_one_kind() {
        let memory = process().memory;
        assert_eq!(memory.placed, resident(16, 16));
        assert_eq!(memory.private, resident(9, 2), "the heap and a copied page of the library");
        assert_eq!(memory.shared, resident(8 + 1024, 4 + 1024));
        assert_eq!(memory.files, resident(3, 0));
    }

    #[test]
    fn what_two_have_counts_once() {
        let (one, other) = (process(), process());
        let both = Together::of([&one, &other].into_iter());
        assert_eq!(both.memory.placed, resident(32, 32));
        assert_eq!(both.memory.private, resident(8 + 2, 2));
        assert_eq!(both.memory.shared, resident(8 + 1024, 4 + 1024));
        let sizes = BTreeMap::from([
            (4096, (6 + 2 + 4) * MIB),
            (2 * MIB, (2 + 32 + 4) * MIB),
            (1024 * MIB, 1024 * MIB),
        ]);
        assert_eq!(both.bytes_by_page_size, sizes);
        assert_eq!(both.bytes_by_page_size.values().sum::<u64>(), both.memory.of_no_file().bytes);
    }

    #[test]
    fn figures_that_contradict_each_other_are_survived() {
        let text = region(
            "7f0000000000-7f0001000000 rw-p 00000000 00:00 0",
            &[
                ("Rss", 4),
                ("Pss", 4096),
                ("Anonymous", 8192),
                ("AnonHugePages", 2048),
                ("ShmemPmdMapped", 9000),
            ],
        );
        let memory = ProcessResident::of(&parse_smaps(&text).unwrap()).memory;
        assert_eq!(memory.private, Resident { bytes: 4096, huge_bytes: 4096 });
        assert_eq!(memory.shared, Resident::default());
    }
}
