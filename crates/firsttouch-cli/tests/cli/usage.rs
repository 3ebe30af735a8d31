//! Wrong usage, help, and what is generated from the definitions.

use crate::{assert_code, assert_said, assert_shown, firsttouch, json_file, run, stderr, stdout};
use std::fs::File;
use std::process::{Command, Stdio};

#[test]
fn wrong_usage_is_told_from_failures_of_the_program() {
    for arguments in [
        &[][..],
        &["fly"],
        &["tune"],
        &["tune", "--budget", "soon", "--", "true"],
        &["report"],
        &["setup", "--root", "/no/such/folder"],
    ] {
        let output = run(arguments);
        assert_code(&output, 2);
        assert!(output.stdout.is_empty());
        assert!(!output.stderr.is_empty());
    }
    // In `run`, 2 may be the program's own.
    for arguments in [
        &["run"][..],
        &["run", "--pages", "huge", "--", "true"],
        &["run", "--min-size", "x", "true"],
        &["--color", "never", "run", "--bad"],
        &["watch", "--json", "--record", "-", "1"],
    ] {
        assert_code(&run(arguments), 125);
    }
}

/// The subcommands that `--help` lists.
fn subcommands() -> Vec<String> {
    let help = stdout(&run(&["--help"]));
    let list = help.split_once("Commands:\n").unwrap().1.split_once("\n\n").unwrap().0;
    let names = list.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn every_subcommand_keeps_the_rule_of_wrong_usage() {
    let all = subcommands();
    assert!(all.len() > 15, "{all:?}");
    for name in all {
        let code = match name.as_str() {
            "run" | "watch" | "lab" | "attach" => 125,
            _ => 2,
        };
        for before in [&[][..], &["--color", "never"], &["--color=never"]] {
            assert_code(&run(&[before, &[name.as_str(), "--no-such-option"]].concat()), code);
        }
    }
    assert_code(&run(&["--no-such-option", "run"]), 2);
}

#[test]
fn help_that_is_lost_is_told() {
    for words in [&["--help"][..], &["--version"], &["help", "run"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = firsttouch().args(words).stdout(full).output().unwrap();
        assert_said(&output, 1, &["cannot write to stdout"]);
    }
}

/// The Rust runtime puts /dev/null where the caller closed a stream, so that writing there seems to be done.
#[test]
fn a_closed_stdout_is_told_and_costs_no_file() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("cases.json");
    let named = file.to_str().unwrap();
    let closed = |words: &[&str]| {
        let script = ["-c", "exec \"$0\" \"$@\" >&-", env!("CARGO_BIN_EXE_firsttouch")];
        Command::new("sh").args(script).args(words).output().unwrap()
    };
    let kinds = ["report", "--schema", "list"];
    for words in [&["--help"][..], &["status"], &["bench", "--list", "--export-json", named], &kinds] {
        let output = closed(words);
        assert_code(&output, 1);
        let told = "error: cannot write to stdout\n  Bad file descriptor (os error 9)\n";
        assert_eq!(stderr(&output), told, "{words:?}");
    }
    assert_eq!(json_file(&file)["kind"], "case-list");
    // What goes there and nowhere else is refused before the time is spent.
    let ran = scratch.path().join("ran");
    assert_code(&closed(&["run", "--receipt", "-", "--", "touch", ran.to_str().unwrap()]), 125);
    assert!(!ran.exists());
    // It is the program's own, and nobody else's.
    assert_code(&closed(&["run", "--", "sh", "-c", "exec test ! -e /proc/self/fd/1"]), 0);
}

/// The first thread has the stack that the limit leaves, of which reading a command line takes more than programs with small ones need.
#[test]
fn a_small_stack_is_enough() {
    let scratch = tempfile::tempdir().unwrap();
    let receipt = scratch.path().join("receipt.json");
    let own = env!("CARGO_BIN_EXE_firsttouch");
    for bytes in [96 << 10, 512 << 10] {
        let small = |words: &[&str]| {
            let limit = format!("--stack={bytes}:{bytes}");
            let output = Command::new("prlimit").arg(limit).arg(own).args(words).output().unwrap();
            assert!(stderr(&output).is_empty(), "{words:?}: {}", stderr(&output));
            output
        };
        for words in [&["--help"][..], &["status"], &["balance", "simulate", "--help"]] {
            assert_code(&small(words), 0);
        }
        // The program has the limit of the caller.
        let output = small(&["run", "--", "sh", "-c", "ulimit -s; ulimit -H -s"]);
        assert_eq!(stdout(&output), format!("{0}\n{0}\n", bytes >> 10));
        // A signal reaches the program, whichever thread the kernel would have chosen for it.
        let signalled = "trap 'exit 9' TERM; kill -TERM $PPID; for i in $(seq 600); do sleep 0.1; done";
        let output = small(&["run", "--receipt", receipt.to_str().unwrap(), "--", "sh", "-c", signalled]);
        assert_code(&output, 9);
        assert_eq!(json_file(&receipt)["ending"], "exit status 9");
    }
}

#[test]
fn placements_that_contradict_themselves_are_refused() {
    for (options, error, hint) in [
        ("--via jemalloc --pages 2m", "--via jemalloc cannot give --pages 2m", "leave --via out"),
        ("--via jvm --zero", "--via jvm has no --zero", "leave --via out"),
        ("--keep", "--via agent has no --keep", "the agent keeps freed memory by itself"),
        ("--via glibc --heap", "--via glibc has no --heap", "glibc places its heap by itself"),
        (
            "--via supervise --keep",
            "--via supervise has no --keep",
            "--via glibc, mimalloc and jemalloc have it",
        ),
        (
            "--pages plain --prefault",
            "--pages plain places nothing, so there is no --prefault",
            "--pages thp",
        ),
        ("--skip-threads 0", "--skip-threads without --threads: no thread is bound", "--threads PLACEMENT"),
        ("--min-size 2M --max-size 1M", "max-size 1 MiB is below min-size 2 MiB", "leave one of them out"),
    ] {
        let output =
            run(&["run"].into_iter().chain(options.split(' ')).chain(["--", "true"]).collect::<Vec<_>>());
        assert_code(&output, 125);
        let said = stderr(&output);
        assert!(
            said.starts_with(&format!("error: {error}\n\nhint: ")) && said.contains(hint),
            "{options}: {said}"
        );
    }
    let output = run(&["tune", "--configs", "warp", "--", "true"]);
    assert_said(&output, 2, &["`warp`"]);
    assert!(stderr(&output).contains("\n\nhint: "), "{}", stderr(&output));
    assert_code(&run(&["tune", "--configs", "thp;thp", "--", "true"]), 2);
}

#[test]
fn help_is_data() {
    for arguments in [
        &["--help"][..],
        &["run", "--help"],
        &["tune", "--help"],
        &["status", "--help"],
        &["report", "-h"],
        &["attach", "--help"],
        &["graph", "info", "--help"],
        &["graph", "convert", "--help"],
        &["graph", "generate", "--help"],
        &["balance", "solve", "--help"],
        &["balance", "eval", "--help"],
        &["balance", "convert", "--help"],
        &["balance", "generate", "--help"],
        &["balance", "simulate", "--help"],
    ] {
        let output = run(arguments);
        assert_shown(&output, &["Examples:"]);
        assert!(output.stderr.is_empty());
    }
    let version = run(&["--version"]);
    assert_eq!(stdout(&version), format!("firsttouch {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_and_man_pages_know_every_subcommand() {
    for shell in ["bash", "zsh", "fish"] {
        let text = stdout(&run(&["completions", shell]));
        assert!(
            ["status", "run", "tune", "report"].iter().all(|name| text.contains(name)),
            "{shell}: {text}"
        );
    }
    let help = stdout(&run(&["--help"]));
    assert!(["  completions ", "  man "].iter().all(|command| help.contains(command)), "{help}");
    assert!(stdout(&run(&["man"])).contains(".TH firsttouch"));
    let page = stdout(&run(&["man", "tune"]));
    assert!(page.contains("\\-\\-alternatives") && page.contains(".TH"), "{page}");
    assert_code(&run(&["man", "fly"]), 2);
}

#[test]
fn every_command_has_a_page_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    // A folder that is not there yet.
    let pages = folder.path().join("share/man/man1");
    let path = pages.to_str().unwrap();
    assert_code(&run(&["man", "--all", path]), 0);
    let page = |name: &str| std::fs::read_to_string(pages.join(name)).unwrap();
    for command in subcommands() {
        let text = page(&format!("firsttouch-{command}.1"));
        assert!(text.contains(&format!(".TH firsttouch-{command} 1")), "{text}");
        assert!(page("firsttouch.1").contains(&format!("firsttouch\\-{}(1)", command)), "{command}");
    }
    // What commands can be told to do has one, too; what is hidden has none.
    assert!(page("firsttouch-graph-convert.1").contains(".TH firsttouch-graph-convert 1"));
    assert!(!pages.join("firsttouch-warm.1").exists());
    // What cannot be written is no success.
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert_said(&run(&["man", "--all", file.to_str().unwrap()]), 1, &["cannot write the pages into"]);
    assert_code(&run(&["man", "--all", path, "tune"]), 2);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = firsttouch().arg("man").stdout(writer).stderr(Stdio::piped()).output().unwrap();
    assert_code(&output, 0);
    assert!(output.stderr.is_empty(), "{}", stderr(&output));
}

#[test]
fn colour_is_for_those_who_ask() {
    assert!(!stderr(&run(&["report", "/nowhere"])).contains('\u{1b}'));
    assert_said(&run(&["--color", "always", "report", "/nowhere"]), 1, &["\u{1b}["]);
}
