//! What the memory of an array has got.

use crate::errors::{done, pages, words};
use crate::session;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use firsttouch_ffi::ism::firsttouch_ism_list;
use firsttouch_ffi::receipt::firsttouch_obtained;
use firsttouch_ffi::status::FirsttouchBlock;
use firsttouch_memory::{BASE, Pages, Reason};
use pyo3::prelude::*;
use std::collections::BTreeMap;

/// Whole bytes; on huge and on smaller pages and without one, where the kernel tells; by node, where it tells.
type Seen = (u64, Option<(u64, u64, u64)>, BTreeMap<u32, u64>);

/// Reads what the whole pages of a range have.
#[pyfunction]
pub(crate) fn obtained(py: Python<'_>, address: usize, bytes: u64) -> PyResult<Seen> {
    let read = || {
        let mut receipt = MaybeUninit::uninit();
        // SAFETY: the structure; the memory may be anything, and is not read itself.
        let result = unsafe { firsttouch_obtained(address as *const c_void, bytes, receipt.as_mut_ptr()) };
        // SAFETY: filled in, if that is the answer.
        (
            result,
            (result as i32 == 0).then(|| unsafe { receipt.assume_init() }).map(|receipt| {
                let pages = (receipt.huge_bytes, receipt.small_bytes, receipt.untouched_bytes);
                let nodes = receipt.node.into_iter().zip(receipt.node_bytes).take(receipt.nodes as usize);
                (receipt.bytes, (receipt.known != 0).then_some(pages), nodes.collect())
            }),
        )
    };
    let (result, seen): (_, Option<Seen>) = py.detach(read);
    done(result)?;
    Ok(seen.unwrap_or_default())
}

/// Where the placed block begins that holds the byte at this address, whoever placed it; `None` if none does.
#[pyfunction]
pub(crate) fn block(address: usize) -> Option<usize> {
    if let Some(begin) = session::opened().and_then(|heap| heap.begin_of_block_over(address as *const u8)) {
        return Some(begin);
    }
    // Blocks of the agent, and of another copy of the library.
    if !session::is_served_by_others() {
        return None;
    }
    const MORE: usize = 16;
    // SAFETY: no rows.
    let room = unsafe { firsttouch_ism_list(core::ptr::null_mut(), 0) } + MORE;
    let mut rows = vec![FirsttouchBlock::default(); room];
    // SAFETY: an array of that many rows.
    let total = unsafe { firsttouch_ism_list(rows.as_mut_ptr(), room) };
    let at = address as u64;
    let holder = rows.iter().take(total).find(|row| (row.address..row.address + row.bytes).contains(&at))?;
    Some(holder.address as usize)
}

/// Why whole pages of a part of the placed block that begins at `block` are not of the kind that was asked for: words, bytes that each
/// concerns and remedies; none if they are.
#[pyfunction]
pub(crate) fn shortfalls(block: usize, address: usize, bytes: usize, kind: String) -> PyResult<Vec<Told>> {
    let kind = pages(&kind)?;
    let Some(heap) = session::opened() else { return Ok(Vec::new()) };
    let range = address / BASE * BASE..(address + bytes).next_multiple_of(BASE);
    let whole = range.len();
    let small = heap.why_small(range, kind);
    Ok(match heap.fallback(block as *const u8) {
        Some(reason) => told([(reason, small.map(|(_, bytes)| bytes).sum())].into_iter(), whole),
        None if matches!(kind, Pages::Base | Pages::Plain | Pages::Multi(_)) => Vec::new(),
        None => told(small, whole),
    })
}

/// A reason, the bytes that it concerns, and what mends it.
pub(crate) type Told = (&'static str, usize, &'static str);

/// Reasons as they are told; one without bytes concerns all that was looked at.
pub(crate) fn told(reasons: impl Iterator<Item = (Reason, usize)>, whole: usize) -> Vec<Told> {
    let each = |(reason, bytes): (Reason, usize)| {
        let (word, remedy) = words(reason);
        (word, if bytes > 0 { bytes } else { whole }, remedy)
    };
    reasons.map(each).collect()
}
