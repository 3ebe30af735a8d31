//! What is done to a running program from outside: looking at its memory, and collapsing it onto huge pages.

use firsttouch_machine::Root;
use firsttouch_placement::{Placement, ProcessTree, Reason, Shortfall};
use firsttouch_process::{Pass, SuperviseError, SuperviseRange, Supervisor};
use firsttouch_watch::{Mark, PeakPages, TreeWatch};
use std::time::{Duration, Instant};

/// Visits a program from time to time. It is handed the number of its process, and answers when it wants to be called again.
/// What it collapses is the program's own; what it looks at is all that the program starts, too.
#[derive(Debug, Default)]
pub(crate) struct Visitor {
    /// The mappings to collapse; `None` only looks.
    range: Option<SuperviseRange>,
    looks: bool,
    /// By what it knows further processes to look at.
    mark: Option<Mark>,
    supervisor: Option<Supervisor>,
    pid: u32,
    watch: Option<TreeWatch>,
    next_pass: Option<Instant>,
    next_look: Option<Instant>,
    last_pass: Pass,
    collapsed_bytes: u64,
    refusal: Option<SuperviseError>,
    began: bool,
}

/// What a visitor saw and did.
#[derive(Debug)]
pub(crate) struct Seen {
    /// The process of the program.
    pub(crate) pid: u32,
    /// What there was at the peak; `None` if nothing was seen.
    pub(crate) memory: Option<(ProcessTree, PeakPages)>,
    /// The CPUs that its first thread could run on when it was last seen.
    pub(crate) cpus: Option<Vec<u32>>,
    /// Resident bytes of the mappings that were to be collapsed; `None` if none were.
    pub(crate) eligible_bytes: Option<u64>,
    /// What could not be collapsed.
    pub(crate) shortfalls: Vec<Shortfall>,
    /// Why memory could not be looked at, if so.
    pub(crate) blind: Option<String>,
}

impl Visitor {
    /// One that only looks.
    pub(crate) fn looking() -> Visitor {
        Visitor { looks: true, ..Visitor::default() }
    }

    /// One that collapses what `asked` allows, and looks too if a receipt is wanted.
    pub(crate) fn supervising(asked: &Placement, looks: bool) -> Visitor {
        let range = SuperviseRange { min_size: asked.min_size, max_size: asked.max_size };
        Visitor { range: Some(range), looks, ..Visitor::default() }
    }

    /// One that looks at processes with this mark, too.
    pub(crate) fn and_marked(self, mark: Mark) -> Visitor {
        Visitor { mark: Some(mark), ..self }
    }

    /// Does what is due; answers how long to wait for the next visit, or `None` when there is nothing left to do.
    pub(crate) fn visit(&mut self, pid: u32) -> Option<Duration> {
        if !self.began {
            self.begin(pid);
        }
        let now = Instant::now();
        if self.next_pass.is_some_and(|due| due <= now) {
            self.next_pass = self.pass().map(|pause| Instant::now() + pause);
        }
        if self.next_look.is_some_and(|due| due <= now) {
            self.next_look = self.look().map(|pause| Instant::now() + pause);
        }
        let next = self.next_pass.into_iter().chain(self.next_look).min()?;
        Some(next.saturating_duration_since(Instant::now()))
    }

    fn begin(&mut self, pid: u32) {
        (self.began, self.pid) = (true, pid);
        let now = Instant::now();
        if let Some(range) = self.range {
            match Supervisor::new(Root::live(), pid, range) {
                Ok(supervisor) => {
                    self.supervisor = Some(supervisor);
                    self.next_pass = Some(now);
                }
                Err(error) => self.refusal = Some(error),
            }
        }
        if self.looks {
            self.watch = Some(TreeWatch::new(Root::live(), pid, self.mark.take()));
            self.next_look = Some(now);
        }
    }

    fn pass(&mut self) -> Option<Duration> {
        let supervisor = self.supervisor.as_mut()?;
        match supervisor.pass() {
            Ok(pass) if pass.ended => None,
            Ok(pass) => {
                self.collapsed_bytes += pass.collapsed_bytes;
                if let Some(watch) = self.watch.as_mut().filter(|_| pass.collapsed_bytes > 0) {
                    watch.expect_other_pages();
                }
                self.last_pass = pass;
                Some(supervisor.pause())
            }
            Err(error) => {
                self.refusal = Some(error);
                None
            }
        }
    }

    fn look(&mut self) -> Option<Duration> {
        let watch = self.watch.as_mut()?;
        watch.look().then(|| watch.pause())
    }

    /// Why nothing could be collapsed, and what would mend it; a process that was gone already is no refusal.
    pub(crate) fn refusal(&self) -> Option<(String, &'static str)> {
        let reason = Reason::FirstThreadEnded;
        let is_out_of_reach = self.collapsed_bytes == 0 && self.last_pass.refused.contains_key(&reason);
        let out_of_reach =
            is_out_of_reach.then_some(SuperviseError::Refused { pid: self.pid, reason, source: None });
        let error = self.refusal.as_ref().or(out_of_reach.as_ref())?;
        Some((error.to_string(), error.remedy()?))
    }

    /// What was seen of a program that has ended.
    pub(crate) fn into_seen(self) -> Seen {
        let refused = self.refusal.as_ref().and_then(SuperviseError::reason).map(|reason| (reason, 0));
        let shortfalls = refused
            .into_iter()
            .chain(self.last_pass.refused.iter().map(|(reason, bytes)| (*reason, *bytes)))
            .map(|(reason, bytes)| Shortfall::new(reason, bytes))
            .collect();
        Seen {
            pid: self.pid,
            eligible_bytes: self.range.map(|_| self.last_pass.eligible_bytes),
            shortfalls,
            blind: self.watch.as_ref().and_then(TreeWatch::blind).map(ToString::to_string),
            cpus: self.watch.as_ref().and_then(TreeWatch::cpus).map(<[u32]>::to_vec),
            memory: self.watch.and_then(TreeWatch::into_tree),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_that_runs_is_looked_at_and_one_that_ended_is_not() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // Once it answers it has become `cat`.
        child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let mut visitor = Visitor::looking();
        assert!(visitor.visit(child.id()).is_some());
        drop(child.stdin.take());
        child.wait().unwrap();
        let (tree, pages) = visitor.into_seen().memory.unwrap();
        assert_eq!((tree.processes.len(), tree.outlived), (1, 0));
        assert!(tree.processes[0].program.contains("cat"), "{tree:?}");
        let all: u64 = pages.bytes_by_page_size.values().sum();
        assert!(all > 0 && all == tree.at_peak.of_no_file().bytes);

        let mut late = Visitor::looking();
        late.visit(child.id());
        assert_eq!(late.visit(child.id()), None);
        assert!(late.into_seen().memory.is_none());
    }
}
