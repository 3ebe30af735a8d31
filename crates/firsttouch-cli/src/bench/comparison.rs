//! One family of comparisons of a case: a session of `tune` whose program is a run of the case.

use super::case_run::CaseRun;
use super::followed::{Followed, Halt, Reference};
use super::{RANKS, TEAM, VARIANT};
use crate::args::GroupsWord;
use crate::interrupt::Interrupt;
use crate::output::Outcome;
use crate::tune::display::Told;
use crate::{clock, tune};
use firsttouch_cases::{About, Arguments, Unit, Variant, Work};
use firsttouch_documents::{CaseComparison, ComparisonAxis};
use firsttouch_experiment::statistics::sample::median;
use firsttouch_experiment::statistics::student::MeanInterval;
use firsttouch_experiment::{Metric, Objective, SessionRun};
use firsttouch_launch::{Conditions, Dimension, NoProfile, TuneRequest};
use firsttouch_machine::StatusReport;
use firsttouch_placement::{
    CaseFigure, CaseFigures, CaseLimit, CaseWork, ConfigurationReport, Evidence, Profile,
    SkippedConfiguration,
};
use firsttouch_process::{Environment, Stream};
use firsttouch_sorted::SortedMap;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The options of a run for what teams are varied by. How many ranks there are is said to what starts them.
const TEAM_OPTIONS: [Option<&str>; 3] = [Some("--num-threads"), Some("--groups"), None];

/// Misses of an interval.
const ALPHA: f64 = 0.05;

/// What is compared.
#[derive(Clone, Debug)]
pub(super) struct Family<'a> {
    pub(super) about: &'static About,
    pub(super) axis: ComparisonAxis,
    /// The first is what the others are compared with; more than one are varied.
    pub(super) variants: Vec<&'static Variant>,
    /// What the others are compared with: `plain`, or a placement.
    pub(super) baseline: String,
    /// Lists of placements beside the baseline's.
    pub(super) placements: Vec<String>,
    /// Placements that cannot be had here.
    pub(super) skipped: Vec<SkippedConfiguration>,
    pub(super) vary: &'a [Dimension],
    /// The words that start ranks.
    pub(super) mpirun: &'a str,
    pub(super) settings: &'a [(String, String)],
    pub(super) arguments: Arguments,
    pub(super) quick: bool,
    pub(super) threads: Option<u32>,
    pub(super) groups: Option<GroupsWord>,
    pub(super) steps: Option<u32>,
}

/// What all of them need.
#[derive(Debug)]
pub(super) struct Bench<'a> {
    pub(super) program: PathBuf,
    pub(super) environment: &'a Environment,
    pub(super) status: &'a StatusReport,
    /// Where runs leave their results.
    pub(super) folder: &'a Path,
    pub(super) seed: Option<u64>,
    pub(super) max_runs: Option<u32>,
    pub(super) interrupt: &'a Interrupt,
}

impl Family<'_> {
    /// The words of the program, which holds the names of what is varied.
    fn words(&self, program: &Path, result: &Path) -> Vec<OsString> {
        let program = || OsString::from(program);
        let mut words = Vec::new();
        if self.over_ranks() {
            words.extend(self.mpirun.split_whitespace().map(OsString::from));
            words.extend(["-n".into(), format!("{{{RANKS}}}").into(), program()]);
            // Not every launcher gives each rank CPUs of its own.
            words.extend(["run", "--quiet", "--pages", "plain", "--ranks", "auto", "--"].map(OsString::from));
        }
        words.push(program());
        words.extend(self.run_words());
        words.extend(["--result".into(), result.to_owned().into()]);
        words
    }

    /// Whether the number of processes is varied.
    fn over_ranks(&self) -> bool {
        self.vary.iter().any(|dimension| dimension.name() == RANKS)
    }

    /// How many configurations it has.
    pub(super) fn configurations(&self) -> usize {
        let values = self.vary.iter().map(|dimension| dimension.values().len());
        (1 + self.placements.len()) * self.variants.len() * values.product::<usize>()
    }

    /// The words of a run without the program and where its result goes.
    pub(super) fn run_words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["case".into(), self.about.name.into()];
        let mut option = |name: &str, value: String| words.extend([name.into(), value.into()]);
        let varied: Vec<&str> = self.vary.iter().map(Dimension::name).collect();
        match self.variants.as_slice() {
            [one] => option("--variant", one.name.to_owned()),
            _ => option("--variant", format!("{{{VARIANT}}}")),
        }
        for (name, value) in self.settings.iter().filter(|(name, _)| !varied.contains(&name.as_str())) {
            option("--set", format!("{name}={value}"));
        }
        for name in &varied {
            match TEAM.iter().position(|of| of == name) {
                Some(at) => {
                    TEAM_OPTIONS[at].into_iter().for_each(|of| option(of, format!("{{{name}}}")));
                }
                None => option("--set", format!("{name}={{{name}}}")),
            }
        }
        if !varied.iter().any(|name| TEAM.contains(name) && *name != RANKS) {
            let chosen = [self.threads.map(|it| it.to_string()), self.groups.map(|it| it.to_string())];
            for (name, value) in TEAM_OPTIONS.into_iter().flatten().zip(chosen) {
                value.into_iter().for_each(|value| option(name, value));
            }
        }
        if let Some(steps) = self.steps {
            option("--steps", steps.to_string());
        }
        words.extend(self.quick.then(|| "--quick".into()));
        words.extend(self.over_ranks().then(|| "--mpi".into()));
        words
    }

    /// Runs it within a time, and answers with the profile of what is recommended, too. `references`: what the case came to before.
    pub(super) fn compare(
        self,
        bench: &Bench<'_>,
        budget: Option<Duration>,
        references: &mut SortedMap<String, Reference>,
    ) -> Outcome<(CaseComparison, Result<Profile, NoProfile>)> {
        let result = bench.folder.join("result");
        let asks_limit = bench.folder.join("limit");
        let mut words = self.words(&bench.program, &result);
        words.extend(["--limit-if".into(), asks_limit.clone().into()]);
        let file = result.display().to_string();
        let objective = Objective {
            metric: Metric::Json { file, pointer: CaseRun::SECONDS.to_owned() },
            higher_is_better: false,
        };
        let variants = match self.variants.as_slice() {
            [_] => None,
            all => Some(Dimension::new(VARIANT, all.iter().map(|variant| variant.name.into()).collect())?),
        };
        let vary: Vec<Dimension> = variants.into_iter().chain(self.vary.iter().cloned()).collect();
        let request = TuneRequest {
            command: &words,
            job: None,
            vary: &vary,
            environment: bench.environment,
            status: bench.status,
            kept: None,
            baseline: &self.baseline,
            configurations: &self.placements,
            alternatives: false,
            seed: bench.seed,
            quick: true,
            objective: &objective,
            same_band: SAME_BAND,
            precision: None,
            max_runs: bench.max_runs,
            budget,
            conditions: Conditions::default(),
            untimed_runs: 1,
            warm_up: Some(tune::warm_up()?),
            output: Stream::Null,
            began: Instant::now(),
            started: clock::now(),
        };
        let halt = Halt::new(bench.interrupt.clone());
        let told = Told::new(bench.interrupt.clone(), false, &objective);
        let mut followed = Followed::new(told, (result, asks_limit), &halt, self.about, references);
        let tuned = firsttouch_launch::tune(&request, &halt, &mut followed);
        let runs = followed.end()?;
        let mut session = tuned.map_err(tune::failed)?;
        if let Some(error) = session.failure {
            return Err(tune::failed(error));
        }
        // Where the file was is nobody's business any more.
        session.report.objective.metric =
            Metric::Json { file: "result".to_owned(), pointer: CaseRun::SECONDS.to_owned() };
        session.report.command =
            self.words(Path::new("firsttouch"), Path::new("result")).iter().map(text).collect();
        if let Some(evidence) = session.profile.as_mut().ok().and_then(|profile| profile.evidence.as_mut()) {
            evidence.command.clone_from(&session.report.command);
            evidence.command_hash = Evidence::hash_of(&evidence.command);
            evidence.judged = session.report.objective.clone();
        }
        session.report.machine = serde_json::Value::Null;
        session.report.skipped.extend(self.skipped.iter().cloned());
        let none = Vec::new();
        let limits: Vec<f64> = runs.values().flatten().filter_map(|run| run.limit).collect();
        let work = runs.values().flatten().find_map(|run| run.work);
        for configuration in &mut session.report.configurations {
            configuration.command = None;
            let runs = runs.get(&configuration.name).unwrap_or(&none);
            configuration.case = Some(Box::new(self.figures(configuration, runs, &limits, work)));
        }
        Ok((CaseComparison { of: self.axis, session: session.report }, session.profile))
    }

    /// What the runs of a configuration say of the case.
    fn figures(
        &self,
        configuration: &ConfigurationReport,
        runs: &[CaseRun],
        limits: &[f64],
        work: Option<CaseWork>,
    ) -> CaseFigures {
        let name = configuration.varied.get(VARIANT);
        let variant = name.and_then(|name| self.about.variant(name)).unwrap_or(self.variants[0]);
        let mut parameters: BTreeMap<String, String> =
            self.arguments.texts().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        let varied = configuration.varied.iter().filter(|(name, _)| *name != VARIANT);
        parameters.extend(varied.map(|(name, value)| (name.clone(), value.clone())));
        let work = runs.iter().find_map(|run| run.work).or(work.filter(|_| self.vary.is_empty()));
        let counted =
            work.map_or(Work::default(), |work| Work { bytes: work.bytes, operations: work.operations });
        let seconds: Vec<f64> = configuration.proved.runs.iter().filter_map(judged).collect();
        let own: Vec<f64> = runs.iter().filter_map(|run| run.limit).collect();
        let usual = median(&own).or_else(|| median(limits).filter(|_| self.vary.is_empty()));
        let share = |run: &CaseRun| Some(counted.share(self.about.bound?, run.limit.or(usual)?, run.seconds));
        let shares: Vec<f64> = runs.iter().filter_map(share).collect();
        let limit = median(&own).or_else(|| median(limits)).zip(self.about.bound);
        CaseFigures {
            name: self.about.name.to_owned(),
            variant: variant.name.to_owned(),
            alternative: variant.alternative,
            parameters,
            work,
            unit: self.about.unit.word().to_owned(),
            higher_is_better: self.about.unit.higher_is_better(),
            figure: figure(self.about.unit, counted, &seconds),
            checksum: runs.first().map(|run| run.checksum.to_string()),
            limit: limit.map(|(value, bound)| CaseLimit {
                what: bound.what().to_owned(),
                value,
                share: median(&shares),
            }),
            objects: runs.last().map_or_else(BTreeMap::new, |run| run.objects.clone()),
            notes: runs.last().map_or_else(Vec::new, |run| run.notes.clone()),
        }
    }
}

/// Ratios this near to 1 count as the same.
const SAME_BAND: f64 = 0.02;

fn judged(run: &SessionRun) -> Option<f64> {
    run.timed.judged.filter(|seconds| *seconds > 0.0)
}

/// The figure of steps that took so long, with its interval. Without work that was counted there is none but the time.
fn figure(unit: Unit, work: Work, seconds: &[f64]) -> Option<CaseFigure> {
    if unit != Unit::Time && work == Work::default() {
        return None;
    }
    let logs: Vec<f64> = seconds.iter().map(|seconds| seconds.ln()).collect();
    let interval = MeanInterval::of(&logs, ALPHA)?;
    let at = |log: f64| unit.figure(work, log.exp());
    let ends = interval.half_width.map(|half| {
        let (one, other) = (at(interval.mean - half), at(interval.mean + half));
        (one.min(other), one.max(other))
    });
    Some(CaseFigure { value: at(interval.mean), low: ends.map(|ends| ends.0), high: ends.map(|ends| ends.1) })
}

fn text(word: &OsString) -> String {
    word.to_string_lossy().into_owned()
}

/// What is left of a budget for each of so many comparisons; `None` for as long as it takes.
pub(super) fn share_of(budget: Option<Duration>, began: Instant, left: usize) -> Option<Duration> {
    budget
        .map(|budget| budget.saturating_sub(began.elapsed()) / u32::try_from(left.max(1)).unwrap_or(u32::MAX))
}
