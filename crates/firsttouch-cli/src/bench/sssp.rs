//! `bench sssp`: the variants of "NUMA-affinity: APSP(NY)" (2010) for searches from many sources by many threads, in randomised blocks, with
//! verdicts.

use crate::args::{BenchSssp, ThreadNumbers};
use crate::exit::INTERRUPTED;
use crate::interrupt::Interrupt;
use crate::output::{Failure, Outcome};
use crate::tune::display::Display;
use crate::{clock, export, program, reading};
use anyhow::Context;
use firsttouch_documents::{AnyDocument, GraphFigures, GraphReceipt, SearchBench, SearchVariant};
use firsttouch_experiment::{Launcher, Plan, RunRequest, TimedRun};
use firsttouch_graph::{Format, Loaded, Place, ReadOptions, Recipe, core_groups, generate, read, save};
use firsttouch_launch::{Manner, Ran, RunError, Start, Subject, Waiting, Workshop, padding, run_once};
use firsttouch_linux::numa;
use firsttouch_machine::{Machine, Node, Root, pages_ability};
use firsttouch_placement::{ConfigurationReport, SkippedConfiguration, TuneReport};
use firsttouch_process::{Environment, Stream};
use firsttouch_threads::Team;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

const THIS_THREAD: u32 = 0;
/// Sides of the streets that are searched when no graph is named.
const STREETS: (u32, u32) = (512, 256);

/// A way to let the threads of a machine search.
#[derive(Clone, Debug)]
struct Variant {
    name: String,
    threads: usize,
    /// The options of each of its processes, beside those that all have.
    processes: Vec<Vec<String>>,
}

impl Variant {
    fn new(name: impl Into<String>, threads: usize, options: &str) -> Variant {
        let words = options.split_whitespace().map(str::to_owned).collect();
        Variant { name: name.into(), threads, processes: vec![words] }
    }
}

pub(crate) fn run(args: &BenchSssp) -> Outcome {
    export::check(args.export.json, args.export.files())?;
    let began = Instant::now();
    let started = clock::now();
    let interrupt = Interrupt::of_runs().context("cannot listen for Ctrl-C")?;
    let machine = Machine::read(&Root::live())?;
    let mut team = reading::team(None)?;
    let (name, loaded) = loaded(args, &mut team)?;
    let figures = GraphFigures::from(&loaded.graph);
    // In our own format it is read in no time by every process.
    let environment = program::environment();
    let folder = Workshop::new(&environment).context("cannot make a folder")?;
    let file = folder.path().join("graph.ftg");
    save(&loaded, &file, Format::Binary, &mut team).map_err(Failure::hinted)?;
    drop((loaded, team));

    let (variants, skipped) = variants(&machine, args.num_threads.as_ref())?;
    let names: Vec<String> = variants.iter().map(|variant| variant.name.clone()).collect();
    let mut plan = Plan::new(names.clone(), args.seed);
    if args.quick {
        plan = plan.quick();
    }
    (plan.budget, plan.max_runs) = (args.budget.0, args.max_runs);
    let mut launcher = Processes {
        starts: starts(args, &variants, &file, &environment)?,
        folder: folder.path().to_owned(),
        receipts: vec![None; variants.len()],
        variants,
        sum: None,
        began,
        interrupt: interrupt.clone(),
    };
    let mut display = Display::new(names.clone(), &plan.objective, interrupt);
    let outcome = firsttouch_experiment::run(&plan, &mut launcher, &mut display);
    display.clear();
    let reports = names.iter().zip(outcome.configurations).map(|(name, proved)| ConfigurationReport {
        name: name.clone(),
        varied: BTreeMap::new(),
        command: None,
        case: None,
        asked: None,
        obtained: None,
        proved,
    });
    let session = TuneReport {
        command: vec!["firsttouch".into(), "bench".into(), "sssp".into(), name.clone()],
        seed: args.seed,
        started,
        objective: plan.objective,
        machine: serde_json::to_value(&machine)?,
        configurations: reports.collect(),
        skipped,
        best: outcome.best.iter().map(|&variant| names[variant].clone()).collect(),
        recommended: outcome.recommended.map(|variant| names[variant].clone()),
        spares: None,
        confirmation: outcome.confirmation,
        interrupted: outcome.interrupted,
        same_band: plan.same_band,
        quick: args.quick,
        warnings: outcome.warnings,
    };
    let work = figures.arcs as f64 * f64::from(args.queries);
    let receipts = launcher.receipts.into_iter();
    let rows = launcher.variants.iter().zip(receipts).zip(&session.configurations).map(
        |((variant, receipt), ConfigurationReport { proved, .. })| SearchVariant {
            name: variant.name.clone(),
            threads: variant.threads,
            teps: (!proved.runs.is_empty()).then(|| work / proved.mean_wall_s),
            receipt,
        },
    );
    let report = SearchBench {
        name,
        graph: figures,
        queries: args.queries as usize,
        variants: rows.collect(),
        session,
    };
    let document = AnyDocument::ShortestPathsBench(Box::new(report));
    export::show(&document, args.export.json, &args.export.chosen())?;
    match outcome.failure {
        Some((variant, error)) => Err(Failure::new(error.context(format!("`{}` failed", names[variant])))),
        None => Ok(if outcome.interrupted { INTERRUPTED } else { 0 }),
    }
}

/// The graph that was named, or one that is made, and what to call it.
fn loaded(args: &BenchSssp, team: &mut Team) -> Outcome<(String, Loaded)> {
    let Some(file) = &args.file else {
        let (width, height) = STREETS;
        let made = generate(&Recipe::Streets { width, height }, args.seed, Place::default(), team);
        let made = made.map_err(Failure::hinted)?;
        return Ok((format!("streets of {width} x {height}"), made));
    };
    let loaded =
        read(file, &ReadOptions::default(), team).map_err(|error| reading::cannot_read(file, error))?;
    if loaded.graph.nodes() == 0 {
        return Err(Failure::message("the graph has no nodes to search from"));
    }
    Ok((file.display().to_string(), loaded))
}

/// Those variants, as this machine has them, and those that it cannot have.
fn variants(
    machine: &Machine,
    asked: Option<&ThreadNumbers>,
) -> Outcome<(Vec<Variant>, Vec<SkippedConfiguration>)> {
    let usable = numa::affinity(THIS_THREAD).map_err(io::Error::from_raw_os_error)?;
    let cpus: Vec<u32> = usable.iter().collect();
    let numbers = asked.map_or_else(|| vec![cpus.len()], |asked| asked.0.clone());
    if let Some(most) = numbers.iter().find(|number| **number > cpus.len()) {
        let what = format!("{most} threads are more than the {} CPUs that may be used", cpus.len());
        return Err(
            Failure::message(what).hint("firsttouch bench sssp --num-threads 1..N with N at most that")
        );
    }
    let reserved = pages_ability("2m", &[]).filter(|ability| ability.possible == Some(false));
    let mut made = Made { variants: Vec::new(), skipped: Vec::new() };
    for &threads in &numbers {
        let of = |name: &str| if asked.is_some() { format!("{name}, {threads}") } else { name.to_owned() };
        for (name, options) in [
            ("naive threads", "--pages 4k --unbound"),
            ("huge pages", "--pages thp --unbound"),
            ("affinity", "--pages 4k"),
            ("huge pages, affinity", "--pages thp"),
            ("reserved huge pages, affinity", "--pages 2m"),
        ] {
            match reserved.as_ref().filter(|_| options.contains("2m")) {
                Some(ability) if threads == numbers[0] => {
                    made.skip(name, &ability.why, ability.remedy.clone());
                }
                Some(_) => {}
                None => {
                    let options = format!("{options} --num-threads {threads}");
                    made.variants.push(Variant::new(of(name), threads, &options));
                }
            }
        }
    }
    made.processes(machine, &cpus);
    made.groups(machine, &cpus);
    if !numbers.contains(&1) || asked.is_none() {
        let naive = "--pages 4k --unbound --num-threads 1";
        made.variants.push(Variant::new("one thread, naive", 1, naive));
        made.variants.push(Variant::new("one thread", 1, "--pages thp --num-threads 1"));
    }
    Ok((made.variants, made.skipped))
}

/// Variants, and why others are not there.
struct Made {
    variants: Vec<Variant>,
    skipped: Vec<SkippedConfiguration>,
}

impl Made {
    fn skip(&mut self, name: impl Into<String>, reason: &str, remedy: Option<String>) {
        self.skipped.push(SkippedConfiguration { name: name.into(), reason: reason.to_owned(), remedy });
    }

    /// A process for each node that has CPUs and memory, with its part of the sources.
    fn processes(&mut self, machine: &Machine, cpus: &[u32]) {
        let is_usable =
            |node: &&Node| node.size_bytes != Some(0) && node.cpus.iter().any(|cpu| cpus.contains(cpu));
        let nodes: Vec<u32> = machine.nodes.iter().filter(is_usable).map(|node| node.id).collect();
        for (name, pages) in [("process per node", "4k"), ("process per node, huge pages", "thp")] {
            if nodes.len() < 2 {
                let why = "one node has CPUs and memory, on which it is the same as without";
                self.skip(name, why, None);
                continue;
            }
            let process = |(at, node): (usize, &u32)| {
                let share = format!("{at}/{}", nodes.len());
                ["--pages", pages, "--unbound", "--node", &node.to_string(), "--share", &share]
                    .map(str::to_owned)
                    .to_vec()
            };
            let processes = nodes.iter().enumerate().map(process).collect();
            self.variants.push(Variant { name: name.to_owned(), threads: cpus.len(), processes });
        }
    }

    /// Groups of all cores, one thread on each, from many small ones to one: within nodes as long as they fit, and of these the
    /// largest across the nodes, too.
    fn groups(&mut self, machine: &Machine, cpus: &[u32]) {
        let is_first = |cpu: &&u32| {
            let core = machine.cores.iter().find(|core| core.cpus.contains(cpu));
            core.is_none_or(|core| core.cpus.iter().find(|other| cpus.contains(other)) == Some(cpu))
        };
        let cores = cpus.iter().filter(is_first).count() as u32;
        let mut largest = None;
        for each in (1..=cores).filter(|each| cores.is_multiple_of(*each)) {
            let groups = cores / each;
            match core_groups(machine, cpus, each, groups) {
                Ok(_) => {
                    self.group(each, groups, "");
                    largest = (machine.nodes.len() > 1 && each > 1).then_some((each, groups)).or(largest);
                }
                Err(_) if groups == 1 => self.group(each, groups, "-across"),
                Err(error) => self.skip(format!("groups {each}x{groups}"), &error.to_string(), None),
            }
        }
        if let Some((each, groups)) = largest {
            self.group(each, groups, "-across");
        }
    }

    fn group(&mut self, cores: u32, groups: u32, across: &str) {
        let name = format!("groups {cores}x{groups}{}", across.replace('-', " "));
        let options = format!("--pages thp --groups {cores}x{groups}{across}");
        self.variants.push(Variant::new(name, (cores * groups) as usize, &options));
    }
}

/// The processes of each variant: this program, which searches and says how long that took.
fn starts(
    args: &BenchSssp,
    variants: &[Variant],
    file: &Path,
    environment: &Environment,
) -> Outcome<Vec<Vec<Start>>> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let start = |options: &Vec<String>| -> Outcome<Start> {
        let mut words: Vec<OsString> =
            vec![program.clone().into(), "bench".into(), "search".into(), file.into()];
        words.extend(
            ["--queries", &args.queries.to_string(), "--seed", &args.seed.to_string()].map(OsString::from),
        );
        words.extend(options.iter().map(OsString::from));
        let subject = Subject::find(&words, environment).map_err(program::not_runnable)?;
        Ok(Start::plain(&subject, environment.clone()))
    };
    variants.iter().map(|variant| variant.processes.iter().map(start).collect()).collect()
}

/// Runs a variant once: its processes at the same time.
struct Processes {
    starts: Vec<Vec<Start>>,
    /// What the processes say lies there.
    folder: PathBuf,
    variants: Vec<Variant>,
    /// What the memory of each obtained in its last run.
    receipts: Vec<Option<GraphReceipt>>,
    /// What all distances add up to, once known: every run must find the same.
    sum: Option<u64>,
    began: Instant,
    interrupt: Interrupt,
}

/// What a process says.
struct Found {
    seconds: f64,
    /// Of all distances.
    sum: u64,
    receipt: GraphReceipt,
}

impl Found {
    fn parse(text: &str) -> Option<Found> {
        let (figures, receipt) = text.trim().split_once('\n')?;
        let (seconds, sum) = figures.split_once(' ')?;
        let receipt = serde_json::from_str(receipt).ok()?;
        Some(Found { seconds: seconds.parse().ok()?, sum: sum.parse().ok()?, receipt })
    }
}

impl Launcher for Processes {
    type Error = anyhow::Error;

    fn launch(&mut self, request: &RunRequest) -> anyhow::Result<TimedRun> {
        let starts = &self.starts[request.configuration];
        let files = |index: usize| {
            [self.folder.join(format!("{index}.found")), self.folder.join(format!("{index}.said"))]
        };
        let stop = self.interrupt.kill();
        let ran: Vec<Result<Ran, RunError>> = thread::scope(|scope| {
            let run = |(index, start)| {
                let [found, said] = files(index).map(Stream::File);
                let manner = Manner {
                    streams: [Stream::Null, found, said],
                    variables: vec![padding(request)],
                    waiting: Waiting::Measuring { events: &[], stop },
                };
                scope.spawn(move || run_once(start, &manner, false))
            };
            let running: Vec<_> = starts.iter().enumerate().map(run).collect();
            running.into_iter().map(|one| one.join().expect("a run does not panic")).collect()
        });
        let (mut wall_s, mut sum, mut receipt) = (0.0_f64, 0_u64, None::<GraphReceipt>);
        for (index, ran) in ran.into_iter().enumerate() {
            let ended_well = ran.context("cannot run a search")?.finished.ending.is_success();
            let [found, said] = files(index).map(std::fs::read_to_string);
            let found = found.context("cannot read what a search found")?;
            let Some(found) = Found::parse(&found).filter(|_| ended_well) else {
                anyhow::bail!("{}", said.unwrap_or_default().trim().to_owned());
            };
            wall_s = wall_s.max(found.seconds);
            sum = sum.wrapping_add(found.sum);
            match &mut receipt {
                None => receipt = Some(found.receipt),
                Some(all) => {
                    all.copies += found.receipt.copies;
                    all.asked.nodes.extend(&found.receipt.asked.nodes);
                    all.add(&found.receipt);
                }
            }
        }
        self.receipts[request.configuration] = receipt;
        if *self.sum.get_or_insert(sum) != sum {
            anyhow::bail!("the distances add up to another sum than in the runs before");
        }
        Ok(TimedRun { wall_s, ..TimedRun::default() })
    }

    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn interrupted(&self) -> bool {
        self.interrupt.asked()
    }
}
