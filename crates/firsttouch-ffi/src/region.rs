//! Regions: memory with chosen pages and, where wanted, a node, for those who place their own data.

use crate::ism::{kind, word};
use crate::receipt::{FirsttouchReceipt, Text};
use crate::result::FirsttouchResult;
use core::ffi::{CStr, c_char, c_void};
use core::ptr;
use firsttouch_memory::{Builder, HUGE, Pages, Region, RegionError};

/// A region. Its functions may be called from any thread, but `firsttouch_region_free` only when nobody uses it any more.
#[derive(Debug)]
pub struct FirsttouchRegion {
    region: Region,
    asked: Pages,
    node: Option<u32>,
}

impl FirsttouchRegion {
    pub(crate) fn new(region: Region, asked: Pages, node: Option<u32>) -> FirsttouchRegion {
        FirsttouchRegion { region, asked, node }
    }

    /// For C, until [`FirsttouchRegion::from_raw`].
    pub(crate) fn into_raw(self) -> *mut FirsttouchRegion {
        Box::into_raw(Box::new(self))
    }

    /// Back from C; `None` for null.
    ///
    /// # Safety
    /// Null, or from [`FirsttouchRegion::into_raw`] and not used again.
    pub(crate) unsafe fn from_raw(region: *mut FirsttouchRegion) -> Option<FirsttouchRegion> {
        // SAFETY: by contract.
        (!region.is_null()).then(|| unsafe { *Box::from_raw(region) })
    }

    pub(crate) fn into_region(self) -> Region {
        self.region
    }

    fn receipt(&self) -> FirsttouchReceipt {
        let start = self.region.as_ptr() as usize;
        let page_bytes = self.region.pages().bytes().max(HUGE);
        FirsttouchReceipt::read(start..start + self.region.len(), page_bytes)
    }
}

/// The number of an error; errno is the kernel's.
pub(crate) fn failed(error: RegionError) -> FirsttouchResult {
    let result = match error {
        RegionError::Map { .. } | RegionError::Resize { .. } => FirsttouchResult::NoMemory,
        RegionError::Bind { .. } => FirsttouchResult::NoNode,
        RegionError::BasePages => FirsttouchResult::Unsupported,
        RegionError::Prefault { .. } => FirsttouchResult::NotCreated,
        RegionError::Align { .. }
        | RegionError::Advise { .. }
        | RegionError::Share { .. }
        | RegionError::NotSealed => FirsttouchResult::BadArgument,
    };
    result.with_errno(error.errno())
}

/// Maps at least `bytes` zeroed bytes on pages of a kind (`"thp" "2m" "1g" "auto" "4k" "64k"` …), rounded up to whole pages.
/// Where reserved pages cannot be had, the next smaller kind is taken, and the receipt says why. With a `node` of 0 or more
/// the memory comes from that node only; -1 leaves it to the process's policy.
///
/// # Safety
/// `pages` is a C string, `region` a pointer to be filled: it is set to null on failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_region_map(
    bytes: u64,
    pages: *const c_char,
    node: i32,
    region: *mut *mut FirsttouchRegion,
) -> FirsttouchResult {
    // SAFETY: by contract.
    let word = unsafe { word(pages) };
    // SAFETY: by contract.
    unsafe {
        map(bytes, word, region, |builder| match u32::try_from(node) {
            Ok(node) => Some((builder.bind(&[node]), Some(node))),
            Err(_) => (node == -1).then_some((builder, None)),
        })
    }
}

/// Memory with a name, for which whoever starts the program can choose a place: `firsttouch run --object table:2m:prefer=1 --
/// PROGRAM`. `places` is what that wrote, `getenv("FIRSTTOUCH_OBJECTS")`; null, as without such a start, is no place for any name. An
/// entry of this name says the pages and the nodes; without one the pages are those of `pages`, under the process's policy, as
/// `firsttouch_region_map` with -1. Letters, digits, `-`, `_` and `.` make a name; it stands in /proc/PID/maps (Linux 5.17). Several
/// regions may have one name.
///
/// # Safety
/// `name` and `pages` are C strings, `places` one or null, `region` a pointer to be filled: it is set to null on failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_region_map_named(
    name: *const c_char,
    bytes: u64,
    pages: *const c_char,
    places: *const c_char,
    region: *mut *mut FirsttouchRegion,
) -> FirsttouchResult {
    // SAFETY: by contract.
    let [name, pages, places] = unsafe { [name, pages, places].map(|text| word(text)) };
    let describe = |builder: Builder| {
        let places = places.unwrap_or_default().to_str().ok()?;
        Some((builder.named(name?.to_str().ok()?, places)?, None))
    };
    // SAFETY: by contract.
    unsafe { map(bytes, pages, region, describe) }
}

/// Maps what `describe` makes of a region of so many bytes on these pages; the node is what the receipt says was asked for.
///
/// # Safety
/// `region` is null or a pointer to be filled.
unsafe fn map(
    bytes: u64,
    pages: Option<&CStr>,
    region: *mut *mut FirsttouchRegion,
    describe: impl FnOnce(Builder) -> Option<(Builder, Option<u32>)>,
) -> FirsttouchResult {
    // SAFETY: by contract.
    let Some(region) = (unsafe { region.as_mut() }) else { return FirsttouchResult::BadArgument };
    *region = ptr::null_mut();
    let Some(pages) = pages else { return FirsttouchResult::BadArgument };
    let Some(asked) = kind(pages) else { return FirsttouchResult::BadPages };
    let bytes = usize::try_from(bytes).ok().filter(|bytes| *bytes > 0);
    let described = bytes.and_then(|bytes| describe(Region::of(bytes).pages(asked)));
    let Some((builder, node)) = described else { return FirsttouchResult::BadArgument };
    match builder.map() {
        Ok(mapped) => {
            *region = FirsttouchRegion::new(mapped, builder.wished_pages(), node).into_raw();
            FirsttouchResult::Ok
        }
        Err(error) => failed(error),
    }
}

/// Its first byte; null for null.
///
/// # Safety
/// Null or a live region.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_region_address(region: *mut FirsttouchRegion) -> *mut c_void {
    // Shared, as any thread may ask at any time.
    // SAFETY: by contract.
    unsafe { region.as_ref() }.map_or(ptr::null_mut(), |region| region.region.as_ptr().cast())
}

/// Its size in bytes; 0 for null.
///
/// # Safety
/// Null or a live region.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_region_bytes(region: *const FirsttouchRegion) -> u64 {
    // SAFETY: by contract.
    unsafe { region.as_ref() }.map_or(0, |region| region.region.len() as u64)
}

/// Creates all pages now, so that their first use costs nothing more.
///
/// # Safety
/// Null or a live region that nobody else changes meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_region_prefault(region: *mut FirsttouchRegion) -> FirsttouchResult {
    // SAFETY: by contract.
    match unsafe { region.as_mut() }.map(|region| region.region.prefault()) {
        None => FirsttouchResult::BadArgument,
        Some(Ok(())) => FirsttouchResult::Ok,
        Some(Err(error)) => failed(error),
    }
}

/// Reads what the region has obtained by now.
///
/// # Safety
/// `region` is null or a live region, `receipt` null or the structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_region_receipt(
    region: *const FirsttouchRegion,
    receipt: *mut FirsttouchReceipt,
) -> FirsttouchResult {
    // SAFETY: by contract.
    let (Some(region), Some(receipt)) = (unsafe { region.as_ref() }, unsafe { receipt.as_mut() }) else {
        return FirsttouchResult::BadArgument;
    };
    *receipt = region.receipt();
    receipt.explain(region.region.shortfall());
    FirsttouchResult::Ok
}

/// Writes the receipt as JSON into `text`, at most `room` bytes with the zero at the end, and answers how long it is
/// without: as snprintf(3) does. The keys are those of the receipts of `firsttouch run`. 0 for null.
///
/// # Safety
/// `region` is null or a live region; `text` has that much room, and may be null if that is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_region_receipt_json(
    region: *const FirsttouchRegion,
    text: *mut c_char,
    room: usize,
) -> usize {
    // SAFETY: by contract.
    let (mut text, region) = unsafe { (Text::new(text, room), region.as_ref()) };
    if let Some(region) = region {
        let (asked, shortfalls) = (region.asked.to_string(), region.region.receipt().shortfalls());
        // Writing to a text does not fail.
        let _ = region.receipt().write_json(&mut text, &asked, region.node, shortfalls);
    }
    text.len()
}

/// Unmaps a region; null is nothing.
///
/// # Safety
/// Null or a live region that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_region_free(region: *mut FirsttouchRegion) {
    // SAFETY: live, and not used again, by contract.
    drop(unsafe { FirsttouchRegion::from_raw(region) });
}
