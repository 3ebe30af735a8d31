//! Memory onto huge pages, call by call.

use crate::areas::Area;
use crate::journal::Entry;
use crate::pace::Pace;
use crate::runs::NodeRuns;
use crate::work::{Halt, Phase, Work};
use firsttouch_linux::maps::read_maps;
use firsttouch_linux::process::ResidentRun;
use firsttouch_linux::smaps::PMD_BYTES;
use firsttouch_memory::Reason;
use firsttouch_process::whole_blocks;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Each call makes all processors hand in their page batches first, which costs more than a block does: calls grow.
const FIRST_CALL: u64 = 2 * PMD_BYTES;
const LARGEST_CALL: u64 = 64 << 20;
/// Tries of a call that met busy pages.
const MOST_TRIES: u32 = 3;
const BUSY_PAUSE: Duration = Duration::from_millis(2);
/// Calls in a row that found no contiguous memory, after which there is none.
const MOST_REFUSALS: u32 = 3;

/// The blocks of these areas that are worth collapsing.
pub(crate) fn blocks(work: &Work<'_>, areas: &[Area]) -> Result<Vec<Range<u64>>, Halt> {
    let mut all = Vec::new();
    for area in areas.iter().filter(|area| area.collapsible && !area.forbidden) {
        if area.small_bytes() < PMD_BYTES / 2 {
            continue;
        }
        let pagemap = work.target.pagemap();
        let runs = whole_blocks(area.start, area.end, |start, pages| pagemap.entries(start, pages));
        for run in runs.map_err(|error| work.halt_of(error))? {
            let there = pagemap.resident_runs(run.start, run.end).map_err(|error| work.halt_of(error))?;
            // Older kernels do not tell which blocks are huge already, and pass over them quickly.
            all.extend(there.map_or_else(|| vec![run.clone()], |there| without_huge(run.clone(), &there)));
        }
    }
    Ok(all)
}

/// The blocks of a run that are not huge already.
fn without_huge(run: Range<u64>, there: &[ResidentRun]) -> Vec<Range<u64>> {
    let mut rest = Vec::new();
    let mut from = run.start;
    for huge in there.iter().filter(|part| part.huge) {
        if huge.range.start > from {
            rest.push(from..huge.range.start);
        }
        from = from.max(huge.range.end);
    }
    if from < run.end {
        rest.push(from..run.end);
    }
    rest
}

/// What stood in the way, as far as the answers tell: the bytes of the calls concerned.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Obstacles {
    pub(crate) no_memory_bytes: u64,
    pub(crate) cgroup_bytes: u64,
    pub(crate) busy_bytes: u64,
}

/// Collapses these blocks, in this order.
pub(crate) fn collapse(work: &mut Work<'_>, blocks: &[Range<u64>]) -> Result<Obstacles, Halt> {
    let of: u64 = blocks.iter().map(|run| run.end - run.start).sum();
    let mut pace = Pace::new(work.stall_limit, PMD_BYTES, FIRST_CALL, LARGEST_CALL);
    let (begun, mut done, mut refusals) = (Instant::now(), 0, 0);
    let mut obstacles = Obstacles::default();
    for run in blocks {
        let mut start = run.start;
        while start < run.end {
            work.may_go_on()?;
            let bytes = pace.chunk().min(run.end - start);
            match one(work, &mut pace, start, bytes)? {
                Answer::Done => refusals = 0,
                Answer::Busy => obstacles.busy_bytes += bytes,
                Answer::NoMemory => {
                    obstacles.no_memory_bytes += bytes;
                    refusals += 1;
                }
                Answer::CgroupFull => {
                    obstacles.cgroup_bytes += bytes;
                    refusals += 1;
                }
            }
            start += bytes;
            done += bytes;
            work.progress(Phase::Collapse, done, of, begun);
            if refusals >= MOST_REFUSALS {
                let rest = of - done;
                match obstacles.no_memory_bytes > 0 {
                    true => obstacles.no_memory_bytes += rest,
                    false => obstacles.cgroup_bytes += rest,
                }
                return Ok(obstacles);
            }
        }
    }
    Ok(obstacles)
}

enum Answer {
    /// As far as the kernel tells: the second reading knows better.
    Done,
    Busy,
    NoMemory,
    CgroupFull,
}

fn one(work: &mut Work<'_>, pace: &mut Pace, start: u64, bytes: u64) -> Result<Answer, Halt> {
    // The block comes to lie where most of its pages are: the others leave their node.
    let nodes = if work.several_nodes { Some(nodes_of(work, start, bytes)?.to_string()) } else { None };
    work.note(Entry::Collapse { start, bytes, nodes })?;
    for attempt in 1.. {
        let (answer, took) = work.timed(|hand| hand.collapse(start, bytes));
        let gap = pace.took(took, bytes);
        if !gap.is_zero() {
            work.target.pause(gap);
        }
        let Err(error) = answer else { return Ok(Answer::Done) };
        match error.raw_os_error() {
            Some(libc::EAGAIN) if attempt < MOST_TRIES => {
                work.target.pause(BUSY_PAUSE);
                work.may_go_on()?;
            }
            Some(libc::EAGAIN) => return Ok(Answer::Busy),
            Some(libc::EBUSY) => return Ok(Answer::CgroupFull),
            Some(libc::ENOMEM) if is_mapped(work, start) => return Ok(Answer::NoMemory),
            // Unmapped, or mapped anew in a way that cannot be collapsed: no longer ours to change.
            Some(libc::ENOMEM | libc::EINVAL) => return Ok(Answer::Done),
            _ => return Err(work.halt_of(error)),
        }
    }
    Ok(Answer::Busy)
}

/// The node of every page of a range.
pub(crate) fn nodes_of(work: &mut Work<'_>, start: u64, bytes: u64) -> Result<NodeRuns, Halt> {
    let addresses: Vec<u64> =
        (start..start + bytes).step_by(crate::destination::PAGE_BYTES as usize).collect();
    let mut nodes = vec![-1; addresses.len()];
    work.hand.nodes_of(&addresses, &mut nodes).map_err(|error| work.halt_of(error))?;
    Ok(NodeRuns::of(&nodes))
}

/// Whether there is still memory at the address: the kernel has one error number for "unmapped" and "none free".
fn is_mapped(work: &Work<'_>, address: u64) -> bool {
    read_maps(work.target.root(), work.target.pid())
        .is_ok_and(|maps| maps.iter().any(|mapping| (mapping.start..mapping.end).contains(&address)))
}

/// Takes note of what was left on base pages, by why.
pub(crate) fn account(work: &mut Work<'_>, areas: &[Area], obstacles: Obstacles) {
    let collapsible = areas.iter().filter(|area| area.collapsible);
    let (forbidden, open): (Vec<&Area>, Vec<&Area>) = collapsible.partition(|area| area.forbidden);
    let sum = |areas: &[&Area]| areas.iter().map(|area| area.small_bytes()).sum::<u64>();
    let mut rest = sum(&open);
    for (reason, bytes) in [
        (Reason::NohugepageVma, sum(&forbidden)),
        (Reason::NoContiguousMemory, obstacles.no_memory_bytes.min(rest)),
        (Reason::CgroupLimit, obstacles.cgroup_bytes.min(rest)),
        (Reason::BusyPages, obstacles.busy_bytes.min(rest)),
    ] {
        if bytes > 0 {
            work.shortfalls.add(reason, bytes);
        }
        if reason != Reason::NohugepageVma {
            rest = rest.saturating_sub(bytes);
        }
    }
    if rest > 0 {
        work.shortfalls.add_with(
            Reason::NoWholeBlock,
            rest,
            "nothing to mend: edges of mappings, and blocks of which less than half was ever touched",
        );
    }
}
