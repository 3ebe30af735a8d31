//! Under filters of system calls (seccomp), as containers and units of systemd have them: some refuse a call, and some kill who makes it.

use crate::place::first_allowed;
use crate::{assert_code, assert_said, skipped, stderr, stdout};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Has a filter refuse, not know, or kill for the call whose number comes second, and becomes the rest.
const SANDBOX: &str = r#"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
int main(int count, char **words) {
    unsigned answer = !strcmp(words[1], "kills")  ? SECCOMP_RET_KILL_PROCESS
                      : !strcmp(words[1], "lacks") ? SECCOMP_RET_ERRNO | ENOSYS
                                                   : SECCOMP_RET_ERRNO | EPERM;
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, atoi(words[2]), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, answer),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 99;
    execvp(words[3], words + 3);
    return 98;
}
"#;

/// Frees blocks of which little was used, as the agent asks about, and makes others of their memory.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    for (int round = 0; round < 40; round++) {
        volatile char *block = malloc(48 << 20);
        for (long at = 0; at < 16 << 20; at += 4096) block[at] = 1;
        free((char *)block);
    }
    puts("done");
}
"#;

#[derive(Clone, Copy)]
enum Number {
    SetMempolicy,
    SetAffinity,
    SetScheduler,
    Mincore,
    Capset,
    PerfEventOpen,
    PidfdOpen,
}

impl Number {
    fn here(self) -> i32 {
        let [x86_64, aarch64] = match self {
            Number::SetMempolicy => [238, 237],
            Number::SetAffinity => [203, 122],
            Number::SetScheduler => [144, 119],
            Number::Mincore => [27, 232],
            Number::Capset => [126, 91],
            Number::PerfEventOpen => [298, 241],
            Number::PidfdOpen => [434, 434],
        };
        if cfg!(target_arch = "x86_64") { x86_64 } else { aarch64 }
    }
}

struct Sandbox {
    scratch: TempDir,
}

impl Sandbox {
    /// `None` where there can be none, which is said.
    fn new() -> Option<Sandbox> {
        let sandbox = Sandbox { scratch: tempfile::tempdir().unwrap() };
        if sandbox.compile("sandbox", SANDBOX).is_none() {
            skipped("no C compiler with the kernel's headers");
            return None;
        }
        if sandbox.start("refuses", Number::Mincore, &["true"]).status.code() == Some(99) {
            skipped("no filter may be set here");
            return None;
        }
        Some(sandbox)
    }

    fn compile(&self, name: &str, text: &str) -> Option<PathBuf> {
        let (source, program) =
            (self.scratch.path().join(format!("{name}.c")), self.scratch.path().join(name));
        fs::write(&source, text).unwrap();
        let compiled = Command::new("cc").arg("-o").arg(&program).arg(&source).status();
        compiled.is_ok_and(|status| status.success()).then_some(program)
    }

    fn start(&self, what: &str, call: Number, words: &[&str]) -> Output {
        let mut command = Command::new(self.scratch.path().join("sandbox"));
        command.arg(what).arg(call.here().to_string()).args(words).output().unwrap()
    }

    /// The command, where a filter kills who makes a call.
    fn deadly(&self, call: Number, words: &[&str]) -> Output {
        self.start("kills", call, &[&[env!("CARGO_BIN_EXE_firsttouch")], words].concat())
    }
}

#[test]
fn a_sandbox_that_forbids_it_is_named() {
    let Some(sandbox) = Sandbox::new() else { return };
    let node = format!("bind={}", first_allowed("Mems_allowed_list"));
    let calls = [("set_mempolicy", Number::SetMempolicy), ("sched_setaffinity", Number::SetAffinity)];
    let mark = sandbox.scratch.path().join("mark");
    let mark = mark.to_str().unwrap();
    for ((call, number), option) in calls.into_iter().zip([["--memory", &node], ["--threads", "compact"]]) {
        for (what, way) in
            ["refuses", "kills"].map(|what| [(what, &[][..]), (what, &["--receipt", "/dev/null"])]).concat()
        {
            let words = [&["run"][..], &option, way, &["--", "touch", mark]].concat();
            let output =
                sandbox.start(what, number, &[&[env!("CARGO_BIN_EXE_firsttouch")], &words[..]].concat());
            assert_said(&output, 125, &[&format!("{call} failed"), "hint: a sandbox (seccomp)"]);
            assert!(!fs::exists(mark).unwrap(), "the program was started all the same");
        }
    }
}

/// Which pages are in memory systemd's `SystemCallFilter=@system-service` lets nobody ask.
#[test]
fn the_agent_makes_no_call_that_a_filter_kills_for() {
    let Some(sandbox) = Sandbox::new() else { return };
    let program = sandbox.compile("program", PROGRAM).unwrap();
    let program = program.to_str().unwrap();
    for options in [&[][..], &["--follow"], &["--prefault"], &["--receipt", "/dev/null"]] {
        let output = sandbox.deadly(Number::Mincore, &[&["run"][..], options, &["--", program]].concat());
        assert_code(&output, 0);
        assert_eq!(stdout(&output), "done\n", "{options:?}");
    }
    for options in [["--attachable"], ["--prefault=background"]] {
        let words = |more| [&["run"][..], &options, more, &["--", program]].concat();
        let output = sandbox.deadly(Number::Capset, &words(&[]));
        assert_code(&output, 0);
        assert_eq!(stdout(&output), "done\n", "{options:?}");
        let told = stderr(&output);
        assert!(told.contains(&format!("{} is left out", options[0])) && told.contains("hint: "), "{told}");
        assert_said(&sandbox.deadly(Number::Capset, &words(&["--strict"])), 125, &["capset", "hint: "]);
    }
    let output = sandbox.deadly(Number::SetScheduler, &["run", "--via", "supervise", "--", program]);
    assert_code(&output, 0);
    assert_eq!(stdout(&output), "done\n");
}

#[test]
fn the_machine_is_told_of_where_a_filter_kills_for_what_is_tried() {
    let Some(sandbox) = Sandbox::new() else { return };
    for words in [&["status"][..], &["doctor"], &["explain", "--", "true"], &["setup", "thp", "madvise"]] {
        let output = sandbox.deadly(Number::PerfEventOpen, words);
        assert!(output.status.code().is_some_and(|code| code < 3), "{words:?}: {}", output.status);
    }
}

#[test]
fn who_needs_a_handle_says_that_the_kernel_has_none() {
    let Some(sandbox) = Sandbox::new() else { return };
    let mut process = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let pid = process.id().to_string();
    let attach = &["attach", &pid][..];
    for (status, words) in
        [(125, attach), (125, &["watch", "--duration", "1", &pid]), (1, &["tune", "--quick", "--", "true"])]
    {
        let words = [&[env!("CARGO_BIN_EXE_firsttouch")], words].concat();
        let output = sandbox.start("lacks", Number::PidfdOpen, &words);
        assert_said(&output, status, &["hint: Linux 5.3 or newer", "pidfd_open"]);
    }
    drop(process.stdin.take());
    assert!(process.wait().unwrap().success());
}
