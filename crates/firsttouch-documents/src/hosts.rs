//! What several hosts have in common, and how their names are written.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A host that was asked, and of which there is nothing to tell but that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MissingHost {
    /// Its name as it was asked for, or the file that was to hold its document.
    pub name: String,
    /// Why: it did not answer, not in time, or with something else.
    pub why: String,
}

/// Where hosts differ from most of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HostComparison {
    /// Settings, hardware and versions that are not the same on all hosts that tell them.
    pub differing: Vec<DifferingFact>,
    /// Measured values that are outliers on the bad side.
    pub slow: Vec<SlowHost>,
}

/// A setting that is not the same everywhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct DifferingFact {
    /// The file, or the word; `firsttouch` is the version of the command.
    pub fact: String,
    /// What most hosts have; of values that equally many have the one that came first.
    pub majority: String,
    /// How many have it.
    pub hosts: u64,
    /// The other values, and who has them.
    pub others: BTreeMap<String, Vec<String>>,
}

/// A host on which something measured is worse than on the others by more than chance makes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SlowHost {
    /// Its name.
    pub host: String,
    /// What was measured.
    pub quantity: String,
    /// The value there.
    pub value: u64,
    /// The median of all hosts.
    pub median: u64,
    /// The worst value that would have been no outlier.
    pub limit: u64,
    /// How many hosts measured it.
    pub hosts: u64,
}

/// Of how many names one may stand at most: a typing error is not to fill the memory.
const MOST: usize = 1 << 16;

/// A name that stands for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoNames {
    /// Brackets do not match, or hold something else than numbers.
    #[error("names no host")]
    Unread,
    /// It would stand for more than anybody means.
    #[error("stands for more than {MOST} hosts")]
    TooMany,
}

/// The names that one with numbers in brackets stands for, as Slurm and pdsh write them: `n[01-03,7]`.
///
/// # Errors
/// Where it does not read, or stands for too many.
pub fn expanded(name: &str) -> Result<Vec<String>, NoNames> {
    let Some((before, rest)) = name.split_once('[') else {
        return if name.contains(']') { Err(NoNames::Unread) } else { Ok(vec![name.to_owned()]) };
    };
    let (inside, after) = rest.split_once(']').ok_or(NoNames::Unread)?;
    let mut numbers = Vec::new();
    for part in inside.split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(low) || !is_number(high) {
            return Err(NoNames::Unread);
        }
        // Digits alone are no number only where they are too many.
        let number = |text: &str| text.parse::<u64>().map_err(|_| NoNames::TooMany);
        let (first, last) = (number(low)?, number(high)?);
        if first > last {
            return Err(NoNames::Unread);
        }
        if last - first >= MOST as u64 {
            return Err(NoNames::TooMany);
        }
        numbers.extend((first..=last).map(|number| format!("{number:0width$}", width = low.len())));
    }
    let mut all = Vec::new();
    for end in expanded(after)? {
        all.extend(numbers.iter().map(|number| format!("{before}{number}{end}")));
        if all.len() > MOST {
            return Err(NoNames::TooMany);
        }
    }
    Ok(all)
}

/// Names as people read them: three or more that differ in the number at their end alone stand together, `n[01-03,07]`. In the order in which
/// they come.
pub fn folded<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut groups: Vec<(&str, BTreeSet<&str>)> = Vec::new();
    let mut place: BTreeMap<(&str, usize), usize> = BTreeMap::new();
    for name in names {
        let (start, number) = name.split_at(name.trim_end_matches(|c: char| c.is_ascii_digit()).len());
        let at = *place.entry((start, number.len())).or_insert(groups.len());
        if at == groups.len() {
            groups.push((start, BTreeSet::new()));
        }
        groups[at].1.insert(number);
    }
    let group = |(start, numbers): &(&str, BTreeSet<&str>)| {
        if numbers.len() < 3 {
            return numbers.iter().map(|number| format!("{start}{number}")).collect::<Vec<_>>().join(", ");
        }
        let mut runs: Vec<(&str, &str)> = Vec::new();
        for number in numbers {
            // Numbers that no name of a host needs are not joined.
            let follows =
                |last: &str| Some(last.parse::<u64>().ok()?.checked_add(1)? == number.parse::<u64>().ok()?);
            match runs.last_mut().filter(|(_, last)| follows(last) == Some(true)) {
                Some((_, last)) => *last = number,
                None => runs.push((number, number)),
            }
        }
        let runs = runs.iter().map(|(low, high)| match low == high {
            true => (*low).to_owned(),
            false => format!("{low}-{high}"),
        });
        format!("{start}[{}]", runs.collect::<Vec<_>>().join(","))
    };
    groups.iter().map(group).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn brackets_stand_for_numbers_of_one_width() {
        let of = |name: &str| expanded(name).map(|names| names.join(" "));
        assert_eq!(of("a"), Ok("a".into()));
        assert_eq!(of("n[08-10,7].x"), Ok("n08.x n09.x n10.x n7.x".into()));
        assert_eq!(of("r[1-2]n[1-2]"), Ok("r1n1 r2n1 r1n2 r2n2".into()));
        for bad in ["n[", "n]", "n[]", "n[a-b]", "n[2-1]", "n[+1]"] {
            assert_eq!(of(bad), Err(NoNames::Unread), "{bad}");
        }
        for many in ["n[1-99999999]", "n[1-60000][1-60000]", "n[1-99999999999999999999]"] {
            assert_eq!(of(many), Err(NoNames::TooMany), "{many}");
        }
    }

    #[test]
    fn names_that_differ_in_a_number_stand_together() {
        assert_eq!(folded(["n01", "n02", "login", "n03", "n07"]), "n[01-03,07], login");
        assert_eq!(folded(["n1", "n2"]), "n1, n2");
        assert_eq!(folded(["n9", "n10", "n11", "n12"]), "n9, n[10-12]");
        assert_eq!(folded([]), "");
    }

    proptest! {
        #[test]
        fn what_is_folded_names_the_same_hosts(numbers in proptest::collection::btree_set(0u32..200, 0..40)) {
            let names: Vec<String> = numbers.iter().map(|number| format!("n{number:03}")).collect();
            let text = folded(names.iter().map(String::as_str));
            // Commas within brackets part numbers, those outside names.
            let again: Vec<String> = match text.contains('[') {
                true => expanded(&text).expect("brackets match"),
                false => text.split(", ").filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            };
            prop_assert_eq!(again, names);
        }
    }
}
