//! A run that several processes share, as its folder is when all is done, and how its files begin: what a fuzzer makes of them
//! is taken for files of this run.

use crate::{mend_kept, scratch_folder, with_team};
use firsttouch_graph::{
    AllPairs, Checkpoint, FileError, Graph, Graphs, Histogram, Node, Plan, Question, Queue, Searches, Shard,
    Shards, Stored, Summary,
};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// The one process of it.
const SHARD: Shard = Shard { rank: 0, ranks: 1 };
/// Sources of a chunk.
const CHUNK: usize = 2;
/// How a part and a checkpoint begin: what they are, the question, the number of sources.
const KEPT_BEGINNING: usize = 24;
/// How rows begin: what they are.
const ROWS_BEGINNING: usize = 8;
/// How all of them end: a sum.
const SUM: usize = 4;

/// The files of a run from all nodes of a small graph, by their names.
#[derive(Debug)]
pub struct SharedRun {
    /// What it runs on.
    pub graph: Graph,
    files: Vec<(String, Vec<u8>)>,
}

impl SharedRun {
    /// Its part that a target writes anew.
    pub const PART: &str = "000000.part";
    /// The rows that go with it.
    pub const ROWS: &str = "000000.rows";
    /// The checkpoint of a run on the same graph by one process.
    pub const CHECKPOINT: &str = "checkpoint";

    /// Runs it.
    pub fn made() -> SharedRun {
        let graph = Graph::from_arcs(4, &[(0, 1, 5), (1, 2, 6), (2, 3, 0), (3, 0, 7)]).expect("a graph");
        let mut run = SharedRun { graph, files: Vec::new() };
        let folder = scratch_folder();
        let summary = Summary { reached: 4, farthest: 18, sum: 36 };
        run.write(folder.path(), |sources| Stored {
            summaries: vec![Some(summary); sources.len()],
            histogram: Some(Histogram::default()),
        });
        run.resume(&folder.path().join(SharedRun::CHECKPOINT), true).expect("a run");
        for entry in fs::read_dir(folder.path()).expect("a folder") {
            let entry = entry.expect("a file");
            let name = entry.file_name().into_string().expect("a name");
            run.files.push((name, fs::read(entry.path()).expect("a file")));
        }
        run
    }

    /// Begins the run in a folder and finds all its chunks, with rows.
    pub fn write(&self, folder: &Path, stored: impl Fn(std::ops::Range<usize>) -> Stored) -> Shards {
        let sources = self.sources();
        let plan = Plan {
            sources: sources.len(),
            chunk: CHUNK,
            histogram: true,
            columns: 1,
            graph: (&self.graph).into(),
            first_id: Some(1),
        };
        let question = Question::of(&self.graph, None, None, &sources);
        let shards = Shards::join(folder, question, SHARD, plan).expect("a folder for the run");
        let all_there = shards
            .each_chunk(None, SHARD, |chunk| {
                let mut rows = chunk.rows()?;
                rows.write_all(b"1,2\n").expect("room for rows");
                rows.finish()?;
                Ok::<Stored, FileError>(stored(chunk.range()))
            })
            .expect("room for parts");
        assert!(all_there);
        shards
    }

    /// Goes on with a checkpoint, if there is one, to the end.
    ///
    /// # Errors
    ///
    /// A checkpoint that is none.
    pub fn resume(
        &self,
        checkpoint: &Path,
        histogram: bool,
    ) -> Result<firsttouch_graph::AllPairsOutcome, firsttouch_graph::AllPairsError> {
        let settings = AllPairs {
            checkpoint: Some(Checkpoint { path: checkpoint, every: Duration::MAX }),
            histogram,
            ..AllPairs::default()
        };
        with_team(|team| {
            let mut searches = Searches::new(Graphs::new(&self.graph, None), team, Queue::Heap);
            settings.run(&mut searches, &self.sources())
        })
    }

    /// All nodes.
    pub fn sources(&self) -> Vec<Node> {
        (0..self.graph.nodes() as Node).collect()
    }

    /// Its files but some.
    pub fn others(&self, but: &[&str]) -> impl Iterator<Item = &(String, Vec<u8>)> {
        self.files.iter().filter(move |(name, _)| !but.contains(&name.as_str()))
    }

    /// What a file says between how it begins and its sum.
    pub fn says(&self, name: &str) -> &[u8] {
        let file = self.file(name);
        &file[beginning(name)..file.len() - SUM]
    }

    /// A file of this run that says something else, with a right sum.
    pub fn saying(&self, name: &str, says: &[u8]) -> Vec<u8> {
        let mut file = [&self.file(name)[..beginning(name)], says, &[0; SUM]].concat();
        mend_kept(&mut file);
        file
    }

    fn file(&self, name: &str) -> &[u8] {
        let found = self.files.iter().find(|(known, _)| known == name);
        found.map(|(_, bytes)| bytes.as_slice()).expect("a file of the run")
    }
}

fn beginning(name: &str) -> usize {
    if name == SharedRun::ROWS { ROWS_BEGINNING } else { KEPT_BEGINNING }
}
