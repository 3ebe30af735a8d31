//! The options of `sssp`.

use super::paths::{Chosen, PathsRun, chosen};
use clap::{ArgGroup, Args};
use firsttouch_graph::Algorithm;
use std::path::PathBuf;

/// Find the shortest paths from some nodes of a graph to all others
///
/// Nodes are named by the numbers they have in the file. Distances are exact; where no path leads, there is none. Prints
/// what was found and how fast; `--export-csv` writes the distances. Exit codes: 0 done, 1 failed, 2 wrong usage, 130
/// interrupted (what was finished is written).
#[derive(Args, Debug)]
#[command(
    group = ArgGroup::new("from").required(true).args(["sources", "sources_file", "random", "merge"]),
    after_help = "Examples:
  firsttouch sssp NY.gr.gz --sources 1,777,4242 --export-csv distances.csv
  firsttouch sssp NY.gr --random 100 --json | jq .edges_per_s
  firsttouch sssp roads.gr --sources 17 --limit 60000 --export-csv around-17.csv
  firsttouch graph generate random 24 - --to gr | firsttouch sssp - --random 4 --algorithm delta
  firsttouch sssp roads.gr --sources-file from.ss --targets 3,17 --algorithm phast --export-csv times.csv
  srun -n 64 firsttouch sssp usa.gr --sources-file from.ss --shard-dir /scratch/from --export-csv times.csv
  firsttouch sssp --merge /scratch/from --export-csv so-far.csv
  firsttouch sssp big.ftg --random 64 --groups 6x4 --pages 2m   a copy of the graph for each group of cores
  firsttouch sssp big.ftg --random 64 --dry-run   how much memory that would take"
)]
pub(crate) struct Sssp {
    #[command(flatten)]
    pub(crate) run: PathsRun,
    /// How to search: auto, buckets, heap; all threads on one source: delta, partitions (of a map, for each its own); phast (32
    /// sources at once)
    #[arg(long, value_name = "NAME", value_parser = algorithm, default_value = "auto")]
    pub(crate) algorithm: Chosen,
    /// The stretch of distances that delta-stepping works on at a time [default: follows the search]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) delta: Option<u64>,
    /// The width of buckets [default: measured]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) width: Option<u64>,
    /// Leave nodes out that are farther than D
    #[arg(long, value_name = "D")]
    pub(crate) limit: Option<u64>,
    /// Find the distances of these nodes only: searches end when they are known
    #[arg(long, value_name = "NODES", value_delimiter = ',')]
    pub(crate) targets: Vec<u64>,
    /// Export the node before each on a shortest path, too
    #[arg(long, requires = "export_csv")]
    pub(crate) parents: bool,
    /// Write source, target and distance of every pair to FILE; an empty distance says that no path leads there
    #[arg(long, value_name = "FILE")]
    pub(crate) export_csv: Option<PathBuf>,
    /// Tell what processes have found that shared the folder FILE, export it, and name what is missing
    #[arg(long, conflicts_with_all = ["shard_dir", "index", "save_index", "targets", "limit", "parents"])]
    pub(crate) merge: bool,
    /// Only tell how much memory it would take, by the header of the graph, and how much there is
    #[arg(long, conflicts_with_all = ["shard_dir", "merge"])]
    pub(crate) dry_run: bool,
}

fn algorithm(text: &str) -> Result<Chosen, String> {
    chosen(text, &Algorithm::ALL)
}
