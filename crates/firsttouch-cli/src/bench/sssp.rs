//! `bench sssp`: the document's ways to search from many sources by many threads, in randomised blocks, with verdicts.

use crate::args::BenchSssp;
use crate::output::{self, Failure, Outcome};
use crate::tune::interrupt::{INTERRUPTED, Interrupt};
use crate::tune::progress::Display;
use crate::workshop::Workshop;
use crate::{clock, export, graph};
use anyhow::Context;
use firsttouch_experiment::{Launcher, Plan, RunRequest, Sample};
use firsttouch_graph::{
    Format, GraphFigures, Loaded, Place, ReadOptions, Recipe, SearchBench, SearchWay, core_groups, generate,
    read, save,
};
use firsttouch_linux::numa;
use firsttouch_machine::{Machine, Root};
use firsttouch_placement::{SCHEMA_VERSION, SkippedConfiguration, TuneReport};
use firsttouch_report::{Style, csv, html, json, markdown, text};
use firsttouch_threads::Team;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const THIS_THREAD: u32 = 0;
/// Sides of the streets that are searched when no graph is named.
const STREETS: (u32, u32) = (512, 256);
/// Filled with as many bytes as the session asks for; see [`RunRequest::environment_offset_bytes`].
const PADDING: &str = "FIRSTTOUCH_PADDING";

/// A way to let the threads of a machine search.
#[derive(Clone, Debug)]
struct Way {
    name: String,
    threads: usize,
    /// The options of each of its processes, beside those that all have.
    processes: Vec<Vec<String>>,
}

impl Way {
    fn new(name: impl Into<String>, threads: usize, options: &str) -> Way {
        let words = options.split_whitespace().map(str::to_owned).collect();
        Way { name: name.into(), threads, processes: vec![words] }
    }
}

pub(crate) fn run(args: &BenchSssp) -> Outcome {
    export::check(args.export.json, args.export.files())?;
    let began = Instant::now();
    let started = clock::now();
    let interrupt = Interrupt::listen().context("cannot listen for Ctrl-C")?;
    let machine = Machine::read(&Root::live())?;
    let mut team = graph::team(None)?;
    let (name, loaded) = loaded(args, &mut team)?;
    let figures = GraphFigures::from(&loaded.graph);
    // In our own format it is read in no time by every process.
    let folder = Workshop::new().context("cannot make a folder")?;
    let file = folder.path().join("graph.ftg");
    save(&loaded, &file, Format::Binary, &mut team).map_err(|error| {
        let hint = error.hint();
        Failure::new(error).hint(hint)
    })?;
    drop((loaded, team));

    let (ways, skipped) = ways(&machine)?;
    let names: Vec<String> = ways.iter().map(|way| way.name.clone()).collect();
    let mut plan = Plan::new(names.clone(), args.seed);
    if args.quick {
        plan = plan.quick();
    }
    (plan.budget, plan.max_runs) = (args.budget, args.max_runs);
    let mut launcher = Processes {
        program: std::env::current_exe().context("cannot find this program's own file")?,
        file,
        queries: args.queries as usize,
        seed: args.seed,
        ways,
        sum: None,
        began,
        interrupt: interrupt.clone(),
    };
    let mut display = Display::new(names.clone(), output::terminal(), interrupt);
    let outcome = firsttouch_experiment::run(&plan, &mut launcher, &mut display);
    display.clear();
    let session = TuneReport {
        schema_version: SCHEMA_VERSION,
        command: vec!["firsttouch".into(), "bench".into(), "sssp".into(), name.clone()],
        seed: args.seed,
        started,
        machine: serde_json::to_value(&machine)?,
        configurations: outcome.configurations,
        skipped,
        winner: outcome.winner.map(|winner| names[winner].clone()),
        tied_with: None,
        confirmation: outcome.confirmation,
        interrupted: outcome.interrupted,
        quick: args.quick,
        warnings: outcome.warnings,
    };
    let work = figures.arcs as f64 * f64::from(args.queries);
    let rows = launcher.ways.iter().zip(&session.configurations).map(|(way, proved)| SearchWay {
        name: way.name.clone(),
        threads: way.threads,
        teps: (!proved.runs.is_empty()).then(|| work / proved.mean_wall_s),
    });
    let report = SearchBench {
        schema_version: SCHEMA_VERSION,
        name,
        graph: figures,
        queries: args.queries as usize,
        ways: rows.collect(),
        session,
    };
    write(&report, args)?;
    match outcome.failure {
        Some((way, error)) => Err(Failure::new(error.context(format!("`{}` failed", names[way])))),
        None => Ok(if report.session.interrupted { INTERRUPTED } else { 0 }),
    }
}

/// The graph that was named, or one that is made, and what to call it.
fn loaded(args: &BenchSssp, team: &mut Team) -> Outcome<(String, Loaded)> {
    let Some(file) = &args.file else {
        let (width, height) = STREETS;
        let made = generate(&Recipe::Streets { width, height }, args.seed, Place::default(), team);
        let made = made.map_err(|error| {
            let hint = error.hint();
            Failure::new(error).hint(hint)
        })?;
        return Ok((format!("streets of {width} x {height}"), made));
    };
    let loaded = read(file, &ReadOptions::default(), team).map_err(|error| {
        let hint = error.hint();
        Failure::new(anyhow::Error::new(error).context(format!("{} is not read as a graph", file.display())))
            .hint(hint)
    })?;
    if loaded.graph.nodes() == 0 {
        return Err(Failure::message("the graph has no nodes to search from"));
    }
    Ok((file.display().to_string(), loaded))
}

/// The document's ways, as this machine has them, and those that it cannot have.
fn ways(machine: &Machine) -> Outcome<(Vec<Way>, Vec<SkippedConfiguration>)> {
    let usable = numa::affinity(THIS_THREAD).map_err(io::Error::from_raw_os_error)?;
    let cpus: Vec<u32> = usable.iter().collect();
    let threads = cpus.len();
    let mut ways = vec![
        Way::new("naive threads", threads, "--pages 4k --unbound"),
        Way::new("huge pages", threads, "--pages thp --unbound"),
        Way::new("affinity", threads, "--pages 4k"),
        Way::new("huge pages, affinity", threads, "--pages thp"),
    ];
    let mut skipped = Vec::new();
    let nodes: Vec<u32> = machine
        .nodes
        .iter()
        .filter(|node| node.size_bytes != Some(0) && node.cpus.iter().any(|cpu| usable.contains(*cpu)))
        .map(|node| node.id)
        .collect();
    if machine.nodes.len() > 1 {
        let process = |(at, node): (usize, &u32)| {
            let share = format!("{at}/{}", nodes.len());
            ["--pages", "4k", "--unbound", "--node", &node.to_string(), "--share", &share]
                .map(str::to_owned)
                .to_vec()
        };
        let processes = nodes.iter().enumerate().map(process).collect();
        ways.insert(1, Way { name: "process per node".to_owned(), threads, processes });
    } else {
        skipped.push(SkippedConfiguration {
            name: "process per node".to_owned(),
            reason: "the machine has one node, on which it is the same as naive threads".to_owned(),
            remedy: None,
        });
    }
    for cores in (1..=threads).filter(|cores| threads.is_multiple_of(*cores)) {
        let groups = threads / cores;
        let name = format!("groups {cores}x{groups}");
        match core_groups(machine, &cpus, cores as u32, groups as u32) {
            Ok(_) => {
                let options = format!("--pages thp --groups {cores}x{groups}");
                ways.push(Way::new(name, threads, &options));
            }
            Err(error) => {
                skipped.push(SkippedConfiguration { name, reason: error.to_string(), remedy: None });
            }
        }
    }
    ways.push(Way::new("one thread", 1, "--pages thp --threads 1"));
    Ok((ways, skipped))
}

/// Runs a way once: its processes at the same time.
struct Processes {
    program: PathBuf,
    file: PathBuf,
    queries: usize,
    seed: u64,
    ways: Vec<Way>,
    /// What all distances add up to, once known: every run must find the same.
    sum: Option<u64>,
    began: Instant,
    interrupt: Interrupt,
}

impl Launcher for Processes {
    type Error = anyhow::Error;

    fn launch(&mut self, request: &RunRequest) -> anyhow::Result<Sample> {
        let padding = "x".repeat(request.environment_offset_bytes as usize);
        let running: Vec<_> = self.ways[request.configuration]
            .processes
            .iter()
            .map(|options| {
                Command::new(&self.program)
                    .args(["bench", "search"].map(OsString::from))
                    .arg(&self.file)
                    .args(["--queries", &self.queries.to_string(), "--seed", &self.seed.to_string()])
                    .args(options)
                    .env(PADDING, &padding)
                    .stdin(Stdio::null())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped())
                    .spawn()
            })
            .collect();
        let (mut wall_s, mut sum) = (0.0_f64, 0_u64);
        for process in running {
            let output =
                process.and_then(|process| process.wait_with_output()).context("cannot run a search")?;
            let said = String::from_utf8_lossy(&output.stdout);
            let found: Option<(f64, u64)> = said
                .trim()
                .split_once(' ')
                .and_then(|(seconds, sum)| Some((seconds.parse().ok()?, sum.parse().ok()?)));
            let Some((seconds, part)) = found.filter(|_| output.status.success()) else {
                anyhow::bail!("{}", String::from_utf8_lossy(&output.stderr).trim().to_owned());
            };
            wall_s = wall_s.max(seconds);
            sum = sum.wrapping_add(part);
        }
        if *self.sum.get_or_insert(sum) != sum {
            anyhow::bail!("the distances add up to another sum than in the runs before");
        }
        Ok(Sample { wall_s, ..Sample::default() })
    }

    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn interrupted(&self) -> bool {
        self.interrupt.asked()
    }
}

/// The files first: a closed stdout must not cost them.
fn write(report: &SearchBench, args: &BenchSssp) -> Outcome<()> {
    type Render = fn(&SearchBench) -> String;
    let files: [(&[PathBuf], Render); 4] = [
        (&args.export.export_json, json::search_bench),
        (&args.export.export_csv, |report| csv::tune(&report.session)),
        (&args.export.export_md, |report| markdown::tune(&report.session)),
        (&args.export.export_html, |report| html::tune(&report.session)),
    ];
    for (names, render) in files {
        for name in names {
            let name: &Path = name;
            export::write(name, &render(report))?;
        }
    }
    let shown = if args.export.json {
        json::search_bench(report)
    } else {
        text::search_bench(report, output::width(), Style::Ansi)
    };
    export::summary(&shown, args.export.files())
}
