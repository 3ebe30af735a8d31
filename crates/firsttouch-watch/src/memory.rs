//! What lies on pages of which size, and on which node, and how long the lock of the process may have been held for it.

use crate::nodes;
use crate::scan::{Huge, Scan, scan};
use firsttouch_linux::process::{Status, unless_ended};
use firsttouch_linux::remote::nodes_of;
use firsttouch_linux::rollup::{hidden_bytes, whole};
use firsttouch_linux::root::Root;
use firsttouch_linux::smaps::{PMD_BYTES, bytes_by_node, parse_numa_maps, parse_smaps_rollup};
use firsttouch_linux::urgent::Precedence;
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Base pages, as everywhere here.
const BASE_BYTES: u64 = 4096;

/// One reading; several processes add up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) bytes_by_page_size: BTreeMap<u64, u64>,
    /// `None` if the kernel does not say.
    pub(crate) bytes_by_node: Option<BTreeMap<u32, u64>>,
    /// On huge pages, those of files not included.
    pub(crate) huge_bytes: u64,
    pub(crate) longest_call: Duration,
    /// How many small pages told the nodes, where not all were asked.
    pub(crate) sampled_pages: Option<u64>,
}

/// Reads processes, and remembers which way is best for each.
#[derive(Debug)]
pub(crate) struct Memory {
    /// The node that all memory is on, where there is one only: then nodes need not be asked for.
    only_node: Option<u32>,
    /// Processes with very many mappings.
    crowded: HashSet<u32>,
    /// The kernel reads under locks that a process waits for: on a busy machine for longer than that takes.
    precedence: Arc<Precedence>,
}

impl Memory {
    pub(crate) fn new(root: &Root, only_node: Option<u32>) -> Memory {
        Memory { only_node, crowded: HashSet::new(), precedence: Arc::new(Precedence::new(root)) }
    }

    /// Reads one process, of which `status` was read just before; `None` if it has ended.
    pub(crate) fn read(&mut self, root: &Root, pid: u32, status: &Status) -> io::Result<Option<Reading>> {
        // Hugetlb pages are of sizes that a scan does not tell.
        if let (Some(rss), None | Some(0)) = (status.vm_rss_bytes, status.hugetlb_bytes)
            && !self.crowded.contains(&pid)
        {
            match scan(root, pid, rss, &self.precedence) {
                Scan::Found(huge) => {
                    if let Some(reading) = scanned(root, pid, rss, &huge, self.only_node) {
                        return Ok(Some(reading));
                    }
                }
                Scan::Crowded => {
                    self.crowded.insert(pid);
                }
                Scan::Unsure => {}
            }
        }
        walked(root, pid, status.vm_rss_bytes.unwrap_or(0), self.only_node, &self.precedence)
    }
}

/// What a scan told, and the nodes of what it found; `None` if the kernel does not let us ask for them.
fn scanned(root: &Root, pid: u32, rss: u64, huge: &Huge, only_node: Option<u32>) -> Option<Reading> {
    let small = rss.saturating_sub(huge.bytes);
    let mut reading = Reading {
        huge_bytes: huge.bytes - huge.of_files,
        longest_call: huge.longest_call,
        ..Reading::default()
    };
    reading.add(BASE_BYTES, small);
    reading.add(PMD_BYTES, huge.bytes);
    if let Some(node) = only_node {
        reading.bytes_by_node = Some(BTreeMap::from([(node, rss)]));
        return Some(reading);
    }
    if !root.is_live() {
        return None;
    }
    let seed = u64::from(pid) ^ rss ^ (huge.runs.len() as u64) << 32;
    let nodes =
        nodes::nodes(&huge.runs, small, seed, |addresses, nodes| nodes_of(pid, addresses, nodes)).ok()?;
    reading.bytes_by_node = Some(nodes.bytes);
    reading.sampled_pages = nodes.sampled_pages;
    reading.longest_call = reading.longest_call.max(nodes.longest_call);
    Some(reading)
}

/// What the kernel's own walks tell: exact everywhere, in calls as long as the largest mapping takes. `counted` is resident by the
/// kernel's count.
fn walked(
    root: &Root,
    pid: u32,
    counted: u64,
    only_node: Option<u32>,
    precedence: &Precedence,
) -> io::Result<Option<Reading>> {
    let folder = root.path().join("proc").join(pid.to_string());
    let mut longest = Duration::ZERO;
    let mut read_timed = |name: &str| read_timed(&folder.join(name), precedence, &mut longest);
    let mut sums = || {
        let text = read_timed("smaps_rollup")?;
        let figures = parse_smaps_rollup(&text).ok_or(io::ErrorKind::InvalidData)?;
        Ok((figures.rss.unwrap_or(0), figures))
    };
    let Some(figures) = unless_ended(whole(counted, &mut sums))? else {
        return Ok(None);
    };
    let (rss, transparent) = (figures.rss.unwrap_or(0), figures.transparent_huge());
    let mut reading = Reading {
        huge_bytes: transparent.saturating_sub(figures.file_pmd_mapped.unwrap_or(0)) + figures.hugetlb(),
        ..Reading::default()
    };
    reading.add(BASE_BYTES, rss.saturating_sub(transparent));
    reading.add(PMD_BYTES, transparent);
    // The sizes of hugetlb pages stand in numa_maps only.
    if let Some(node) = only_node.filter(|_| figures.hugetlb() == 0) {
        reading.bytes_by_node = Some(BTreeMap::from([(node, rss)]));
    } else {
        match read_timed("numa_maps") {
            Ok(text) => {
                let regions = parse_numa_maps(&text).ok_or(io::ErrorKind::InvalidData)?;
                reading.bytes_by_node = bytes_by_node(&regions);
                let all = reading.bytes_by_node.iter().flat_map(BTreeMap::values).sum::<u64>();
                let hidden = hidden_bytes(counted, all.saturating_sub(figures.hugetlb()), rss);
                reading.add(PMD_BYTES, hidden);
                reading.huge_bytes += hidden;
                let sized = regions.iter().filter_map(|region| Some((region.kernel_page_bytes?, region)));
                for (page, region) in sized.filter(|(page, _)| *page > BASE_BYTES) {
                    reading.add(page, region.bytes_by_node().unwrap_or_default().values().sum());
                }
            }
            // A kernel without nodes: of hugetlb pages the usual size is assumed.
            Err(error) if error.kind() == io::ErrorKind::NotFound && folder.exists() => {
                reading.add(PMD_BYTES, figures.hugetlb());
            }
            Err(error) => return unless_ended(Err(error)),
        }
    }
    reading.longest_call = longest;
    Ok(Some(reading))
}

impl Reading {
    fn add(&mut self, page: u64, bytes: u64) {
        add(&mut self.bytes_by_page_size, page, bytes);
    }

    /// Adds what another process has. The nodes of the sum are known if those of both are.
    pub(crate) fn join(&mut self, other: Reading) {
        for (page, bytes) in other.bytes_by_page_size {
            self.add(page, bytes);
        }
        self.bytes_by_node = self.bytes_by_node.take().zip(other.bytes_by_node).map(|(mut sums, nodes)| {
            for (node, bytes) in nodes {
                add(&mut sums, node, bytes);
            }
            sums
        });
        self.huge_bytes += other.huge_bytes;
        self.longest_call = self.longest_call.max(other.longest_call);
        if let Some(pages) = other.sampled_pages {
            *self.sampled_pages.get_or_insert(0) += pages;
        }
    }
}

fn add<K: Ord>(sums: &mut BTreeMap<K, u64>, key: K, bytes: u64) {
    if bytes > 0 {
        *sums.entry(key).or_insert(0) += bytes;
    }
}

/// Reads a file of procfs call by call: within one the kernel may hold the lock of the process, between two it does not.
fn read_timed(path: &Path, precedence: &Precedence, longest: &mut Duration) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    let mut part = vec![0; 64 << 10];
    loop {
        let begun = Instant::now();
        let answer = precedence.during(|| file.read(&mut part));
        *longest = begun.elapsed().max(*longest);
        match answer {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(&part[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn read(root: &Root, pid: u32, only_node: Option<u32>) -> io::Result<Option<Reading>> {
        Memory::new(root, only_node).read(root, pid, &Status::default())
    }

    const ROLLUP: &str = "55d000000000-7fff00000000 ---p 00000000 00:00 0    [rollup]\nRss: 10240 kB\n\
        AnonHugePages: 4096 kB\nShmemPmdMapped: 0 kB\nFilePmdMapped: 2048 kB\nShared_Hugetlb: 0 kB\n";

    fn recorded(rollup: &str, numa_maps: Option<&str>) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        let process = folder.path().join("proc/7");
        fs::create_dir_all(&process).unwrap();
        fs::write(process.join("smaps_rollup"), rollup).unwrap();
        if let Some(text) = numa_maps {
            fs::write(process.join("numa_maps"), text).unwrap();
        }
        let root = Root::at(folder.path());
        (folder, root)
    }

    const MIB: u64 = 1 << 20;

    #[test]
    fn one_node_needs_one_file() {
        let (_folder, root) = recorded(ROLLUP, None);
        let reading = read(&root, 7, Some(3)).unwrap().unwrap();
        assert_eq!(reading.bytes_by_page_size, BTreeMap::from([(4096, 4 * MIB), (2 * MIB, 6 * MIB)]));
        assert_eq!(reading.bytes_by_node, Some(BTreeMap::from([(3, 10 * MIB)])));
        assert_eq!(reading.huge_bytes, 4 * MIB, "the huge pages of a file are not the program's");
    }

    #[test]
    fn nodes_and_reserved_pages_come_from_the_other() {
        let rollup = format!("{ROLLUP}Private_Hugetlb: 1048576 kB\n");
        let maps = "7f00 default anon=512 N0=256 N1=256 kernelpagesize_kB=4\n\
            7f20 default file=/anon_hugepage huge anon=1 N1=1 kernelpagesize_kB=1048576\n";
        let (_folder, root) = recorded(&rollup, Some(maps));
        for only_node in [None, Some(0)] {
            let reading = read(&root, 7, only_node).unwrap().unwrap();
            assert_eq!(reading.bytes_by_page_size.get(&(1 << 30)), Some(&(1 << 30)));
            let nodes = BTreeMap::from([(0, MIB), (1, (1 << 30) + MIB)]);
            assert_eq!(reading.bytes_by_node, Some(nodes));
            assert_eq!(reading.huge_bytes, (1 << 30) + 4 * MIB);
        }
    }

    #[test]
    fn a_kernel_without_nodes_and_a_process_that_is_gone() {
        let (_folder, root) = recorded(ROLLUP, None);
        assert_eq!(read(&root, 7, None).unwrap().unwrap().bytes_by_node, None);
        assert_eq!(read(&root, 8, None).unwrap(), None);
        let (_folder, root) = recorded("nonsense", None);
        assert_eq!(read(&root, 7, None).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn several_add_up() {
        let (_folder, root) = recorded(ROLLUP, None);
        let one = read(&root, 7, Some(0)).unwrap().unwrap();
        let mut sum = one.clone();
        sum.join(one.clone());
        assert_eq!((sum.huge_bytes, &sum.bytes_by_page_size[&4096]), (8 * MIB, &(8 * MIB)));
        assert_eq!(sum.bytes_by_node, Some(BTreeMap::from([(0, 20 * MIB)])));
        sum.join(Reading { bytes_by_node: None, ..one });
        assert_eq!(sum.bytes_by_node, None);
    }
}
