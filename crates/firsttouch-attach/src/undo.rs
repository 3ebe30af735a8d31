//! The way back: affinity and node placement as the journal has them, newest step first.

use crate::areas::Area;
use crate::attach::{AttachContext, AttachError, finish};
use crate::back::{Back, Moved};
use crate::bind::{self, Set, ThreadAffinity};
use crate::executor::Executor;
use crate::heirs;
use crate::journal::{Journal, Step};
use crate::makers::Cpuset;
use crate::pace::Took;
use crate::reading::{Reader, Reading};
use crate::stayed::Stayed;
use crate::target::Target;
use crate::work::{AttachProgress, Halt, Phase, Shortfalls, Watcher, Work};
use firsttouch_documents::JournalEntry;
use firsttouch_linux::clock::QueueTime;
use firsttouch_linux::cpulist::parse_list;
use firsttouch_linux::remote::Batches;
use firsttouch_linux::urgent::Urgent;
use firsttouch_machine::cpuset_of_process;
use firsttouch_placement::{AttachAction, AttachAsked, AttachEnded, AttachPlan, AttachReport};
use firsttouch_threads::thread_of;
use std::path::Path;
use std::time::{Duration, Instant};

/// Heirs whose makers were heirs themselves are looked for so often.
const MOST_ROUNDS: u32 = 4;

/// Takes back what the journal of a process says. Without a step to take back, that is said in the notes.
pub fn undo(
    target: &Target,
    executor: &mut dyn Executor,
    context: &AttachContext<'_>,
    stall_limit: Duration,
    watcher: &mut dyn FnMut(&AttachProgress),
) -> Result<AttachReport, AttachError> {
    let pid = target.pid();
    let mut journal = Journal::open_kept(&context.journals, &target.owner())?;
    let steps = journal.history().steps(target.image());
    let (asked, affinity) = (AttachAsked::default(), ThreadAffinity::default());
    let reader = Reader { target, asked: &asked, affinity: &affinity, nodes: &context.nodes, stall_limit };
    let Reading { areas, receipt: before, .. } =
        reader.read(executor).map_err(|source| AttachError::unreadable(target, source))?;
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
        stayed: Stayed::default(),
        bound_threads: 0,
    };
    let ended = if steps.is_empty() {
        let folder = context.journals.display();
        work.notes.push(format!(
            "there is nothing to take back: {folder} has no journal with steps to process {pid}"
        ));
        AttachEnded::Done
    } else {
        let _urgent = Urgent::begin();
        let outcome = take_back(&mut work, &steps, &areas.worked_on, &context.journals);
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
        undo_steps: if ended.may_be_undone() { journal.history().undo_steps() } else { 0 },
        journal: journal.discard_if_empty().map(|path| path.display().to_string()),
        executor,
        ended,
        own_devices: None,
        notes,
        children: Vec::new(),
    })
}

fn take_back(work: &mut Work<'_>, steps: &[Step], areas: &[Area], journals: &Path) -> Result<(), Halt> {
    let begun = Instant::now();
    let mut back = Back::new(work, areas);
    let (mut done, of) = (0, work.journal.history().undo_steps());
    let cpuset = Cpuset(cpuset_of_process(work.target.root(), work.target.member()));
    heirs::of_process(work, steps, &cpuset)?;
    // Threads first: where they run, the kernel may pull pages after them.
    let (threads, memory): (Vec<_>, Vec<_>) =
        steps.iter().partition(|step| matches!(step.entry, JournalEntry::Affinity { .. }));
    let mut unwritten = None;
    for (part, is_of_threads) in [(threads, true), (memory, false)] {
        for Step { line, entry, same_program, .. } in part {
            work.may_go_on()?;
            let is_back = match entry {
                JournalEntry::Affinity { thread, start_ticks, before, given } => {
                    affinity(work, *thread, *start_ticks, (before, given), &cpuset)?
                }
                JournalEntry::Move { start, nodes, to } if *same_program => {
                    // What was written by us reads; what does not was changed by somebody else.
                    if let Ok(moved) = Moved::parse(*start, nodes, to.as_deref()) {
                        back.put(work, &moved)?
                    } else {
                        work.notes.push(format!("line {} of the journal does not tell nodes", line + 1));
                        true
                    }
                }
                _ => true,
            };
            if !is_back {
                // The step stays in the journal, for another time.
                continue;
            }
            // What cannot be noted, on a full disk, is taken back all the same: once more does no harm.
            if let Err(halt) = work.note(JournalEntry::Undone { line: *line }) {
                unwritten = Some(halt);
            }
            if entry.can_be_taken_back() {
                done += 1;
                work.progress(Phase::Back, done, of, begun);
            }
        }
        // Now that nobody inherits them any more; threads that were made meanwhile may have.
        if is_of_threads {
            for _ in 0..MOST_ROUNDS {
                if !heirs::of_process(work, steps, &cpuset)? {
                    break;
                }
            }
            heirs::of_descendants(work, steps, journals)?;
        }
    }
    back.tell(work);
    if steps.iter().any(|step| !step.same_program) {
        work.notes.push(
            "the process has become another program since: its memory is its own, only CPUs were given back"
                .to_owned(),
        );
    } else if steps.iter().any(|step| matches!(step.entry, JournalEntry::Collapse { .. })) {
        work.notes.push(
            "pages that were collapsed stay huge, each on one node: no call from outside splits them. The program's own writes, \
             forks and unmappings do"
                .to_owned(),
        );
    }
    unwritten.map_or(Ok(()), Err)
}

/// Gives a thread its CPUs back; false if it cannot have them for now.
fn affinity(
    work: &mut Work<'_>,
    thread: u32,
    started: u64,
    (before, given): (&str, &str),
    cpuset: &Cpuset,
) -> Result<bool, Halt> {
    let (Some(before), Some(given)) = (parse_list(before), parse_list(given)) else { return Ok(true) };
    if bind::start_of(work, thread) != Some(started) {
        return Ok(true);
    }
    let Some(now) = thread_of(work.target.root(), work.target.pid(), thread) else { return Ok(true) };
    // While the cpuset has not what we gave, what the thread has tells nothing: it may be given that again when it can.
    let is_given = now.cpus == cpuset.cut(&given);
    if now.cpus == before && !is_given {
        return Ok(true);
    }
    if !is_given {
        work.notes.push(format!(
            "thread {thread} ({}) has other CPUs than it was given: the program has bound it since, and it is left so",
            now.name
        ));
        return Ok(true);
    }
    let Some(bits) = cpuset.bits_of(&before) else { return Ok(true) };
    match bind::set(work, thread, started, &bits)? {
        Set::Done => work.bound_threads += 1,
        Set::Gone => {}
        Set::Refused(why) => {
            work.notes.push(format!(
                "thread {thread} ({}) cannot have its CPUs back for now: {why}. Undo again after that",
                now.name
            ));
            return Ok(false);
        }
    }
    Ok(true)
}
