//! What the raw runs of a configuration come to: means for the tables and ratios to the baseline for the plots.

use crate::number;
use firsttouch_experiment::SessionRun;
use firsttouch_placement::{ConfigurationReport, TuneReport, format_bytes};
use std::collections::BTreeSet;

/// Something measured at every run besides the wall time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Metric {
    User,
    System,
    PeakRss,
    MinorFaults,
    MajorFaults,
    ContextSwitches,
    Counter(String),
}

impl Metric {
    /// Those that every run has.
    pub(crate) const PLAIN: [Metric; 6] = [
        Metric::User,
        Metric::System,
        Metric::PeakRss,
        Metric::MinorFaults,
        Metric::MajorFaults,
        Metric::ContextSwitches,
    ];

    pub(crate) fn label(&self) -> &str {
        match self {
            Metric::User => "user time",
            Metric::System => "system time",
            Metric::PeakRss => "peak RSS",
            Metric::MinorFaults => "minor faults",
            Metric::MajorFaults => "major faults",
            Metric::ContextSwitches => "context switches",
            Metric::Counter(name) => name,
        }
    }

    /// The value of one run; `None` where the kernel did not count.
    fn of(&self, run: &SessionRun) -> Option<f64> {
        Some(match self {
            Metric::User => run.timed.user_s,
            Metric::System => run.timed.system_s,
            Metric::PeakRss => run.timed.max_rss_bytes as f64,
            Metric::MinorFaults => run.timed.minor_faults as f64,
            Metric::MajorFaults => run.timed.major_faults as f64,
            Metric::ContextSwitches => run.timed.context_switches as f64,
            Metric::Counter(name) => *run.timed.counters.get(name)? as f64,
        })
    }

    /// A value in the unit of the metric.
    pub(crate) fn show(&self, value: f64) -> String {
        match self {
            Metric::User | Metric::System => number::seconds(value),
            Metric::PeakRss => number::bytes(value),
            _ => number::count(value),
        }
    }

    /// The mean over the runs that have the metric; `None` when none has.
    pub(crate) fn mean(&self, runs: &[SessionRun]) -> Option<f64> {
        let values: Vec<f64> = runs.iter().filter_map(|run| self.of(run)).collect();
        mean(&values)
    }
}

/// Every metric of the session: the plain ones, then the counters by name.
pub(crate) fn metrics(report: &TuneReport) -> Vec<Metric> {
    Metric::PLAIN.into_iter().chain(counters(report).into_iter().map(Metric::Counter)).collect()
}

/// The counters of the session, by name.
pub(crate) fn counters(report: &TuneReport) -> Vec<String> {
    let names = all_runs(report).flat_map(|(_, _, run)| run.timed.counters.keys());
    names.collect::<BTreeSet<_>>().into_iter().cloned().collect()
}

/// What every run took, as the tables of raw runs have it, in full: wall, user and system time in seconds, the peak of resident
/// memory in bytes, minor and major faults, context switches.
pub(crate) fn run_columns(run: &SessionRun) -> [String; 7] {
    let timed = &run.timed;
    [
        timed.wall_s.to_string(),
        timed.user_s.to_string(),
        timed.system_s.to_string(),
        timed.max_rss_bytes.to_string(),
        timed.minor_faults.to_string(),
        timed.major_faults.to_string(),
        timed.context_switches.to_string(),
    ]
}

/// The same of these counters; empty where the run has none.
pub(crate) fn counter_columns(run: &SessionRun, counters: &[String]) -> impl Iterator<Item = String> {
    counters.iter().map(|name| run.timed.counters.get(name).map_or(String::new(), u64::to_string))
}

/// The phase a run belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Search,
    Confirmation,
}

impl Phase {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Phase::Search => "search",
            Phase::Confirmation => "confirmation",
        }
    }
}

/// Every raw run with its configuration and phase, in the order they were made.
pub(crate) fn raw_runs(report: &TuneReport) -> Vec<(&str, Phase, &SessionRun)> {
    let mut runs: Vec<_> = all_runs(report).collect();
    runs.sort_by_key(|(_, _, run)| run.order);
    runs
}

fn all_runs(report: &TuneReport) -> impl Iterator<Item = (&str, Phase, &SessionRun)> {
    let search = report.configurations.iter().flat_map(|configuration| {
        configuration.proved.runs.iter().map(|run| (configuration.name.as_str(), Phase::Search, run))
    });
    let fresh = report.confirmation.iter().flat_map(|confirmation| {
        let baseline = confirmation.baseline_runs.iter().map(|run| (baseline_name(report), run));
        let winner =
            confirmation.winner_runs.iter().map(|run| (report.winner.as_deref().unwrap_or("winner"), run));
        baseline.chain(winner).map(|(name, run)| (name, Phase::Confirmation, run))
    });
    search.chain(fresh)
}

/// The name of the first configuration.
pub(crate) fn baseline_name(report: &TuneReport) -> &str {
    report.configurations.first().map_or("baseline", |configuration| &configuration.name)
}

/// The runs of the confirmation phase that belong to that configuration.
pub(crate) fn fresh_runs<'a>(report: &'a TuneReport, name: &str) -> &'a [SessionRun] {
    match &report.confirmation {
        Some(confirmation) if report.winner.as_deref() == Some(name) => &confirmation.winner_runs,
        Some(confirmation) if baseline_name(report) == name => &confirmation.baseline_runs,
        _ => &[],
    }
}

/// Blocks of the confirmation phase that hold a run of both sides.
pub(crate) fn fresh_blocks(report: &TuneReport) -> usize {
    report.confirmation.as_ref().map_or(0, |confirmation| {
        let blocks = |runs: &[SessionRun]| runs.iter().map(|run| run.block).collect::<BTreeSet<u32>>();
        blocks(&confirmation.baseline_runs).intersection(&blocks(&confirmation.winner_runs)).count()
    })
}

/// Blocks of the search phase.
pub(crate) fn search_blocks(report: &TuneReport) -> usize {
    let runs = report.configurations.iter().flat_map(|configuration| &configuration.proved.runs);
    runs.map(|run| run.block).collect::<BTreeSet<u32>>().len()
}

/// The mean wall time as the tables show it; unknown without a run.
pub(crate) fn mean_wall(configuration: &ConfigurationReport) -> String {
    if configuration.proved.runs.is_empty() {
        return number::UNKNOWN.to_owned();
    }
    number::mean_seconds(configuration.proved.mean_wall_s, configuration.proved.ci95_wall_s)
}

/// What a configuration had in memory at its peak, beside what the baseline had in the same phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PeakMemory {
    pub(crate) bytes: u64,
    /// How many times the baseline's; `None` where the baseline has no run.
    pub(crate) ratio: Option<f64>,
}

impl PeakMemory {
    /// `813 MiB`.
    pub(crate) fn words(this: Option<PeakMemory>) -> String {
        this.map_or(number::UNKNOWN.to_owned(), |peak| format_bytes(peak.bytes))
    }

    /// `0.84x`.
    pub(crate) fn ratio_words(this: Option<PeakMemory>) -> String {
        let ratio = this.and_then(|peak| peak.ratio);
        ratio.map_or(number::UNKNOWN.to_owned(), |ratio| format!("{}x", number::times(ratio, false)))
    }
}

/// Peak memory of a configuration in a phase: the median of its runs there. `None` without a run.
pub(crate) fn peak_memory(
    report: &TuneReport,
    configuration: &ConfigurationReport,
    phase: Phase,
) -> Option<PeakMemory> {
    let of = |configuration: &ConfigurationReport| {
        configuration.peak_memory_bytes(match phase {
            Phase::Search => &configuration.proved.runs,
            Phase::Confirmation => fresh_runs(report, &configuration.name),
        })
    };
    let bytes = of(configuration)?;
    let baseline = report.configurations.first().and_then(of).filter(|bytes| *bytes > 0);
    Some(PeakMemory { bytes, ratio: baseline.map(|baseline| bytes as f64 / baseline as f64) })
}

pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
