//! All distances in a file, a row for each source.
//!
//! The file is one of NumPy's (`.npy`, version 1.0): a text header of 128 bytes, then rows of little-endian numbers of 32
//! bits, or of 64 where distances need them; the greatest number where no path leads. `numpy.load(path, mmap_mode="r")` maps
//! it.

use crate::file::FileError;
use crate::rows::{Graph, UNREACHED};
use crate::search::Distances;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const HEADER_BYTES: u64 = 128;

/// Such a file, of which rows are written in any order.
#[derive(Debug)]
pub(super) struct Matrix {
    path: PathBuf,
    file: File,
    row_bytes: u64,
    wide: bool,
}

impl Matrix {
    /// The bytes of such a file.
    pub(super) fn bytes(rows: usize, columns: usize, wide: bool) -> u64 {
        let number = if wide { 8 } else { 4 };
        (rows as u64).saturating_mul(columns as u64).saturating_mul(number).saturating_add(HEADER_BYTES)
    }

    /// Creates the file, or with `resume` opens it where it lies, after a look at the free space.
    pub(super) fn create(
        path: &Path,
        rows: usize,
        columns: usize,
        wide: bool,
        resume: bool,
    ) -> Result<Matrix, FileError> {
        let failed = |source| FileError::access(path, source);
        let needed = Matrix::bytes(rows, columns, wide);
        let header = header(rows, columns, wide);
        let mut options = File::options();
        let file =
            options.read(true).write(true).create(!resume).truncate(!resume).open(path).map_err(failed)?;
        if resume {
            let mut there = [0; HEADER_BYTES as usize];
            let same = file.read_exact_at(&mut there, 0).is_ok() && there == header;
            if !same || file.metadata().map_err(failed)?.len() != needed {
                let what = "not the matrix that the checkpoint goes with";
                return Err(FileError::Content { path: path.to_owned(), what });
            }
        } else {
            if let Err(error) = room(path, &file, needed) {
                drop(file);
                // Empty, and ours.
                let _ = std::fs::remove_file(path);
                return Err(error);
            }
            file.set_len(needed).and_then(|()| file.write_all_at(&header, 0)).map_err(failed)?;
        }
        Ok(Matrix {
            path: path.to_owned(),
            file,
            row_bytes: (needed - HEADER_BYTES) / rows.max(1) as u64,
            wide,
        })
    }

    /// Writes a row. Distances of 64 bits in a file of 32 fit: the bound of the graph says so.
    pub(super) fn put(&self, row: usize, values: Distances<'_>) -> Result<(), FileError> {
        let narrow = |value: &u64| u32::try_from(*value).unwrap_or(UNREACHED);
        let wide = |value: &u32| if *value == UNREACHED { u64::MAX } else { u64::from(*value) };
        let bytes: Vec<u8> = match (values, self.wide) {
            (Distances::Narrow(values), false) => {
                values.iter().flat_map(|value| value.to_le_bytes()).collect()
            }
            (Distances::Narrow(values), true) => {
                values.iter().flat_map(|value| wide(value).to_le_bytes()).collect()
            }
            (Distances::Wide(values), false) => {
                values.iter().flat_map(|value| narrow(value).to_le_bytes()).collect()
            }
            (Distances::Wide(values), true) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        };
        self.file
            .write_all_at(&bytes, HEADER_BYTES + row as u64 * self.row_bytes)
            .map_err(|source| self.failed(source))
    }

    /// Returns when what was written is on the disk.
    pub(super) fn sync(&self) -> Result<(), FileError> {
        self.file.sync_data().map_err(|source| self.failed(source))
    }

    fn failed(&self, source: std::io::Error) -> FileError {
        FileError::access(&self.path, source)
    }
}

/// Looks whether the distances from so many sources to so many nodes or targets of a graph fit on the disk of this file, whose
/// folder must be there; answers how many bytes they are. A run looks itself; but then a hierarchy may have been made in vain.
///
/// # Errors
///
/// If they do not fit, or the folder cannot be opened.
pub fn room_for_matrix(path: &Path, graph: &Graph, sources: usize, columns: usize) -> Result<u64, FileError> {
    let needed = Matrix::bytes(sources, columns, !graph.fits_32_bits());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = File::open(folder).map_err(|source| FileError::access(path, source))?;
    room(path, &folder, needed).map(|()| needed)
}

/// Whether the file system of a file or folder has room.
fn room(path: &Path, on: &File, needed: u64) -> Result<(), FileError> {
    let system = rustix::fs::fstatvfs(on).map_err(|error| FileError::access(path, error.into()))?;
    let free = system.f_bavail.saturating_mul(system.f_frsize);
    if free < needed {
        return Err(FileError::NoSpace { path: path.to_owned(), needed, free });
    }
    Ok(())
}

fn header(rows: usize, columns: usize, wide: bool) -> [u8; HEADER_BYTES as usize] {
    let width = if wide { 8 } else { 4 };
    let text = format!("{{'descr': '<u{width}', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let mut header = [b' '; HEADER_BYTES as usize];
    header[..8].copy_from_slice(b"\x93NUMPY\x01\x00");
    header[8..10].copy_from_slice(&(HEADER_BYTES as u16 - 10).to_le_bytes());
    header[10..10 + text.len()].copy_from_slice(text.as_bytes());
    header[HEADER_BYTES as usize - 1] = b'\n';
    header
}
