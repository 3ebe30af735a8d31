//! Where a machine comes from: the live one, a recording, a topology of hwloc, or a line that describes one.

mod archive;
mod hwloc_xml;
mod synthetic;
mod synthetic_machine;
mod xml;

pub use archive::ArchiveError;
pub use synthetic::{Rest, SyntheticError};
pub use xml::XmlError;

use crate::{Machine, MachineError, Root};
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

/// The longest topology that is read.
const MOST_XML_BYTES: u64 = 64 << 20;

/// A machine that cannot be had from what was named.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Neither a file nor a description.
    #[error("there is no file or folder {}", .0.display())]
    NoFile(PathBuf),
    /// The file is there and cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// What was asked for.
        path: PathBuf,
        /// What the kernel answered.
        source: io::Error,
    },
    /// A file of another kind.
    #[error("{} is neither an archive of /proc and /sys nor XML of hwloc", .0.display())]
    OtherFile(PathBuf),
    /// An archive that is no recorded machine.
    #[error("{}", path.display())]
    Archive {
        /// What was asked for.
        path: PathBuf,
        /// What is wrong with it.
        source: ArchiveError,
    },
    /// XML that is not a topology.
    #[error("{}", path.display())]
    Xml {
        /// What was asked for.
        path: PathBuf,
        /// What is wrong with it.
        source: XmlError,
    },
    /// A description that is not understood.
    #[error("no file of this name, and no description of a machine")]
    Synthetic(#[from] SyntheticError),
    /// A folder that is no machine.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

impl SourceError {
    /// What would mend it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            SourceError::NoFile(_) | SourceError::Synthetic(_) => Some(
                "name a folder, an archive (.tar, .tar.gz, .tar.bz2, .tar.xz), hwloc's XML, or describe the machine: \
                 'pack:2 [numa] l3:1 core:4 pu:2'",
            ),
            SourceError::OtherFile(_) => {
                Some("record a machine by hwloc-gather-topology, or save one by lstopo FILE.xml")
            }
            SourceError::Archive { source: ArchiveError::Path(_), .. } => {
                Some("record the machine anew: hwloc-gather-topology NAME writes NAME.tar.bz2")
            }
            _ => None,
        }
    }
}

/// Where a machine comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Copies of `/proc` and `/sys` below a root, or the live ones.
    Files(Root),
    /// The text of a topology of hwloc, and the file it is from.
    HwlocXml(PathBuf, String),
    /// A line in the grammar of hwloc's synthetic topologies.
    Synthetic(String),
}

impl Source {
    /// Finds out what a text names: a folder with `proc` and `sys` in it (`/` is the live machine), an archive of one,
    /// a file of hwloc's XML, or, where there is no such file, a description such as `pack:2 [numa] core:4 pu:2`.
    pub fn named(text: &str) -> Result<Source, SourceError> {
        let path = Path::new(text);
        if path == Path::new("/") {
            return Ok(Source::Files(Root::live()));
        }
        if path.is_dir() {
            return Ok(Source::Files(Root::at(path)));
        }
        if !path.exists() {
            // No description has a slash in it, and none ends like these.
            let endings = ["xml", "tar", "bz2", "gz", "xz", "tgz"];
            let a_path = text.contains('/')
                || path.extension().is_some_and(|end| endings.iter().any(|known| end == *known));
            return if a_path {
                Err(SourceError::NoFile(path.to_owned()))
            } else {
                Ok(Source::Synthetic(text.to_owned()))
            };
        }
        let file =
            File::open(path).map_err(|source| SourceError::Unreadable { path: path.to_owned(), source })?;
        Source::of_stream(path, file)
    }

    /// Finds out what a stream holds by how it begins, an archive or hwloc's XML; `path` is what it came from.
    pub fn of_stream(path: &Path, mut stream: impl Read) -> Result<Source, SourceError> {
        let unreadable = |source| SourceError::Unreadable { path: path.to_owned(), source };
        let mut beginning = Vec::new();
        stream.by_ref().take(archive::MAGIC as u64).read_to_end(&mut beginning).map_err(unreadable)?;
        let packing = archive::packing(&beginning);
        let first = beginning.iter().find(|byte| !byte.is_ascii_whitespace() && byte.is_ascii()).copied();
        let stream = BufReader::new(Cursor::new(beginning).chain(stream));
        if let Some(packing) = packing {
            let root = archive::unpack(path, stream, packing);
            return root
                .map(Source::Files)
                .map_err(|source| SourceError::Archive { path: path.to_owned(), source });
        }
        if first != Some(b'<') {
            return Err(SourceError::OtherFile(path.to_owned()));
        }
        let mut text = String::new();
        stream.take(MOST_XML_BYTES).read_to_string(&mut text).map_err(unreadable)?;
        Ok(Source::HwlocXml(path.to_owned(), text))
    }

    /// The machine that is there.
    pub fn machine(&self) -> Result<Machine, SourceError> {
        match self {
            Source::Files(root) => Ok(Machine::examine(root)?),
            Source::HwlocXml(path, text) => {
                hwloc_xml::machine(text).map_err(|source| SourceError::Xml { path: path.clone(), source })
            }
            Source::Synthetic(text) => Ok(synthetic_machine::machine(text)?),
        }
    }
}

impl Machine {
    /// The machine that a text names, as [`Source::named`] understands it.
    pub fn from_source(text: &str) -> Result<Machine, SourceError> {
        Source::named(text)?.machine()
    }
}
