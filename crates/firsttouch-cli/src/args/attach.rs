//! The words of `attach`.

use super::words::{duration, placement_word};
use clap::{Args, ValueEnum};
use firsttouch_placement::{MemoryPolicy, Pages, ThreadPlacement};
use std::ffi::OsString;
use std::time::Duration;

/// Change the placement of a program that already runs
///
/// Collapses its memory onto huge pages, moves its pages to other nodes, binds its threads: from outside, without its
/// help, in short steps. What was there before each step is written to a journal first, so that `--undo` can go back, also
/// after an attach that was cut off. Without a wish, memory is collapsed. Exit codes: 0 done (shortfalls are told, and are no failure), 1
/// the process ended or changed in the middle, 125 nothing was changed (wrong usage, too), 130 interrupted.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  sudo firsttouch attach 4711                              its memory onto huge pages
  sudo firsttouch attach 4711 --dry-run                    what would change
  sudo firsttouch attach 4711 --node 1 --pages thp         memory and threads to node 1
  firsttouch attach 4711 --near-own-devices --dry-run      which devices it uses, and where they are
  firsttouch attach 4711 --memory interleave=all           pages over all nodes; threads stay
  firsttouch attach 4711 --threads compact --tree          its descendants too
  firsttouch attach --balance 4711 --dry-run               a CPU for each of its busy threads, by what they do
  firsttouch attach --balance -- ./simulation input.dat    the same for a program from its start
  firsttouch attach --undo 4711                            back to where it was
  firsttouch attach --list                                 what is attached to")]
pub(crate) struct Attach {
    /// The process
    #[arg(required_unless_present_any = ["list", "forget", "program"])]
    pub(crate) pid: Option<u32>,
    /// thp: collapse memory onto transparent huge pages; plain: leave pages as they are [default: thp, unless nodes or
    /// CPUs are asked for]
    #[arg(long, value_parser = outside_pages, value_name = "KIND")]
    pub(crate) pages: Option<bool>,
    /// Move the process to a node: its memory, and its threads unless --threads says otherwise
    #[arg(long, value_name = "N", conflicts_with = "memory")]
    pub(crate) node: Option<u32>,
    /// Move the process next to the devices that it uses: disks below its files, cards of its connections, device files
    ///
    /// Where they are on several nodes, the node with most of them is taken, or else that with most bytes in use;
    /// `--dry-run` tells what was found.
    #[arg(long, conflicts_with_all = ["node", "memory", "near"])]
    pub(crate) near_own_devices: bool,
    /// Move the process next to a device: nvme0n1, eth0, md0, 0000:05:00.0, /dev/dri/renderD128
    #[arg(long, value_name = "DEVICE", conflicts_with_all = ["node", "memory"])]
    pub(crate) near: Option<String>,
    /// Move its pages: bind=NODES, prefer=NODES, interleave=NODES, weighted or weighted=NODES
    ///
    /// Pages that exist are moved; those that the program creates later follow its own policy.
    #[arg(long, value_parser = placement_word::<MemoryPolicy>, value_name = "POLICY")]
    pub(crate) memory: Option<MemoryPolicy>,
    /// CPUs of its threads: compact, scatter, groups=CORESxGROUPS, or CPUs such as 0,2,4-7
    ///
    /// Threads are bound in the order of their numbers. Threads made later have the CPUs of their maker.
    #[arg(long, value_parser = placement_word::<ThreadPlacement>, value_name = "PLACEMENT")]
    pub(crate) threads: Option<ThreadPlacement>,
    /// Place shared memory and pages of files too
    ///
    /// They are moved where no other process maps them. Shared memory is collapsed, for every process that maps it, where
    /// its address allows huge pages.
    #[arg(long)]
    pub(crate) files: bool,
    /// Its descendants too, each with a journal of its own
    #[arg(long)]
    pub(crate) tree: bool,
    /// The longest pause that a thread of the process may have because of us: 20ms, 1s
    #[arg(long, value_parser = duration, default_value = "20ms", value_name = "TIME")]
    pub(crate) budget_stall: Duration,
    /// Who does it: `remote`, by calls on the process; or `in-process`, by the agent in a program that was started by
    /// `firsttouch run --attachable` [default: remote, or where that is not allowed in-process]
    #[arg(long, value_enum, value_name = "WHO")]
    pub(crate) executor: Option<ChosenExecutor>,
    #[command(flatten)]
    pub(crate) balancing: Balancing,
    /// Only say what would change
    #[arg(long, conflicts_with = "undo")]
    pub(crate) dry_run: bool,
    /// Go back: threads get their CPUs, pages their nodes
    #[arg(long, conflicts_with_all = ["pages", "node", "near_own_devices", "near", "memory", "threads", "files"])]
    pub(crate) undo: bool,
    /// List the journals
    #[arg(long, conflicts_with_all = ["pid", "forget"])]
    pub(crate) list: bool,
    /// Remove the journals of processes that are gone
    #[arg(long, conflicts_with = "pid")]
    pub(crate) forget: bool,
    /// Print JSON; the standard output of a PROGRAM then goes to standard error
    #[arg(long)]
    pub(crate) json: bool,
    /// The program and its arguments, for --balance
    #[arg(last = true, value_name = "PROGRAM", requires = "balance", conflicts_with_all = ["pid", "list", "forget"])]
    pub(crate) program: Vec<OsString>,
}

/// How busy threads get CPUs by what they do.
#[derive(Args, Debug)]
pub(crate) struct Balancing {
    /// Give each busy thread of the process, or of the PROGRAM after `--`, a CPU by what it does
    ///
    /// What the threads do is looked at for a while, and a strategy of `firsttouch balance` chooses. A PROGRAM keeps its output
    /// and its exit status.
    #[arg(long, conflicts_with_all = ["pages", "node", "near_own_devices", "near", "memory", "threads", "files", "tree", "undo",
        "list", "forget"])]
    pub(crate) balance: bool,
    /// How long to look at the threads: 500ms, 5s
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1s", requires = "balance")]
    pub(crate) interval: Duration,
    /// How long to wait before that, for a PROGRAM to make its threads
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1s", requires = "balance")]
    pub(crate) after: Duration,
    /// none, greedy, greedy-refine, refine, recbipart, metis, scotch, numa, treematch or best
    #[arg(long, value_name = "NAME", default_value = "best", requires = "balance")]
    pub(crate) strategy: String,
    /// The imbalance that is good enough
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, requires = "balance")]
    pub(crate) tolerance: f64,
}

/// Who carries the steps out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ChosenExecutor {
    /// Calls on the process from ours
    Remote,
    /// The agent in the process
    InProcess,
}

/// Whether to collapse. What else `run` offers cannot be had from outside.
fn outside_pages(text: &str) -> Result<bool, String> {
    match text {
        "thp" => Ok(true),
        "plain" => Ok(false),
        word if Pages::parse(word).is_some() => Err("of a running program only `thp` can be had: the kernel collapses pages from \
                                            outside, and neither splits them nor exchanges them for reserved ones"
            .to_owned()),
        _ => Err("expected thp or plain".to_owned()),
    }
}
