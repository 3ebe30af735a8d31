//! What `doctor` finds out.

use crate::{Finding, HostComparison, MissingHost, Weight};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is wrong with machines, whatever is placed on them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct DoctorReport {
    /// The profile that weighed the findings: its name or file.
    pub profile: Option<String>,
    /// The machines.
    pub hosts: Vec<DoctorHost>,
    /// Hosts that were asked and are not among them; absent where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingHost>,
    /// Where the hosts differ; absent of one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<HostComparison>,
}

impl DoctorReport {
    /// Whether nothing is to be mended: all hosts answered, are alike and as fast as each other, and nothing that was found is more than a remark.
    pub fn is_met(&self) -> bool {
        self.missing.is_empty()
            && self.compared.as_ref().is_none_or(|one| one.differing.is_empty() && one.slow.is_empty())
            && self.hosts.iter().flat_map(|host| &host.findings).all(|one| one.weight == Weight::Remark)
    }
}

/// One machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct DoctorHost {
    /// Its name, or what it was read from.
    pub name: String,
    /// The version of firsttouch that looked; absent where that did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What was found, the weightiest first.
    pub findings: Vec<Finding>,
    /// What was not looked at.
    pub unseen: Vec<Unseen>,
    /// What was measured, by the words of [`Quantity`]; empty where nothing was.
    pub measured: BTreeMap<String, u64>,
    /// Settings and hardware that hosts of one kind have in common, by the file or a word; absent where nobody told.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
}

/// Something that is measured of a machine as a whole, and of each of its nodes (`node0_latency_ps`) where it has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Its word, which ends in its unit.
    pub word: &'static str,
    /// What it is.
    pub what: &'static str,
    /// The word of the finding where it is worse than expected.
    pub finding: &'static str,
    /// Less is better of times, more of rates.
    pub more_is_better: bool,
}

impl Quantity {
    /// All of them.
    pub const ALL: [Quantity; 4] = [
        Quantity {
            word: "bandwidth_bytes_per_s",
            what: "bandwidth of memory",
            finding: "bandwidth-low",
            more_is_better: true,
        },
        Quantity {
            word: "latency_ps",
            what: "latency of memory",
            finding: "latency-high",
            more_is_better: false,
        },
        Quantity {
            word: "creation_4k_bytes_per_s",
            what: "creation of small pages",
            finding: "creation-slow",
            more_is_better: true,
        },
        Quantity {
            word: "creation_thp_bytes_per_s",
            what: "creation of huge pages",
            finding: "creation-slow",
            more_is_better: true,
        },
    ];

    /// The one of this word, and the node that it is of, if it is of one.
    pub fn of(word: &str) -> Option<(&'static Quantity, Option<u32>)> {
        let (node, word) = match word.strip_prefix("node").and_then(|rest| rest.split_once('_')) {
            Some((node, rest)) => (Some(node.parse().ok()?), rest),
            None => (None, word),
        };
        Quantity::ALL.iter().find(|one| one.word == word).map(|one| (one, node))
    }

    /// Its word for a node, or for all of them.
    pub fn word_of(&self, node: Option<u32>) -> String {
        node.map_or_else(|| self.word.to_owned(), |node| format!("node{node}_{}", self.word))
    }

    /// A value as people read it.
    pub fn format(&self, value: u64) -> String {
        measured_words(self.word, value)
    }

    /// The median of what others have, of two in the middle the less good, so that nobody is held against more than most have; `None` of none.
    pub fn median(&self, values: Vec<u64>) -> Option<u64> {
        less_good_median(values, self.more_is_better)
    }

    /// By which part of what is expected a value is worse; negative where it is better.
    pub fn worse_by(&self, value: u64, expected: u64) -> f64 {
        let ratio = value as f64 / expected.max(1) as f64;
        if self.more_is_better { 1.0 - ratio } else { ratio - 1.0 }
    }
}

/// A value as people read it, by the unit in which the word ends: times in `ps`, all others are bytes by second.
pub fn measured_words(word: &str, value: u64) -> String {
    match is_time(word) {
        true if value >= 1_000_000_000 => format!("{:.2} ms", value as f64 / 1e9),
        true if value >= 10_000_000 => format!("{:.1} µs", value as f64 / 1e6),
        true => format!("{:.1} ns", value as f64 / 1e3),
        false => format!("{:.1} GB/s", value as f64 / 1e9),
    }
}

/// Whether a measured word is a time, of which less is better; of all others more is.
pub fn is_time(word: &str) -> bool {
    word.ends_with("_ps")
}

/// The median, of two in the middle the less good.
pub fn less_good_median(mut values: Vec<u64>, more_is_better: bool) -> Option<u64> {
    values.sort_unstable();
    let middle = if more_is_better { values.len().saturating_sub(1) / 2 } else { values.len() / 2 };
    values.get(middle).copied()
}

/// Something that was not looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Unseen {
    /// What it is.
    pub topic: String,
    /// Why.
    pub why: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_quantities_read_back() {
        for quantity in &Quantity::ALL {
            for node in [None, Some(0), Some(12)] {
                assert_eq!(Quantity::of(&quantity.word_of(node)), Some((quantity, node)));
            }
        }
        for word in ["", "latency", "node_latency_ps", "nodex_latency_ps", "node0", "node0_seconds"] {
            assert_eq!(Quantity::of(word), None, "{word}");
        }
    }

    #[test]
    fn of_two_in_the_middle_the_less_good_counts() {
        let [bandwidth, latency, ..] = Quantity::ALL;
        assert_eq!((bandwidth.median(vec![3, 1]), latency.median(vec![3, 1])), (Some(1), Some(3)));
        assert_eq!((bandwidth.median(vec![3, 1, 2]), latency.median(vec![])), (Some(2), None));
    }

    #[test]
    fn less_is_worse_of_rates_and_better_of_times() {
        let [bandwidth, latency, ..] = Quantity::ALL;
        assert_eq!((bandwidth.worse_by(75, 100), latency.worse_by(75, 100)), (0.25, -0.25));
        assert_eq!(
            (bandwidth.format(20_340_000_000), latency.format(98_760)),
            ("20.3 GB/s".into(), "98.8 ns".into())
        );
    }
}
