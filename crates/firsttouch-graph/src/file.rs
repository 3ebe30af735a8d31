//! Files that are there whole or not at all, and that tell when they were changed: indexes, checkpoints, parts of results.

use firsttouch_documents::Replacement;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Why a file that a long computation keeps is not there.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// A file cannot be read or written.
    #[error("{path} cannot be read or written", path = path.display())]
    Access {
        /// Which file.
        path: PathBuf,
        /// What the kernel answered.
        source: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("{path}: {what}", path = path.display())]
    Content {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The result does not fit on the disk.
    #[error("{path}: {needed} bytes are needed, {free} are free", path = path.display())]
    NoSpace {
        /// Which file.
        path: PathBuf,
        /// The size of the result.
        needed: u64,
        /// What the file system has.
        free: u64,
    },
}

impl FileError {
    /// A file that the kernel does not let be read or written.
    pub(crate) fn access(path: &Path, source: std::io::Error) -> FileError {
        FileError::Access { path: path.to_owned(), source }
    }

    /// What would mend it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            FileError::Access { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => {
                "the disk is full (df): make room, or name a file on another"
            }
            FileError::Access { source, .. } if source.kind() == std::io::ErrorKind::FileTooLarge => {
                "files may not become that large: raise the limit (ulimit -f), or name one on another file system"
            }
            FileError::Access { .. } => "see that the folder exists and may be written to",
            FileError::Content { .. } => {
                "name another file; one that an earlier run kept here is made anew where it is removed"
            }
            FileError::NoSpace { .. } => {
                "another disk, or sums and greatest distances (--reduce) in place of all distances"
            }
        }
    }
}

/// Writes a file of ours: what it is, its contents, and a sum over both. Whoever reads the path sees the old file until the
/// new one is whole and on the disk.
pub(crate) fn write(path: &Path, magic: [u8; 8], contents: &[u8]) -> Result<(), FileError> {
    put(path, magic, contents, true)
}

/// The same, unless there is a file: that one stays, and whoever else writes at this moment sees one of the two.
pub(crate) fn write_new(path: &Path, magic: [u8; 8], contents: &[u8]) -> Result<(), FileError> {
    put(path, magic, contents, false)
}

fn put(path: &Path, magic: [u8; 8], contents: &[u8], replaces: bool) -> Result<(), FileError> {
    let failed = |source| FileError::access(path, source);
    let mut whole = Vec::with_capacity(contents.len() + 12);
    whole.extend_from_slice(&magic);
    whole.extend_from_slice(contents);
    whole.extend_from_slice(&crc32fast::hash(&whole).to_le_bytes());
    let mut beside = match Replacement::of(path).map_err(failed)? {
        Replacement::Stream(mut stream) => return stream.write_all(&whole).map_err(failed),
        Replacement::Beside(beside) => beside,
    };
    beside.file().write_all(&whole).and_then(|()| beside.file().sync_all()).map_err(failed)?;
    let folder = beside.folder().to_owned();
    match beside.put(replaces) {
        Err(error) if !replaces && error.kind() == std::io::ErrorKind::AlreadyExists => return Ok(()),
        put => put.map_err(failed)?,
    }
    // The name is on the disk when the folder is.
    std::fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)
}

/// The contents of a file of ours; `None` if there is none.
pub(crate) fn read(path: &Path, magic: [u8; 8], most: u64) -> Result<Option<Vec<u8>>, FileError> {
    let wrong = |what| FileError::Content { path: path.to_owned(), what };
    let failed = |source| FileError::access(path, source);
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mut whole = Vec::new();
    // One byte more tells that there are more than there may be.
    file.take(most.saturating_add(13)).read_to_end(&mut whole).map_err(failed)?;
    if !whole.starts_with(&magic) {
        return Err(wrong("not a file of this kind, or of another version"));
    }
    let Some((body, sum)) = whole.split_last_chunk::<4>().filter(|(body, _)| body.len() >= magic.len())
    else {
        return Err(wrong("cut off"));
    };
    if body.len() as u64 > most.saturating_add(8) {
        return Err(wrong("longer than it can be here: it belongs to another graph or another run"));
    }
    if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
        return Err(wrong("cut off or changed: its checksum is another"));
    }
    Ok(Some(body[magic.len()..].to_vec()))
}

/// Takes numbers off the front.
pub(crate) fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_as_one_and_once() {
        let source = std::io::ErrorKind::StorageFull.into();
        let error = FileError::Access { path: PathBuf::from("index"), source };
        assert!(error.hint().contains("full") && !error.to_string().contains("No space"), "{error}");
    }
}
