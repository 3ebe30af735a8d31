//! C programs against the library as it is installed: the examples, redirection in a plain process, unloading.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]
#![allow(clippy::print_stderr, reason = "a skipped test is said, not hidden")]

mod build;
mod checked;

use build::{builds, check_example, compile, here, linked, prefix, run, run_with_shared};
use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[test]
fn the_example_of_a_session_runs() {
    let said = run_with_shared("examples/session.c", &[], &[]);
    assert!(said.contains("with a block: on, 1 placed"), "{said}");
    assert!(
        said.contains("grown: off, 1 placed") && said.contains("not yet: placed blocks are live"),
        "{said}"
    );
    assert!(said.contains("without: off, 0 placed") && said.contains("the end: done"), "{said}");
}

/// With the agent in the process, the agent does it, and there is one heap.
#[test]
fn a_preloaded_agent_serves_the_session() {
    let target = builds();
    run(Command::new(env!("CARGO")).args(["build", "--quiet", "--locked", "-p", "firsttouch-preload"]));
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("served");
    let library = prefix().join("lib");
    let flags = [OsStr::new("-L"), library.as_os_str(), OsStr::new("-lfirsttouch")];
    compile(&program, "tests/c/served.c", &flags);
    let agent = target.join("libfirsttouch_preload.so");
    // With settings that place nothing, and preloaded by somebody who knows of no settings.
    for settings in [Some("pid=0 pages=plain"), None] {
        let mut served = Command::new(&program);
        served.env("LD_LIBRARY_PATH", &library).env("LD_PRELOAD", &agent).env_remove("FIRSTTOUCH_AGENT");
        served.envs(settings.map(|settings| ("FIRSTTOUCH_AGENT", settings)));
        assert_eq!(run(&mut served), "done\n", "{settings:?}");
    }
}

#[test]
fn the_example_of_a_region_tells_what_it_got() {
    for pages in ["thp", "4k"] {
        let said = run_with_shared("examples/region.c", &[], &[Path::new("32"), Path::new(pages)]);
        let receipt: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!(receipt["asked"]["pages"], pages);
        assert_eq!(receipt["asked"]["bytes"], 32 << 20);
        if let Some(sizes) = receipt["obtained"]["bytes_by_page_size"].as_object() {
            assert_eq!(sizes.values().filter_map(serde_json::Value::as_u64).sum::<u64>(), 32 << 20);
            assert!(pages == "thp" || sizes.keys().eq(["4096"]), "{said}");
        }
    }
}

#[test]
fn the_examples_link_to_the_static_library() {
    let (_folder, program) = linked("cc", "examples/session.c", &[]);
    assert!(run(&mut Command::new(&program)).contains("the end: done"));
}

#[test]
fn the_examples_of_fills_and_teams_run() {
    for name in ["fill", "team"] {
        check_example(name, &run_with_shared(&format!("examples/{name}.c"), &[], &[]));
    }
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
    assert_eq!(run_with_shared("tests/c/threads.c", &[], &[]), "done\n");
}

/// Nobody can wait for work that never returns: the process ends, with a word, instead of standing still.
#[test]
fn work_that_does_not_return_ends_the_process() {
    let (_folder, program) = linked("c++", "tests/c/left.cc", &["-std=c++17"]);
    for how in ["throw", "pthread_exit"] {
        let Output { status, stderr, .. } = Command::new(&program).arg(how).output().unwrap();
        let said = String::from_utf8_lossy(&stderr);
        assert!(status.signal() == Some(libc::SIGABRT) && !said.is_empty(), "{how}: {status} {said}");
    }
}

#[test]
fn a_thousand_toggles_under_load_lose_and_leave_nothing() {
    assert_eq!(run_with_shared("tests/c/toggled.c", &[], &[]), "done\n");
}

#[test]
fn a_fork_meets_no_session_that_is_half_begun() {
    let flags = ["-pthread", "-rdynamic", "-ldl"].map(OsStr::new);
    assert_eq!(run_with_shared("tests/c/forked.c", &flags, &[]), "done\n");
}

#[test]
fn blocks_are_freed_through_pointers() {
    let flags = ["-pthread", "-fno-builtin", "-ldl"].map(OsStr::new);
    assert_eq!(run_with_shared("tests/c/pointers.c", &flags, &[]), "done\n");
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
            eprintln!("skipped: {name} is not installed");
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

fn libraries(folder: &Path, flags: &[&str]) -> (PathBuf, PathBuf) {
    let library = |name: &str| {
        let path = folder.join(name);
        let mut all = vec!["-shared", "-fPIC"];
        all.extend(flags);
        compile(&path, "tests/c/made.c", &all.into_iter().map(OsStr::new).collect::<Vec<_>>());
        path
    };
    (library("libmade.so"), library("libtaker.so"))
}

#[test]
fn what_a_chosen_library_makes_is_placed() {
    // Bound when loaded, on protected pages; and bound at the first call; and a program at a fixed address.
    let ways: [&[&str]; 3] = [&["-Wl,-z,relro,-z,now"], &["-Wl,-z,lazy"], &["-Wl,-z,lazy", "-no-pie"]];
    for way in ways {
        let folder = tempfile::tempdir().unwrap();
        let for_library: Vec<&str> = way.iter().copied().filter(|flag| *flag != "-no-pie").collect();
        let (made, taker) = libraries(folder.path(), &for_library);
        let mut flags: Vec<&OsStr> = way.iter().map(OsStr::new).collect();
        flags.push(made.as_os_str());
        assert_eq!(run_with_shared("tests/c/redirected.c", &flags, &[&taker]), "done\n", "{way:?}");
    }
}

#[test]
fn unloading_with_live_blocks_is_safe() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("unloaded");
    compile(&program, "tests/c/unloaded.c", &[OsStr::new("-ldl")]);
    let first = prefix().join("lib/libfirsttouch.so").canonicalize().unwrap();
    // Another file, and by the name inside it not the same library.
    let second = folder.path().join("libother.so");
    let archive = prefix().join("lib/libfirsttouch.a");
    let map = format!("-Wl,--version-script={}", here().join("firsttouch.map").display());
    let mut linker = Command::new("cc");
    linker.args(["-shared", &map, "-Wl,--whole-archive"]).arg(archive).arg("-Wl,--no-whole-archive");
    run(linker.args(["-lgcc_s", "-ldl", "-lc", "-o"]).arg(&second));
    assert_eq!(run(Command::new(&program).arg(first).arg(second)), "done\n");
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
