//! What a program had over time: the samples of `watch`, and a recording of them.
//!
//! A recording is lines of JSON: a [`WatchHeader`], any number of [`WatchSample`]s, and, if it was not cut short, a
//! [`WatchEnd`]. What was not read for a sample is `null` in it, never the value of an earlier one.

use crate::{Kind, OpenError, from_json};
use firsttouch_machine::{MeasuredMachine, MeasuredNode};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The first line of a recording: who was watched, where, and how often.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct WatchHeader {
    /// When watching began, by RFC 3339.
    pub started: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The process.
    pub pid: u32,
    /// Whether its descendants were watched, too.
    pub tree: bool,
    /// The time between samples that was asked for, in seconds.
    pub interval_s: f64,
    /// The share of one core that watching was to keep to.
    pub budget: f64,
    /// The machine.
    pub machine: MeasuredMachine,
    /// Its memory nodes.
    pub nodes: Vec<MeasuredNode>,
}

/// What was found at one moment. Sums over all processes watched; memory that several share counts once for each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct WatchSample {
    /// Seconds since watching began.
    pub t_s: f64,
    /// Resident memory, hugetlb pages included.
    pub resident_bytes: u64,
    /// The largest resident set so far by the kernel's account, hugetlb pages not included; `None` for several processes.
    pub peak_bytes: Option<u64>,
    /// Memory that was swapped out.
    pub swap_bytes: Option<u64>,
    /// Resident memory of no file: anonymous, shared and hugetlb. Only this can be on huge pages at the program's wish.
    pub anonymous_bytes: Option<u64>,
    /// What walking the page tables told, where the budget allowed it this time.
    pub memory: Option<WatchedMemory>,
    /// Page faults.
    pub faults: WatchedFaults,
    /// Processor time used since the sample before, in cores.
    pub cores: Option<f64>,
    /// The threads, where they were looked at this time.
    pub threads: Option<WatchedThreads>,
    /// The processes watched.
    pub processes: Vec<WatchedProcess>,
    /// The whole machine, where it was looked at this time.
    pub machine: Option<WatchedMachine>,
    /// What watching costs.
    pub cost: WatchCost,
    /// What could not be read, and the kernel's answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<String>,
}

/// Memory by page size and node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct WatchedMemory {
    /// Resident bytes by page size in bytes. Multi-size pages count as base pages: the kernel does not show them.
    pub bytes_by_page_size: BTreeMap<u64, u64>,
    /// Resident bytes by memory node; `None` if the kernel does not say.
    pub bytes_by_node: Option<BTreeMap<u32, u64>>,
    /// How many small pages were asked for their node, where not all were: the bytes by node are estimated from them, each
    /// share with a standard error of at most half a per cent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled_pages: Option<u64>,
    /// Processes watched whose memory could not be read: they are in none of these figures, nor in `huge_share`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<u32>,
    /// Resident bytes on huge pages, those of files not included.
    pub huge_bytes: u64,
    /// Their share of all memory of no file of the same processes; `None` where there is none.
    pub huge_share: Option<f64>,
    /// How long reading this took, in seconds of wall-clock time.
    pub took_s: f64,
    /// The longest single call of it. A thread of the program that wanted to change mappings waited no longer.
    pub longest_call_s: f64,
}

/// Page faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct WatchedFaults {
    /// Without I/O, since watching began.
    pub minor: u64,
    /// With I/O, since watching began.
    pub major: u64,
    /// Without I/O, per second since the sample before.
    pub minor_per_s: Option<f64>,
    /// With I/O, per second since the sample before.
    pub major_per_s: Option<f64>,
}

/// Where threads are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct WatchedThreads {
    /// How many there are.
    pub count: u32,
    /// How many of them run or wait for a CPU.
    pub running: u32,
    /// Threads by the CPU they ran on last.
    pub by_cpu: BTreeMap<u32, u32>,
    /// Threads by the node of that CPU.
    pub by_node: BTreeMap<u32, u32>,
    /// Processor time used since the threads were looked at before, in cores, by the node where each thread was seen.
    pub cores_by_node: Option<BTreeMap<u32, f64>>,
    /// Moves of threads to other CPUs since watching began; `None` where the kernel does not count them.
    pub migrations: Option<u64>,
    /// The same per second since the threads were looked at before.
    pub migrations_per_s: Option<f64>,
}

/// One process watched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct WatchedProcess {
    /// Its number.
    pub pid: u32,
    /// Its name, cut to 15 bytes by the kernel.
    pub command: String,
    /// `R` running, `S` sleeping, `D` uninterruptible, `T` stopped, `Z` ended and not collected.
    pub state: char,
    /// Its resident memory, hugetlb pages included.
    pub resident_bytes: u64,
}

/// What the whole machine did and has left.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct WatchedMachine {
    /// Events per second since the machine was looked at before, by their names in `/proc/vmstat`: pages moved between
    /// nodes (`pgmigrate_…`, `numa_…`), huge pages made and split (`thp_…`).
    pub rates_per_s: BTreeMap<String, f64>,
    /// Free memory by node.
    pub free_bytes_by_node: BTreeMap<u32, u64>,
    /// The pools of reserved huge pages.
    pub pools: Vec<PoolLevel>,
}

/// How full a pool is. Counts are pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PoolLevel {
    /// The size of its pages.
    pub page_bytes: u64,
    /// Pages in the pool.
    pub pages: Option<u64>,
    /// Pages not in use.
    pub free: Option<u64>,
    /// Free pages that are promised to mappings already.
    pub reserved: Option<u64>,
    /// Free pages by node.
    pub free_by_node: BTreeMap<u32, u64>,
}

/// What watching costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct WatchCost {
    /// Processor time of this sample, in seconds.
    pub cpu_s: f64,
    /// Share of one core that watching has taken since it began, with all that was done with the samples; `None` in the first.
    pub core_share: Option<f64>,
}

/// Why watching ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WatchEnding {
    /// The process ended.
    TargetEnded,
    /// As long, or as many samples, as was asked for.
    Limit,
    /// Somebody asked for the end.
    Interrupted,
}

/// The last line of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct WatchEnd {
    /// Why.
    pub ended: WatchEnding,
    /// Seconds since watching began.
    pub t_s: f64,
    /// Share of one core that watching took; `None` where no time passed.
    pub core_share: Option<f64>,
}

/// A recording, as one document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Recording {
    /// Its first line.
    pub header: WatchHeader,
    /// The samples, in their order.
    pub samples: Vec<WatchSample>,
    /// Its last line; `None` if it was cut short.
    pub end: Option<WatchEnd>,
}

impl Recording {
    /// Reads the lines of a recording, the first of which is known to be its header. A torn last line is as good as none:
    /// whoever wrote it was killed.
    pub(crate) fn parse(text: &str) -> Result<Recording, OpenError> {
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty()).peekable();
        let Some((_, first)) = lines.next() else { return Err(OpenError::Empty) };
        let header = from_json(first).map_err(|source| OpenError::Shape { kind: Kind::Watch, source })?;
        let mut recording = Recording { header, samples: Vec::new(), end: None };
        while let Some((index, line)) = lines.next() {
            match Line::parse(line) {
                Ok(Line::Sample(sample)) => recording.samples.push(*sample),
                Ok(Line::End(end)) => recording.end = Some(end),
                Err(_) if lines.peek().is_none() => {}
                Err(source) => return Err(OpenError::Line { line: index + 1, source }),
            }
        }
        Ok(recording)
    }

    /// Seconds from the first moment to the last that is known.
    pub fn seconds(&self) -> f64 {
        let last = self.samples.last().map_or(0.0, |sample| sample.t_s);
        self.end.map_or(last, |end| end.t_s.max(last))
    }
}

/// A line after the first.
enum Line {
    Sample(Box<WatchSample>),
    End(WatchEnd),
}

impl Line {
    fn parse(line: &str) -> Result<Line, serde_json::Error> {
        #[derive(Deserialize)]
        struct Head {
            kind: String,
        }
        let Head { kind } = serde_json::from_str(line)?;
        if kind == Kind::WatchEnd.word() {
            return from_json(line).map(Line::End);
        }
        from_json(line).map(|sample| Line::Sample(Box::new(sample)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AnyDocument, open, to_json, to_line};
    use proptest::prelude::*;

    fn header() -> WatchHeader {
        WatchHeader {
            started: "2026-01-01T00:00:00Z".to_owned(),
            command: vec!["a b".to_owned()],
            pid: 7,
            tree: false,
            interval_s: 1.0,
            budget: 0.01,
            machine: MeasuredMachine { cpu_model: None, kernel: None, virtual_machine: None },
            nodes: Vec::new(),
        }
    }

    fn sample(t_s: f64) -> WatchSample {
        WatchSample {
            t_s,
            memory: Some(WatchedMemory {
                bytes_by_page_size: BTreeMap::from([(4096, 8192)]),
                bytes_by_node: Some(BTreeMap::from([(1, 8192)])),
                ..WatchedMemory::default()
            }),
            processes: vec![WatchedProcess { pid: 7, state: 'S', ..WatchedProcess::default() }],
            ..WatchSample::default()
        }
    }

    fn lines(samples: usize) -> String {
        let mut text = to_line(&header());
        for index in 0..samples {
            text += &to_line(&sample(index as f64));
        }
        text
    }

    fn end() -> String {
        to_line(&WatchEnd { ended: WatchEnding::TargetEnded, t_s: 9.5, core_share: Some(0.001) })
    }

    fn read(text: &str) -> Recording {
        match open(text) {
            Ok(AnyDocument::Recording(recording)) => *recording,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn lines_read_back() {
        let recording = read(&(lines(3) + &end()));
        assert_eq!((recording.samples.len(), &recording.samples[2]), (3, &sample(2.0)));
        assert_eq!((recording.header.clone(), recording.seconds()), (header(), 9.5));
        assert_eq!(read(&to_json(&recording)), recording);
    }

    #[test]
    fn a_recording_that_was_cut_short_reads_up_to_there() {
        let whole = lines(3);
        for cut in [1, 9, 30] {
            let recording = read(&whole[..whole.len() - cut]);
            assert_eq!(recording.samples.len(), if cut == 1 { 3 } else { 2 });
            assert_eq!(recording.end, None);
        }
    }

    #[test]
    fn a_line_that_does_not_read_is_told_by_its_number() {
        let torn = lines(1) + "{\"t_s\":\n" + &end();
        assert_eq!(open(&torn).unwrap_err().to_string(), "line 3 of the recording does not read");
        assert!(matches!(open(&end()), Err(OpenError::LineAlone { kind: Kind::WatchEnd })));
        assert!(matches!(open(&to_line(&sample(1.0))), Err(OpenError::LineAlone { .. })));
    }

    proptest! {
        #[test]
        fn any_text_is_survived(at in 0_usize..900, with in ".{0,9}") {
            let mut text: Vec<char> = (lines(2) + &end()).chars().collect();
            let at = at.min(text.len());
            text.splice(at..at, with.chars());
            if let Ok(AnyDocument::Recording(recording)) = open(&text.into_iter().collect::<String>()) {
                prop_assert!(recording.samples.len() <= 2);
            }
        }
    }
}
