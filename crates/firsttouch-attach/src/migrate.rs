//! Pages to other nodes, batch by batch.
//!
//! The kernel's answers to a batch tell too little (it stops in the middle and leaves the rest without an answer), so the
//! nodes are asked for again after it: what is counted as moved lies where it was sent.

use crate::areas::Area;
use crate::destination::{Destination, PAGE_BYTES};
use crate::pace::Pace;
use crate::window::{Page, WINDOW, Window, next_window, node_runs, tells_huge};
use crate::work::{Halt, Phase, Work};
use firsttouch_documents::JournalEntry;
use firsttouch_linux::smaps::PMD_BYTES;
use firsttouch_linux::sysinfo::meminfo;
use firsttouch_memory::Reason;
use std::time::{Duration, Instant};

/// Each call waits for all processors before it touches a page: smaller ones would mostly wait.
const SMALLEST_CALL: u64 = PMD_BYTES / 2;
const FIRST_CALL: u64 = PMD_BYTES / 2;
const LARGEST_CALL: u64 = WINDOW;
/// Bytes of a call at the first try, and at the next ones, where one page that cannot be moved must not stop many others.
const CALLS: [u64; 3] = [u64::MAX, 64 * PAGE_BYTES, 8 * PAGE_BYTES];
const BUSY_PAUSE: Duration = Duration::from_millis(2);
/// A node of which no larger part than this is free is full: the kernel keeps a reserve.
const FULL_BELOW: u64 = 32;
/// Where the kernel has not answered for a page.
const UNANSWERED: i32 = i32::MIN;

/// A page and where it is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) page: Page,
    pub(crate) node: u32,
}

/// Bytes of these areas that lie on other nodes than asked.
pub(crate) fn bytes_elsewhere(work: &mut Work<'_>, areas: &[Area], to: &Destination) -> Result<u64, Halt> {
    let mut elsewhere = 0;
    for area in areas {
        let mut at = area.start;
        while let Some((start, end)) = next(work, at, area.end)? {
            at = end;
            work.may_go_on()?;
            let window = read(work, start, end, false)?;
            elsewhere += tickets(&window, to).map(|ticket| ticket.page.bytes).sum::<u64>();
        }
    }
    Ok(elsewhere)
}

pub(crate) fn next(work: &Work<'_>, start: u64, end: u64) -> Result<Option<(u64, u64)>, Halt> {
    next_window(work.target, start, end).map_err(|error| work.halt_of(error))
}

pub(crate) fn read(work: &mut Work<'_>, start: u64, end: u64, may_be_huge: bool) -> Result<Window, Halt> {
    let window = Window::read(work.target, work.executor, start, end);
    let mut window = window.map_err(|error| work.halt_of(error))?;
    if may_be_huge {
        window.join_blocks();
    }
    Ok(window)
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
    let (mut done, mut left_bytes) = (0, 0);
    // Kernels that do not tell huge pages apart show how much of a mapping is huge.
    let tells = tells_huge(work.target);
    for area in areas {
        let mut at = area.start;
        while let Some((start, end)) = next(work, at, area.end)? {
            at = end;
            if mover.full {
                let rest = of.saturating_sub(work.moved_bytes + left_bytes);
                if rest > 0 {
                    work.shortfalls.add(Reason::NodeFull, rest);
                }
                return Ok(());
            }
            work.may_go_on()?;
            let window = read(work, start, end, !tells && area.huge_bytes > 0)?;
            let hidden =
                window.pages.iter().filter(|(_, node)| *node == -libc::ENOENT).map(|(page, _)| page.bytes);
            mover.hidden_bytes += hidden.sum::<u64>();
            let tickets: Vec<Ticket> = tickets(&window, to).collect();
            if tickets.is_empty() {
                continue;
            }
            let nodes = node_runs(window.pages.iter().copied(), start, end).to_string();
            let to = node_runs(tickets.iter().map(|ticket| (ticket.page, ticket.node as i32)), start, end);
            work.note(JournalEntry::Move { start, nodes, to: Some(to.to_string()) })?;
            left_bytes += mover.carry_out(work, tickets, !tells)?;
            done = work.moved_bytes;
            work.progress(Phase::Move, done, of.max(done), begun);
        }
    }
    work.progress(Phase::Move, done, of.max(done), begun);
    if mover.hidden_bytes > 0 && is_balanced(work) {
        work.shortfalls.add_with(
            Reason::BusyPages,
            mover.hidden_bytes,
            "the kernel watches these pages to move them itself: sysctl kernel.numa_balancing=0, then attach again",
        );
    }
    Ok(())
}

/// Whether the kernel moves pages by itself: those that it watches for that, older kernels hide.
fn is_balanced(work: &Work<'_>) -> bool {
    let setting = work.target.root().read("proc/sys/kernel/numa_balancing").ok().flatten();
    setting.is_some_and(|setting| setting.trim() != "0")
}

/// Carries out tickets at a pace.
#[derive(Debug)]
pub(crate) struct Mover {
    pace: Pace,
    /// The node that pages were to go to had no memory left.
    pub(crate) full: bool,
    /// Bytes that are there, and of which the kernel does not say where.
    hidden_bytes: u64,
}

impl Mover {
    pub(crate) fn new(stall_limit: Duration) -> Mover {
        Mover {
            pace: Pace::new(stall_limit, SMALLEST_CALL, FIRST_CALL, LARGEST_CALL),
            full: false,
            hidden_bytes: 0,
        }
    }

    /// Moves pages, with more tries for those that did not go; the bytes that stayed and may go another time. `guessed`: what looks like a huge
    /// page may be many base ones.
    pub(crate) fn carry_out(
        &mut self,
        work: &mut Work<'_>,
        tickets: Vec<Ticket>,
        guessed: bool,
    ) -> Result<u64, Halt> {
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
        Ok(open_bytes)
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
        let answer =
            work.call(&mut self.pace, bytes, |executor| executor.move_pages(&addresses, &nodes, &mut status));
        // The last page of what is moved as a whole: what only looked huge is seen through.
        let last = |ticket: &Ticket| ticket.page.address + ticket.page.bytes - PAGE_BYTES;
        let probes: Vec<u64> = batch.iter().map(last).collect();
        let mut now = vec![UNANSWERED; batch.len()];
        work.executor.nodes_of(&probes, &mut now).map_err(|error| work.halt_of(error))?;
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
        // What was moved before an error is counted.
        match answer.map_err(|error| (error.raw_os_error(), error)) {
            // ENOENT of older kernels: every page was on its node already, or gone. ENOMEM: a node is full, and what comes after is not tried.
            Ok(()) | Err((Some(libc::ENOENT | libc::ENOMEM), _)) => Ok(left),
            Err((_, error)) => Err(work.halt_of(error)),
        }
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
