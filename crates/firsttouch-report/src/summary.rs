//! What the raw runs of a configuration come to: means for the tables and ratios to the baseline for the plots.

use crate::number;
use firsttouch_experiment::{Meanwhile, SessionRun, TimedRun};
use firsttouch_placement::{ConfigurationReport, TuneReport, format_bytes};
use firsttouch_sorted::{SortedSet, sort_by_key};

/// How a metric is read from a run, by its unit.
#[derive(Clone, Copy, Debug)]
enum Read<'a> {
    Seconds(fn(&TimedRun) -> f64),
    Bytes(fn(&TimedRun) -> u64),
    Count(fn(&TimedRun) -> u64),
    /// A hardware counter, by its name.
    Counter(&'a str),
}
use Read::{Bytes, Count, Counter, Seconds};

/// Something measured at every run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metric<'a> {
    /// Its key in a document, and its column in CSV.
    pub(crate) key: &'a str,
    /// What plots call it.
    pub(crate) label: &'a str,
    /// What tables call it, in short.
    pub(crate) title: &'a str,
    /// The columns that it stands with in text. Means of those without one are in HTML alone, which has the room.
    group: Option<&'static str>,
    read: Read<'a>,
}

const COST: Option<&str> = Some("cost");
const MEMORY: Option<&str> = Some("memory");

impl<'a> Metric<'a> {
    /// Those that every run has, in the order of all tables; the wall time first.
    pub(crate) const PLAIN: [Self; 7] = [
        Metric::new(["wall_s", "wall time", "wall s"], COST, Seconds(|run| run.wall_s)),
        Metric::new(["user_s", "user time", "user s"], COST, Seconds(|run| run.user_s)),
        Metric::new(["system_s", "system time", "system s"], COST, Seconds(|run| run.system_s)),
        Metric::new(["max_rss_bytes", "peak RSS", "peak RSS bytes"], None, Bytes(|run| run.max_rss_bytes)),
        Metric::new(["minor_faults", "minor faults", "minor faults"], MEMORY, Count(|run| run.minor_faults)),
        Metric::new(["major_faults", "major faults", "major"], MEMORY, Count(|run| run.major_faults)),
        Metric::new(
            ["context_switches", "context switches", "switches"],
            None,
            Count(|run| run.context_switches),
        ),
    ];

    const fn new([key, label, title]: [&'a str; 3], group: Option<&'static str>, read: Read<'a>) -> Self {
        Metric { key, label, title, group, read }
    }

    /// Those that stand beside what was judged: the wall time, too, where it is something else.
    fn beside(report: &TuneReport) -> impl Iterator<Item = Self> {
        Metric::PLAIN.into_iter().skip(usize::from(report.objective.is_wall()))
    }

    /// The value of one run in full, as tables of raw runs have it; empty where the kernel did not count.
    pub(crate) fn cell(&self, run: &SessionRun) -> String {
        match self.read {
            Seconds(read) => read(&run.timed).to_string(),
            Bytes(read) | Count(read) => read(&run.timed).to_string(),
            Counter(name) => run.timed.counters.get(name).map_or(String::new(), u64::to_string),
        }
    }

    /// A value in the unit of the metric.
    pub(crate) fn show(&self, value: f64) -> String {
        match self.read {
            Seconds(_) => number::seconds(value),
            Bytes(_) => number::bytes(value),
            Count(_) | Counter(_) => number::count(value),
        }
    }

    /// The mean over the runs that have the metric; `None` when none has.
    pub(crate) fn mean(&self, runs: &[SessionRun]) -> Option<f64> {
        let value = |run: &SessionRun| match self.read {
            Seconds(read) => Some(read(&run.timed)),
            Bytes(read) | Count(read) => Some(read(&run.timed) as f64),
            Counter(name) => run.timed.counters.get(name).map(|count| *count as f64),
        };
        mean(&runs.iter().filter_map(value).collect::<Vec<f64>>())
    }
}

/// How what the machine did meanwhile is read; empty where it is not known.
type Told = fn(&Meanwhile) -> String;

/// What the machine did meanwhile: the key in a document, which is the column in CSV, and what a table of raw runs has.
pub(crate) const MEANWHILE: [(&str, Told); 8] = [
    ("steal_s", |it| known(it.steal_s)),
    ("other_cpu_s", |it| known(it.other_cpu_s.map(|seconds| (seconds * 1e4).round() / 1e4))),
    ("frequency_mhz", |it| known(it.frequency_mhz)),
    ("governor", |it| known(it.governor.as_ref())),
    ("aslr", |it| known(it.aslr)),
    ("host_taken_bytes", |it| known(it.host_taken_bytes)),
    ("host_given_bytes", |it| known(it.host_given_bytes)),
    ("free_change_bytes", |it| known(it.free_change_bytes)),
];

fn known(value: Option<impl ToString>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// What runs cost beside what was judged: the plain metrics, then the counters.
pub(crate) fn costs(report: &TuneReport) -> Vec<Metric<'_>> {
    Metric::beside(report).chain(counters(report)).collect()
}

/// The counters of the session, by name.
pub(crate) fn counters(report: &TuneReport) -> Vec<Metric<'_>> {
    let names: SortedSet<&String> =
        all_runs(report).flat_map(|(_, _, run)| run.timed.counters.keys()).collect();
    names.into_iter().map(|name| Metric::new([name; 3], None, Counter(name))).collect()
}

/// A column of what configurations cost, in tables with a row for each of them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cost {
    Mean(Metric<'static>),
    PeakMemory,
    PeakToBaseline,
}

impl Cost {
    /// Every column, in order.
    pub(crate) fn all(report: &TuneReport) -> impl Iterator<Item = Cost> {
        Metric::beside(report).flat_map(|metric| match metric.read {
            // Pages of a pool are in no resident set: what stands for it has them, too.
            Bytes(_) => vec![Cost::PeakMemory, Cost::PeakToBaseline],
            _ => vec![Cost::Mean(metric)],
        })
    }

    /// Those for which the terminal has room.
    pub(crate) fn main(report: &TuneReport) -> impl Iterator<Item = Cost> {
        Cost::all(report).filter(|cost| cost.group().is_some())
    }

    pub(crate) fn group(self) -> Option<&'static str> {
        match self {
            Cost::Mean(metric) => metric.group,
            Cost::PeakMemory | Cost::PeakToBaseline => Some("memory"),
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Cost::Mean(metric) => metric.title,
            Cost::PeakMemory => "peak memory",
            Cost::PeakToBaseline => "to baseline",
        }
    }

    /// The title where there is room.
    pub(crate) fn long_title(self) -> String {
        match self {
            Cost::Mean(metric) => metric.key.replace('_', " "),
            Cost::PeakMemory | Cost::PeakToBaseline => self.title().to_owned(),
        }
    }

    /// That of a configuration with these runs, and this peak of memory in them.
    pub(crate) fn cell(self, runs: &[SessionRun], peak: Option<PeakMemory>) -> String {
        let cell = match self {
            Cost::Mean(metric) => metric.mean(runs).map(|mean| match metric.read {
                Seconds(_) => number::significant(mean, 3),
                _ => metric.show(mean),
            }),
            Cost::PeakMemory => peak.map(|peak| format_bytes(peak.bytes)),
            Cost::PeakToBaseline => {
                peak.and_then(|peak| peak.ratio).map(|ratio| format!("{}x", number::times(ratio, false)))
            }
        };
        cell.unwrap_or_else(|| number::UNKNOWN.to_owned())
    }
}

/// What was varied: each name with its values, in the order in which they first stand in the report.
pub(crate) fn varied(report: &TuneReport) -> Vec<(&str, Vec<&str>)> {
    let mut varied: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, value) in report.configurations.iter().flat_map(|configuration| &configuration.varied) {
        match varied.iter_mut().find(|(known, _)| known == name) {
            Some((_, values)) if values.contains(&value.as_str()) => {}
            Some((_, values)) => values.push(value),
            None => varied.push((name, vec![value])),
        }
    }
    varied
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
    sort_by_key(&mut runs, |(_, _, run)| run.order);
    runs
}

fn all_runs(report: &TuneReport) -> impl Iterator<Item = (&str, Phase, &SessionRun)> {
    let search = report.configurations.iter().flat_map(|configuration| {
        configuration.proved.runs.iter().map(|run| (configuration.name.as_str(), Phase::Search, run))
    });
    let fresh = report.confirmation.iter().flat_map(|confirmation| {
        let baseline = confirmation.baseline_runs.iter().map(|run| (baseline_name(report), run));
        let recommended = confirmation
            .recommended_runs
            .iter()
            .map(|run| (report.recommended.as_deref().unwrap_or("recommended"), run));
        baseline.chain(recommended).map(|(name, run)| (name, Phase::Confirmation, run))
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
        Some(confirmation) if report.recommended.as_deref() == Some(name) => &confirmation.recommended_runs,
        Some(confirmation) if baseline_name(report) == name => &confirmation.baseline_runs,
        _ => &[],
    }
}

/// Blocks of the confirmation phase that hold a run of both sides.
pub(crate) fn fresh_blocks(report: &TuneReport) -> usize {
    report.confirmation.as_ref().map_or(0, |confirmation| {
        let blocks = |runs: &[SessionRun]| runs.iter().map(|run| run.block).collect::<SortedSet<u32>>();
        let recommended = blocks(&confirmation.recommended_runs);
        blocks(&confirmation.baseline_runs).iter().filter(|block| recommended.contains(*block)).count()
    })
}

/// Blocks of the search phase.
pub(crate) fn search_blocks(report: &TuneReport) -> usize {
    let runs = report.configurations.iter().flat_map(|configuration| &configuration.proved.runs);
    runs.map(|run| run.block).collect::<SortedSet<u32>>().len()
}

/// What a configuration had in memory at its peak, beside what the baseline had in the same phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PeakMemory {
    pub(crate) bytes: u64,
    /// How many times the baseline's; `None` where the baseline has no run.
    pub(crate) ratio: Option<f64>,
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

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_experiment::Aslr;

    #[test]
    fn every_key_of_a_run_is_a_metric() {
        let run = serde_json::to_value(TimedRun::default()).unwrap();
        let keys: SortedSet<&str> = run.as_object().unwrap().keys().map(String::as_str).collect();
        let metrics = Metric::PLAIN.iter().map(|metric| metric.key);
        assert_eq!(keys, metrics.chain(["counters"]).collect());
        let meanwhile = Meanwhile {
            steal_s: Some(0.0),
            other_cpu_s: Some(0.0),
            frequency_mhz: Some(0.0),
            governor: Some(String::new()),
            aslr: Some(Aslr::Full),
            host_taken_bytes: Some(0),
            host_given_bytes: Some(0),
            free_change_bytes: Some(0),
        };
        let told = serde_json::to_value(meanwhile).unwrap();
        let keys: SortedSet<&str> = told.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, MEANWHILE.iter().map(|(key, _)| *key).collect());
    }
}
