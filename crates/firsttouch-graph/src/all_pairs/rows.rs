//! Rows of text that a chunk of a shared run comes to, in a file that is there whole or not at all.
//!
//! They can be far longer than memory, so they are written and read as they come. The file begins with what it is and ends with
//! a CRC-32 of all before.

use crate::file::FileError;
use crc32fast::Hasher;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Begins such a file; the last byte is the version of what follows.
const MAGIC: [u8; 8] = *b"ftrows \x01";
const SUM_BYTES: u64 = 4;

/// The rows of a chunk, as they are written.
#[derive(Debug)]
pub struct ChunkRows {
    path: PathBuf,
    file: BufWriter<NamedTempFile>,
    sum: Hasher,
}

impl ChunkRows {
    pub(super) fn create(path: PathBuf, folder: &Path) -> Result<ChunkRows, FileError> {
        let file = NamedTempFile::new_in(folder).map_err(|source| FileError::access(&path, source))?;
        let mut rows = ChunkRows { file: BufWriter::new(file), sum: Hasher::new(), path };
        rows.write_all(&MAGIC).map_err(|source| FileError::access(&rows.path, source))?;
        Ok(rows)
    }

    /// Ends the file, which is on the disk from now on.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn finish(self) -> Result<(), FileError> {
        let ChunkRows { path, mut file, sum } = self;
        let end = || -> io::Result<NamedTempFile> {
            file.write_all(&sum.finalize().to_le_bytes())?;
            let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.as_file().sync_all()?;
            Ok(file)
        };
        let ended = end().and_then(|file| file.persist(&path).map_err(|error| error.error));
        ended.map(drop).map_err(|source| FileError::access(&path, source))
    }
}

impl Write for ChunkRows {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Why rows were not copied.
#[derive(Debug, thiserror::Error)]
pub enum RowsError {
    /// Where they come from.
    #[error(transparent)]
    From(#[from] FileError),
    /// Where they go to.
    #[error("the rows cannot be written: {0}")]
    To(io::Error),
}

impl RowsError {
    /// What would mend it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            RowsError::From(FileError::Content { .. }) => {
                "remove this file and the .part beside it, and run the same command again: it does what is missing"
            }
            RowsError::From(error) => error.hint(),
            RowsError::To(_) => "see that there is room, and that the file may be written to",
        }
    }
}

/// Copies the rows of such a file.
pub(super) fn copy(path: &Path, to: &mut impl Write) -> Result<(), RowsError> {
    let failed = |source| FileError::access(path, source);
    let wrong = |what| FileError::Content { path: path.to_owned(), what };
    let length = fs::metadata(path).map_err(failed)?.len();
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    let mut magic = [0; MAGIC.len()];
    let text = length.checked_sub(MAGIC.len() as u64 + SUM_BYTES).ok_or(wrong("cut off"))?;
    file.read_exact(&mut magic).map_err(failed)?;
    if magic != MAGIC {
        return Err(wrong("not a file of this kind, or of another version").into());
    }
    let mut sum = Hasher::new();
    sum.update(&magic);
    let (mut left, mut piece) = (text, vec![0; 1 << 16]);
    while left > 0 {
        let some = left.min(piece.len() as u64) as usize;
        file.read_exact(&mut piece[..some]).map_err(failed)?;
        sum.update(&piece[..some]);
        to.write_all(&piece[..some]).map_err(RowsError::To)?;
        left -= some as u64;
    }
    let mut wanted = [0; SUM_BYTES as usize];
    file.read_exact(&mut wanted).map_err(failed)?;
    if sum.finalize() != u32::from_le_bytes(wanted) {
        return Err(wrong("cut off or changed: its checksum is another").into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        let text = "1,2,3\n".repeat(50_000);
        let mut rows = ChunkRows::create(path.clone(), folder.path()).unwrap();
        rows.write_all(text.as_bytes()).unwrap();
        assert!(!path.exists());
        rows.finish().unwrap();
        let mut found = Vec::new();
        copy(&path, &mut found).unwrap();
        assert_eq!(found, text.as_bytes());
        let mut bytes = fs::read(&path).unwrap();
        bytes[100_000] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let error = copy(&path, &mut io::sink()).unwrap_err();
        assert!(error.to_string().contains("checksum"), "{error}");
        assert!(error.hint().contains(".part"));
        fs::write(&path, &bytes[..5]).unwrap();
        assert!(copy(&path, &mut io::sink()).unwrap_err().to_string().contains("cut off"));
    }
}
