//! The command line: every word it understands, once. Help texts, completions and man pages come from here.

mod apsp;
mod attach;
mod balance;
mod bench;
mod doctor;
mod export;
mod graph;
mod lab;
mod paths;
mod placement;
mod setup;
mod shard;
mod sssp;
mod watch;
mod words;

pub(crate) use apsp::Apsp;
pub(crate) use attach::{Attach, ChosenExecutor};
pub(crate) use balance::{
    Balance, BalanceWhat, Convert, Eval, Form, GenerateWhat, Generated, Input, Show, Simulate, Solve,
    TaskFormat,
};
pub(crate) use bench::{Bench, OnlyWhat, RunCase};
pub(crate) use doctor::Doctor;
pub(crate) use export::{Export, ExportDocument};
pub(crate) use graph::{
    Graph, GraphConvert, GraphGenerate, GraphInfo, GraphInput, GraphKind, GraphWhat, GroupsWord,
};
pub(crate) use lab::Lab;
pub(crate) use paths::{Chosen, Index, PlacedGraph, Sources};
pub(crate) use placement::PlacementArgs;
pub(crate) use setup::{Setup, SetupTopic};
pub(crate) use shard::{RankList, RanksWord, ShardWord};
pub(crate) use sssp::Sssp;
pub(crate) use watch::Watch;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, Parser, Subcommand, ValueEnum};
use firsttouch_experiment::Metric;
use firsttouch_launch::{Budget, Dimension};
use firsttouch_measure::Engine;
use firsttouch_placement::Pages;
use std::ffi::OsString;
use std::path::PathBuf;
use words::{budget, engine, metric, pages, percent, size};

/// Decides the pages of a program's memory at first touch, and proves what that was worth.
#[derive(Debug, Parser)]
#[command(name = "firsttouch", version, propagate_version = false, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// When to colour the output
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "Examples:
  firsttouch tune --demo                      see it work, with nothing but this binary
  firsttouch tune -- Rscript model.R          find the best placement of a program
  firsttouch run --pages thp -- ./simulate    run a program with large pages
  firsttouch watch 1234                       see where the memory of a running process lies
  firsttouch sssp NY.gr.gz --random 100       shortest paths on a graph
  firsttouch status                           what this machine has and allows
  firsttouch measure                          how fast its memory is, from every node to every node";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Status(Status),
    Run(Run),
    Tune(Box<Tune>),
    Report(Report),
    Measure(Measure),
    Fill(Fill),
    Explain(Explain),
    Doctor(Box<Doctor>),
    Setup(Setup),
    Balance(Balance),
    Bench(Box<Bench>),
    Attach(Box<Attach>),
    Watch(Watch),
    Graph(Graph),
    Sssp(Box<Sssp>),
    Apsp(Box<Apsp>),
    Lab(Box<Lab>),
    /// The first process of a lab's guest
    #[command(hide = true)]
    GuestInit,
    /// The shell of a lab's guest
    #[command(hide = true)]
    GuestShell,
    /// Becomes the emulator of a lab
    #[command(hide = true)]
    LabEmulator {
        #[arg(last = true)]
        words: Vec<OsString>,
    },
    /// One run of a case of `bench`, and the program of `tune --demo`
    #[command(hide = true)]
    Case(RunCase),
    /// Touches memory and releases it step by step: the warm-up of a timed run
    #[command(hide = true)]
    Warm(Warm),
    /// Print completions for a shell
    #[command(after_help = "Examples:
  firsttouch completions bash > ~/.local/share/bash-completion/completions/firsttouch
  firsttouch completions zsh > \"${fpath[1]}/_firsttouch\"
  firsttouch completions fish > ~/.config/fish/completions/firsttouch.fish")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the man page, or that of a command; or write those of all commands
    #[command(after_help = "Examples:
  firsttouch man | man -l -
  firsttouch man tune > ~/.local/share/man/man1/firsttouch-tune.1
  firsttouch man --all ~/.local/share/man/man1")]
    Man {
        /// The command
        command: Option<String>,
        /// Write a page for each command, and for what some of them can be told to do, into DIR
        #[arg(long, value_name = "DIR", conflicts_with = "command")]
        all: Option<PathBuf>,
    },
}

/// Show what this machine has and allows, and how to allow the rest
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  firsttouch status
  firsttouch status --json | jq .can
  firsttouch status --picture                  what is inside what, drawn in the terminal
  firsttouch status --picture machine.svg      the same as a figure
  firsttouch status --root recorded/           a machine recorded as copies of its /proc and /sys
  firsttouch status --machine recorded.tar.xz  the same in an archive; or XML of hwloc
  firsttouch status --machine all.tar.xz:big   the one of several in an archive whose folder is called so
  firsttouch status --machine 'pack:4 [numa] l3:1 core:6 pu:1' --picture
  firsttouch status --apic                     the ids by which interrupts know the CPUs")]
pub(crate) struct Status {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Read proc/ and sys/ below DIR
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub(crate) root: PathBuf,
    /// Show another machine: a folder or archive (.tar, .gz, .bz2, .xz) of /proc and /sys or of answers of CPUID,
    /// ARCHIVE:FOLDER where an archive holds several, XML of hwloc (formats 1 to 3), or a description in hwloc's words
    #[arg(long, value_name = "FILE|DESCRIPTION", conflicts_with = "root")]
    pub(crate) machine: Option<String>,
    /// Draw the machine in the terminal, or into FILE (.svg: as a figure)
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with = "json")]
    pub(crate) picture: Option<Option<PathBuf>>,
    /// Go to each CPU in turn and ask for its APIC id (x86, the live machine)
    #[arg(long, conflicts_with_all = ["root", "machine"])]
    pub(crate) apic: bool,
}

/// Run a program with its memory placed
///
/// Without `--receipt` the program takes the place of this process. Its exit status is passed on; 125 is a
/// failure of ours, 126 a program that cannot be run, 127 one that is not found.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  firsttouch run -- Rscript model.R                           transparent huge pages from 1 MiB up
  firsttouch run --pages 2m --receipt - -- ./simulate         reserved pages, and what was obtained
  firsttouch run --heap -- python3 graph.py                   small objects on them, too
  firsttouch run --profile model.toml -- Rscript model.R      as `tune --save` found best
  firsttouch run --memory interleave=all -- ./simulate        memory from all nodes in turn
  firsttouch run --memory prefer=hbm --threads compact -- ./simulate
  firsttouch run --pages plain --threads groups=6x4 -- ./simulate
  firsttouch run -m 1 -N 1 -- ./simulate                      memory and CPUs of node 1, as numactl has it
  firsttouch run --node 1 -- ./simulate                       the same in one word
  firsttouch run -C 0-3 -- ./simulate                         any thread on any of these CPUs
  firsttouch run --near nvme0n1 -- ./load                     on the CPUs and the memory next to a disk
  mpirun --bind-to none firsttouch run --ranks auto --threads compact -- ./simulate    each rank on CPUs of its own
  firsttouch run --attachable -- ./server                     open for `firsttouch attach` without privilege
  sudo firsttouch run --via supervise -- ./static-go-program  from outside, where no library reaches")]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) placement: PlacementArgs,
    /// One of several ranks on this machine, as many as the launcher says (auto) or N: CPUs and memory of its own
    ///
    /// Behind mpirun, mpiexec, srun or torchrun, or started N times by one process. Ranks that the launcher bound apart keep their
    /// CPUs; those that may use the same divide them evenly, by nodes, caches and cores. Memory comes from the nodes of these CPUs
    /// unless --memory says otherwise, `hbm` is the nearest, and of several devices of --near each rank gets the one next to it.
    #[arg(long, value_name = "auto|N")]
    pub(crate) ranks: Option<RanksWord>,
    /// Place only these ranks of the job: 0,7 or 0-3. The others run as the launcher starts them
    #[arg(long, value_name = "LIST", requires = "ranks")]
    pub(crate) only_ranks: Option<RankList>,
    /// Refuse (125) where the placement cannot reach the program, or the machine has no such pages
    ///
    /// Otherwise the program runs as it is, or on the pages there are, with a warning. Whether there are enough of them only
    /// the receipt knows.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Do not warn where the placement cannot reach the program, or the machine has no such pages
    #[arg(short, long, conflicts_with = "strict")]
    pub(crate) quiet: bool,
    /// Let `firsttouch attach` of the same user place the program from inside, while it runs
    ///
    /// For programs in containers, which nobody may place from outside. A thread of the agent's listens in the program.
    /// It can be noticed: unshare(2) and setns(2) refuse some things to programs with several threads, and Python warns
    /// of forks. It ends when the program filters its own system calls. With --follow the programs that this one starts
    /// have it from their first thread or their first block of 128 KiB on.
    #[arg(long)]
    pub(crate) attachable: bool,
    /// Write what was obtained as JSON to FILE when the program has ended; `-` is stdout
    ///
    /// With --ranks the last rank of the job to end writes one document of all ranks.
    #[arg(long, value_name = "FILE")]
    pub(crate) receipt: Option<PathBuf>,
    /// The folder, shared by all ranks of the job, where their receipts wait for the last one [default: FILE.ranks]
    ///
    /// `firsttouch report FOLDER` shows those that are there, where ranks were killed.
    #[arg(long, value_name = "FOLDER", requires_all = ["ranks", "receipt"])]
    pub(crate) gather: Option<PathBuf>,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<OsString>,
}

/// Find the best placement of a program, and prove it
///
/// Runs the program many times, under every placement in turn, in random order, until it is decided which are faster and which are
/// not, and prints by how much, with 95 % intervals. Exit codes: 0 done (also when nothing helps), 1 the program
/// failed, 2 wrong usage, 3 `--strict` was not met, 130 interrupted (what was finished is written).
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  firsttouch tune -- Rscript model.R
  firsttouch tune --alternatives --export-html model.html -- Rscript model.R
  firsttouch tune --configs 'thp thp,prefault 2m,min-size=4M' --save model.toml -- ./simulate
  firsttouch tune --quick --budget 2m -- ./simulate
  firsttouch tune --vary threads=1,2,4 -- env OMP_NUM_THREADS={threads} ./simulate
  firsttouch tune --vary program=./old,./new --configs thp -- {program} input
  firsttouch tune --shell -- 'sort input | uniq -c'
  firsttouch tune --job -- mpirun -n 4 --bind-to none ./simulate     ranks that are placed one by one
  firsttouch tune --metric rss -- python3 model.py                 which needs the least memory
  firsttouch tune --metric 'stdout:([0-9.]+) requests/s' --higher-is-better -- ./load
  firsttouch tune --metric json:out.json:/pauses/max -- ./server --out out.json")]
pub(crate) struct Tune {
    /// Placements to try, separated by spaces or `;`, in the short form `thp,prefault,min-size=4M`; `NAME:PLACEMENT` names one
    ///
    /// Without this the placements are chosen by what the machine can do.
    #[arg(long, value_name = "LIST")]
    pub(crate) configs: Vec<String>,
    /// Try the program with each of these values for `{NAME}`: in its words, in --input, in the lines around its runs, and in the file
    /// of --metric json:FILE:/KEY
    ///
    /// VALUES have commas between them (`\,` is one within a value) and may be ranges, both ends included: `1..8`, `1..16:4`,
    /// `0.1..0.5:0.1`. Given several times, all combinations are tried. The first value of each, under the baseline's
    /// placement, is what the others are compared with. Placements are those of --configs, and without it the baseline's
    /// alone. A word that is `{NAME}` and nothing else goes where the value is empty.
    #[arg(long, value_name = "NAME=VALUES", value_parser = OsStringValueParser::new().try_map(|text| Dimension::parse(&text)))]
    pub(crate) vary: Vec<Dimension>,
    /// Try the ways others have, too: glibc on pages of a pool, mimalloc and jemalloc, as they come and keeping freed memory
    #[arg(long)]
    pub(crate) alternatives: bool,
    /// What to compare with: `plain`, or a placement in the short form
    #[arg(long, value_name = "PLACEMENT", default_value = "plain")]
    pub(crate) baseline: String,
    /// Seed of the random order, to repeat a session [default: a new one]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// What to judge by: wall, cpu, user, system, rss, faults, major-faults, context-switches, a counter (cycles, instructions, dtlb,
    /// cache-misses, page-faults), or what the program says: stdout:REGEX, stderr:REGEX, json:FILE:/KEY/INDEX
    ///
    /// Less is better. Of REGEX the last match counts, and in it the first group, the part in parentheses; `^` and `$` are ends of
    /// lines. FILE is one that every run writes anew; where the number is in it says a JSON Pointer. What is judged has to be
    /// above 0 in every run.
    #[arg(long, value_name = "METRIC", value_parser = metric, default_value = "wall")]
    pub(crate) metric: Metric,
    /// More is better of what the program says
    #[arg(long)]
    pub(crate) higher_is_better: bool,
    /// Spend no time on telling those apart that are faster than the baseline
    #[arg(long)]
    pub(crate) quick: bool,
    /// Ratios within 1 ± PERCENT count as the same
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "2%")]
    pub(crate) same: f64,
    /// Go on until each ratio is known this well, too: half the width of its 95 % interval [default: until it is decided]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) precision: Option<f64>,
    /// At most N timed runs of each placement in the search, and N in the confirmation
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) max_runs: Option<u32>,
    /// At most this much time for the whole session, but for one untimed run of each configuration and the run under way: 90s, 10m, 1h; `none` for
    /// as long as it takes to decide [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = budget)]
    pub(crate) budget: Option<Budget>,
    /// End with 3 unless every placement obtained what it asked for and every verdict is decided
    #[arg(long)]
    pub(crate) strict: bool,
    /// The program's standard input [default: empty]
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,
    /// Give the program, which is one line then, to a shell [default: sh]; its start is in the time of all
    #[arg(long, value_name = "SHELL", num_args = 0..=1, require_equals = true, default_missing_value = "sh", conflicts_with = "demo")]
    pub(crate) shell: Option<OsString>,
    /// N untimed runs of each configuration before the timed ones, to fill caches, fewer where they took more than a quarter of the budget; the
    /// first shows what it obtains
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), default_value = "1")]
    pub(crate) warmup: u32,
    /// A line for the shell before anything else is run, once, or once for each of the varied values that it holds: `make`
    #[arg(long, value_name = "LINE")]
    pub(crate) setup: Option<OsString>,
    /// A line for the shell before every run, outside the measured time: `sync; echo 3 > /proc/sys/vm/drop_caches`
    #[arg(long, value_name = "LINE")]
    pub(crate) prepare: Option<OsString>,
    /// A line for the shell after every run, outside the measured time: `kill $(cat server.pid)`
    #[arg(long, value_name = "LINE")]
    pub(crate) conclude: Option<OsString>,
    /// A line for the shell after the last run, once, or once for each of the varied values that it holds
    #[arg(long, value_name = "LINE")]
    pub(crate) cleanup: Option<OsString>,
    /// Count runs, too, that end with another exit status than 0
    #[arg(long)]
    pub(crate) ignore_failure: bool,
    /// Do not touch and release memory before the timed runs
    #[arg(long)]
    pub(crate) no_warm: bool,
    /// Show the program's output in the timed runs, in place of how far the session is; on stderr where a document goes to stdout
    #[arg(long)]
    pub(crate) show_output: bool,
    /// Keep the confirmed placement as a profile for `run --profile`
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) export: Export,
    /// The program is a launcher of ranks (mpirun, mpiexec, srun, torchrun): each rank is placed by `run --ranks auto`, and a run is one job
    ///
    /// Before the program of the ranks, which is the first word of the line that is an executable file, firsttouch is put; `{run}` in the
    /// line says where instead. The time is that of the whole job, or what --metric says.
    #[arg(long, conflicts_with_all = ["demo", "shell"])]
    pub(crate) job: bool,
    /// Place only these ranks of the job: 0,7 or 0-3. The others run as the launcher starts them
    #[arg(long, value_name = "LIST", requires = "job")]
    pub(crate) only_ranks: Option<RankList>,
    /// Write a script for sbatch to FILE that does what this command line asks, in place of doing it
    #[arg(long, value_name = "FILE", requires = "job")]
    pub(crate) sbatch: Option<PathBuf>,
    /// Tune the built-in workload, which needs no other program
    #[arg(long, conflicts_with = "program")]
    pub(crate) demo: bool,
    /// The program and its arguments
    #[arg(required_unless_present = "demo", trailing_var_arg = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<OsString>,
}

/// Show again any document that a command wrote, in any format that it has; decide what was measured elsewhere; or print the schema of a
/// kind of document
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  firsttouch report model.html                    the page holds its document
  firsttouch report model.watch --export-html over-time.html
  firsttouch report model.json --export-md model.md
  firsttouch report --decide times.csv            columns configuration,value, and where runs took turns block
  firsttouch report --decide monday.json tuesday.json friday.json     of hyperfine or tune: three sessions
  firsttouch report --decide --by-file before.json after.json         of hyperfine: one command each
  firsttouch report --decide target/criterion/NAME                    criterion's base and new
  firsttouch report --schema receipt > receipt.schema.json    JSON Schema, for editors and jq
  firsttouch report --schema list                             the kinds, and what writes each")]
pub(crate) struct Report {
    /// A JSON document of any command, a recording, an HTML page of `--export-html`, or a folder of `run --gather`; with `--decide` files with
    /// values; `-` is stdin
    #[arg(required_unless_present = "schema", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print the JSON Schema of a kind of document; `list` lists the kinds
    #[arg(long, value_name = "KIND", exclusive = true)]
    pub(crate) schema: Option<String>,
    /// Decide what was measured elsewhere: CSV, JSON of hyperfine, Google Benchmark or criterion, documents of ours; each file is a session
    #[arg(long)]
    pub(crate) decide: bool,
    /// The configuration to compare with [default: the first]
    #[arg(long, value_name = "NAME", requires = "decide")]
    pub(crate) baseline: Option<String>,
    /// More is better, as with requests per second
    #[arg(long, requires = "decide")]
    pub(crate) higher_is_better: bool,
    /// Ratios within 1 ± PERCENT count as the same
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "2%", requires = "decide")]
    pub(crate) same: f64,
    /// Compare the files with each other: each holds one configuration, which is called as the file
    #[arg(long, requires = "decide")]
    pub(crate) by_file: bool,
    #[command(flatten)]
    pub(crate) export: Export,
    /// Write the figures of a recording, or of a run of the runtime, to FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) export_svg: Vec<PathBuf>,
}

/// Measure latency and bandwidth between the CPUs and the memory of every pair of nodes
///
/// The result is kept, and placement and balancing use it. Takes some seconds on one node and some minutes on many;
/// nothing else should run meanwhile.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  firsttouch measure
  firsttouch measure --cores                        and how far apart the CPUs are
  firsttouch measure --quick --json | jq .numa_factor
  firsttouch measure --export-html machine.html     heat maps in one file")]
pub(crate) struct Measure {
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Fewer and shorter repetitions
    #[arg(long)]
    pub(crate) quick: bool,
    /// Kind of pages to measure on: thp, 2m, 1g, auto or 4k
    #[arg(long, value_parser = pages, value_name = "KIND", default_value = "thp")]
    pub(crate) pages: Pages,
    /// Size of each region; two or three are taken on every node, and less than twice the caches measures these [default: 1G, or
    /// 4 times the caches]
    #[arg(long, value_parser = size, value_name = "SIZE")]
    pub(crate) size: Option<u64>,
    /// Measure core to core, too: how long a cache line takes that two CPUs write in turn, of all pairs of up to 64 CPUs
    /// (a minute then), of more some pairs of each class (same core, last-level cache, node, other node). Tried on a virtual
    /// machine with two CPUs on one cache, and on emulated ones with two nodes; never on one with several caches in a node
    #[arg(long)]
    pub(crate) cores: bool,
    /// Keep the result in FILE [default: firsttouch/measured.json in the user's cache folder]
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Do not keep the result
    #[arg(long, conflicts_with = "save")]
    pub(crate) no_save: bool,
    /// Write the JSON document to FILE; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) export_json: Vec<PathBuf>,
    /// Write a page with heat maps to FILE; `-` is stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) export_html: Vec<PathBuf>,
}

/// Measure what creating, clearing and handing out memory costs
///
/// Zeroed memory can be had from the kernel, page by page (new), by clearing what is there (in place), and from a pool
/// that cleared it before (handed out). Each way gets the same amount of memory, three times; medians are shown, against
/// the bandwidth with which this machine can store at all, and every byte is read back. Nothing else should run meanwhile.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  firsttouch fill
  firsttouch fill --size 4G --pages thp,2m,1g,4k
  firsttouch fill --engines filler,pool --json | jq .crossovers")]
pub(crate) struct Fill {
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// One round in place of five
    #[arg(long)]
    pub(crate) quick: bool,
    /// Memory of each trial, at least a page of every kind; twice as much is taken
    #[arg(long, value_parser = size, value_name = "SIZE", default_value = "1G")]
    pub(crate) size: u64,
    /// Kinds of pages: 4k, thp, 16k…1024k, 2m, 1g
    #[arg(long, value_parser = pages, value_name = "KINDS", value_delimiter = ',', default_value = "4k,thp")]
    pub(crate) pages: Vec<Pages>,
    /// Ways to try: touch and populate (the kernel's), string, streaming, clzero and vector (stores), filler, pool, dsa
    /// (Intel's Data Streaming Accelerator, built with the feature dsa only: it never ran on hardware)
    /// [default: all]
    #[arg(long, value_parser = engine, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) engines: Vec<Engine>,
}

/// Tell who will override a placement, before the program runs
///
/// Looks at cpusets, masks, sandboxes, limits, the variables of OpenMP, MKL, Slurm and MPI, the kernel's settings and
/// the program itself. The program is not started. What is found is no failure: the exit code is 0.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  firsttouch explain --memory bind=0 --threads compact -- Rscript model.R
  firsttouch explain --pages 2m --json -- ./simulate | jq '.findings[].what'")]
pub(crate) struct Explain {
    #[command(flatten)]
    pub(crate) placement: PlacementArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<OsString>,
}

#[derive(Args, Debug)]
pub(crate) struct Warm {
    pub(crate) bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definitions_agree_with_each_other() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_program_keeps_its_own_options() {
        for words in [
            &["firsttouch", "run", "--pages", "2m", "--", "ls", "--color", "--"][..],
            &["firsttouch", "run", "--pages", "2m", "ls", "--color", "--"],
        ] {
            let Command::Run(run) = Cli::parse_from(words).command else { panic!("not run") };
            assert_eq!(run.program, ["ls", "--color", "--"]);
            assert_eq!(run.placement.pages, Some(Pages::Huge2M));
        }
    }
}
