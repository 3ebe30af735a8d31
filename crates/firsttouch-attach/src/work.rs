//! What every step goes through: look whether to go on, write the journal, make the call, measure it.

use crate::executor::Executor;
use crate::journal::Journal;
use crate::pace::{A_TURN, Pace, Stalls, Took};
use crate::stayed::Stayed;
use crate::target::Target;
use firsttouch_documents::JournalEntry;
use firsttouch_journal::JournalError;
use firsttouch_linux::clock::{QueueTime, thread_processor_time};
use firsttouch_linux::remote::Batches;
use firsttouch_placement::{AttachEnded, ExecutorKind, Reason, Shortfall};
use firsttouch_sorted::SortedMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Threads are bound to CPUs.
    Threads,
    /// Memory is collapsed onto huge pages.
    Collapse,
    /// Pages are moved to other nodes.
    Move,
    /// Steps of a journal are taken back.
    Back,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttachProgress {
    /// What is being done.
    pub phase: Phase,
    /// Bytes, threads or steps gone through.
    pub done: u64,
    /// Bytes, threads or steps to go through.
    pub of: u64,
    /// Time since the phase began.
    pub elapsed: Duration,
    /// The longest call so far.
    pub worst_pause: Duration,
}

/// Why no further step is made.
#[derive(Debug)]
pub(crate) enum Halt {
    /// The process is not what it was, or we were asked to stop.
    Ended(AttachEnded),
    /// The step could not be written down.
    Journal(JournalError),
    /// The kernel does not let us.
    Refused(Reason, io::Error),
    /// Something of the process cannot be read, though it is there.
    Unreadable(&'static str, io::Error),
}

/// One attach or undo at work.
#[derive(Debug)]
pub(crate) struct Work<'a> {
    pub(crate) target: &'a Target,
    pub(crate) executor: &'a mut dyn Executor,
    pub(crate) journal: &'a mut Journal,
    pub(crate) batches: Option<Batches>,
    /// Of the thread that makes the calls; `None` where the kernel does not count it.
    pub(crate) queue: Option<QueueTime>,
    /// What it said after the last call.
    pub(crate) queued: Duration,
    /// The limit of pauses could not be kept, and nothing more is done.
    pub(crate) stalled: Option<Stalls>,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) watcher: Watcher<'a>,
    pub(crate) stall_limit: Duration,
    /// Pages can lie on more than one node.
    pub(crate) several_nodes: bool,
    /// What the program has advised for its mappings was read.
    pub(crate) knows_advice: bool,
    pub(crate) shortfalls: Shortfalls,
    pub(crate) notes: Vec<String>,
    /// The longest call.
    pub(crate) worst: Took,
    pub(crate) moved_bytes: u64,
    pub(crate) stayed: Stayed,
    pub(crate) bound_threads: u32,
}

/// Whoever is told of progress.
pub(crate) struct Watcher<'a>(pub(crate) &'a mut dyn FnMut(&AttachProgress));

impl std::fmt::Debug for Watcher<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watcher")
    }
}

impl Work<'_> {
    /// Whether to make another step.
    pub(crate) fn may_go_on(&self) -> Result<(), Halt> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Halt::Ended(AttachEnded::Interrupted));
        }
        if self.stalled.is_some() {
            return Err(Halt::Ended(AttachEnded::StallLimit));
        }
        self.target.check().map_err(Halt::Ended)
    }

    /// Writes down a step that is about to be made; returns its line.
    pub(crate) fn note(&mut self, entry: JournalEntry) -> Result<usize, Halt> {
        self.journal.write(entry).map_err(Halt::Journal)
    }

    /// Makes a call and measures it, then leaves the process alone for as long as the pace says.
    pub(crate) fn call<T>(
        &mut self,
        pace: &mut Pace,
        bytes: u64,
        call: impl FnOnce(&mut dyn Executor) -> T,
    ) -> T {
        let queued = |queue: &Option<QueueTime>| queue.as_ref().map_or(Duration::ZERO, QueueTime::read);
        let kind = self.executor.kind();
        let (executor, queue, before) = (&mut *self.executor, &self.queue, self.queued);
        // Measured before others get on: who no longer goes first may wait long, and holds up nobody then.
        let measured = || {
            let queue_before = queued(queue);
            let (begun, processor) = (Instant::now(), thread_processor_time());
            let answer = call(executor);
            let wall = begun.elapsed();
            let processor = thread_processor_time().saturating_sub(processor);
            let queue_after = queued(queue);
            let between = queue_before.saturating_sub(before);
            let queue = queue_after.saturating_sub(queue_before);
            (answer, Took { wall, processor, queue, between }, queue_after)
        };
        let (answer, took, queue_after) = match kind {
            ExecutorKind::Remote => self.target.precedence().during(measured),
            ExecutorKind::InProcess => measured(),
        };
        self.queued = queue_after;
        let took = match kind {
            ExecutorKind::Remote => took,
            // It is another's: all that is known of it is that it was no more than this.
            ExecutorKind::InProcess => Took { wall: took.wall, processor: took.wall, ..Took::default() },
        };
        if took.wall > self.worst.wall {
            self.worst = took;
        }
        let gap = pace.took(took, bytes);
        self.stalled = self.stalled.or(pace.stalls());
        if !gap.is_zero() {
            self.target.pause(gap);
        }
        answer
    }

    /// What the kernel does first in every call is done here, where nobody waits for it; again where it took long, because
    /// the machine is busy at this moment.
    pub(crate) fn make_ready(&self) {
        const MOST_TRIES: u32 = 3;
        let Some(batches) = &self.batches else { return };
        for _ in 0..MOST_TRIES {
            let begun = Instant::now();
            batches.hand_in();
            if begun.elapsed() < self.stall_limit / 4 {
                break;
            }
        }
    }

    /// What to say where the limit of pauses could not be kept.
    pub(crate) fn about_stalls(&self) -> Option<String> {
        let Stalls { calls, longest } = self.stalled?;
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let first = if self.target.precedence().is_allowed()
            || self.executor.kind() == ExecutorKind::InProcess
        {
            ""
        } else {
            "; where it may, attach goes before other programs for moments (root or CAP_SYS_NICE, and sysctl kernel.sched_rt_runtime_us as it usually is)"
        };
        Some(format!(
            "{calls} calls of the last ones, as small as they get, waited for longer than a pause may be ({} ms), {:.0} ms at most: the machine is busy. \
             What was done stays. Attach again when it is quiet, or allow more: --budget-stall{first}",
            ms(self.stall_limit.max(A_TURN)),
            ms(longest),
        ))
    }

    /// What an error means that is not of the step itself: the process has gone, or we may not.
    pub(crate) fn halt_of(&self, error: io::Error) -> Halt {
        let there = if is_lost(&error) { self.target.check_patiently() } else { self.target.check() };
        if let Err(ended) = there {
            return Halt::Ended(ended);
        }
        match reason_of(&error) {
            Some(reason) => Halt::Refused(reason, error),
            None => Halt::Unreadable("memory", error),
        }
    }

    /// What the report tells of the longest call: ms by the clock, and of a processor where that is known.
    pub(crate) fn worst_ms(&self) -> (f64, Option<f64>) {
        let processor = (self.executor.kind() == ExecutorKind::Remote).then_some(self.worst.processor);
        (self.worst.wall.as_secs_f64() * 1e3, processor.map(|time| time.as_secs_f64() * 1e3))
    }

    pub(crate) fn progress(&mut self, phase: Phase, done: u64, of: u64, begun: Instant) {
        let progress =
            AttachProgress { phase, done, of, elapsed: begun.elapsed(), worst_pause: self.worst.wall };
        (self.watcher.0)(&progress);
    }
}

/// Whether an error may be that the process has ended: move_pages(2) of one whose memory is gone already answers EINVAL.
pub(crate) fn is_lost(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ESRCH | libc::EINVAL))
}

/// The reason of the closed list that an error number of a whole call stands for.
pub(crate) fn reason_of(error: &io::Error) -> Option<Reason> {
    match error.raw_os_error()? {
        libc::EPERM => Some(Reason::NoCapability),
        libc::EACCES => Some(Reason::NotDumpable),
        libc::ENOSYS => Some(Reason::KernelTooOld),
        // Of a process that is there.
        libc::ESRCH => Some(Reason::FirstThreadEnded),
        _ => None,
    }
}

/// Bytes that did not get what was asked, by reason and remedy.
#[derive(Debug, Default)]
pub(crate) struct Shortfalls(SortedMap<(Reason, Option<&'static str>), u64>);

impl Shortfalls {
    pub(crate) fn add(&mut self, reason: Reason, bytes: u64) {
        *self.0.entry((reason, None)).or_insert(0) += bytes;
    }

    /// Bytes, if there are any, with a remedy that fits better than that of the reason.
    pub(crate) fn add_some(&mut self, reason: Reason, bytes: u64, remedy: Option<&'static str>) {
        if bytes > 0 {
            *self.0.entry((reason, remedy)).or_insert(0) += bytes;
        }
    }

    pub(crate) fn list(&self) -> Vec<Shortfall> {
        let one = |((reason, remedy), bytes): &((Reason, Option<&'static str>), u64)| {
            let usual = Shortfall::new(*reason, *bytes);
            Shortfall { remedy: remedy.map_or(usual.remedy, str::to_owned), ..usual }
        };
        self.0.iter().map(one).collect()
    }
}
