//! One run by several processes, on one machine or many, that share nothing but a folder.
//!
//! The sources are cut into chunks. Whoever takes a chunk says so by a file that can be created once (its claim), and leaves
//! what was found in another, which appears whole or not at all (its part). When no chunk is unclaimed, processes take those
//! that were claimed and are not there yet, until all are. So nobody waits for anybody: a process that died is made up for by the
//! others, or by the next that comes. Claims only keep two from doing the same: on a file system where they do not, or for a
//! chunk that two have taken, the result is the same, and written over itself. Nothing is locked.

use super::checkpoint;
use super::{AllPairs, AllPairsError, Engine, Kept, Progress};
use crate::Node;
use crate::file::{self, FileError};
use crate::fingerprint::Fingerprint;
use crate::histogram::Histogram;
use crate::report::GraphFigures;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Begins the file that says what is asked; the last byte is the version of what follows: the fingerprint of graph, weights,
/// limit, targets and sources, then the fields of [`Plan`] in their order, 8 bytes each, all of them little-endian.
const MAGIC: [u8; 8] = *b"ftshard\x01";
const FIELDS: usize = 7;
/// Stands for numbers that do not follow each other.
const NO_FIRST: u64 = u64::MAX;
/// Chunks for each process, so that the last of them are small against the whole.
const CHUNKS_EACH: usize = 32;
/// Sources of a chunk at least: those of a sweep.
const LEAST_CHUNK: usize = crate::hierarchy::SOURCES_AT_ONCE;

/// What a shared run is about: enough to tell its results without its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Sources of the whole run.
    pub sources: usize,
    /// Sources of a chunk; of the last perhaps less.
    pub chunk: usize,
    /// Whether distances are counted.
    pub histogram: bool,
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
    pub kept: Kept,
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
        engine: &Engine<'_, '_>,
        sources: &[Node],
        shard: Shard,
        mut plan: Plan,
    ) -> Result<Shards, FileError> {
        let question = engine.question(sources);
        let each = sources.len().div_ceil(shard.ranks.max(1) * CHUNKS_EACH);
        plan.sources = sources.len();
        plan.chunk = each.next_multiple_of(LEAST_CHUNK).max(LEAST_CHUNK);
        fs::create_dir_all(folder).map_err(|source| access(folder, source))?;
        let path = folder.join("run");
        // Whoever is first decides; the others take what is there.
        file::write_new(&path, MAGIC, &fields(question, &plan))?;
        let (found, there) = read_plan(&path)?;
        if found != question || there.histogram != plan.histogram {
            let what = "the run of another question: another graph or order of its nodes, other weights, sources or figures";
            return Err(FileError::Content { path, what });
        }
        Ok(Shards { folder: folder.to_owned(), question, plan: there })
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
        (0..self.chunks())
            .filter(|chunk| self.part(*chunk).exists())
            .map(|chunk| self.range(chunk).len())
            .sum()
    }

    /// Works on chunks until all are there or `settings.stop` is set; of the settings, checkpoint and matrix are left
    /// out. Answers whether all are there.
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
        let chunks = self.chunks();
        // Each begins somewhere else, so that they seldom want the same.
        let begin = chunks * shard.rank.min(shard.ranks) / shard.ranks.max(1);
        let order = || (begin..chunks).chain(0..begin);
        let now = AtomicUsize::new(0);
        for claim in [true, false] {
            for chunk in order() {
                if settings.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                    return Ok(false);
                }
                if self.part(chunk).exists() || (claim && !self.claim(chunk, shard)?) {
                    continue;
                }
                self.find(chunk, settings, engine.again(), sources, &now)?;
            }
        }
        Ok((0..chunks).all(|chunk| self.part(chunk).exists()))
    }

    /// Finds one chunk, unless another process has before.
    fn find(
        &self,
        chunk: usize,
        settings: &AllPairs<'_>,
        engine: Engine<'_, '_>,
        sources: &[Node],
        now: &AtomicUsize,
    ) -> Result<(), AllPairsError> {
        let part = self.part(chunk);
        let stop = AtomicBool::new(false);
        let done_before = now.load(Ordering::Relaxed);
        let progress = |found: Progress| {
            let asked = settings.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
            if asked || part.exists() {
                stop.store(true, Ordering::Relaxed);
            }
            let done = done_before + found.done_now;
            now.store(done, Ordering::Relaxed);
            if let Some(progress) = settings.progress {
                progress(Progress { done, done_now: done, sources: self.plan.sources, ..found });
            }
        };
        let settings = AllPairs {
            checkpoint: None,
            matrix: None,
            progress: Some(&progress),
            stop: Some(&stop),
            histogram: self.plan.histogram,
        };
        let kept = settings.run(engine, &sources[self.range(chunk)])?.kept;
        if kept.finished().is_some() {
            checkpoint::write(&part, self.question.with(chunk as u64), &kept)?;
        } else if !part.exists() {
            // Whoever comes next need not think that somebody is at it. If it stays, it does no harm.
            let _ = fs::remove_file(self.claimed(chunk));
        }
        Ok(())
    }

    /// What is there.
    ///
    /// # Errors
    ///
    /// If a part is damaged.
    pub fn merge(&self) -> Result<Merged, FileError> {
        let mut kept = Kept {
            summaries: vec![None; self.plan.sources],
            histogram: self.plan.histogram.then(Histogram::default),
        };
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
            kept.summaries[range].copy_from_slice(&part.summaries);
            if let (Some(all), Some(more)) = (&mut kept.histogram, &part.histogram) {
                all.merge(more);
            }
        }
        Ok(Merged { kept, missing })
    }

    fn chunks(&self) -> usize {
        self.plan.sources.div_ceil(self.plan.chunk)
    }

    fn range(&self, chunk: usize) -> Range<usize> {
        chunk * self.plan.chunk..self.plan.sources.min((chunk + 1) * self.plan.chunk)
    }

    fn part(&self, chunk: usize) -> PathBuf {
        self.folder.join(format!("{chunk:06}.part"))
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

/// Creates a file that says whose something is; false if there is one.
///
/// # Errors
///
/// If it cannot be created.
pub fn claim(path: &Path, words: &str) -> Result<bool, FileError> {
    match File::options().write(true).create_new(true).open(path) {
        Ok(mut file) => {
            file.write_all(words.as_bytes()).map(|()| true).map_err(|source| access(path, source))
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(source) => Err(access(path, source)),
    }
}

fn access(path: &Path, source: std::io::Error) -> FileError {
    FileError::Access { path: path.to_owned(), source }
}

fn fields(question: Fingerprint, plan: &Plan) -> Vec<u8> {
    let Plan { sources, chunk, histogram, graph, first_id } = *plan;
    let numbers: [u64; FIELDS] = [
        sources as u64,
        chunk as u64,
        u64::from(histogram),
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
    let &[question, sources, chunk, histogram, nodes, arcs, bytes, first] = &numbers[..] else {
        return Err(wrong("cut off"));
    };
    if chunk == 0 {
        return Err(wrong("chunks of no sources"));
    }
    let graph = GraphFigures { nodes: nodes as usize, arcs: arcs as usize, bytes: bytes as usize };
    let first_id = (first != NO_FIRST).then_some(first);
    let plan =
        Plan { sources: sources as usize, chunk: chunk as usize, histogram: histogram != 0, graph, first_id };
    Ok((Fingerprint::of_stored(question), plan))
}
