//! The options of `graph`.

use super::words::{pages, size};
use clap::{Args, Subcommand};
use firsttouch_graph::{CoreGroup, Format, core_groups, core_groups_across};
use firsttouch_machine::Machine;
use firsttouch_placement::Pages;
use firsttouch_threads::GroupsError;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

/// Read, convert and make graphs
///
/// What a file is, is told by its contents: DIMACS (.gr), Matrix Market (.mtx), edge lists (.el, .wel, SNAP), METIS (.graph),
/// also packed (.gz, .bz2, .xz), and .ftg, which is mapped into memory without reading it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  firsttouch graph info USA-road-d.NY.gr.gz
  firsttouch graph convert USA-road-d.NY.gr.gz ny.ftg --reorder dfs
  firsttouch graph generate random 26 random26.ftg --weights 1-65535")]
pub(crate) struct Graph {
    #[command(subcommand)]
    pub(crate) what: GraphWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GraphWhat {
    Info(GraphInfo),
    Convert(GraphConvert),
    Generate(GraphGenerate),
}

/// How a graph is read.
#[derive(Args, Debug)]
pub(crate) struct GraphInput {
    /// The file; - is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[arg(long, value_name = "FORMAT", value_parser = format, help = format_help())]
    pub(crate) format: Option<Format>,
    /// Take every line as an arc there and one back
    #[arg(long)]
    pub(crate) undirected: bool,
    /// Coordinates of the nodes (.co)
    #[arg(long, value_name = "FILE")]
    pub(crate) coordinates: Option<PathBuf>,
    /// Bring the nodes into another order: dfs, bfs, cells[=NODES], hilbert (needs coordinates)
    #[arg(long, value_name = "ORDER")]
    pub(crate) reorder: Option<ReorderWord>,
    /// Bytes that the nodes of its header may take (8 each), and what it unpacks to, where that is more than its length allows
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) most_memory: Option<u64>,
    /// Threads that read [default: as many as there are CPUs]
    #[arg(long = "num-threads", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) threads: Option<u32>,
}

/// Show what a graph is, and how fast it is read
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  firsttouch graph info ny.ftg --pages thp --json | jq .receipt
  firsttouch graph info usa.gr.gz --groups 6x4    a copy for each group of cores")]
pub(crate) struct GraphInfo {
    #[command(flatten)]
    pub(crate) input: GraphInput,
    /// Pages that it is to lie on: thp, 2m, 1g, 4k, 16k…1024k, auto; plain is the heap, or the mapped file
    #[arg(long, value_name = "KIND", value_parser = pages, default_value = "thp")]
    pub(crate) pages: Pages,
    /// One copy for every group of cores, next to it: CORESxGROUPS, as in 6x4
    #[arg(long, value_name = "CORESxGROUPS")]
    pub(crate) groups: Option<GroupsWord>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write a graph in another format
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  firsttouch graph convert roadNet-PA.txt.gz pa.gr --undirected
  firsttouch graph convert ny.ftg - --to wel | head")]
pub(crate) struct GraphConvert {
    #[command(flatten)]
    pub(crate) input: GraphInput,
    /// The file to be written; - is standard output. Names in .gz are packed
    #[arg(value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// Its format [default: as its name ends]
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub(crate) to: Option<Format>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum GraphKind {
    /// Streets on a grid, all connected, with main roads and coordinates: 2^SCALE crossings
    Streets,
    /// 2^SCALE nodes and twice as many arcs, drawn uniformly
    Random,
    /// As Graph500 and the GAP benchmark make them: 2^SCALE nodes, undirected
    Kronecker,
}

/// Make a graph by rule: the same for the same seed
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  firsttouch graph generate kronecker 20 - --to wel | head
  firsttouch graph generate random 30 random30.ftg --weights 1-1 --dry-run   how much memory that takes")]
pub(crate) struct GraphGenerate {
    /// What to make
    #[arg(value_name = "KIND")]
    pub(crate) kind: GraphKind,
    /// Logarithm of the number of nodes
    #[arg(value_parser = clap::value_parser!(u32).range(0..=31))]
    pub(crate) scale: u32,
    /// The file to be written; - is standard output. Names in .gz are packed
    #[arg(value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// Its format [default: as its name ends]
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub(crate) to: Option<Format>,
    /// Arcs per node of random graphs, edges per node of Kronecker graphs [default: 2 and 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1 << 16))]
    pub(crate) degree: Option<u32>,
    /// Weights are drawn from LEAST to MOST [default: 1-65535 of random graphs, 1-255 of Kronecker graphs]
    #[arg(long, value_name = "LEAST-MOST", value_parser = weights)]
    pub(crate) weights: Option<Range>,
    /// Another seed makes another graph
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Threads [default: as many as there are CPUs]
    #[arg(long = "num-threads", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) threads: Option<u32>,
    /// Only tell how much memory the graph and one search on it take, and how much there is
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A range of weights. (clap would take the standard one for its own.)
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Range(pub(crate) RangeInclusive<u32>);

/// Groups of cores, as `6x4`: cores of a group, and groups; `6x4-across`: such that reach over the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupsWord {
    pub(crate) cores: u32,
    pub(crate) groups: u32,
    pub(crate) across: bool,
}

impl FromStr for GroupsWord {
    type Err = String;

    fn from_str(text: &str) -> Result<GroupsWord, String> {
        let (numbers, across) = text.strip_suffix("-across").map_or((text, false), |rest| (rest, true));
        let parse = || {
            let (cores, groups) = numbers.split_once('x')?;
            Some(GroupsWord { cores: cores.parse().ok()?, groups: groups.parse().ok()?, across })
        };
        let valid = parse().filter(|groups| groups.cores > 0 && groups.groups > 0);
        valid.ok_or_else(|| "cores per group and groups: 6x4, or 6x4-across".to_owned())
    }
}

impl fmt::Display for GroupsWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}{}", self.cores, self.groups, if self.across { "-across" } else { "" })
    }
}

impl GroupsWord {
    /// The groups, of CPUs that may be used.
    pub(crate) fn on(self, machine: &Machine, usable: &[u32]) -> Result<Vec<CoreGroup>, GroupsError> {
        let made = if self.across { core_groups_across } else { core_groups };
        made(machine, usable, self.cores, self.groups)
    }

    /// Groups of all cores, from many small ones to one: within nodes as long as they fit, and of these the largest across the
    /// nodes, too.
    pub(crate) fn all(machine: &Machine, usable: &[u32]) -> Vec<GroupsWord> {
        let fits = |word: &GroupsWord| word.on(machine, usable).is_ok();
        let word = |cores, groups, across| GroupsWord { cores, groups, across };
        // Groups of one core have room wherever there are so many cores.
        let most = (1..=usable.len() as u32).rev().find(|cores| fits(&word(1, *cores, false))).unwrap_or(0);
        let each = (1..=most).filter(|cores| most.is_multiple_of(*cores));
        let within: Vec<_> = each.map(|cores| word(cores, most / cores, false)).filter(fits).collect();
        let last = within.last().copied();
        let across = last
            .filter(|last| machine.nodes.len() > 1 && last.cores > 1)
            .map(|last| word(last.cores, last.groups, true));
        let whole = last.filter(|last| last.groups > 1).map(|_| word(most, 1, true));
        within.into_iter().chain(across).chain(whole).collect()
    }
}

/// An order of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReorderWord(pub(crate) firsttouch_graph::Reordering);

impl FromStr for ReorderWord {
    type Err = String;

    fn from_str(text: &str) -> Result<ReorderWord, String> {
        firsttouch_graph::Reordering::parse(text)
            .map(ReorderWord)
            .ok_or_else(|| "dfs, bfs, cells, cells=NODES or hilbert".to_owned())
    }
}

fn format(text: &str) -> Result<Format, String> {
    Format::parse(text).ok_or_else(|| Format::words(|_| true, ", ", " or "))
}

fn format_help() -> String {
    format!("Its format, where it is not what it looks like: {}", Format::words(|_| true, ", ", ", "))
}

fn weights(text: &str) -> Result<Range, String> {
    let parse = || {
        let (least, most) = text.split_once('-')?;
        Some(least.parse().ok()?..=most.parse().ok()?)
    };
    parse()
        .filter(|range| !range.is_empty())
        .map(Range)
        .ok_or_else(|| "the least and the largest weight: 1-65535".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_machine::Source;

    /// The groups of a machine that is described so.
    fn groups(description: &str, cpus: u32) -> Vec<String> {
        let machine = Source::Synthetic(description.to_owned()).machine().unwrap();
        let usable: Vec<u32> = (0..cpus).collect();
        GroupsWord::all(&machine, &usable).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn groups_are_of_cores_within_nodes_and_across() {
        // Hardware threads are no cores.
        assert_eq!(groups("pack:1 [numa] l3:1 core:6 pu:2", 12), ["1x6", "2x3", "3x2", "6x1"]);
        let wanted = ["1x8", "2x4", "4x2", "4x2-across", "8x1-across"];
        assert_eq!(groups("pack:2 [numa] l3:1 core:4 pu:2", 16), wanted);
        assert_eq!(groups("pack:2 [numa] l3:1 core:1 pu:1", 2), ["1x2", "2x1-across"]);
        assert_eq!(groups("pack:1 [numa] l3:1 core:1 pu:2", 2), ["1x1"]);
    }

    #[test]
    fn words_of_groups_read_as_they_are_written() {
        for text in ["6x4", "24x1-across"] {
            assert_eq!(text.parse::<GroupsWord>().unwrap().to_string(), text);
        }
        assert!(["6x", "0x4", "6x4-over"].iter().all(|text| text.parse::<GroupsWord>().is_err()));
    }
}
