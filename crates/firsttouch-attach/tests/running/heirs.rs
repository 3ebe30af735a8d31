//! Threads that are made, or were there, while somebody gives CPUs and takes them back: each has in the end what it would have had.

use crate::{GO_ON, Running, attached, attached_by, cannot, context, on_cpu, skipped, undone};
use firsttouch_attach::{AttachContext, Executor, ResolvedRequest, ThreadAffinity, attach, kept, undo};
use firsttouch_linux::numa::{self, CpuBits};
use firsttouch_linux::process::{Stat, ticks_after_boot};
use firsttouch_linux::root::Root;
use firsttouch_placement::ExecutorKind;
use firsttouch_threads::threads_of;
use std::io;
use std::time::Duration;

/// Binds threads as told by somebody else, and does nothing to memory.
struct Binding<F>(F);

impl<F> std::fmt::Debug for Binding<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Binding")
    }
}

impl<F: FnMut(u32, &CpuBits) -> io::Result<()>> Executor for Binding<F> {
    fn kind(&self) -> ExecutorKind {
        ExecutorKind::Remote
    }
    fn may_collapse(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn collapse(&mut self, _start: u64, _bytes: u64) -> io::Result<()> {
        Ok(())
    }
    fn nodes_of(&mut self, _addresses: &[u64], _nodes: &mut [i32]) -> io::Result<()> {
        Ok(())
    }
    fn move_pages(&mut self, _addresses: &[u64], _nodes: &[i32], _status: &mut [i32]) -> io::Result<()> {
        Ok(())
    }
    fn set_affinity(&mut self, thread: u32, cpus: &CpuBits) -> io::Result<()> {
        (self.0)(thread, cpus)
    }
}

fn bind(thread: u32, cpus: &CpuBits) -> io::Result<()> {
    numa::set_affinity(thread, cpus).map(|_| ()).map_err(io::Error::from_raw_os_error)
}

/// Two CPUs of the process; `None`, which is said, where it has one.
fn two_cpus(running: &Running) -> Option<[u32; 2]> {
    let [first, .., last] = running.cpus()[0][..] else {
        skipped("one CPU");
        return None;
    };
    Some([first, last])
}

fn in_order(order: [u32; 2]) -> ResolvedRequest {
    ResolvedRequest {
        affinity: ThreadAffinity { order: order.to_vec(), ..ThreadAffinity::default() },
        ..ResolvedRequest::default()
    }
}

#[test]
fn who_had_the_same_cpus_before_keeps_them() {
    let Some(running) = Running::start(1, 1) else { return };
    let Some([first, last]) = two_cpus(&running) else { return };
    let threads = threads_of(&Root::live(), running.pid()).unwrap();
    bind(threads[1].id, &CpuBits::of(&[last]).unwrap()).unwrap();
    let before = running.cpus();
    assert!(before[1] == [last] && before[0].contains(&first), "{before:?}");
    // Who starts within the tick in which an attach begins may have started after it.
    let started = Stat::read_thread(&Root::live(), running.pid(), threads[1].id).unwrap().start_ticks;
    while ticks_after_boot() <= started {
        std::thread::yield_now();
    }
    let Some(report) = attached(&running, &on_cpu(last)) else { return };
    assert_eq!((report.bound_threads, running.cpus()), (1, vec![vec![last]; 2]));
    let back = undone(&running);
    assert_eq!((running.cpus(), back.bound_threads), (before, 1), "{back:?}");
    running.ends_well();
}

#[test]
fn who_is_made_while_its_maker_has_been_bound_goes_back_to_what_that_had() {
    let Some(mut running) = Running::start(1, 0) else { return };
    let Some([first, last]) = two_cpus(&running) else { return };
    let (before, target, journals) = (running.cpus(), running.target(), running.journals());
    let mut is_first = true;
    let mut executor = Binding(|thread, cpus: &CpuBits| {
        bind(thread, cpus)?;
        if std::mem::take(&mut is_first) {
            running.tell('t');
        }
        Ok(())
    });
    let context = AttachContext { journals, now: String::new(), nodes: vec![0], stop: &GO_ON };
    match attach(&target, &mut executor, &in_order([first, last]), &context, false, &mut |_| {}) {
        Ok(report) => assert_eq!(report.bound_threads, 2, "{report:?}"),
        Err(error) if cannot(&error) => return,
        Err(error) => panic!("{error}"),
    }
    assert_eq!(running.cpus(), [[first], [last]]);
    let back = undone(&running);
    assert_eq!(running.cpus(), vec![before[0].clone(); 2], "{back:?}");
    running.ends_well();
}

#[test]
fn who_is_made_between_two_attaches_goes_back_to_what_was_before_both() {
    let Some(mut running) = Running::start(1, 0) else { return };
    let Some([first, last]) = two_cpus(&running) else { return };
    let before = running.cpus();
    if attached(&running, &on_cpu(first)).is_none() {
        return;
    }
    running.tell('t');
    attached(&running, &on_cpu(last)).unwrap();
    assert_eq!(running.cpus(), [[last], [last]]);
    let back = undone(&running);
    assert_eq!(running.cpus(), vec![before[0].clone(); 2], "{back:?}");
    running.ends_well();
}

#[test]
fn who_is_made_before_its_maker_has_its_cpus_back_has_them_too() {
    let Some(mut running) = Running::start(1, 0) else { return };
    let Some([_, last]) = two_cpus(&running) else { return };
    let (before, target, journals) = (running.cpus(), running.target(), running.journals());
    if attached(&running, &on_cpu(last)).is_none() {
        return;
    }
    let mut is_first = true;
    let mut executor = Binding(|thread, cpus: &CpuBits| {
        if std::mem::take(&mut is_first) {
            running.tell('t');
        }
        bind(thread, cpus)
    });
    let context = AttachContext { journals, now: String::new(), nodes: vec![0], stop: &GO_ON };
    let back = undo(&target, &mut executor, &context, Duration::from_millis(20), &mut |_| {}).unwrap();
    assert_eq!(running.cpus(), vec![before[0].clone(); 2], "{back:?}");
    running.ends_well();
}

#[test]
fn a_step_of_which_nobody_knows_whether_it_was_made_can_be_taken_back() {
    let Some(running) = Running::start(1, 0) else { return };
    let Some([_, last]) = two_cpus(&running) else { return };
    let (before, target) = (running.cpus(), running.target());
    let mut executor = Binding(|thread, cpus: &CpuBits| {
        bind(thread, cpus)?;
        Err(io::ErrorKind::TimedOut.into())
    });
    let outcome =
        attach(&target, &mut executor, &on_cpu(last), &context(&running, &GO_ON), false, &mut |_| {});
    assert!(outcome.is_err(), "{outcome:?}");
    assert_eq!(running.cpus(), [[last]]);
    let back = undone(&running);
    assert_eq!(running.cpus(), before, "{back:?}");
    assert!(kept(&Root::live(), &running.journals()).unwrap().is_empty());
    // What the kernel refuses was not made.
    let mut executor =
        Binding(|_, _: &CpuBits| -> io::Result<()> { Err(io::Error::from_raw_os_error(libc::EINVAL)) });
    let report = attached_by(&running, &target, &mut executor, &on_cpu(last), &GO_ON).unwrap();
    assert_eq!((report.bound_threads, report.journal), (0, None));
    running.ends_well();
}
