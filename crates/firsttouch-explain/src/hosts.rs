//! Several hosts: what is not the same on all of them, and which are slower than the others.

use firsttouch_documents::{DifferingFact, DoctorHost, HostComparison, SlowHost, is_time, less_good_median};
use firsttouch_experiment::statistics::sample::OUTLIER_SCORE;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Of fewer hosts nobody can say which one is the outlier.
const FEWEST: usize = 3;

/// The median absolute deviation of normal values is this part of their standard deviation.
const OF_DEVIATION: f64 = 0.674_489_75;

/// What stands for a fact that a host does not tell, though it tells others.
const ABSENT: &str = "not there";

/// How facts of what ran on a host begin.
const BENCH: &str = "bench ";

/// Where hosts differ. Of every fact the value of most hosts counts, and the others are told with who has them.
///
/// A measured value is an outlier where it is worse than the median by more than 3.5 standard deviations, as the median absolute
/// deviation estimates them (the modified z-score of Iglewicz and Hoaglin, *How to Detect and Handle Outliers*, 1993), and by more than
/// `floor`, a part of the median: hosts that hardly differ at all have no outliers. Three hosts at least must have measured it.
pub fn compare(hosts: &[DoctorHost], floor: f64) -> HostComparison {
    HostComparison { differing: differing(hosts), slow: slow(hosts, floor) }
}

/// In the order of what most would look at first: the version, then the facts by their words.
fn differing(hosts: &[DoctorHost]) -> Vec<DifferingFact> {
    let versions = hosts.iter().filter_map(|host| Some((host, host.version.as_deref()?)));
    let mut all: Vec<DifferingFact> =
        of_fact("firsttouch", &versions.collect::<Vec<_>>()).into_iter().collect();
    // Who tells no facts at all was looked at by a version that knew of none, and differs in nothing.
    let telling: Vec<&DoctorHost> = hosts.iter().filter(|host| !host.facts.is_empty()).collect();
    let words: BTreeSet<&str> =
        telling.iter().flat_map(|host| host.facts.keys()).map(String::as_str).collect();
    for word in words {
        // Who only measured has not looked for it, and not every host has run what another has.
        let may_lack = |host: &DoctorHost| host.version.is_some() && !word.starts_with(BENCH);
        let values = telling.iter().filter_map(|host| match host.facts.get(word) {
            Some(text) => Some((*host, text.as_str())),
            None => may_lack(host).then_some((*host, ABSENT)),
        });
        all.extend(of_fact(word, &values.collect::<Vec<_>>()));
    }
    all
}

fn of_fact(fact: &str, values: &[(&DoctorHost, &str)]) -> Option<DifferingFact> {
    let mut by_value: BTreeMap<&str, (usize, Vec<String>)> = BTreeMap::new();
    for (place, (host, value)) in values.iter().enumerate() {
        by_value.entry(value).or_insert((place, Vec::new())).1.push(host.name.clone());
    }
    if by_value.len() < 2 {
        return None;
    }
    let most = by_value.iter().max_by_key(|(_, (first, names))| (names.len(), Reverse(*first)));
    let majority = *most?.0;
    let hosts = by_value.remove(majority)?.1.len() as u64;
    let others = by_value.into_iter().map(|(value, (_, names))| (value.to_owned(), names)).collect();
    Some(DifferingFact { fact: fact.to_owned(), majority: majority.to_owned(), hosts, others })
}

fn slow(hosts: &[DoctorHost], floor: f64) -> Vec<SlowHost> {
    let mut by_word: BTreeMap<&str, Vec<(&str, u64)>> = BTreeMap::new();
    for host in hosts {
        for (word, value) in &host.measured {
            by_word.entry(word).or_default().push((&host.name, *value));
        }
    }
    let mut slow = Vec::new();
    for (word, values) in by_word.iter().filter(|(_, values)| values.len() >= FEWEST) {
        let more_is_better = !is_time(word);
        let all = || values.iter().map(|(_, value)| *value);
        let Some(median) = less_good_median(all().collect(), more_is_better) else { continue };
        let distances = all().map(|value| value.abs_diff(median)).collect();
        // Of two in the middle the larger: who is told to be slow has to be it by both.
        let typical = less_good_median(distances, false).unwrap_or(0);
        let allowed = (OUTLIER_SCORE * typical as f64 / OF_DEVIATION).max(floor * median as f64) as u64;
        let limit =
            if more_is_better { median.saturating_sub(allowed) } else { median.saturating_add(allowed) };
        let is_worse = |value: u64| if more_is_better { value < limit } else { value > limit };
        slow.extend(values.iter().filter(|(_, value)| is_worse(*value)).map(|(host, value)| SlowHost {
            host: (*host).to_owned(),
            quantity: (*word).to_owned(),
            value: *value,
            median,
            limit,
            hosts: values.len() as u64,
        }));
    }
    slow
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, facts: &[(&str, &str)], measured: &[(&str, u64)]) -> DoctorHost {
        DoctorHost {
            name: name.to_owned(),
            version: Some("1.0.0".to_owned()),
            findings: Vec::new(),
            unseen: Vec::new(),
            measured: measured.iter().map(|(word, value)| ((*word).to_owned(), *value)).collect(),
            facts: facts.iter().map(|(word, text)| ((*word).to_owned(), (*text).to_owned())).collect(),
        }
    }

    #[test]
    fn most_hosts_decide_and_who_differs_is_named() {
        let mut hosts: Vec<DoctorHost> =
            ["a", "b", "c"].map(|name| host(name, &[("x", "1"), ("y", "1")], &[])).into();
        assert_eq!(compare(&hosts, 0.1), HostComparison::default());
        hosts.push(host("d", &[("x", "2")], &[]));
        hosts.push(DoctorHost { version: None, ..host("knows no facts", &[], &[]) });
        hosts[0].version = Some("0.9.0".to_owned());
        let found = compare(&hosts, 0.1).differing;
        let told: Vec<_> = found
            .iter()
            .map(|one| (one.fact.as_str(), one.majority.as_str(), one.hosts, format!("{:?}", one.others)))
            .collect();
        assert_eq!(
            told,
            [
                ("firsttouch", "1.0.0", 3, r#"{"0.9.0": ["a"]}"#.to_owned()),
                ("x", "1", 3, r#"{"2": ["d"]}"#.to_owned()),
                ("y", "1", 3, r#"{"not there": ["d"]}"#.to_owned()),
            ]
        );
    }

    #[test]
    fn who_only_measured_lacks_nothing() {
        let measured =
            |name| DoctorHost { version: None, ..host(name, &[("kernel", "6"), ("bench x", "a=1")], &[]) };
        let hosts = [host("a", &[("kernel", "6"), ("y", "1")], &[]), measured("b"), measured("c")];
        assert_eq!(compare(&hosts, 0.1), HostComparison::default());
    }

    #[test]
    fn of_equally_many_the_first_is_the_one_to_compare_with() {
        let found = compare(&[host("a", &[("x", "9")], &[]), host("b", &[("x", "1")], &[])], 0.1);
        assert_eq!((found.differing[0].majority.as_str(), found.differing[0].hosts), ("9", 1));
    }

    #[test]
    fn who_is_much_slower_than_most_is_told_and_who_is_faster_is_not() {
        let of = |values: &[u64]| {
            let named = values.iter().zip('a'..).map(|(value, name)| {
                host(&name.to_string(), &[], &[("rate_bytes_per_s", *value), ("time_ps", 10_000 - *value)])
            });
            let found = compare(&named.collect::<Vec<_>>(), 0.1).slow;
            found.iter().map(|one| format!("{} {}", one.host, one.quantity)).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(of(&[1000, 1000, 500]), "c rate_bytes_per_s");
        assert_eq!(of(&[1000, 1000, 1500]), "");
        // Within the floor, and within what all of them scatter by.
        assert_eq!(of(&[1000, 1000, 950]), "");
        assert_eq!(of(&[1000, 700, 1300, 600, 1400, 500]), "");
        // Of two nobody can say.
        assert_eq!(of(&[1000, 100]), "");
        // A time: 5000 against 9000 is better, 9900 against 5000 worse.
        assert_eq!(of(&[5000, 5000, 5000, 100]), "d rate_bytes_per_s; d time_ps");
    }
}
