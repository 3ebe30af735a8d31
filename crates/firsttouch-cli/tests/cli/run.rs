//! `run`: the program must not notice, and neither must whoever waits for it.

use crate::{
    assert_code, assert_said, assert_shown, firsttouch, json, json_file, run, skipped, static_program,
    stderr, stdout, text_of,
};
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

/// With and without a process of ours around the program.
const WAYS: [&[&str]; 2] = [&["run"], &["run", "--receipt", "/dev/null"]];

fn with(way: &[&str], rest: &[&str]) -> std::process::Output {
    run(&[way, rest].concat())
}

#[test]
fn the_status_is_the_programs() {
    for way in WAYS {
        assert_code(&with(way, &["--", "sh", "-c", "exit 7"]), 7);
        assert_code(&with(way, &["sh", "-c", "exit 0"]), 0);
        assert_code(&with(way, &["--", "no-such-program-here"]), 127);
        assert_code(&with(way, &["--", "/no/such/program"]), 127);
        assert_code(&with(way, &["--", "/etc"]), 126);
    }
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("data");
    fs::write(&file, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    for way in WAYS {
        let output = with(way, &["--", file.to_str().unwrap()]);
        assert_code(&output, 126);
        assert!(stderr(&output).starts_with("error: "), "{}", stderr(&output));
    }
}

#[test]
fn a_signal_that_ends_the_program_shows() {
    for way in WAYS {
        let output = with(way, &["--", "sh", "-c", "kill -TERM $$"]);
        let seen = output.status.signal().unwrap_or_else(|| output.status.code().unwrap() - 128);
        assert_eq!(seen, 15, "{way:?}: {}", stderr(&output));
    }
}

#[test]
fn input_and_output_pass_untouched() {
    for way in WAYS {
        let mut child = firsttouch()
            .args(way)
            .args(["--", "sh", "-c", "cat; echo to stderr >&2"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"a\0b\xff").unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.stdout, b"a\0b\xff");
        assert_eq!(output.stderr, b"to stderr\n", "{way:?}");
    }
}

#[test]
fn the_environment_gains_two_variables_and_loses_none() {
    let strip = |text: String| {
        let mut lines: Vec<String> = text
            .lines()
            .filter(|line| !line.starts_with("LD_PRELOAD=") && !line.starts_with("FIRSTTOUCH_AGENT="))
            .map(str::to_owned)
            .collect();
        lines.sort();
        lines
    };
    let plain = std::process::Command::new("env")
        .envs(firsttouch().get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env("FIRSTTOUCH_TEST", "kept")
        .output()
        .unwrap();
    let placed = firsttouch().args(["run", "--", "env"]).env("FIRSTTOUCH_TEST", "kept").output().unwrap();
    let settings = stdout(&placed);
    assert!(settings.contains("pages=thp min=1048576"), "{settings}");
    let unset = ["NO_COLOR", "CLICOLOR_FORCE", "GLIBC_TUNABLES"];
    let plain: Vec<String> = strip(String::from_utf8(plain.stdout).unwrap())
        .into_iter()
        .filter(|line| !unset.iter().any(|name| line.starts_with(&format!("{name}="))))
        .collect();
    assert_eq!(strip(settings), plain);
}

#[test]
fn signals_are_ignored_or_not_as_before() {
    let masks = ["sh", "-c", "grep -E 'SigBlk|SigIgn' /proc/self/status; exit 3"];
    // By their caller: none, what the Rust runtime ignores as well, and that by which nobody would learn how a program ended.
    for trap in ["", "trap '' PIPE", "trap '' CHLD", "trap '' PIPE CHLD"] {
        let under = |words: &[&str]| {
            let script = format!("{trap}\nexec \"$@\"");
            let output =
                std::process::Command::new("sh").args(["-c", &script, "sh"]).args(words).output().unwrap();
            assert_code(&output, 3);
            stdout(&output)
        };
        let plain = under(&masks);
        for way in WAYS {
            let words = [&[env!("CARGO_BIN_EXE_firsttouch")], way, &["--"], &masks].concat();
            assert_eq!(under(&words), plain, "{trap} {way:?}");
        }
    }
}

#[test]
fn streams_are_closed_or_not_as_before() {
    let look = "exec 9> $0; for n in 0 1 2; do if [ -e /proc/$$/fd/$n ]; then echo $n >&9; fi; done";
    let scratch = tempfile::tempdir().unwrap();
    let seen = scratch.path().join("seen");
    let under = |closed: &str, words: &[&str]| {
        let script = format!("exec \"$@\" {closed}");
        let status = std::process::Command::new("sh")
            .args(["-c", &script, "sh"])
            .args(words)
            .args(["sh", "-c", look])
            .arg(&seen)
            .stdin(Stdio::null())
            .status();
        assert!(status.unwrap().success(), "{closed} {words:?}");
        fs::read_to_string(&seen).unwrap()
    };
    for closed in ["", "<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        let plain = under(closed, &["env"]);
        assert_eq!(plain.lines().count(), 3 - closed.matches('-').count(), "{closed}: {plain}");
        for way in WAYS {
            let words = [&[env!("CARGO_BIN_EXE_firsttouch")], way, &["--"]].concat();
            assert_eq!(under(closed, &words), plain, "{closed} {way:?}");
        }
    }
}

/// In a container the first process is the one that orphans are left to.
#[test]
fn the_first_process_of_a_container_collects_orphans() {
    let script = "o=$(true & echo $!); while [ -e /proc/$o ]; do :; done; exit 6";
    let output = std::process::Command::new("unshare")
        .args(["--pid", "--fork", "--mount-proc", env!("CARGO_BIN_EXE_firsttouch")])
        .args(["run", "--receipt", "/dev/null", "--", "sh", "-c", script])
        .output();
    match output {
        Ok(output) if !stderr(&output).starts_with("unshare: ") => assert_code(&output, 6),
        _ => skipped("no mount namespace, or no process namespace"),
    }
}

/// What /proc shows under the number of the program is another process there: nothing is told of that, and the program runs.
#[test]
fn the_proc_of_another_namespace_is_not_taken_for_ours() {
    let scratch = tempfile::tempdir().unwrap();
    let receipt = scratch.path().join("receipt.json");
    let inside = |words: &[&str], program: &[&str]| {
        let mut unshare = std::process::Command::new("unshare");
        unshare.args(["--pid", "--fork", env!("CARGO_BIN_EXE_firsttouch")]).args(words).args(program);
        unshare.output().ok().filter(|output| !stderr(output).starts_with("unshare: "))
    };
    let told = |output: &std::process::Output| {
        let said = stderr(output);
        assert!(said.contains("/proc is that of another PID namespace"), "{said}");
        assert!(said.contains("hint: mount -t proc proc /proc"), "{said}");
    };
    let program = ["--", "sh", "-c", "exit 7"];
    let Some(plain) = inside(&["run", "--pages", "plain", "--receipt", receipt.to_str().unwrap()], &program)
    else {
        return skipped("no process namespace");
    };
    assert_code(&plain, 7);
    let written = json_file(&receipt);
    assert!(written["tree"].is_null() && written["obtained"].is_null(), "{written}");
    assert!(written["notes"].to_string().contains("/proc is that of another PID namespace"), "{written}");
    for words in [&["run", "--via", "supervise"][..], &["watch"]] {
        let output = inside(words, &program).unwrap();
        assert_code(&output, 7);
        told(&output);
    }
    for (words, program) in [(&["watch", "1"][..], &[][..]), (&["run", "--ranks", "1"], &program)] {
        let refused = inside(words, program).unwrap();
        assert_code(&refused, 125);
        told(&refused);
    }
}

#[test]
fn an_existing_preload_is_kept() {
    let output = firsttouch()
        .args(["run", "--", "sh", "-c", "echo $LD_PRELOAD"])
        .env("LD_PRELOAD", "/nowhere/lib.so")
        .output()
        .unwrap();
    assert!(stdout(&output).trim_end().ends_with(".so:/nowhere/lib.so"), "{}", stdout(&output));
}

#[test]
fn garbage_in_a_profile_is_refused_with_its_place() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("model.toml");
    for content in ["\0\x01\x02", "pages = ", "schema_version = 1\n[placement]\npages = \"huge\"\n"] {
        fs::write(&file, content).unwrap();
        let output = run(&["run", "--profile", file.to_str().unwrap(), "--", "true"]);
        assert_said(&output, 125, &["model.toml"]);
        assert_eq!(stderr(&output).matches("parse error").count(), 1, "{}", stderr(&output));
    }
    let output = run(&["run", "--profile", "/dev/zero", "--", "true"]);
    assert_said(&output, 125, &["/dev/zero is longer than any profile"]);
    fs::write(&file, b"\xff\xfe").unwrap();
    assert_code(&run(&["run", "--profile", file.to_str().unwrap(), "--", "true"]), 125);
    assert_code(&run(&["run", "--profile", "/no/such/profile", "--", "true"]), 125);
}

#[test]
fn a_profile_is_the_start_and_options_replace_its_fields() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("model.toml");
    // Some editors put a mark before the text.
    fs::write(&file, "\u{feff}schema_version = 1\n[placement]\npages = \"64k\"\nmin_size = \"4M\"\n")
        .unwrap();
    let profile = file.to_str().unwrap();
    let output =
        run(&["run", "--profile", profile, "--pages", "thp", "--", "sh", "-c", "echo $FIRSTTOUCH_AGENT"]);
    assert_shown(&output, &["pages=thp min=4194304"]);
}

#[test]
fn a_static_program_runs_as_it_is_and_the_receipt_says_so() {
    let Some(program) = static_program() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("receipt.json");
    let output = run(&["run", "--receipt", file.to_str().unwrap(), "--", program]);
    assert_code(&output, 0);
    assert!(!output.stdout.is_empty());
    assert!(
        stderr(&output).contains("warning: ") && stderr(&output).contains("supervise"),
        "{}",
        stderr(&output)
    );
    let receipt = json_file(&file);
    assert_eq!(receipt["shortfalls"][0]["reason"], "static-program");
    let strict = run(&["run", "--strict", "--", program]);
    assert_code(&strict, 125);
    assert!(strict.stdout.is_empty());
}

#[test]
fn a_program_that_is_started_by_the_loader_is_placed() {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let loader = maps.split_whitespace().find(|word| word.contains("/ld-linux-")).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("receipt.json");
    let bundle = [loader, "--library-path", "/nowhere", env!("CARGO_BIN_EXE_firsttouch"), "case", "demo"];
    let sizes = ["--set", "table=64M", "--set", "reads=1000", "--set", "order=20"];
    let output = run(&[&["run", "--receipt", file.to_str().unwrap(), "--"][..], &bundle, &sizes].concat());
    assert_code(&output, 0);
    assert!(!stderr(&output).contains("statically linked"), "{}", stderr(&output));
    let is_placed = || json_file(&file)["obtained"]["peak_bytes"].as_u64().unwrap() >= 64 << 20;
    assert!(is_placed(), "{}", json_file(&file));
    // So it is where the program becomes that, by whatever name: glibc has a link.
    let link = scratch.path().join("ld.so");
    std::os::unix::fs::symlink(loader, &link).unwrap();
    let bundle = [&["sh", "-c", "exec \"$@\"", "sh", link.to_str().unwrap()], &bundle[1..]].concat();
    let output = run(&[&["run", "--receipt", file.to_str().unwrap(), "--"][..], &bundle, &sizes].concat());
    assert_code(&output, 0);
    assert!(is_placed(), "{}", json_file(&file));
}

#[test]
fn a_program_is_called_as_its_user_calls_it() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join(OsStr::from_bytes(b"gr\xf6\xdfe"));
    fs::create_dir(&folder).unwrap();
    let link = folder.join("server");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_firsttouch"), &link).unwrap();
    let mut command = firsttouch();
    let command = command.args(["run", "--receipt", "-", "--"]).arg(&link);
    let output = command.args(["case", "demo", "--set", "table=8M", "--set", "reads=10"]).output().unwrap();
    let text = text_of(&output);
    let receipt = json(&text[text.find("{\n").unwrap()..]);
    let name = receipt["program"].as_str().unwrap();
    assert!(name.ends_with("/gr\\xf6\\xdfe/server"), "{name}");
}

/// Pages of 1 GiB are reserved by hand, and hardly ever.
#[test]
fn pages_that_the_machine_does_not_have_are_told_before_the_program_runs() {
    let free = fs::read_to_string("/sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages");
    if free.is_ok_and(|pages| pages.trim() != "0") {
        let output = run(&["run", "--pages", "1g", "--", "true"]);
        assert_code(&output, 0);
        assert_eq!(stderr(&output), "", "there are some");
        return;
    }
    let own = env!("CARGO_BIN_EXE_firsttouch");
    let workload = ["case", "demo", "--set", "table=64M", "--set", "reads=1000", "--set", "order=20"];
    let output = run(&[&["run", "--pages", "1g", "--receipt", "-", "--", own][..], &workload].concat());
    assert_code(&output, 0);
    let told = stderr(&output);
    assert!(told.starts_with("warning: there are no 1g pages: "), "{told}");
    assert!(told.contains("is asked for instead"), "{told}");
    let text = stdout(&output);
    let receipt = json(&text[text.find("{\n").unwrap()..]);
    // There may be some of 2 MiB, which come next.
    assert!(receipt["obtained"]["pool_bytes"].is_u64(), "{receipt}");
    assert!(receipt["notes"][0].as_str().unwrap().contains("on pages of a pool"), "{receipt}");
    assert_eq!(receipt["shortfalls"][0]["reason"], "pool-empty", "{receipt}");

    let strict = run(&["run", "--pages", "1g", "--strict", "--", "echo", "it ran"]);
    assert_code(&strict, 125);
    assert!(strict.stdout.is_empty() && stderr(&strict).contains("there are no 1g pages"), "{strict:?}");
    let quiet = run(&["run", "--pages", "1g", "--quiet", "--", "echo", "it ran"]);
    assert_eq!((text_of(&quiet).as_str(), stderr(&quiet).as_str()), ("it ran\n", ""));
}

#[test]
fn the_receipt_comes_after_the_programs_output() {
    let text = text_of(&run(&["run", "--receipt", "-", "--", "sh", "-c", "echo first"]));
    let receipt = json(text.strip_prefix("first\n").unwrap());
    for key in ["schema_version", "asked", "obtained", "shortfalls", "via", "blocks", "complete"] {
        assert!(receipt.get(key).is_some(), "{key} in {receipt}");
    }
    assert_eq!(receipt["asked"]["pages"], "thp");
}

#[test]
fn a_receipt_that_cannot_be_written_is_refused_before_the_program_or_costs_no_status() {
    let scratch = tempfile::tempdir().unwrap();
    let path = |name: &str| scratch.path().join(name).to_str().unwrap().to_owned();
    let refused = run(&["run", "--receipt", &path("nowhere/receipt"), "--", "touch", &path("ran")]);
    assert_said(&refused, 125, &["hint: mkdir -p "]);
    assert!(!fs::exists(path("ran")).unwrap());
    for ranks in [&[][..], &["--ranks", "1", "--gather", &path("ranks")]] {
        let words = [&["run", "--receipt", "/dev/full"], ranks, &["--", "sh", "-c", "exit 7"]].concat();
        assert_said(&run(&words), 7, &["error: cannot write /dev/full\n"]);
    }
}

/// `ulimit -f`: the kernel ends who writes more and does nothing about it, which is the program's to decide and not ours.
#[test]
fn a_receipt_larger_than_files_may_be_costs_no_status() {
    let scratch = tempfile::tempdir().unwrap();
    let receipt = scratch.path().join("receipt").to_str().unwrap().to_owned();
    let program = ["sh", "-c", "grep Sig[IC] /proc/self/status; exit 7"];
    for caller in ["", "trap '' XFSZ; "] {
        let under_limit = |words: &[&[&str]]| {
            let line = format!("{caller}ulimit -f 0; exec \"$@\"");
            Command::new("sh").args(["-c", &line, "sh"]).args(words.concat()).output().unwrap()
        };
        let alone = under_limit(&[&program]);
        assert_code(&alone, 7);
        let ours = [env!("CARGO_BIN_EXE_firsttouch"), "run", "--pages", "plain", "--receipt", &receipt, "--"];
        let output = under_limit(&[&ours, &program]);
        assert_code(&output, 7);
        assert_eq!(stdout(&output), stdout(&alone), "what the program does about signals");
        let said = stderr(&output);
        assert!(said.contains(&format!("error: cannot write {receipt}\n  File too large")), "{said}");
    }
}

#[test]
fn a_record_that_found_no_space_says_so() {
    let scratch = tempfile::tempdir().unwrap();
    let receipt = scratch.path().join("receipt.json");
    let folder = scratch.path().join("full");
    fs::create_dir(&folder).unwrap();
    let own = env!("CARGO_BIN_EXE_firsttouch");
    let line = format!(
        "mount -t tmpfs -o size=64k none $TMPDIR || exit 77; {own} run --receipt {} -- sh -c 'cat /dev/zero > $TMPDIR/x; exit 7'",
        receipt.display()
    );
    let output =
        Command::new("unshare").args(["--mount", "sh", "-c", &line]).env("TMPDIR", &folder).output().unwrap();
    // 1: no root, to have mounts of its own.
    if let Some(1 | 77) = output.status.code() {
        return skipped(&format!("nothing can be mounted: {}", stderr(&output)));
    }
    assert_code(&output, 7);
    let notes = json(&fs::read_to_string(receipt).unwrap())["notes"].to_string();
    assert!(notes.contains("cut off") && notes.contains("no space left"), "{notes}");
}

#[test]
fn placed_memory_shows_in_the_receipt() {
    let workload = ["case", "demo", "--set", "table=64M", "--set", "reads=1000", "--set", "order=20"];
    let own = env!("CARGO_BIN_EXE_firsttouch");
    let plain = run(&workload);
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("receipt.json");
    let placed = run(&[&["run", "--receipt", file.to_str().unwrap(), "--", own][..], &workload].concat());
    assert_code(&placed, 0);
    assert_eq!(placed.stdout, plain.stdout, "a placement must not change a result");
    let receipt = json_file(&file);
    assert_eq!(receipt["complete"], true, "{receipt}");
    assert!(receipt["obtained"]["peak_bytes"].as_u64().unwrap() >= 64 << 20, "{receipt}");
}

/// The shell of a script does nothing itself: that is said, with the option that helps, and with it the receipt tells what the
/// other program got.
#[test]
fn the_work_of_a_script_is_told_and_followed() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("receipt.json");
    let own = env!("CARGO_BIN_EXE_firsttouch");
    let script = format!("'{own}' case demo --set table=64M --set reads=3000000 --set order=20; true");
    let ran = |option: &str| {
        let mut words = vec!["run", "--receipt", file.to_str().unwrap()];
        words.extend(Some(option).filter(|option| !option.is_empty()));
        let output = run(&[&words[..], &["--", "sh", "-c", &script]].concat());
        assert_code(&output, 0);
        (stderr(&output), json_file(&file))
    };
    let (said, receipt) = ran("");
    assert!(said.contains("left the work to others (firsttouch"), "{said}");
    assert!(said.contains("hint: firsttouch run --follow"), "{said}");
    assert_eq!(receipt["obtained"]["placed_bytes"], 0, "{receipt}");
    assert!(receipt["notes"].to_string().contains("--follow"), "{receipt}");
    let (said, receipt) = ran("--follow");
    assert_eq!(said, "");
    assert!(receipt["obtained"]["placed_bytes"].as_u64().unwrap() >= 32 << 20, "{receipt}");
    assert!(receipt["tree"]["at_peak"]["placed"]["bytes"].as_u64().unwrap() >= 32 << 20, "{receipt}");
    assert_eq!(ran("--quiet").0, "");
}

/// In a container a program knows itself by another number, and may not be able to write its record: what was seen of it and what it
/// tells are of one process, and what was seen is told where it tells nothing.
#[test]
fn a_program_in_a_container_is_told_once() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("receipt.json");
    let own = env!("CARGO_BIN_EXE_firsttouch");
    let program = ["case", "demo", "--set", "table=64M", "--set", "reads=3000000", "--set", "order=20"];
    let ran = |container: &[&str]| {
        let words = ["run", "--follow", "--receipt", file.to_str().unwrap(), "--"];
        let output = run(&[&words[..], container, &[own], &program].concat());
        (!stderr(&output).starts_with("unshare: ")).then(|| {
            assert_code(&output, 0);
            json_file(&file)
        })
    };
    // The shell outside writes its record, of nothing.
    let unable = r#"unshare --pid --fork --mount sh -c '
        mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"' "${TMPDIR:-/tmp}" "$@"; exit $?"#;
    let unable = ["sh", "-c", unable, "sh"];
    for (container, tells) in [(&["unshare", "--pid", "--fork"][..], true), (&unable, false)] {
        let Some(receipt) = ran(container) else { return skipped("no process namespace") };
        let processes = receipt["tree"]["processes"].as_array().unwrap();
        let had =
            |process: &&serde_json::Value| process["memory"]["placed"]["bytes"].as_u64().unwrap() >= 32 << 20;
        assert_eq!(processes.iter().filter(had).count(), 1, "{receipt}");
        assert!(receipt["obtained"]["placed_bytes"].as_u64().unwrap() >= 32 << 20, "{receipt}");
        assert_eq!(receipt["notes"].to_string().contains("left no record"), !tells, "{receipt}");
    }
}

/// systemd hands sockets (sd_listen_fds(3)) to the process that it names, and tells it of the watchdog.
#[test]
fn what_systemd_tells_the_service_is_the_programs_own() {
    const START: &str = "LISTEN_PID=$$ WATCHDOG_PID=$$ exec \"$@\"";
    const TELL: &str = "echo $LISTEN_PID $WATCHDOG_PID $$";
    for way in [WAYS[0], WAYS[1], &["run", "--via", "supervise", "--quiet"]] {
        let words =
            [&["-c", START, "sh", env!("CARGO_BIN_EXE_firsttouch")], way, &["--", "sh", "-c", TELL]].concat();
        let told = text_of(&Command::new("sh").args(words).output().unwrap());
        let [listens, watches, own] = told.split_whitespace().collect::<Vec<_>>()[..] else {
            panic!("{told}")
        };
        assert_eq!((listens, watches), (own, own), "{way:?}");
        let meant_for_another = ["LISTEN_PID=1", env!("CARGO_BIN_EXE_firsttouch")];
        let words = [&meant_for_another[..], way, &["--", "sh", "-c", "echo $LISTEN_PID"]].concat();
        assert_eq!(text_of(&Command::new("env").args(words).output().unwrap()), "1\n");
    }
}

#[test]
fn a_program_that_is_killed_leaves_an_incomplete_receipt() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("receipt.json");
    let output = run(&["run", "--receipt", file.to_str().unwrap(), "--", "sh", "-c", "kill -KILL $$"]);
    assert_eq!(output.status.signal(), Some(9), "{}", stderr(&output));
    let receipt = json_file(&file);
    assert_eq!(receipt["complete"], false);
    assert!(!receipt["notes"].as_array().unwrap().is_empty(), "{receipt}");
    assert_eq!(receipt["ending"], "killed by signal 9");
    // A server that is stopped as servers are has ended by itself.
    let stopped = "trap 'exit 0' TERM; kill -TERM $$; exit 1";
    assert_code(&run(&["run", "--receipt", file.to_str().unwrap(), "--", "sh", "-c", stopped]), 0);
    let receipt = json_file(&file);
    assert_eq!(
        (&receipt["complete"], &receipt["ending"]),
        (&true.into(), &"exit status 0".into()),
        "{receipt}"
    );
}

#[test]
fn the_alternatives_own_ways_are_set_up_where_they_are_installed() {
    for (via, variable) in
        [("glibc", "GLIBC_TUNABLES"), ("mimalloc", "LD_PRELOAD"), ("jemalloc", "MALLOC_CONF")]
    {
        let output = run(&["run", "--via", via, "--", "sh", "-c", &format!("echo ${variable}")]);
        if output.status.code() == Some(125) {
            assert!(
                stderr(&output).contains("is not installed") && stderr(&output).contains("hint: sudo apt")
            );
            skipped(&format!("{via} is not installed"));
            continue;
        }
        assert!(!text_of(&output).trim().is_empty(), "{via}");
        let receipt = run(&["run", "--via", via, "--receipt", "-", "--", "true"]);
        assert_eq!(json(&stdout(&receipt))["via"], via);
    }
}

#[test]
fn an_allocator_keeps_memory_where_that_is_asked() {
    for (via, variable, set) in [
        ("glibc", "GLIBC_TUNABLES", "glibc.malloc.mmap_max=0"),
        ("mimalloc", "MIMALLOC_PURGE_DELAY", "-1"),
        ("jemalloc", "MALLOC_CONF", "dirty_decay_ms:-1"),
    ] {
        let shown = format!("echo ${variable}");
        let words = ["run", "--pages", "plain", "--keep", "--via", via, "--", "sh", "-c", &shown];
        let output = run(&words);
        if output.status.code() == Some(125) {
            skipped(&format!("{via} is not installed"));
            continue;
        }
        assert_shown(&output, &[set]);
    }
    assert_said(&run(&["run", "--keep", "--", "true"]), 125, &["--via agent has no --keep"]);
}
