//! `watch`: what a program does step by step is seen, what watching costs is kept, and the program does not notice.

use crate::{
    assert_code, assert_said, assert_shown, firsttouch, json, json_file, run, skipped, stderr, stdout,
    text_of, words,
};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::sync::OnceLock;

const MIB: u64 = 1 << 20;

/// The program that does what it is told; `None`, which is said, without a compiler.
fn steps_program() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let compile = || {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/c/steps.c");
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("steps-{}", std::process::id()));
        let made = Command::new("cc").args(["-O1", "-pthread", "-o"]).args([&program, &source]).output();
        let output = made.ok()?;
        assert!(output.status.success(), "{}", stderr(&output));
        Some(program)
    };
    let program = PROGRAM.get_or_init(compile).as_deref();
    if program.is_none() {
        skipped("there is no compiler `cc`");
    }
    program
}

/// A program that does one step at a time.
struct Steps {
    child: Child,
    told: Option<ChildStdin>,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Steps {
    fn start() -> Option<Steps> {
        Some(Steps::of(Command::new(steps_program()?)))
    }

    /// Behind a command that hands its input and output on.
    fn of(mut command: Command) -> Steps {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap()).lines();
        let told = child.stdin.take();
        let mut steps = Steps { child, told, answers };
        // Whoever looks from now on sees the program itself, and not how it begins.
        steps.step("faults 1");
        steps
    }

    fn pid(&self) -> String {
        self.child.id().to_string()
    }

    /// Does one step and returns when it is done.
    fn step(&mut self, words: &str) {
        writeln!(self.told.as_mut().unwrap(), "{words}").unwrap();
        assert_eq!(self.answers.next().unwrap().unwrap(), "ok", "{words}");
    }

    fn end(mut self) {
        drop(self.told.take());
        assert!(self.child.wait().unwrap().success());
    }
}

/// `firsttouch watch --json`, as it runs. Looks often, at a price that is no matter here.
struct Watching {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Watching {
    fn start(options: &[&str]) -> Watching {
        let mut child = firsttouch()
            .args(["watch", "--json", "--interval", "10ms", "--max-overhead", "50%"])
            .args(options)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Watching { child, lines }
    }

    /// The first sample of which something is true.
    #[track_caller]
    fn until(&mut self, what: &str, is_true: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        // A minute at least; more where every sample comes late.
        for _ in 0..6000 {
            let line = self.lines.next().unwrap_or_else(|| panic!("no more samples, and not {what}: {last}"));
            last = json(&line.unwrap());
            if is_sample(&last) && is_true(&last) {
                return last;
            }
        }
        panic!("not {what}: {last}")
    }

    /// Reads to its end.
    fn end(mut self) -> Output {
        for line in self.lines.by_ref() {
            line.unwrap();
        }
        self.child.wait_with_output().unwrap()
    }
}

fn is_sample(line: &Value) -> bool {
    line["kind"] == "watch-sample"
}

/// The samples of a recording.
fn samples(recording: &str) -> Vec<Value> {
    recording.lines().map(json).filter(is_sample).collect()
}

fn bytes_on(sample: &Value, page_bytes: u64) -> u64 {
    sample["memory"]["bytes_by_page_size"][page_bytes.to_string()].as_u64().unwrap_or(0)
}

#[test]
fn a_process_is_followed_whose_first_thread_has_ended() {
    let Some(mut steps) = Steps::start() else { return };
    steps.step("leave");
    let mut watching = Watching::start(&[&steps.pid()]);
    let header = json(&watching.lines.next().unwrap().unwrap());
    assert_eq!(header["command"][0].as_str(), steps_program().unwrap().to_str());
    let first = watching.until("read", |sample| !sample["memory"].is_null() && !sample["threads"].is_null());
    assert_eq!(
        (&first["threads"]["count"], &first["processes"][0]["state"]),
        (&1.into(), &"S".into()),
        "{first}"
    );
    steps.step("map 64");
    steps.step("touch");
    let touched = watching.until("64 MiB of small pages", |sample| bytes_on(sample, 4096) >= 64 * MIB);
    assert!(touched["resident_bytes"].as_u64().unwrap() >= 64 * MIB, "{touched}");
    let nodes = touched["memory"]["bytes_by_node"].as_object().unwrap().values();
    assert!(nodes.map(|bytes| bytes.as_u64().unwrap()).sum::<u64>() >= 64 * MIB, "{touched}");
    steps.end();
    assert_code(&watching.end(), 0);
}

#[test]
fn memory_is_followed_step_by_step() {
    let Some(mut steps) = Steps::start() else { return };
    let mut watching = Watching::start(&[&steps.pid()]);
    let first = watching.until("read", |sample| !sample["memory"].is_null());
    assert_eq!(first["schema_version"], 1);
    assert_eq!(first["processes"][0]["pid"].to_string(), steps.pid());
    assert!(first["resident_bytes"].as_u64().unwrap() < 16 * MIB, "{first}");
    steps.step("map 64");
    steps.step("touch");
    let touched = watching.until("64 MiB of small pages", |sample| bytes_on(sample, 4096) >= 64 * MIB);
    assert_eq!(bytes_on(&touched, 2 << 20), 0, "{touched}");
    assert_eq!(touched["memory"]["huge_share"], 0.0);
    let nodes = touched["memory"]["bytes_by_node"].as_object().unwrap().values();
    assert!(nodes.map(|bytes| bytes.as_u64().unwrap()).sum::<u64>() >= 64 * MIB, "{touched}");
    steps.step("collapse");
    let huge = watching.until("64 MiB of huge pages", |sample| bytes_on(sample, 2 << 20) >= 64 * MIB);
    assert!(huge["memory"]["huge_share"].as_f64().unwrap() > 0.9, "{huge}");
    assert!(huge["memory"]["longest_call_s"].as_f64() <= huge["memory"]["took_s"].as_f64(), "{huge}");
    steps.end();
    assert_code(&watching.end(), 0);
}

#[test]
fn faults_threads_and_moves_are_counted() {
    let Some(mut steps) = Steps::start() else { return };
    let mut watching = Watching::start(&[&steps.pid()]);
    let before = watching.until("there", |sample| !sample["threads"].is_null());
    let minor = |sample: &Value| sample["faults"]["minor"].as_u64().unwrap();
    steps.step("faults 5000");
    let after = watching.until("5000 faults", |sample| minor(sample) >= minor(&before) + 5000);
    assert!(minor(&after) < minor(&before) + 5200, "{before}\n{after}");
    steps.step("threads 5");
    let threads = watching.until("6 threads", |sample| sample["threads"]["count"] == 6);
    let sum = |key: &str| -> u64 {
        let counts = threads["threads"][key].as_object().unwrap();
        counts.values().map(|count| count.as_u64().unwrap()).sum()
    };
    assert_eq!((sum("by_cpu"), sum("by_node")), (6, 6), "{threads}");
    let cpus = std::thread::available_parallelism().unwrap().get();
    let moves = |sample: &Value| sample["threads"]["migrations"].as_u64();
    if let Some(moved) = moves(&threads).filter(|_| cpus > 1) {
        steps.step("hop 100");
        watching.until("99 moves", |sample| moves(sample).is_some_and(|now| now >= moved + 99));
    } else {
        skipped("moves of threads: there is one CPU, or the kernel does not count them");
    }
    steps.end();
    assert_code(&watching.end(), 0);
}

#[test]
fn a_family_is_watched_as_a_whole() {
    let Some(mut steps) = Steps::start() else { return };
    let mut alone = Watching::start(&[&steps.pid()]);
    let mut family = Watching::start(&["--tree", &steps.pid()]);
    steps.step("child 48");
    let both = family.until("two processes", |sample| {
        sample["processes"].as_array().unwrap().len() == 2 && bytes_on(sample, 4096) >= 48 * MIB
    });
    assert!(both["resident_bytes"].as_u64().unwrap() >= 48 * MIB && both["peak_bytes"].is_null(), "{both}");
    let one = alone.until("read", |sample| !sample["memory"].is_null());
    assert_eq!(one["processes"].as_array().unwrap().len(), 1);
    assert!(one["resident_bytes"].as_u64().unwrap() < 48 * MIB, "{one}");
    steps.end();
    for watching in [alone, family] {
        assert_code(&watching.end(), 0);
    }
}

/// The default keeps to 1 % of a core, also where walking the memory takes long.
#[test]
fn ten_thousand_mappings_cost_no_more() {
    let Some(mut steps) = Steps::start() else { return };
    steps.step("scatter 10000 256");
    let text = text_of(&run(&["watch", "--json", "--samples", "7", &steps.pid()]));
    let samples = samples(&text);
    assert_eq!(samples.len(), 7, "{text}");
    let number = |sample: &Value, key: &str| sample.pointer(key).and_then(Value::as_f64).unwrap();
    let (mut walks_s, mut others_s) = (0.0, 0.0);
    for (place, sample) in samples.iter().enumerate() {
        assert!(sample["resident_bytes"].as_u64().unwrap() >= 230 * MIB, "{sample}");
        let (now_s, cost_s) = (number(sample, "/t_s"), number(sample, "/cost/cpu_s"));
        // Both hold however slow the machine: a walk is waited for until what it cost is a small share of the time.
        if sample["memory"].is_null() {
            others_s += cost_s;
            assert!(others_s <= 0.01 * now_s, "{others_s} s at {sample}");
        } else {
            assert!(walks_s <= 0.01 * now_s, "{walks_s} s were paid before {sample}");
            walks_s += cost_s;
        }
        assert_eq!(place > 0, sample["cost"]["core_share"].is_number(), "{sample}");
    }
    // The memory was walked, and not for every sample.
    assert!(walks_s > 0.0 && others_s > 0.0, "{text}");
    steps.end();
}

/// Records a program that ends by itself.
fn recorded(scratch: &Path) -> Option<String> {
    let mut steps = Steps::start()?;
    let file = scratch.join("steps.watch").to_str().unwrap().to_owned();
    let mut watching = Watching::start(&["--record", &file, &steps.pid()]);
    steps.step("map 32");
    steps.step("touch");
    watching.until("small", |sample| bytes_on(sample, 4096) >= 32 * MIB);
    steps.step("collapse");
    watching.until("huge", |sample| bytes_on(sample, 2 << 20) >= 32 * MIB);
    steps.end();
    assert_code(&watching.end(), 0);
    Some(file)
}

#[test]
fn a_recording_is_drawn_over_time_and_opens_again() {
    let scratch = tempfile::tempdir().unwrap();
    let Some(file) = recorded(scratch.path()) else { return };
    let lines: Vec<Value> = fs::read_to_string(&file).unwrap().lines().map(json).collect();
    assert_eq!((&lines[0]["kind"], &lines[0]["schema_version"]), (&"watch".into(), &1.into()));
    assert_eq!(lines.last().unwrap()["ended"], "target-ended");
    let path = |name: &str| scratch.path().join(name).to_str().unwrap().to_owned();
    let (page, figure, table, document) = (path("a.html"), path("a.svg"), path("a.csv"), path("a.json"));
    let pages = format!("--export-html {page} --export-svg {figure}");
    let tables = format!("--export-csv {table} --export-json {document}");
    let text = text_of(&run(&[&["report", &file], &words(&pages)[..], &words(&tables)].concat()));
    assert!(text.contains("until it ended") && text.contains("Huge-page coverage"), "{text}");
    for again in [&page, &document] {
        assert_eq!(stdout(&run(&["report", again])), text);
    }
    assert_eq!(json_file(Path::new(&document))["samples"].as_array().unwrap().len(), lines.len() - 2);
    assert_eq!(fs::read_to_string(&table).unwrap().lines().count(), lines.len() - 1);
    assert!(fs::read_to_string(&figure).unwrap().starts_with("<svg xmlns="));
    assert_code(&run(&["report", &file, "--export-md", &path("a.md")]), 2);

    // What a killed recorder leaves behind.
    let torn = path("torn.watch");
    let whole = fs::read(&file).unwrap();
    fs::write(&torn, &whole[..whole.len() * 2 / 3]).unwrap();
    assert_shown(&run(&["report", &torn]), &["cut short"]);
}

/// Watches a shell that goes on with its script when watching has said some lines; what was said first, and the rest.
fn watched(options: &[&str], on_stdout: bool, lines: usize, script: &str) -> (Vec<String>, Output) {
    let scratch = tempfile::tempdir().unwrap();
    let gate = scratch.path().join("gate");
    assert!(Command::new("mkfifo").arg(&gate).status().unwrap().success());
    let script = format!("read word < {}; {script}", gate.display());
    let command = [&["watch"][..], options, &["--", "sh", "-c", &script]].concat();
    let mut child = firsttouch().args(command).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Line by line and no byte more: the rest is for whoever waits for the end.
    let mut byte = [0];
    let mut said = Vec::new();
    while said.iter().filter(|byte| **byte == b'\n').count() < lines {
        let got = match (&mut child.stdout, &mut child.stderr) {
            (Some(stdout), _) if on_stdout => stdout.read(&mut byte).unwrap(),
            (_, stderr) => stderr.as_mut().unwrap().read(&mut byte).unwrap(),
        };
        assert_eq!(got, 1, "it ended with {:?}", String::from_utf8_lossy(&said));
        said.push(byte[0]);
    }
    fs::write(&gate, "go\n").unwrap();
    let said = String::from_utf8(said).unwrap().lines().map(str::to_owned).collect();
    (said, child.wait_with_output().unwrap())
}

#[test]
fn a_program_keeps_its_output_and_its_status() {
    let script = "echo out; echo err >&2; exit 7";
    let (said, output) = watched(&["--interval", "10ms"], false, 3, script);
    assert_code(&output, 7);
    assert_eq!(stdout(&output), "out\n");
    assert!(said.iter().all(|line| line.contains("iB ")), "{said:?}");
    assert!(stderr(&output).contains("err\n"), "{}", stderr(&output));

    let (said, output) = watched(&["--json"], true, 1, "echo out; exit 3");
    assert_code(&output, 3);
    assert_eq!(json(&said[0])["schema_version"], 1);
    assert!(stdout(&output).lines().all(|line| json(line)["schema_version"] == 1), "{}", stdout(&output));
    assert!(stderr(&output).contains("out\n"));

    let output = run(&["watch", "--samples", "1", "--", "sh", "-c", "kill -TERM $$"]);
    assert_eq!(output.status.signal(), Some(15));
    // One that is too quick is no failure, whether it was seen or not.
    let output = run(&["watch", "--", "true"]);
    assert_code(&output, 0);
    assert!(!stderr(&output).contains("error"), "{}", stderr(&output));
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("recording");
    fs::write(&file, "an older one").unwrap();
    let recorded = ["watch", "--record", file.to_str().unwrap()];
    assert_code(&run(&[&recorded[..], &["--", "no-such-program-here"]].concat()), 127);
    assert_code(&run(&[&recorded[..], &["4194303"]].concat()), 125);
    assert_eq!(fs::read_to_string(&file).unwrap(), "an older one");
    let output = run(&["watch", "--record", "/no/such/folder/x", "--", "echo", "started"]);
    assert_code(&output, 125);
    assert!(output.stdout.is_empty());
}

#[test]
fn standard_output_and_a_file_have_the_same_recording() {
    let Some(steps) = Steps::start() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("a.watch");
    let options = ["--json", "--samples", "2", "--interval", "10ms", "--record", file.to_str().unwrap()];
    let text = text_of(&firsttouch().arg("watch").args(options).arg(steps.pid()).output().unwrap());
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    let kinds: Vec<Value> = text.lines().map(|line| json(line)["kind"].clone()).collect();
    assert_eq!(kinds, ["watch", "watch-sample", "watch-sample", "watch-end"]);
    fs::write(&file, text).unwrap();
    assert_shown(&run(&["report", file.to_str().unwrap()]), &["2 samples"]);
    steps.end();
}

#[test]
fn a_limit_or_a_signal_ends_watching() {
    let Some(steps) = Steps::start() else { return };
    let output = run(&["watch", "--samples", "3", "--interval", "10ms", &steps.pid()]);
    assert_eq!(text_of(&output).lines().count(), 3);

    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("a.watch");
    let mut watching = Watching::start(&["--record", file.to_str().unwrap(), &steps.pid()]);
    watching.until("there", |_| true);
    let kill = Command::new("kill").args(["-INT", &watching.child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    assert_code(&watching.end(), 0);
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(json(text.lines().last().unwrap())["ended"], "interrupted");
    steps.end();
}

/// On a terminal the frame is drawn over itself; where colour is not wanted, too.
#[test]
fn a_terminal_gets_one_frame_drawn_again() {
    let Some(steps) = Steps::start() else { return };
    let program = env!("CARGO_BIN_EXE_firsttouch");
    let watch = format!("stty rows 30 cols 90; {program} watch --samples 3 --interval 20ms {}", steps.pid());
    for colour in [true, false] {
        let mut terminal = Command::new("script");
        terminal.args(["-qec", &watch, "/dev/null"]).env("TERM", "xterm").stdin(Stdio::null());
        if colour {
            terminal.env_remove("NO_COLOR")
        } else {
            terminal.env("NO_COLOR", "1")
        };
        let Ok(output) = terminal.output() else {
            return skipped("there is no `script` to make a terminal");
        };
        let text = text_of(&output);
        assert_eq!(text.matches("process ").count(), 3, "{text:?}");
        // Back to the first row, twice; nothing else of the terminal is touched.
        let escapes: Vec<&str> = text
            .split('\x1b')
            .skip(1)
            .map(|rest| &rest[..=rest.find(char::is_alphabetic).unwrap()])
            .collect();
        assert_eq!(escapes.iter().filter(|escape| escape.ends_with('A')).count(), 2, "{escapes:?}");
        assert!(escapes.iter().all(|escape| escape.ends_with(['A', 'K', 'J', 'm'])), "{escapes:?}");
        assert_eq!(escapes.iter().any(|escape| escape.ends_with('m')), colour, "{escapes:?}");
    }
    steps.end();
}

/// Who may not look into a process sees what is open to all, and is told what is not.
#[test]
fn a_stranger_sees_what_is_open_to_all() {
    let Some(steps) = Steps::start() else { return };
    let nobody = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", env!("CARGO_BIN_EXE_firsttouch")])
        .args(["watch", "--json", "--samples", "2", "--interval", "20ms", &steps.pid()])
        .output();
    match nobody {
        Ok(output) if output.status.code() != Some(127) && !stderr(&output).starts_with("setpriv") => {
            assert_code(&output, 0);
            let mut told = 0;
            for sample in samples(&stdout(&output)) {
                assert!(
                    sample["memory"].is_null() && sample["resident_bytes"].as_u64() > Some(0),
                    "{sample}"
                );
                // On a busy machine it is not memory's turn in each of them.
                if let Some(why) = sample["unreadable"][0].as_str() {
                    assert!(why.contains("permission denied"), "{sample}");
                    told += 1;
                }
            }
            assert!(told > 0, "{}", stdout(&output));
            assert_eq!(stderr(&output).matches("warning:").count(), 1, "{}", stderr(&output));
            assert!(
                stderr(&output).ends_with("hint: run firsttouch as its user, or as root\n"),
                "{}",
                stderr(&output)
            );
        }
        _ => skipped("no other user's program can be run here"),
    }
    steps.end();
}

/// Root without the capability that looking into programs of others takes is told of that one, not to be root.
#[test]
fn root_without_the_capability_is_told_of_it() {
    const NOBODY: [&str; 3] = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let Some(program) = steps_program() else { return };
    let without = |words: &[&str]| {
        let mut command = Command::new("setpriv");
        // Linux 6.13 lets who may observe the machine look as well (mm_access).
        command.arg("--bounding-set=-sys_ptrace,-sys_admin,-perfmon").args(words);
        command.output().unwrap()
    };
    let may_run = Command::new("setpriv").args(NOBODY).arg("test").arg("-x").arg(program).status();
    if !without(&["true"]).status.success() || !may_run.is_ok_and(|status| status.success()) {
        return skipped("no other user's program can be run here, or no capability dropped");
    }
    let mut stranger = Command::new("setpriv");
    stranger.args(NOBODY).arg(program);
    let steps = Steps::of(stranger);
    let output =
        without(&[env!("CARGO_BIN_EXE_firsttouch"), "watch", "--json", "--samples", "1", &steps.pid()]);
    assert!(samples(&text_of(&output))[0]["memory"].is_null(), "{}", stdout(&output));
    let message = stderr(&output);
    assert!(
        message.contains("permission denied") && message.contains("hint: root needs CAP_SYS_PTRACE"),
        "{message}"
    );
    steps.end();
}

/// A child that lets nobody look into it is named, and the others are summed up.
#[test]
fn a_family_is_summed_up_without_a_child_that_lets_nobody_in() {
    const NOBODY: [&str; 3] = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let Some(program) = steps_program() else { return };
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // Who may run a file but not read it gets a process that nobody of his kind may look into.
    let closed = scratch.path().join("closed");
    crate::copy_program(program, &closed, "711");
    let may_run = |words: &[&OsStr]| {
        Command::new("setpriv")
            .args(NOBODY)
            .arg("test")
            .arg("-x")
            .args(words)
            .status()
            .is_ok_and(|s| s.success())
    };
    if !may_run(&[closed.as_os_str()]) || !may_run(&[OsStr::new(env!("CARGO_BIN_EXE_firsttouch"))]) {
        return skipped("no other user's program can be run here");
    }
    let mut family = Command::new("setpriv");
    family.args(NOBODY).args(["sh", "-c", "\"$0\"; exit $?"]).arg(&closed);
    let steps = Steps::of(family);
    let output = Command::new("setpriv")
        .args(NOBODY)
        .args([env!("CARGO_BIN_EXE_firsttouch"), "watch", "--json", "--tree", "--samples", "1", &steps.pid()])
        .output()
        .unwrap();
    let sample = samples(&text_of(&output)).remove(0);
    let [parent, child] = sample["processes"].as_array().unwrap().as_slice() else { panic!("{sample}") };
    assert_eq!(sample["memory"]["left_out"], Value::from(vec![child["pid"].as_u64().unwrap()]), "{sample}");
    let bytes = sample["memory"]["bytes_by_page_size"].as_object().unwrap().values();
    let summed: u64 = bytes.map(|bytes| bytes.as_u64().unwrap()).sum();
    let resident = |process: &Value| process["resident_bytes"].as_u64().unwrap();
    assert!(summed > 0 && summed < resident(parent) + resident(child) / 2, "{sample}");
    let note =
        format!("memory of process {} (closed): permission denied; the sums are of the others", child["pid"]);
    assert_eq!(sample["unreadable"], Value::from(vec![note]), "{sample}");
    steps.end();
}

#[test]
fn what_cannot_be_watched_is_told_with_a_hint() {
    let mut ended = Command::new("true").spawn().unwrap();
    let pid = ended.id().to_string();
    ended.wait().unwrap();
    assert_said(&run(&["watch", &pid]), 125, &[&format!("there is no process {pid}"), "hint: "]);
    for words in [
        &["watch"][..],
        &["watch", "0"],
        &["watch", "1", "--", "true"],
        &["watch", "--max-overhead", "0", "1"],
    ] {
        assert_code(&run(words), 125);
    }
    // Number 2 starts the kernel's threads, where they are to be seen.
    if fs::read_link("/proc/2/exe").is_err()
        && fs::read_to_string("/proc/2/comm").is_ok_and(|name| name == "kthreadd\n")
    {
        assert_said(&run(&["watch", "2"]), 125, &["thread of the kernel"]);
    } else {
        skipped("no thread of the kernel is to be seen here");
    }
}
