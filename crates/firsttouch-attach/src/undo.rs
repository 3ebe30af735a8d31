//! The way back: affinity and node placement as the journal has them, newest step first.

use crate::attach::{AttachContext, AttachError, finish};
use crate::bind::{self, Set, ThreadAffinity};
use crate::executor::Executor;
use crate::journal::Journal;
use crate::migrate::{Mover, put_back};
use crate::pace::Took;
use crate::reading::Reader;
use crate::runs::NodeRuns;
use crate::store::boot_id;
use crate::target::Target;
use crate::work::{AttachProgress, Halt, Phase, Shortfalls, Watcher, Work};
use firsttouch_documents::JournalEntry;
use firsttouch_linux::clock::QueueTime;
use firsttouch_linux::cpulist::parse_list;
use firsttouch_linux::numa::CpuBits;
use firsttouch_linux::remote::Batches;
use firsttouch_linux::urgent::Urgent;
use firsttouch_placement::{AttachAction, AttachAsked, AttachEnded, AttachPlan, AttachReport};
use firsttouch_sorted::SortedSet;
use firsttouch_threads::thread_of;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// Takes back what the journal of a process says. Without a step to take back, that is said in the notes.
pub fn undo(
    target: &Target,
    executor: &mut dyn Executor,
    context: &AttachContext<'_>,
    stall_limit: Duration,
    watcher: &mut dyn FnMut(&AttachProgress),
) -> Result<AttachReport, AttachError> {
    let pid = target.pid();
    let mut journal = Journal::open(&context.journals, pid, target.start_ticks(), &boot_id(target.root()))?;
    let steps: Vec<(usize, JournalEntry)> =
        journal.history().open_steps().into_iter().map(|(line, entry)| (line, entry.clone())).collect();
    let same_program = journal.history().entries.iter().rev().find_map(|entry| match entry {
        JournalEntry::Begin(begin) => Some(begin.image == *target.image()),
        _ => None,
    });
    let (asked, affinity) = (AttachAsked::default(), ThreadAffinity::default());
    let reader = Reader { target, asked: &asked, affinity: &affinity, nodes: &context.nodes, stall_limit };
    let before = reader
        .read(executor)
        .map_err(|source| AttachError::Unreadable { pid, what: "memory", source })?
        .receipt;
    let begun = Instant::now();
    let mut work = Work {
        target,
        executor,
        journal: &mut journal,
        batches: Batches::new().ok(),
        queue: QueueTime::of_this_thread().ok(),
        queued: Duration::ZERO,
        stalled: None,
        stop: context.stop,
        watcher: Watcher(watcher),
        stall_limit,
        several_nodes: context.nodes.len() > 1,
        knows_advice: true,
        shortfalls: Shortfalls::default(),
        notes: Vec::new(),
        worst: Took::default(),
        moved_bytes: 0,
        bound_threads: 0,
    };
    let ended = if steps.is_empty() {
        work.notes.push("there is nothing to take back".to_owned());
        AttachEnded::Done
    } else {
        let _urgent = Urgent::begin();
        let outcome = take_back(&mut work, &steps, same_program.unwrap_or(false));
        finish(&mut work, outcome)
    };
    let wall_s = begun.elapsed().as_secs_f64();
    let after = reader.read(work.executor).ok().filter(|_| target.check().is_ok()).map(|now| now.receipt);
    let (worst_pause_ms, worst_pause_cpu_ms) = work.worst_ms();
    let (moved_bytes, bound_threads) = (work.moved_bytes, work.bound_threads);
    let (shortfalls, notes) = (work.shortfalls.list(), std::mem::take(&mut work.notes));
    let executor = work.executor.kind();
    Ok(AttachReport {
        pid,
        action: AttachAction::Undo,
        planned: AttachPlan::default(),
        before,
        after: after.unwrap_or_else(|| reader.without_reading()),
        asked: asked.clone(),
        moved_bytes,
        collapsed_bytes: 0,
        bound_threads,
        worst_pause_ms,
        worst_pause_cpu_ms,
        stall_limit_ms: stall_limit.as_secs_f64() * 1e3,
        wall_s,
        shortfalls,
        undo_steps: journal.history().undo_steps(),
        journal: journal.discard_if_empty().map(|path| path.display().to_string()),
        executor,
        ended,
        own_devices: None,
        notes,
        children: Vec::new(),
    })
}

fn take_back(work: &mut Work<'_>, steps: &[(usize, JournalEntry)], same_program: bool) -> Result<(), Halt> {
    let begun = Instant::now();
    let mut mover = Mover::new(work.stall_limit);
    let (mut done, of) = (0, work.journal.history().undo_steps());
    heirs(work, steps)?;
    // Threads first: where they run, the kernel may pull pages after them.
    let (threads, memory): (Vec<_>, Vec<_>) =
        steps.iter().partition(|(_, entry)| matches!(entry, JournalEntry::Affinity { .. }));
    for (line, entry) in threads.into_iter().chain(memory) {
        work.may_go_on()?;
        match entry {
            JournalEntry::Affinity { thread, start_ticks, before, given } => {
                affinity(work, *thread, *start_ticks, before, given)?;
            }
            JournalEntry::Collapse { start, nodes: Some(nodes), .. }
            | JournalEntry::Move { start, nodes }
                if same_program =>
            {
                // What was written by us reads; what does not was changed by somebody else.
                if let Ok(nodes) = nodes.parse::<NodeRuns>() {
                    if !put_back(work, &mut mover, *start, &nodes)? {
                        // The step stays in the journal, for another time.
                        continue;
                    }
                } else {
                    work.notes.push(format!("line {} of the journal does not tell nodes", line + 1));
                }
            }
            _ => {}
        }
        work.note(JournalEntry::Undone { line: *line })?;
        if entry.can_be_taken_back() {
            done += 1;
            work.progress(Phase::Back, done, of, begun);
        }
    }
    if !same_program {
        work.notes.push(
            "the process has become another program since: its memory is its own, only CPUs were given back"
                .to_owned(),
        );
    } else if steps.iter().any(|(_, entry)| matches!(entry, JournalEntry::Collapse { .. })) {
        work.notes.push(
            "pages that were collapsed stay huge: no call from outside splits them. The program's own writes, forks and \
             unmappings do"
                .to_owned(),
        );
    }
    Ok(())
}

/// Threads that were made since have the CPUs of their maker: those with a mask that we gave, and no line of their own, get
/// what the main thread had.
fn heirs(work: &mut Work<'_>, steps: &[(usize, JournalEntry)]) -> Result<(), Halt> {
    let mut known: HashSet<(u32, u64)> = HashSet::new();
    let mut given_masks: SortedSet<Vec<u32>> = SortedSet::new();
    let mut main = None;
    for (_, entry) in steps {
        if let JournalEntry::Affinity { thread, start_ticks, before, given } = entry {
            known.insert((*thread, *start_ticks));
            given_masks.extend(parse_list(given));
            // The oldest is last. A main thread that has ended has no line, and another stands for it.
            if *thread == work.target.pid() || work.target.member() != work.target.pid() {
                main = parse_list(before);
            }
        }
    }
    if given_masks.is_empty() {
        return Ok(());
    }
    for thread in bind::threads(work)? {
        let Some(started) = bind::start_of(work, thread.id) else { continue };
        if known.contains(&(thread.id, started)) || !given_masks.contains(&thread.cpus) {
            continue;
        }
        // The main thread had these CPUs by itself where it has no line.
        let Some(bits) = main.as_deref().and_then(CpuBits::of) else { continue };
        work.may_go_on()?;
        if bind::set(work, thread.id, started, &bits)? == Set::Done {
            work.bound_threads += 1;
        }
    }
    Ok(())
}

fn affinity(work: &mut Work<'_>, thread: u32, started: u64, before: &str, given: &str) -> Result<(), Halt> {
    let (Some(before), Some(given)) = (parse_list(before), parse_list(given)) else { return Ok(()) };
    if bind::start_of(work, thread) != Some(started) {
        return Ok(());
    }
    let Some(now) = thread_of(work.target.root(), work.target.pid(), thread) else { return Ok(()) };
    if now.cpus == before {
        return Ok(());
    }
    if now.cpus != given {
        work.notes.push(format!(
            "thread {thread} ({}) has other CPUs than it was given: the program has bound it since, and it is left so",
            now.name
        ));
        return Ok(());
    }
    let Some(bits) = CpuBits::of(&before) else { return Ok(()) };
    match bind::set(work, thread, started, &bits)? {
        Set::Done => work.bound_threads += 1,
        Set::Gone => {}
        Set::Refused => work.notes.push(format!(
            "thread {thread} ({}) cannot have its CPUs back: the cpuset leaves them out",
            now.name
        )),
    }
    Ok(())
}
