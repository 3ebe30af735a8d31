//! Pages to other nodes, batch by batch.
//!
//! The kernel's answers to a batch tell too little (it stops in the middle and leaves the rest without an answer), so the
//! nodes are asked for again after it: what is counted as moved lies where it was sent.

use crate::areas::Area;
use crate::destination::{Destination, PAGE_BYTES};
use crate::pace::Pace;
use crate::reading::Reading;
use crate::stayed::{WIDEN_CPUSET, about_not_reached};
use crate::window::{Page, WINDOW, Window, next_window, node_runs, tells_huge};
use crate::work::{Halt, Phase, Work};
use firsttouch_documents::JournalEntry;
use firsttouch_linux::process::Status;
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

const NO_ACCESS: &str = "nothing to mend: what the program itself may not touch is left where it is";
const BALANCED: &str =
    "the kernel watches these pages to move them itself: sysctl kernel.numa_balancing=0, then attach again";

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
    let outcome = all(work, &mut mover, areas, to, of);
    if mover.is_over {
        work.stayed.add_rest(of.saturating_sub(work.moved_bytes + work.stayed.bytes()));
    }
    outcome
}

fn all(
    work: &mut Work<'_>,
    mover: &mut Mover,
    areas: &[Area],
    to: &Destination,
    of: u64,
) -> Result<(), Halt> {
    let (begun, mut done) = (Instant::now(), 0);
    // Kernels that do not tell huge pages apart show how much of a mapping is huge.
    let tells = tells_huge(work.target);
    for area in areas {
        let mut at = area.start;
        while let Some((start, end)) = next(work, at, area.end)? {
            at = end;
            if mover.is_over {
                return Ok(());
            }
            work.may_go_on()?;
            let window = read(work, start, end, !tells && area.huge_bytes > 0)?;
            let hidden =
                window.pages.iter().filter(|(_, node)| *node == -libc::ENOENT).map(|(page, _)| page.bytes);
            work.stayed.hidden += hidden.sum::<u64>();
            let tickets: Vec<Ticket> = tickets(&window, to).collect();
            if tickets.is_empty() {
                continue;
            }
            let nodes = node_runs(window.pages.iter().copied(), start, end).to_string();
            let to = node_runs(tickets.iter().map(|ticket| (ticket.page, ticket.node as i32)), start, end);
            work.note(JournalEntry::Move { start, nodes, to: Some(to.to_string()) })?;
            mover.carry_out(work, tickets, !tells)?;
            done = work.moved_bytes;
            work.progress(Phase::Move, done, of.max(done), begun);
        }
    }
    work.progress(Phase::Move, done, of.max(done), begun);
    Ok(())
}

/// Says what was tried, and stayed. Which pages are pinned the kernel tells nobody, but how many of the process are.
pub(crate) fn tell(work: &mut Work<'_>) {
    let stayed = work.stayed;
    let status = Status::read(work.target.root(), work.target.member());
    let pinned = status.ok().and_then(|status| status.pinned_bytes).unwrap_or(0).min(stayed.busy);
    let hidden = if is_balanced(work) { stayed.hidden } else { 0 };
    for (reason, bytes, remedy) in [
        (Reason::SharedPages, stayed.shared, None),
        (Reason::NodeFull, stayed.full, None),
        (Reason::PolicyOverridden, stayed.barred, Some(WIDEN_CPUSET)),
        (Reason::PinnedPages, pinned, None),
        (Reason::BusyPages, stayed.busy - pinned, None),
        (Reason::BusyPages, hidden, Some(BALANCED)),
    ] {
        work.shortfalls.add_some(reason, bytes, remedy);
    }
}

/// Whether the kernel moves pages by itself: those that it watches for that, older kernels hide.
fn is_balanced(work: &Work<'_>) -> bool {
    let setting = work.target.root().read("proc/sys/kernel/numa_balancing").ok().flatten();
    setting.is_some_and(|setting| setting.trim() != "0")
}

/// Takes note of what stayed on other nodes, also of what is left alone; `now` is the process as it is after the last step, `cut_off_bytes` what
/// was to be moved by an attach that did not come to its end.
pub(crate) fn account(work: &mut Work<'_>, now: Option<&Reading>, to: &Destination, cut_off_bytes: u64) {
    tell(work);
    let not_reached = cut_off_bytes.saturating_sub(work.moved_bytes + work.stayed.bytes());
    if not_reached > 0 {
        work.notes.push(about_not_reached(not_reached));
    }
    let Some(now) = now else { return };
    let wanted = to.nodes();
    for (start, reason) in &now.areas.not_moved {
        let elsewhere = now.nodes_of(*start).filter(|(node, _)| !wanted.contains(node));
        let bytes = elsewhere.map(|(_, bytes)| bytes).sum();
        work.shortfalls.add_some(*reason, bytes, (*reason == Reason::NotWritable).then_some(NO_ACCESS));
    }
}

/// Carries out tickets at a pace.
#[derive(Debug)]
pub(crate) struct Mover {
    pace: Pace,
    /// A node that pages were to go to has no memory left, or the cpuset leaves it out.
    is_over: bool,
}

impl Mover {
    pub(crate) fn new(stall_limit: Duration) -> Mover {
        Mover { pace: Pace::new(stall_limit, SMALLEST_CALL, FIRST_CALL, LARGEST_CALL), is_over: false }
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
        let mut refused = None;
        for (attempt, largest) in CALLS.into_iter().enumerate() {
            if open.is_empty() {
                break;
            }
            if attempt > 0 {
                work.target.pause(BUSY_PAUSE);
            }
            refused = None;
            let mut left = Vec::new();
            let mut rest = open.as_slice();
            while !rest.is_empty() {
                work.may_go_on()?;
                let bytes = self.pace.chunk().min(largest);
                let count = how_many(rest, bytes);
                let (batch, later) = rest.split_at(count);
                rest = later;
                let (stayed, answer) = self.call(work, batch, guessed)?;
                left.extend(stayed);
                refused = refused.or(answer);
            }
            let none_moved = left.len() == open.len();
            open = left;
            let no_room = || refused == Some(libc::ENOMEM) && attempt + 1 == CALLS.len();
            let is_full = || open.iter().any(|ticket| is_full(work, ticket.node));
            if refused == Some(libc::EACCES) || none_moved && (no_room() || is_full()) {
                self.is_over = true;
                break;
            }
        }
        let open_bytes: u64 = open.iter().map(|ticket| ticket.page.bytes).sum();
        let stayed = match refused {
            Some(libc::EACCES) => &mut work.stayed.barred,
            Some(libc::ENOMEM) => &mut work.stayed.full,
            _ if open.iter().any(|ticket| is_full(work, ticket.node)) => &mut work.stayed.full,
            _ => &mut work.stayed.busy,
        };
        *stayed += open_bytes;
        Ok(open_bytes)
    }

    /// One call; what is still elsewhere and worth another try, and the error of a call that was stopped by where pages were to go.
    fn call(
        &mut self,
        work: &mut Work<'_>,
        batch: &[Ticket],
        guessed: bool,
    ) -> Result<(Vec<Ticket>, Option<i32>), Halt> {
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
                work.stayed.shared += ticket.page.bytes;
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
            // ENOENT of older kernels: every page was on its node already, or gone.
            Ok(()) | Err((Some(libc::ENOENT), _)) => Ok((left, None)),
            // A node is full, and what comes after is not tried; or the cpuset leaves it out since.
            Err((Some(error @ libc::ENOMEM), _)) => Ok((left, Some(error))),
            Err((Some(error @ libc::EACCES), _)) if is_barred(work, &nodes) => Ok((left, Some(error))),
            Err((_, error)) => Err(work.halt_of(error)),
        }
    }
}

/// Whether the cpuset leaves out one of these nodes.
fn is_barred(work: &Work<'_>, nodes: &[i32]) -> bool {
    let status = Status::read(work.target.root(), work.target.member());
    let allowed = status.ok().and_then(|status| status.allowed_nodes);
    allowed.is_some_and(|allowed| nodes.iter().any(|node| !allowed.contains(&(*node as u32))))
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
