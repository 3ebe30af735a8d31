//! The options of `bench`.

use super::words::{budget, pages};
use super::{Export, GroupsWord};
use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, Subcommand, ValueEnum};
use firsttouch_launch::{Budget, Dimension};
use firsttouch_placement::Pages;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::str::FromStr;

/// Run reference workloads in their variants and under placements, and prove what each is worth
///
/// Without CASE all of them. Each case says what it computes, in which parameters, and which limit of the machine bounds it; each run
/// is a process of its own that times the workload alone, and measures that limit when it is done. The variants of a case, with what
/// others would take instead (libraries, NumPy, R), are one family of comparisons, and the placements of its first variant
/// another. All runs of a case have to come to the same result. Exit codes as those of `tune`.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  firsttouch bench --list                      the cases, what can be chosen of them, and what is missing here
  firsttouch bench --quick                     all of them on small sizes, within some minutes
  firsttouch bench dgemm --set n=2048          with its alternatives, and under placements
  firsttouch bench stream --vary kernel=copy,triad --vary threads=1,2
  firsttouch bench wave3d --configs 'thp 2m' --export-html wave3d.html
  firsttouch bench sssp                        naive threads, huge pages, affinity, groups of cores, on streets made for it
  firsttouch bench sssp NY.gr.gz --export-html sssp.html
  firsttouch bench sssp NY.gr.gz --num-threads 1..4      the variants with 1, 2, 3 and 4 threads"
)]
pub(crate) struct Bench {
    /// The cases [default: all]
    #[arg(value_name = "CASE")]
    pub(crate) cases: Vec<String>,
    /// List the cases, their parameters and their variants
    #[arg(long, conflicts_with_all = ["configs", "vary", "only"])]
    pub(crate) list: bool,
    /// Small sizes, and five and a half minutes for all together
    #[arg(long)]
    pub(crate) quick: bool,
    /// A parameter of the cases that have it: `n=2048`; of a single case: `dgemm.n=2048`
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub(crate) set: Vec<(String, String)>,
    /// Compare nothing but the values of this: `threads`, or a parameter of the case; as `tune --vary`
    #[arg(long, value_name = "NAME=VALUES", value_parser = OsStringValueParser::new().try_map(|text| Dimension::parse(&text)))]
    pub(crate) vary: Vec<Dimension>,
    /// Placements to try, as `tune --configs` [default: thp, and 2m and 1g where the pools have pages]
    #[arg(long, value_name = "LIST")]
    pub(crate) configs: Vec<String>,
    /// Compare variants alone, or placements alone
    #[arg(long, value_name = "WHAT")]
    pub(crate) only: Option<OnlyWhat>,
    /// Variants to compare [default: all that can run here]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) variants: Vec<String>,
    /// Threads of each run [default: one for every CPU that may be used]
    #[arg(long = "num-threads", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) threads: Option<u32>,
    /// Steps of each run that are timed [default: the case's own]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) steps: Option<u32>,
    /// At most this much time for all together; `none` for as long as it takes to decide [default: 5m for each comparison]
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
    #[command(subcommand)]
    pub(crate) what: Option<BenchWhat>,
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
    #[arg(long)]
    pub(crate) steps: Option<u32>,
    /// Where time and result go; without it stdout gets the result alone
    #[arg(long)]
    pub(crate) result: Option<PathBuf>,
    /// Where a picture of the result goes (`wave3d`)
    #[arg(long)]
    pub(crate) picture: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchWhat {
    /// Let many threads find shortest paths by the variants of "NUMA-affinity: APSP(NY)" (2010), and prove what each is worth
    ///
    /// Naive threads, a process for each node as numactl would start them, huge pages (transparent, and reserved where there are
    /// some), affinity, both, groups of cores with a copy of the graph each, also such that reach over the nodes, and one thread
    /// alone, naive or not, all with the same bucket queue. Every run is a process of its own; only the searches are timed, and
    /// it is told what pages the memory of each variant obtained.
    Sssp(BenchSssp),
    /// One run of bench sssp
    #[command(hide = true)]
    Search(BenchSearch),
}

#[derive(Args, Debug)]
pub(crate) struct BenchSssp {
    /// The graph [default: streets of 2^17 crossings, made for it]
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Sources of a run, the same in all
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) queries: u32,
    /// Numbers of threads to search with, 1..8, 1..8:2 or 1,2,4 [default: as many as there are CPUs]; the first is what others
    /// are compared with
    #[arg(long, value_name = "LIST")]
    pub(crate) num_threads: Option<ThreadNumbers>,
    /// Spend no time on telling those apart that are faster than the first
    #[arg(long)]
    pub(crate) quick: bool,
    /// Stop after this long with what there is; `none` for as long as it takes to decide
    #[arg(long, value_name = "TIME", value_parser = budget, default_value = "10m")]
    pub(crate) budget: Budget,
    /// At most so many runs of each variant
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) max_runs: Option<u32>,
    /// Seed of sources and orders
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) export: Export,
}

#[derive(Args, Debug)]
pub(crate) struct BenchSearch {
    pub(crate) file: PathBuf,
    #[arg(long)]
    pub(crate) queries: usize,
    #[arg(long)]
    pub(crate) seed: u64,
    /// Of all queries, every N-th from the K-th on: K/N
    #[arg(long, value_parser = share)]
    pub(crate) share: Option<(usize, usize)>,
    #[arg(long, value_parser = pages)]
    pub(crate) pages: Pages,
    /// The scheduler places the threads
    #[arg(long)]
    pub(crate) unbound: bool,
    /// Threads and memory of this node only
    #[arg(long)]
    pub(crate) node: Option<u32>,
    #[arg(long = "num-threads")]
    pub(crate) threads: Option<u32>,
    #[arg(long)]
    pub(crate) groups: Option<GroupsWord>,
}

/// Numbers of threads, as they were named, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ThreadNumbers(pub(crate) Vec<usize>);

/// Most threads that a number may name.
const MOST_THREADS: usize = 1 << 16;

impl FromStr for ThreadNumbers {
    type Err = String;

    fn from_str(text: &str) -> Result<ThreadNumbers, String> {
        let number = |text: &str| text.parse().ok().filter(|number| (1..=MOST_THREADS).contains(number));
        let range = |part: &str| -> Option<Vec<usize>> {
            let Some((low, rest)) = part.split_once("..") else { return Some(vec![number(part)?]) };
            let (high, step) = rest.split_once(':').unwrap_or((rest, "1"));
            Some((number(low)?..=number(high)?).step_by(number(step)?).collect())
        };
        let parts: Option<Vec<Vec<usize>>> = text.split(',').map(range).collect();
        let mut numbers = parts.unwrap_or_default().concat();
        let mut seen = BTreeSet::new();
        numbers.retain(|number| seen.insert(*number));
        if numbers.is_empty() {
            return Err("numbers of threads: 1..8, 1..8:2 or 1,2,4".to_owned());
        }
        Ok(ThreadNumbers(numbers))
    }
}

fn share(text: &str) -> Result<(usize, usize), String> {
    let numbers = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
    numbers.filter(|(part, of)| part < of).ok_or_else(|| "expected K/N with K below N".to_owned())
}

fn setting(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
    pair.map(|(name, value)| (name.to_owned(), value.to_owned()))
        .ok_or_else(|| "expected NAME=VALUE, for example n=2048".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_threads_are_ranges_and_lists() {
        let numbers = |text: &str| text.parse::<ThreadNumbers>().map(|numbers| numbers.0);
        assert_eq!(numbers("1..4"), Ok(vec![1, 2, 3, 4]));
        assert_eq!(numbers("1,2..6:2,4,24"), Ok(vec![1, 2, 4, 6, 24]));
        for wrong in ["", "0", "1..", "4..1", "1..4:0", "x", "1,,2", "1..99999999999"] {
            assert!(numbers(wrong).is_err(), "{wrong}");
        }
    }
}
