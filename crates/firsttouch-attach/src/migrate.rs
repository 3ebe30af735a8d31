//! Pages to other nodes, batch by batch.
//!
//! The kernel's answers to a batch tell too little (it stops in the middle and leaves the rest without an answer), so the
//! nodes are asked for again after it: what is counted as moved lies where it was sent.

use crate::areas::Area;
use crate::destination::{Destination, PAGE_BYTES};
use crate::journal::Entry;
use crate::pace::Pace;
use crate::runs::NodeRuns;
use crate::work::{Halt, Phase, Work};
use firsttouch_linux::smaps::PMD_BYTES;
use firsttouch_linux::sysinfo::meminfo;
use firsttouch_memory::Reason;
use std::io;
use std::time::{Duration, Instant};

/// Memory that is looked at, and written down, at a time.
const WINDOW: u64 = 4 * PMD_BYTES;
const SMALLEST_CALL: u64 = 16 * PAGE_BYTES;
const FIRST_CALL: u64 = PMD_BYTES / 2;
const LARGEST_CALL: u64 = WINDOW;
/// Bytes of a call at the first try, and at the next ones, where one page that cannot be moved must not stop many others.
const CALLS: [u64; 3] = [u64::MAX, 64 * PAGE_BYTES, 8 * PAGE_BYTES];
const BUSY_PAUSE: Duration = Duration::from_millis(2);
/// A node of which no larger part than this is free is full: the kernel keeps a reserve.
const FULL_BELOW: u64 = 32;
/// Where the kernel has not answered for a page.
const UNANSWERED: i32 = i32::MIN;

/// A page that is moved as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
}

/// A page and where it is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ticket {
    page: Page,
    node: u32,
}

/// The resident pages of a window with their nodes.
#[derive(Debug, Default)]
pub(crate) struct Window {
    pub(crate) pages: Vec<(Page, i32)>,
}

impl Window {
    pub(crate) fn read(work: &mut Work<'_>, start: u64, end: u64, may_be_huge: bool) -> Result<Window, Halt> {
        let pages = resident(work, start, end).map_err(|error| work.halt_of(error))?;
        let addresses: Vec<u64> = pages.iter().map(|page| page.address).collect();
        let mut nodes = vec![-1; pages.len()];
        if !addresses.is_empty() {
            work.hand.nodes_of(&addresses, &mut nodes).map_err(|error| work.halt_of(error))?;
        }
        let mut window = Window { pages: pages.into_iter().zip(nodes).collect() };
        if may_be_huge {
            window.join_blocks();
        }
        Ok(window)
    }

    /// Takes blocks that are there as a whole, on one node, for huge pages, where the kernel does not tell.
    fn join_blocks(&mut self) {
        let mut joined: Vec<(Page, i32)> = Vec::new();
        for block in self.pages.chunk_by(|(a, _), (b, _)| a.address / PMD_BYTES == b.address / PMD_BYTES) {
            let (first, node) = block[0];
            let whole = block.len() as u64 == PMD_BYTES / PAGE_BYTES && block.iter().all(|(_, n)| *n == node);
            if whole {
                joined.push((Page { address: first.address, bytes: PMD_BYTES }, node));
            } else {
                joined.extend_from_slice(block);
            }
        }
        self.pages = joined;
    }

    /// The nodes of every base page from `start` to `end`.
    pub(crate) fn nodes(&self, start: u64, end: u64) -> NodeRuns {
        let mut all = vec![-1; ((end - start) / PAGE_BYTES) as usize];
        for (page, node) in &self.pages {
            let first = ((page.address - start) / PAGE_BYTES) as usize;
            let last = (first + (page.bytes / PAGE_BYTES) as usize).min(all.len());
            all[first..last].fill(*node);
        }
        NodeRuns::of(&all)
    }
}

/// The resident pages of a range; huge ones as one where the kernel tells.
fn resident(work: &Work<'_>, start: u64, end: u64) -> io::Result<Vec<Page>> {
    let pagemap = work.target.pagemap();
    let mut pages = Vec::new();
    match pagemap.resident_runs(start, end)? {
        Some(runs) => {
            for run in runs {
                let mut at = run.range.start;
                while at < run.range.end {
                    let whole = run.huge && at % PMD_BYTES == 0 && at + PMD_BYTES <= run.range.end;
                    let bytes = if whole { PMD_BYTES } else { PAGE_BYTES };
                    pages.push(Page { address: at, bytes });
                    at += bytes;
                }
            }
        }
        None => {
            let entries = pagemap.entries(start, ((end - start) / PAGE_BYTES) as usize)?;
            let there =
                (start..end).step_by(PAGE_BYTES as usize).zip(entries).filter(|(_, entry)| entry.present());
            pages.extend(there.map(|(address, _)| Page { address, bytes: PAGE_BYTES }));
        }
    }
    Ok(pages)
}

/// The windows of an area.
pub(crate) fn windows(area: &Area) -> impl Iterator<Item = (u64, u64)> + use<> {
    let end = area.end;
    let mut at = area.start;
    std::iter::from_fn(move || {
        let start = at;
        at = end.min((start + WINDOW) / PMD_BYTES * PMD_BYTES);
        (start < end).then_some((start, at))
    })
}

/// Bytes of these areas that lie on other nodes than asked.
pub(crate) fn bytes_elsewhere(work: &mut Work<'_>, areas: &[Area], to: &Destination) -> Result<u64, Halt> {
    let mut elsewhere = 0;
    for area in areas {
        for (start, end) in windows(area) {
            let window = Window::read(work, start, end, false)?;
            elsewhere += tickets(&window, to).map(|ticket| ticket.page.bytes).sum::<u64>();
        }
    }
    Ok(elsewhere)
}

fn tickets<'w>(window: &'w Window, to: &'w Destination) -> impl Iterator<Item = Ticket> + 'w {
    window.pages.iter().filter_map(|(page, now)| {
        let now = u32::try_from(*now).ok()?;
        let node = to.of(page.address, page.bytes == PMD_BYTES, now);
        (node != now).then_some(Ticket { page: *page, node })
    })
}

/// Moves the pages of these areas.
pub(crate) fn migrate(work: &mut Work<'_>, areas: &[Area], to: &Destination, of: u64) -> Result<(), Halt> {
    let mut mover = Mover::new(work.stall_limit);
    let begun = Instant::now();
    let mut done = 0;
    // Kernels that do not tell huge pages apart show how much of a mapping is huge.
    let tells = work.target.pagemap().resident_runs(0, PAGE_BYTES).is_ok_and(|runs| runs.is_some());
    for area in areas {
        for (start, end) in windows(area) {
            if mover.full {
                return Ok(());
            }
            work.may_go_on()?;
            let window = Window::read(work, start, end, !tells && area.huge_bytes > 0)?;
            let tickets: Vec<Ticket> = tickets(&window, to).collect();
            if tickets.is_empty() {
                continue;
            }
            work.note(Entry::Move { start, nodes: window.nodes(start, end).to_string() })?;
            mover.carry_out(work, tickets, !tells)?;
            done = work.moved_bytes;
            work.progress(Phase::Move, done, of.max(done), begun);
        }
    }
    work.progress(Phase::Move, done, of.max(done), begun);
    Ok(())
}

/// Moves pages back to where a journal says that they were; true if every page that is still there lies there now.
pub(crate) fn put_back(
    work: &mut Work<'_>,
    mover: &mut Mover,
    start: u64,
    nodes: &NodeRuns,
) -> Result<bool, Halt> {
    let before: Vec<Option<u32>> = nodes.pages().collect();
    let end = start + before.len() as u64 * PAGE_BYTES;
    let mut all_back = true;
    let mut at = start;
    while at < end {
        let until = end.min((at + WINDOW) / PMD_BYTES * PMD_BYTES);
        work.may_go_on()?;
        let tells = work.target.pagemap().resident_runs(at, at + PAGE_BYTES).is_ok_and(|runs| runs.is_some());
        let window = Window::read(work, at, until, !tells)?;
        let tickets: Vec<Ticket> = window
            .pages
            .iter()
            .filter_map(|(page, now)| {
                let node = (*before.get(((page.address - start) / PAGE_BYTES) as usize)?)?;
                (u32::try_from(*now).ok()? != node).then_some(Ticket { page: *page, node })
            })
            .collect();
        if !tickets.is_empty() {
            all_back &= mover.carry_out(work, tickets, !tells)? == 0;
        }
        at = until;
    }
    Ok(all_back)
}

/// Carries out tickets at a pace.
#[derive(Debug)]
pub(crate) struct Mover {
    pace: Pace,
    /// The node that pages were to go to had no memory left.
    pub(crate) full: bool,
}

impl Mover {
    pub(crate) fn new(stall_limit: Duration) -> Mover {
        Mover { pace: Pace::new(stall_limit, SMALLEST_CALL, FIRST_CALL, LARGEST_CALL), full: false }
    }

    /// Moves pages, with more tries for those that did not go; the bytes that stayed. `guessed`: what looks like a huge
    /// page may be many base ones.
    fn carry_out(&mut self, work: &mut Work<'_>, tickets: Vec<Ticket>, guessed: bool) -> Result<u64, Halt> {
        let mut open = tickets;
        let mut refused_bytes = 0;
        for (attempt, largest) in CALLS.into_iter().enumerate() {
            if open.is_empty() {
                break;
            }
            if attempt > 0 {
                work.target.pause(BUSY_PAUSE);
            }
            let mut left = Vec::new();
            let mut rest = open.as_slice();
            while !rest.is_empty() {
                work.may_go_on()?;
                let bytes = self.pace.chunk().min(largest);
                let count = how_many(rest, bytes);
                let (batch, later) = rest.split_at(count);
                rest = later;
                left.extend(self.call(work, batch, guessed, &mut refused_bytes)?);
            }
            if left.len() == open.len() && left.iter().any(|ticket| is_full(work, ticket.node)) {
                open = left;
                self.full = true;
                break;
            }
            open = left;
        }
        let open_bytes: u64 = open.iter().map(|ticket| ticket.page.bytes).sum();
        if open_bytes > 0 {
            let full = open.iter().any(|ticket| is_full(work, ticket.node));
            work.shortfalls.add(if full { Reason::NodeFull } else { Reason::BusyPages }, open_bytes);
        }
        if refused_bytes > 0 {
            work.shortfalls.add(Reason::SharedPages, refused_bytes);
        }
        Ok(open_bytes + refused_bytes)
    }

    /// One call; what is still elsewhere and worth another try.
    fn call(
        &mut self,
        work: &mut Work<'_>,
        batch: &[Ticket],
        guessed: bool,
        refused_bytes: &mut u64,
    ) -> Result<Vec<Ticket>, Halt> {
        let addresses: Vec<u64> = batch.iter().map(|ticket| ticket.page.address).collect();
        let nodes: Vec<i32> = batch.iter().map(|ticket| ticket.node as i32).collect();
        let bytes: u64 = batch.iter().map(|ticket| ticket.page.bytes).sum();
        let mut status = vec![UNANSWERED; batch.len()];
        let (answer, took) = work.timed(|hand| hand.move_pages(&addresses, &nodes, &mut status));
        let gap = self.pace.took(took, bytes);
        if !gap.is_zero() {
            work.target.pause(gap);
        }
        if let Err(error) = answer {
            // ENOENT of older kernels: every page was on its node already, or gone.
            if error.raw_os_error() != Some(libc::ENOENT) {
                return Err(work.halt_of(error));
            }
        }
        // The last page of what is moved as a whole: what only looked huge is seen through.
        let last = |ticket: &Ticket| ticket.page.address + ticket.page.bytes - PAGE_BYTES;
        let probes: Vec<u64> = batch.iter().map(last).collect();
        let mut now = vec![UNANSWERED; batch.len()];
        work.hand.nodes_of(&probes, &mut now).map_err(|error| work.halt_of(error))?;
        let mut left = Vec::new();
        for ((ticket, now), status) in batch.iter().zip(now).zip(status) {
            if now == ticket.node as i32 {
                work.moved_bytes += ticket.page.bytes;
            } else if now >= 0 && status == -libc::EACCES {
                *refused_bytes += ticket.page.bytes;
            } else if now >= 0 && guessed && ticket.page.bytes == PMD_BYTES {
                let pages =
                    (ticket.page.address..ticket.page.address + PMD_BYTES).step_by(PAGE_BYTES as usize);
                let page = |address| Page { address, bytes: PAGE_BYTES };
                left.extend(pages.map(|address| Ticket { page: page(address), node: ticket.node }));
            } else if now >= 0 {
                left.push(*ticket);
            }
            // Otherwise the page is gone: the program has given it back.
        }
        Ok(left)
    }
}

/// How many of the first tickets make up so many bytes; one at least.
fn how_many(tickets: &[Ticket], bytes: u64) -> usize {
    let mut sum = 0;
    let fits = |ticket: &&Ticket| {
        sum += ticket.page.bytes;
        sum <= bytes
    };
    tickets.iter().take_while(fits).count().max(1)
}

fn is_full(work: &Work<'_>, node: u32) -> bool {
    let file = format!("sys/devices/system/node/node{node}/meminfo");
    let text = work.target.root().read(&file).ok().flatten();
    let found = text.map(|text| meminfo(&text)).unwrap_or_default();
    found.free_bytes.zip(found.total_bytes).is_some_and(|(free, total)| free < total / FULL_BELOW)
}
