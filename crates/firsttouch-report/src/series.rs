//! What a recording holds, as series over time: the one list that its table, figures and CSV are made of.

use crate::account::fine_percent;
use crate::number;
use crate::svg::colour;
use firsttouch_documents::{PoolLevel, Recording, WatchSample, WatchedMachine, WatchedThreads};
use firsttouch_placement::format_bytes;
use firsttouch_sorted::SortedSet;
use std::collections::BTreeMap;

/// What the values of a panel are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Bytes,
    /// Of one, from 0 to 1.
    Share,
    /// Of one, and small.
    FineShare,
    /// Events per second.
    PerSecond,
    /// Things, or cores: whole or not.
    Count,
}

impl Unit {
    /// A value as people read it.
    pub(crate) fn words(self, value: f64) -> String {
        match self {
            Unit::Bytes => number::bytes(value),
            Unit::Share => number::percent(value),
            Unit::FineShare => fine_percent(value),
            Unit::PerSecond => format!("{} /s", number::count(value)),
            Unit::Count if value.fract() == 0.0 => number::count(value),
            Unit::Count => number::significant(value, 2),
        }
    }
}

/// A value and when it was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    /// Place of the sample in the recording.
    pub(crate) sample: usize,
    pub(crate) t_s: f64,
    pub(crate) value: f64,
}

/// One value over time. Never empty.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// What it is among those of its panel; empty where the panel's title says it all.
    pub(crate) label: String,
    pub(crate) ink: &'static str,
    pub(crate) points: Vec<Point>,
}

/// Series of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    pub(crate) title: &'static str,
    pub(crate) caption: &'static str,
    pub(crate) unit: Unit,
    /// The series are parts of a whole, with values at the same moments.
    pub(crate) stacked: bool,
    pub(crate) series: Vec<Series>,
}

/// Colours of things that are numbered, such as nodes, in turn.
pub(crate) const IN_TURN: [&str; 4] = [colour::GREEN, colour::PURPLE, colour::OCHRE, colour::BLUE];

/// The colour of a page size.
pub(crate) fn ink_of_pages(page_bytes: u64) -> &'static str {
    match page_bytes {
        0..=4096 => colour::GREY,
        4097..=0x1f_ffff => colour::OCHRE,
        0x20_0000..=0x3fff_ffff => colour::BLUE,
        _ => colour::PURPLE,
    }
}

fn ink_of_node(node: u32) -> &'static str {
    IN_TURN[node as usize % IN_TURN.len()]
}

/// Everything the recording has values for.
pub(crate) fn panels(recording: &Recording) -> Vec<Panel> {
    let read = Reading { samples: &recording.samples };
    let panels = [
        read.pages(),
        read.coverage(),
        read.nodes(),
        read.faults(),
        read.cores(),
        read.threads(),
        read.moves(),
        read.moved_pages(),
        read.huge_pages(),
        read.pools(),
        read.free(),
        read.cost(),
    ];
    panels.into_iter().filter(|panel| !panel.series.is_empty()).collect()
}

struct Reading<'a> {
    samples: &'a [WatchSample],
}

impl Reading<'_> {
    /// The values of one thing, where it was found.
    fn one(&self, of: impl Fn(&WatchSample) -> Option<f64>) -> Vec<Point> {
        let point = |(sample, found): (usize, &WatchSample)| {
            let value = of(found).filter(|value| value.is_finite())?;
            Some(Point { sample, t_s: found.t_s, value })
        };
        self.samples.iter().enumerate().filter_map(point).collect()
    }

    fn line(
        &self,
        label: &str,
        ink: &'static str,
        of: impl Fn(&WatchSample) -> Option<f64>,
    ) -> Option<Series> {
        let points = self.one(of);
        (!points.is_empty()).then(|| Series { label: label.to_owned(), ink, points })
    }

    /// One series for each key that ever appears; where a sample has others but not this one, it is 0.
    fn by_key<K: Ord + Copy, V: Copy>(
        &self,
        of: impl Fn(&WatchSample) -> Option<&BTreeMap<K, V>>,
        value: fn(V) -> f64,
        look: impl Fn(K) -> (String, &'static str),
    ) -> Vec<Series> {
        let keys: SortedSet<K> =
            self.samples.iter().filter_map(&of).flat_map(BTreeMap::keys).copied().collect();
        let series = keys.into_iter().map(|key| {
            let points = self.one(|sample| Some(of(sample)?.get(&key).map_or(0.0, |found| value(*found))));
            let (label, ink) = look(key);
            Series { label, ink, points }
        });
        series.collect()
    }

    fn pages(&self) -> Panel {
        let look = |page: u64| (format_bytes(page), ink_of_pages(page));
        Panel {
            title: "Memory by page size",
            caption: "Resident memory; multi-size pages count as base pages.",
            unit: Unit::Bytes,
            stacked: true,
            series: self.by_key(
                |sample| Some(&sample.memory.as_ref()?.bytes_by_page_size),
                |bytes| bytes as f64,
                look,
            ),
        }
    }

    fn coverage(&self) -> Panel {
        let share = |sample: &WatchSample| sample.memory.as_ref()?.huge_share;
        Panel {
            title: "Huge-page coverage",
            caption: "Share of anonymous, shared and reserved memory that lies on huge pages.",
            unit: Unit::Share,
            stacked: false,
            series: self.line("", colour::BLUE, share).into_iter().collect(),
        }
    }

    fn nodes(&self) -> Panel {
        Panel {
            title: "Memory by node",
            caption: "Resident memory by the node it lies on.",
            unit: Unit::Bytes,
            stacked: true,
            series: self.by_key(
                |sample| sample.memory.as_ref()?.bytes_by_node.as_ref(),
                |bytes| bytes as f64,
                node,
            ),
        }
    }

    fn faults(&self) -> Panel {
        let series = [
            self.line("minor", colour::BLUE, |sample| sample.faults.minor_per_s),
            self.line("major", colour::VERMILION, |sample| sample.faults.major_per_s),
        ];
        Panel {
            title: "Page faults",
            caption: "Minor ones needed no I/O, major ones did.",
            unit: Unit::PerSecond,
            stacked: false,
            series: series.into_iter().flatten().collect(),
        }
    }

    fn cores(&self) -> Panel {
        let by_node = self.by_key(|sample| threads_of(sample)?.cores_by_node.as_ref(), |cores| cores, node);
        // On one node the threads tell nothing that the process does not.
        let (stacked, series) = if by_node.len() > 1 {
            (true, by_node)
        } else {
            (false, self.line("", colour::GREEN, |sample| sample.cores).into_iter().collect())
        };
        Panel {
            title: "Busy cores",
            caption: "Processor time used per second, by the node where each thread was seen.",
            unit: Unit::Count,
            stacked,
            series,
        }
    }

    fn threads(&self) -> Panel {
        let count = |sample: &WatchSample| Some(f64::from(threads_of(sample)?.count));
        let by_node = self.by_key(|sample| Some(&threads_of(sample)?.by_node), f64::from, node);
        let (stacked, series) = if by_node.len() > 1 {
            (true, by_node)
        } else {
            (false, self.line("", colour::GREEN, count).into_iter().collect())
        };
        Panel {
            title: "Threads",
            caption: "By the node of the CPU that each ran on last.",
            unit: Unit::Count,
            stacked,
            series,
        }
    }

    fn moves(&self) -> Panel {
        let moves = |sample: &WatchSample| threads_of(sample)?.migrations_per_s;
        Panel {
            title: "Moves of threads",
            caption: "How often the scheduler moved a thread to another CPU.",
            unit: Unit::PerSecond,
            stacked: false,
            series: self.line("", colour::PURPLE, moves).into_iter().collect(),
        }
    }

    fn moved_pages(&self) -> Panel {
        self.machine_rates(
            "Pages moved by the kernel",
            "On the whole machine: pages that migrated, those among them for automatic balancing, and the faults that \
             balancing provoked to learn who uses a page.",
            &[
                ("pgmigrate_success", colour::BLUE),
                ("pgmigrate_fail", colour::VERMILION),
                ("numa_pages_migrated", colour::GREEN),
                ("numa_hint_faults", colour::OCHRE),
            ],
        )
    }

    fn huge_pages(&self) -> Panel {
        self.machine_rates(
            "Huge pages made and split",
            "On the whole machine: made by a fault or by collapsing, missed because none was free, and split.",
            &[
                ("thp_fault_alloc", colour::BLUE),
                ("thp_collapse_alloc", colour::GREEN),
                ("thp_fault_fallback", colour::VERMILION),
                ("thp_split_pmd", colour::OCHRE),
            ],
        )
    }

    /// Rates of the machine, without those that never were anything but 0.
    fn machine_rates(
        &self,
        title: &'static str,
        caption: &'static str,
        names: &[(&'static str, &'static str)],
    ) -> Panel {
        let series = names.iter().filter_map(|(name, ink)| {
            let rate = |sample: &WatchSample| machine_of(sample)?.rates_per_s.get(*name).copied();
            self.line(name, ink, rate).filter(|series| series.points.iter().any(|point| point.value > 0.0))
        });
        Panel { title, caption, unit: Unit::PerSecond, stacked: false, series: series.collect() }
    }

    fn pools(&self) -> Panel {
        let pools = || self.samples.iter().filter_map(machine_of).flat_map(|machine| &machine.pools);
        let used: SortedSet<u64> =
            pools().filter(|pool| pool.pages != Some(0)).map(|pool| pool.page_bytes).collect();
        let pool = |sample: &WatchSample, page: u64| -> Option<PoolLevel> {
            machine_of(sample)?.pools.iter().find(|pool| pool.page_bytes == page).cloned()
        };
        let series = used.into_iter().zip(IN_TURN.iter().cycle()).filter_map(|(page, ink)| {
            let label = format!("{} free", format_bytes(page));
            self.line(&label, ink, |sample| pool(sample, page)?.free.map(|free| free as f64))
        });
        Panel {
            title: "Pools of reserved huge pages",
            caption: "Pages of the machine's pools that nobody uses.",
            unit: Unit::Count,
            stacked: false,
            series: series.collect(),
        }
    }

    fn free(&self) -> Panel {
        Panel {
            title: "Free memory",
            caption: "Memory of the machine that nobody uses, by node.",
            unit: Unit::Bytes,
            stacked: false,
            series: self.by_key(
                |sample| Some(&machine_of(sample)?.free_bytes_by_node),
                |bytes| bytes as f64,
                node,
            ),
        }
    }

    fn cost(&self) -> Panel {
        Panel {
            title: "Cost of watching",
            caption: "Share of one core that watching had taken since it began.",
            unit: Unit::FineShare,
            stacked: false,
            series: self.line("", colour::GREY, |sample| sample.cost.core_share).into_iter().collect(),
        }
    }
}

fn threads_of(sample: &WatchSample) -> Option<&WatchedThreads> {
    sample.threads.as_ref()
}

fn machine_of(sample: &WatchSample) -> Option<&WatchedMachine> {
    sample.machine.as_ref()
}

fn node(node: u32) -> (String, &'static str) {
    (format!("node {node}"), ink_of_node(node))
}

impl Series {
    /// Its name outside its panel.
    pub(crate) fn name_in(&self, panel: &Panel) -> String {
        if self.label.is_empty() {
            panel.title.to_owned()
        } else {
            format!("{}: {}", panel.title, self.label)
        }
    }

    /// Words after its label.
    pub(crate) fn labelled(&self, words: &str) -> String {
        if self.label.is_empty() { words.to_owned() } else { format!("{}: {words}", self.label) }
    }

    /// The first, last, smallest and largest value.
    pub(crate) fn ends(&self) -> [f64; 4] {
        let values = || self.points.iter().map(|point| point.value);
        let first = values().next().unwrap_or(0.0);
        let last = values().next_back().unwrap_or(0.0);
        [first, last, values().fold(first, f64::min), values().fold(first, f64::max)]
    }
}

/// Values as a row of at most `columns` blocks between the least and the most of all: the largest of each part of the time.
pub(crate) fn sparkline(values: &[f64], range: (f64, f64), columns: usize) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let (low, high) = range;
    let parts = values.len().min(columns.max(1));
    let block = |part: usize| {
        let values = &values[part * values.len() / parts..(part + 1) * values.len() / parts];
        let value = values.iter().copied().fold(f64::MIN, f64::max);
        let share = if high > low { (value - low) / (high - low) } else { 0.0 };
        BLOCKS[((share * 7.0).round().clamp(0.0, 7.0)) as usize]
    };
    (0..parts).map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::sparkline;

    #[test]
    fn a_sparkline_fits_and_keeps_the_peaks() {
        assert_eq!(sparkline(&[0.0, 0.5, 1.0], (0.0, 1.0), 9), "▁▅█");
        assert_eq!(sparkline(&[0.0, 0.0, 0.0, 9.0, 0.0, 0.0], (0.0, 9.0), 3), "▁█▁");
        assert_eq!(sparkline(&[0.0, 1.0, 0.0, 1.0, 0.0], (0.0, 1.0), 4), "▁█▁█");
        assert_eq!(sparkline(&[5.0, 5.0], (5.0, 5.0), 4), "▁▁");
        assert_eq!(sparkline(&[], (0.0, 1.0), 4), "");
        assert_eq!(sparkline(&[f64::MAX, f64::MIN], (0.0, 1.0), 0).chars().count(), 1);
    }
}
