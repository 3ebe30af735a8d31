//! Kinds of cores in processors that have more than one.

use crate::reader::Reader;
use firsttouch_sorted::SortedMap;
use serde::{Deserialize, Serialize};

/// The event sources that Intel's hybrid processors have, one for each kind of core, the fastest first.
const SOURCES: [(&str, &str); 3] =
    [("cpu_core", "performance"), ("cpu_atom", "efficient"), ("cpu_lowpower", "low-power")];
const CPUS: &str = "sys/devices/system/cpu";

/// One kind of core, where there are several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CoreKind {
    /// `performance`, `efficient`, `low-power`, or `capacity-N` where only the speed is known.
    pub name: String,
    /// Speed of one CPU in 1024ths of the fastest, as the kernel's scheduler has it.
    pub capacity: Option<u32>,
    /// Its CPUs that are online.
    pub cpus: Vec<u32>,
}

/// The kinds of cores, the fastest first; none when all are alike.
pub(crate) fn core_kinds(reader: &Reader<'_>, online: &[u32]) -> Vec<CoreKind> {
    let capacity = |cpu: u32| reader.number::<u32>(&format!("{CPUS}/cpu{cpu}/cpu_capacity"));
    let named: Vec<CoreKind> = SOURCES
        .iter()
        .filter_map(|(source, name)| {
            let mut cpus = reader.set(&["cpus"], &[], &format!("sys/devices/{source}"))?;
            cpus.retain(|cpu| online.contains(cpu));
            // Favoured cores of one kind differ a little.
            let capacity = cpus.iter().filter_map(|cpu| capacity(*cpu)).max();
            (!cpus.is_empty()).then(|| CoreKind { name: (*name).to_owned(), capacity, cpus })
        })
        .collect();
    if named.len() > 1 {
        return named;
    }
    let mut by_capacity: SortedMap<u32, Vec<u32>> = SortedMap::new();
    for &cpu in online {
        if let Some(capacity) = capacity(cpu) {
            by_capacity.entry(capacity).or_default().push(cpu);
        }
    }
    if by_capacity.len() < 2 {
        return Vec::new();
    }
    let kind =
        |(capacity, cpus)| CoreKind { name: format!("capacity-{capacity}"), capacity: Some(capacity), cpus };
    by_capacity.into_iter().rev().map(kind).collect()
}
