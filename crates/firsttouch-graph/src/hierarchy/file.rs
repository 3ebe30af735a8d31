//! Files that are there whole or not at all, and that tell when they were changed.

use super::HierarchyError;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Writes a file of ours: what it is, its contents, and a sum over both. Whoever reads the path sees the old file until the
/// new one is whole and on the disk.
pub(super) fn write(path: &Path, magic: [u8; 8], contents: &[u8]) -> Result<(), HierarchyError> {
    let failed = |source| HierarchyError::File { path: path.to_owned(), source };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let mut file = tempfile::NamedTempFile::new_in(&folder).map_err(failed)?;
    let mut whole = Vec::with_capacity(contents.len() + 12);
    whole.extend_from_slice(&magic);
    whole.extend_from_slice(contents);
    whole.extend_from_slice(&crc32fast::hash(&whole).to_le_bytes());
    file.write_all(&whole).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    // The name is on the disk when the folder is.
    std::fs::File::open(&folder).and_then(|folder| folder.sync_all()).map_err(failed)
}

/// The contents of a file of ours; `None` if there is none.
pub(super) fn read(path: &Path, magic: [u8; 8], most: u64) -> Result<Option<Vec<u8>>, HierarchyError> {
    let wrong = |what| HierarchyError::Content { path: path.to_owned(), what };
    let failed = |source| HierarchyError::File { path: path.to_owned(), source };
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
pub(super) fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*first)
}
