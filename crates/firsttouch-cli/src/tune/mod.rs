//! `tune`: finds the best placement of a program, and proves it.

mod configs;
mod demand;
pub(crate) mod interrupt;
mod intrusion;
mod launcher;
mod nodes;
mod preparation;
pub(crate) mod progress;
mod save;
mod surroundings;

use crate::args::Tune;
use crate::here::Here;
use crate::output::{self, Failure, Outcome};
use crate::program::{self, Subject};
use crate::workshop::Workshop;
use crate::{USAGE, agent, clock, environment, export, worker};
use anyhow::Context;
use configs::{Choice, ChoiceError, Configuration, Obstacle};
use firsttouch_experiment::Plan;
use firsttouch_machine::{Root, StatusReport};
use firsttouch_placement::{
    Placement, Receipt, SCHEMA_VERSION, SkippedConfiguration, Tie, TuneReport, Verdict, format_bytes,
};
use firsttouch_process::{Environment, Event};
use interrupt::{INTERRUPTED, Interrupt};
use intrusion::Intrusion;
use launcher::{ProgramLauncher, RunError, Variant};
use preparation::Preparation;
use progress::Display;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};
use surroundings::Supplies;

/// `--strict` was not met.
const NOT_MET: u8 = 3;
/// What a demonstration may take.
const DEMO_BUDGET: Duration = Duration::from_secs(140);
/// A baseline with this share of its memory on huge pages leaves little to gain.
const HUGE_BASELINE: f64 = 0.5;

pub(crate) fn run(tune: &Tune) -> Outcome {
    let began = Instant::now();
    let started = clock::now();
    let mut own = environment::own();
    let mut warnings = openblas_warning(&mut own);
    let words = if tune.demo { demo()? } else { tune.program.clone() };
    let subject = Subject::find(&words, &own).map_err(|error| program::not_runnable(error).code(1))?;
    export::check(tune.export.json, tune.export.files())?;
    let status = StatusReport::examine(&Root::live())?;
    let interrupt = Interrupt::listen().context("cannot listen for Ctrl-C")?;

    let here = Here::on(status.machine.clone());
    let mut choice = choose(tune, &subject, &status, &here)?;
    let variants = prepare(&mut choice, &subject, &own, &here)?;
    let seed = tune.seed.unwrap_or_else(random_seed);
    announce(&variants, &choice.skipped, seed);

    let supplies = Supplies::of(&status.machine);
    let probed = probe(variants, &mut choice, &interrupt, status.machine.thp_mode(), &mut warnings)?;
    let warm_bytes = warm_bytes(tune, &status, &probed, &mut warnings);
    let receipts: Vec<Option<Receipt>> = probed.iter().map(Probed::receipt).collect();
    let configurations: Vec<Configuration> =
        probed.iter().map(|probed| probed.variant.configuration.clone()).collect();
    let names: Vec<String> = configurations.iter().map(|configuration| configuration.name.clone()).collect();

    let mut display = Display::new(names.clone(), output::terminal(), interrupt.clone());
    let mut launcher = ProgramLauncher {
        variants: probed.into_iter().map(|probed| probed.variant).collect(),
        interrupt,
        preparation: Preparation::new(Some(supplies), warm_bytes, &own),
        output: tune.output,
        events: Event::ALL.to_vec(),
        began,
    };
    let mut plan = plan(tune, names.clone(), seed);
    plan.intrusion = configurations.iter().map(|configuration| Intrusion::of(configuration).rank()).collect();
    let outcome = firsttouch_experiment::run(&plan, &mut launcher, &mut display);
    display.clear();

    warnings.extend(launcher.preparation.into_warnings());
    warnings.extend(outcome.warnings);
    let mut reports = outcome.configurations;
    for ((report, configuration), receipt) in reports.iter_mut().zip(&configurations).zip(receipts) {
        report.asked = configuration.placement().cloned();
        report.obtained = receipt;
    }
    let mut report = TuneReport {
        schema_version: SCHEMA_VERSION,
        command: subject.command(),
        seed,
        started,
        machine: serde_json::to_value(&status.machine)?,
        configurations: reports,
        skipped: choice.skipped,
        winner: outcome.winner.map(|winner| names[winner].clone()),
        tied_with: outcome.winner.zip(outcome.tied_with).map(|(winner, (displaced, ratio))| Tie {
            name: names[displaced].clone(),
            ratio,
            why: intrusion::spared(&configurations[winner], &configurations[displaced]),
        }),
        confirmation: outcome.confirmation,
        interrupted: outcome.interrupted,
        quick: tune.quick || tune.demo,
        warnings,
    };
    report.warnings.extend(cost_of_memory(&report));
    export::tune(&report, &tune.export)?;
    if let Some((configuration, error)) = outcome.failure {
        return Err(failed(&names[configuration], error));
    }
    if let Some(file) = &tune.save {
        save::save(file, &report, &configurations, surroundings::key(&status.machine))?;
    }
    Ok(match () {
        () if report.interrupted => INTERRUPTED,
        () if tune.strict && !met(&report) => NOT_MET,
        () => 0,
    })
}

/// The built-in workload, as a program of its own.
fn demo() -> Outcome<Vec<std::ffi::OsString>> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    Ok(vec![program.into_os_string(), "demo-workload".into()])
}

fn plan(tune: &Tune, names: Vec<String>, seed: u64) -> Plan {
    let mut plan = Plan::new(names, seed);
    if tune.quick || tune.demo {
        plan = plan.quick();
    }
    plan.precision = tune.precision;
    plan.max_runs = tune.max_runs;
    plan.budget = tune.budget.or(tune.demo.then_some(DEMO_BUDGET));
    plan
}

/// A new seed, small enough to be typed and to be exact in every reader of JSON.
fn random_seed() -> u64 {
    RandomState::new().hash_one(std::process::id()) >> 32
}

fn openblas_warning(own: &mut Environment) -> Vec<String> {
    let set = environment::free_openblas(own);
    if set.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "{} taken out of the environment for every configuration, the baseline included: left in, the choice of \
         OpenBLAS would have been somebody's and not the processor's; unset {}",
        set.join(", "),
        set.join(" ")
    )]
}

fn choose(tune: &Tune, subject: &Subject, status: &StatusReport, here: &Here) -> Outcome<Choice> {
    let mut abilities = surroundings::abilities(status, here.is_measured());
    abilities.unreachable = subject.beyond(&Placement::default()).map(|(reason, explanation)| Obstacle {
        reason: explanation,
        remedy: Some(reason.remedy().to_owned()),
    });
    abilities.jvm = subject.is_jvm();
    configs::choose(&tune.baseline, &tune.configs, tune.rivals, &abilities).map_err(|error| {
        let (code, hint) = match &error {
            ChoiceError::Nothing { skipped } => {
                (1, skipped.iter().find_map(|skipped| skipped.remedy.clone()))
            }
            _ => (
                USAGE,
                Some("firsttouch tune --configs 'thp thp,prefault 2m,min-size=4M' -- PROGRAM".to_owned()),
            ),
        };
        let failure = Failure::new(error).code(code);
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    })
}

/// Makes the configurations ready; those whose allocator is not installed, or whose means cannot reach the program,
/// are skipped.
fn prepare(choice: &mut Choice, subject: &Subject, own: &Environment, here: &Here) -> Outcome<Vec<Variant>> {
    let agent = agent::install()?;
    let mut variants = Vec::new();
    for configuration in std::mem::take(&mut choice.configurations) {
        let name = configuration.name.clone();
        let beyond = configuration.placement().and_then(|placement| subject.beyond(placement));
        let obstacle = match beyond {
            Some((reason, explanation)) => (explanation, reason.remedy().to_owned()),
            None => match Variant::prepare(configuration, subject, own, &agent, here) {
                Ok(variant) => {
                    variants.push(variant);
                    continue;
                }
                Err(missing) => (missing.to_string(), missing.remedy()),
            },
        };
        let (reason, remedy) = obstacle;
        if variants.is_empty() {
            return Err(Failure::message(format!("the baseline cannot run here: {reason}")).hint(remedy));
        }
        choice.skipped.push(SkippedConfiguration { name, reason, remedy: Some(remedy) });
    }
    if variants.len() < 2 {
        let failure = Failure::message("nothing is left to compare with the baseline");
        return Err(match choice.skipped.last() {
            Some(SkippedConfiguration { reason, remedy: Some(remedy), .. }) => Failure::new(
                anyhow::anyhow!("{reason}").context("nothing is left to compare with the baseline"),
            )
            .hint(remedy),
            _ => failure,
        });
    }
    Ok(variants)
}

fn announce(variants: &[Variant], skipped: &[SkippedConfiguration], seed: u64) {
    let names: Vec<&str> = variants.iter().map(|variant| variant.configuration.name.as_str()).collect();
    output::message(&format!("comparing {} (seed {seed})\n", names.join(", ")));
    if !skipped.is_empty() {
        let names: Vec<&str> = skipped.iter().map(|skipped| skipped.name.as_str()).collect();
        output::message(&format!("not possible here: {} (the end says why)\n", names.join(", ")));
    }
}

/// A configuration and what its untimed run showed; `None` if the session was interrupted before.
struct Probed {
    variant: Variant,
    probe: Option<launcher::Probe>,
}

impl Probed {
    fn receipt(&self) -> Option<Receipt> {
        // Without a placement nothing was asked, so there is nothing to hold against it.
        self.variant.configuration.placement()?;
        let probe = self.probe.as_ref()?;
        let mut receipt = probe.receipt.clone();
        receipt
            .notes
            .extend(probe.openblas_core.iter().map(|core| format!("OpenBLAS runs its code for {core}")));
        Some(receipt)
    }
}

/// Runs every configuration once, untimed. A baseline that fails ends the session; another configuration is left out.
fn probe(
    variants: Vec<Variant>,
    choice: &mut Choice,
    interrupt: &Interrupt,
    thp_mode: Option<&str>,
    warnings: &mut Vec<String>,
) -> Outcome<Vec<Probed>> {
    let folder = Workshop::new().context("cannot make a folder")?;
    let mut probed: Vec<Probed> = Vec::new();
    let mut follows = false;
    for mut variant in variants {
        if follows {
            variant.follow();
        }
        let name = variant.configuration.name.clone();
        if interrupt.asked() {
            probed.push(Probed { variant, probe: None });
            continue;
        }
        output::message(&format!("looking at {name}\n"));
        match variant.probe(folder.path(), interrupt.kill()) {
            Ok(probe) => {
                if probed.is_empty() {
                    warnings.extend(about_the_baseline(&variant.configuration, &probe, thp_mode));
                    if let Some(advice) = about_the_worker(&probe) {
                        follows = advice.follow;
                        warnings.push(match advice.follow {
                            true => format!("{}: the agent was told to follow (--follow)", advice.what),
                            false => format!("{}: {}", advice.what, advice.mend),
                        });
                    }
                }
                probed.push(Probed { variant, probe: Some(probe) });
            }
            Err(_) if interrupt.asked() => probed.push(Probed { variant, probe: None }),
            Err(error) if probed.is_empty() => return Err(failed(&name, error)),
            Err(error) => {
                warnings.push(format!("{name} is left out: {error}"));
                let reason = "the program failed in its untimed run".to_owned();
                choice.skipped.push(SkippedConfiguration { name, reason, remedy: None });
            }
        }
    }
    if let Some(core) = probed.iter().find_map(|probed| probed.probe.as_ref()?.openblas_core.as_ref()) {
        output::message(&format!("OpenBLAS runs its code for {core}\n"));
    }
    Ok(probed)
}

/// Whether the work is left to other programs, by what was seen of the baseline.
fn about_the_worker(probe: &launcher::Probe) -> Option<worker::Advice> {
    worker::advice(&Placement::default(), probe.receipt.tree.as_ref()?)
}

/// A plain baseline may have huge pages already: then little is to be expected, and the reader should know.
fn about_the_baseline(
    configuration: &Configuration,
    probe: &launcher::Probe,
    thp_mode: Option<&str>,
) -> Option<String> {
    let obtained = probe.receipt.obtained.as_ref().filter(|_| configuration.placement().is_none())?;
    let share = obtained.share_on_pages_of(firsttouch_placement::Pages::Transparent.bytes() as u64)?;
    // Elsewhere than in mode `always` only who asks has them: NumPy does, jemalloc and Java can.
    let why = match thp_mode {
        Some("always") => "the machine gives them unasked (transparent huge pages: always)",
        _ => "the program, or a library in it, asks for them itself",
    };
    (share >= HUGE_BASELINE).then(|| {
        format!(
            "{:.0} % of the baseline's {} lie on huge pages already: {why}, so there is less to gain",
            share * 100.0,
            format_bytes(obtained.placed_bytes)
        )
    })
}

fn warm_bytes(
    tune: &Tune,
    status: &StatusReport,
    probed: &[Probed],
    warnings: &mut Vec<String>,
) -> Option<u64> {
    /// Half as much again as the program uses: the kernel does not hand out just the pages that the warm-up had, and
    /// with an eighth more, one run in ten was still slow.
    const MARGIN: (u64, u64) = (3, 2);
    if !surroundings::needs_warming(&status.machine) {
        return None;
    }
    let peaks = probed.iter().filter_map(|probed| Some(probed.probe.as_ref()?.memory_bytes));
    let bytes = (!tune.no_warm).then(|| peaks.max()).flatten().map(|peak| peak / MARGIN.1 * MARGIN.0);
    if let Some(trap) = status.machine.traps.iter().find(|trap| trap.name == "free-page-reporting") {
        let done = match bytes {
            Some(bytes) => format!("{} were touched and released before every run", format_bytes(bytes)),
            None => "runs were not warmed up; leave --no-warm out".to_owned(),
        };
        warnings.push(format!("on this machine {}; {done}", trap.what));
    }
    bytes
}

/// A gain that is paid in memory, which other programs may need.
fn cost_of_memory(report: &TuneReport) -> Option<String> {
    let more = report.more_memory()?;
    let (winner, baseline) = report.confirmed_memory_bytes()?;
    Some(format!(
        "{} needs {:.0} % more memory at its peak than the baseline ({} instead of {}, medians): where memory is scarce, try it \
         with a larger min-size, or without prefault and heap",
        report.winner.as_deref()?,
        100.0 * more,
        format_bytes(winner),
        format_bytes(baseline)
    ))
}

fn failed(name: &str, error: RunError) -> Failure {
    let failure = match error {
        RunError::Launch(error) => program::not_started(error),
        error => {
            Failure::new(anyhow::Error::new(error).context(format!("the program failed under `{name}`")))
                .hint("the program must end by itself, with status 0, before it can be timed")
        }
    };
    failure.code(1)
}

/// Whether every configuration ran, obtained what it asked for, and has a verdict.
fn met(report: &TuneReport) -> bool {
    let obtained = report.configurations.iter().all(|configuration| {
        match (&configuration.asked, &configuration.obtained) {
            (Some(asked), Some(receipt)) => launcher::obtained_enough(asked, receipt),
            (Some(_), None) => false,
            (None, _) => true,
        }
    });
    let decided = report.configurations.iter().all(|configuration| {
        configuration.verdict != Some(Verdict::Undecided) && !configuration.runs.is_empty()
    });
    // Nothing is missing on a machine without a second node.
    let all_ran = report.skipped.iter().all(|skipped| skipped.reason == nodes::ONE_NODE);
    all_ran && obtained && decided
}
