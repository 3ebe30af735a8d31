//! How far a long run has come, in a file.

use super::fingerprint::Fingerprint;
use super::summary::Summary;
use super::{HierarchyError, file};
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

/// Begins such a file; the last byte is the version of what follows: the fingerprint of what is asked, the number of
/// sources, then for each source whether it is done, and if so nodes reached (4 bytes), eccentricity (8) and sum (16), all
/// of them little-endian.
const MAGIC: [u8; 8] = *b"ftapsp \x01";
/// The most bytes of a source.
const SOURCE_BYTES: u64 = 1 + 4 + 8 + 16;

/// What is known of each source.
pub(super) fn write(
    path: &Path,
    question: Fingerprint,
    known: &[Option<Summary>],
) -> Result<(), HierarchyError> {
    let mut contents = Vec::with_capacity(16 + known.len() * SOURCE_BYTES as usize);
    contents.extend_from_slice(&question.value().to_le_bytes());
    contents.extend_from_slice(&(known.len() as u64).to_le_bytes());
    for summary in known {
        contents.push(u8::from(summary.is_some()));
        if let Some(summary) = summary {
            contents.extend_from_slice(&summary.reached.to_le_bytes());
            contents.extend_from_slice(&summary.eccentricity.to_le_bytes());
            contents.extend_from_slice(&summary.sum.to_le_bytes());
        }
    }
    file::write(path, MAGIC, &contents)
}

/// What was known when the file was written; `None` if there is none.
pub(super) fn read(
    path: &Path,
    question: Fingerprint,
    sources: usize,
) -> Result<Option<Vec<Option<Summary>>>, HierarchyError> {
    let wrong = |what| HierarchyError::Content { path: path.to_owned(), what };
    let Some(contents) = file::read(path, MAGIC, 16 + sources as u64 * SOURCE_BYTES)? else {
        return Ok(None);
    };
    let mut rest = &contents[..];
    let mut number = || file::take(&mut rest).map(u64::from_le_bytes).ok_or(wrong("cut off"));
    if number()? != question.value() || number()? != sources as u64 {
        return Err(wrong("the checkpoint of another run: another graph, other weights or other sources"));
    }
    let known: Option<Vec<Option<Summary>>> = (0..sources).map(|_| source(&mut rest)).collect();
    known.filter(|_| rest.is_empty()).map(Some).ok_or(wrong("cut off"))
}

/// The next source of the file; `None` where the file ends.
fn source(rest: &mut &[u8]) -> Option<Option<Summary>> {
    let [done] = file::take(rest)?;
    if done == 0 {
        return Some(None);
    }
    Some(Some(Summary {
        reached: u32::from_le_bytes(file::take(rest)?),
        eccentricity: u64::from_le_bytes(file::take(rest)?),
        sum: u128::from_le_bytes(file::take(rest)?),
    }))
}
