//! What happens to a process between the steps of an attach.

use crate::{
    BY_ITSELF, GO_ON, MIB, Running, attached, attached_by, cannot, context, history, huge_pages, on_cpu,
    undone,
};
use firsttouch_attach::{
    AttachContext, AttachError, Destination, Executor, Remote, ResolvedRequest, attach, kept,
};
use firsttouch_documents::JournalEntry;
use firsttouch_linux::numa::CpuBits;
use firsttouch_linux::root::Root;
use firsttouch_placement::{AttachAsked, AttachEnded, ExecutorKind};
use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Does something before each collapse.
struct Meddling<F>(Remote, F);

impl<F> std::fmt::Debug for Meddling<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<F: FnMut(u64, u64)> Executor for Meddling<F> {
    fn kind(&self) -> ExecutorKind {
        self.0.kind()
    }
    fn may_collapse(&mut self) -> io::Result<()> {
        self.0.may_collapse()
    }
    fn collapse(&mut self, start: u64, bytes: u64) -> io::Result<()> {
        self.1(start, bytes);
        self.0.collapse(start, bytes)
    }
    fn nodes_of(&mut self, addresses: &[u64], nodes: &mut [i32]) -> io::Result<()> {
        self.0.nodes_of(addresses, nodes)
    }
    fn move_pages(&mut self, addresses: &[u64], nodes: &[i32], status: &mut [i32]) -> io::Result<()> {
        self.0.move_pages(addresses, nodes, status)
    }
    fn set_affinity(&mut self, thread: u32, cpus: &CpuBits) -> io::Result<()> {
        self.0.set_affinity(thread, cpus)
    }
}

/// A machine on whose node 0 there is room for so many pages; all others lie on node 1.
#[derive(Debug)]
struct LittleRoom {
    moved: HashSet<u64>,
    room: usize,
}

impl Executor for LittleRoom {
    fn kind(&self) -> ExecutorKind {
        ExecutorKind::Remote
    }
    fn may_collapse(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn collapse(&mut self, _start: u64, _bytes: u64) -> io::Result<()> {
        Ok(())
    }
    fn nodes_of(&mut self, addresses: &[u64], nodes: &mut [i32]) -> io::Result<()> {
        for (address, node) in addresses.iter().zip(nodes) {
            *node = i32::from(!self.moved.contains(address));
        }
        Ok(())
    }
    fn move_pages(&mut self, addresses: &[u64], _nodes: &[i32], _status: &mut [i32]) -> io::Result<()> {
        let fits = self.room.min(addresses.len());
        self.moved.extend(&addresses[..fits]);
        self.room -= fits;
        if fits < addresses.len() { Err(io::Error::from_raw_os_error(libc::ENOMEM)) } else { Ok(()) }
    }
    fn set_affinity(&mut self, _thread: u32, _cpus: &CpuBits) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_node_ends_nothing_and_what_came_before_is_counted() {
    let Some(running) = Running::start(8, 0) else { return };
    let request = ResolvedRequest {
        destination: Some(Destination::Set(vec![0])),
        stall_limit: Duration::from_secs(2),
        ..ResolvedRequest::default()
    };
    let mut executor = LittleRoom { moved: HashSet::new(), room: 700 };
    let report = attached_by(&running, &running.target(), &mut executor, &request, &GO_ON).unwrap();
    assert_eq!(report.ended, AttachEnded::Done, "{report:?}");
    // The kernel may have put some on huge pages by itself, which are seen as one.
    assert!((690..=700).contains(&(report.moved_bytes / 4096)), "{report:?}");
    let left: u64 = report.shortfalls.iter().map(|shortfall| shortfall.bytes).sum();
    assert!(left > 4 * MIB, "{report:?}");
    running.ends_well();
}

#[test]
fn each_step_is_in_the_journal_before_it_is_made() {
    let Some(running) = Running::start(32, 0) else { return };
    let target = running.target();
    let journal = target.owner().path(&running.journals());
    let mut calls = 0;
    let look = |at: u64, size: u64| {
        calls += 1;
        let history = history(&journal);
        let written = matches!(history.entries.last(), Some(JournalEntry::Collapse { start, bytes, .. }) if (*start, *bytes) == (at, size));
        assert!(written && history.is_cut_off(), "{:?}", history.entries.last());
    };
    let mut executor = Meddling(Remote::new(&target).unwrap(), look);
    let Some(report) = attached_by(&running, &target, &mut executor, &huge_pages(), &GO_ON) else { return };
    drop(executor);
    assert!(calls > 0);
    assert!(!history(Path::new(&report.journal.unwrap())).is_cut_off());
    running.ends_well();
}

#[test]
fn a_request_to_stop_ends_it_between_two_steps() {
    let Some(running) = Running::start(64, 0) else { return };
    let (target, stop) = (running.target(), AtomicBool::new(false));
    let outside = Remote::new(&target).unwrap();
    let mut executor = Meddling(outside, |_, _| stop.store(true, Ordering::Relaxed));
    let Some(report) = attached_by(&running, &target, &mut executor, &huge_pages(), &stop) else { return };
    assert_eq!(report.ended, AttachEnded::Interrupted);
    assert!(report.collapsed_bytes < 64 * MIB && report.journal.is_some());
    assert_eq!(attached(&running, &huge_pages()).unwrap().ended, AttachEnded::Done);
    running.ends_well();
}

#[test]
fn a_request_to_stop_ends_the_look_before_the_first_step() {
    let Some(running) = Running::start(8, 0) else { return };
    let (target, stop) = (running.target(), AtomicBool::new(true));
    let to_node = ResolvedRequest { destination: Some(Destination::Set(vec![0])), ..huge_pages() };
    for request in [huge_pages(), ResolvedRequest { asked: AttachAsked::default(), ..to_node }] {
        let mut executor = LittleRoom { moved: HashSet::new(), room: 0 };
        let outcome = attach(&target, &mut executor, &request, &context(&running, &stop), true, &mut |_| {});
        let is_stopped = matches!(outcome, Err(AttachError::Gone { ended: AttachEnded::Interrupted, .. }));
        assert!(is_stopped, "{outcome:?}");
    }
    running.ends_well();
}

#[test]
fn where_pauses_cannot_be_kept_short_it_stops_and_says_so() {
    let Some(running) = Running::start(64, 0) else { return };
    let (target, mut sizes) = (running.target(), Vec::new());
    let late = |_, size| {
        sizes.push(size);
        std::thread::sleep(Duration::from_millis(30));
    };
    let mut executor = Meddling(Remote::new(&target).unwrap(), late);
    let Some(report) = attached_by(&running, &target, &mut executor, &huge_pages(), &GO_ON) else { return };
    drop(executor);
    assert_eq!((report.ended, sizes.last()), (AttachEnded::StallLimit, Some(&(2 * MIB))), "{sizes:?}");
    assert!(sizes.len() <= 8, "{sizes:?}");
    assert!(report.worst_pause_ms >= 30.0);
    let told = report.notes.iter().find(|note| note.contains("--budget-stall"));
    assert!(
        told.is_some_and(|note| note.contains("4 calls") && note.contains("20 ms")),
        "{:?}",
        report.notes
    );
    assert!(report.notes.iter().any(|note| note.contains("were not reached")), "{:?}", report.notes);
    // What was done stays, the journal has its end, and the next goes on from there.
    assert!(report.collapsed_bytes < 64 * MIB && report.collapsed_bytes <= running.huge_bytes());
    let journal = history(Path::new(report.journal.as_ref().unwrap()));
    assert!(!journal.is_cut_off());
    let allowed = ResolvedRequest { stall_limit: Duration::from_secs(2), ..huge_pages() };
    assert_eq!(attached(&running, &allowed).unwrap().ended, AttachEnded::Done);
    running.ends_well();
}

#[test]
fn a_process_that_is_killed_in_the_middle_is_a_clean_end() {
    let Some(mut running) = Running::start(64, 0) else { return };
    let target = running.target();
    let outside = Remote::new(&target).unwrap();
    let kill = |_, _| {
        // From the second call on it has been gone for long.
        if target.handle().signal(libc::SIGKILL).is_ok() {
            target.handle().wait_ended(None).unwrap();
        }
    };
    let mut executor = Meddling(outside, kill);
    let Some(report) = attached_by(&running, &target, &mut executor, &huge_pages(), &GO_ON) else { return };
    assert_eq!(report.ended, AttachEnded::TargetEnded);
    assert!(report.after.obtained.is_none() && !report.after.complete);
    drop(executor);
    running.child.wait().unwrap();
    // Nothing can be taken back from what is gone, and the folder can be tidied.
    let kept = kept(&Root::live(), &running.journals()).unwrap();
    assert!(kept.len() == 1 && !kept[0].alive);
    assert_eq!(firsttouch_attach::forget(&Root::live(), &running.journals()).unwrap().len(), 1);
}

#[test]
fn a_process_that_becomes_another_program_is_left_alone() {
    let Some(mut running) = Running::start(64, 0) else { return };
    let target = running.target();
    target.check().unwrap();
    let request = on_cpu(running.cpus()[0][0]);
    if attached(&running, &request).is_none() {
        return;
    }
    running.tell('e');
    // The number and the start time are the same; the program is not, though its file is.
    assert_eq!(target.check(), Err(AttachEnded::TargetExec));
    let mut executor = Remote::new(&target).unwrap();
    let outcome =
        attach(&target, &mut executor, &huge_pages(), &context(&running, &GO_ON), false, &mut |_| {});
    assert!(matches!(outcome, Err(AttachError::Gone { ended: AttachEnded::TargetExec, .. })), "{outcome:?}");
    assert!(running.huge_bytes() <= BY_ITSELF);
    // CPUs outlive the exec, and are given back.
    let back = undone(&running);
    assert!(
        back.notes.iter().any(|note| note.contains("another program")) || back.bound_threads == 0,
        "{back:?}"
    );
    running.ends_well();
}

#[test]
fn memory_that_is_unmapped_meanwhile_is_no_error() {
    let Some(mut running) = Running::start(64, 0) else { return };
    let target = running.target();
    let outside = Remote::new(&target).unwrap();
    let journals = running.journals();
    let mut first = true;
    let meddle = |_, _| {
        if std::mem::take(&mut first) {
            running.tell('u');
        }
    };
    let context = AttachContext { journals, now: String::new(), nodes: vec![0], stop: &GO_ON };
    let mut executor = Meddling(outside, meddle);
    match attach(&target, &mut executor, &huge_pages(), &context, false, &mut |_| {}) {
        Ok(report) => assert_eq!(report.ended, AttachEnded::Done, "{report:?}"),
        Err(error) if cannot(&error) => return,
        Err(error) => panic!("{error}"),
    }
    drop(executor);
    running.ends_well();
}
