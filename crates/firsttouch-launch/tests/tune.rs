//! A session of `tune`, as whoever has no command line calls it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use firsttouch_experiment::{ConfirmationState, Objective, Observer, RunRequest};
use firsttouch_launch::{Conditions, Interruption, Stage, TuneError, TuneObserver, TuneRequest, Tuned, tune};
use firsttouch_machine::{Root, StatusReport};
use firsttouch_process::{Environment, Stream};
use std::ffi::OsString;
use std::fs::File;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Somebody who may ask for the end.
#[derive(Debug, Default)]
struct Asked {
    asked: AtomicBool,
    kill: AtomicBool,
}

impl Interruption for Asked {
    fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    fn kill(&self) -> &AtomicBool {
        &self.kill
    }
}

/// Writes down what it is told; asks for the end in the run of this number.
#[derive(Debug, Default)]
struct Notes<'a> {
    said: Vec<String>,
    timed: Vec<String>,
    runs: u32,
    end_in: Option<(u32, &'a Asked)>,
}

impl TuneObserver for Notes<'_> {
    fn stage(&mut self, stage: &Stage<'_>) {
        self.said.push(stage.to_string());
    }

    fn timing(&mut self, names: &[String]) {
        self.timed = names.to_vec();
    }
}

impl Observer for Notes<'_> {
    fn run_started(&mut self, _: &RunRequest) {
        if let Some((_, asked)) = self.end_in.filter(|(end, _)| *end == self.runs) {
            asked.asked.store(true, Ordering::Relaxed);
        }
        self.runs += 1;
    }
}

/// As little as a session can be: a script for the shell, its baseline and one configuration that needs no agent.
fn session(
    script: &str,
    configurations: &[&str],
    asked: &Asked,
    notes: &mut Notes<'_>,
) -> Result<Tuned, TuneError> {
    session_under(Conditions::default(), script, configurations, asked, notes)
}

fn session_under(
    conditions: Conditions,
    script: &str,
    configurations: &[&str],
    asked: &Asked,
    notes: &mut Notes<'_>,
) -> Result<Tuned, TuneError> {
    session_of(conditions, (1, None), script, configurations, asked, notes)
}

/// With so many untimed runs of each, and a budget.
fn session_of(
    conditions: Conditions,
    (untimed_runs, budget): (u32, Option<Duration>),
    script: &str,
    configurations: &[&str],
    asked: &Asked,
    notes: &mut Notes<'_>,
) -> Result<Tuned, TuneError> {
    let environment: Environment = std::env::vars_os().collect();
    let words: Vec<OsString> = ["sh", "-c", script].map(OsString::from).to_vec();
    let status = StatusReport::examine(&Root::live()).unwrap();
    let configurations: Vec<String> = configurations.iter().map(ToString::to_string).collect();
    let request = TuneRequest {
        command: &words,
        job: None,
        vary: &[],
        environment: &environment,
        status: &status,
        kept: None,
        baseline: "plain",
        configurations: &configurations,
        alternatives: false,
        seed: Some(7),
        quick: true,
        objective: &Objective::default(),
        same_band: 0.02,
        precision: None,
        max_runs: Some(2),
        budget,
        conditions,
        untimed_runs,
        warm_up: None,
        output: Stream::Null,
        began: Instant::now(),
        started: "2026-01-01T00:00:00Z".to_owned(),
    };
    tune(&request, asked, notes)
}

#[test]
fn a_session_tells_what_it_does_and_makes_a_document() {
    let mut notes = Notes::default();
    let tuned =
        session("exit 0", &["thp,via=glibc", "plain,bind=999"], &Asked::default(), &mut notes).unwrap();
    let expected = [
        "comparing baseline, thp,via=glibc (seed 7)",
        "not possible here: plain,bind=999 (the end says why)",
        "looking at baseline",
        "looking at thp,via=glibc",
    ];
    assert_eq!(notes.said, expected);
    let report = &tuned.report;
    assert_eq!(notes.timed, ["baseline", "thp,via=glibc"]);
    assert!(report.configurations.iter().map(|one| &one.name).eq(&notes.timed), "{report:?}");
    assert!(report.configurations.iter().all(|one| one.proved.runs.len() == 2), "{report:?}");
    assert_eq!((&report.started[..], report.seed, report.quick), ("2026-01-01T00:00:00Z", 7, true));
    assert!(report.machine["cpus"].is_array() && report.configurations[1].obtained.is_some());
    // What is skipped is missing, whatever the rest found.
    assert!(!tuned.is_met() && tuned.failure.is_none() && !report.interrupted);
    assert_eq!(
        tuned.profile.is_ok(),
        report.confirmation.as_ref().is_some_and(|it| it.state == ConfirmationState::Confirmed)
    );
}

#[test]
fn the_budget_is_not_spent_on_untimed_runs() {
    let session = |budget| {
        let mut notes = Notes::default();
        let asked = Asked::default();
        let tuned =
            session_of(Conditions::default(), (3, budget), "exit 0", &["thp,via=glibc"], &asked, &mut notes);
        let tuned = tuned.unwrap();
        let rounds = notes.said.iter().filter(|said| said.starts_with("untimed run ")).count();
        let warnings = tuned.report.warnings;
        let told = warnings.iter().any(|warning| warning.contains("had 1 of 3 untimed runs"));
        (rounds, notes.runs, told)
    };
    assert_eq!(session(Some(Duration::ZERO)), (0, 0, true), "but for the look at each");
    let (rounds, timed, told) = session(None);
    assert!((rounds, told) == (2, false) && timed > 0);
}

#[test]
fn what_was_finished_is_told_when_a_later_run_fails() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    // Two looks and one block; then it fails.
    let script = format!("echo >> {0}; test $(wc -l < {0}) -le 4", runs.display());
    let tuned = session(&script, &["thp,via=glibc"], &Asked::default(), &mut Notes::default()).unwrap();
    let error = tuned.failure.unwrap();
    assert!(error.to_string().starts_with("the program failed under `") && error.hint().is_some(), "{error}");
    assert!(!error.is_of_usage());
    assert!(tuned.report.configurations.iter().all(|one| one.proved.runs.len() == 1), "{:?}", tuned.report);
    let error = session("exit 3", &["thp,via=glibc"], &Asked::default(), &mut Notes::default()).unwrap_err();
    assert_eq!(error.to_string(), "the program failed under `baseline`");
}

#[test]
fn an_end_that_is_asked_for_comes_after_the_run() {
    let asked = Asked::default();
    let mut notes = Notes { end_in: Some((2, &asked)), ..Notes::default() };
    let tuned = session("exit 0", &["thp,via=glibc"], &asked, &mut notes).unwrap();
    assert!(tuned.report.interrupted && notes.runs == 3, "{notes:?}");
    // Asked for before anything ran, there is a document of nothing.
    let mut notes = Notes::default();
    let tuned = session("exit 0", &["thp,via=glibc"], &asked, &mut notes).unwrap();
    assert!(tuned.report.interrupted && tuned.report.configurations.len() == 2);
    assert_eq!((notes.runs, notes.said.len()), (0, 1), "{notes:?}");
}

#[test]
fn what_means_nothing_is_told_from_what_the_machine_lacks() {
    let refused =
        |list: &[&str]| session("exit 0", list, &Asked::default(), &mut Notes::default()).unwrap_err();
    assert!(refused(&["no-such-pages"]).is_of_usage());
    assert!(refused(&["thp", "thp"]).is_of_usage());
    let error = refused(&["plain,bind=999"]);
    assert!(!error.is_of_usage() && error.to_string().contains("no node 999"), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("status")), "{error}");
}

#[test]
fn input_and_lines_around_the_runs() {
    let folder = tempfile::tempdir().unwrap();
    let (input, log) = (folder.path().join("input"), folder.path().join("log"));
    std::fs::write(&input, "words\n").unwrap();
    let conditions = |line: String| Conditions {
        input: Some(input.clone()),
        setup: Some(format!("echo setup >> {}", log.display()).into()),
        prepare: Some(line.into()),
        conclude: Some(format!("echo conclude >> {}", log.display()).into()),
        cleanup: Some(format!("echo cleanup >> {}", log.display()).into()),
        ignore_failure: true,
    };
    let under = |conditions, script: &str| {
        session_under(conditions, script, &["thp,via=glibc"], &Asked::default(), &mut Notes::default())
    };
    // The program has its input in every run, and fails in every run.
    let script = format!("read word; echo $word >> {}; exit 7", log.display());
    let tuned = under(conditions(format!("echo prepare >> {}", log.display())), &script).unwrap();
    assert!(
        tuned.failure.is_none() && tuned.report.configurations.iter().all(|it| it.proved.runs.len() == 2)
    );
    // Two looks and two blocks of two.
    let expected = ["setup\n", &"prepare\nwords\nconclude\n".repeat(6), "cleanup\n"].concat();
    assert_eq!(std::fs::read_to_string(&log).unwrap(), expected);

    let error = under(conditions("exit 3".to_owned()), "exit 0").unwrap_err();
    assert!(
        std::fs::read_to_string(&log).unwrap().ends_with("cleanup\nsetup\ncleanup\n"),
        "before anything ran, too"
    );
    assert_eq!(error.to_string(), "the line of --prepare ended: exit status 3");
    // It works for the looks and for the first timed run.
    let line = format!("echo >> {0}; test $(wc -l < {0}) -le 3", folder.path().join("prepared").display());
    let failure = under(conditions(line), "exit 0").unwrap().failure.unwrap();
    assert!(matches!(failure, TuneError::Line(_)), "{failure}");
    assert!(std::fs::read_to_string(&log).unwrap().ends_with("cleanup\n"), "however it ended");

    let killed =
        under(Conditions { ignore_failure: true, ..Conditions::default() }, "kill -9 $$").unwrap_err();
    assert!(killed.to_string().starts_with("the program failed"), "{killed}");
    let missing = Conditions { input: Some(folder.path().join("none")), ..Conditions::default() };
    assert!(matches!(under(missing, "exit 0"), Err(TuneError::Input { .. })));
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // Who opens it does not wait: a program whose input it is would not hang here either.
    let _held = File::options().read(true).write(true).open(&pipe).unwrap();
    let piped = Conditions { input: Some(pipe), ..Conditions::default() };
    let error = under(piped, "exit 0").unwrap_err();
    assert!(matches!(&error, TuneError::InputIsPipe { .. }) && error.hint().is_some(), "{error}");
}
