//! Who may be attached to, and what has become of him meanwhile.

use crate::{MIB, Running, skipped};
use firsttouch_attach::{Executor, Remote, Target, TargetError};
use firsttouch_linux::numa::CpuBits;
use firsttouch_linux::root::Root;
use firsttouch_placement::AttachEnded;
use firsttouch_threads::threads_of;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

#[test]
fn a_process_that_was_stopped_meanwhile_is_left_alone() {
    let Some(running) = Running::start(1, 0) else { return };
    let target = running.target();
    target.handle().signal(libc::SIGSTOP).unwrap();
    // The signal has been sent; when it has been taken, the kernel says so to the parent, which we are.
    while target.check().is_ok() {
        std::thread::yield_now();
    }
    assert_eq!(target.check(), Err(AttachEnded::TargetStopped));
    // Who is stopped from the start may be attached to.
    running.target().check().unwrap();
    target.handle().signal(libc::SIGCONT).unwrap();
    running.ends_well();
}

/// Traces a process until it is let go.
const TRACER: &str = "\
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
int main(int count, char **words) {
    puts(ptrace(PTRACE_SEIZE, atoi(words[1]), 0, 0) ? \"no\" : \"yes\");
    fflush(stdout);
    getchar();
    return 0;
}
";

#[test]
fn a_process_that_is_traced_meanwhile_is_left_alone() {
    let Some(running) = Running::start(1, 0) else { return };
    let target = running.target();
    let (code, file) = (running.folder.path().join("tracer.c"), running.folder.path().join("tracer"));
    std::fs::write(&code, TRACER).unwrap();
    assert!(Command::new("cc").arg("-o").arg(&file).arg(&code).status().unwrap().success());
    let mut tracer = Command::new(&file)
        .arg(running.pid().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut answer = String::new();
    BufReader::new(tracer.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    if answer == "yes\n" {
        assert_eq!(target.check(), Err(AttachEnded::TargetTraced));
        // Whoever traces it from the start is no surprise.
        running.target().check().unwrap();
    } else {
        skipped("tracing is not allowed");
    }
    drop(tracer.stdin.take());
    tracer.wait().unwrap();
    target.check().unwrap();
    running.ends_well();
}

#[test]
fn who_cannot_be_attached_to_is_told_apart() {
    let open = |pid| Target::open(&Root::live(), pid).unwrap_err();
    assert!(matches!(open(1), TargetError::Init));
    assert!(matches!(open(std::process::id()), TargetError::Ourselves { .. }));
    let mut child = Command::new("true").spawn().unwrap();
    let pid = child.id();
    while !std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") Z ") {
        std::thread::yield_now();
    }
    assert!(matches!(open(pid), TargetError::Zombie { .. }));
    child.wait().unwrap();
    assert!(matches!(open(pid), TargetError::NoSuchProcess { .. }));
    assert!(matches!(open(u32::MAX / 2), TargetError::NoSuchProcess { .. }));
    let own = std::process::id();
    let thread = std::thread::spawn(move || {
        let thread = firsttouch_linux::numa::thread_id();
        assert!(matches!(open(thread), TargetError::Thread { process, .. } if process == own));
        open(thread).hint()
    });
    assert_eq!(thread.join().unwrap(), format!("firsttouch attach {own}"));
    if std::fs::read_to_string("/proc/2/comm").is_ok_and(|name| name.trim() == "kthreadd") {
        assert!(matches!(open(2), TargetError::KernelThread { .. }));
    } else {
        skipped("no thread of the kernel is to be seen here");
    }
    for error in [open(1), open(pid), open(own)] {
        assert!(!error.hint().is_empty());
    }
}

/// The kernel gives numbers one after another; where it lets itself be told which was the last, one comes again at will.
#[test]
fn a_number_that_is_reused_is_not_taken_for_the_same_process() {
    let last = "/proc/sys/kernel/ns_last_pid";
    for _ in 0..200 {
        let mut first = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let pid = first.id();
        let target = Target::open(&Root::live(), pid).unwrap();
        drop(first.stdin.take());
        first.wait().unwrap();
        if std::fs::write(last, (pid - 1).to_string()).is_err() {
            return skipped(&format!("{last} cannot be written"));
        }
        let mut second = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // Once it answers it has become `cat`.
        second.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        second.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let reused = second.id() == pid;
        if reused {
            assert_eq!(target.check(), Err(AttachEnded::TargetEnded));
            let mut executor = Remote::new(&target).unwrap();
            let before = threads_of(&Root::live(), pid).unwrap();
            let bits = CpuBits::of(&before[0].cpus[..1]).unwrap();
            assert_eq!(executor.set_affinity(pid, &bits).unwrap_err().raw_os_error(), Some(libc::ESRCH));
            assert_eq!(executor.nodes_of(&[4096], &mut [0]).unwrap_err().raw_os_error(), Some(libc::ESRCH));
            assert_eq!(executor.collapse(0, 2 * MIB).unwrap_err().raw_os_error(), Some(libc::ESRCH));
            assert_eq!(threads_of(&Root::live(), pid).unwrap(), before);
        }
        drop(second.stdin.take());
        second.wait().unwrap();
        if reused {
            return;
        }
    }
    skipped("no number came again");
}
