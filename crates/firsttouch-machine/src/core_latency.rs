//! What `firsttouch measure --cores` found: how long a cache line takes from one CPU to another.

use crate::Machine;
use serde::{Deserialize, Serialize};

/// What two CPUs share, the nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CpuPairClass {
    /// A core: they are its hardware threads.
    Core,
    /// A last-level cache.
    Cache,
    /// A memory node.
    Node,
    /// None of these.
    Remote,
}

impl CpuPairClass {
    /// All, the nearest first.
    pub const ALL: [CpuPairClass; 4] =
        [CpuPairClass::Core, CpuPairClass::Cache, CpuPairClass::Node, CpuPairClass::Remote];

    /// What two different CPUs of a machine share.
    #[must_use]
    pub fn of(machine: &Machine, a: u32, b: u32) -> CpuPairClass {
        let both = |cpus: &[u32]| cpus.contains(&a) && cpus.contains(&b);
        let last_level = machine.caches.iter().map(|cache| cache.level).max();
        let mut last_caches = machine.caches.iter().filter(|cache| Some(cache.level) == last_level);
        if machine.cores.iter().any(|core| both(&core.cpus)) {
            CpuPairClass::Core
        } else if last_caches.any(|cache| both(&cache.cpus)) {
            CpuPairClass::Cache
        } else if machine.nodes.iter().any(|node| both(&node.cpus)) || machine.nodes.is_empty() {
            CpuPairClass::Node
        } else {
            CpuPairClass::Remote
        }
    }

    /// What they share, in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            CpuPairClass::Core => "same core",
            CpuPairClass::Cache => "same last-level cache",
            CpuPairClass::Node => "same node",
            CpuPairClass::Remote => "other node",
        }
    }
}

/// Two CPUs that passed a cache line back and forth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CpuPair {
    /// The CPUs; the line lay on the node of the first.
    pub cpus: [u32; 2],
    /// What they share.
    pub class: CpuPairClass,
    /// How long the line took one way, half of the time there and back, in nanoseconds: the median of the repetitions.
    pub latency_ns: f64,
    /// The shortest repetition.
    pub low_ns: f64,
    /// The longest.
    pub high_ns: f64,
}

/// All pairs of a class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CpuPairs {
    /// What they share.
    pub class: CpuPairClass,
    /// Pairs that were measured.
    pub pairs: usize,
    /// The median of their latencies, in nanoseconds.
    pub latency_ns: f64,
    /// The least of them.
    pub low_ns: f64,
    /// The greatest.
    pub high_ns: f64,
}

/// How long a cache line takes between CPUs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CoreLatency {
    /// When it was measured, RFC 3339: a later measurement without `--cores` keeps what there is.
    pub date: String,
    /// The CPUs that this process might use.
    pub cpus: Vec<u32>,
    /// Pairs of them: all, or some of each class where there are many.
    pub pairs: Vec<CpuPair>,
    /// By class, the nearest first; those that the machine has.
    pub classes: Vec<CpuPairs>,
    /// Repetitions behind the median of a pair, at most.
    pub repetitions: u32,
    /// Journeys there and back in one repetition.
    pub round_trips: u32,
}

impl CoreLatency {
    /// Of pairs that were measured, which are summed up by class.
    #[must_use]
    pub fn of(
        date: String,
        cpus: Vec<u32>,
        pairs: Vec<CpuPair>,
        repetitions: u32,
        round_trips: u32,
    ) -> CoreLatency {
        let class = |class: CpuPairClass| {
            let of_class = pairs.iter().filter(|pair| pair.class == class);
            let mut sorted: Vec<f64> = of_class.map(|pair| pair.latency_ns).collect();
            sorted.sort_unstable_by(f64::total_cmp);
            let (low_ns, high_ns) = (*sorted.first()?, *sorted.last()?);
            Some(CpuPairs { class, pairs: sorted.len(), latency_ns: median(&sorted)?, low_ns, high_ns })
        };
        let classes = CpuPairClass::ALL.into_iter().filter_map(class).collect();
        CoreLatency { date, cpus, pairs, classes, repetitions, round_trips }
    }

    /// Every pair of the CPUs was measured.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.pairs.len() == self.cpus.len() * self.cpus.len().saturating_sub(1) / 2
    }

    /// The median of a class, in nanoseconds.
    #[must_use]
    pub fn of_class(&self, class: CpuPairClass) -> Option<f64> {
        self.classes.iter().find(|one| one.class == class).map(|one| one.latency_ns)
    }

    /// The median of the pairs with a CPU in each of two sets, in nanoseconds; hardware threads of one core are left out.
    #[must_use]
    pub fn between(&self, a: &[u32], b: &[u32]) -> Option<f64> {
        let joins = |[one, other]: [u32; 2]| {
            (a.contains(&one) && b.contains(&other)) || (a.contains(&other) && b.contains(&one))
        };
        let pairs = self.pairs.iter().filter(|pair| pair.class != CpuPairClass::Core && joins(pair.cpus));
        let mut sorted: Vec<f64> = pairs.map(|pair| pair.latency_ns).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        median(&sorted)
    }
}

/// The middle one of values in their order, or the mean of the middle two.
fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        length if length % 2 == 0 => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
        _ => Some(sorted[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cpus_share_is_told_by_the_machine() {
        let machine = Machine::from_source("pack:2 [numa] l3:2 core:2 pu:2").unwrap();
        let class = |b| CpuPairClass::of(&machine, 0, b);
        let found = [1, 2, 4, 8].map(class);
        assert_eq!(found, CpuPairClass::ALL);
        // One last-level cache: one class.
        let one = Machine::from_source("pack:1 [numa] l3:1 core:4 pu:1").unwrap();
        assert!((1..4).all(|b| CpuPairClass::of(&one, 0, b) == CpuPairClass::Cache));
    }

    #[test]
    fn pairs_are_summed_up_by_class() {
        let pair = |a, b, class, latency_ns| CpuPair {
            cpus: [a, b],
            class,
            latency_ns,
            low_ns: latency_ns,
            high_ns: latency_ns,
        };
        let pairs = vec![
            pair(0, 1, CpuPairClass::Core, 5.0),
            pair(0, 2, CpuPairClass::Cache, 20.0),
            pair(1, 2, CpuPairClass::Cache, 24.0),
            pair(0, 3, CpuPairClass::Remote, 90.0),
        ];
        let found = CoreLatency::of("now".to_owned(), vec![0, 1, 2, 3], pairs, 3, 200);
        assert_eq!(found.of_class(CpuPairClass::Cache), Some(22.0));
        assert_eq!(found.of_class(CpuPairClass::Node), None);
        let cache = &found.classes[1];
        assert_eq!((cache.pairs, cache.low_ns, cache.high_ns), (2, 20.0, 24.0));
        assert!(!found.is_complete());
        assert_eq!(found.between(&[3], &[0, 1]), Some(90.0));
        assert_eq!(found.between(&[0, 1, 2], &[0, 1, 2]), Some(22.0));
        assert_eq!(found.between(&[2], &[3]), None);
    }
}
