//! A session of `tune`, for a process that does nothing else: `python/firsttouch/_session.py`.

use crate::errors::tune_error;
use firsttouch_experiment::{Objective, Observer};
use firsttouch_launch::{
    Conditions, Dimension, Interruption, Stage, TuneError, TuneObserver, TuneRequest, Tuned, WarmUp,
    kept_file, parse_budget, parse_metric, parse_share, tune,
};
use firsttouch_machine::{Root, StatusReport};
use firsttouch_process::{Environment, Stream};
use firsttouch_report::{Style, html, json, text};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::error::Error;
use std::ffi::OsString;
use std::io::{self, Read};
use std::iter::successors;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

/// What `firsttouch tune` ends with where it fails, and where it is used wrongly.
const FAILED: u8 = 1;
const USAGE: u8 = 2;

/// What is asked of a session, with the words of the command line.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Request {
    command: Vec<OsString>,
    vary: Vec<Varied>,
    configs: Vec<String>,
    baseline: String,
    alternatives: bool,
    quick: bool,
    metric: String,
    higher_is_better: bool,
    same: String,
    precision: Option<String>,
    max_runs: Option<String>,
    budget: Option<String>,
    seed: Option<String>,
    warmup: Option<String>,
    input: Option<PathBuf>,
    setup: Option<OsString>,
    prepare: Option<OsString>,
    conclude: Option<OsString>,
    cleanup: Option<OsString>,
    ignore_failure: bool,
    started: String,
    /// The program that touches as many bytes as the last of its words says, and the words before.
    warm_up: (PathBuf, Vec<OsString>),
    /// Columns of the report as text.
    columns: usize,
}

/// A name and its values.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
struct Varied {
    name: String,
    values: Vec<OsString>,
}

/// The tune document, the report as one HTML file and as text, the profile, or why there is none.
type Found = (String, String, String, Option<String>, Option<String>);

/// Why there is no result.
struct Failure {
    what: String,
    hint: String,
    status: u8,
}

impl Failure {
    fn new(error: &(dyn Error + 'static), hint: Option<String>, status: u8) -> Failure {
        let causes: Vec<String> =
            successors(Some(error), |error| (*error).source()).map(ToString::to_string).collect();
        let lines = causes.iter().flat_map(|cause| cause.lines().map(str::trim));
        Failure { what: lines.collect::<Vec<_>>().join("; "), hint: hint.unwrap_or_default(), status }
    }

    fn misused(name: &str, expected: &str) -> Failure {
        Failure { what: format!("{name}: expected {expected}"), hint: String::new(), status: USAGE }
    }
}

impl From<TuneError> for Failure {
    fn from(error: TuneError) -> Failure {
        if error.is_of_usage() {
            let hint = match &error {
                TuneError::Vary(error) => error.hint(),
                error => error
                    .hint()
                    .or(Some("configs=[\"thp\", \"thp,prefault\", \"2m,min-size=4M\"]".to_owned())),
            };
            return Failure::new(&error, hint, USAGE);
        }
        Failure::new(&error, error.hint(), FAILED)
    }
}

/// Runs a session in an environment, and says by `tell` what it does. When anything comes from standard input, or
/// nothing can come any more, the session ends, and the program with it.
#[pyfunction]
pub(crate) fn session(
    py: Python<'_>,
    request: Request,
    environment: Vec<(OsString, OsString)>,
    tell: Py<PyAny>,
) -> PyResult<Found> {
    let columns = request.columns;
    let tuned = py.detach(|| run(&request, &environment.into_iter().collect(), tell));
    let tuned = tuned.map_err(|failure| tune_error(failure.what, failure.hint, failure.status))?;
    let report = &tuned.report;
    let (profile, why) = match &tuned.profile {
        Ok(profile) => (Some(profile.to_text()), None),
        Err(reason) => (None, Some(reason.to_string())),
    };
    Ok((json::tune(report), html::tune(report), text::tune(report, columns, Style::Plain), profile, why))
}

/// Keeps so many bytes warm until standard input ends, and tells it by a line on standard output.
#[pyfunction]
pub(crate) fn warm(py: Python<'_>, bytes: usize) -> PyResult<()> {
    py.detach(|| firsttouch_launch::warm(bytes, io::stdin(), io::stdout()))
        .map_err(|error| PyOSError::new_err(error.to_string()))
}

fn run(request: &Request, environment: &Environment, tell: Py<PyAny>) -> Result<Tuned, Failure> {
    let began = Instant::now();
    let share = |name, text: &String| {
        parse_share(text)
            .ok_or_else(|| Failure::misused(name, "a share between 0.05% and 50%, for example 1%"))
    };
    let budget = |text: &String| {
        parse_budget(text).ok_or_else(|| {
            Failure::misused("budget", "seconds, or a time, for example 90s, 10m, 1h, or none")
        })
    };
    let runs = |text: &String| {
        let runs = text.parse().ok().filter(|runs| *runs >= 2_u32);
        runs.ok_or_else(|| Failure::misused("max_runs", "a number of 2 or more"))
    };
    let seed =
        |text: &String| text.parse().map_err(|_| Failure::misused("seed", "a number from 0 to 2^64 - 1"));
    let untimed = |text: &String| {
        let runs = text.parse().ok().filter(|runs| *runs >= 1_u32);
        runs.ok_or_else(|| Failure::misused("warmup", "a number of 1 or more"))
    };
    let vary = request.vary.iter().map(|one| Dimension::new(&one.name, one.values.clone()));
    let vary: Vec<Dimension> = vary.collect::<Result<_, _>>().map_err(TuneError::Vary)?;
    let status = StatusReport::examine(&Root::live()).map_err(|error| Failure::new(&error, None, FAILED))?;
    let kept = kept_file(environment);
    let metric =
        parse_metric(&request.metric).map_err(|error| Failure::new(&error, Some(error.hint()), USAGE))?;
    let objective = Objective { metric, higher_is_better: request.higher_is_better };
    let asked = TuneRequest {
        command: &request.command,
        job: None,
        vary: &vary,
        environment,
        status: &status,
        kept: kept.as_deref(),
        baseline: &request.baseline,
        configurations: &request.configs,
        alternatives: request.alternatives,
        seed: request.seed.as_ref().map(seed).transpose()?,
        quick: request.quick,
        objective: &objective,
        same_band: share("same", &request.same)?,
        precision: request.precision.as_ref().map(|text| share("precision", text)).transpose()?,
        max_runs: request.max_runs.as_ref().map(runs).transpose()?,
        budget: request.budget.as_ref().map(budget).transpose()?.unwrap_or_default().0,
        conditions: Conditions {
            input: request.input.clone(),
            setup: request.setup.clone(),
            prepare: request.prepare.clone(),
            conclude: request.conclude.clone(),
            cleanup: request.cleanup.clone(),
            ignore_failure: request.ignore_failure,
        },
        untimed_runs: request.warmup.as_ref().map_or(Ok(1), untimed)?,
        warm_up: Some(WarmUp { program: request.warm_up.0.clone(), arguments: request.warm_up.1.clone() }),
        output: Stream::Null,
        began,
        started: request.started.clone(),
    };
    let end = End::by_input().map_err(|error| Failure::new(&error, None, FAILED))?;
    let tuned = tune(&asked, &end, &mut Teller { tell })?;
    match tuned.failure {
        Some(error) => Err(error.into()),
        None => Ok(tuned),
    }
}

/// Whether the session is to end.
struct End {
    is_asked: Arc<AtomicBool>,
}

impl End {
    fn by_input() -> io::Result<End> {
        let is_asked = Arc::new(AtomicBool::new(false));
        let end = End { is_asked: Arc::clone(&is_asked) };
        // It waits for as long as the process lives: whoever started the session holds the other end.
        thread::Builder::new().name("input".to_owned()).spawn(move || {
            // Something, nothing any more, or an error: all are the end.
            let _ = io::stdin().lock().read(&mut [0]);
            is_asked.store(true, Ordering::Relaxed);
        })?;
        Ok(end)
    }
}

impl Interruption for End {
    fn asked(&self) -> bool {
        self.is_asked.load(Ordering::Relaxed)
    }

    fn kill(&self) -> &AtomicBool {
        &self.is_asked
    }
}

/// Hands on what the session does before its timed runs; of these there is nothing to see until they are over.
struct Teller {
    tell: Py<PyAny>,
}

impl TuneObserver for Teller {
    fn stage(&mut self, stage: &Stage<'_>) {
        // Whoever does not listen any more has let go of our standard input, too, and that ends us.
        let _ = Python::attach(|py| self.tell.call1(py, (stage.to_string(),)));
    }

    fn timing(&mut self, _names: &[String]) {}
}

impl Observer for Teller {}
