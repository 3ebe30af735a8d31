//! `tune`: finds the best placement of a program, and proves it. The session itself is `firsttouch_launch::tune`.

pub(crate) mod display;
mod job;

use crate::args::Tune;
use crate::exit::{FAILED, INTERRUPTED, NOT_MET};
use crate::interrupt::Interrupt;
use crate::output::{self, Failure, Outcome};
use crate::{clock, export, measure, program};
use anyhow::Context;
use display::Told;
use firsttouch_documents::AnyDocument;
use firsttouch_experiment::Objective;
use firsttouch_launch::{Budget, Conditions, Interruption, Job, NoProfile, TuneError, TuneRequest, WarmUp};
use firsttouch_machine::{Root, StatusReport};
use firsttouch_placement::Profile;
use firsttouch_process::Stream;
use firsttouch_report::shell;
use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// What a demonstration may take.
const DEMO_BUDGET: Budget = Budget(Some(Duration::from_secs(140)));

pub(crate) fn run(tune: &Tune) -> Outcome {
    if let Some(file) = &tune.sbatch {
        return job::script(file, tune);
    }
    let began = Instant::now();
    let started = clock::now();
    let environment = program::environment();
    let own_file = || std::env::current_exe().context("cannot find this program's own file");
    let words = match &tune.shell {
        _ if tune.demo => vec![own_file()?.into_os_string(), "case".into(), "demo".into()],
        _ if tune.job => job::line(&tune.program, &environment)?,
        Some(shell) => line_of(&tune.program, shell)?,
        None => tune.program.clone(),
    };
    let own = tune.job.then(own_file).transpose()?;
    let only_ranks = tune.only_ranks.as_ref().map(ToString::to_string);
    export::check(tune.export.document.json, tune.export.files().chain(&tune.save))?;
    let status = StatusReport::examine(&Root::live())?;
    let interrupt = Interrupt::of_runs()?;
    let kept = measure::kept_file();
    let objective = Objective { metric: tune.metric.clone(), higher_is_better: tune.higher_is_better };
    let request = TuneRequest {
        command: &words,
        job: own.as_deref().map(|placer| Job { placer, only_ranks: only_ranks.as_deref() }),
        vary: &tune.vary,
        environment: &environment,
        status: &status,
        kept: kept.as_deref(),
        baseline: &tune.baseline,
        configurations: &tune.configs,
        alternatives: tune.alternatives,
        seed: tune.seed,
        quick: tune.quick || tune.demo,
        objective: &objective,
        same_band: tune.same,
        precision: tune.precision,
        max_runs: tune.max_runs,
        budget: tune.budget.unwrap_or(if tune.demo { DEMO_BUDGET } else { Budget::default() }).0,
        conditions: Conditions {
            input: tune.input.clone(),
            setup: tune.setup.clone(),
            prepare: tune.prepare.clone(),
            conclude: tune.conclude.clone(),
            cleanup: tune.cleanup.clone(),
            ignore_failure: tune.ignore_failure,
        },
        untimed_runs: tune.warmup,
        warm_up: (!tune.no_warm).then(warm_up).transpose()?,
        output: match tune.show_output {
            true if has_document_on_stdout(tune) => program::standard_error()?,
            true => Stream::Inherit,
            false => Stream::Null,
        },
        began,
        started,
    };
    let mut told = Told::new(interrupt.clone(), tune.show_output, &objective);
    let tuned = firsttouch_launch::tune(&request, &interrupt, &mut told);
    told.clear();
    let tuned = tuned.map_err(|error| match interrupt.asked() {
        // The line of --setup, which the signal reached as well: there is nothing to write.
        true => failed(error).code(INTERRUPTED),
        false => failed(error),
    })?;
    let code = match () {
        () if tuned.report.interrupted => INTERRUPTED,
        () if tune.strict && !tuned.is_met() => NOT_MET,
        () => 0,
    };
    let document = AnyDocument::Tune(Box::new(tuned.report));
    let shown = export::show(&document, tune.export.document.json, &tune.export.chosen());
    let kept = match (tuned.failure, &tune.save) {
        (Some(error), _) => Err(failed(error)),
        (None, Some(file)) => save(file, &tuned.profile, request.job),
        (None, None) => Ok(()),
    };
    output::together([shown, kept])?;
    Ok(code)
}

/// Whether standard output has a document and nothing else.
fn has_document_on_stdout(tune: &Tune) -> bool {
    tune.export.document.json || tune.export.files().chain(&tune.save).any(|file| export::is_stdout(file))
}

/// The words that give a line to a shell.
fn line_of(words: &[OsString], shell: &OsString) -> Outcome<Vec<OsString>> {
    match words {
        [line] => Ok(vec![shell.clone(), "-c".into(), line.clone()]),
        _ => Err(Failure::message("with --shell the program is one word, the whole line")
            .usage()
            .hint("put quotes around it: firsttouch tune --shell -- 'sort input | uniq -c'; another shell is --shell=bash")),
    }
}

/// Writes the recommended profile and says how to use it, or says why there is none.
pub(crate) fn save(file: &Path, profile: &Result<Profile, NoProfile>, job: Option<Job<'_>>) -> Outcome<()> {
    match profile {
        Ok(profile) => {
            export::write(file, &profile.to_text())?;
            let name = file.display().to_string();
            if let Some(job) = job {
                let words = ["firsttouch", "run", "--profile", &name].into_iter().chain(job.words());
                output::message(&format!(
                    "the placement is kept in {name}: {} before the ranks' program\n",
                    shell::command(&words.collect::<Vec<_>>())
                ));
                return Ok(());
            }
            let command = profile.evidence.iter().flat_map(|evidence| &evidence.command);
            let words = ["firsttouch", "run", "--profile", &name, "--"];
            let words: Vec<&str> = words.into_iter().chain(command.map(String::as_str)).collect();
            output::message(&format!("the placement is kept in {name}: {}\n", shell::command(&words)));
        }
        Err(reason) => output::message(&format!("{reason}: {} is not written\n", file.display())),
    }
    Ok(())
}

/// This program, which touches memory when it is told to.
pub(crate) fn warm_up() -> anyhow::Result<WarmUp> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    Ok(WarmUp { program, arguments: vec!["warm".into()] })
}

pub(crate) fn failed(error: TuneError) -> Failure {
    match error {
        TuneError::Launch(error) => program::not_started(error).code(FAILED),
        TuneError::Program(error) => program::not_runnable(error).code(FAILED),
        TuneError::Vary(error) => {
            let hint = error.hint();
            Failure::new(error).usage().hint_if_some(hint)
        }
        error if error.is_of_usage() => {
            let hint = error.hint();
            let example =
                || "firsttouch tune --configs 'thp thp,prefault 2m,min-size=4M' -- PROGRAM".to_owned();
            Failure::new(error).usage().hint(hint.unwrap_or_else(example))
        }
        error => Failure::hinted(error),
    }
}

impl Interruption for Interrupt {
    fn asked(&self) -> bool {
        Interrupt::asked(self)
    }

    fn kill(&self) -> &AtomicBool {
        Interrupt::kill(self)
    }
}
