//! One run of a case, in a process of its own: makes it ready, times its steps, and then measures the limit that bounds it if asked for.

use super::case_run::{CaseRun, RunChecksum};
use crate::args::RunCase;
use crate::exit::Rule;
use crate::output::{self, Failure, Outcome};
use crate::paths::{mpi_is_there, world};
use crate::reading;
use anyhow::Context;
use firsttouch_cases::{
    Arguments, ArrayObtained, ArrayPlace, Arrays, Case, CaseError, Given, Outside, Prepared, Variant,
    Workload, find,
};
use firsttouch_graph::Ranks;
use firsttouch_measure::{Limit, measure_limit};
use firsttouch_memory::object_places::{self, ObjectPlace};
use firsttouch_placement::{CaseWork, ObjectObtained};
use firsttouch_threads::Team;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::ops::RangeInclusive;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Limits are measured on as much memory as the case has, so that both are of the caches or both of memory: shares of a limit
/// that fits in a cache which the case does not fit in are too low. Within these bounds: less takes too short to be timed,
/// more takes longer than the case.
const LIMIT_BYTES: RangeInclusive<u64> = 16 << 20..=1 << 30;

pub(crate) fn run(args: &RunCase) -> Outcome {
    let (case, variant) = chosen(&args.name, args.variant.as_deref())?;
    begin_again_with(&case.variables(variant))?;
    if args.mpi {
        mpi_is_there()?;
    }
    let ranks: Option<Rc<dyn Ranks>> = world(args.mpi)?.map(Rc::from);
    let outcome = one_run(args, (case, variant), ranks.as_ref());
    match (outcome, ranks) {
        // The others wait for this one.
        (Err(failure), Some(ranks)) if ranks.size() > 1 => {
            failure.print();
            ranks.abort(failure.exit_code(Rule::OWN))
        }
        (outcome, _) => outcome,
    }
}

/// Makes a case ready, alone or as one of several ranks, does its steps, and says what they came to.
fn one_run(
    args: &RunCase,
    (case, variant): (&'static dyn Case, &'static Variant),
    ranks: Option<&Rc<dyn Ranks>>,
) -> Outcome {
    let about = case.about();
    let arguments = Arguments::of(about, &args.set, args.quick).map_err(failed)?;
    let steps = args.steps.unwrap_or(about.steps);
    let mut team = match args.groups {
        Some(word) => reading::grouped(word)?.0,
        None => reading::team(args.threads.or(ranks.map(|_| 1)))?,
    };
    let arrays = arrays()?;
    let mut given = Given { arguments: &arguments, variant, arrays: &arrays, team: &mut team };
    let prepared = match ranks {
        Some(ranks) => {
            let shared = case.over_ranks().ok_or_else(|| {
                Failure::message(format!("`{}` has no ranks that share its work", about.name)).usage()
            })?;
            shared.prepare_rank(&mut given, Rc::clone(ranks)).map(Prepared::Here)
        }
        None => case.prepare(&mut given),
    };
    let mut workload = match prepared.map_err(failed)? {
        Prepared::Here(workload) => workload,
        // A program of others, which gives its memory no names.
        Prepared::Outside(_) if args.arrays => {
            output::data("{}")?;
            return Ok(0);
        }
        Prepared::Outside(outside) => return Err(become_other(&outside, args.result.as_deref(), steps)),
    };
    if args.arrays {
        output::data(&serde_json::to_string(&arrays.bytes())?)?;
        return Ok(0);
    }
    // The first step finds caches and pages as no other does.
    step(&mut *workload, &mut team, ranks)?;
    let mut all = Duration::ZERO;
    for _ in 0..steps {
        all += step(&mut *workload, &mut team, ranks)?;
    }
    let seconds = all.as_secs_f64() / f64::from(steps);
    let (checksum, work, notes) = (workload.checksum(), workload.work(), workload.notes());
    if ranks.is_some_and(|ranks| ranks.rank() > 0) {
        return Ok(0);
    }
    if let Some(file) = &args.picture {
        let picture = workload.picture();
        let picture = picture.ok_or_else(|| Failure::message("there is no picture of this case").usage())?;
        fs::write(file, picture).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let objects = arrays.obtained().into_iter().map(obtained).collect();
    // Of memory without a name each step knows how much it is.
    let named = arrays.bytes().into_values().sum();
    let bytes = if named == 0 { work.bytes } else { named };
    let file = workload.file().map(File::try_clone).transpose().context("cannot open the file once more")?;
    drop(workload);
    let Some(result) = &args.result else {
        output::data(&format!("{} {}\n", about.name, RunChecksum::from(checksum)))?;
        return Ok(0);
    };
    let wants_limit = args.limit_if.as_ref().is_some_and(|file| file.exists());
    let run = CaseRun {
        seconds,
        checksum: checksum.into(),
        work: Some(CaseWork { bytes: work.bytes, operations: work.operations }),
        // That of one rank's CPUs bounds nothing.
        limit: limit(
            about.bound.filter(|_| wants_limit && ranks.is_none()),
            &mut team,
            bytes,
            file.as_ref(),
        )?,
        notes,
        objects,
    };
    run.write(result).with_context(|| format!("cannot write {}", result.display()))?;
    Ok(0)
}

/// Starts this program anew where its environment is not what a library of the variant needs when it is loaded.
fn begin_again_with(variables: &[(&'static str, Option<String>)]) -> Outcome<()> {
    let differs = |(name, value): &&(&str, Option<String>)| {
        std::env::var_os(name).as_deref() != value.as_deref().map(OsStr::new)
    };
    let differing: Vec<_> = variables.iter().filter(differs).collect();
    if differing.is_empty() {
        return Ok(());
    }
    let mut command = Command::new(std::env::current_exe().context("cannot find this program's own file")?);
    command.args(std::env::args_os().skip(1));
    for (name, value) in differing {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    Err(Failure::new(anyhow::Error::new(command.exec()).context("cannot start this program anew")))
}

/// The arrays of a case, with the places that whoever started us named for some of them.
fn arrays() -> Outcome<Arrays> {
    let Some(text) = std::env::var_os(object_places::VARIABLE) else { return Ok(Arrays::default()) };
    let wrong = || Failure::message(format!("{} does not read", object_places::VARIABLE));
    let text = text.to_str().ok_or_else(wrong)?;
    let places = object_places::parse(text).ok_or_else(wrong)?;
    let place = |it: ObjectPlace<'_>| (it.name.to_owned(), ArrayPlace { pages: it.pages, memory: it.memory });
    Ok(Arrays::with_places(places.map(place).collect()))
}

/// What arrays of one name obtained, of which the last counts.
fn obtained(array: ArrayObtained) -> (String, ObjectObtained) {
    let ArrayObtained { name, bytes, huge_bytes, bytes_by_node } = array;
    (name.to_owned(), ObjectObtained { bytes, huge_bytes, bytes_by_node })
}

/// Does a step, and answers how long it took: from when all ranks began until the last was done.
fn step(workload: &mut dyn Workload, team: &mut Team, ranks: Option<&Rc<dyn Ranks>>) -> Outcome<Duration> {
    let meet = || ranks.map_or(Ok(()), |ranks| ranks.sum(&mut [0.0]).map_err(Failure::hinted));
    workload.reset(team);
    meet()?;
    let begun = Instant::now();
    workload.step(team);
    meet()?;
    Ok(begun.elapsed())
}

/// The case and the variant of these names; without a name its first.
pub(super) fn chosen(name: &str, variant: Option<&str>) -> Outcome<(&'static dyn Case, &'static Variant)> {
    let case = find(name).ok_or_else(|| {
        Failure::message(format!("there is no case `{name}`")).usage().hint("firsttouch bench --list")
    })?;
    let about = case.about();
    let found = variant.map_or(about.variants.first(), |variant| about.variant(variant));
    let found = found.ok_or_else(|| {
        let known: Vec<&str> = about.variants.iter().map(|variant| variant.name).collect();
        let unknown = variant.unwrap_or_default();
        Failure::message(format!("`{name}` has no variant `{unknown}`"))
            .usage()
            .hint(format!("it has {}", known.join(", ")))
    })?;
    Ok((case, found))
}

/// A case that cannot be made, as an error of ours.
pub(super) fn failed(error: CaseError) -> Failure {
    let hint = error.hint();
    let is_usage = !matches!(error, CaseError::Missing(_) | CaseError::Array { .. });
    Failure::new(error).hint_if_some(hint).usage_if(is_usage)
}

/// What bounds the case with so many bytes, or this file, measured on the CPUs that ran it; its memory is free by now.
fn limit(bound: Option<Limit>, team: &mut Team, bytes: u64, file: Option<&File>) -> Outcome<Option<f64>> {
    let Some(bound) = bound else { return Ok(None) };
    let mut cpus = team.map(|member| member.cpu());
    if bound == Limit::Latency {
        // Who waits for each read is alone.
        cpus.truncate(1);
    }
    let bytes = bytes.clamp(*LIMIT_BYTES.start(), *LIMIT_BYTES.end());
    Ok(Some(measure_limit(bound, &cpus, bytes, file).map_err(Failure::hinted)?))
}

/// Becomes somebody else's program; returns only where that fails.
fn become_other(outside: &Outside, result: Option<&Path>, steps: u32) -> Failure {
    let mut command = Command::new(outside.program);
    command.args(&outside.words).env(Outside::STEPS, steps.to_string());
    command.envs(outside.variables.iter().map(|(name, value)| (name, value)));
    command.env(Outside::RESULT, result.unwrap_or(Path::new("/dev/stdout")));
    Failure::new(anyhow::Error::new(command.exec()).context(format!("cannot start {}", outside.program)))
}
