//! What a process has: its resident memory by page size and by node.

use firsttouch_linux::root::Root;
use firsttouch_linux::smaps;
use std::collections::BTreeMap;
use std::io;

/// Resident bytes of a process by page size; `None` if it has ended. Multi-size pages count as base pages: smaps does
/// not show them.
pub fn process_pages(root: &Root, pid: u32) -> io::Result<Option<BTreeMap<u64, u64>>> {
    let regions = unless_ended(smaps::read_smaps(root, pid))?;
    // A process that has ended but was not collected has no mappings left.
    Ok(regions.filter(|regions| !regions.is_empty()).map(|regions| smaps::bytes_by_page_size(&regions)))
}

/// Resident bytes of a process by NUMA node, but for pages of files, which lie where others have them; `None` if it has
/// ended or the kernel does not say.
pub fn process_nodes(root: &Root, pid: u32) -> io::Result<Option<BTreeMap<u32, u64>>> {
    let regions = unless_ended(smaps::read_numa_maps(root, pid))?;
    Ok(regions.filter(|regions| !regions.is_empty()).and_then(|mut regions| {
        regions.retain(|region| !region.is_of_file);
        smaps::bytes_by_node(&regions)
    }))
}

/// Turns the error of a process that is gone into `None`.
pub(crate) fn unless_ended<T>(answer: io::Result<T>) -> io::Result<Option<T>> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH)) => Ok(None),
        Err(error) => Err(error),
    }
}
