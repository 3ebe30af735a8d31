//! What memory really got: resident bytes by page size and by node, and a reason where pages are smaller than asked for.

use crate::result::FirsttouchResult;
use core::ffi::{c_char, c_void};
use core::fmt::{self, Write};
use core::ops::Range;
use core::ptr;
use firsttouch_memory::{BASE, Coverage, HUGE, Reason};
use std::ffi::CString;
use std::sync::OnceLock;

/// Nodes that a receipt tells apart.
pub const FIRSTTOUCH_NODES: usize = 16;

/// What a range of memory has obtained.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FirsttouchReceipt {
    /// Bytes that were looked at: whole pages.
    pub bytes: u64,
    /// Size of the huge pages of that memory: 2 MiB or 1 GiB.
    pub page_bytes: u64,
    /// Bytes on huge pages.
    pub huge_bytes: u64,
    /// Bytes on smaller pages.
    pub small_bytes: u64,
    /// Bytes without a page, because nobody wrote them yet.
    pub untouched_bytes: u64,
    /// 1 if the kernel told; 0 if these three could not be read (before Linux 6.7 it tells of whole mappings only).
    pub known: u32,
    /// Nodes that hold some of it, at most 16 are told; 0 if the kernel does not say.
    pub nodes: u32,
    /// Their numbers.
    pub node: [u32; FIRSTTOUCH_NODES],
    /// The bytes that each holds.
    pub node_bytes: [u64; FIRSTTOUCH_NODES],
    /// Why pages are smaller than asked for, one word of the list of reasons; null if they are not.
    pub reason: *const c_char,
    /// One line that mends it; null without a reason.
    pub remedy: *const c_char,
}

impl FirsttouchReceipt {
    /// Reads what whole pages have.
    pub(crate) fn read(pages: Range<usize>, page_bytes: usize) -> FirsttouchReceipt {
        let Range { start, end } = pages;
        let coverage = Coverage::of(start, end);
        let seen = coverage.unwrap_or_default();
        let mut receipt = FirsttouchReceipt {
            bytes: (end - start) as u64,
            page_bytes: page_bytes as u64,
            huge_bytes: seen.huge as u64,
            small_bytes: seen.small as u64,
            untouched_bytes: if coverage.is_some() {
                (end - start - seen.huge - seen.small) as u64
            } else {
                0
            },
            known: u32::from(coverage.is_some()),
            nodes: 0,
            node: [0; FIRSTTOUCH_NODES],
            node_bytes: [0; FIRSTTOUCH_NODES],
            reason: ptr::null(),
            remedy: ptr::null(),
        };
        let mut nodes: Vec<(u32, usize)> = Coverage::by_node(start, end).into_iter().flatten().collect();
        nodes.sort_unstable();
        for (index, (node, bytes)) in nodes.into_iter().take(FIRSTTOUCH_NODES).enumerate() {
            receipt.node[index] = node;
            receipt.node_bytes[index] = bytes as u64;
            receipt.nodes += 1;
        }
        receipt
    }

    /// Adds why pages are smaller than asked for.
    pub(crate) fn explain(&mut self, reason: Option<Reason>) {
        if let Some(reason) = reason {
            (self.reason, self.remedy) = words(reason);
        }
    }

    /// The receipt as a document of kind `region` (`firsttouch_documents::RegionReceipt`, which a test reads it as); `asked` is what the region was asked to be.
    pub(crate) fn write_json(
        &self,
        out: &mut impl Write,
        asked: &str,
        node: Option<u32>,
        shortfalls: impl Iterator<Item = (Reason, usize)>,
    ) -> fmt::Result {
        write!(
            out,
            "{{\"kind\":\"region\",\"schema_version\":1,\"asked\":{{\"pages\":\"{asked}\",\"bytes\":{}",
            self.bytes
        )?;
        if let Some(node) = node {
            write!(out, ",\"node\":{node}")?;
        }
        out.write_str("},\"obtained\":")?;
        if self.known == 0 {
            out.write_str("null")?;
        } else {
            out.write_str("{\"bytes_by_page_size\":{")?;
            let mut comma = "";
            for (page, bytes) in [(BASE as u64, self.small_bytes), (self.page_bytes, self.huge_bytes)] {
                if bytes > 0 {
                    write!(out, "{comma}\"{page}\":{bytes}")?;
                    comma = ",";
                }
            }
            out.write_str("},\"bytes_by_node\":")?;
            let count = self.nodes as usize;
            if count == 0 && self.huge_bytes + self.small_bytes > 0 {
                out.write_str("null")?;
            } else {
                out.write_str("{")?;
                comma = "";
                for (node, bytes) in self.node.iter().zip(self.node_bytes).take(count) {
                    write!(out, "{comma}\"{node}\":{bytes}")?;
                    comma = ",";
                }
                out.write_str("}")?;
            }
            write!(out, ",\"placed_bytes\":{}}}", self.bytes)?;
        }
        out.write_str(",\"shortfalls\":[")?;
        let mut comma = "";
        for (reason, bytes) in shortfalls {
            let (word, remedy) = (reason.word(), reason.remedy());
            // Of other pages than asked for all are short, small ones or not.
            let bytes = if bytes > 0 { bytes as u64 } else { self.bytes };
            write!(out, "{comma}{{\"reason\":\"{word}\",\"bytes\":{bytes},\"remedy\":\"{remedy}\"}}")?;
            comma = ",";
        }
        out.write_str("]}")
    }
}

/// A reason's word and remedy as C strings that live for ever.
pub(crate) fn words(reason: Reason) -> (*const c_char, *const c_char) {
    static WORDS: OnceLock<Vec<[CString; 2]>> = OnceLock::new();
    let text = |text: &str| CString::new(text).unwrap_or_default();
    let all = WORDS.get_or_init(|| {
        Reason::ALL.iter().map(|reason| [text(reason.word()), text(reason.remedy())]).collect()
    });
    let [word, remedy] = &all[reason as usize];
    (word.as_ptr(), remedy.as_ptr())
}

/// Reads what any memory of this process has obtained: the whole pages that hold `bytes` bytes at `address`. More than there are
/// addresses is `BadArgument`.
///
/// # Safety
/// `receipt` is null or the structure; the memory may be anything.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_obtained(
    address: *const c_void,
    bytes: u64,
    receipt: *mut FirsttouchReceipt,
) -> FirsttouchResult {
    let pages = whole_pages(address as usize, bytes).filter(|_| !receipt.is_null() && !address.is_null());
    let Some(pages) = pages else { return FirsttouchResult::BadArgument };
    // SAFETY: the caller's structure, by contract.
    unsafe { *receipt = FirsttouchReceipt::read(pages, HUGE) };
    FirsttouchResult::Ok
}

/// The whole pages that hold so many bytes at an address; `None` if there are none, or more than can be addressed.
fn whole_pages(address: usize, bytes: u64) -> Option<Range<usize>> {
    let bytes = usize::try_from(bytes).ok().filter(|bytes| *bytes > 0)?;
    let end = address.checked_add(bytes)?.checked_next_multiple_of(BASE)?;
    Some(address / BASE * BASE..end)
}

/// A text with a zero behind it, cut where the room ends; and how long it would be.
pub(crate) struct Text {
    room: *mut c_char,
    bytes: usize,
    written: usize,
}

impl Text {
    /// # Safety
    /// `room` has that many bytes; it may be null if there are none.
    pub(crate) unsafe fn new(room: *mut c_char, bytes: usize) -> Text {
        let text = Text { room, bytes, written: 0 };
        if bytes > 0 {
            // SAFETY: there is room for the end.
            unsafe { *room = 0 };
        }
        text
    }

    pub(crate) fn len(&self) -> usize {
        self.written
    }
}

impl Write for Text {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let fits = self.bytes.saturating_sub(self.written + 1).min(part.len());
        if fits > 0 {
            // SAFETY: inside the caller's room, with one byte left for the end.
            unsafe {
                let at = self.room.add(self.written);
                ptr::copy_nonoverlapping(part.as_ptr().cast(), at, fits);
                *at.add(fits) = 0;
            }
        }
        self.written += part.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_documents::{AnyDocument, RegionAsked, RegionReceipt, open};
    use std::collections::BTreeMap;

    #[test]
    fn any_memory_has_a_receipt() {
        let memory = vec![1_u8; 3 << 20];
        let pages = whole_pages(memory.as_ptr() as usize, memory.len() as u64).unwrap();
        let receipt = FirsttouchReceipt::read(pages, HUGE);
        assert!(receipt.bytes >= memory.len() as u64);
        if receipt.known == 1 {
            assert_eq!(receipt.huge_bytes + receipt.small_bytes + receipt.untouched_bytes, receipt.bytes);
        }
        if receipt.nodes > 0 {
            let on_nodes: u64 = receipt.node_bytes.iter().sum();
            assert!(on_nodes >= memory.len() as u64 && on_nodes <= receipt.bytes);
        }
    }

    #[test]
    fn what_is_no_range_of_addresses_is_refused() {
        let mut receipt = FirsttouchReceipt::read(0x1000..0x2000, HUGE);
        for bytes in [0, u64::MAX, u64::MAX - 0x1001, u64::MAX - 0x1000] {
            // SAFETY: the structure; the memory is not read.
            let result = unsafe { firsttouch_obtained(0x1001 as *const c_void, bytes, &raw mut receipt) };
            assert_eq!(result, FirsttouchResult::BadArgument, "{bytes:#x}");
        }
    }

    #[test]
    fn json_opens_as_a_receipt_of_a_region() {
        let mut receipt = FirsttouchReceipt::read(0x1000..0x2000, HUGE);
        receipt =
            FirsttouchReceipt { bytes: 4 << 20, known: 1, huge_bytes: 2 << 20, small_bytes: 4096, ..receipt };
        (receipt.nodes, receipt.node[0], receipt.node_bytes[0]) = (1, 3, (2 << 20) + 4096);
        let mut text = String::new();
        let shortfalls = [(Reason::NoContiguousMemory, 3000), (Reason::Split, 1096)];
        receipt.write_json(&mut text, "thp", Some(3), shortfalls.into_iter()).unwrap();
        let read = opened(&text);
        assert_eq!(read.asked, Some(RegionAsked { pages: "thp".to_owned(), bytes: 4 << 20, node: Some(3) }));
        let obtained = read.obtained.unwrap();
        assert_eq!(obtained.bytes_by_page_size, BTreeMap::from([(4096, 4096), (2 << 20, 2 << 20)]));
        assert_eq!(obtained.bytes_by_node, Some(BTreeMap::from([(3, (2 << 20) + 4096)])));
        let told = read.shortfalls.iter().map(|short| (short.reason, short.bytes as usize));
        assert_eq!(told.collect::<Vec<_>>(), shortfalls);
        receipt.known = 0;
        text.clear();
        receipt.write_json(&mut text, "4k", None, core::iter::empty()).unwrap();
        let read = opened(&text);
        assert_eq!((read.obtained, read.shortfalls), (None, Vec::new()));
    }

    fn opened(text: &str) -> RegionReceipt {
        match open(text) {
            Ok(AnyDocument::Region(receipt)) => *receipt,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_text_is_cut_where_its_room_ends() {
        let mut room = [1; 5];
        // SAFETY: the array.
        let mut text = unsafe { Text::new(room.as_mut_ptr(), room.len()) };
        write!(text, "ab-{}", "cdef".trim()).unwrap();
        assert_eq!((text.len(), room.map(|byte| byte as u8)), (7, *b"ab-c\0"));
        // SAFETY: no room at all.
        let mut text = unsafe { Text::new(ptr::null_mut(), 0) };
        assert!(text.write_str("abc").is_ok() && text.len() == 3);
    }
}
