//! Adds to `smaps` the huge pages that Linux 6.1 leaves out ([`hidden_bytes`]).

use crate::rollup::hidden_bytes;
use crate::root::Root;
use crate::smaps::{NodeRegion, Region};

/// Whether the kernel of a machine watches memory.
pub(crate) fn are_watched(root: &Root) -> bool {
    let setting = root.read("proc/sys/kernel/numa_balancing").ok().flatten();
    setting.is_some_and(|mode| mode.trim() != "0")
}

/// Adds such pages, at most `most` bytes, to the figures of the mappings that they lie in.
pub(crate) fn show_hidden(regions: &mut [Region], on_nodes: &[NodeRegion], mut most: u64) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smaps::{parse_numa_maps, parse_smaps};

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
}
