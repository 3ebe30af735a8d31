//! Where a machine comes from: the live one, a recording, a topology of hwloc, or a line that describes one.

mod archive;
mod cpuid;
mod hwloc_xml;
mod no_machine;
mod recorded;
mod synthetic;
mod synthetic_machine;
mod xml;

pub use no_machine::{ArchiveError, Folders};
pub use synthetic::{Rest, SyntheticError};
pub use xml::XmlError;

use crate::{Machine, MachineError, Root};
use recorded::Recording;
use std::borrow::Cow;
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
    /// A machine was named in a file that holds one machine only, and no folders.
    #[error("{} is no archive: there is no machine {} in it", path.display(), machine.display())]
    NotInside {
        /// The file.
        path: PathBuf,
        /// What was asked for in it.
        machine: PathBuf,
    },
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
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        Some(match self {
            SourceError::NoFile(_) | SourceError::Synthetic(_) => Cow::Borrowed(
                "name a folder, an archive (.tar, .tar.gz, .tar.bz2, .tar.xz), hwloc's XML, or describe the machine: \
                 'pack:2 [numa] l3:1 core:4 pu:2'",
            ),
            SourceError::OtherFile(_) => {
                Cow::Borrowed("record a machine by hwloc-gather-topology, or save one by lstopo FILE.xml")
            }
            SourceError::Archive { source: ArchiveError::Path(_), .. } => {
                Cow::Borrowed("record the machine anew: hwloc-gather-topology NAME writes NAME.tar.bz2")
            }
            SourceError::Archive {
                path,
                source: ArchiveError::Several(all) | ArchiveError::NoSuchMachine { all, .. },
            } => Cow::Owned(format!(
                "name one of them behind the file: {}:{}",
                path.display(),
                no_machine::name(all.0.first()?)
            )),
            SourceError::NotInside { path, .. } => {
                Cow::Owned(format!("name the file alone: {}", path.display()))
            }
            _ => return None,
        })
    }
}

/// Where a machine comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Copies of `/proc` and `/sys` below a root, or the live ones.
    Files(Root),
    /// Answers of the CPUID instruction, the files `pu0`, `pu1`, … of `hwloc-gather-cpuid` below a root.
    Cpuid(Root),
    /// The text of a topology of hwloc, and the file it is from.
    HwlocXml(PathBuf, String),
    /// A line in the grammar of hwloc's synthetic topologies.
    Synthetic(String),
}

impl Source {
    /// Finds out what a text names: a folder with `proc` and `sys` in it (`/` is the live machine) or with answers of CPUID, an
    /// archive of one, `ARCHIVE:FOLDER` for one of several in an archive, a file of hwloc's XML, or, where there is no such
    /// file, a description such as `pack:2 [numa] core:4 pu:2`.
    ///
    /// FOLDER is the path of the machine in the archive, or the end of that path where no other machine's path ends so.
    pub fn named(text: &str) -> Result<Source, SourceError> {
        let path = Path::new(text);
        if path == Path::new("/") {
            return Ok(Source::Files(Root::live()));
        }
        if path.is_dir() {
            let root = Root::at(path);
            // Copies of /proc and /sys say more, where a folder has both.
            let files = ["proc", "sys"].iter().any(|name| path.join(name).exists());
            let cpuid = !files && path.join(recorded::CPUID_MARK).is_file();
            return Ok(if cpuid { Source::Cpuid(root) } else { Source::Files(root) });
        }
        if path.exists() {
            return Source::of_file(path, None);
        }
        let mut splits = text.rmatch_indices(':').map(|(at, _)| (&text[..at], &text[at + 1..]));
        if let Some((file, machine)) = splits.find(|(file, _)| is_path(file) && Path::new(file).is_file()) {
            return Source::of_file(Path::new(file), Some(Path::new(machine)));
        }
        let mut words = text.split(':').take(1).chain([text]);
        if words.any(is_path) {
            Err(SourceError::NoFile(path.to_owned()))
        } else {
            Ok(Source::Synthetic(text.to_owned()))
        }
    }

    fn of_file(path: &Path, machine: Option<&Path>) -> Result<Source, SourceError> {
        let file =
            File::open(path).map_err(|source| SourceError::Unreadable { path: path.to_owned(), source })?;
        Source::of_stream(path, machine, file)
    }

    /// Finds out what a stream holds by how it begins, an archive or hwloc's XML; `path` is what it came from, `machine` the folder
    /// of a machine in an archive as in [`Source::named`].
    pub fn of_stream(
        path: &Path,
        machine: Option<&Path>,
        mut stream: impl Read,
    ) -> Result<Source, SourceError> {
        let unreadable = |source| SourceError::Unreadable { path: path.to_owned(), source };
        let mut beginning = Vec::new();
        stream.by_ref().take(archive::MAGIC as u64).read_to_end(&mut beginning).map_err(unreadable)?;
        let packing = archive::packing(&beginning);
        let first = beginning.iter().find(|byte| !byte.is_ascii_whitespace() && byte.is_ascii()).copied();
        let stream = BufReader::new(Cursor::new(beginning).chain(stream));
        if let Some(packing) = packing {
            return match archive::unpack(path, stream, packing, machine) {
                Ok((root, Recording::Files)) => Ok(Source::Files(root)),
                Ok((root, Recording::Cpuid)) => Ok(Source::Cpuid(root)),
                Err(source) => Err(SourceError::Archive { path: path.to_owned(), source }),
            };
        }
        if first != Some(b'<') {
            return Err(SourceError::OtherFile(path.to_owned()));
        }
        if let Some(machine) = machine {
            return Err(SourceError::NotInside { path: path.to_owned(), machine: machine.to_owned() });
        }
        let mut text = String::new();
        stream.take(MOST_XML_BYTES).read_to_string(&mut text).map_err(unreadable)?;
        Ok(Source::HwlocXml(path.to_owned(), text))
    }

    /// The machine that is there.
    pub fn machine(&self) -> Result<Machine, SourceError> {
        match self {
            Source::Files(root) => Ok(Machine::examine(root)?),
            Source::Cpuid(root) => Ok(cpuid::machine(root)?),
            Source::HwlocXml(path, text) => {
                hwloc_xml::machine(text).map_err(|source| SourceError::Xml { path: path.clone(), source })
            }
            Source::Synthetic(text) => Ok(synthetic_machine::machine(text)?),
        }
    }
}

/// Whether a text that names nothing here was meant to name a file: no description has a slash in it, and none ends like these.
fn is_path(text: &str) -> bool {
    const ENDINGS: [&str; 6] = ["xml", "tar", "bz2", "gz", "xz", "tgz"];
    let end = Path::new(text).extension();
    text.contains('/') || end.is_some_and(|end| ENDINGS.iter().any(|known| end == *known))
}

impl Machine {
    /// The machine that a text names, as [`Source::named`] understands it.
    pub fn from_source(text: &str) -> Result<Machine, SourceError> {
        Source::named(text)?.machine()
    }
}
