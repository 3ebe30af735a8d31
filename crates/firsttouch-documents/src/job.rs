//! The receipts of all ranks of a job.

use firsttouch_placement::{Obtained, Receipt};
use serde::{Deserialize, Serialize};

/// The ranks of a job, each with what it asked for and obtained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct JobReport {
    /// What started the ranks, in words; `None` where it is not known.
    pub launcher: Option<String>,
    /// What the launcher, or the machine, calls the job.
    pub job: String,
    /// How many ranks it has.
    pub size: u32,
    /// Those that left a receipt, by their numbers.
    pub ranks: Vec<JobRank>,
    /// Those that left none: they died before their program ended, or have not ended.
    pub missing: Vec<u32>,
    /// Which ranks differ from the others, and in what, a sentence each.
    pub differs: Vec<String>,
}

/// One rank that ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct JobRank {
    /// Its number, from 0 on.
    pub rank: u32,
    /// Its number among those on its machine.
    pub local_rank: u32,
    /// The name of its machine.
    pub host: String,
    /// From its start to its end, in seconds.
    pub seconds: f64,
    /// The time of processors that it used, with the programs that it waited for, in seconds.
    pub cpu_s: f64,
    /// Asked against obtained.
    pub receipt: Receipt,
}

/// More than this share of the median is slow.
const SLOW: f64 = 1.1;

impl JobRank {
    /// The CPUs that it could run on, ascending; `None` where nobody looked.
    pub fn cpus(&self) -> Option<Vec<u32>> {
        let threads = self.receipt.obtained.iter().flat_map(|obtained| &obtained.threads);
        let mut cpus: Vec<u32> = match &self.receipt.cpus_obtained {
            Some(cpus) => cpus.clone(),
            None => threads.filter_map(|thread| thread.cpus_obtained.clone()).flatten().collect(),
        };
        cpus.sort_unstable();
        cpus.dedup();
        (!cpus.is_empty()).then_some(cpus)
    }

    /// How many threads were bound; `None` where none was to be.
    pub fn threads(&self) -> Option<usize> {
        self.receipt.obtained.as_ref().map(|obtained| obtained.threads.len()).filter(|threads| *threads > 0)
    }

    /// Why it did not get all that it asked for: the reasons, ascending.
    pub fn reasons(&self) -> Vec<&'static str> {
        let mut reasons: Vec<&str> = self.receipt.shortfalls.iter().map(|one| one.reason.word()).collect();
        reasons.sort_unstable();
        reasons.dedup();
        reasons
    }
}

impl JobReport {
    /// The report of a job of so many ranks of which these left receipts, in any order.
    pub fn of(launcher: Option<String>, job: String, size: u32, mut ranks: Vec<JobRank>) -> JobReport {
        ranks.sort_by_key(|rank| rank.rank);
        let missing = (0..size).filter(|number| ranks.iter().all(|rank| rank.rank != *number)).collect();
        let differs = differences(&ranks);
        JobReport { launcher, job, size, ranks, missing, differs }
    }
}

/// A property of a rank, in words; `None` where it is not known.
type Property = fn(&JobRank) -> Option<String>;

const PROPERTIES: [(&str, Property); 7] = [
    ("programs", |rank| Some(rank.receipt.program.clone())),
    ("numbers of CPUs", |rank| Some(format!("{} CPUs", rank.cpus()?.len()))),
    ("numbers of threads", |rank| Some(format!("{} threads", rank.threads()?))),
    ("numbers of nodes", |rank| Some(format!("memory of {} nodes", nodes(rank.receipt.obtained.as_ref()?)?))),
    ("pages", |rank| {
        let sizes = &rank.receipt.obtained.as_ref()?.bytes_by_page_size;
        let (size, _) = sizes.iter().max_by_key(|(_, bytes)| **bytes)?;
        Some(format!("most memory on pages of {}", firsttouch_placement::format_bytes(*size)))
    }),
    ("shortfalls", |rank| {
        let reasons = rank.reasons();
        Some(if reasons.is_empty() { "all that was asked".to_owned() } else { reasons.join(", ") })
    }),
    ("endings", |rank| rank.receipt.ending.clone()),
];

/// Nodes that hold more than a hundredth of the memory: pages of libraries lie anywhere.
fn nodes(obtained: &Obtained) -> Option<usize> {
    let by_node = obtained.bytes_by_node.as_ref()?;
    let total: u64 = by_node.values().sum();
    Some(by_node.values().filter(|bytes| **bytes > total / 100).count())
}

fn differences(ranks: &[JobRank]) -> Vec<String> {
    let mut differs = Vec::new();
    for (what, property) in PROPERTIES {
        let values: Vec<(u32, String)> =
            ranks.iter().filter_map(|rank| Some((rank.rank, property(rank)?))).collect();
        let count = |value: &str| values.iter().filter(|(_, other)| other == value).count();
        // The first of those that are as frequent.
        let Some((_, usual)) = values.iter().rev().max_by_key(|(_, value)| count(value)) else { continue };
        let usual_count = count(usual);
        if usual_count == values.len() {
            continue;
        }
        if usual_count * 2 <= values.len() {
            let each: Vec<String> = values.iter().map(|(rank, value)| format!("{rank}: {value}")).collect();
            differs.push(format!("the ranks differ in their {what}: {}", each.join("; ")));
            continue;
        }
        let mut others: Vec<&String> =
            values.iter().map(|(_, value)| value).filter(|value| *value != usual).collect();
        others.dedup();
        for (place, other) in others.iter().enumerate() {
            if others[..place].contains(other) {
                continue;
            }
            let who: Vec<String> = values
                .iter()
                .filter(|(_, value)| value == *other)
                .map(|(rank, _)| rank.to_string())
                .collect();
            differs.push(format!("rank {}: {other}, most others: {usual}", who.join(", ")));
        }
    }
    let mut times: Vec<f64> = ranks.iter().map(|rank| rank.seconds).collect();
    times.sort_by(f64::total_cmp);
    if let Some(median) = times.get(times.len() / 2).filter(|_| times.len() > 2) {
        for slow in ranks.iter().filter(|rank| rank.seconds > median * SLOW) {
            differs.push(format!("rank {}: {:.2} s, the median is {median:.2} s", slow.rank, slow.seconds));
        }
    }
    differs
}
