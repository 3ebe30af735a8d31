//! Faults that take more than a C file with directives: programs that are no ordinary files, and bad profiles.

use crate::launch::{
    Ended, Hand, Launch, command, compile, compile_as, finish, firsttouch, programs, workshop,
};
use crate::machine::{MachineLock, check, is_root};
use crate::{Outcome, Test, skip};
use firsttouch_placement::Reason;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

type Case = (&'static str, fn() -> Outcome);

/// Every case with its name.
pub(crate) fn tests() -> Vec<Test> {
    let mut tests = of_kernels();
    let cases: [Case; 2] = [
        ("garbage in the profile is refused before anything runs", profiles),
        ("a child that is started by a descriptor has the agent if it is followed", spawned),
    ];
    tests.extend(named(cases));
    tests
}

/// Those that may end in another way on another kernel.
pub(crate) fn of_kernels() -> Vec<Test> {
    let cases: [Case; 6] = [
        ("a setuid program runs untouched", setuid),
        ("what is no program is refused with the shell's codes", no_program),
        ("a library that is opened with RTLD_DEEPBIND frees placed blocks", opened),
        ("a linked library begins before us", linked),
        ("another allocator is preloaded behind us", preloaded),
        ("attach tells whether the kernel collapses", attached),
    ];
    named(cases).collect()
}

fn named(cases: impl IntoIterator<Item = Case>) -> impl Iterator<Item = Test> {
    cases.into_iter().map(|(name, case)| -> Test { (name.to_owned(), Box::new(case)) })
}

fn plain() -> Outcome<PathBuf> {
    compile("plain.c", &[], &[])
}

fn run(hand: Hand, options: &[&str], program: &Path) -> Ended {
    let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
    let _lock = MachineLock::shared();
    Launch { hand, options: &options, program, arguments: &[], outside: None, inside: None }.run()
}

fn setuid() -> Outcome {
    const NOBODY: u32 = 65534;
    if !is_root() {
        return skip("only root can make a program of another user's");
    }
    let program = workshop().join("plain-setuid");
    let _ = fs::remove_file(&program);
    fs::copy(plain()?, &program).unwrap();
    chown(&program, Some(NOBODY), Some(NOBODY)).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o4755)).unwrap();

    let bare = run(Hand::Bare, &[], &program);
    if bare.code != Some(0) || !bare.stdout.ends_with("another") {
        return skip(format!("setuid programs do not work in {}", workshop().display()));
    }
    for hand in [Hand::Exec, Hand::Receipt] {
        let ended = run(hand, &[], &program);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "alone, user another"), "{ended:?}");
        assert!(ended.stderr.contains("warning:") && ended.stderr.contains("setuid"), "{ended:?}");
        if hand == Hand::Receipt {
            let receipt = ended.receipt();
            assert!(receipt.obtained.is_none(), "{receipt:?}");
            let reasons: Vec<Reason> = receipt.shortfalls.iter().map(|shortfall| shortfall.reason).collect();
            assert_eq!(reasons, [Reason::NotDumpable]);
        }
    }
    let ended = run(Hand::Receipt, &["--strict"], &program);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(125), ""), "{ended:?}");
    Ok(())
}

fn no_program() -> Outcome {
    let folder = workshop().join("no-program");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    let file = |name: &str, contents: &[u8], mode: u32| {
        let path = folder.join(name);
        fs::write(&path, contents).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path
    };
    let cases = [
        (folder.join("absent"), 127),
        (folder.join("absent/below"), 127),
        (PathBuf::from("firsttouch-no-such-command"), 127),
        (folder.clone(), 126),
        (file("not-executable", b"#!/bin/sh\n", 0o644), 126),
        (file("garbage", &[0xff; 300], 0o755), 126),
        (file("cut-elf", b"\x7fELF\x02\x01\x01", 0o755), 126),
        (file("no-interpreter", b"#!/absent/interpreter\n", 0o755), 126),
    ];
    for (path, code) in &cases {
        for hand in [Hand::Exec, Hand::Receipt] {
            let ended = run(hand, &[], path);
            assert_eq!(ended.code, Some(*code), "{}: {ended:?}", path.display());
            assert!(ended.stderr.starts_with("error: ") && ended.stderr.contains("\n\nhint: "), "{ended:?}");
            assert!(ended.stdout.is_empty() && ended.receipt.is_none(), "{ended:?}");
        }
    }
    Ok(())
}

fn profiles() -> Outcome {
    let program = plain()?;
    let profile = workshop().join("profile.toml");
    let good = "schema_version = 1\n[placement]\npages = \"thp\"\n";
    let bad: [&[u8]; 14] = [
        b"",
        b"\0\x01\x02",
        b"\xff\xfe\xfd",
        b"garbage",
        b"[placement",
        b"schema_version = 9\n[placement]\n",
        b"schema_version = \"one\"\n[placement]\n",
        b"schema_version = 1\n",
        b"schema_version = 1\n[placement]\npages = \"huge\"\n",
        b"schema_version = 1\n[placement]\npages = 7\n",
        b"schema_version = 1\n[placement]\npagse = \"thp\"\n",
        b"schema_version = 1\n[placement]\nmin_size = -1\n",
        b"schema_version = 1\n[placement]\nmin_size = 99999999999999999999999\n",
        b"schema_version = 1\n[placement]\nmin_size = 4096\nmax_size = 1024\n",
    ];
    let option = profile.to_str().unwrap();
    for contents in bad {
        fs::write(&profile, contents).unwrap();
        for hand in [Hand::Exec, Hand::Receipt] {
            let ended = run(hand, &["--profile", option], &program);
            let shown = String::from_utf8_lossy(contents);
            assert_eq!((ended.code, ended.stdout.as_str()), (Some(125), ""), "{shown}: {ended:?}");
            assert!(
                ended.stderr.starts_with("error: ") && ended.stderr.contains(option),
                "{shown}: {ended:?}"
            );
        }
    }
    fs::write(&profile, "x".repeat(3 << 20)).unwrap();
    assert_eq!(run(Hand::Exec, &["--profile", option], &program).code, Some(125));
    fs::remove_file(&profile).unwrap();
    assert_eq!(run(Hand::Exec, &["--profile", option], &program).code, Some(125));
    fs::write(&profile, good).unwrap();
    let ended = run(Hand::Receipt, &["--profile", option], &program);
    assert!(ended.code == Some(0) && ended.receipt().complete, "{ended:?}");
    Ok(())
}

/// Compiles a library of `lib/NAME.c`.
fn library(name: &str) -> Outcome<PathBuf> {
    let flags = ["-O0", "-shared", "-fPIC"].map(str::to_owned);
    compile_as(&format!("lib{name}.so"), &format!("../lib/{name}.c"), &flags, &[])
}

/// A program that opens a library, and one that is linked to a library.
fn opener() -> Outcome<PathBuf> {
    compile("libraries.c", &["-ldl".to_owned()], &[])
}

fn linked_to(name: &str, source: &str, library: &Path) -> Outcome<PathBuf> {
    let flags = [
        "-ldl".to_owned(),
        "-Wl,--no-as-needed".to_owned(),
        library.to_str().unwrap().to_owned(),
        format!("-Wl,-rpath,{}", programs().display()),
    ];
    compile_as(name, source, &flags, &[])
}

fn linked_one() -> Outcome<PathBuf> {
    linked_to("libraries-linked", "libraries.c", &library("early")?)
}

fn behind() -> Outcome<PathBuf> {
    compile("behind.cpp", &[], &[])
}

/// Compiles what the cases run, for other processes; a case whose program cannot be compiled says so.
pub(crate) fn compile_all() {
    for made in [plain(), library("deep"), opener(), linked_one(), behind()] {
        let _ = made;
    }
}

/// The placements under which what is not placed by us must work as well.
const PLACEMENTS: [&[&str]; 5] = [
    &["--pages", "thp"],
    &["--pages", "thp", "--min-size", "64K"],
    &["--pages", "thp", "--prefault"],
    // Whether the machine has such pages is no matter here.
    &["--pages", "64k", "--quiet"],
    &["--pages", "2m", "--quiet"],
];

fn runs_well(program: &Path, arguments: &[String], outside: Option<&str>) {
    let _lock = MachineLock::shared();
    for (hand, placement) in
        [(Hand::Bare, PLACEMENTS[0])].into_iter().chain(PLACEMENTS.map(|placement| (Hand::Exec, placement)))
    {
        let options: Vec<String> = placement.iter().map(|option| (*option).to_owned()).collect();
        let ended = Launch { hand, options: &options, program, arguments, outside, inside: None }.run();
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{placement:?}: {ended:?}");
    }
}

fn opened() -> Outcome {
    let (library, program) = (library("deep")?, opener()?);
    runs_well(&program, &[library.to_str().unwrap().to_owned()], None);
    Ok(())
}

/// Older C libraries do not have what starts one so: a library that the program is linked to stands in for a newer one.
fn spawned() -> Outcome {
    let program = linked_to("children-linked", "children.c", &library("pidfd_spawn")?)?;
    let _lock = MachineLock::shared();
    for (options, child) in [(&[][..], "alone"), (&["--follow".to_owned()], "with it")] {
        for function in ["pidfd_spawn", "pidfd_spawnp"] {
            let arguments = [function, "for certain"].map(str::to_owned);
            let launch = Launch {
                hand: Hand::Exec,
                options,
                program: &program,
                arguments: &arguments,
                outside: None,
                inside: None,
            };
            let ended = launch.run();
            let expected = format!("parent with\nchild {child}");
            assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), expected.as_str()), "{ended:?}");
        }
    }
    Ok(())
}

fn linked() -> Outcome {
    runs_well(&linked_one()?, &[], None);
    Ok(())
}

/// The agent is preloaded first, and a shell in between adds another allocator behind it.
fn preloaded() -> Outcome {
    let program = behind()?;
    let known = Command::new("ldconfig").arg("-p").output().map(|output| output.stdout).unwrap_or_default();
    let known = String::from_utf8_lossy(&known).into_owned();
    let mut tried = 0;
    for allocator in ["libjemalloc.so.2", "libmimalloc.so.2", "libc_malloc_debug.so.0"] {
        if !known.contains(allocator) {
            continue;
        }
        tried += 1;
        let inside = format!("LD_PRELOAD=$LD_PRELOAD:{allocator} exec \"$@\"");
        let _lock = MachineLock::shared();
        for hand in [Hand::Exec, Hand::Receipt] {
            let options = ["--follow".to_owned()];
            let launch = Launch {
                hand,
                options: &options,
                program: &program,
                arguments: &[],
                outside: None,
                inside: Some(&inside),
            };
            let ended = launch.run();
            assert_eq!(ended.code, Some(0), "{allocator}: {ended:?}");
        }
    }
    if tried == 0 { skip("no other allocator is installed") } else { Ok(()) }
}

/// A dry run on this process, which asks the kernel and changes nothing.
fn attached() -> Outcome {
    if !is_root() {
        return skip("only root may collapse memory from outside");
    }
    let own = std::process::id().to_string();
    let mut command = command(firsttouch().as_os_str());
    let asking = command.args(["attach", &own, "--pages", "thp", "--dry-run"]);
    let output = finish(asking.env("XDG_STATE_HOME", workshop()));
    let stderr = String::from_utf8_lossy(&output.stderr);
    if check("linux>=6.1").is_ok() {
        assert!(output.status.success(), "{output:?}");
    } else {
        assert!(output.status.code() == Some(125) && stderr.contains("kernel-too-old"), "{output:?}");
    }
    Ok(())
}
