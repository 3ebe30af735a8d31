//! The options that `sssp` and `apsp` share.

use super::shard::ShardWord;
use super::words::pages;
use super::{GraphInput, GroupsWord};
use clap::Args;
use firsttouch_graph::Algorithm;
use firsttouch_placement::Pages;
use std::path::PathBuf;

/// A run of searches: on what, from where, by which processes.
#[derive(Args, Debug)]
pub(crate) struct PathsRun {
    #[command(flatten)]
    pub(crate) graph: PlacedGraph,
    #[command(flatten)]
    pub(crate) from: Sources,
    #[command(flatten)]
    pub(crate) index: Index,
    /// Share the run with other processes through DIR, which all of them can write to: each takes sources that nobody has taken;
    /// process 0 tells and exports what all have found. Started again, it does what is missing
    #[arg(long, value_name = "DIR")]
    pub(crate) shard_dir: Option<PathBuf>,
    /// Which of the processes this is, as 0/4; auto: as srun or mpirun says
    #[arg(long, value_name = "R/N", default_value = "auto", requires = "shard_dir")]
    pub(crate) shard: ShardWord,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// The graph, where it lies, and who works on it.
#[derive(Args, Debug)]
pub(crate) struct PlacedGraph {
    #[command(flatten)]
    pub(crate) input: GraphInput,
    /// Kind of pages of the graph and all that is kept for searching it: thp, 2m, 1g, 4k, 16k…1024k, auto; plain is the
    /// heap, or the mapped file
    #[arg(long, value_name = "KIND", value_parser = pages, default_value = "thp")]
    pub(crate) pages: Pages,
    /// One copy of the graph for every group of cores, next to it, and threads on these: CORESxGROUPS, as in 6x4
    #[arg(long, value_name = "CORESxGROUPS", conflicts_with = "threads")]
    pub(crate) groups: Option<GroupsWord>,
}

/// Where to search from.
#[derive(Args, Debug)]
pub(crate) struct Sources {
    /// Search from these nodes
    #[arg(long, value_name = "NODES", value_delimiter = ',')]
    pub(crate) sources: Vec<u64>,
    /// Search from the nodes that a DIMACS .ss file lists
    #[arg(long, value_name = "FILE")]
    pub(crate) sources_file: Option<PathBuf>,
    /// Search from N nodes drawn at random, after --seed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) random: Option<u32>,
    /// Seed of --random
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
}

/// The hierarchy that sweeps need, kept from one run to the next.
#[derive(Args, Clone, Debug)]
pub(crate) struct Index {
    /// Sweep over the hierarchy that FILE keeps, of the same arcs with any weights, in the same order of nodes
    #[arg(long, value_name = "FILE")]
    pub(crate) index: Option<PathBuf>,
    /// Keep the hierarchy in FILE, for --index
    #[arg(long, value_name = "FILE", conflicts_with = "index")]
    pub(crate) save_index: Option<PathBuf>,
}

impl Index {
    /// Whether there is to be a hierarchy, come what may.
    pub(crate) fn is_named(&self) -> bool {
        self.index.is_some() || self.save_index.is_some()
    }
}

/// `--algorithm`: one, or the one that suits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chosen {
    Auto,
    This(Algorithm),
}

/// One of these algorithms by its word, or `auto`.
pub(super) fn chosen(text: &str, among: &[Algorithm]) -> Result<Chosen, String> {
    if text == "auto" {
        return Ok(Chosen::Auto);
    }
    among.iter().find(|algorithm| algorithm.word() == text).map(|known| Chosen::This(*known)).ok_or_else(
        || {
            let words: Vec<&str> = among.iter().map(|algorithm| algorithm.word()).collect();
            format!("expected auto, {}", words.join(", "))
        },
    )
}
