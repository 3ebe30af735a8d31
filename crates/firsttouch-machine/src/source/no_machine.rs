//! Why an archive is no recorded machine, and what one may hold.

use firsttouch_linux::tree::TooLong;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Files in all; the copies of `/sys` of large machines have some ten megabytes.
pub(super) const MOST_BYTES: u64 = 512 << 20;
/// The dictionary of `xz -9`. The unpacker keeps as much of what it unpacked, and some KiB beside it.
pub(super) const MOST_DICTIONARY_BYTES: u32 = 64 << 20;
/// Entries in all.
pub(super) const MOST_ENTRIES: usize = 1 << 20;

/// An archive that is no recorded machine.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The file cannot be read, or is damaged.
    #[error("it cannot be unpacked")]
    Damaged(#[from] io::Error),
    /// An entry with an absolute path, or one with `..` in it.
    #[error("it names a place outside itself ({0}) and is refused")]
    Outside(PathBuf),
    /// A path that no file of `/proc` and `/sys` has.
    #[error("it is refused: {0}")]
    Path(#[from] TooLong),
    /// More than a machine has.
    #[error("it holds more than {} MiB or {MOST_ENTRIES} entries, which no machine does", MOST_BYTES >> 20)]
    TooMuch,
    /// Packed so that unpacking takes more memory than it may.
    #[error(
        "unpacking it takes a dictionary of more than {} MiB; pack it anew: unxz FILE, then xz -9 FILE",
        MOST_DICTIONARY_BYTES >> 20
    )]
    Dictionary,
    /// There is no `proc` and no `sys` in it.
    #[error("it holds neither `proc` nor `sys`, nor answers of CPUID: not a recorded machine")]
    NotAMachine,
    /// More machines than one, and no word which.
    #[error("it holds {} machines: {}", .0.0.len(), .0)]
    Several(Folders),
    /// Not the machine that was named.
    #[error("it holds no machine {}; it holds {all}", wanted.display())]
    NoSuchMachine {
        /// What was asked for.
        wanted: PathBuf,
        /// What there is.
        all: Folders,
    },
}

/// The folders of an archive that are machines, as messages name them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders(pub Vec<PathBuf>);

impl fmt::Display for Folders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// What a message has room for.
        const SHOWN: usize = 16;
        let names: Vec<String> = self.0.iter().take(SHOWN).map(|folder| name(folder)).collect();
        f.write_str(&names.join(", "))?;
        match self.0.len().checked_sub(SHOWN) {
            Some(more) if more > 0 => write!(f, " and {more} more"),
            _ => Ok(()),
        }
    }
}

/// A folder as it is named after the archive.
pub(super) fn name(folder: &Path) -> String {
    if folder.as_os_str().is_empty() { ".".to_owned() } else { folder.display().to_string() }
}
