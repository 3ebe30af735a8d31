//! An attach from its first look to its last: threads, collapsing, moving, and the report.

use crate::areas::Area;
use crate::bind::{self, ThreadAffinity};
use crate::collapse;
use crate::destination::Destination;
use crate::executor::Executor;
use crate::journal::{Journal, Owner};
use crate::migrate;
use crate::pace::Took;
use crate::reading::Reader;
use crate::stayed::{Stayed, WIDEN_CPUSET};
use crate::store::host;
use crate::target::Target;
use crate::work::{AttachProgress, Halt, Shortfalls, Watcher, Work, is_lost, reason_of};
use firsttouch_documents::{JournalBegin, JournalEntry};
use firsttouch_journal::JournalError;
use firsttouch_linux::clock::QueueTime;
use firsttouch_linux::cpulist::format_list;
use firsttouch_linux::process::{Status, ticks_after_boot};
use firsttouch_linux::remote::Batches;
use firsttouch_linux::smaps::PMD_BYTES;
use firsttouch_linux::urgent::Urgent;
use firsttouch_memory::{Reason, base_pages_fit};
use firsttouch_placement::{
    AttachAction, AttachAsked, AttachEnded, AttachPlan, AttachReport, Receipt, Resident, format_bytes,
};
use firsttouch_process::Blocks;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// What is to be done, with everything resolved for this machine.
#[derive(Clone, Debug, Default)]
pub struct ResolvedRequest {
    /// What was asked, for the journal and the report.
    pub asked: AttachAsked,
    /// Where pages are to lie; `None` leaves them.
    pub destination: Option<Destination>,
    /// The CPUs of threads.
    pub affinity: ThreadAffinity,
    /// The longest pause that a thread of the process may have because of us.
    pub stall_limit: Duration,
    /// What was decided while resolving.
    pub notes: Vec<String>,
}

/// Where an attach takes place.
#[derive(Debug)]
pub struct AttachContext<'a> {
    /// The folder of the journals.
    pub journals: PathBuf,
    /// The date (RFC 3339).
    pub now: String,
    /// The nodes that have memory.
    pub nodes: Vec<u32>,
    /// Becomes true when we are to stop.
    pub stop: &'a AtomicBool,
}

/// Why an attach did not begin. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The kernel, or the agent, does not let us.
    #[error("cannot {what} of process {pid}: {}", reason.word())]
    Refused {
        /// The process.
        pid: u32,
        /// What was tried.
        what: &'static str,
        /// Why, with its remedy.
        reason: Reason,
        /// What the kernel answered.
        source: io::Error,
    },
    /// Something of the process cannot be read.
    #[error("cannot read {what} of process {pid}")]
    Unreadable {
        /// The process.
        pid: u32,
        /// What.
        what: &'static str,
        /// What the kernel answered.
        source: io::Error,
    },
    /// It ended, or changed, before the first step.
    #[error("process {pid}: {}", ended.sentence())]
    Gone {
        /// The process.
        pid: u32,
        /// How.
        ended: AttachEnded,
    },
    /// The cpuset of the process keeps it from a node.
    #[error("the cpuset of process {pid} leaves out node {node}: it allows {}", format_list(allowed))]
    NodeNotAllowed {
        /// The process.
        pid: u32,
        /// As asked.
        node: u32,
        /// The nodes that it may have memory of.
        allowed: Vec<u32>,
    },
    /// There is no journal, and no step without one.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl AttachError {
    /// The line that mends it.
    pub fn hint(&self) -> String {
        match self {
            AttachError::Refused { reason, .. } => reason.remedy().to_owned(),
            AttachError::Unreadable { .. } => "run firsttouch as root".to_owned(),
            AttachError::Gone { .. } => "nothing was changed".to_owned(),
            AttachError::NodeNotAllowed { .. } => WIDEN_CPUSET.to_owned(),
            AttachError::Journal(error) => error.hint(),
        }
    }

    /// Its memory cannot be read, which that of a process that has ended cannot, either.
    pub(crate) fn unreadable(target: &Target, source: io::Error) -> AttachError {
        let pid = target.pid();
        let there = if is_lost(&source) { target.check_patiently() } else { target.check() };
        match there {
            Err(ended) => AttachError::Gone { pid, ended },
            Ok(()) => AttachError::Unreadable { pid, what: "memory", source },
        }
    }

    pub(crate) fn of(halt: Halt, pid: u32, what: &'static str) -> AttachError {
        match halt {
            Halt::Ended(ended) => AttachError::Gone { pid, ended },
            Halt::Journal(error) => AttachError::Journal(error),
            Halt::Refused(reason, source) => AttachError::Refused { pid, what, reason, source },
            Halt::Unreadable(what, source) => AttachError::Unreadable { pid, what, source },
        }
    }
}

/// Carries a request out, or only says what it would change.
pub fn attach(
    target: &Target,
    executor: &mut dyn Executor,
    request: &ResolvedRequest,
    context: &AttachContext<'_>,
    dry_run: bool,
    watcher: &mut dyn FnMut(&AttachProgress),
) -> Result<AttachReport, AttachError> {
    may(target, executor, request)?;
    let mut journal =
        if dry_run { Journal::nowhere() } else { Journal::open(&context.journals, &target.owner())? };
    let outcome = with_journal(target, executor, request, context, &mut journal, dry_run, watcher);
    let undo_steps = journal.history().undo_steps();
    let path = journal.discard_if_empty();
    outcome.map(|report| AttachReport {
        journal: path.map(|path| path.display().to_string()),
        undo_steps: if report.ended.may_be_undone() { undo_steps } else { 0 },
        ..report
    })
}

fn with_journal(
    target: &Target,
    executor: &mut dyn Executor,
    request: &ResolvedRequest,
    context: &AttachContext<'_>,
    journal: &mut Journal,
    dry_run: bool,
    watcher: &mut dyn FnMut(&AttachProgress),
) -> Result<AttachReport, AttachError> {
    let pid = target.pid();
    let reader = Reader {
        target,
        asked: &request.asked,
        affinity: &request.affinity,
        nodes: &context.nodes,
        stall_limit: request.stall_limit,
    };
    let before = reader.read(executor).map_err(|source| AttachError::unreadable(target, source))?;
    target.check().map_err(|ended| AttachError::Gone { pid, ended })?;
    let mut work = Work {
        target,
        executor,
        journal,
        batches: Batches::new().ok(),
        queue: QueueTime::of_this_thread().ok(),
        queued: Duration::ZERO,
        stalled: None,
        stop: context.stop,
        watcher: Watcher(watcher),
        stall_limit: request.stall_limit,
        several_nodes: context.nodes.len() > 1,
        knows_advice: before.knows_advice,
        shortfalls: Shortfalls::default(),
        notes: request.notes.clone(),
        worst: Took::default(),
        moved_bytes: 0,
        stayed: Stayed::default(),
        bound_threads: 0,
    };
    work.notes.extend(about_shared_memory(&request.asked, &before.receipt));
    work.notes.extend(about_files(request, &before.receipt));
    if before.longest_walk > request.stall_limit {
        work.notes.push(format!(
            "reading what the program has advised took {:.0} ms, for parts of which it cannot change its mappings",
            before.longest_walk.as_secs_f64() * 1e3
        ));
    }
    let job = plan(&mut work, request, &before.areas.worked_on)
        .map_err(|halt| AttachError::of(halt, pid, "look at the memory"))?;
    let is_forbidden = request.asked.huge_pages && thp_is_forbidden(target);
    if is_forbidden {
        work.shortfalls.add(Reason::ThpDisabledByPrctl, 0);
    }
    let begun = Instant::now();
    let mut collapsed = collapse::Collapsed::default();
    let mut after = before.receipt.clone();
    let mut collapsed_bytes = 0;
    let mut ended = AttachEnded::Done;
    let mut wall_s = 0.0;
    if !dry_run {
        begin(&mut work, request, context)
            .map_err(|halt| AttachError::of(halt, pid, "attach to the memory"))?;
        let outcome = {
            let _urgent = Urgent::begin();
            carry_out(&mut work, request, &job, &before.areas.worked_on, &mut collapsed)
        };
        wall_s = begun.elapsed().as_secs_f64();
        let now = reader.read(work.executor).ok().filter(|_| target.check().is_ok());
        // Where the kernel tells, each call was read back; else the whole is compared, of which the program may have done a
        // part by itself.
        let gained = now.as_ref().map_or(0, |now| now.huge_bytes().saturating_sub(before.huge_bytes()));
        collapsed_bytes = collapsed.huge_bytes.unwrap_or(gained.min(collapsed.done_bytes));
        let is_changed = work.moved_bytes + collapsed_bytes > 0 || work.bound_threads > 0;
        ended = match outcome {
            Err(halt @ (Halt::Refused(..) | Halt::Unreadable(..))) if !is_changed => {
                let _ = work.journal.write(JournalEntry::End { ended: AttachEnded::Refused });
                return Err(AttachError::of(halt, pid, "change the placement"));
            }
            outcome => finish(&mut work, outcome),
        };
        if let Some(destination) = &request.destination {
            let cut_off_bytes = if ended == AttachEnded::Done { 0 } else { job.plan.move_bytes };
            migrate::account(&mut work, now.as_ref(), destination, cut_off_bytes);
        }
        if let Some(now) = now {
            if request.asked.huge_pages {
                let rest = if is_forbidden { Reason::ThpDisabledByPrctl } else { Reason::NoWholeBlock };
                collapse::account(&mut work, &now.areas, &collapsed, job.plan.collapse_bytes, rest);
            }
            after = now.receipt;
        } else {
            after = reader.without_reading();
            after.notes.push("the process could not be read after the last step".to_owned());
        }
        if ended == AttachEnded::TargetEnded {
            // They say what to expect of a process that goes on.
            work.notes.retain(|note| !request.notes.contains(note));
        }
    }
    let (worst_pause_ms, worst_pause_cpu_ms) = work.worst_ms();
    let shortfalls = work.shortfalls.list();
    after.shortfalls.clone_from(&shortfalls);
    Ok(AttachReport {
        pid,
        action: if dry_run { AttachAction::DryRun } else { AttachAction::Attach },
        asked: request.asked.clone(),
        planned: job.plan,
        before: before.receipt,
        after,
        moved_bytes: work.moved_bytes,
        collapsed_bytes,
        bound_threads: work.bound_threads,
        worst_pause_ms,
        worst_pause_cpu_ms,
        stall_limit_ms: request.stall_limit.as_secs_f64() * 1e3,
        wall_s,
        shortfalls,
        journal: None,
        undo_steps: 0,
        executor: work.executor.kind(),
        ended,
        own_devices: None,
        notes: work.notes,
        children: Vec::new(),
    })
}

/// Shared memory is left alone unless it is asked for; where it is most of what there is (a database's buffers), that is said.
fn about_shared_memory(asked: &AttachAsked, before: &Receipt) -> Option<String> {
    let memory = before.tree.as_ref().filter(|_| asked.huge_pages && !asked.files)?.at_peak;
    let small = |resident: Resident| resident.bytes.saturating_sub(resident.huge_bytes);
    let left = small(memory.shared);
    (left >= PMD_BYTES && left >= small(memory.private) + small(memory.placed)).then(|| {
        format!(
            "{} of shared memory on small pages are left alone: --files collapses them, for every process that maps them",
            format_bytes(left)
        )
    })
}

/// The same where nodes are asked for: files are left, too.
fn about_files(request: &ResolvedRequest, before: &Receipt) -> Option<String> {
    let is_asked = request.destination.is_some() && !request.asked.files;
    let memory = before.tree.as_ref().filter(|_| is_asked)?.at_peak;
    let left = memory.files.bytes + memory.shared.bytes;
    (left >= PMD_BYTES).then(|| {
        format!(
            "{} of files and shared memory are left on their nodes: --files moves what no other process maps",
            format_bytes(left)
        )
    })
}

/// Writes down that an attach begins.
fn begin(work: &mut Work<'_>, request: &ResolvedRequest, context: &AttachContext<'_>) -> Result<(), Halt> {
    if work.journal.history().is_cut_off() {
        work.notes.push(
            "an earlier attach was cut off: this one goes on, and --undo goes back over both".to_owned(),
        );
    }
    let target = work.target;
    let Owner { pid, start_ticks, boot_id, pid_namespace } = target.owner();
    work.note(JournalEntry::Begin(Box::new(JournalBegin {
        pid,
        start_ticks,
        boot_id,
        host: host(target.root()),
        pid_namespace,
        image: target.image().clone(),
        command: target.command().to_owned(),
        began: context.now.clone(),
        began_ticks: Some(ticks_after_boot()),
        asked: request.asked.clone(),
    })))?;
    Ok(())
}

/// Asks the kernel whether an executor may make every kind of step that a request needs, before the first is made.
pub fn may(
    target: &Target,
    executor: &mut dyn Executor,
    request: &ResolvedRequest,
) -> Result<(), AttachError> {
    let pid = target.pid();
    let refused = |what: &'static str, source: io::Error| {
        if is_lost(&source)
            && let Err(ended) = target.check_patiently()
        {
            return AttachError::Gone { pid, ended };
        }
        match reason_of(&source) {
            Some(reason) => AttachError::Refused { pid, what, reason, source },
            None => AttachError::Unreadable { pid, what: "memory", source },
        }
    };
    if (request.asked.huge_pages || request.destination.is_some()) && !base_pages_fit() {
        let source = io::Error::from_raw_os_error(libc::ENOTSUP);
        return Err(AttachError::Refused { pid, what: "place memory", reason: Reason::BasePageSize, source });
    }
    if request.asked.huge_pages {
        let what = "collapse pages";
        executor.may_collapse().map_err(|source| match source.raw_os_error() {
            // Asked with nothing to do, the kernel has no other reason than not to know the advice.
            Some(libc::EINVAL) => AttachError::Refused { pid, what, reason: Reason::KernelTooOld, source },
            _ => refused(what, source),
        })?;
    }
    if let Some(destination) = &request.destination {
        let allowed =
            Status::read(target.root(), target.member()).ok().and_then(|status| status.allowed_nodes);
        if let Some(allowed) = allowed
            && let Some(node) = destination.nodes().into_iter().find(|node| !allowed.contains(node))
        {
            return Err(AttachError::NodeNotAllowed { pid, node, allowed });
        }
        executor.nodes_of(&[0], &mut [0]).map_err(|error| refused("move pages", error))?;
    }
    Ok(())
}

fn thp_is_forbidden(target: &Target) -> bool {
    Status::read(target.root(), target.member()).is_ok_and(|status| status.thp_enabled == Some(false))
}

/// What is to be gone through.
struct Job {
    plan: AttachPlan,
    blocks: Vec<Blocks>,
}

fn plan(work: &mut Work<'_>, request: &ResolvedRequest, seen: &[Area]) -> Result<Job, Halt> {
    let mut job = Job { plan: AttachPlan::default(), blocks: Vec::new() };
    if request.asked.huge_pages && !thp_is_forbidden(work.target) {
        job.blocks = collapse::blocks(work, seen)?;
        job.plan.collapse_bytes = collapse::bytes_of(&job.blocks);
    }
    if let Some(destination) = &request.destination {
        job.plan.move_bytes = migrate::bytes_elsewhere(work, seen, destination)?;
    }
    if !request.affinity.is_none() {
        job.plan.threads = bind::elsewhere(&bind::threads(work)?, &request.affinity);
    }
    Ok(job)
}

/// Threads first, so that what they touch from now on is near them; then collapsing, because large pages are quicker to
/// move; and collapsing again what had to be split on the way.
fn carry_out(
    work: &mut Work<'_>,
    request: &ResolvedRequest,
    job: &Job,
    seen: &[Area],
    collapsed: &mut collapse::Collapsed,
) -> Result<(), Halt> {
    if !request.affinity.is_none() {
        bind::bind(work, &request.affinity)?;
    }
    if !job.blocks.is_empty() {
        collapse::collapse(work, &job.blocks, collapsed)?;
    }
    if let Some(destination) = &request.destination {
        migrate::migrate(work, seen, destination, job.plan.move_bytes)?;
        if request.asked.huge_pages && work.moved_bytes > 0 && !job.blocks.is_empty() {
            let again = collapse::blocks(work, seen)?;
            collapse::collapse(work, &again, &mut collapse::Collapsed::default())?;
        }
    }
    Ok(())
}

/// The end, written down if it still can be.
pub(crate) fn finish(work: &mut Work<'_>, outcome: Result<(), Halt>) -> AttachEnded {
    let ended = match outcome {
        Ok(()) => AttachEnded::Done,
        Err(Halt::Ended(ended)) => {
            if ended == AttachEnded::StallLimit {
                work.notes.extend(work.about_stalls());
            }
            ended
        }
        Err(Halt::Journal(error)) => {
            work.notes.push(format!("{error}: {}", error.hint()));
            return AttachEnded::JournalFailed;
        }
        Err(Halt::Refused(reason, error)) => {
            work.notes.push(format!("the kernel refused a step ({error})"));
            work.shortfalls.add(reason, 0);
            AttachEnded::Refused
        }
        Err(Halt::Unreadable(what, error)) => {
            work.notes.push(format!("cannot read {what} of the process ({error})"));
            AttachEnded::Refused
        }
    };
    // A journal without an end says as much: it was cut off.
    let _ = work.journal.write(JournalEntry::End { ended });
    ended
}
