//! C programs against the library as it is installed: the examples, redirection in a plain process, unloading.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod build;
#[expect(dead_code, reason = "modes of huge pages are for those who go through them")]
mod cases;
mod checked;
#[path = "../../../../tests/skipped.rs"]
mod skipped;

use build::{compile, prefix, run, with_archive};
use cases::check_example;
use skipped::skipped;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// A program linked to the static library, in a folder that goes with it.
fn linked(compiler: &str, source: &str, more: &[&str]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    with_archive(compiler, &program, source, more);
    (folder, program)
}

/// Runs the programs whose name begins so.
fn check(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let cases = cases::all(folder.path());
    let cases: Vec<_> = cases.iter().filter(|case| case.name.starts_with(name)).collect();
    assert!(!cases.is_empty(), "{name}");
    for case in cases {
        case.make();
        case.check(&case.command(false).output().unwrap());
    }
}

#[test]
fn the_example_of_a_session_runs() {
    check("example session");
}

/// With the agent in the process, the agent does it, and there is one heap.
#[test]
fn a_preloaded_agent_serves_the_session() {
    check("served");
}

#[test]
fn the_example_of_a_region_tells_what_it_got() {
    check("example region");
}

#[test]
fn the_examples_link_to_the_static_library() {
    let (_folder, program) = linked("cc", "examples/session.c", &[]);
    assert!(run(&mut Command::new(&program)).contains("the end: done"));
}

/// Of all libraries, those of the compiler and the system included. A session needs a loader, and is left out.
#[test]
fn the_examples_link_into_static_programs() {
    for name in ["region", "fill", "team"] {
        let (_folder, program) = linked("cc", &format!("examples/{name}.c"), &["-static"]);
        check_example(name, &run(&mut Command::new(&program)));
    }
}

#[test]
fn the_examples_of_fills_and_teams_run() {
    check("example fill");
    check("example team");
}

#[test]
fn the_header_and_the_examples_are_cplusplus_as_well() {
    for name in ["region", "session", "fill", "team"] {
        let (_folder, program) = linked("c++", &format!("examples/{name}.c"), &["-std=c++17"]);
        check_example(name, &run(&mut Command::new(&program)));
    }
}

#[test]
fn fills_pools_and_teams_answer_what_they_should() {
    check("threads");
}

/// Nobody can wait for work that never returns: the process ends, with a word, instead of standing still.
#[test]
fn work_that_does_not_return_ends_the_process() {
    check("left");
}

#[test]
fn a_thousand_toggles_under_load_lose_and_leave_nothing() {
    check("toggled");
}

#[test]
fn a_fork_meets_no_session_that_is_half_begun() {
    check("forked");
}

#[test]
fn blocks_are_freed_through_pointers() {
    check("pointers");
}

/// Runs the example of a session with another allocator preloaded.
#[test]
fn a_preloaded_allocator_stays_behind() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("session");
    let library = prefix().join("lib");
    let flags = [OsStr::new("-L"), library.as_os_str(), OsStr::new("-lfirsttouch")];
    compile(&program, "examples/session.c", &flags);
    let known = run(Command::new("/sbin/ldconfig").arg("-p"));
    for name in ["libjemalloc.so.2", "libmimalloc.so.2"] {
        let Some(allocator) =
            known.lines().find_map(|line| Some(line.split_once(name)?.1.split_once("=> ")?.1))
        else {
            skipped(&format!("{name} is not installed"));
            continue;
        };
        let mut session = Command::new(&program);
        let said = run(session.env("LD_LIBRARY_PATH", &library).env("LD_PRELOAD", allocator));
        assert!(said.contains("grown: off, 1 placed") && said.contains("the end: done"), "{name}: {said}");
    }
}

#[test]
fn a_sanitizer_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("session");
    let library = prefix().join("lib");
    let flags =
        [OsStr::new("-fsanitize=address"), OsStr::new("-L"), library.as_os_str(), OsStr::new("-lfirsttouch")];
    compile(&program, "examples/session.c", &flags);
    let output = Command::new(&program).env("LD_LIBRARY_PATH", library).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("cannot be redirected"), "{said}");
}

#[test]
fn what_a_chosen_library_makes_is_placed() {
    check("redirected");
}

#[test]
fn unloading_with_live_blocks_is_safe() {
    check("unloaded");
}

#[test]
fn symbols_have_versions_and_no_others_are_seen() {
    let library = prefix().join("lib/libfirsttouch.so");
    let symbols = run(Command::new("nm").args(["-D", "--defined-only"]).arg(library));
    let names: Vec<&str> = symbols.lines().filter_map(|line| line.rsplit(' ').next()).collect();
    assert!(names.contains(&"firsttouch_ism_on@@FIRSTTOUCH_0.1"), "{symbols}");
    let version = |name: &&str| name.ends_with("@@FIRSTTOUCH_0.1") || *name == "FIRSTTOUCH_0.1";
    assert!(names.iter().all(version), "{symbols}");
}
