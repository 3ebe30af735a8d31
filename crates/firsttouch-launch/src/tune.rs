//! A session of `tune`: chooses configurations, looks at each of them once, compares them, and confirms what it recommends.

mod error;
mod observer;
mod probing;
mod variants;
mod warnings;
mod words;

pub use error::TuneError;
pub use observer::{Stage, TuneObserver};
pub use words::{Budget, parse_budget, parse_share, parse_time};

use crate::combination::{Combination, Template};
use crate::conditions::Conditions;
use crate::configurations::{self, Configuration};
use crate::environment::free_openblas;
use crate::here::Here;
use crate::intrusion::{Intrusion, spared};
use crate::metric::Meter;
use crate::nodes::ONE_NODE;
use crate::preparation::{Preparation, WarmUp};
use crate::probe::obtained_enough;
use crate::profile::{NoProfile, profile};
use crate::session::{Interruption, Session};
use crate::subject::Job;
use crate::surroundings::{Supplies, key, needs_warming};
use crate::vary::Dimension;
use crate::workshop::Workshop;
use firsttouch_experiment::{Objective, Observer, Plan, TimedRun};
use firsttouch_linux::program::text_of;
use firsttouch_machine::{Root, StatusReport};
use firsttouch_placement::{ConfigurationReport, Profile, Receipt, TuneReport};
use firsttouch_process::{Environment, Event, Stream};
use probing::{Probed, UntimedTime};
use std::ffi::OsString;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::time::{Duration, Instant};
use variants::Compared;

/// What is asked of a session.
#[derive(Clone, Debug)]
pub struct TuneRequest<'a> {
    /// The program and its arguments; `{name}` in them stands for the values of that name.
    pub command: &'a [OsString],
    /// What is varied in it. Where something is, no placements are tried but those that are asked for.
    pub vary: &'a [Dimension],
    /// The program is a launcher, and [`crate::RANKS_PLACE`] in its words stands for what places each rank.
    pub job: Option<Job<'a>>,
    /// Its environment; what would decide the speed of linear algebra instead of a placement is taken out of it.
    pub environment: &'a Environment,
    /// The machine we are on, and what it can do.
    pub status: &'a StatusReport,
    /// The file of `firsttouch measure`, if there is one.
    pub kept: Option<&'a Path>,
    /// What to compare with: `plain`, or a placement in the short form.
    pub baseline: &'a str,
    /// Lists of placements in the short form; without any they are chosen by what the machine can do.
    pub configurations: &'a [String],
    /// Try the ways others have, too.
    pub alternatives: bool,
    /// Seed of the random order; `None` for a new one.
    pub seed: Option<u64>,
    /// Do not spend time on telling those apart that are faster than the baseline.
    pub quick: bool,
    /// What is judged, and which direction is better.
    pub objective: &'a Objective,
    /// Half-width of the band around 1 in which a ratio counts as the same.
    pub same_band: f64,
    /// Go on until each ratio is known this well, too: half the width of its interval as a share of it.
    pub precision: Option<f64>,
    /// Most timed runs of each configuration.
    pub max_runs: Option<u32>,
    /// Most time for the whole session.
    pub budget: Option<Duration>,
    /// The program's input, and what is done before and after its runs.
    pub conditions: Conditions,
    /// Untimed runs of each configuration before the timed ones. The first is the look at what it obtains, which there always is.
    pub untimed_runs: u32,
    /// What touches memory before the timed runs where that matters; `None` leaves it out.
    pub warm_up: Option<WarmUp>,
    /// Where the program's output and error output go in the timed runs.
    pub output: Stream,
    /// When the session began, for the budget.
    pub began: Instant,
    /// The same as the report has it: RFC 3339 in UTC.
    pub started: String,
}

/// What came of a session.
#[derive(Debug)]
pub struct Tuned {
    /// The tune document; of what was finished, where the session was cut short or a run failed.
    pub report: TuneReport,
    /// The recommended placement, or why there is none to keep.
    pub profile: Result<Profile, NoProfile>,
    /// The timed run that failed and ended the session, if one did.
    pub failure: Option<TuneError>,
}

/// Runs a session. `interruption` is asked before each run, `observer` told what happens.
///
/// The program is forked from this process, and the kernel counts the largest resident set of what is forked in that of the
/// program: whoever has much memory has a small process of its own do this.
///
/// # Errors
/// Where nothing can be compared, or the program fails in its untimed run. Of a timed run that fails the answer tells.
pub fn tune(
    request: &TuneRequest<'_>,
    interruption: &dyn Interruption,
    observer: &mut dyn TuneObserver,
) -> Result<Tuned, TuneError> {
    let asked = configurations::asked(request.baseline, request.configurations)?;
    let named = asked.configurations.len();
    let template = Template::new(request.command, &request.conditions, request.vary, named)?;
    let mut environment = request.environment.clone();
    let taken = free_openblas(&mut environment);
    let set_up = template.set_up(&environment).map_err(TuneError::Line);
    let tuned = set_up.and_then(|()| {
        let combinations = template.find(&environment)?;
        // Of several combinations each brings what was named.
        let named = if combinations.len() == 1 { named } else { usize::MAX };
        compare(
            request,
            &combinations,
            named,
            &environment,
            warnings::of_openblas(&taken),
            interruption,
            observer,
        )
    });
    let cleaned_up = template.clean_up(&environment);
    // Where the session failed, its own error is what is to be told.
    let mut tuned = tuned?;
    tuned.report.warnings.extend(cleaned_up.err().map(|error| error.to_string()));
    Ok(tuned)
}

/// Looks at the configurations, compares them, and reports. Somebody asked for the first `named` of them by name.
fn compare(
    request: &TuneRequest<'_>,
    combinations: &[Combination],
    named: usize,
    environment: &Environment,
    warning: Option<String>,
    interruption: &dyn Interruption,
    observer: &mut dyn TuneObserver,
) -> Result<Tuned, TuneError> {
    for path in combinations.iter().filter_map(|it| it.conditions.input.as_ref()) {
        let unreadable = |source| TuneError::Input { path: path.clone(), source };
        if path.metadata().map_err(unreadable)?.file_type().is_fifo() {
            return Err(TuneError::InputIsPipe { path: path.clone() });
        }
        File::open(path).map_err(unreadable)?;
    }
    let machine = &request.status.machine;
    let folder = Workshop::new(environment).map_err(TuneError::Folder)?;
    let shows_output = !matches!(request.output, Stream::Null);
    let meter = Meter::new(request.objective, folder.path(), shows_output)?;
    let meters: Vec<Meter> = combinations.iter().map(|it| meter.filled(&it.values)).collect();
    let mut warnings: Vec<String> = warning.into_iter().collect();
    let here = Here::on(machine.clone(), request.kept);
    warnings.extend(warnings::of_unread(&here));
    let Compared { variants, mut skipped } = Compared::new(request, combinations, &here, environment)?;
    let seed = request.seed.unwrap_or_else(random_seed);
    observer::announce(observer, &variants, &skipped, seed);

    let supplies = Supplies::read(&Root::live());
    let time = UntimedTime { began: request.began, budget: request.budget };
    let looks = probing::Looks {
        interruption,
        environment,
        combinations,
        meters: &meters,
        folder: folder.path(),
        thp_mode: machine.thp_mode(),
        of_job: request.job.is_some(),
        time,
        named,
    };
    let warm_up = request.warm_up.clone().filter(|_| needs_warming(machine));
    let mut preparation = Preparation::new(supplies, warm_up, environment);
    let probed = looks.at_all(variants, &mut preparation, &mut skipped, &mut warnings, observer)?;
    warnings.extend(warnings::of_warming(request, preparation.warm_bytes()));
    let pool_bytes =
        probed.iter().map(|probed| probed.probe.as_ref().map_or(0, |probe| probe.pool_bytes)).collect();
    let untimed =
        probed.iter().map(|it| it.probe.as_ref().map_or_else(TimedRun::default, |it| it.used.clone()));
    let untimed = untimed.collect();
    let receipts: Vec<Option<Receipt>> = probed.iter().map(Probed::receipt).collect();
    let configurations: Vec<Configuration> =
        probed.iter().map(|probed| probed.variant.configuration.clone()).collect();
    let numbers: Vec<usize> = probed.iter().map(|probed| probed.variant.combination).collect();
    let programs: Vec<&Combination> = numbers.iter().map(|&number| &combinations[number]).collect();
    let names: Vec<String> = configurations.iter().map(|configuration| configuration.name.clone()).collect();

    let commands: Vec<Vec<String>> = probed.iter().map(|probed| probed.variant.start.command()).collect();
    let mut session = Session {
        starts: probed.into_iter().map(|probed| probed.variant.start).collect(),
        interruption,
        preparation,
        conditions: programs.iter().map(|program| &program.conditions).collect(),
        environment,
        output: request.output.clone(),
        root: Root::live(),
        meters: numbers.iter().map(|&number| &meters[number]).collect(),
        pool_bytes,
        events: Event::ALL.to_vec(),
        began: request.began,
    };
    let untimed_runs = warm_up_by_runs(&mut session, request.untimed_runs, time, &names, observer)?;
    warnings.extend(warnings::of_untimed(untimed_runs, request.untimed_runs));
    observer.timing(&names);
    let cold = needs_warming(machine) && session.preparation.warm_bytes() == 0;
    let plan = Plan { untimed, cold, ..plan(request, &configurations, seed) };
    let observer: &mut dyn Observer = observer;
    let outcome = firsttouch_experiment::run(&plan, &mut session, observer);

    warnings.extend(session.preparation.into_warnings());
    warnings.extend(outcome.warnings);
    let reports =
        configurations.iter().zip(&programs).zip(commands).zip(receipts).zip(outcome.configurations).map(
            |((((configuration, program), command), obtained), proved)| ConfigurationReport {
                name: configuration.name.clone(),
                varied: program.values.texts(),
                command: Some(command),
                case: None,
                asked: configuration.placement().cloned(),
                obtained,
                proved,
            },
        );
    let mut report = TuneReport {
        command: request.command.iter().map(|word| text_of(word.as_bytes())).collect(),
        seed,
        started: request.started.clone(),
        objective: plan.objective,
        // All its keys are text: nothing can be wrong with it.
        machine: serde_json::to_value(machine).unwrap_or_default(),
        configurations: reports.collect(),
        skipped,
        best: outcome.best.iter().map(|&index| names[index].clone()).collect(),
        recommended: outcome.recommended.map(|recommended| names[recommended].clone()),
        spares: outcome
            .recommended
            .zip(outcome.best.first())
            .filter(|(recommended, fastest)| recommended != *fastest && outcome.best.contains(recommended))
            .map(|(recommended, &fastest)| spared(&configurations[recommended], &configurations[fastest])),
        confirmation: outcome.confirmation,
        interrupted: outcome.interrupted,
        same_band: request.same_band,
        quick: request.quick,
        warnings,
    };
    report.warnings.extend(warnings::of_memory(&report));
    Ok(Tuned {
        profile: profile(&report, &configurations, key(machine)),
        failure: outcome.failure.map(|(configuration, error)| TuneError::run(&names[configuration], error)),
        report,
    })
}

impl Tuned {
    /// Whether every configuration ran, obtained what it asked for, and has a verdict.
    pub fn is_met(&self) -> bool {
        let obtained = self.report.configurations.iter().all(|configuration| {
            match (&configuration.asked, &configuration.obtained) {
                (Some(asked), Some(receipt)) => obtained_enough(asked, receipt),
                (Some(_), None) => false,
                (None, _) => true,
            }
        });
        let alternatives = self.report.configurations.iter().skip(1);
        let decided = alternatives.map(|configuration| &configuration.proved).all(|it| it.decided.is_some());
        // Nothing is missing on a machine without a second node.
        let all_ran = self.report.skipped.iter().all(|skipped| skipped.reason == ONE_NODE);
        all_ran && obtained && decided
    }
}

/// Runs all configurations in turn as often as is left of their untimed runs and there is time for, or until the session is interrupted. The
/// answer is how many untimed runs each had time for.
fn warm_up_by_runs(
    session: &mut Session<'_, &dyn Interruption>,
    runs: u32,
    time: UntimedTime,
    names: &[String],
    observer: &mut dyn TuneObserver,
) -> Result<u32, TuneError> {
    for run in 2..=runs {
        if !time.suffices_after(run as usize - 1) {
            return Ok(run - 1);
        }
        observer.stage(&Stage::WarmingUp { run, runs });
        for (index, name) in names.iter().enumerate() {
            if session.interruption.asked() {
                return Ok(runs);
            }
            let done = session.run(index, Vec::new());
            // A run that was told to end has not failed.
            done.map(drop).or_else(|error| match session.interruption.asked() {
                true => Ok(()),
                false => Err(TuneError::run(name, error)),
            })?;
        }
    }
    Ok(runs)
}

fn plan(request: &TuneRequest<'_>, configurations: &[Configuration], seed: u64) -> Plan {
    let names = configurations.iter().map(|configuration| configuration.name.clone()).collect();
    let plan = Plan::new(names, seed);
    Plan {
        objective: request.objective.clone(),
        same_band: request.same_band,
        precision: request.precision,
        max_runs: request.max_runs,
        budget: request.budget,
        intrusion: configurations.iter().map(|configuration| Intrusion::of(configuration).rank()).collect(),
        ..if request.quick { plan.quick() } else { plan }
    }
}

/// A new seed, small enough to be typed and to be exact in every reader of JSON.
fn random_seed() -> u64 {
    RandomState::new().hash_one(std::process::id()) >> 32
}
