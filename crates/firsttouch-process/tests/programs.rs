//! What `inspect` says of real programs, and that the kernel agrees.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{compile, find, is_root, launch, output_of, path, skipped};
use firsttouch_memory::Reason;
use firsttouch_process::{
    LaunchError, Linkage, Obstacle, Privilege, Program, ProgramError, agent_reach, inspect, resolve,
};
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

const NOTHING: &str = "int main(void) { return 0; }\n";

static ALONE: Mutex<()> = Mutex::new(());

/// A file that was just written cannot be executed while a child forked by another test still holds it open.
fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn look(file: &Path) -> Result<Program, ProgramError> {
    inspect(file.as_os_str(), &[], Some(&path()))
}

fn script(file: &Path, text: &str) {
    std::fs::write(file, text).unwrap();
    std::fs::set_permissions(file, PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn the_shell_is_within_reach() {
    let _alone = alone();
    let program = inspect(OsStr::new("sh"), &[], Some(&path())).unwrap();
    assert_eq!(program.kind.linkage, Linkage::Glibc);
    assert_eq!(program.file, program.image);
    assert_eq!(agent_reach(&program.kind), Ok(()));
}

#[test]
fn missing_and_blocked_programs_are_told_apart() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let status = |file: &Path| look(file).unwrap_err().exit_status();
    assert_eq!(status(&folder.path().join("nothing")), 127);
    assert_eq!(status(folder.path()), 126);
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "text").unwrap();
    assert_eq!(status(&plain), 126);
    let ProgramError::NotExecutable { obstacle: Obstacle::Permission, .. } = look(&plain).unwrap_err() else {
        panic!("a file without the x bit");
    };
    let garbage = folder.path().join("garbage");
    script(&garbage, "neither this nor that");
    let error = look(&garbage).unwrap_err();
    assert!(matches!(error, ProgramError::NotExecutable { obstacle: Obstacle::Format, .. }), "{error}");
    assert!(!error.hint().is_empty());
}

#[test]
fn hints_are_commands_for_a_shell() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let shown = folder.path().display();
    let hint = |name: &str| look(&folder.path().join(name)).unwrap_err().hint();
    std::fs::write(folder.path().join("it's a b"), "text").unwrap();
    assert_eq!(hint("it's a b"), format!("chmod +x '{shown}/it'\\''s a b'"));
    std::fs::write(folder.path().join("plain"), "text").unwrap();
    assert_eq!(hint("plain"), format!("chmod +x {shown}/plain"));
    assert_eq!(hint("no folder/program"), format!("ls -l '{shown}/no folder'"));
    // What begins with a program is a line.
    assert!(hint("plain -x").ends_with(&format!("sh -c '{shown}/plain -x'")), "{}", hint("plain -x"));
}

#[test]
fn the_path_is_searched_as_shells_do() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let (first, second, third) = (folder.path().join("1"), folder.path().join("2"), folder.path().join("3"));
    for place in [&first, &second, &third] {
        std::fs::create_dir(place).unwrap();
    }
    std::fs::create_dir(first.join("tool")).unwrap();
    std::fs::write(second.join("tool"), "not executable").unwrap();
    script(&third.join("tool"), "#!/bin/sh\n");
    let search = |places: &[&Path]| {
        let joined = std::env::join_paths(places).unwrap();
        resolve(OsStr::new("tool"), Some(&joined))
    };
    assert_eq!(search(&[&first, &second, &third]).unwrap(), third.join("tool"));
    assert_eq!(search(&[&first, &second]).unwrap_err().exit_status(), 126);
    assert_eq!(search(&[&first]).unwrap_err().exit_status(), 127);
    assert_eq!(resolve(OsStr::new(""), Some(OsStr::new("/bin"))).unwrap_err().exit_status(), 127);
    assert!(resolve(OsStr::new("sh"), None).is_ok(), "the C library's default path");
}

#[test]
fn scripts_lead_to_their_interpreter() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    script(&plain, "#! /bin/sh -e\nexit 0\n");
    let program = look(&plain).unwrap();
    assert_eq!((program.file, program.image.as_path()), (plain, Path::new("/bin/sh")));
    assert_eq!(program.kind.linkage, Linkage::Glibc);

    let by_env = folder.path().join("by-env");
    script(&by_env, "#!/usr/bin/env sh\nexit 0\n");
    let program = look(&by_env).unwrap();
    assert_eq!(program.image, find("sh").unwrap());

    let orphan = folder.path().join("orphan");
    script(&orphan, "#!/no/such/interpreter\n");
    let error = look(&orphan).unwrap_err();
    assert_eq!(error.exit_status(), 126);
    let at_exec = launch(&orphan, &[]).hold().unwrap().release().unwrap_err();
    let LaunchError::Program(at_exec) = at_exec else { panic!("{at_exec}") };
    assert_eq!(at_exec.to_string(), error.to_string());
    assert!(matches!(at_exec, ProgramError::NotExecutable { obstacle: Obstacle::InterpreterMissing(_), .. }));
}

#[test]
fn as_many_interpreters_as_the_kernel_follows() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut interpreter = "/bin/sh".to_owned();
    let mut agreed = [0, 0];
    for depth in 1..=8 {
        let file = folder.path().join(format!("script-{depth}"));
        script(&file, &format!("#!{interpreter}\n"));
        interpreter = file.to_str().unwrap().to_owned();
        let runs = launch(&file, &[]).measure(&[], None).is_ok();
        assert_eq!(look(&file).is_ok(), runs, "depth {depth}");
        agreed[usize::from(runs)] += 1;
    }
    assert!(agreed[0] > 0 && agreed[1] > 0, "both sides of the limit were seen");
}

#[test]
fn a_static_program_is_out_of_reach() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    for flags in [["-static"].as_slice(), &["-static-pie", "-fPIE"]] {
        let Some(file) = compile(folder.path(), "static", NOTHING, flags) else { continue };
        let program = look(&file).unwrap();
        assert_eq!(program.kind.linkage, Linkage::Static);
        assert_eq!(agent_reach(&program.kind), Err(Reason::StaticProgram));
        assert!(program.kind.allocator.is_none() && !program.kind.go);
    }
}

/// The loader of the C library that this test has.
fn own_loader() -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.split_whitespace().find(|word| word.contains("/ld-linux-")).unwrap().to_owned()
}

#[test]
fn a_loader_is_what_it_loads() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let loader = own_loader();
    let given = |words: &[&str]| {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        inspect(OsStr::new(&loader), &words, Some(&path())).unwrap()
    };
    let shell = find("sh").unwrap();
    let name = shell.to_str().unwrap();
    let ways: [&[&str]; 4] = [
        &[name, "-c", "true"],
        &["--library-path", "/a:/b", "--inhibit-cache", name],
        &["--argv0", "/bin/x", "--preload", "", "--", name],
        &["--audit", "", "--inhibit-rpath", "", name],
    ];
    for words in ways {
        let program = given(words);
        assert_eq!((program.file.to_str(), &program.image), (Some(&loader[..]), &shell), "{words:?}");
        assert_eq!(agent_reach(&program.kind), Ok(()));
        // The kernel agrees that this is a way to run it.
        if words.contains(&"-c") {
            assert!(Command::new(&loader).args(words).status().unwrap().success());
        }
    }
    let none: [&[&str]; 6] =
        [&[], &["--list", name], &["--version"], &["sh"], &["/nowhere"], &["--library-path"]];
    for words in none {
        assert_eq!(given(words).image, Path::new(&loader), "{words:?}");
    }
    // Which C library a program has is up to the loader, and not to what the file names.
    let flags = ["-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"];
    let Some(file) = compile(folder.path(), "bundled", NOTHING, &flags) else { return };
    assert_eq!(given(&[file.to_str().unwrap()]).kind.linkage, Linkage::Glibc);
    let Some(file) = compile(folder.path(), "alone", NOTHING, &["-static"]) else { return };
    assert_eq!(given(&[file.to_str().unwrap()]).kind.linkage, Linkage::Static);
}

#[test]
fn another_loader_is_another_c_library() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let flags = ["-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"];
    let Some(file) = compile(folder.path(), "other", NOTHING, &flags) else { return };
    let program = look(&file).unwrap();
    assert_eq!(program.kind.linkage, Linkage::OtherLibc { loader: "/lib/ld-musl-x86_64.so.1".into() });
    assert_eq!(agent_reach(&program.kind), Err(Reason::StaticProgram));
}

#[test]
fn a_narrow_program_is_for_another_machine() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    // Needs no 32-bit C library: there is none in it.
    let source = "void _start(void) { for (;;) ; }\n";
    let flags = ["-m32", "-nostdlib", "-static", "-ffreestanding", "-fno-pic", "-no-pie"];
    let Some(file) = compile(folder.path(), "narrow", source, &flags) else { return };
    let kind = look(&file).unwrap().kind;
    assert!(kind.foreign.is_some_and(|machine| !machine.wide));
    assert_eq!(agent_reach(&kind), Err(Reason::ForeignArchitecture));
    assert_eq!(kind.linkage, Linkage::Static);

    // What a dynamic one names is read as that of any other.
    let flags =
        ["-m32", "-nostdlib", "-ffreestanding", "-fPIE", "-pie", "-Wl,--dynamic-linker=/absent/ld.so"];
    let Some(file) = compile(folder.path(), "narrow-dynamic", source, &flags) else { return };
    assert_eq!(look(&file).unwrap().kind.linkage, Linkage::OtherLibc { loader: "/absent/ld.so".into() });
    let refused = launch(&file, &[]).hold().unwrap().release().unwrap_err();
    let LaunchError::Program(error) = &refused else { panic!("{refused:?}") };
    assert!(error.hint().contains("/absent/ld.so"), "{error:?}");
}

#[test]
fn sanitizers_and_allocators_are_recognised() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    for flag in ["-fsanitize=address", "-fsanitize=undefined", "-fsanitize=thread"] {
        let Some(file) = compile(folder.path(), "sanitized", NOTHING, &[flag]) else { continue };
        let kind = look(&file).unwrap().kind;
        assert!(kind.sanitizer.is_some(), "{flag}");
        assert_eq!(agent_reach(&kind), Err(Reason::ForeignAllocator));
    }
    let own = "#include <stddef.h>\nstatic char pool[4096]; static size_t used;\n\
        void *malloc(size_t size) { void *block = pool + used; used += (size + 15) / 16 * 16; return block; }\n\
        void free(void *block) { (void)block; }\nint main(void) { return 0; }\n";
    if let Some(file) = compile(folder.path(), "own", own, &["-rdynamic"]) {
        let kind = look(&file).unwrap().kind;
        assert_eq!(kind.allocator.as_deref(), Some("malloc"));
        assert_eq!(agent_reach(&kind), Err(Reason::ForeignAllocator));
    }
}

#[test]
fn go_programs_are_recognised() {
    let _alone = alone();
    if find("go").is_none() {
        return skipped("no Go tool chain");
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("main.go"), "package main\nfunc main() {}\n").unwrap();
    for (name, strip) in [("plain", ""), ("stripped", "-s -w")] {
        let built = Command::new("go")
            .args(["build", "-ldflags", strip, "-o", name, "main.go"])
            .current_dir(folder.path())
            .env("CGO_ENABLED", "0")
            .env("GOFLAGS", "-mod=mod")
            .env("GOCACHE", std::env::temp_dir().join("firsttouch-go-cache"))
            .output()
            .unwrap();
        if !built.status.success() {
            return skipped(&String::from_utf8_lossy(&built.stderr));
        }
        let kind = look(&folder.path().join(name)).unwrap().kind;
        assert!(kind.go, "{name}");
        assert_eq!(agent_reach(&kind), Err(Reason::StaticProgram));
    }
}

/// `LD_SHOW_AUXV` makes the loader print, unless it runs in secure mode: the loader's own word on whether it
/// would honour LD_PRELOAD.
fn loader_is_secure(file: &Path) -> bool {
    let mut launch = launch(file, &[]);
    launch.environment.set("LD_SHOW_AUXV", "1");
    !output_of(launch).contains("AT_SECURE")
}

#[test]
fn privileged_programs_are_recognised_and_the_loader_agrees() {
    let _alone = alone();
    if !is_root() {
        return skipped("giving files away takes root");
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let source = find("true").unwrap();
    let mut seen = 0;
    for (name, owner, group, mode, expected) in [
        ("ours", 0, 0, 0o755, None),
        ("root-setuid", 0, 0, 0o4755, None),
        ("setuid", 65534, 0, 0o4755, Some(Privilege::SetUser)),
        ("setgid", 0, 65534, 0o2755, Some(Privilege::SetGroup)),
        ("locking", 0, 65534, 0o2745, None),
    ] {
        let file = folder.path().join(name);
        std::fs::copy(&source, &file).unwrap();
        chown(&file, Some(owner), Some(group)).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
        let kind = look(&file).unwrap().kind;
        if expected.is_some() && kind.privilege.is_none() && !loader_is_secure(&file) {
            skipped("this file system, or no_new_privs, takes setuid away");
            continue;
        }
        assert_eq!(kind.privilege, expected, "{name}");
        assert_eq!(loader_is_secure(&file), expected.is_some(), "{name}");
        assert_eq!(agent_reach(&kind), expected.map_or(Ok(()), |_| Err(Reason::NotDumpable)));
        seen += 1;
    }
    assert!(seen >= 3);
}

#[test]
fn links_lead_to_their_target() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    symlink(find("sh").unwrap(), &link).unwrap();
    assert_eq!(look(&link).unwrap().kind.linkage, Linkage::Glibc);
    let dangling = folder.path().join("dangling");
    symlink(folder.path().join("nowhere"), &dangling).unwrap();
    assert_eq!(look(&dangling).unwrap_err().exit_status(), 127);
}
