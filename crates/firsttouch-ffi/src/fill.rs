//! Fills: memory created and filled in the background.

use crate::own::Own;
use crate::region::failed;
use crate::result::FirsttouchResult;
use core::ffi::{c_int, c_void};
use core::ops::Range;
use core::ptr;
use core::time::Duration;
use firsttouch_fill::{Buffer, Fill, FillProgress, Filled, Filler, FillerError, Next, Threads};
use firsttouch_linux::numa;
use firsttouch_linux::root::Root;
use firsttouch_machine::Machine;
use std::collections::BTreeMap;

/// The memory is read as soon as it is filled, so it is best filled through the caches.
pub const FIRSTTOUCH_FILL_READ_NEXT: u32 = 1;
/// All of the memory is private and anonymous, as `firsttouch_region_map` and mmap(2) with `MAP_PRIVATE | MAP_ANONYMOUS`
/// make it: pages that do not exist yet come into being as zeroes, and need not be cleared a second time.
pub const FIRSTTOUCH_FILL_ANONYMOUS: u32 = 2;

/// Threads that fill memory for everybody in the process. Its functions may be called from any thread.
#[derive(Debug)]
pub struct FirsttouchFiller {
    filler: Own<Filler>,
}

impl FirsttouchFiller {
    /// Null or a live filler, by contract of its callers.
    ///
    /// # Safety
    /// As said.
    pub(crate) unsafe fn get<'a>(filler: *const FirsttouchFiller) -> Result<&'a Filler, FirsttouchResult> {
        // SAFETY: by contract.
        let filler = unsafe { filler.as_ref() }.ok_or(FirsttouchResult::BadArgument)?;
        filler.filler.get().ok_or(FirsttouchResult::OtherProcess)
    }
}

/// What a filler knows of the machine by now: threads and their rates are learnt anew from large fills. Rates are bytes per
/// second.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FirsttouchKnowledge {
    /// Threads of each node that are used for memory that exists: one more would add less than a fifth.
    pub threads_in_place: u32,
    /// The same for memory whose pages have to be created, which is the kernel's work.
    pub threads_new: u32,
    /// Rate with so many threads on memory that exists.
    pub in_place_bytes_per_s: f64,
    /// The same on new memory.
    pub new_bytes_per_s: f64,
    /// The best rate of one thread over memory in no cache.
    pub store_bytes_per_s: f64,
    /// Seconds from handing work over to a thread that sleeps until it is done, beyond the work itself.
    pub wake_s: f64,
    /// Memory of so many bytes is filled past the caches; `UINT64_MAX` if none is.
    pub past_caches_from_bytes: u64,
    /// The same if it is read next.
    pub read_past_caches_from_bytes: u64,
}

/// A range of memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FirsttouchRange {
    /// Its first byte.
    pub address: *mut c_void,
    /// How many there are.
    pub bytes: u64,
}

impl FirsttouchRange {
    fn of(range: &Range<usize>) -> FirsttouchRange {
        FirsttouchRange { address: range.start as *mut c_void, bytes: range.len() as u64 }
    }
}

/// A fill under way, or ended. Used by one thread at a time.
#[derive(Debug)]
pub struct FirsttouchFill {
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    UnderWay(Own<Box<dyn UnderWay>>),
    Ended {
        progress: FillProgress,
        filled: Vec<Range<usize>>,
    },
    /// Of the process that this one was forked from.
    Elsewhere,
}

/// Memory that C has lent.
#[derive(Debug)]
struct Borrowed<const ANONYMOUS: bool>(Range<usize>);

// SAFETY: whoever lends memory leaves it where it is, and alone, until the fill has ended (`firsttouch_fill_begin`).
unsafe impl<const ANONYMOUS: bool> Buffer for Borrowed<ANONYMOUS> {
    const IS_ANONYMOUS: bool = ANONYMOUS;

    fn memory(&mut self) -> (*mut u8, usize) {
        (self.0.start as *mut u8, self.0.len())
    }
}

/// What is done with a fill, whatever it fills.
trait UnderWay: core::fmt::Debug {
    fn progress(&self) -> FillProgress;
    fn is_done(&self) -> bool;
    fn wait_for(&self, time: Duration) -> bool;
    /// Ends it: waits for it, or cancels. What is filled, as ranges of addresses.
    fn end(self: Box<Self>, cancels: bool) -> Vec<Range<usize>>;
}

impl<const ANONYMOUS: bool> UnderWay for Fill<Borrowed<ANONYMOUS>> {
    fn progress(&self) -> FillProgress {
        self.progress()
    }

    fn is_done(&self) -> bool {
        self.is_done()
    }

    fn wait_for(&self, time: Duration) -> bool {
        self.wait_for(time)
    }

    fn end(self: Box<Self>, cancels: bool) -> Vec<Range<usize>> {
        let Filled { buffers, ranges } = if cancels { self.cancel() } else { self.wait() };
        let in_buffer = |(Borrowed(borrowed), ranges): (Borrowed<ANONYMOUS>, Vec<Range<usize>>)| {
            ranges.into_iter().map(move |range| borrowed.start + range.start..borrowed.start + range.end)
        };
        buffers.into_iter().zip(ranges).flat_map(in_buffer).collect()
    }
}

/// The CPUs by their nodes; all that the calling thread may run on if none is named.
fn by_node(cpus: &[u32]) -> BTreeMap<u32, Vec<u32>> {
    // A machine that tells nothing of nodes has one.
    let machine = Machine::read(&Root::live()).unwrap_or_default();
    let all: Vec<u32>;
    let cpus = match cpus {
        [] => {
            all = numa::affinity(0).map_or(vec![0], |cpus| cpus.iter().collect());
            &all
        }
        named => named,
    };
    let mut by_node: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for cpu in cpus {
        let node = machine.nodes.iter().find(|node| node.cpus.contains(cpu)).map_or(0, |node| node.id);
        by_node.entry(node).or_default().push(*cpu);
    }
    by_node
}

/// Starts a thread on each of `count` CPUs, those that come first to be used first; with a `count` of 0, on every CPU that
/// the calling thread may run on. They sleep until there is something to fill. Measures for some tenths of a second how fast they
/// are, on 128 MiB of memory, or 8 MiB for each thread where that is more. A CPU that a thread cannot be bound to is shared by its thread with others.
///
/// # Safety
/// `cpus` has that many numbers, and may be null if that is 0; `filler` is a pointer to be filled: it is set to null on
/// failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_filler_start(
    cpus: *const u32,
    count: usize,
    filler: *mut *mut FirsttouchFiller,
) -> FirsttouchResult {
    // SAFETY: by contract.
    let Some(filler) = (unsafe { filler.as_mut() }) else { return FirsttouchResult::BadArgument };
    *filler = ptr::null_mut();
    // SAFETY: by contract.
    let Some(cpus) = (unsafe { list(cpus, count) }) else { return FirsttouchResult::BadArgument };
    match Filler::new(&Threads { by_node: by_node(cpus) }) {
        Ok(started) => {
            *filler = Box::into_raw(Box::new(FirsttouchFiller { filler: Own::new(started) }));
            FirsttouchResult::Ok
        }
        Err(FillerError::NoCpu) => FirsttouchResult::BadArgument,
        Err(FillerError::Start { source, .. } | FillerError::StartDevice { source, .. }) => {
            FirsttouchResult::NoThread.because_of(&source)
        }
        Err(FillerError::Memory(error)) => failed(error),
    }
}

/// Tells what the filler measured.
///
/// # Safety
/// `filler` is null or a live filler, `knowledge` null or the structure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_filler_knowledge(
    filler: *const FirsttouchFiller,
    knowledge: *mut FirsttouchKnowledge,
) -> FirsttouchResult {
    // SAFETY: by contract.
    let (filler, knowledge) = unsafe { (FirsttouchFiller::get(filler), knowledge.as_mut()) };
    let (filler, knowledge) = match (filler, knowledge) {
        (Ok(filler), Some(knowledge)) => (filler, knowledge),
        (Err(result), _) => return result,
        (_, None) => return FirsttouchResult::BadArgument,
    };
    let known = filler.knowledge();
    let from = |bytes: Option<usize>| bytes.map_or(u64::MAX, |bytes| bytes as u64);
    *knowledge = FirsttouchKnowledge {
        threads_in_place: known.threads_in_place as u32,
        threads_new: known.threads_new as u32,
        in_place_bytes_per_s: known.in_place_bytes_per_s,
        new_bytes_per_s: known.new_bytes_per_s,
        store_bytes_per_s: known.crossovers.store_bytes_per_s,
        wake_s: known.wake_s,
        past_caches_from_bytes: from(known.crossovers.left_from_bytes),
        read_past_caches_from_bytes: from(known.crossovers.read_from_bytes),
    };
    FirsttouchResult::Ok
}

/// Ends the filler's threads; null is nothing. Fills that are under way are finished by whoever waits for them.
///
/// # Safety
/// Null or a live filler that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_filler_stop(filler: *mut FirsttouchFiller) {
    if !filler.is_null() {
        // SAFETY: made by `firsttouch_filler_start`, and not used again, by contract.
        drop(unsafe { Box::from_raw(filler) });
    }
}

/// Begins to fill `count` ranges with a byte, and comes back at once; small ones are filled before it comes back, where
/// waking another thread would take longer. `how` is 0, or a sum of `FIRSTTOUCH_FILL_READ_NEXT` and
/// `FIRSTTOUCH_FILL_ANONYMOUS`. The array itself may go at once. Ranges of no bytes are allowed, ranges that overlap are
/// refused as `BadArgument`.
///
/// # Safety
/// `filler` is null or a live filler; `ranges` has that many rows, and may be null if there are none; each is memory that may
/// be written, stays mapped, and is neither read nor written by anybody until the fill was waited for, cancelled or freed,
/// or `firsttouch_fill_poll` has answered 1; with `FIRSTTOUCH_FILL_ANONYMOUS` it is memory of that kind. `fill` is a pointer to be
/// filled: it is set to null on failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_fill_begin(
    filler: *const FirsttouchFiller,
    ranges: *const FirsttouchRange,
    count: usize,
    value: u8,
    how: u32,
    fill: *mut *mut FirsttouchFill,
) -> FirsttouchResult {
    // SAFETY: by contract.
    let Some(fill) = (unsafe { fill.as_mut() }) else { return FirsttouchResult::BadArgument };
    *fill = ptr::null_mut();
    // SAFETY: by contract.
    let (filler, rows) = unsafe { (FirsttouchFiller::get(filler), list(ranges, count)) };
    let filler = match filler {
        Ok(filler) => filler,
        Err(result) => return result,
    };
    let known = FIRSTTOUCH_FILL_READ_NEXT | FIRSTTOUCH_FILL_ANONYMOUS;
    let Some(borrowed) = rows.and_then(borrowed).filter(|_| how & !known == 0) else {
        return FirsttouchResult::BadArgument;
    };
    let next = if how & FIRSTTOUCH_FILL_READ_NEXT == 0 { Next::Unknown } else { Next::Read };
    let begun: Box<dyn UnderWay> = if how & FIRSTTOUCH_FILL_ANONYMOUS == 0 {
        Box::new(filler.fill(borrowed.into_iter().map(Borrowed::<false>).collect(), value, next))
    } else {
        Box::new(filler.fill(borrowed.into_iter().map(Borrowed::<true>).collect(), value, next))
    };
    *fill = Box::into_raw(Box::new(FirsttouchFill { stage: Stage::UnderWay(Own::new(begun)) }));
    FirsttouchResult::Ok
}

/// The ranges of a list; `None` if one is no range or two overlap.
fn borrowed(rows: &[FirsttouchRange]) -> Option<Vec<Range<usize>>> {
    let range = |row: &FirsttouchRange| {
        let start = row.address as usize;
        let end = start.checked_add(usize::try_from(row.bytes).ok()?)?;
        (start > 0 || end == 0).then_some(start..end)
    };
    let ranges: Vec<Range<usize>> = rows.iter().map(range).collect::<Option<_>>()?;
    let mut sorted: Vec<&Range<usize>> = ranges.iter().filter(|range| !range.is_empty()).collect();
    sorted.sort_by_key(|range| range.start);
    sorted.windows(2).all(|pair| pair[0].end <= pair[1].start).then_some(ranges)
}

/// 1 if all is filled, 0 otherwise; 0 for null, after a cancel that came before the end, and in a forked child.
///
/// # Safety
/// Null or a live fill.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_fill_poll(fill: *const FirsttouchFill) -> c_int {
    // SAFETY: by contract.
    let fill = unsafe { fill.as_ref() };
    c_int::from(fill.is_some_and(|fill| match &fill.stage {
        Stage::UnderWay(fill) => fill.get().is_some_and(|fill| fill.is_done()),
        Stage::Ended { progress, .. } => progress.filled_bytes == progress.total_bytes,
        Stage::Elsewhere => false,
    }))
}

/// Tells how many bytes are filled, and how many were to be. Both pointers may be null.
///
/// # Safety
/// `fill` is null or a live fill; the others null or numbers to be filled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_fill_progress(
    fill: *const FirsttouchFill,
    filled_bytes: *mut u64,
    total_bytes: *mut u64,
) -> FirsttouchResult {
    // SAFETY: by contract.
    let (fill, filled, total) = unsafe { (fill.as_ref(), filled_bytes.as_mut(), total_bytes.as_mut()) };
    let Some(fill) = fill else { return FirsttouchResult::BadArgument };
    let progress = match &fill.stage {
        Stage::UnderWay(fill) => fill.get().map(|fill| fill.progress()),
        Stage::Ended { progress, .. } => Some(*progress),
        Stage::Elsewhere => None,
    };
    let Some(progress) = progress else { return FirsttouchResult::OtherProcess };
    if let Some(filled) = filled {
        *filled = progress.filled_bytes as u64;
    }
    if let Some(total) = total {
        *total = progress.total_bytes as u64;
    }
    FirsttouchResult::Ok
}

/// Waits for the end at most so many nanoseconds, and does no share of the work; answers as `firsttouch_fill_poll`.
///
/// # Safety
/// Null or a live fill.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_fill_wait_for(fill: *const FirsttouchFill, nanoseconds: u64) -> c_int {
    // SAFETY: by contract.
    if let Some(FirsttouchFill { stage: Stage::UnderWay(fill) }) = unsafe { fill.as_ref() } {
        return c_int::from(fill.get().is_some_and(|fill| fill.wait_for(Duration::from_nanos(nanoseconds))));
    }
    // SAFETY: the same contract.
    unsafe { firsttouch_fill_poll(fill) }
}

/// Waits for the end, and does a share of the work meanwhile if that makes it faster. `Ok` also when it has ended before.
///
/// # Safety
/// Null or a live fill.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_fill_wait(fill: *mut FirsttouchFill) -> FirsttouchResult {
    // SAFETY: by contract.
    unsafe { end(fill, false) }
}

/// Ends it now: pieces that were begun are finished (a fraction of a millisecond each), no other is begun.
/// `firsttouch_fill_filled` tells what is filled; the rest is as it was.
///
/// # Safety
/// Null or a live fill.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_fill_cancel(fill: *mut FirsttouchFill) -> FirsttouchResult {
    // SAFETY: by contract.
    unsafe { end(fill, true) }
}

/// # Safety
/// Null or a live fill.
unsafe fn end(fill: *mut FirsttouchFill, cancels: bool) -> FirsttouchResult {
    // SAFETY: by contract.
    let Some(fill) = (unsafe { fill.as_mut() }) else { return FirsttouchResult::BadArgument };
    match core::mem::replace(&mut fill.stage, Stage::Elsewhere) {
        Stage::UnderWay(own) => {
            let Some(under_way) = own.into_inner() else { return FirsttouchResult::OtherProcess };
            let total_bytes = under_way.progress().total_bytes;
            let filled = under_way.end(cancels);
            let filled_bytes = filled.iter().map(Range::len).sum();
            fill.stage = Stage::Ended { progress: FillProgress { filled_bytes, total_bytes }, filled };
            FirsttouchResult::Ok
        }
        ended @ Stage::Ended { .. } => {
            fill.stage = ended;
            FirsttouchResult::Ok
        }
        Stage::Elsewhere => FirsttouchResult::OtherProcess,
    }
}

/// Fills `ranges` with at most `room` ranges of memory that are filled, in the order in which they were handed over; answers
/// how many there are altogether. All of it, or after a cancel exactly this. 0 before the fill was waited for or cancelled.
///
/// # Safety
/// `fill` is null or a live fill; `ranges` has `room` rows, and may be null if that is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_fill_filled(
    fill: *const FirsttouchFill,
    ranges: *mut FirsttouchRange,
    room: usize,
) -> usize {
    // SAFETY: by contract.
    let Some(FirsttouchFill { stage: Stage::Ended { filled, .. } }) = (unsafe { fill.as_ref() }) else {
        return 0;
    };
    if !ranges.is_null() {
        for (row, range) in filled.iter().take(room).enumerate() {
            // SAFETY: the caller's array has `room` rows.
            unsafe { *ranges.add(row) = FirsttouchRange::of(range) };
        }
    }
    filled.len()
}

/// Forgets a fill, and cancels it if it is under way; null is nothing.
///
/// # Safety
/// Null or a live fill that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn firsttouch_fill_free(fill: *mut FirsttouchFill) {
    if !fill.is_null() {
        // SAFETY: made by `firsttouch_fill_begin`, and not used again, by contract.
        drop(unsafe { Box::from_raw(fill) });
    }
}

/// A list of C's; `None` if it is null and has rows.
///
/// # Safety
/// `first` has that many rows, or is null.
pub(crate) unsafe fn list<'a, T>(first: *const T, count: usize) -> Option<&'a [T]> {
    if count == 0 {
        return Some(&[]);
    }
    // SAFETY: by contract.
    (!first.is_null()).then(|| unsafe { core::slice::from_raw_parts(first, count) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(ranges: &[(usize, u64)]) -> Vec<FirsttouchRange> {
        let row =
            |(start, bytes): &(usize, u64)| FirsttouchRange { address: *start as *mut c_void, bytes: *bytes };
        ranges.iter().map(row).collect()
    }

    #[test]
    fn ranges_are_lent_as_they_are_and_only_once() {
        assert_eq!(borrowed(&rows(&[(300, 5), (100, 200), (0, 0)])), Some(vec![300..305, 100..300, 0..0]));
        assert_eq!(borrowed(&rows(&[(300, 5), (100, 201)])), None);
        assert_eq!(borrowed(&rows(&[(0, 5)])), None);
        assert_eq!(borrowed(&rows(&[(100, u64::MAX)])), None);
        // Inside another, but of no bytes.
        assert_eq!(borrowed(&rows(&[(100, 200), (150, 0)])), Some(vec![100..300, 150..150]));
    }
}
