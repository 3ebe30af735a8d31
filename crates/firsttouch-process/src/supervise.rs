//! Putting the memory of a running process onto huge pages from outside.
//!
//! For programs that no preload library reaches: static ones, Go, those with an allocator of their own. The kernel's
//! answer to a collapse proves nothing, so what was obtained is always the difference of two readings of smaps.
//!
//! Architecture invariant: the other process must not be able to tell, except by its speed. Only private anonymous
//! memory is asked for, only blocks that are mostly there already, half of the room that there is for it to grow is left to it, nothing is
//! swapped in, and a process that has ended is a normal end.

mod blocks;
mod candidates;
mod pass;

pub use blocks::{Blocks, GrowthLimit, may_have_blocks, whole_blocks};
use candidates::{Candidate, candidates};
pub use candidates::{is_plain, is_special, is_thread_stack, is_watched};
use firsttouch_linux::clock::thread_processor_time;
use firsttouch_linux::maps::{cover, read_maps};
use firsttouch_linux::pagemap::Pagemap;
use firsttouch_linux::process::{
    OWN_PROC, SHOWS_OTHERS, Stat, Status, living_status, shown_under, shows_others, unless_ended,
};
use firsttouch_linux::remote::ProcessHandle;
use firsttouch_linux::root::Root;
use firsttouch_linux::smaps::{Region, read_smaps_first};
use firsttouch_linux::urgent::Precedence;
use firsttouch_memory::Reason;
pub use pass::{Pass, SuperviseRange};
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Why a process cannot be supervised (any longer).
#[derive(Debug, thiserror::Error)]
pub enum SuperviseError {
    /// There is no such process.
    #[error("there is no process {pid}")]
    NoSuchProcess {
        /// The process.
        pid: u32,
    },
    /// The kernel does not let us.
    #[error("cannot collapse pages of process {pid}: {}", .reason.word())]
    Refused {
        /// The process.
        pid: u32,
        /// Why, with its remedy.
        reason: Reason,
        /// What the kernel answered, where it was asked.
        source: Option<io::Error>,
    },
    /// /proc is that of another PID namespace.
    #[error("cannot look at process {pid}: {SHOWS_OTHERS}")]
    OtherNamespace {
        /// The process.
        pid: u32,
    },
    /// The memory of the process cannot be read.
    #[error("cannot read the memory map of process {pid}")]
    Unreadable {
        /// The process.
        pid: u32,
        /// What the kernel answered.
        source: io::Error,
    },
}

impl SuperviseError {
    /// The reason of the closed list, where there is one.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            SuperviseError::Refused { reason, .. } => Some(*reason),
            _ => None,
        }
    }

    /// What would mend it; `None` of a process that has ended, which is nothing to mend.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            SuperviseError::Refused { reason, .. } => Some(reason.remedy()),
            SuperviseError::OtherNamespace { .. } => Some(OWN_PROC),
            SuperviseError::NoSuchProcess { .. } | SuperviseError::Unreadable { .. } => None,
        }
    }
}

/// Time of one pass, so that its caller stays responsive.
const PASS_BUDGET: Duration = Duration::from_millis(200);
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Passes that get little may take one part in fifty of a processor…
const PAUSE_TO_IDLE: u32 = 49;
/// …and those that move memory, at this rate at least, one part in two: what they take the program gets back.
const PAUSE_TO_WORK: u32 = 1;
const WORTHWHILE_BYTES_PER_S: f64 = (128 << 20) as f64;

/// Memory of which is read at a time what of it is worth asking for: reading all of a large mapping takes longer than a pass.
const PIECE: u64 = 512 << 20;

/// Every call makes all processors hand in their page batches first, which on a busy machine costs more than a few
/// blocks do; and the program waits for one block at a time only. So calls are large.
const FIRST_CHUNK: u64 = 32 << 20;
const SMALLEST_CHUNK: u64 = 8 << 20;
const LARGEST_CHUNK: u64 = 64 << 20;
const LONG_CALL: Duration = Duration::from_millis(60);
const SHORT_CALL: Duration = Duration::from_millis(20);

/// Collapses the memory of one process, pass by pass; the caller keeps the time between the passes.
#[derive(Debug)]
pub struct Supervisor {
    root: Root,
    pid: u32,
    handle: ProcessHandle,
    /// The program waits while pages of it are read or collapsed: on a busy machine for longer than that takes.
    precedence: Arc<Precedence>,
    growth: GrowthLimit,
    range: SuperviseRange,
    chunk_bytes: u64,
    /// Where the last pass ran out of time.
    resume_at: u64,
    /// Mappings for which nothing more could be got, by start, as they were then.
    settled: HashMap<u64, Candidate>,
    spacing: Duration,
    pause: Duration,
}

impl Supervisor {
    /// Takes hold of a process and checks that the kernel lets us.
    pub fn new(root: Root, pid: u32, range: SuperviseRange) -> Result<Supervisor, SuperviseError> {
        if shows_others(&root) {
            return Err(SuperviseError::OtherNamespace { pid });
        }
        let handle = ProcessHandle::open(pid).map_err(|error| refusal(pid, error))?;
        match handle.may_collapse() {
            // No process, unless others go on without the first thread: what that costs the passes tell.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) && shown_under(&root, pid) != pid => {}
            answer => answer.map_err(|error| refusal(pid, error))?,
        }
        let precedence = Arc::new(Precedence::new(&root));
        let supervisor = Supervisor {
            root,
            pid,
            handle,
            precedence,
            growth: GrowthLimit::new(pid),
            range,
            chunk_bytes: FIRST_CHUNK,
            resume_at: 0,
            settled: HashMap::new(),
            spacing: SHORTEST_PAUSE,
            pause: SHORTEST_PAUSE,
        };
        supervisor.check_prctl()?;
        Ok(supervisor)
    }

    /// How long to wait before the next pass. Passes that get nothing space out to 2 s, and take at most 2 % of a
    /// processor; passes that move memory at most half of one.
    pub fn pause(&self) -> Duration {
        self.pause
    }

    /// The process, for waiting on its end.
    pub fn handle(&self) -> &ProcessHandle {
        &self.handle
    }

    /// Looks at the memory of the process and collapses what is worth it.
    pub fn pass(&mut self) -> Result<Pass, SuperviseError> {
        let begun = thread_processor_time();
        let Some((thread, before)) = self.regions()? else {
            return Ok(Pass { ended: true, ..Pass::default() });
        };
        self.check_prctl()?;
        let (wanted, mut pass) = candidates(&before, self.range);
        if thread != self.pid {
            let small_bytes = wanted.iter().map(|it| it.rss_bytes.saturating_sub(it.huge_bytes)).sum();
            pass.refused.insert(Reason::FirstThreadEnded, small_bytes);
            self.space_out(&pass, thread_processor_time().saturating_sub(begun));
            return Ok(pass);
        }
        self.settled.retain(|_, settled| wanted.contains(settled));
        let open: Vec<Candidate> = wanted
            .into_iter()
            .filter(|candidate| self.settled.get(&candidate.start) != Some(candidate))
            .collect();
        let mut asked = Vec::new();
        if !open.is_empty() {
            let pagemap = Pagemap::open_first(&self.root, self.pid, Arc::clone(&self.precedence));
            // Whether all of it has ended or the first thread only, the next pass tells.
            if let Some(pagemap) = unless_ended(pagemap).map_err(|error| self.unreadable(error))? {
                asked = self.ask(&open, &pagemap, Instant::now() + PASS_BUDGET, &mut pass)?;
            }
        }
        if pass.asked_bytes > 0 {
            let Some((_, after)) = self.regions()? else { return Ok(Pass { ended: true, ..pass }) };
            pass.collapsed_bytes = self.settle(&asked, &after);
        }
        self.space_out(&pass, thread_processor_time().saturating_sub(begun));
        Ok(pass)
    }

    fn space_out(&mut self, pass: &Pass, took: Duration) {
        let worthwhile = pass.collapsed_bytes as f64 >= WORTHWHILE_BYTES_PER_S * took.as_secs_f64();
        let idle = pass.collapsed_bytes == 0 && !pass.unfinished;
        self.spacing = if idle { (self.spacing * 2).min(LONGEST_PAUSE) } else { SHORTEST_PAUSE };
        let share = if pass.collapsed_bytes > 0 && worthwhile { PAUSE_TO_WORK } else { PAUSE_TO_IDLE };
        self.pause = self.spacing.max(took * share);
    }

    /// Asks for the blocks of the open candidates, starting where the last pass ended. Returns the candidates with the
    /// bytes asked for, and whether all of theirs were.
    fn ask(
        &mut self,
        open: &[Candidate],
        pagemap: &Pagemap,
        deadline: Instant,
        pass: &mut Pass,
    ) -> Result<Vec<Asked>, SuperviseError> {
        let from = open.iter().position(|candidate| candidate.end > self.resume_at).unwrap_or(0);
        let mut asked = Vec::new();
        for candidate in open[from..].iter().chain(&open[..from]) {
            let begin = if candidate.end > self.resume_at {
                candidate.start.max(self.resume_at)
            } else {
                candidate.start
            };
            let mut this = Asked { candidate: *candidate, bytes: 0, whole: begin == candidate.start };
            let entries = |start, pages| pagemap.entries(start, pages);
            let mut piece = begin;
            while piece < candidate.end {
                if Instant::now() >= deadline {
                    self.resume_at = piece;
                    pass.unfinished = true;
                    this.whole = false;
                    asked.push(this);
                    return Ok(asked);
                }
                let end = candidate.end.min((piece / PIECE + 1) * PIECE);
                let runs = whole_blocks(piece..end, candidate.lazy_free_bytes, false, entries)
                    .map_err(|error| self.unreadable(error))?;
                for run in runs {
                    match self.ask_run(&run, deadline, pass, &mut this)? {
                        Asking::On => {}
                        Asking::Ended => return Ok(asked),
                        Asking::Later => {
                            asked.push(this);
                            return Ok(asked);
                        }
                    }
                }
                piece = end;
            }
            asked.push(this);
        }
        self.resume_at = 0;
        Ok(asked)
    }

    /// Asks for blocks that lie one after another.
    fn ask_run(
        &mut self,
        run: &Blocks,
        deadline: Instant,
        pass: &mut Pass,
        this: &mut Asked,
    ) -> Result<Asking, SuperviseError> {
        let mut start = run.range.start;
        while start < run.range.end {
            if Instant::now() >= deadline {
                self.resume_at = start;
                pass.unfinished = true;
                this.whole = false;
                return Ok(Asking::Later);
            }
            let wanted = self.chunk_bytes.min(run.range.end - start);
            let bytes = match self.growth.fitting(run, wanted) {
                Ok(bytes) => bytes,
                Err(reason) => {
                    // Others need no more memory than they have.
                    *pass.refused.entry(reason).or_insert(0) += run.range.end - start;
                    this.whole = false;
                    break;
                }
            };
            match self.collapse(start, bytes)? {
                Answer::Done => {}
                Answer::Ended => return Ok(Asking::Ended),
                Answer::Refused(reason) => {
                    // Memory is short: leave the rest for a later pass.
                    *pass.refused.entry(reason).or_insert(0) += bytes;
                    self.resume_at = start;
                    this.whole = false;
                    return Ok(Asking::Later);
                }
            }
            this.bytes += bytes;
            pass.asked_bytes += bytes;
            start += bytes;
        }
        Ok(Asking::On)
    }

    /// One call, with one more try where the kernel asks for it.
    fn collapse(&mut self, start: u64, bytes: u64) -> Result<Answer, SuperviseError> {
        let begun = thread_processor_time();
        let call = || self.precedence.during(|| self.handle.collapse(start, bytes));
        let answer = match call() {
            Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => call(),
            answer => answer,
        };
        let took = thread_processor_time().saturating_sub(begun);
        if took > LONG_CALL {
            self.chunk_bytes = (self.chunk_bytes / 2).max(SMALLEST_CHUNK);
        } else if took < SHORT_CALL && bytes == self.chunk_bytes {
            self.chunk_bytes = (self.chunk_bytes * 2).min(LARGEST_CHUNK);
        }
        let Err(error) = answer else { return Ok(Answer::Done) };
        match error.raw_os_error() {
            Some(libc::ESRCH) => Ok(Answer::Ended),
            Some(libc::EPERM | libc::EACCES | libc::ENOSYS) => Err(refusal(self.pid, error)),
            Some(libc::EBUSY) => Ok(Answer::Refused(Reason::CgroupLimit)),
            Some(libc::ENOMEM) if self.still_mapped(start..start + bytes) => {
                Ok(Answer::Refused(Reason::NoContiguousMemory))
            }
            // EINVAL: some block of the range was not to be had, others may have been. EAGAIN: busy pages. ENOMEM: the
            // process has unmapped the range meanwhile. The second reading tells what was obtained.
            _ => Ok(Answer::Done),
        }
    }

    /// Whether all of a range is still there: the kernel has one error number for "unmapped" and "none free".
    fn still_mapped(&self, range: Range<u64>) -> bool {
        read_maps(&self.root, shown_under(&self.root, self.pid)).is_ok_and(|maps| cover(&maps, range))
    }

    /// Compares with the reading before, and remembers what is not worth asking for again.
    fn settle(&mut self, asked: &[Asked], after: &[Region]) -> u64 {
        let mut collapsed = 0;
        for Asked { candidate, bytes, whole } in asked {
            let now = after
                .iter()
                .find(|region| (region.mapping.start..region.mapping.end).contains(&candidate.start));
            let huge = now.and_then(|region| region.figures.anon_huge_pages).unwrap_or(0);
            // The mapping may have been joined with others that had huge pages of their own.
            let gained = huge.saturating_sub(candidate.huge_bytes).min(*bytes);
            collapsed += gained;
            if gained == 0 && *whole {
                self.settled.insert(candidate.start, *candidate);
            }
        }
        collapsed
    }

    /// The mappings, and the thread under whose number they were read; `None` if the process has ended.
    fn regions(&self) -> Result<Option<(u32, Vec<Region>)>, SuperviseError> {
        of_living(&self.root, self.pid, |thread| read_smaps_first(&self.root, thread, &self.precedence))
            .map_err(|error| self.unreadable(error))
    }

    fn check_prctl(&self) -> Result<(), SuperviseError> {
        match Status::read(&self.root, shown_under(&self.root, self.pid)) {
            Ok(Status { thp_enabled: Some(false), .. }) => Err(SuperviseError::Refused {
                pid: self.pid,
                reason: Reason::ThpDisabledByPrctl,
                source: None,
            }),
            _ => Ok(()),
        }
    }

    fn unreadable(&self, source: io::Error) -> SuperviseError {
        match source.kind() {
            io::ErrorKind::PermissionDenied => refusal(self.pid, source),
            _ => SuperviseError::Unreadable { pid: self.pid, source },
        }
    }
}

struct Asked {
    candidate: Candidate,
    bytes: u64,
    whole: bool,
}

/// Whether a pass goes on.
enum Asking {
    On,
    Later,
    Ended,
}

enum Answer {
    Done,
    Ended,
    Refused(Reason),
}

/// What `read` finds under the number of a thread that lives, and that thread; `None` if the process has ended. Where nothing is found the
/// thread has ended since it was chosen: it is another one's turn.
fn of_living<T>(
    root: &Root,
    pid: u32,
    read: impl Fn(u32) -> io::Result<Vec<T>>,
) -> io::Result<Option<(u32, Vec<T>)>> {
    const MOST_READINGS: u32 = 100;
    for _ in 0..MOST_READINGS {
        let first = Stat::read(root, pid).ok();
        match first.and_then(|first| living_status(root, pid, first)) {
            // A process that ends does so thread by thread: it is not for want of the first one that nothing is collapsed any more.
            Some((_, _, Status { killed: Some(true), .. })) | None => break,
            Some((thread, _, _)) => match unless_ended(read(thread))? {
                Some(found) if !found.is_empty() => return Ok(Some((thread, found))),
                _ => {}
            },
        }
    }
    Ok(None)
}

fn refusal(pid: u32, error: io::Error) -> SuperviseError {
    let reason = match error.raw_os_error() {
        Some(libc::ESRCH) => return SuperviseError::NoSuchProcess { pid },
        Some(libc::EPERM) => Reason::NoCapability,
        Some(libc::EACCES) => Reason::NotDumpable,
        Some(libc::ENOSYS | libc::EINVAL) => Reason::KernelTooOld,
        _ => return SuperviseError::Unreadable { pid, source: error },
    };
    SuperviseError::Refused { pid, reason, source: Some(error) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::process::{Command, Stdio};

    #[test]
    fn where_nothing_is_read_of_a_process_that_lives_it_is_read_again() {
        let answers = RefCell::new(vec![
            Ok(vec![7]),
            Ok(Vec::new()),
            Err(io::Error::from_raw_os_error(libc::ESRCH)),
            Err(io::Error::from_raw_os_error(libc::ENOENT)),
        ]);
        let own = std::process::id();
        let read = of_living(&Root::live(), own, |thread| {
            assert_eq!(thread, own);
            answers.borrow_mut().pop().unwrap()
        });
        assert_eq!(read.unwrap(), Some((own, vec![7])));
        assert!(answers.borrow().is_empty());
    }

    #[test]
    fn nothing_is_read_of_a_process_that_has_ended() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let read =
            of_living(&Root::live(), child.id(), |_| -> io::Result<Vec<u8>> { panic!("it has ended") });
        assert!(read.unwrap().is_none());
    }
}
