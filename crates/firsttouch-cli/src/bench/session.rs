//! `bench CASE…`: the families of comparisons of each case, one after the other.

use super::comparison::{Bench, Family};
use super::followed::Reference;
use super::objects::{Search, places};
use super::one_run::{chosen, failed};
use super::{GROUPS, RANKS, TEAM};
use crate::args::{self, GroupsWord, OnlyWhat};
use crate::exit::{FAILED, INTERRUPTED};
use crate::interrupt::Interrupt;
use crate::output::{self, Failure, Outcome};
use crate::{clock, export, paths, program, reading, tune};
use anyhow::Context;
use firsttouch_cases::articles::{Published, published};
use firsttouch_cases::{ALL, About, Arguments, Case, Missing, Variant};
use firsttouch_documents::{
    AnyDocument, BenchReport, CaseComparison, CaseReport, ComparisonAxis, MissingVariant, PlacedArrays,
    PublishedFigure,
};
use firsttouch_launch::{Dimension, NoProfile, Workshop, check_lists};
use firsttouch_machine::{Ability, Root, StatusReport};
use firsttouch_placement::{Profile, SkippedConfiguration};
use firsttouch_process::Environment;
use firsttouch_sorted::SortedMap;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

/// What a quick look at all cases may take.
const QUICK: Duration = Duration::from_secs(330);
/// What a comparison may take otherwise.
const EACH: Duration = Duration::from_secs(300);

/// Placements that are tried, by the words of the abilities that they depend on.
pub(super) const PLACEMENTS: [&str; 3] = ["thp", "2m", "1g"];

/// A case, and what is to be compared of it.
pub(super) struct Job<'a> {
    about: &'static About,
    arguments: Arguments,
    families: Vec<Family<'a>>,
    /// What is found out of its arrays, in place of families.
    search: Option<Search<'a>>,
    missing: Vec<(&'static Variant, Missing)>,
}

impl Job<'_> {
    /// How many comparisons it is, and how many configurations they have.
    pub(super) fn size(&self) -> Size {
        let searched = usize::from(self.search.is_some());
        let families = self.families.iter().map(Family::configurations);
        Size {
            comparisons: self.families.len() + searched,
            configurations: families.sum::<usize>() + searched * SEARCHED,
        }
    }
}

/// What a search over arrays counts as.
const SEARCHED: usize = 6;

/// How much there is to compare.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    comparisons: usize,
    configurations: usize,
}

impl std::iter::Sum for Size {
    fn sum<I: Iterator<Item = Size>>(sizes: I) -> Size {
        sizes.fold(Size::default(), |sum, one| Size {
            comparisons: sum.comparisons + one.comparisons,
            configurations: sum.configurations + one.configurations,
        })
    }
}

/// What all runs of a command need.
pub(super) struct Surroundings {
    pub(super) status: StatusReport,
    pub(super) interrupt: Interrupt,
    environment: Environment,
    folder: Workshop,
}

impl Surroundings {
    pub(super) fn new() -> Outcome<Surroundings> {
        let environment = program::environment();
        Ok(Surroundings {
            status: StatusReport::examine(&Root::live())?,
            interrupt: Interrupt::of_runs()?,
            folder: Workshop::new(&environment).context("cannot make a folder")?,
            environment,
        })
    }

    pub(super) fn bench(&self, args: &args::Bench) -> Outcome<Bench<'_>> {
        Ok(Bench {
            program: std::env::current_exe().context("cannot find this program's own file")?,
            environment: &self.environment,
            status: &self.status,
            folder: self.folder.path(),
            seed: args.seed,
            max_runs: args.max_runs,
            interrupt: &self.interrupt,
        })
    }
}

/// What is left of the time of a command, and for how many configurations; and what became of those before.
pub(super) struct Progress {
    budget: Option<Duration>,
    began: Instant,
    left: usize,
    /// The exit code by now.
    pub(super) code: u8,
    /// What the last search over arrays recommends.
    profile: Option<Result<Profile, NoProfile>>,
}

impl Progress {
    /// So much within the time that is asked for.
    pub(super) fn new(args: &args::Bench, began: Instant, size: Size) -> Progress {
        let each = u32::try_from(size.comparisons).unwrap_or(u32::MAX);
        let budget =
            args.budget.map_or_else(|| Some(if args.quick { QUICK } else { EACH * each }), |it| it.0);
        Progress { budget, began, left: size.configurations, code: 0, profile: None }
    }

    /// The time of the next comparison, of so many configurations: each has as much as the others.
    fn next(&mut self, configurations: usize) -> Option<Duration> {
        let left = self.left.max(1);
        self.left = self.left.saturating_sub(configurations);
        let rest = self.budget?.saturating_sub(self.began.elapsed());
        Some(rest.mul_f64(configurations.min(left) as f64 / left as f64))
    }
}

pub(super) fn run(args: &args::Bench) -> Outcome {
    export::check(args.export.document.json, args.export.files().chain(&args.save))?;
    let (began, started) = (Instant::now(), clock::now());
    let surroundings = Surroundings::new()?;
    let cases = match args.cases.as_slice() {
        [] => ALL.to_vec(),
        names => names.iter().map(|name| chosen(name, None).map(|(case, _)| case)).collect::<Outcome<_>>()?,
    };
    let settings = settings(args, &cases)?;
    let vary = varied(args, &surroundings.status)?;
    let jobs = jobs(args, &cases, &settings, &vary, &surroundings.status)?;
    if args.save.is_some() && jobs.len() > 1 {
        return Err(Failure::message("--save keeps the profile of one case").usage().hint("name one CASE"));
    }
    let mut progress = Progress::new(args, began, jobs.iter().map(Job::size).sum());
    let bench = surroundings.bench(args)?;
    let reports = jobs.into_iter().map(|job| compare(job, &bench, &mut progress)).collect::<Outcome<_>>()?;
    let document = BenchReport {
        started,
        quick: args.quick,
        machine: serde_json::to_value(&surroundings.status.machine)?,
        cases: reports,
        articles: Vec::new(),
        interrupted: surroundings.interrupt.asked(),
    };
    let interrupted = document.interrupted;
    let document = AnyDocument::Bench(Box::new(document));
    let shown = export::show(&document, args.export.document.json, &args.export.chosen());
    let kept = match args.save.as_deref().zip(progress.profile.as_ref()) {
        Some((file, profile)) => tune::save(file, profile, None),
        None => Ok(()),
    };
    output::together([shown, kept])?;
    Ok(if interrupted { INTERRUPTED } else { progress.code })
}

/// What is to be compared of each case.
pub(super) fn jobs<'a>(
    args: &'a args::Bench,
    cases: &[&'static dyn Case],
    settings: &'a [Vec<(String, String)>],
    vary: &'a [Dimension],
    status: &StatusReport,
) -> Outcome<Vec<Job<'a>>> {
    // Told of before variants are compared.
    check_lists(&args.configs).map_err(|error| {
        Failure::new(error).usage().hint("firsttouch bench CASE --configs 'thp thp,prefault 2m'")
    })?;
    let jobs = cases.iter().zip(settings).map(|(case, set)| job(args, *case, set, vary, status));
    let jobs: Vec<Job<'a>> = jobs.collect::<Outcome<_>>()?;
    if jobs.iter().all(|job| job.size().comparisons == 0) {
        let missing = jobs.iter().flat_map(|job| &job.missing).map(|(_, missing)| missing).next();
        let error = Failure::message("nothing can be compared here");
        return Err(match missing {
            Some(missing) => error.context(missing.what.clone()).hint(missing.remedy.clone()),
            None => error.hint("more variants, placements (--configs) or values (--vary)").usage(),
        });
    }
    Ok(jobs)
}

/// Makes the comparisons of a case, unless somebody asked to end.
pub(super) fn compare(job: Job<'_>, bench: &Bench<'_>, progress: &mut Progress) -> Outcome<CaseReport> {
    let mut references: SortedMap<String, Reference> = SortedMap::new();
    let (mut comparisons, mut objects) = (Vec::new(), None);
    let tell = || output::message(&format!("{}: {}\n", job.about.name, job.about.summary));
    let failed = |failure: Failure, code: &mut u8| {
        if failure.is_usage() {
            return Err(failure);
        }
        // What other cases found is not lost.
        failure.context(job.about.name).print();
        *code = FAILED;
        Ok(())
    };
    for family in job.families {
        let budget = progress.next(family.configurations());
        if bench.interrupt.asked() {
            continue;
        }
        tell();
        match family.compare(bench, budget, &mut references) {
            Ok((comparison, _)) => comparisons.push(comparison),
            Err(failure) => failed(failure, &mut progress.code)?,
        }
    }
    if let Some(search) = job.search {
        let budget = progress.next(SEARCHED);
        if !bench.interrupt.asked() {
            tell();
            match search.run(bench, budget, &mut references) {
                Ok(found) => {
                    comparisons = found.steps;
                    objects = Some(found.objects);
                    progress.profile = Some(found.profile);
                }
                Err(failure) => failed(failure, &mut progress.code)?,
            }
        }
    }
    report(job.about, &job.arguments, comparisons, objects, &job.missing)
}

/// The settings of each case: `NAME=VALUE` for all that have the parameter, `CASE.NAME=VALUE` for one.
pub(super) fn settings(
    args: &args::Bench,
    cases: &[&'static dyn Case],
) -> Outcome<Vec<Vec<(String, String)>>> {
    let mut settings = vec![Vec::new(); cases.len()];
    for (name, value) in &args.set {
        let (only, name) =
            name.split_once('.').map_or((None, name.as_str()), |(case, name)| (Some(case), name));
        let mut is_used = false;
        for (case, own) in cases.iter().zip(&mut settings) {
            let about = case.about();
            let has = about.parameters.iter().any(|parameter| parameter.name == name);
            if has && only.is_none_or(|only| only == about.name) {
                own.push((name.to_owned(), value.clone()));
                is_used = true;
            }
        }
        if !is_used {
            let all: Vec<String> = cases.iter().flat_map(|case| parameters(case.about())).collect();
            return Err(Failure::message(format!("none of the cases has a parameter `{name}`"))
                .usage()
                .hint(format!("they have {}", all.join(", "))));
        }
    }
    Ok(settings)
}

fn parameters(about: &About) -> impl Iterator<Item = String> {
    about.parameters.iter().map(|parameter| format!("{}.{}", about.name, parameter.name))
}

/// What is varied, and can be together; of groups `all` are those that this machine has.
pub(super) fn varied(args: &args::Bench, status: &StatusReport) -> Outcome<Vec<Dimension>> {
    let is_there = |name: &str| args.vary.iter().any(|one| one.name() == name);
    if is_there(GROUPS) && is_there("threads") {
        let error = Failure::message("groups say how many threads there are: both cannot be varied").usage();
        return Err(error.hint("one --vary threads=…, or one --vary groups=…"));
    }
    if is_there(RANKS) && (is_there(GROUPS) || args.groups.is_some() || !args.configs.is_empty()) {
        let what =
            "each rank has threads on CPUs of its own: there are neither groups nor placements of them";
        let hint =
            "--num-threads N, or --vary threads=…, are those of a rank; tune --job has placements of ranks";
        return Err(Failure::message(what).usage().hint(hint));
    }
    let one = |dimension: &Dimension| {
        let counts = dimension.values().iter().filter(|_| dimension.name() == "threads");
        for value in counts.map(|value| value.to_string_lossy()) {
            value.parse::<NonZeroU32>().map_err(|_| {
                Failure::message(format!("threads={value}: expected a number, 1 or more")).usage()
            })?;
        }
        if dimension.name() != GROUPS {
            return Ok(dimension.clone());
        }
        if dimension.values() != ["all"] {
            for value in dimension.values().iter().map(|value| value.to_string_lossy()) {
                value
                    .parse::<GroupsWord>()
                    .map_err(|what| Failure::message(format!("groups={value}: expected {what}")).usage())?;
            }
            return Ok(dimension.clone());
        }
        let groups = reading::all_groups(&status.machine)?;
        Ok(Dimension::new(GROUPS, groups.iter().map(|word| word.to_string().into()).collect())?)
    };
    args.vary.iter().map(one).collect()
}

/// What is to be compared of a case, as far as it can be had here.
fn job<'a>(
    args: &'a args::Bench,
    case: &'static dyn Case,
    settings: &'a [(String, String)],
    vary: &'a [Dimension],
    status: &StatusReport,
) -> Outcome<Job<'a>> {
    let about = case.about();
    let arguments = Arguments::of(about, settings, args.quick).map_err(failed)?;
    for name in vary.iter().map(Dimension::name) {
        if !TEAM.contains(&name) && !about.parameters.iter().any(|parameter| parameter.name == name) {
            let known: Vec<String> = parameters(about).collect();
            return Err(Failure::message(format!("`{}` has no parameter `{name}`", about.name))
                .usage()
                .hint(format!("--vary takes {}, and of it {}", TEAM.join(", "), known.join(", "))));
        }
    }
    if vary.iter().any(|dimension| dimension.name() == RANKS) {
        paths::mpi_is_there()?;
        if case.over_ranks().is_none() {
            let cases = ALL.iter().filter(|case| case.over_ranks().is_some()).map(|case| case.about().name);
            return Err(Failure::message(format!("`{}` has no ranks that share its work", about.name))
                .usage()
                .hint(format!("it has threads; ranks share {}", cases.collect::<Vec<_>>().join(", "))));
        }
    }
    let wanted = match args.variants.as_slice() {
        [] => about.variants.iter().collect(),
        names => {
            let find = |name: &String| chosen(about.name, Some(name)).map(|(_, variant)| variant);
            names.iter().map(find).collect::<Outcome<Vec<_>>>()?
        }
    };
    let path = std::env::var_os("PATH");
    let (mut variants, mut missing) = (Vec::new(), Vec::new());
    for variant in wanted {
        match case.missing(variant, path.as_deref()) {
            None => variants.push(variant),
            Some(what) => missing.push((variant, what)),
        }
    }
    let family = |axis, variants: &[&'static Variant], (placements, skipped)| Family {
        about,
        axis,
        variants: variants.to_vec(),
        baseline: "plain".to_owned(),
        placements,
        skipped,
        vary,
        mpirun: &args.mpi,
        settings,
        arguments: arguments.clone(),
        quick: args.quick,
        threads: args.threads,
        groups: args.groups,
        steps: args.steps,
    };
    let none = || (Vec::new(), Vec::new());
    let (mut families, mut search) = (Vec::new(), None);
    if let Some(first) = variants.first() {
        if let Some(names) = &args.objects {
            let family = family(ComparisonAxis::Objects, std::slice::from_ref(first), none());
            search = Some(Search { family, names, places: places(&args.places, status)? });
        } else if !vary.is_empty() {
            let varied = if args.variants.is_empty() { std::slice::from_ref(first) } else { &variants };
            families.push(family(ComparisonAxis::Varied, varied, (args.configs.clone(), Vec::new())));
        } else {
            if variants.len() > 1 && args.only != Some(OnlyWhat::Placements) {
                families.push(family(ComparisonAxis::Variants, &variants, none()));
            }
            let tried = placements(args, status, case.reached_by());
            if !tried.0.is_empty() && args.only != Some(OnlyWhat::Variants) {
                families.push(family(ComparisonAxis::Placements, std::slice::from_ref(first), tried));
            }
        }
    }
    Ok(Job { about, arguments, families, search, missing })
}

/// The placements to try, each with the words `reached_by`, and those that this machine does not give at this moment.
pub(super) fn placements(
    args: &args::Bench,
    status: &StatusReport,
    reached_by: &str,
) -> (Vec<String>, Vec<SkippedConfiguration>) {
    if !args.configs.is_empty() {
        return (args.configs.clone(), Vec::new());
    }
    let abilities = status.can.iter().filter(|ability| PLACEMENTS.contains(&ability.what.as_str()));
    let (possible, not): (Vec<_>, Vec<_>) = abilities.partition(|ability| ability.possible == Some(true));
    let skipped = not.into_iter().map(|ability| SkippedConfiguration {
        name: ability.what.clone(),
        reason: ability.why.clone(),
        remedy: ability.remedy.clone(),
    });
    let words = |ability: &Ability| {
        let words = [ability.what.as_str(), reached_by].into_iter().filter(|words| !words.is_empty());
        words.collect::<Vec<_>>().join(",")
    };
    (possible.into_iter().map(words).collect(), skipped.collect())
}

fn report(
    about: &About,
    arguments: &Arguments,
    comparisons: Vec<CaseComparison>,
    objects: Option<PlacedArrays>,
    missing: &[(&'static Variant, Missing)],
) -> Outcome<CaseReport> {
    let figure = |one: Published<'_>| PublishedFigure {
        source: one.source,
        what: one.what,
        value: one.value,
        unit: one.unit.to_owned(),
    };
    Ok(CaseReport {
        name: about.name.to_owned(),
        summary: about.summary.to_owned(),
        source: about.source.to_owned(),
        parameters: arguments.texts().map(|(name, text)| (name.to_owned(), text.to_owned())).collect(),
        published: published(about, arguments)?.into_iter().map(figure).collect(),
        comparisons,
        objects,
        missing: missing
            .iter()
            .map(|(variant, missing)| MissingVariant {
                variant: variant.name.to_owned(),
                reason: missing.what.clone(),
                remedy: missing.remedy.clone(),
            })
            .collect(),
    })
}
