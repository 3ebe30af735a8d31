//! Memory onto huge pages, call by call.

use crate::areas::{Area, Areas};
use crate::fresh::Fresh;
use crate::pace::Pace;
use crate::stayed::about_not_reached;
use crate::work::{Halt, Phase, Work};
use firsttouch_documents::JournalEntry;
use firsttouch_linux::maps::{cover, read_maps};
use firsttouch_linux::pagemap::ResidentRun;
use firsttouch_linux::smaps::PMD_BYTES;
use firsttouch_memory::Reason;
use firsttouch_process::{Blocks, GrowthLimit, may_have_blocks, whole_blocks};
use std::ops::Range;
use std::time::{Duration, Instant};

/// Each call makes all processors hand in their page batches first, which costs more than a block does: calls grow.
const FIRST_CALL: u64 = 2 * PMD_BYTES;
const LARGEST_CALL: u64 = 64 << 20;
/// Less is done before a thread has begun to make memory ready for it.
const WORTH_FRESH: u64 = 64 << 20;
/// Further tries of a call that met busy pages.
const MOST_TRIES: u32 = 2;
/// Before the next try of a call: for pages that are busy, and for memory that the kernel makes contiguous in the background.
const PAUSE: Duration = Duration::from_millis(2);
/// Times that a call finds no contiguous memory, after which there is none. A kernel that tried in vain to make some does not
/// try again for up to 64 blocks (`COMPACT_MAX_DEFER_SHIFT` of mm/compaction.c).
const MOST_REFUSALS: u32 = 2 * 64;
/// Calls in a row that found the memory of the control group full, after which it stays so.
const MOST_FULL: u32 = 3;

/// What a running process has for `no-whole-block`.
const NO_WHOLE_BLOCK: &str = "nothing to mend: edges of mappings, blocks with a guard or a page in swap in them, and blocks of which less than half, of shared memory \
     less than all, is its own (never written, given up, or shared since a fork)";

const DISPLACED: &str = "shared memory at an address that fits no huge page; start the program by: firsttouch run --pages thp --prefault";

/// The blocks of these areas that are worth collapsing.
pub(crate) fn blocks(work: &Work<'_>, areas: &[Area]) -> Result<Vec<Blocks>, Halt> {
    let mut all = Vec::new();
    for area in areas.iter().filter(|area| area.collapsible) {
        let small_bytes = area.small_bytes();
        if !may_have_blocks(small_bytes, area.lazy_free_bytes.unwrap_or(0)) {
            continue;
        }
        // Where nobody says, all may be given up; what processes share cannot be.
        let lazy_free_bytes = area.lazy_free_bytes.unwrap_or(if area.shared { 0 } else { small_bytes });
        work.may_go_on()?;
        let pagemap = work.target.pagemap();
        let runs = pagemap.resident_runs(area.start, area.end).map_err(|error| work.halt_of(error))?;
        // Older kernels do not tell what is there but page by page.
        let whole = area.start..area.end;
        let parts = runs.map_or_else(|| vec![whole.clone()], |runs| small_parts(&whole, &runs));
        for part in parts {
            let entries = |start, pages| pagemap.entries(start, pages);
            let runs = whole_blocks(part, lazy_free_bytes, area.shared, entries);
            all.extend(runs.map_err(|error| work.halt_of(error))?);
        }
    }
    Ok(all)
}

/// The parts of an area, in whole blocks, that have base pages.
fn small_parts(area: &Range<u64>, runs: &[ResidentRun]) -> Vec<Range<u64>> {
    let mut parts: Vec<Range<u64>> = Vec::new();
    for run in runs.iter().filter(|run| !run.huge) {
        let start = (run.range.start / PMD_BYTES * PMD_BYTES).max(area.start);
        let end = run.range.end.next_multiple_of(PMD_BYTES).min(area.end);
        match parts.last_mut() {
            Some(last) if last.end >= start => last.end = last.end.max(end),
            _ => parts.push(start..end),
        }
    }
    parts
}

/// Bytes of all of them.
pub(crate) fn bytes_of(blocks: &[Blocks]) -> u64 {
    blocks.iter().map(|run| run.range.end - run.range.start).sum()
}

/// What became of blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Collapsed {
    /// Bytes on huge pages since; `None` where the kernel does not tell, so that only a second survey does.
    pub(crate) huge_bytes: Option<u64>,
    /// Bytes gone through, or given up.
    pub(crate) done_bytes: u64,
    /// Bytes that were left, by what the kernel answered.
    left: Left,
}

#[derive(Clone, Copy, Debug, Default)]
struct Left {
    no_memory: u64,
    cgroup: u64,
    busy: u64,
    forbidden: u64,
}

/// Collapses these blocks, in this order.
pub(crate) fn collapse(work: &mut Work<'_>, blocks: &[Blocks], outcome: &mut Collapsed) -> Result<(), Halt> {
    let of: u64 = bytes_of(blocks);
    let mut growth = GrowthLimit::new(work.target.member());
    let mut pace = Pace::new(work.stall_limit, PMD_BYTES, FIRST_CALL, LARGEST_CALL);
    let (begun, mut done, mut full) = (Instant::now(), 0, 0);
    // On several nodes what is free is not all the same.
    let mut fresh = if of >= WORTH_FRESH && !work.several_nodes { Fresh::begin() } else { None };
    let mut make_fresh = |bytes: u64| {
        if let Some(fresh) = &mut fresh {
            fresh.give_back();
            fresh.order(bytes);
        }
    };
    make_fresh(pace.chunk());
    for run in blocks {
        let Range { mut start, end } = run.range;
        let (mut unsuitable, mut suitable) = (0, false);
        while start < end {
            work.may_go_on()?;
            let wanted = pace.chunk().min(end - start);
            make_fresh(pace.chunk());
            // It may be long since they were chosen, and the program may have forked.
            let pagemap = work.target.pagemap();
            let now = run.as_now(start..start + wanted, |from, pages| pagemap.entries(from, pages));
            let bytes = match growth.fitting(&now.map_err(|error| work.halt_of(error))?, wanted) {
                Ok(bytes) => bytes,
                Err(reason) => {
                    // Others need no more memory than they have.
                    let left = &mut outcome.left;
                    *(if reason == Reason::CgroupLimit { &mut left.cgroup } else { &mut left.no_memory }) +=
                        end - start;
                    done += end - start;
                    outcome.done_bytes += end - start;
                    break;
                }
            };
            let answer = one(work, &mut pace, start, bytes)?;
            let huge = huge_bytes(work, start, bytes)?;
            if let Some(huge) = huge {
                *outcome.huge_bytes.get_or_insert(0) += huge;
            }
            let left_bytes = bytes - huge.unwrap_or(bytes);
            let left = &mut outcome.left;
            match answer {
                Answer::Done => {}
                Answer::Busy => left.busy += left_bytes,
                Answer::Unsuitable => unsuitable += left_bytes,
                Answer::NoMemory => left.no_memory += huge.map_or(bytes, |_| left_bytes),
                Answer::CgroupFull => left.cgroup += huge.map_or(bytes, |_| left_bytes),
            }
            suitable |= !matches!(answer, Answer::Unsuitable) || left_bytes < bytes;
            full = if matches!(answer, Answer::CgroupFull) { full + 1 } else { 0 };
            start += bytes;
            done += bytes;
            outcome.done_bytes += bytes;
            work.progress(Phase::Collapse, done, of, begun);
            let nothing_left = match answer {
                Answer::NoMemory => &mut left.no_memory,
                Answer::CgroupFull if full == MOST_FULL => &mut left.cgroup,
                _ => continue,
            };
            *nothing_left += of - done;
            outcome.done_bytes += of - done;
            return Ok(());
        }
        // A mapping that the program has forbidden gives nothing at all; elsewhere single pages are in a state that passes.
        let left =
            if work.knows_advice || suitable { &mut outcome.left.busy } else { &mut outcome.left.forbidden };
        *left += unsuitable;
    }
    Ok(())
}

/// Bytes of a range on huge pages, where the kernel tells.
fn huge_bytes(work: &Work<'_>, start: u64, bytes: u64) -> Result<Option<u64>, Halt> {
    let runs =
        work.target.pagemap().resident_runs(start, start + bytes).map_err(|error| work.halt_of(error))?;
    let huge = |run: &ResidentRun| if run.huge { run.range.end - run.range.start } else { 0 };
    Ok(runs.map(|runs| runs.iter().map(huge).sum()))
}

enum Answer {
    /// As far as the kernel tells: reading it back knows better.
    Done,
    Busy,
    /// The mapping is none to be collapsed, by the program's own wish, or pages in it are not, for the moment.
    Unsuitable,
    NoMemory,
    CgroupFull,
}

fn one(work: &mut Work<'_>, pace: &mut Pace, start: u64, bytes: u64) -> Result<Answer, Halt> {
    work.note(JournalEntry::Collapse { start, bytes })?;
    let (mut tries, mut refusals) = (0, 0);
    loop {
        work.make_ready();
        let answer = work.call(pace, bytes, |executor| executor.collapse(start, bytes));
        let Err(error) = answer else { return Ok(Answer::Done) };
        match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EINVAL) if tries < MOST_TRIES => tries += 1,
            Some(libc::EAGAIN) => return Ok(Answer::Busy),
            Some(libc::EBUSY) => return Ok(Answer::CgroupFull),
            // No longer ours to change.
            Some(libc::ENOMEM) if !is_mapped(work, start..start + bytes) => return Ok(Answer::Done),
            // The blocks before the one that found nothing are on huge pages already: the call was no measure of its size.
            Some(libc::ENOMEM) if refusals < MOST_REFUSALS => {
                refusals += 1;
                pace.restart();
            }
            Some(libc::ENOMEM) => return Ok(Answer::NoMemory),
            Some(libc::EINVAL) => return Ok(Answer::Unsuitable),
            _ => return Err(work.halt_of(error)),
        }
        work.target.pause(PAUSE);
        work.may_go_on()?;
    }
}

/// Whether all of a range is still there: the kernel has one error number for "unmapped" and "none free", and has done what
/// it could where only a part is unmapped.
fn is_mapped(work: &Work<'_>, range: Range<u64>) -> bool {
    read_maps(work.target.root(), work.target.member()).is_ok_and(|maps| cover(&maps, range))
}

/// Takes note of what was left on base pages, by why; `areas` are those of afterwards, `planned_bytes` what was to be gone
/// through, `reason` that of what was not worth it.
pub(crate) fn account(
    work: &mut Work<'_>,
    areas: &Areas,
    outcome: &Collapsed,
    planned_bytes: u64,
    reason: Reason,
) {
    let sum = |of: fn(&Area) -> bool| {
        areas.worked_on.iter().filter(|area| of(area)).map(Area::small_bytes).sum::<u64>()
    };
    // Why what was not reached is on small pages, nobody knows.
    let small_bytes = sum(|area| area.collapsible);
    let not_reached = planned_bytes.saturating_sub(outcome.done_bytes).min(small_bytes);
    if not_reached > 0 {
        work.notes.push(about_not_reached(not_reached));
    }
    let mut rest = small_bytes - not_reached;
    let left = outcome.left;
    let mut shortfalls = Vec::new();
    for (reason, bytes) in [
        (Reason::NohugepageVma, left.forbidden),
        (Reason::NoContiguousMemory, left.no_memory),
        (Reason::CgroupLimit, left.cgroup),
        (Reason::BusyPages, left.busy),
    ] {
        // What was left then may have been unmapped since.
        let bytes = bytes.min(rest);
        rest -= bytes;
        shortfalls.push((reason, bytes));
    }
    shortfalls.push((reason, rest));
    shortfalls.extend(&areas.left);
    for (reason, bytes) in shortfalls {
        let remedy = (reason == Reason::NoWholeBlock).then_some(NO_WHOLE_BLOCK);
        work.shortfalls.add_some(reason, bytes, remedy);
    }
    let displaced = sum(|area| area.displaced);
    work.shortfalls.add_some(Reason::NoWholeBlock, displaced, Some(DISPLACED));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::destination::PAGE_BYTES;
    use proptest::prelude::*;

    #[test]
    fn blocks_with_base_pages_are_joined() {
        let run = |start: u64, end: u64, huge| ResidentRun { range: start..end, huge };
        let mib = 1 << 20;
        let runs =
            [run(5 * mib, 6 * mib, false), run(7 * mib, 9 * mib, false), run(10 * mib, 20 * mib, true)];
        let parts = small_parts(&(5 * mib..64 * mib), &runs);
        assert_eq!((parts.len(), parts[0].clone()), (1, 5 * mib..10 * mib));
        assert!(small_parts(&(0..64 * mib), &[run(10 * mib, 20 * mib, true)]).is_empty());
    }

    proptest! {
        #[test]
        fn parts_hold_every_base_page_once(
            lengths in proptest::collection::vec((1u64..1000, 1u64..1000), 0..40),
            start in 0u64..512,
        ) {
            let mut at = start * PAGE_BYTES;
            let mut runs = Vec::new();
            for (gap, pages) in lengths {
                at += gap * PAGE_BYTES;
                runs.push(ResidentRun { range: at..at + pages * PAGE_BYTES, huge: false });
                at += pages * PAGE_BYTES;
            }
            let area = start * PAGE_BYTES..at + PAGE_BYTES;
            let parts = small_parts(&area, &runs);
            prop_assert!(parts.windows(2).all(|pair| pair[0].end < pair[1].start));
            for run in &runs {
                let holds = |part: &Range<u64>| part.start <= run.range.start && run.range.end <= part.end;
                prop_assert!(parts.iter().any(holds));
            }
            prop_assert!(parts.iter().all(|part| part.start >= area.start && part.end <= area.end));
        }
    }
}
