//! The options of `bench`.

use super::words::{budget, pages};
use super::{Export, GroupsWord};
use clap::{Args, Subcommand};
use firsttouch_launch::Budget;
use firsttouch_placement::Pages;
use std::path::PathBuf;

/// Run reference workloads in the variants that others published, and prove what each is worth
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  firsttouch bench sssp                        naive threads, huge pages, affinity, groups of cores, on streets made for it
  firsttouch bench sssp NY.gr.gz --export-html sssp.html")]
pub(crate) struct Bench {
    #[command(subcommand)]
    pub(crate) what: BenchWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchWhat {
    /// Let many threads find shortest paths by the variants of "NUMA-affinity: APSP(NY)" (2010), and prove what each is worth
    ///
    /// Naive threads, a process for each node as numactl would start them, huge pages, affinity, both, groups of cores with a
    /// copy of the graph each, and one thread alone, all with the same bucket queue. Every run is a process of its own; only the
    /// searches are timed.
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

fn share(text: &str) -> Result<(usize, usize), String> {
    let numbers = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
    numbers.filter(|(part, of)| part < of).ok_or_else(|| "expected K/N with K below N".to_owned())
}
