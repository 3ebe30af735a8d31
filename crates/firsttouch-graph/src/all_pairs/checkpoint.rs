//! How far a long run has come, in a file.

use super::stored::Stored;
use crate::file::{self, FileError};
use crate::fingerprint::Fingerprint;
use crate::histogram::Histogram;
use firsttouch_documents::Summary;
use std::path::Path;
use std::time::Duration;

/// Where and how often a run keeps how far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint<'a> {
    /// The file. If it is there, the run goes on from it; it stays when the run has ended.
    pub path: &'a Path,
    /// The time between two writes of it.
    pub every: Duration,
}

/// Begins such a file; the last byte is the version of what follows: the fingerprint of what is asked and the number of
/// sources; for each source whether it is done, and if so nodes reached (4 bytes), the greatest distance (8) and their sum
/// (16); whether distances were counted, and if so the logarithm of the classes' width (4) and 1024 counts. All of them are
/// little-endian.
const MAGIC: [u8; 8] = *b"ftapsp \x02";
/// The most bytes of a source.
const SOURCE_BYTES: u64 = 1 + 4 + 8 + 16;
/// The most bytes of what is there once.
const OTHER_BYTES: u64 = 16 + 1 + 4 + 8 * Histogram::CLASSES as u64;

/// Keeps what is known.
pub(super) fn write(path: &Path, question: Fingerprint, stored: &Stored) -> Result<(), FileError> {
    file::write(path, MAGIC, &encoded(question, stored))
}

/// What is known, as bytes.
pub(super) fn encoded(question: Fingerprint, stored: &Stored) -> Vec<u8> {
    let mut contents =
        Vec::with_capacity((OTHER_BYTES + stored.summaries.len() as u64 * SOURCE_BYTES) as usize);
    contents.extend_from_slice(&question.value().to_le_bytes());
    contents.extend_from_slice(&(stored.summaries.len() as u64).to_le_bytes());
    for summary in &stored.summaries {
        contents.push(u8::from(summary.is_some()));
        if let Some(summary) = summary {
            // There are fewer than 2^32 nodes.
            contents.extend_from_slice(&(summary.reached as u32).to_le_bytes());
            contents.extend_from_slice(&summary.farthest.to_le_bytes());
            contents.extend_from_slice(&summary.sum.to_le_bytes());
        }
    }
    contents.push(u8::from(stored.histogram.is_some()));
    if let Some(histogram) = &stored.histogram {
        contents.extend_from_slice(&histogram.shift().to_le_bytes());
        contents.extend(histogram.counts().iter().flat_map(|count| count.to_le_bytes()));
    }
    contents
}

/// What was known when the file was written; `None` if there is none.
pub(super) fn read(
    path: &Path,
    question: Fingerprint,
    sources: usize,
    counts: bool,
) -> Result<Option<Stored>, FileError> {
    let Some(contents) = file::read(path, MAGIC, OTHER_BYTES + sources as u64 * SOURCE_BYTES)? else {
        return Ok(None);
    };
    let known = decoded(&contents, question, sources, counts);
    known.map(Some).map_err(|what| FileError::Content { path: path.to_owned(), what })
}

/// What was known, of its bytes; or what is wrong with them.
pub(super) fn decoded(
    contents: &[u8],
    question: Fingerprint,
    sources: usize,
    counts: bool,
) -> Result<Stored, &'static str> {
    const CUT_OFF: &str = "cut off";
    let mut rest = contents;
    let mut number = || file::take(&mut rest).map(u64::from_le_bytes).ok_or(CUT_OFF);
    if number()? != question.value() || number()? != sources as u64 {
        return Err(
            "the checkpoint of another run: another graph or order of its nodes, other weights, sources or targets",
        );
    }
    let summaries: Option<Vec<Option<Summary>>> = (0..sources).map(|_| source(&mut rest)).collect();
    let histogram = histogram(&mut rest).filter(|_| rest.is_empty());
    let (Some(summaries), Some(histogram)) = (summaries, histogram) else { return Err(CUT_OFF) };
    let reached: u64 = summaries.iter().flatten().map(|summary| summary.reached).sum();
    let counted = |histogram: &Histogram| histogram.counts().iter().map(|count| u128::from(*count)).sum();
    if histogram.as_ref().map_or(0, counted) > u128::from(reached) {
        // As many could be added up to more than a count can hold.
        return Err("more distances are counted than there are nodes reached");
    }
    if counts && histogram.is_none() {
        return Err("the checkpoint of a run that made no histogram");
    }
    Ok(Stored { summaries, histogram: histogram.filter(|_| counts) })
}

/// The next source of the file; `None` where the file ends.
fn source(rest: &mut &[u8]) -> Option<Option<Summary>> {
    let [done] = file::take(rest)?;
    if done == 0 {
        return Some(None);
    }
    Some(Some(Summary {
        reached: u32::from_le_bytes(file::take(rest)?).into(),
        farthest: u64::from_le_bytes(file::take(rest)?),
        sum: u128::from_le_bytes(file::take(rest)?),
    }))
}

/// The counts, if there are any; `None` where the file ends.
fn histogram(rest: &mut &[u8]) -> Option<Option<Histogram>> {
    let [counted] = file::take(rest)?;
    if counted == 0 {
        return Some(None);
    }
    let shift = u32::from_le_bytes(file::take(rest)?);
    let counts: Option<Vec<u64>> =
        (0..Histogram::CLASSES).map(|_| file::take(rest).map(u64::from_le_bytes)).collect();
    Some(Some(Histogram::of_parts(shift, counts?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts are added up, and a run that goes on adds to what it has read.
    #[test]
    fn more_counts_than_distances_are_refused() {
        let stored = |count: u64| {
            let mut counts = vec![0; Histogram::CLASSES];
            counts[7] = count;
            let summary = Summary { reached: 3, farthest: 7, sum: 21 };
            Stored { summaries: vec![Some(summary), None], histogram: Histogram::of_parts(0, counts) }
        };
        let read = |stored: &Stored| decoded(&encoded(Fingerprint::NEW, stored), Fingerprint::NEW, 2, true);
        assert_eq!(read(&stored(3)).as_ref(), Ok(&stored(3)));
        for count in [4, u64::MAX] {
            let what = read(&stored(count)).unwrap_err();
            assert_eq!(what, "more distances are counted than there are nodes reached");
        }
    }
}
