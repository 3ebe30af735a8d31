//! Starting real programs and measuring them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{compile, exists, find, launch, output_of, shell, skipped, talk};
use firsttouch_linux::perf::Event;
use firsttouch_linux::root::Root;
use firsttouch_memory::agent_settings::{PID_PLACEHOLDER, VARIABLE};
use firsttouch_process::{Ending, Environment, Launch, LaunchError, Stream, why_no_counters};
use std::collections::BTreeSet;
use std::io::pipe;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn ending(launch: &Launch) -> Ending {
    launch.measure(&[], None).unwrap().ending
}

#[test]
fn endings_are_those_of_the_program() {
    assert_eq!(ending(&launch("true", &[])), Ending::Exited(0));
    assert_eq!(ending(&launch("false", &[])), Ending::Exited(1));
    assert_eq!(ending(&shell("exit 42")), Ending::Exited(42));
    assert_eq!(ending(&shell("kill -TERM $$")), Ending::Signaled(libc::SIGTERM));
    assert_eq!(ending(&shell("kill -KILL $$")), Ending::Signaled(libc::SIGKILL));
}

#[test]
fn what_cannot_be_executed_is_told_by_the_exec() {
    let folder = tempfile::tempdir().unwrap();
    let status = |file: &std::path::Path| {
        let launch = Launch::new(file, [""; 0], Environment::default());
        let error = launch.measure(&[], None).unwrap_err();
        assert!(!error.hint().is_empty());
        error.exit_status()
    };
    assert_eq!(status(&folder.path().join("nothing")), 127);
    assert_eq!(status(folder.path()), 126);
    let file = folder.path().join("file");
    std::fs::write(&file, "no program").unwrap();
    assert_eq!(status(&file), 126);
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(status(&file), 126);
    let zero = Launch::new("/bin/sh", ["a\0b"], Environment::default());
    let error = zero.measure(&[], None).unwrap_err();
    assert!(matches!(error, LaunchError::ZeroByte { .. }) && error.exit_status() == 125);
}

#[test]
fn the_environment_is_exactly_the_one_given() {
    let mut launch = Launch::new(find("env").unwrap(), [""; 0], Environment::default());
    launch.environment.set("ONE", "1");
    launch.environment.set("TWO", "a b=c");
    assert_eq!(output_of(launch), "ONE=1\nTWO=a b=c\n");
}

#[test]
fn the_placeholder_becomes_the_number_of_the_process() {
    let mut launch = shell(&format!("exec sh -c 'echo $$; echo \"${VARIABLE}\"'"));
    launch.environment.set(VARIABLE, format!("pages=thp {PID_PLACEHOLDER} record=/a b"));
    // A launch can be used again, and its own text keeps the placeholder.
    for _ in 0..2 {
        let text = output_of(launch.clone());
        let (pid, settings) = text.trim_end().split_once('\n').unwrap();
        let pid: u32 = pid.parse().unwrap();
        assert_eq!(settings, format!("pages=thp pid={pid:010} record=/a b"));
    }
    let untouched = launch.environment.get(VARIABLE).unwrap().to_str().unwrap();
    assert!(untouched.contains(PID_PLACEHOLDER));
}

#[test]
fn no_descriptor_of_ours_reaches_the_program() {
    let list = "for file in /proc/$$/fd/*; do echo ${file##*/}; done";
    let expected = std::process::Command::new("sh").args(["-c", list]).output().unwrap();
    let numbers = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let mut launch = shell(list);
    launch.streams[0] = Stream::Null;
    // A second child is held meanwhile, with its pipes open.
    let held = shell("true").hold().unwrap();
    let found = numbers(&output_of(launch));
    let known = numbers(&String::from_utf8(expected.stdout).unwrap());
    assert!(found.is_subset(&known), "{found:?} against {known:?}");
    drop(held);
}

#[test]
fn streams_go_where_they_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output, errors) =
        (folder.path().join("input"), folder.path().join("output"), folder.path().join("errors"));
    std::fs::write(&input, "line\n").unwrap();
    std::fs::write(&output, "old and longer than what comes").unwrap();
    let mut launch = shell("read line; echo got $line; echo oh >&2");
    launch.streams = [Stream::File(input), Stream::File(output.clone()), Stream::File(errors.clone())];
    assert_eq!(ending(&launch), Ending::Exited(0));
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "got line\n");
    assert_eq!(std::fs::read_to_string(&errors).unwrap(), "oh\n");
    launch.streams[0] = Stream::Null;
    assert_eq!(ending(&launch), Ending::Exited(0));
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "got\n");
    launch.streams[0] = Stream::File(folder.path().join("missing"));
    let error = launch.measure(&[], None).unwrap_err();
    assert!(error.to_string().contains("missing") && error.exit_status() == 125);
}

#[test]
fn signals_reach_the_program_as_if_we_were_not_there() {
    // Nothing of a mask of ours; what is ignored is held against what the caller ignores by the test of the command.
    let text = output_of(shell("grep SigBlk /proc/self/status"));
    assert_eq!(u64::from_str_radix(text.split_whitespace().nth(1).unwrap(), 16), Ok(0), "{text}");
}

#[test]
fn a_held_child_that_is_dropped_never_was_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let launch = launch("touch", &[mark.to_str().unwrap()]);
    let held = launch.hold().unwrap();
    let pid = held.pid();
    drop(held);
    assert!(!exists(&mark));
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "collected");
    assert_eq!(ending(&launch), Ending::Exited(0));
    assert!(exists(&mark));
}

#[test]
fn a_request_to_stop_ends_the_program() {
    let (input, _kept_open) = pipe().unwrap();
    let mut launch = shell("read line");
    launch.streams[0] = Stream::Descriptor(Arc::new(input.into()));
    let finished = launch.measure(&[], Some(&AtomicBool::new(true))).unwrap();
    assert_eq!(finished.ending, Ending::Signaled(libc::SIGTERM));
    let finished = shell("exit 3").measure(&[], Some(&AtomicBool::new(false))).unwrap();
    assert_eq!(finished.ending, Ending::Exited(3));
}

const TOUCHING: &str = "\
#include <stdlib.h>
#include <stdio.h>
#include <time.h>
int main(int count, char **words) {
    size_t bytes = (size_t)atoi(words[1]) << 20;
    char *block = malloc(bytes);
    for (size_t at = 0; at < bytes; at += 4096) block[at] = 1;
    while (clock() < CLOCKS_PER_SEC / 20) ;
    return block[bytes / 2] != 1;
}
";

#[test]
fn what_a_run_used_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let Some(file) = compile(folder.path(), "touching", TOUCHING, &[]) else { return };
    let finished = launch(&file, &["96"]).measure(&Event::ALL, None).unwrap();
    assert_eq!(finished.ending, Ending::Exited(0));
    assert!(
        finished.used.max_rss_bytes >= 96 << 20 && finished.used.max_rss_bytes < 512 << 20,
        "{finished:?}"
    );
    let processor_s = finished.used.user_s + finished.used.system_s;
    assert!(processor_s >= 0.045, "{finished:?}");
    assert!(finished.used.wall_s >= processor_s * 0.9, "one thread: {finished:?}");
    assert!(finished.used.minor_faults > 0);
    for (name, count) in &finished.used.counters {
        assert!(*count > 0 || name.starts_with("dTLB"), "{name}");
    }
}

#[test]
fn counters_count_or_say_why_not() {
    let finished = shell("for i in 1 2 3; do true; done").measure(&Event::ALL, None).unwrap();
    let root = Root::live();
    for event in Event::ALL {
        let counted = finished.used.counters.keys().any(|name| name.trim_end_matches(":u") == event.name());
        match why_no_counters(&root, event) {
            Some(why) => assert!(!counted && !why.is_empty(), "{event:?}: {why}"),
            // Opened, but the hardware may be busy with somebody else's.
            None if !counted => skipped(&format!("{event:?} opened but never ran")),
            None => {}
        }
    }
}

#[test]
fn a_running_program_takes_signals() {
    let mut talking = talk(shell("echo ready; read line"));
    assert_eq!(talking.line(), "ready");
    talking.running.handle().unwrap().signal(libc::SIGUSR1).unwrap();
    assert_eq!(talking.running.wait().unwrap().ending, Ending::Signaled(libc::SIGUSR1));
    let mut talking = talk(shell("echo ready; read line"));
    assert_eq!(talking.line(), "ready");
    talking.running.kill(libc::SIGUSR2).unwrap();
    assert_eq!(talking.running.wait().unwrap().ending, Ending::Signaled(libc::SIGUSR2));
}
