//! Statistics of vt and LBAF (`LBDatafile`): a JSON file for each rank, which may be compressed by Brotli under the same name.
//!
//! A rank is a core, the time of a task in a phase its load, the rank it is on its home; what is not migratable is
//! pinned. Messages are edges of the type `SendRecv` between tasks; those of the runtime's own objects are left out, as LBAF does.

use super::FormatError;
use crate::{Mapping, Message, Problem, Task};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};
use std::ops::RangeInclusive;

/// The most that a compressed file may unfold to.
const MOST_BYTES: usize = 1 << 30;
/// The most phases that all files may call identical to the one before, in ranges of a few bytes.
const MOST_IDENTICAL: u64 = 1 << 20;

#[derive(Clone, Debug, Deserialize)]
struct File {
    phases: Vec<Phase>,
    metadata: Option<Metadata>,
}

#[derive(Clone, Debug, Deserialize)]
struct Metadata {
    rank: Option<u32>,
    phases: Option<Phases>,
}

#[derive(Clone, Debug, Deserialize)]
struct Phases {
    identical_to_previous: Option<PhaseList>,
}

#[derive(Clone, Debug, Deserialize)]
struct PhaseList {
    #[serde(default)]
    list: Vec<u64>,
    #[serde(default)]
    range: Vec<Vec<u64>>,
}

#[derive(Clone, Debug, Deserialize)]
struct Phase {
    id: u64,
    tasks: Vec<Work>,
    #[serde(default)]
    communications: Vec<Edge>,
}

#[derive(Clone, Debug, Deserialize)]
struct Work {
    entity: Entity,
    node: u32,
    time: f64,
    #[serde(default)]
    user_defined: UserDefined,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct UserDefined {
    task_serialized_bytes: Option<f64>,
    task_footprint_bytes: Option<f64>,
    task_working_bytes: Option<f64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entity {
    #[serde(skip_serializing_if = "Option::is_none")]
    collection_id: Option<i64>,
    #[serde(default)]
    home: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seq_id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<Vec<i64>>,
    #[serde(default)]
    migratable: bool,
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    objgroup_id: Option<i64>,
}

impl Entity {
    fn key(&self) -> Option<u64> {
        self.id.or(self.seq_id)
    }
}

#[derive(Clone, Debug, Deserialize)]
struct Edge {
    #[serde(rename = "type")]
    kind: String,
    from: Entity,
    to: Entity,
    messages: f64,
    bytes: f64,
}

/// A run: the statistics of all its ranks.
#[derive(Clone, Debug)]
pub struct VtRun {
    files: Vec<File>,
    entities: Vec<Entity>,
}

impl VtRun {
    /// Reads the files of all ranks, in any order.
    ///
    /// # Errors
    ///
    /// The place among the files (counted from 0), and what is wrong: no JSON, other fields, compressed data that is broken.
    pub fn read<B: AsRef<[u8]>>(files: &[B]) -> Result<VtRun, FormatError> {
        let (mut all, mut identical_phases) = (Vec::new(), 0_u64);
        for (place, bytes) in files.iter().enumerate() {
            let fail =
                |reason: String| FormatError::Whole(format!("file {place} (counted from 0): {reason}"));
            let text = unfold(bytes.as_ref()).map_err(&fail)?;
            let text = String::from_utf8(text).map_err(|error| fail(error.to_string()))?;
            let file: File = serde_json::from_str(&text).map_err(|error| fail(error.to_string()))?;
            for range in identical(&file) {
                let phases = range.end().checked_sub(*range.start()).map_or(0, |more| more.saturating_add(1));
                identical_phases = identical_phases.saturating_add(phases);
            }
            if identical_phases > MOST_IDENTICAL {
                let reason =
                    format!("more than {MOST_IDENTICAL} phases are stated to be identical to the one before");
                return Err(fail(reason));
            }
            all.push(file);
        }
        Ok(VtRun { files: all, entities: Vec::new() })
    }

    /// The phases that there are, ascending.
    #[must_use]
    pub fn phases(&self) -> Vec<u64> {
        let mut phases: BTreeSet<u64> =
            self.files.iter().flat_map(|file| &file.phases).map(|phase| phase.id).collect();
        phases.extend(self.files.iter().flat_map(identical).flatten());
        phases.into_iter().collect()
    }

    /// How many ranks there are: as many as files, or as the tasks name.
    #[must_use]
    pub fn ranks(&self) -> usize {
        let named = self.files.iter().flat_map(|file| &file.phases).flat_map(|phase| &phase.tasks);
        let named = named.map(|task| task.node as usize + 1).max().unwrap_or(0);
        let stated = self.files.iter().filter_map(|file| file.metadata.as_ref()?.rank);
        let stated = stated.map(|rank| rank as usize + 1).max().unwrap_or(0);
        self.files.len().max(named).max(stated)
    }

    /// The problem of a phase.
    ///
    /// # Errors
    ///
    /// A phase that is not there, a task that is there twice, a message of a task that is not there, numbers that mean nothing.
    pub fn problem(&mut self, phase: u64) -> Result<Problem, FormatError> {
        let phases: Vec<(usize, &Phase)> = (self.files.iter().enumerate())
            .filter_map(|(place, file)| Some((place, of_file(file, phase)?)))
            .collect();
        if phases.is_empty() {
            let known: Vec<String> = self.phases().iter().map(u64::to_string).collect();
            let reason = format!("there is no phase {phase}; there are {}", known.join(", "));
            return Err(FormatError::Whole(reason));
        }
        let (mut tasks, mut entities) = (Vec::new(), Vec::new());
        let mut numbers: HashMap<u64, u32> = HashMap::new();
        let mut files: Vec<usize> = Vec::new();
        let works =
            phases.iter().flat_map(|(place, phase)| phase.tasks.iter().map(move |work| (*place, work)));
        for (place, work) in works {
            let key = work
                .entity
                .key()
                .ok_or_else(|| FormatError::Whole("a task without id and seq_id".to_owned()))?;
            if let Some(other) = numbers.insert(key, tasks.len() as u32) {
                let reason = match files[other as usize] {
                    other if other == place => format!("twice in file {place} (counted from 0)"),
                    other => format!("in files {other} and {place} (counted from 0): are these of two runs?"),
                };
                return Err(FormatError::Whole(format!("phase {phase}: task {key} is {reason}")));
            }
            files.push(place);
            let user = &work.user_defined;
            let memory = size(user.task_footprint_bytes)?.saturating_add(size(user.task_working_bytes)?);
            tasks.push(Task {
                home: Some(work.node),
                pinned: !work.entity.migratable,
                bytes: size(user.task_serialized_bytes)?,
                memory,
                label: Some(key.to_string().into()),
                ..Task::new(work.time)
            });
            entities.push(work.entity.clone());
        }
        let mut messages = Vec::new();
        for edge in
            phases.iter().flat_map(|(_, phase)| &phase.communications).filter(|edge| edge.kind == "SendRecv")
        {
            // Objects of the runtime itself talk, too, but are no tasks, and neither move nor weigh anything.
            let [from, to] =
                [&edge.from, &edge.to].map(|end| end.key().and_then(|key| numbers.get(&key).copied()));
            let lost = [(&edge.from, from), (&edge.to, to)].into_iter().find(|(_, number)| number.is_none());
            if let Some((end, _)) = lost.filter(|(end, _)| end.migratable) {
                let name = end.key().map_or("without id".to_owned(), |key| key.to_string());
                let reason = format!("phase {phase}: a message of task {name}, which is not there");
                return Err(FormatError::Whole(reason));
            }
            let (Some(from), Some(to)) = (from, to) else { continue };
            messages.push(Message { from, to, count: edge.messages, bytes: edge.bytes });
        }
        self.entities = entities;
        Ok(Problem::new(tasks, &messages)?)
    }

    /// What vt's offline balancer reads: for each rank a file that puts its tasks there in the next phase. Of the phase that
    /// was read last.
    #[must_use]
    pub fn offline(&self, problem: &Problem, mapping: &Mapping, phase: u64, ranks: usize) -> Vec<String> {
        offline(problem, mapping, phase, ranks, |task| self.entities.get(task).cloned())
    }
}

/// What vt's offline balancer reads, for tasks that are not from it: their numbers are `seq_id`.
#[must_use]
pub fn vt_offline(problem: &Problem, mapping: &Mapping, phase: u64, ranks: usize) -> Vec<String> {
    offline(problem, mapping, phase, ranks, |_| None)
}

#[derive(Serialize)]
struct Placed {
    entity: Entity,
    node: u32,
    resource: &'static str,
    time: f64,
}

fn offline(
    problem: &Problem,
    mapping: &Mapping,
    phase: u64,
    ranks: usize,
    entity: impl Fn(usize) -> Option<Entity>,
) -> Vec<String> {
    let mut tasks: Vec<Vec<Placed>> = (0..ranks).map(|_| Vec::new()).collect();
    for (index, task) in problem.tasks().iter().enumerate() {
        let core = mapping.core(index);
        let made = || Entity {
            collection_id: (!task.pinned).then_some(0),
            home: task.home.unwrap_or(core),
            id: None,
            seq_id: Some(index as u64),
            index: None,
            migratable: !task.pinned,
            kind: "object".to_owned(),
            objgroup_id: None,
        };
        let entity = entity(index).unwrap_or_else(made);
        if let Some(rank) = tasks.get_mut(core as usize) {
            rank.push(Placed { entity, node: core, resource: "cpu", time: task.load });
        }
    }
    let file = |(rank, tasks): (usize, Vec<Placed>)| {
        serde_json::json!({
            "type": "LBDatafile",
            "metadata": { "type": "LBDatafile", "rank": rank },
            "phases": [{ "id": phase, "tasks": tasks }],
        })
        .to_string()
    };
    tasks.into_iter().enumerate().map(file).collect()
}

/// The phases that a file says are as the one before.
fn identical(file: &File) -> impl Iterator<Item = RangeInclusive<u64>> {
    let phases = file.metadata.as_ref().and_then(|metadata| metadata.phases.as_ref());
    let listed = phases.and_then(|phases| phases.identical_to_previous.as_ref());
    listed.into_iter().flat_map(|listed| {
        let ranges = listed.range.iter().filter_map(|range| Some(*range.first()?..=*range.last()?));
        listed.list.iter().map(|phase| *phase..=*phase).chain(ranges)
    })
}

/// A phase of a file, or the one before it that it is identical to.
fn of_file(file: &File, phase: u64) -> Option<&Phase> {
    if identical(file).any(|range| range.contains(&phase)) {
        return file.phases.iter().filter(|other| other.id < phase).max_by_key(|other| other.id);
    }
    file.phases.iter().find(|other| other.id == phase)
}

fn size(bytes: Option<f64>) -> Result<u64, FormatError> {
    match bytes {
        None => Ok(0),
        Some(bytes) if bytes.is_finite() && bytes >= 0.0 => Ok(bytes as u64),
        Some(bytes) => Err(FormatError::Whole(format!("a task of {bytes} bytes"))),
    }
}

/// The text of a file: as it is, or out of Brotli, which has no mark of its own.
fn unfold(bytes: &[u8]) -> Result<Vec<u8>, String> {
    if bytes.trim_ascii_start().first() == Some(&b'{') {
        return Ok(bytes.to_vec());
    }
    // The unpacker takes a window of up to a gigabyte at the word of ten bytes that begin so. Brotli as it is standardised has
    // none above 16 MiB, and there no stream begins so (RFC 7932, section 9.1).
    if bytes.first().is_some_and(|first| first & 0x7f == 0x11) {
        return Err("Brotli with a large window, which is not read".to_owned());
    }
    let mut text = Vec::new();
    let stream = brotli_decompressor::Decompressor::new(bytes, 1 << 16);
    std::io::Read::read_to_end(&mut std::io::Read::take(stream, MOST_BYTES as u64 + 1), &mut text)
        .map_err(|error| format!("neither JSON nor Brotli: {error}"))?;
    if text.len() > MOST_BYTES {
        return Err(format!("more than {MOST_BYTES} bytes when unfolded"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(rank: u32, tasks: &str, edges: &str) -> String {
        format!(
            r#"{{"metadata":{{"rank":{rank}}},"phases":[{{"id":3,"tasks":[{tasks}],"communications":[{edges}]}}]}}"#
        )
    }

    fn task(id: u32, node: u32, migratable: bool) -> String {
        format!(
            r#"{{"entity":{{"id":{id},"home":{node},"migratable":{migratable},"type":"object"}},"node":{node},"resource":"cpu","time":0.5}}"#
        )
    }

    fn edge(kind: &str, from: u32, to: u32) -> String {
        let end = |id: u32| format!(r#"{{"id":{id},"migratable":true,"type":"object"}}"#);
        format!(r#"{{"type":"{kind}","from":{},"to":{},"messages":2,"bytes":80.0}}"#, end(from), end(to))
    }

    #[test]
    fn ranks_join_into_a_phase() {
        let files = [
            rank(1, &task(9, 1, false), &edge("Broadcast", 9, 7)),
            rank(0, &task(7, 0, true), &edge("SendRecv", 7, 9)),
        ];
        let mut run = VtRun::read(&files).unwrap();
        assert_eq!((run.phases(), run.ranks()), (vec![3], 2));
        let problem = run.problem(3).unwrap();
        assert_eq!((problem.len(), problem.pairs(), problem.total_load()), (2, 1, 1.0));
        assert!(problem.tasks()[0].pinned && !problem.tasks()[1].pinned);
        let written = run.offline(&problem, &Mapping::new(vec![1, 1]), 4, 2);
        let mut again = VtRun::read(&written).unwrap();
        assert_eq!(again.problem(4).unwrap().tasks()[1].home, Some(1));
    }

    #[test]
    fn phases_may_be_identical_in_moderate_numbers() {
        let run = |range: &str| {
            let identical =
                format!(r#""phases":{{"identical_to_previous":{{"list":[5],"range":[{range}]}}}},"rank""#);
            VtRun::read(&[rank(0, &task(7, 0, true), "").replacen("\"rank\"", &identical, 1)])
        };
        let mut some = run("[7,9]").unwrap();
        assert_eq!(some.phases(), [3, 5, 7, 8, 9]);
        assert_eq!(some.problem(8).unwrap().len(), 1);
        assert_eq!(run("[9,7]").unwrap().phases(), [3, 5]);
        for endless in ["[4,18446744073709551615]", "[0,18446744073709551615],[0,18446744073709551615]"] {
            let reason = run(endless).unwrap_err().to_string();
            assert!(reason.contains("more than 1048576 phases"), "{reason}");
        }
    }

    #[test]
    fn bad_runs_are_refused_with_a_reason() {
        let reason = |files: &[String], phase| match VtRun::read(files) {
            Ok(mut run) => run.problem(phase).unwrap_err().to_string(),
            Err(error) => error.to_string(),
        };
        assert!(reason(&["{".to_owned()], 3).starts_with("file 0"));
        assert!(reason(&["not compressed".to_owned()], 3).contains("neither JSON nor Brotli"));
        let large_window = VtRun::read(&[[0x11, 0x1c, 0, 0, 0, 0, 0, 0, 0]]).unwrap_err();
        assert!(large_window.to_string().contains("large window"), "{large_window}");
        assert_eq!(reason(&[rank(0, &task(7, 0, true), "")], 5), "there is no phase 5; there are 3");
        let twice = [rank(0, &task(7, 0, true), ""), rank(1, &task(7, 1, true), "")];
        let two_runs = "phase 3: task 7 is in files 0 and 1 (counted from 0): are these of two runs?";
        assert_eq!(reason(&twice, 3), two_runs);
        let both = [task(7, 0, true), task(7, 0, true)].join(",");
        assert_eq!(reason(&[rank(0, &both, "")], 3), "phase 3: task 7 is twice in file 0 (counted from 0)");
        let unknown = [rank(0, &task(7, 0, true), &edge("SendRecv", 7, 8))];
        assert_eq!(reason(&unknown, 3), "phase 3: a message of task 8, which is not there");
    }

    #[test]
    fn memory_that_is_beyond_counting_is_as_much_as_counts() {
        let sizes = r#""user_defined":{"task_footprint_bytes":1e300,"task_working_bytes":1e300},"node""#;
        let file = rank(0, &task(7, 0, true).replacen(r#""node""#, sizes, 1), "");
        let mut run = VtRun::read(&[file]).unwrap();
        assert_eq!(run.problem(3).unwrap().tasks()[0].memory, u64::MAX);
    }
}
