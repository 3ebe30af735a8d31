//! One run by several processes, on one machine or many, that share nothing but a folder.
//!
//! The sources are cut into chunks. Whoever takes a chunk says so by a file that can be created once (its claim), and leaves
//! what was found in another, which appears whole or not at all (its part). When no chunk is unclaimed, processes take those
//! that were claimed and are not there yet, until all are. So nobody waits for anybody: a process that died is made up for by the
//! others, or by the next that comes. A part is written last, after the rows of text that may go with it. Claims only keep two from doing the same: on a file system where they do not, or for a
//! chunk that two have taken, the result is the same, and written over itself. Nothing is locked.

use super::checkpoint;
use super::engine::Engine;
use super::error::AllPairsError;
use super::question::Question;
use super::rows::{self, ChunkRows, RowsError};
use super::run::AllPairs;
use super::stored::{AllPairsProgress, Stored};
use crate::Node;
use crate::file::{self, FileError};
use crate::fingerprint::Fingerprint;
use crate::histogram::Histogram;
use firsttouch_documents::GraphFigures;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Begins the file that says what is asked; the last byte is the version of what follows: the fingerprint of graph, weights,
/// limit, targets and sources, then the fields of [`Plan`] in their order, 8 bytes each, all of them little-endian.
const MAGIC: [u8; 8] = *b"ftshard\x02";
const FIELDS: usize = 8;
/// Nodes have 32 bits.
const MOST_SOURCES: u64 = u32::MAX as u64;
/// Stands for numbers that do not follow each other.
const NO_FIRST: u64 = u64::MAX;
/// How the names of parts end.
const PART: &str = ".part";
/// Chunks for each process, so that the last of them are small against the whole.
const CHUNKS_EACH: usize = 32;
/// How often it is counted what others have done: to look through a folder on another machine takes its time.
const COUNTED_EVERY: Duration = Duration::from_secs(1);

/// What a shared run is about: enough to tell its results without its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Sources of the whole run.
    pub sources: usize,
    /// Sources of a chunk; of the last perhaps less. Whoever begins a run says how many go together at least: chunks become a
    /// multiple of that.
    pub chunk: usize,
    /// Whether distances are counted.
    pub histogram: bool,
    /// Columns of the rows of text that are kept of every source; 0 if none are.
    pub columns: usize,
    /// The graph.
    pub graph: GraphFigures,
    /// The number of the first source in the graph's file, if the others follow without gaps.
    pub first_id: Option<u64>,
}

/// A run that several processes share, as one of them sees it.
#[derive(Debug)]
pub struct Shards {
    folder: PathBuf,
    question: Fingerprint,
    plan: Plan,
}

/// One of the processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which, from 0 on.
    pub rank: usize,
    /// How many there are.
    pub ranks: usize,
}

/// What all processes together have found so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// What is known.
    pub stored: Stored,
    /// Sources of chunks that nobody has finished, by their places in the list.
    pub missing: Vec<Range<usize>>,
}

impl Shards {
    /// Joins the run in a folder, or begins it there.
    ///
    /// # Errors
    ///
    /// If the folder is that of another run, or cannot be written to.
    pub fn join(
        folder: &Path,
        question: Question,
        shard: Shard,
        mut plan: Plan,
    ) -> Result<Shards, FileError> {
        let Question(question) = question;
        let each = plan.sources.div_ceil(shard.ranks.max(1) * CHUNKS_EACH);
        plan.chunk = each.max(1).next_multiple_of(plan.chunk.max(1));
        fs::create_dir_all(folder).map_err(|source| FileError::access(folder, source))?;
        let path = folder.join("run");
        // Whoever is first decides; the others take what is there.
        file::write_new(&path, MAGIC, &fields(question, &plan))?;
        let (found, there) = read_plan(&path)?;
        let what = if found != question {
            "the run of another question: another graph or order of its nodes, other weights, sources or figures"
        } else if (there.histogram, there.columns) != (plan.histogram, plan.columns) {
            "the run with other results: all processes keep a histogram, or none, and all keep rows (--export-csv), or none"
        } else {
            return Ok(Shards { folder: folder.to_owned(), question, plan: there });
        };
        Err(FileError::Content { path, what })
    }

    /// The run in a folder, to look at.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn open(folder: &Path) -> Result<Shards, FileError> {
        let (question, plan) = read_plan(&folder.join("run"))?;
        Ok(Shards { folder: folder.to_owned(), question, plan })
    }

    /// What it is about.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// How many sources are done.
    #[must_use]
    pub fn done(&self) -> usize {
        let Ok(entries) = fs::read_dir(&self.folder) else { return 0 };
        let chunk_of = |name: &str| name.strip_suffix(PART)?.parse().ok();
        let chunks = entries.filter_map(|entry| chunk_of(entry.ok()?.file_name().to_str()?));
        chunks.filter(|chunk| *chunk < self.chunks()).map(|chunk| self.range(chunk).len()).sum()
    }

    /// Works on chunks until all are there or `settings.stop` is set; of the settings, checkpoint and matrix are left
    /// out, and progress is that of all processes. Answers whether all are there.
    ///
    /// # Errors
    ///
    /// As [`AllPairs::run`].
    ///
    /// # Panics
    ///
    /// If there are other sources than the run was joined with.
    pub fn work(
        &self,
        settings: &AllPairs<'_>,
        engine: &mut Engine<'_, '_>,
        sources: &[Node],
        shard: Shard,
    ) -> Result<bool, AllPairsError> {
        assert_eq!(sources.len(), self.plan.sources, "the sources it was joined with");
        self.each_chunk(settings.stop, shard, |chunk| {
            let stop = AtomicBool::new(false);
            let progress = |found: AllPairsProgress| {
                if chunk.ends() {
                    stop.store(true, Ordering::Relaxed);
                }
                if let Some(progress) = settings.progress {
                    let (done, done_now) = chunk.count(found.done_now);
                    progress(AllPairsProgress { done, done_now });
                }
            };
            let settings = AllPairs {
                checkpoint: None,
                matrix: None,
                progress: Some(&progress),
                stop: Some(&stop),
                histogram: self.plan.histogram,
            };
            Ok(settings.run(engine.again(), &sources[chunk.range()])?.stored)
        })
    }

    /// Has chunks found by `find` until all are there or `stop` is set. Answers whether all are there.
    ///
    /// # Errors
    ///
    /// What `find` answers, and files that cannot be written.
    pub fn each_chunk<E: From<FileError>>(
        &self,
        stop: Option<&AtomicBool>,
        shard: Shard,
        mut find: impl FnMut(&Chunk<'_>) -> Result<Stored, E>,
    ) -> Result<bool, E> {
        let chunks = self.chunks();
        // Each begins somewhere else, so that they seldom want the same.
        let begin = chunks * shard.rank.min(shard.ranks) / shard.ranks.max(1);
        let order = || (begin..chunks).chain(0..begin);
        let before = self.done();
        let counted = Mutex::new((Instant::now(), before));
        for claim in [true, false] {
            for chunk in order() {
                if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                    return Ok(false);
                }
                let part = self.part(chunk);
                if part.exists() || (claim && !self.claim(chunk, shard)?) {
                    continue;
                }
                let stored =
                    find(&Chunk { shards: self, chunk, part: &part, stop, before, counted: &counted })?;
                if stored.summaries.len() == self.range(chunk).len() && stored.finished().is_some() {
                    checkpoint::write(&part, self.question.with(chunk as u64), &stored)?;
                    *lock(&counted) = (Instant::now(), self.done());
                } else if !part.exists() {
                    // Whoever comes next need not think that somebody is at it. If it stays, it does no harm.
                    let _ = fs::remove_file(self.claimed(chunk));
                }
            }
        }
        Ok((0..chunks).all(|chunk| self.part(chunk).exists()))
    }

    /// Copies the rows of all chunks that are there, in the order of the sources.
    ///
    /// # Errors
    ///
    /// Rows that are missing, damaged or cannot be written.
    pub fn copy_rows(&self, to: &mut impl Write) -> Result<(), RowsError> {
        let there = (0..self.chunks()).filter(|chunk| self.part(*chunk).exists());
        there.map(|chunk| self.rows(chunk)).try_for_each(|path| rows::copy(&path, to))
    }

    /// What is there.
    ///
    /// # Errors
    ///
    /// If a part is damaged.
    pub fn merge(&self) -> Result<Merged, FileError> {
        let mut summaries = Vec::new();
        // A vector that cannot be had ends the process.
        summaries.try_reserve_exact(self.plan.sources).map_err(|_| FileError::Content {
            path: self.folder.join("run"),
            what: "more sources than there is memory for",
        })?;
        summaries.resize(self.plan.sources, None);
        let mut stored = Stored { summaries, histogram: self.plan.histogram.then(Histogram::default) };
        let mut missing: Vec<Range<usize>> = Vec::new();
        for chunk in 0..self.chunks() {
            let range = self.range(chunk);
            let question = self.question.with(chunk as u64);
            let part = checkpoint::read(&self.part(chunk), question, range.len(), self.plan.histogram)?;
            let Some(part) = part.filter(|part| part.finished().is_some()) else {
                match missing.last_mut() {
                    Some(last) if last.end == range.start => last.end = range.end,
                    _ => missing.push(range),
                }
                continue;
            };
            stored.summaries[range].copy_from_slice(&part.summaries);
            if let (Some(all), Some(more)) = (&mut stored.histogram, &part.histogram) {
                all.merge(more);
            }
        }
        Ok(Merged { stored, missing })
    }

    fn chunks(&self) -> usize {
        self.plan.sources.div_ceil(self.plan.chunk)
    }

    fn range(&self, chunk: usize) -> Range<usize> {
        chunk * self.plan.chunk..self.plan.sources.min((chunk + 1) * self.plan.chunk)
    }

    fn part(&self, chunk: usize) -> PathBuf {
        self.folder.join(format!("{chunk:06}{PART}"))
    }

    fn rows(&self, chunk: usize) -> PathBuf {
        self.folder.join(format!("{chunk:06}.rows"))
    }

    fn claimed(&self, chunk: usize) -> PathBuf {
        self.folder.join(format!("{chunk:06}.claim"))
    }

    /// Whether nobody had claimed a chunk, so that it is ours now.
    fn claim(&self, chunk: usize, shard: Shard) -> Result<bool, FileError> {
        let words = format!("process {} of {}: {}\n", shard.rank, shard.ranks, std::process::id());
        claim(&self.claimed(chunk), &words)
    }
}

/// A chunk that this process finds.
#[derive(Debug)]
pub struct Chunk<'a> {
    shards: &'a Shards,
    chunk: usize,
    part: &'a Path,
    stop: Option<&'a AtomicBool>,
    /// Sources that were done before this process began.
    before: usize,
    /// Sources that all have done, and when they were counted.
    counted: &'a Mutex<(Instant, usize)>,
}

impl Chunk<'_> {
    /// Its sources, by their places in the list.
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.shards.range(self.chunk)
    }

    /// Whether it need not be gone on with: the process is to stop, or another one has found it.
    #[must_use]
    pub fn ends(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) || self.part.exists()
    }

    /// How many sources are done by all processes when this one has done so many of the chunk; and how many of them since
    /// it began.
    #[must_use]
    pub fn count(&self, done: usize) -> (usize, usize) {
        let mut counted = lock(self.counted);
        if counted.0.elapsed() >= COUNTED_EVERY {
            *counted = (Instant::now(), self.shards.done());
        }
        let all = (counted.1 + done).min(self.shards.plan.sources);
        (all, all.saturating_sub(self.before))
    }

    /// A file for the rows of the chunk. It must be finished before the chunk is.
    ///
    /// # Errors
    ///
    /// If it cannot be created.
    pub fn rows(&self) -> Result<ChunkRows, FileError> {
        ChunkRows::create(self.shards.rows(self.chunk), &self.shards.folder)
    }
}

fn lock(counted: &Mutex<(Instant, usize)>) -> MutexGuard<'_, (Instant, usize)> {
    counted.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a file that says whose something is; false if there is one.
fn claim(path: &Path, words: &str) -> Result<bool, FileError> {
    match File::options().write(true).create_new(true).open(path) {
        Ok(mut file) => {
            file.write_all(words.as_bytes()).map(|()| true).map_err(|source| FileError::access(path, source))
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(source) => Err(FileError::access(path, source)),
    }
}

fn fields(question: Fingerprint, plan: &Plan) -> Vec<u8> {
    let Plan { sources, chunk, histogram, columns, graph, first_id } = *plan;
    let numbers: [u64; FIELDS] = [
        sources as u64,
        chunk as u64,
        u64::from(histogram),
        columns as u64,
        graph.nodes as u64,
        graph.arcs as u64,
        graph.bytes as u64,
        first_id.unwrap_or(NO_FIRST),
    ];
    std::iter::once(question.stored()).chain(numbers).flat_map(u64::to_le_bytes).collect()
}

fn read_plan(path: &Path) -> Result<(Fingerprint, Plan), FileError> {
    let wrong = |what| FileError::Content { path: path.to_owned(), what };
    let contents =
        file::read(path, MAGIC, 8 * (FIELDS as u64 + 1))?.ok_or(wrong("no run was begun in this folder"))?;
    let numbers: Vec<u64> = contents.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
    let &[question, sources, chunk, histogram, columns, nodes, arcs, bytes, first] = &numbers[..] else {
        return Err(wrong("cut off"));
    };
    if chunk == 0 {
        return Err(wrong("chunks of no sources"));
    }
    if sources.max(chunk) > MOST_SOURCES {
        return Err(wrong("more sources than there can be nodes"));
    }
    let graph = GraphFigures { nodes: nodes as usize, arcs: arcs as usize, bytes: bytes as usize };
    let first_id = (first != NO_FIRST).then_some(first);
    let plan = Plan {
        sources: sources as usize,
        chunk: chunk as usize,
        histogram: histogram != 0,
        columns: columns as usize,
        graph,
        first_id,
    };
    Ok((Fingerprint::of_stored(question), plan))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_of_more_sources_than_nodes_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        for (sources, chunk) in [(usize::MAX, 1), (1 << 40, 1 << 20), (7, usize::MAX)] {
            let graph = GraphFigures { nodes: 3, arcs: 4, bytes: 5 };
            let plan = Plan { sources, chunk, histogram: false, columns: 0, graph, first_id: None };
            file::write(&run, MAGIC, &fields(Fingerprint::of_stored(7), &plan)).unwrap();
            let error = Shards::open(folder.path()).map(|_| ()).unwrap_err();
            assert!(error.to_string().ends_with("more sources than there can be nodes"), "{error}");
        }
    }
}
