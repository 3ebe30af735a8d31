//! What a process has resident, by kind, made of its `smaps`: a pure function.

use crate::{Resident, ResidentMemory};
use firsttouch_linux::maps::{Backing, Mapping};
use firsttouch_linux::smaps::{PMD_BYTES, Region};
use firsttouch_memory::may_be_placed;
use firsttouch_sorted::SortedMap;
use std::collections::BTreeMap;
use std::ops::{AddAssign, Range};

/// A file, as a mapping names it: device and inode.
type File = ((u32, u32), u64);

/// What one process had at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessResident {
    /// As the process sees it: what it shares is whole in it.
    pub memory: ResidentMemory,
    /// Its part: each page divided by the number of processes that map it. What is in `objects` and `shared_pools` is not in it.
    part: ResidentMemory,
    /// Its part of what is of no file, by page size.
    part_by_page_size: BTreeMap<u64, u64>,
    /// Its part of what is told of as [`Together::unserved`].
    unserved: Unserved,
    /// Shared memory, by the file that it looks like.
    objects: BTreeMap<File, Object>,
    /// Pages of a pool that several processes map, by the file that only the kernel knows: page size and bytes. The kernel
    /// tells no proportional set size of them.
    shared_pools: SortedMap<File, (u64, u64)>,
}

/// A piece of memory that processes share, as far as those that were read map it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Object {
    /// The part of it that falls to them.
    part: Resident,
    /// The size of its pages where they are not huge.
    page: u64,
    /// From where to where it is mapped, whether somebody touched that or not.
    offsets: Range<u64>,
}

impl Object {
    fn add(&mut self, other: &Object) {
        let first = if self.offsets.is_empty() { other.offsets.start } else { self.offsets.start };
        self.offsets = first.min(other.offsets.start)..self.offsets.end.max(other.offsets.end);
        self.page = self.page.max(other.page);
        self.part += other.part;
    }

    /// What is there of it, which is no more than what is mapped: processes are read one after the other, and who touches it meanwhile takes from the
    /// part of those that were read before.
    fn resident(&self) -> Resident {
        let Resident { bytes, huge_bytes } = self.part;
        let fitting = |part| proportion(part, self.offsets.end - self.offsets.start, bytes);
        Resident { bytes: fitting(bytes), huge_bytes: fitting(huge_bytes) }
    }
}

/// What several processes had together, where everything counts once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Together {
    /// By kind.
    pub memory: ResidentMemory,
    /// What is of no file, by page size.
    pub bytes_by_page_size: BTreeMap<u64, u64>,
    /// What came past the agent.
    pub unserved: Unserved,
}

/// Private memory on small pages in mappings that neither the agent made nor the C library for small blocks, as far as they tell: made by
/// an allocator of the program's own, by mmap(2), or for blocks between these two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unserved {
    /// All of it.
    pub bytes: u64,
    /// What lies as arenas of the C library do that are full: it may be these.
    pub arena_like_bytes: u64,
}

impl AddAssign for Unserved {
    fn add_assign(&mut self, other: Unserved) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.arena_like_bytes = self.arena_like_bytes.saturating_add(other.arena_like_bytes);
    }
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

fn add_pages(sizes: &mut BTreeMap<u64, u64>, page: u64, resident: Resident) {
    add(sizes, PMD_BYTES, resident.huge_bytes);
    add(sizes, page, resident.bytes - resident.huge_bytes);
}

impl ProcessResident {
    /// Adds up the mappings of a process.
    pub fn of(regions: &[Region]) -> ProcessResident {
        let mut all = ProcessResident::default();
        for (place, region) in regions.iter().enumerate() {
            let next = regions.get(place + 1).map(|next| &next.mapping);
            all.add_transparent(region, origin(&region.mapping, next));
            all.add_pool(region);
        }
        all
    }

    /// Everything but the pages of a pool.
    fn add_transparent(&mut self, region: &Region, origin: Origin) {
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
        let [own_part, other_part] = parts;
        *private(&mut self.memory, mapping.start) += own;
        *private(&mut self.part, mapping.start) += own_part;
        let bytes = own_part.bytes - own_part.huge_bytes;
        self.unserved += match origin {
            Origin::Served => Unserved::default(),
            Origin::ArenaLike => Unserved { bytes, arena_like_bytes: bytes },
            Origin::Unserved => Unserved { bytes, arena_like_bytes: 0 },
        };
        add_pages(&mut self.part_by_page_size, page, own_part);
        if is_shared {
            self.memory.shared += other;
            let offsets = mapping.offset..mapping.offset.saturating_add(mapping.bytes());
            let object = self.objects.entry((mapping.device, mapping.inode)).or_default();
            object.add(&Object { part: other_part, page, offsets });
        } else {
            self.memory.files += other;
            self.part.files += other_part;
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

/// Who made a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// The agent, or the C library for small blocks; or it is of a file.
    Served,
    /// The C library, or somebody whose mappings lie alike.
    ArenaLike,
    /// Somebody else.
    Unserved,
}

/// Who made a mapping. The C library's small blocks are in its `brk` heap and in arenas, each of which begins at a multiple of its size and
/// is followed by what is not used of it yet: by nothing once it is full. The kernel joins full ones with the next.
fn origin(mapping: &Mapping, next: Option<&Mapping>) -> Origin {
    const ARENA_BYTES: u64 = 64 << 20;
    let is_others = mapping.backing() == Backing::Anonymous
        && mapping.name != "[heap]"
        && !may_be_placed(mapping.start as *const u8);
    if !is_others {
        return Origin::Served;
    }
    let rest = next.filter(|next| next.is_inaccessible() && next.start == mapping.end);
    let end = rest.map_or(mapping.end, |rest| rest.end);
    let is_like = mapping.name.is_empty()
        && mapping.start.is_multiple_of(ARENA_BYTES)
        && mapping.end.checked_next_multiple_of(ARENA_BYTES) == Some(end);
    match is_like {
        true if rest.is_some() && end - mapping.start == ARENA_BYTES => Origin::Served,
        true => Origin::ArenaLike,
        false => Origin::Unserved,
    }
}

impl Together {
    /// Adds up processes that were read at one moment.
    pub fn of<'a>(processes: impl Iterator<Item = &'a ProcessResident>) -> Together {
        let mut all = Together::default();
        let mut objects: BTreeMap<File, Object> = BTreeMap::new();
        let mut pools: SortedMap<File, (u64, u64)> = SortedMap::new();
        for process in processes {
            all.memory += process.part;
            all.unserved += process.unserved;
            for (page, bytes) in &process.part_by_page_size {
                add(&mut all.bytes_by_page_size, *page, *bytes);
            }
            for (file, object) in &process.objects {
                objects.entry(*file).or_default().add(object);
            }
            for (file, (page, bytes)) in &process.shared_pools {
                let (_, most) = pools.entry(*file).or_insert((*page, 0));
                *most = (*most).max(*bytes);
            }
        }
        for object in objects.into_values() {
            let resident = object.resident();
            all.memory.shared += resident;
            add_pages(&mut all.bytes_by_page_size, object.page, resident);
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
    fn what_an_allocator_of_the_programs_own_maps_is_told_from_the_c_librarys() {
        let small = |range: &str, name: &str| {
            region(&format!("{range} 00000000 00:00 0 {name}"), &[("Rss", 8192), ("Anonymous", 8192)])
        };
        let none = |range: &str| region(&format!("{range} ---p 00000000 00:00 0"), &[("Rss", 0)]);
        let unserved = |text: &[String]| {
            let process = ProcessResident::of(&parse_smaps(&text.concat()).unwrap());
            let Unserved { bytes, arena_like_bytes } = Together::of([&process].into_iter()).unserved;
            assert_eq!(bytes >> 20 << 20, bytes);
            ((bytes - arena_like_bytes) >> 20, arena_like_bytes >> 20)
        };
        assert_eq!(unserved(&[small("55d0c0000000-55d0c1000000 rw-p", "[heap]")]), (0, 0));
        assert_eq!(unserved(&[small("7ffc00000000-7ffc01000000 rw-p", "[stack]")]), (0, 0));
        assert_eq!(unserved(&[small("200000000000-200001000000 rw-p", "")]), (0, 0), "the agent's");
        let arena = small("7f1000000000-7f1001000000 rw-p", "");
        assert_eq!(unserved(&[arena.clone(), none("7f1001000000-7f1004000000")]), (0, 0), "of glibc");
        for other in ["7f1001000000-7f1003000000", "7f1001000000-7f1008000000", "7f1002000000-7f1004000000"] {
            assert_eq!(unserved(&[arena.clone(), none(other)]), (8, 0), "{other}");
        }
        let joined = [small("7f1000000000-7f1005000000 rw-p", ""), none("7f1005000000-7f1008000000")];
        assert_eq!(unserved(&joined), (0, 8), "full, and joined with the next");
        assert_eq!(unserved(&[small("7f1000000000-7f1008000000 rw-p", "")]), (0, 8), "two full ones");
        assert_eq!(unserved(&[small("7f1001000000-7f1009000000 rw-p", "")]), (8, 0));
        assert_eq!(unserved(&[small("7f1000000000-7f1001000000 rw-p", "[anon:jemalloc_pg]")]), (8, 0));
        let half_huge = [("Rss", 8192), ("Pss", 4096), ("Anonymous", 8192), ("AnonHugePages", 4096)];
        assert_eq!(
            unserved(&[region("7f1000000000-7f1001000000 rw-p 00000000 00:00 0", &half_huge)]),
            (2, 0)
        );
    }

    /// One was read while it had the memory alone, the other once both had it.
    #[test]
    fn shared_memory_is_no_larger_than_what_is_mapped_of_it() {
        let seen = |pss: u64, mapped: &str| {
            let line = format!("{mapped} 00:01 9 /dev/zero (deleted)");
            let figures = [("KernelPageSize", 4), ("Rss", 4096), ("Pss", pss), ("ShmemPmdMapped", 2048)];
            ProcessResident::of(&parse_smaps(&region(&line, &figures)).unwrap())
        };
        let shared = |one, other| Together::of([&one, &other].into_iter()).memory.shared;
        let first = seen(4096, "7f1000000000-7f1000400000 rw-s 00000000");
        assert_eq!(
            shared(first.clone(), seen(2048, "7f1000000000-7f1000400000 rw-s 00000000")),
            resident(4, 2)
        );
        // Where each maps another half there is twice as much.
        assert_eq!(shared(first, seen(4096, "7f1000000000-7f1000400000 rw-s 00400000")), resident(8, 4));
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
