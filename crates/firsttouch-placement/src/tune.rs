//! Proved: the document `tune` writes. Every raw run is in it, in order.

use crate::{Pages, Placement, Receipt, Via};
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

impl ConfigurationReport {
    /// What `runs` of this configuration had in memory at their peak: the median, in bytes. `None` without a run.
    ///
    /// A run tells the resident set of its largest process. Pages of a pool are in no resident set, so those of the
    /// untimed run are added. By other means than the agent's nobody counts them: all huge pages are taken for such then.
    pub fn peak_memory_bytes(&self, runs: &[LaunchedRun]) -> Option<u64> {
        let mut peaks: Vec<u64> = runs.iter().map(|run| run.max_rss_bytes).collect();
        peaks.sort_unstable();
        let upper = *peaks.get(peaks.len() / 2)?;
        let lower = peaks[(peaks.len() - 1) / 2];
        Some((lower + (upper - lower) / 2).saturating_add(self.pool_bytes()))
    }

    fn pool_bytes(&self) -> u64 {
        let obtained = self.obtained.as_ref().and_then(|receipt| receipt.obtained.as_ref());
        let (Some(asked), Some(obtained)) = (&self.asked, obtained) else { return 0 };
        let of_a_pool = matches!(asked.pages, Pages::Huge2M | Pages::Huge1G) && asked.via != Via::Supervise;
        if asked.is_placed_by_agent() || !of_a_pool {
            return obtained.pool_bytes;
        }
        let huge = obtained.bytes_by_page_size.range(Pages::Huge2M.bytes() as u64..);
        huge.fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }
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
    /// More memory than this share of the baseline's is a cost that has to be told beside the gain.
    pub const MEMORY_WORTH_TELLING: f64 = 0.1;

    /// Peak memory of the winner and of the baseline in bytes, by the runs that confirmed the winner.
    pub fn confirmed_memory_bytes(&self) -> Option<(u64, u64)> {
        let (confirmation, baseline) = (self.confirmation.as_ref()?, self.configurations.first()?);
        let winner = self.configuration(self.winner.as_deref()?)?;
        winner
            .peak_memory_bytes(&confirmation.winner_runs)
            .zip(baseline.peak_memory_bytes(&confirmation.baseline_runs))
    }

    /// How much more memory the winner needs, as a share of the baseline's; `None` where that is not worth telling.
    pub fn more_memory(&self) -> Option<f64> {
        let (winner, baseline) = self.confirmed_memory_bytes()?;
        let (winner, baseline) = (winner as f64, baseline as f64);
        let is_worth_telling = baseline > 0.0 && winner > baseline * (1.0 + Self::MEMORY_WORTH_TELLING);
        is_worth_telling.then(|| winner / baseline - 1.0)
    }

    /// The configuration of that name.
    pub fn configuration(&self, name: &str) -> Option<&ConfigurationReport> {
        self.configurations.iter().find(|configuration| configuration.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Obtained, SCHEMA_VERSION};

    const MIB: u64 = 1 << 20;

    fn runs(peaks: &[u64]) -> Vec<LaunchedRun> {
        let run = |(order, &max_rss_bytes)| LaunchedRun {
            block: order,
            order,
            wall_s: 1.0,
            user_s: 1.0,
            system_s: 0.0,
            max_rss_bytes,
            minor_faults: 0,
            major_faults: 0,
            context_switches: 0,
            counters: BTreeMap::new(),
            outlier: false,
        };
        (0..).zip(peaks).map(run).collect()
    }

    fn configuration(asked: &str, obtained: Obtained) -> ConfigurationReport {
        let asked: Placement = asked.parse().unwrap();
        ConfigurationReport {
            name: asked.to_string(),
            obtained: Some(Receipt {
                cpus_obtained: None,
                schema_version: SCHEMA_VERSION,
                program: String::new(),
                asked: asked.clone(),
                obtained: Some(obtained),
                tree: None,
                shortfalls: Vec::new(),
                via: asked.via,
                blocks: Vec::new(),
                complete: true,
                ending: None,
                notes: Vec::new(),
            }),
            asked: Some(asked),
            runs: Vec::new(),
            mean_wall_s: 0.0,
            ci95_wall_s: None,
            ratio: None,
            verdict: None,
            more_runs: None,
            bimodal: false,
            dropped_after_block: None,
        }
    }

    #[test]
    fn peak_memory_is_the_median_and_holds_what_a_pool_gave() {
        let by_page_size = BTreeMap::from([(4096, 7 * MIB), (2 << 20, 64 * MIB), (1 << 30, 1024 * MIB)]);
        let obtained =
            Obtained { pool_bytes: 32 * MIB, bytes_by_page_size: by_page_size, ..Obtained::default() };
        let peak = |asked: &str, peaks: &[u64]| {
            configuration(asked, obtained.clone()).peak_memory_bytes(&runs(peaks))
        };
        assert_eq!(peak("2m", &[]), None);
        assert_eq!(peak("2m", &[30 * MIB, 10 * MIB, 900 * MIB]), Some(62 * MIB));
        assert_eq!(peak("2m", &[10 * MIB, 20 * MIB]), Some(47 * MIB));
        // glibc counts nothing; and what it was not asked to take of a pool lies elsewhere.
        assert_eq!(peak("2m,via=glibc", &[10 * MIB]), Some(1098 * MIB));
        let transparent = Obtained { pool_bytes: 0, ..obtained.clone() };
        let glibc = configuration("thp,via=glibc", transparent);
        assert_eq!(glibc.peak_memory_bytes(&runs(&[10 * MIB])), Some(10 * MIB));
        assert_eq!(glibc.peak_memory_bytes(&runs(&[u64::MAX, u64::MAX])), Some(u64::MAX));
    }

    #[test]
    fn more_memory_is_told_beyond_a_tenth() {
        let more = |winner: u64, baseline: u64| {
            let mut configurations =
                vec![configuration("plain", Obtained::default()), configuration("thp", Obtained::default())];
            configurations[0].name = "baseline".to_owned();
            let report = TuneReport {
                schema_version: SCHEMA_VERSION,
                command: Vec::new(),
                seed: 0,
                started: String::new(),
                machine: serde_json::Value::Null,
                configurations,
                skipped: Vec::new(),
                winner: Some("thp".to_owned()),
                tied_with: None,
                confirmation: Some(Confirmation {
                    ratio: None,
                    verdict: Verdict::Faster,
                    baseline_runs: runs(&[baseline]),
                    winner_runs: runs(&[winner]),
                }),
                interrupted: false,
                quick: false,
                warnings: Vec::new(),
            };
            report.more_memory()
        };
        assert_eq!(more(150, 100), Some(0.5));
        assert_eq!((more(110, 100), more(90, 100), more(5, 0)), (None, None, None));
    }
}
