//! Proved: the document `tune` writes. Every raw run is in it, in order.

use crate::{Placement, Receipt};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// What the runs say about a configuration against the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The whole interval of the ratio lies above 1.
    Faster,
    /// The whole interval of the ratio lies below 1.
    Slower,
    /// The whole interval lies inside 1 ± 2 %.
    Same,
    /// None of these yet: more runs are needed.
    Undecided,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Same => "same",
            Verdict::Undecided => "undecided",
        })
    }
}

/// How many times faster than the baseline (baseline time / time), with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// Geometric mean of the per-block ratios.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// One execution of the program under one configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchedRun {
    /// The block it belongs to, from 0.
    pub block: u32,
    /// Its place in the order of all runs of the session, from 0.
    pub order: u32,
    /// Wall-clock time in seconds.
    pub wall_s: f64,
    /// Processor time in user mode, in seconds.
    pub user_s: f64,
    /// Processor time in the kernel, in seconds.
    pub system_s: f64,
    /// Peak resident set of the largest process, in bytes.
    pub max_rss_bytes: u64,
    /// Page faults that needed no I/O.
    pub minor_faults: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Voluntary and involuntary context switches together.
    pub context_switches: u64,
    /// Hardware counters by name, where the kernel has them; empty otherwise.
    #[serde(default)]
    pub counters: BTreeMap<String, u64>,
    /// Marked as an outlier (modified z-score above 3.5); never dropped.
    #[serde(default)]
    pub outlier: bool,
}

/// One configuration: asked, obtained, proved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfigurationReport {
    /// Short name, unique in the document (`baseline`, `thp`, `glibc-2m`).
    pub name: String,
    /// What was asked; `None` for a plain run (the baseline) or a rival's own launcher.
    pub asked: Option<Placement>,
    /// What was obtained, from the untimed probe run.
    pub obtained: Option<Receipt>,
    /// Its timed runs in order, those of the confirmation phase not included.
    pub runs: Vec<LaunchedRun>,
    /// Mean wall-clock time in seconds.
    pub mean_wall_s: f64,
    /// Half-width of the 95 % Student-t interval of the mean, in seconds; `None` with fewer than two runs.
    pub ci95_wall_s: Option<f64>,
    /// Ratio to the baseline; `None` for the baseline itself or with fewer than two blocks.
    pub ratio: Option<Ratio>,
    /// The verdict against the baseline, Holm-adjusted; `None` for the baseline itself.
    pub verdict: Option<Verdict>,
    /// When undecided: about how many more runs it would take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_runs: Option<u32>,
    /// The wall times fall into more than one group (dip test, 5 % level).
    #[serde(default)]
    pub bimodal: bool,
    /// Dropped after this block because it was certainly worse than the best; `None` if it ran to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_after_block: Option<u32>,
}

/// A configuration that was not run, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SkippedConfiguration {
    /// Its name.
    pub name: String,
    /// Why it cannot run here.
    pub reason: String,
    /// The command that would make it possible, where one exists.
    pub remedy: Option<String>,
}

/// Fresh blocks of the winner against the baseline only: the number that is printed large.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Confirmation {
    /// The ratio of the fresh blocks.
    pub ratio: Option<Ratio>,
    /// Its verdict.
    pub verdict: Verdict,
    /// The baseline's runs.
    pub baseline_runs: Vec<LaunchedRun>,
    /// The winner's runs.
    pub winner_runs: Vec<LaunchedRun>,
}

/// What the winner took the place of: the fastest of the search, which intrudes more and is no faster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tie {
    /// Its name.
    pub name: String,
    /// How many times faster the winner is than it, by the blocks of the search; the interval excludes every loss that
    /// matters.
    pub ratio: Ratio,
    /// What the winner spares, in words that follow its name: `needs no library in front of malloc`.
    pub why: String,
}

/// The document of one `tune` session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TuneReport {
    /// [`crate::SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The seed of the block orders.
    pub seed: u64,
    /// When the session started, RFC 3339 in UTC.
    pub started: String,
    /// The machine, as `status --json` prints it under `machine`.
    pub machine: serde_json::Value,
    /// The baseline first, then the others in the order asked.
    pub configurations: Vec<ConfigurationReport>,
    /// Configurations that could not run here.
    #[serde(default)]
    pub skipped: Vec<SkippedConfiguration>,
    /// Name of the best configuration, if one is faster than the baseline: the fastest, or the one that is as fast and
    /// intrudes less.
    pub winner: Option<String>,
    /// What the winner took the place of; `None` where it is the fastest itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tied_with: Option<Tie>,
    /// The confirmation phase, if there was a winner to confirm.
    pub confirmation: Option<Confirmation>,
    /// The session was cut short (Ctrl-C): what is here is what was finished.
    #[serde(default)]
    pub interrupted: bool,
    /// The session used `--quick` (5 blocks instead of 10 before the precision may stop it).
    #[serde(default)]
    pub quick: bool,
    /// Things that make the figures less sure, each with what to do.
    pub warnings: Vec<String>,
}

impl TuneReport {
    /// The configuration of that name.
    pub fn configuration(&self, name: &str) -> Option<&ConfigurationReport> {
        self.configurations.iter().find(|configuration| configuration.name == name)
    }
}
