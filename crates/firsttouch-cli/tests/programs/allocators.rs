//! Programs that bring their own allocator, or a sanitizer's, or run under an emulator: they are left alone, and the receipt says so.

use crate::requirements::{compiled, installed};
use crate::subject::{Receipt, Subject};
use serde_json::Value;
use std::process::Command;

const BLOCKS: &str = include_str!("blocks.c");

#[test]
fn large_blocks_of_the_c_library_are_placed() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), "blocks", BLOCKS, &[]) else { return };
    Subject::new(program).same_with_and_without().assert_on_huge_pages(8 << 20);
}

#[test]
fn a_malloc_of_the_programs_own_is_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["-fno-builtin"];
    let Some(program) = compiled(folder.path(), "own_malloc", include_str!("own_malloc.c"), &options) else {
        return;
    };
    Subject::new(&program).same_but_for_the_warning().assert_stood_down("foreign-allocator");

    // By exec the agent comes along, and makes no calls of that malloc: dumped images (GNU Common Lisp) bear none before they begin.
    let Some(env) = installed("env") else { return };
    Subject::new(env).argument(&program).same_with_and_without();
}

#[test]
fn jemalloc_is_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["-Wl,--no-as-needed", "-l:libjemalloc.so.2"];
    let Some(program) = compiled(folder.path(), "with_jemalloc", BLOCKS, &options) else { return };
    Subject::new(program).same_but_for_the_warning().assert_stood_down("foreign-allocator");
}

/// The agent sees nothing of it. Where the module does not say by a name that it has an allocator, the receipt tells only what there is.
#[test]
fn memory_of_a_modules_allocator_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let text = include_str!("with_module.c");
    let Some(program) =
        compiled(folder.path(), "with_module", text, &["-Wl,--no-as-needed", "-ldl", "-pthread"])
    else {
        return;
    };
    let receipt_with = |name: &str, options: &[&str], words: &[&str]| {
        let options = [&["-shared", "-fPIC"][..], options].concat();
        let module = compiled(folder.path(), name, include_str!("module.c"), &options)?;
        let receipt = folder.path().join("receipt.json");
        let output = Command::new(env!("CARGO_BIN_EXE_firsttouch"))
            .args(["run", "--receipt"])
            .args([receipt.as_os_str(), "--".as_ref(), program.as_os_str(), module.as_os_str()])
            .args(words)
            .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        Some(serde_json::from_str::<Value>(&std::fs::read_to_string(receipt).unwrap()).unwrap())
    };
    let Some(named) = receipt_with("named.so", &[], &[]) else { return };
    let short = &named["shortfalls"][0];
    assert_eq!(short["reason"], "foreign-allocator", "{named}");
    assert!(short["bytes"].as_u64().is_some_and(|bytes| bytes >= 96 << 20), "{named}");
    let notes = named["notes"].to_string();
    for word in ["named.so", "module_je_arena_malloc_hard", "--via supervise", "attach"] {
        assert!(notes.contains(word), "{word}: {named}");
    }
    let Some(nameless) = receipt_with("nameless.so", &["-DNAMELESS", "-s"], &[]) else { return };
    // The module has none of it: small blocks fill the C library's arenas, which look like anybody's then.
    let Some(idle) = receipt_with("idle.so", &[], &["arenas"]) else { return };
    for receipt in [nameless, idle] {
        assert_eq!(receipt["shortfalls"].as_array().map(Vec::len), Some(0), "{receipt}");
        assert!(receipt["notes"].to_string().contains("in blocks below --min-size"), "{receipt}");
    }
}

#[test]
fn a_sanitizer_works_as_without_us() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), "with_asan", BLOCKS, &["-fsanitize=address", "-g"]) else {
        return;
    };
    Subject::new(&program).same_but_for_the_warning().assert_stood_down("foreign-allocator");

    // It still finds the error it is there for. Its report holds addresses, so it is not compared.
    let output = Command::new(env!("CARGO_BIN_EXE_firsttouch"))
        .args(["run", "--"])
        .arg(&program)
        .arg("misread")
        .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("heap-buffer-overflow"), "{said}");
}

#[test]
fn a_child_with_a_sanitizer_works_as_without_us() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), "child_with_asan", BLOCKS, &["-fsanitize=address"]) else {
        return;
    };
    let Some(shell) = installed("sh") else { return };
    let line = format!("{0}; echo $?; {0} | cat; exit 2", program.display());
    Subject::new(shell).arguments(&["-c", &line]).same_with_and_without();
}

/// The placed process may become another program: one that must not have the agent loses it on the way.
#[test]
fn programs_that_bring_an_allocator_are_untouched_when_reached_by_exec() {
    let folder = tempfile::tempdir().unwrap();
    let kinds: [(&str, &[&str]); 3] = [
        ("exec_asan", &["-fsanitize=address"]),
        ("exec_jemalloc", &["-Wl,--no-as-needed", "-l:libjemalloc.so.2"]),
        ("exec_narrow", &["-m32"]),
    ];
    for (name, options) in kinds {
        let Some(program) = compiled(folder.path(), name, BLOCKS, options) else { continue };
        let program = program.display().to_string();
        if let Some(env) = installed("env") {
            Subject::new(env).arguments(&[&program]).same_with_and_without();
        }
        let Some(shell) = installed("sh") else { continue };
        Subject::new(&shell).arguments(&["-c", &format!("exec {program}")]).same_with_and_without();
        Subject::new(&shell)
            .arguments(&["-c", &format!("PATH={}; exec {name}", folder.path().display())])
            .same_with_and_without();
        // The loader itself may have the agent, and not what it is given.
        if let Some(loader) = installed("ld.so") {
            let line = format!("exec {} --library-path /nowhere {program}", loader.display());
            Subject::new(&shell).arguments(&["-c", &line]).same_with_and_without();
        }
    }
}

/// Of a name that is to be looked for in another folder, the file there tells, and not one of the same name here.
#[test]
fn programs_with_a_sanitizer_are_untouched_in_another_folder() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled(folder.path(), "elsewhere", include_str!("elsewhere.c"), &[]) else {
        return;
    };
    const NAME: &str = "asan_elsewhere";
    let Some(_) = compiled(folder.path(), NAME, BLOCKS, &["-fsanitize=address"]) else { return };
    for way in ["execveat", "descriptor", "chdir", "fchdir"] {
        Subject::new(&program)
            .file(NAME, "no program\n")
            .argument(way)
            .argument(folder.path())
            .argument(NAME)
            .same_with(&["--follow"]);
    }
}

/// An emulator hands its environment on, and with it the agent. Where QEMU keeps words of every page that is reserved, 80 MB became 3 GB;
/// and a receipt of the emulated program's agent, which has the same process, told of pages that advice had never reached.
#[test]
fn an_emulated_program_is_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let Some(emulator) = installed(&format!("qemu-{}", std::env::consts::ARCH)) else { return };
    let Some(program) = compiled(folder.path(), "emulated", BLOCKS, &[]) else { return };
    let Receipt(receipt) = Subject::new(emulator).argument(program).same_with_and_without();
    let bytes = |at: &str| receipt.pointer(at).and_then(Value::as_u64);
    assert!(bytes("/obtained/peak_bytes").is_none_or(|placed| placed < 8 << 20), "{receipt}");
    assert!(
        bytes("/tree/processes/0/peak_rss_bytes").is_some_and(|resident| resident < 1 << 30),
        "{receipt}"
    );
}
