//! The options of `bench`.

use super::words::{budget, pages};
use super::{Export, GroupsWord};
use clap::{Args, Subcommand};
use firsttouch_launch::Budget;
use firsttouch_placement::Pages;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::str::FromStr;

/// Run reference workloads in the variants that others published, and prove what each is worth
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  firsttouch bench sssp                        naive threads, huge pages, affinity, groups of cores, on streets made for it
  firsttouch bench sssp NY.gr.gz --export-html sssp.html
  firsttouch bench sssp NY.gr.gz --num-threads 1..4      the variants with 1, 2, 3 and 4 threads")]
pub(crate) struct Bench {
    #[command(subcommand)]
    pub(crate) what: BenchWhat,
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
    #[arg(long, alias = "threads", value_name = "LIST")]
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
