//! What is done to a running program from outside: looking at its memory, and collapsing it onto huge pages.

use crate::receipt;
use firsttouch_machine::Root;
use firsttouch_placement::{Obtained, Placement, Reason, Receipt, Shortfall};
use firsttouch_process::{Pass, ProcessReading, SuperviseError, SuperviseRange, Supervisor, Watch};
use std::time::{Duration, Instant};

/// Visits one process from time to time. It is handed the process's number, and answers when it wants to be called
/// again.
#[derive(Debug, Default)]
pub(crate) struct Visitor {
    /// The mappings to collapse; `None` only looks.
    range: Option<SuperviseRange>,
    looks: bool,
    supervisor: Option<Supervisor>,
    watch: Option<Watch>,
    next_pass: Option<Instant>,
    next_look: Option<Instant>,
    last_pass: Pass,
    refusal: Option<SuperviseError>,
    /// Why the memory could not be looked at.
    blind: Option<std::io::Error>,
    began: bool,
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
        self.began = true;
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
            self.watch = Some(Watch::new(Root::live(), pid));
            self.next_look = Some(now);
        }
    }

    fn pass(&mut self) -> Option<Duration> {
        let supervisor = self.supervisor.as_mut()?;
        match supervisor.pass() {
            Ok(pass) if pass.ended => None,
            Ok(pass) => {
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
        match watch.look() {
            Ok(true) => Some(watch.pause()),
            Ok(false) => None,
            Err(error) => {
                self.blind = Some(error);
                None
            }
        }
    }

    /// Why the kernel did not let us collapse anything; a process that was gone already is no refusal.
    pub(crate) fn refusal(&self) -> Option<(Reason, String)> {
        let error = self.refusal.as_ref()?;
        Some((error.reason()?, error.to_string()))
    }

    /// The receipt of a run that ended; `killed` if not by itself.
    pub(crate) fn into_receipt(self, asked: &Placement, image: String, killed: bool) -> Receipt {
        let mut receipt = receipt::without_reading(asked, image, None, Vec::new());
        receipt.complete = !killed;
        let refused = self.refusal.as_ref().and_then(SuperviseError::reason).map(|reason| (reason, 0));
        receipt.shortfalls = refused
            .into_iter()
            .chain(self.last_pass.refused.iter().map(|(reason, bytes)| (*reason, *bytes)))
            .map(|(reason, bytes)| Shortfall::new(reason, bytes))
            .collect();
        if let Some(error) = &self.blind {
            receipt.notes.push(format!("the memory of the program could not be looked at: {error}"));
        }
        match self.watch.and_then(Watch::reading) {
            Some(reading) => {
                let placed_bytes = self.range.map(|_| self.last_pass.eligible_bytes);
                receipt.obtained = Some(obtained(reading, placed_bytes));
                receipt
                    .notes
                    .push("read from outside at intervals: the figures are of the whole process".to_owned());
            }
            None if self.blind.is_none() => {
                receipt.notes.push("the program ended before its memory could be looked at".to_owned());
            }
            None => {}
        }
        receipt
    }
}

/// Without an agent in the program nobody knows which memory was placed by whose choice: it is taken for all of it.
fn obtained(reading: ProcessReading, placed_bytes: Option<u64>) -> Obtained {
    let resident_bytes = reading.resident_bytes();
    Obtained {
        placed_bytes: placed_bytes.unwrap_or(resident_bytes),
        peak_bytes: reading.peak_rss_bytes.unwrap_or(resident_bytes).max(resident_bytes),
        process_bytes_by_page_size: Some(reading.bytes_by_page_size.clone()),
        bytes_by_page_size: reading.bytes_by_page_size,
        bytes_by_node: reading.bytes_by_node,
        ..Obtained::default()
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
        let receipt = visitor.into_receipt(&Placement::default(), "/bin/cat".to_owned(), false);
        let obtained = receipt.obtained.unwrap();
        assert!(obtained.placed_bytes > 0 && receipt.complete);

        let mut late = Visitor::looking();
        late.visit(child.id());
        assert_eq!(late.visit(child.id()), None);
        let receipt = late.into_receipt(&Placement::default(), "/bin/cat".to_owned(), true);
        assert!(receipt.obtained.is_none() && !receipt.complete && receipt.notes.len() == 1);
    }
}
