//! The options of `bench`.

use super::words::budget;
use super::{Export, GroupsWord};
use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, ValueEnum};
use firsttouch_launch::{Budget, Dimension};
use firsttouch_placement::ObjectPlacement;
use std::path::PathBuf;

/// Run reference workloads in their variants and under placements, and prove what each is worth
///
/// Without CASE all of them; each run of `disk` writes 256 MiB to /var/tmp, a file without a name that goes with it (32 MiB with --quick,
/// or `--set disk.size=SIZE`). Each case says what it computes, in which parameters, and which limit of the machine bounds it; each run
/// is a process of its own that times the workload alone, and measures that limit when it is done. The variants of a case, with what
/// others would take instead (libraries, NumPy, R), are one family of comparisons, and the placements of its first variant
/// another. All runs of a case have to come to the same result. Exit codes as those of `tune`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  firsttouch bench --list                      the cases, what can be chosen of them, and what is missing here
  firsttouch bench --quick                     all of them on small sizes, within some minutes
  firsttouch bench dgemm --set n=2048          with its alternatives, and under placements
  firsttouch bench stream --vary kernel=copy,triad --vary threads=1,2
  firsttouch bench wave3d --configs 'thp 2m' --export-html wave3d.html
  firsttouch bench dgemm --objects --save dgemm.toml     which of its arrays deserve fast memory, or huge pages
  firsttouch bench stream --objects=a,b --places 'thp:prefer=hbm'
  firsttouch bench sssp --set graph=NY.gr.gz --vary groups=all      a copy of the graph for each group of cores
  firsttouch bench sssp --set graph=kronecker --vary threads=1..4
  firsttouch bench --documents --export-html articles.html     every table of the articles, theirs beside ours
  firsttouch bench --documents=groups,ism --quick")]
pub(crate) struct Bench {
    /// The cases [default: all]
    #[arg(value_name = "CASE")]
    pub(crate) cases: Vec<String>,
    /// List the cases, their parameters and their variants; with --documents the tables, and what repeats each
    #[arg(long, conflicts_with_all = ["configs", "vary", "only"])]
    pub(crate) list: bool,
    /// Repeat the tables and figures of the documents that the cases come from, theirs beside ours: all, or those of these names of
    /// documents (ism, numalb, paths, memset, feed) or tables
    ///
    /// What no run repeats says why. --set chooses parameters of the cases that have them: `--set sssp.graph=NY.gr.gz`.
    #[arg(
        long,
        value_name = "NAMES",
        num_args = 0..=1,
        require_equals = true,
        value_delimiter = ',',
        conflicts_with_all = ["cases", "configs", "vary", "only", "objects", "variants", "threads", "groups"]
    )]
    pub(crate) documents: Option<Vec<String>>,
    /// Small sizes, and five and a half minutes for all together
    #[arg(long)]
    pub(crate) quick: bool,
    /// A parameter of the cases that have it: `n=2048`; of a single case: `dgemm.n=2048`
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,
    /// Compare nothing but the values of this: `threads`, `groups`, `ranks`, or a parameter of the case; as `tune --vary`
    #[arg(long, value_name = "NAME=VALUES", value_parser = OsStringValueParser::new().try_map(|text| Dimension::parse(&text)))]
    pub(crate) vary: Vec<Dimension>,
    /// Placements to try, as `tune --configs` [default: thp, and 2m and 1g where the pools have pages]
    #[arg(long, value_name = "LIST")]
    pub(crate) configs: Vec<String>,
    /// Compare variants alone, or placements alone
    #[arg(long, value_name = "WHAT")]
    pub(crate) only: Option<OnlyWhat>,
    /// Find which arrays of the case deserve a place of their own: all, or those of these names
    ///
    /// A step puts each array that is left, alone, at each of --places, beside what was kept before, and keeps what `tune` would
    /// recommend; the search ends where a step gains nothing, or nothing more fits. More than one array is then compared with none.
    #[arg(
        long,
        value_name = "NAMES",
        num_args = 0..=1,
        require_equals = true,
        value_delimiter = ',',
        requires = "cases",
        conflicts_with_all = ["configs", "vary", "only", "list"]
    )]
    pub(crate) objects: Option<Vec<String>>,
    /// Where --objects tries arrays, PAGES or PAGES:POLICY each [default: kinds of memory that are not ordinary; without any all nodes
    /// in turn, and on one node kinds of pages]
    #[arg(long, value_name = "LIST", value_delimiter = ' ', requires = "objects")]
    pub(crate) places: Vec<ObjectPlacement>,
    /// Keep what --objects found as a profile for `run --profile`, if fresh runs confirm that it is faster
    #[arg(long, value_name = "FILE", requires = "objects")]
    pub(crate) save: Option<PathBuf>,
    /// Variants to compare [default: all that can run here]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) variants: Vec<String>,
    /// Threads of each run [default: one for every CPU that may be used]
    #[arg(long = "num-threads", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) threads: Option<u32>,
    /// Threads of each run on groups of cores, as `6x4` or `6x4-across`: of each core one; `sssp` and `apsp` then have a copy of the
    /// graph for each group. `--vary groups=all` tries those that this machine has
    #[arg(long, value_name = "CORESxGROUPS", conflicts_with = "threads")]
    pub(crate) groups: Option<GroupsWord>,
    /// What starts the processes of `--vary ranks=1,2`, which share a run (`gram-schmidt`) and have one thread each, or --num-threads:
    /// mpirun, with options of yours. Needs a firsttouch that was built with MPI
    #[arg(long, value_name = "MPIRUN", default_value = "mpirun")]
    pub(crate) mpi: String,
    /// Steps of each run that are timed [default: the case's own]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) steps: Option<u32>,
    /// At most this much time for all together, but for one untimed run of each configuration, which holds results against each other;
    /// `none` for as long as it takes to decide [default: 5m for each comparison]
    #[arg(long, value_name = "TIME", value_parser = budget)]
    pub(crate) budget: Option<Budget>,
    /// At most N timed runs of each configuration
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) max_runs: Option<u32>,
    /// Seed of the random orders, to repeat a session [default: a new one]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) export: Export,
}

/// What of a case is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnlyWhat {
    /// Ways to compute it, under one placement
    Variants,
    /// Placements of its first variant
    Placements,
}

/// One run of a case, in a process of its own.
#[derive(Args, Debug)]
pub(crate) struct RunCase {
    pub(crate) name: String,
    #[arg(long)]
    pub(crate) variant: Option<String>,
    #[arg(long, value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,
    #[arg(long)]
    pub(crate) quick: bool,
    #[arg(long = "num-threads")]
    pub(crate) threads: Option<u32>,
    #[arg(long, conflicts_with = "threads")]
    pub(crate) groups: Option<GroupsWord>,
    #[arg(long)]
    pub(crate) steps: Option<u32>,
    /// Where time and result go; without it stdout gets the result alone
    #[arg(long)]
    pub(crate) result: Option<PathBuf>,
    /// Measure the limit that bounds it, too, where this file is there
    #[arg(long)]
    pub(crate) limit_if: Option<PathBuf>,
    /// Share the work with the other ranks that mpirun started; the first says what it came to
    #[arg(long, conflicts_with_all = ["groups", "arrays", "picture"])]
    pub(crate) mpi: bool,
    /// Say the bytes of the arrays, and do nothing with them
    #[arg(long)]
    pub(crate) arrays: bool,
    /// Where a picture of the result goes (`wave3d`)
    #[arg(long)]
    pub(crate) picture: Option<PathBuf>,
}

fn setting(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    pair.map(|(name, value)| (name.to_owned(), value.to_owned()))
        .ok_or_else(|| "expected NAME=VALUE, for example n=2048".to_owned())
}
