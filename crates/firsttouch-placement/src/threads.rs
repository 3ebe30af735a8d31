//! Which CPUs a program's threads are to run on.

use crate::memory::range;
use firsttouch_memory::agent_settings::Numbers;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Where threads are bound, one after another as the program creates them; the first is the main thread.
///
/// A thread gets the first CPU of the order that no living thread was given; when every CPU has its thread, the order
/// begins again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ThreadPlacement {
    /// Not bound.
    #[default]
    None,
    /// As near to each other as can be without sharing a core.
    Compact,
    /// As far from each other as can be.
    Scatter,
    /// Groups of cores, each within a node, and within a cache where one has room.
    Groups {
        /// Cores of each group.
        cores: u32,
        /// How many groups.
        groups: u32,
    },
    /// So many CPUs of each of so many cores, near to each other; those of a core follow each other.
    Cores {
        /// How many cores.
        cores: u32,
        /// Threads on each, a hardware thread for each.
        per_core: u32,
    },
    /// These CPUs, in this order.
    Cpus(Vec<u32>),
}

/// A text that names no placement of threads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no placement of threads (none, compact, scatter, groups=CORESxGROUPS such as groups=6x4, cores=CORESxTHREADS such as cores=68x2, or CPUs such as 0,2,4-7)"
)]
pub struct ThreadPlacementError(pub String);

impl FromStr for ThreadPlacement {
    type Err = ThreadPlacementError;

    fn from_str(text: &str) -> Result<ThreadPlacement, ThreadPlacementError> {
        let refused = || ThreadPlacementError(text.to_owned());
        Ok(match text {
            "none" => ThreadPlacement::None,
            "compact" => ThreadPlacement::Compact,
            "scatter" => ThreadPlacement::Scatter,
            _ => match text.split_once('=') {
                Some((word @ ("groups" | "cores"), shape)) => {
                    let (cores, other) = shape.split_once('x').ok_or_else(refused)?;
                    let number =
                        |word: &str| word.parse().ok().filter(|number| *number > 0).ok_or_else(refused);
                    let (cores, other) = (number(cores)?, number(other)?);
                    match word {
                        "groups" => ThreadPlacement::Groups { cores, groups: other },
                        _ => ThreadPlacement::Cores { cores, per_core: other },
                    }
                }
                Some(_) => return Err(refused()),
                None => ThreadPlacement::Cpus(parse_order(text).ok_or_else(refused)?),
            },
        })
    }
}

/// Reads numbers in the order given, `4-7,0`; `+` may stand for the comma. `None` if there are none, or one twice.
pub fn parse_order(text: &str) -> Option<Vec<u32>> {
    let mut numbers: Vec<u32> = Vec::new();
    let mut known = BTreeSet::new();
    for word in text.split(['+', ',']) {
        let (first, last) = range(word.trim())?;
        numbers.extend(first..=last);
        if !(first..=last).all(|number| known.insert(number)) {
            return None;
        }
    }
    Some(numbers)
}

/// Prints numbers in their order, runs of neighbours as ranges: `4-7,0`. The agent reads the same.
pub fn format_order(numbers: &[u32]) -> String {
    Numbers::of(numbers).to_string()
}

impl fmt::Display for ThreadPlacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ThreadPlacement::None => f.write_str("none"),
            ThreadPlacement::Compact => f.write_str("compact"),
            ThreadPlacement::Scatter => f.write_str("scatter"),
            ThreadPlacement::Groups { cores, groups } => write!(f, "groups={cores}x{groups}"),
            ThreadPlacement::Cores { cores, per_core } => write!(f, "cores={cores}x{per_core}"),
            ThreadPlacement::Cpus(cpus) => f.write_str(&format_order(cpus)),
        }
    }
}

as_text!(ThreadPlacement);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn placements_read_back() {
        for text in ["none", "compact", "scatter", "groups=6x4", "cores=68x2", "0", "0,2,4-7", "4-7,0"] {
            let placement: ThreadPlacement = text.parse().unwrap();
            assert_eq!(placement.to_string(), text);
            assert_eq!(serde_json::to_string(&placement).unwrap(), format!("\"{text}\""));
        }
        assert_eq!("4-7+0".parse(), Ok(ThreadPlacement::Cpus(vec![4, 5, 6, 7, 0])));
    }

    #[test]
    fn what_is_no_placement_is_refused() {
        for text in [
            "",
            "close",
            "groups",
            "groups=6",
            "groups=0x4",
            "cores=2",
            "cores=2x0",
            "groups=6x4x2",
            "3-1",
            "0,0",
            "0-3,2",
            "a=b",
        ] {
            assert!(text.parse::<ThreadPlacement>().is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn an_order_reads_back(numbers in proptest::collection::btree_set(0u32..5000, 1..40), turn in 0usize..40) {
            let mut numbers: Vec<u32> = numbers.into_iter().collect();
            let turn = turn % numbers.len();
            numbers.rotate_left(turn);
            prop_assert_eq!(parse_order(&format_order(&numbers)), Some(numbers));
        }

        #[test]
        fn any_text_is_survived(text in "(groups=)?[0-9a-z,+x=-]{0,12}") {
            let _ = text.parse::<ThreadPlacement>();
        }
    }
}
