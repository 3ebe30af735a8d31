//! The options of `watch`.

use super::words::{duration, percent};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Watch a process, or a program from its start: page sizes, nodes, faults, threads, pools
///
/// On a terminal the view is drawn again with every sample; elsewhere every sample is a line. Looking costs the process
/// nothing but the moments in which the kernel walks its page tables; how long these are is measured and shown, and they
/// come as often as --max-overhead allows. Ends with the process (0), or with the program and its exit status; Ctrl-C ends
/// it at any time (0). 125 is a failure of ours.
///
/// With `-- PROGRAM` the view goes to standard error and the program's output stays what it is; with `--json` as well, the
/// program's standard output goes to standard error.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  firsttouch watch 1234                                  a process that runs
  firsttouch watch --tree 1234                           it and its descendants
  firsttouch watch --record sort.watch -- sort big.txt   a program from its start, kept for later
  firsttouch report sort.watch --export-html sort.html   … drawn over time
  firsttouch watch --json --samples 1 1234 | jq 'select(.kind == \"watch-sample\").memory.bytes_by_node'
  firsttouch watch --interval 50ms --max-overhead 10% 1234     closer looks at a higher price")]
pub(crate) struct Watch {
    /// Print the recording: every sample, and what they are of, as an object of JSON on a line of its own
    #[arg(long)]
    pub(crate) json: bool,
    /// Time from sample to sample; longer where --max-overhead asks for it: 50ms, 2s, 1m
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "1s")]
    pub(crate) interval: Duration,
    /// The most that watching may take of one core
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "1%")]
    pub(crate) max_overhead: f64,
    /// Stop watching after this time
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) duration: Option<Duration>,
    /// Stop watching after N samples
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) samples: Option<u64>,
    /// Watch the descendants of the process, too
    #[arg(long)]
    pub(crate) tree: bool,
    /// Keep the recording in FILE, for `firsttouch report`, and show the samples
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// The process
    #[arg(required_unless_present = "program", conflicts_with = "program", value_parser = clap::value_parser!(u32).range(1..=1 << 22))]
    pub(crate) pid: Option<u32>,
    /// The program and its arguments
    #[arg(last = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<OsString>,
}
