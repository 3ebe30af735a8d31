//! The runs that belong to the tests: every kind of pages and every way of the agent's, here and on older kernels.

use crate::guests;
use crate::here;
use crate::machine::{ControlGroup, Surroundings};
use crate::plan::Plan;
use crate::program::{Program, switched_library};
use crate::runner::{Asked, Skip, Tally};
use crate::setting::Setting;
use crate::shrink::{first, shrink, told};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

/// A run on this machine, with what it needs of it.
struct Here {
    name: &'static str,
    requires: &'static [&'static str],
    /// The C library is switched on and off meanwhile.
    switched: bool,
    plan: Plan,
}

impl Here {
    fn new(name: &'static str, plan: Plan) -> Here {
        Here { name, requires: &[], switched: false, plan }
    }

    fn requires(self, requires: &'static [&'static str]) -> Here {
        Here { requires, ..self }
    }
}

/// Operations of a worker: of a test as a whole, somewhat more than ten thousand.
const ALONE: u64 = 400;
const EACH: u64 = 120;
const THREADS: u32 = 4;
/// An emulated processor is slow, and its machine has little memory.
const IN_GUEST: u64 = 80;
const SMALL: &str = "--budget 240 --largest 64";
/// Its signals would come faster than it gets on.
const RARE_US: u64 = 50_000;

fn here() -> Vec<Here> {
    let alone = |placed: &str, seed| Plan::new(placed, seed, ALONE);
    let threads = |placed: &str, seed| Plan::new(placed, seed, EACH).by_threads(THREADS);
    let reserved = |plan: Plan| plan.with("--unit 2097152");
    let forking = Plan { signals: Some(1000), ..alone("--pages thp", 9).with("--forking-signals") };
    vec![
        // What a program may do without us, it may do with us: first that everything works without.
        Here::new("without us, alone", alone("", 1).bare()),
        Here::new("without us, by threads", threads("", 2).bare()),
        Here::new("thp, alone", alone("--pages thp", 1)),
        Here::new("thp, by threads", threads("--pages thp", 2)),
        Here::new("4k, alone", alone("--pages 4k", 3)),
        Here::new("4k, by threads", threads("--pages 4k", 3)),
        Here::new("plain, by threads", threads("--pages plain", 4)),
        Here::new("64k, alone", alone("--pages 64k", 4)),
        Here::new("small blocks too, alone", alone("--min-size 64K", 5)),
        Here::new("small blocks too, by threads", threads("--min-size 64K", 5)),
        Here::new("heap, by threads", threads("--heap", 6)),
        Here::new("prefault, by threads", threads("--prefault", 7)),
        Here::new("prefault in the background, by threads", threads("--prefault=background", 14)),
        // Programs start slowly with an agent that is built for debugging.
        Here::new(
            "with the programs it starts, by threads",
            Plan { operations: EACH / 2, ..threads("--follow", 8) },
        ),
        Here::new("handlers that fork", forking),
        // A pool that suffices now and then, and one that runs empty at once.
        Here::new("2m, alone", reserved(alone("--pages 2m", 10))).requires(&["pool2m=96"]),
        Here::new("2m from a small pool, by threads", reserved(threads("--pages 2m", 11)))
            .requires(&["pool2m=12"]),
        Here::new("in a control group", threads("--pages thp", 13)).requires(&["cgroup=3G"]),
        Here::new("attached to all the while", Plan { attached: true, ..threads("--attachable", 12) }),
        Here {
            switched: true,
            ..Here::new("the library switched on and off, by threads", threads("", 14).bare())
        },
    ]
}

fn in_guest() -> Vec<(&'static str, Plan)> {
    let plan = |placed: &str, seed| Plan::new(placed, seed, IN_GUEST).with(SMALL);
    let slow = |plan: Plan| Plan { signals: Some(RARE_US), operations: IN_GUEST / 4, ..plan.by_threads(2) };
    vec![
        ("thp", plan("--pages thp", 21)),
        ("64k", plan("--pages 64k", 22)),
        ("weighted", plan("--memory weighted", 23)),
        ("4k, small blocks too", plan("--pages 4k --min-size 64K", 24)),
        ("thp, by threads", slow(plan("--pages thp", 25))),
    ]
}

/// The machine with several nodes, of different bandwidths.
pub(crate) fn guest(newer: bool) -> Setting {
    let setting = Setting::of("cxl");
    if newer { setting.newer() } else { setting }
}

/// Runs a plan here; a failure is shortened and told.
pub(crate) fn run_here(plan: &Plan, program: &Program) {
    let Some(said) = here::run(plan, program) else { return };
    let repeats = if plan.threads.is_some() { 2 } else { 1 };
    let bare = here::run(&plan.bare(), program);
    assert_eq!(bare, None, "it fails without us, too");
    let (shortest, shorter) = shrink(plan, &said, &program.kinds, &mut |plans, sign| {
        first(plans.iter().map(|plan| (0..repeats).find_map(|_| here::run(plan, program))), sign)
    });
    panic!("{}", told(&said, &shortest, &shorter, &shortest.shown(None, program)));
}

/// Runs plans in a guest; the first failure is shortened and told.
pub(crate) fn run_in_guest(setting: &Setting, plan: &Plan, said: &str, program: &Program) {
    let (shortest, shorter) = shrink(plan, said, &program.kinds, &mut |plans, sign| {
        first(guests::run(setting, plans, program).unwrap_or_default(), sign)
    });
    let release = setting.release.to_string();
    let command = shortest.shown(Some((setting.machine, &release)), program);
    panic!("{}", told(said, &shortest, &shorter, &command));
}

/// All runs that are asked for.
pub(crate) fn run(asked: &Asked, tally: &mut Tally) {
    let guests: Vec<(bool, Vec<(String, Plan)>)> = [false, true]
        .map(|newer| {
            let named = |(name, plan)| (format!("{name}, on Linux {}", guest(newer).release), plan);
            let wanted = in_guest().into_iter().map(named).filter(|(name, _)| asked.wants(name)).collect();
            (newer, wanted)
        })
        .into();
    let runs: Vec<Here> = here().into_iter().filter(|run| asked.wants(run.name)).collect();
    if asked.list {
        let in_guests = guests.iter().flat_map(|(_, plans)| plans.iter().map(|(name, _)| name.as_str()));
        runs.iter().map(|run| run.name).chain(in_guests).for_each(|name| println!("{name}: test"));
        return;
    }
    let program = match Program::compile() {
        Ok(program) => program,
        Err(Skip(why)) => {
            runs.iter().for_each(|run| tally.count(run.name, None, Ok(Err(Skip(why.clone())))));
            return;
        }
    };
    // One after the other they left a third of two processors idle.
    let tally = Mutex::new(tally);
    thread::scope(|scope| {
        scope.spawn(|| {
            guests.iter().for_each(|(newer, plans)| boot(&tally, &guest(*newer), plans, &program));
        });
        for run in &runs {
            let begun = Instant::now();
            let result = catch_unwind(AssertUnwindSafe(|| {
                let requires: Vec<String> = run.requires.iter().map(|word| (*word).to_owned()).collect();
                let surroundings = Surroundings::make(&requires)?;
                let before = surroundings.group.as_ref().map(ControlGroup::enter);
                let switched = run.switched.then(switched_library);
                let plan = Plan { before, switched, ..run.plan.clone() };
                run_here(&plan, &program);
                Ok(())
            }));
            tally.lock().unwrap().count(run.name, Some(begun.elapsed()), result);
        }
    });
}

fn boot(tally: &Mutex<&mut Tally>, setting: &Setting, plans: &[(String, Plan)], program: &Program) {
    let begun = Instant::now();
    let all: Vec<Plan> = plans.iter().map(|(_, plan)| plan.clone()).collect();
    if all.is_empty() {
        return;
    }
    match catch_unwind(AssertUnwindSafe(|| guests::run(setting, &all, program))) {
        Ok(Ok(failures)) => {
            println!("{setting}: {} runs in {:.1} s", all.len(), begun.elapsed().as_secs_f64());
            for ((name, plan), failure) in plans.iter().zip(failures) {
                let told = catch_unwind(AssertUnwindSafe(|| {
                    if let Some(said) = failure {
                        run_in_guest(setting, plan, &said, program);
                    }
                }));
                tally.lock().unwrap().count(name, None, told.map(Ok));
            }
        }
        Ok(Err(Skip(why))) => {
            plans
                .iter()
                .for_each(|(name, _)| tally.lock().unwrap().count(name, None, Ok(Err(Skip(why.clone())))));
        }
        Err(_) => plans
            .iter()
            .for_each(|(name, _)| tally.lock().unwrap().count(name, None, Err(Box::new("no boot")))),
    }
}
