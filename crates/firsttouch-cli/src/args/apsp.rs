//! The options of `apsp`.

use super::paths::{Chosen, PathsRun, chosen};
use clap::{ArgGroup, Args};
use firsttouch_graph::{Algorithm, Figure};
use std::path::PathBuf;

/// Find the distances from every node of a graph, or from many, to every other
///
/// The distances themselves are kept only with `--matrix`; what is told is computed of them while they are found. On graphs
/// that small cuts fall apart under, as roads do, sweeps over a hierarchy find them; on others, searches. Exit codes: 0 done, 1
/// failed, 2 wrong usage, 130 interrupted (a checkpoint is written, if one was asked for).
#[derive(Args, Debug)]
#[command(
    group = ArgGroup::new("from").args(["sources", "sources_file", "random"]),
    after_help = "Examples:
  firsttouch apsp NY.gr.gz
  firsttouch apsp NY.gr.gz --reduce eccentricity,closeness --export-csv nodes.csv
  firsttouch apsp NY.gr --save-index ny.order --checkpoint ny.part          Ctrl-C ends it …
  firsttouch apsp NY.gr --index ny.order --checkpoint ny.part --resume      … and this goes on
  firsttouch apsp town.gr --matrix town.npy                                 then numpy.load(\"town.npy\", mmap_mode=\"r\")
  srun -n 64 firsttouch apsp usa.gr --shard-dir /scratch/usa                mpirun, too; again, after a crash
  srun -n 64 firsttouch apsp usa.gr --random 100000 --reduce closeness --shard-dir /scratch/some
  firsttouch apsp --merge /scratch/usa                                      what has been found so far
  mpirun -n 8 firsttouch apsp usa.gr --mpi --checkpoint usa.part            built with MPI: rank 0 reads, all search
  firsttouch apsp big.ftg --groups 6x4 --pages 2m --json | jq .edges_per_s"
)]
pub(crate) struct Apsp {
    #[command(flatten)]
    pub(crate) run: PathsRun,
    /// How to find them: auto, phast, buckets, heap
    #[arg(long, value_name = "NAME", value_parser = algorithm, default_value = "auto")]
    pub(crate) algorithm: Chosen,
    /// What to tell: eccentricity, diameter, radius, closeness, reach, histogram, checksum
    #[arg(
        long,
        value_name = "FIGURES",
        value_delimiter = ',',
        value_parser = figure,
        default_value = "diameter,radius,checksum"
    )]
    pub(crate) reduce: Vec<Figure>,
    /// Write all distances to FILE (.npy), if the disk has room: a row for each source, in the order of the graph's file
    #[arg(long, value_name = "FILE", conflicts_with = "shard_dir")]
    pub(crate) matrix: Option<PathBuf>,
    /// Keep in FILE how far it has come, every half a minute and when it ends
    #[arg(long, value_name = "FILE", conflicts_with = "shard_dir")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Go on from the checkpoint
    #[arg(long, requires = "checkpoint")]
    pub(crate) resume: bool,
    /// Let the ranks that mpirun started work for rank 0, which alone reads FILE, tells them the graph, hands out the sources and
    /// keeps what is found. Needs a firsttouch that was built with --features mpi
    #[arg(long, conflicts_with_all = ["shard_dir", "matrix"])]
    pub(crate) mpi: bool,
    /// Tell what processes have found that shared the folder FILE, and what is missing
    #[arg(long, conflicts_with_all = ["shard_dir", "checkpoint", "matrix", "index", "save_index", "mpi"])]
    pub(crate) merge: bool,
    /// Write the figures that every node has to FILE: node, eccentricity, closeness, reach (of these what --reduce names, or all)
    #[arg(long, value_name = "FILE")]
    pub(crate) export_csv: Option<PathBuf>,
    /// Tell on stderr every second how far it is, also where that is no terminal
    #[arg(long)]
    pub(crate) progress: bool,
}

fn algorithm(text: &str) -> Result<Chosen, String> {
    chosen(text, &[Algorithm::Phast, Algorithm::Buckets, Algorithm::Heap])
}

fn figure(text: &str) -> Result<Figure, String> {
    let known = Figure::ALL.into_iter().find(|figure| figure.word() == text);
    known.ok_or_else(|| format!("expected {}", Figure::ALL.map(Figure::word).join(", ")))
}
