//! Recorded machines in an archive: a tar of `/proc` and `/sys`, or of answers of CPUID, plain or compressed by gzip, bzip2 or xz.
//!
//! The archive is unpacked into memory. Invariant: whatever it holds, nothing is written, at most [`MOST_BYTES`] of files and as
//! many of their paths are kept beside a dictionary of [`MOST_DICTIONARY_BYTES`], and one that names a place outside itself is
//! refused as a whole.

use super::no_machine::{ArchiveError, MOST_BYTES, MOST_DICTIONARY_BYTES, MOST_ENTRIES, name};
use super::recorded::{self, Recording};
use firsttouch_linux::root::Root;
use firsttouch_linux::tree::Tree;
use std::io::{self, BufRead, Read};
use std::path::{Component, Path, PathBuf};
use tar::{Archive, EntryType};

/// What headers and padding come to on top of that, at most.
const MOST_HEADER_BYTES: u64 = 1 << 30;
const BESIDE_DICTIONARY_BYTES: u32 = 1 << 20;
/// The longest beginning that tells what a file is.
pub(super) const MAGIC: usize = 512;

/// How a file begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    Plain,
    Gzip,
    Bzip2,
    Xz,
}

/// What kind of archive begins like this; `None` for none.
pub(super) fn packing(beginning: &[u8]) -> Option<Packing> {
    let starts = |magic: &[u8]| beginning.starts_with(magic);
    match () {
        () if starts(b"BZh") => Some(Packing::Bzip2),
        () if starts(&[0x1f, 0x8b]) => Some(Packing::Gzip),
        () if starts(b"\xfd7zXZ\0") => Some(Packing::Xz),
        () if beginning.get(257..262) == Some(b"ustar") => Some(Packing::Plain),
        () => None,
    }
}

/// Unpacks an archive into memory and finds the machine in it; `path` is what it came from, `wanted` the folder of the machine
/// where it was named.
pub(super) fn unpack(
    path: &Path,
    stream: impl BufRead,
    packing: Packing,
    wanted: Option<&Path>,
) -> Result<(Root, Recording), ArchiveError> {
    let wanted = wanted.map(inside).transpose()?;
    let most_kib = (MOST_DICTIONARY_BYTES + BESIDE_DICTIONARY_BYTES) / 1024;
    let mut unpacked: Box<dyn Read + '_> = match packing {
        Packing::Plain => Box::new(stream),
        Packing::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(stream)),
        Packing::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(stream)),
        Packing::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(stream, true, most_kib)),
    };
    let tree = read(&mut unpacked, MOST_BYTES).map_err(|error| match error {
        ArchiveError::Damaged(source)
            if packing == Packing::Xz && source.kind() == io::ErrorKind::OutOfMemory =>
        {
            ArchiveError::Dictionary
        }
        error => error,
    })?;
    let (top, recording) = recorded::choose(&tree, wanted.as_deref())?;
    let path = match wanted {
        Some(_) => PathBuf::from(format!("{}:{}", path.display(), name(&top))),
        None => path.to_owned(),
    };
    let tree = tree.below(&top).ok_or(ArchiveError::NotAMachine)?;
    Ok((Root::of_tree(path, tree), recording))
}

/// Reads an archive that holds at most so many bytes in its files.
fn read(stream: &mut dyn Read, most_bytes: u64) -> Result<Tree, ArchiveError> {
    let mut archive = Archive::new(stream.take(most_bytes + MOST_HEADER_BYTES));
    let mut tree = Tree::new();
    let mut left = most_bytes;
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = inside(&entry.path()?)?;
        if tree.len() >= MOST_ENTRIES || tree.path_bytes() as u64 > MOST_BYTES {
            return Err(ArchiveError::TooMuch);
        }
        let kept = match entry.header().entry_type() {
            EntryType::Directory => {
                tree.add_folder(&path)?;
                None
            }
            EntryType::Symlink => {
                if let Some(target) = entry.link_name()? {
                    // Links may point anywhere: they are followed within the recording only.
                    tree.add_link(&path, &target)?;
                }
                None
            }
            EntryType::Link => {
                let target = entry.link_name()?.map(|target| inside(&target)).transpose()?;
                target.and_then(|target| tree.file(&target)).map(<[u8]>::to_vec)
            }
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                let mut bytes = Vec::new();
                entry.by_ref().take(left.saturating_add(1)).read_to_end(&mut bytes)?;
                // The library takes the end of the archive for the end of the file.
                if (bytes.len() as u64) < entry.size().min(left) {
                    return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
                }
                Some(bytes)
            }
            // Devices and pipes have nothing to say.
            _ => None,
        };
        if let Some(bytes) = kept {
            left = left.checked_sub(bytes.len() as u64).ok_or(ArchiveError::TooMuch)?;
            tree.add_file(&path, bytes)?;
        }
    }
    Ok(tree)
}

/// A path below the top of the archive.
fn inside(path: &Path) -> Result<PathBuf, ArchiveError> {
    let mut inside = PathBuf::new();
    for step in path.components() {
        match step {
            Component::Normal(name) => inside.push(name),
            Component::CurDir => {}
            Component::RootDir | Component::ParentDir | Component::Prefix(_) => {
                return Err(ArchiveError::Outside(path.to_owned()));
            }
        }
    }
    Ok(inside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tar::{Builder, Header};

    fn archive(entries: &[(EntryType, &str, &str)]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (kind, path, contents) in entries {
            let mut header = Header::new_gnu();
            header.set_entry_type(*kind);
            // As bytes: the library itself refuses to write paths like these.
            header.as_gnu_mut().unwrap().name[..path.len()].copy_from_slice(path.as_bytes());
            let file = *kind == EntryType::Regular;
            header.set_size(if file { contents.len() as u64 } else { 0 });
            if !file {
                header.as_gnu_mut().unwrap().linkname[..contents.len()].copy_from_slice(contents.as_bytes());
            }
            header.set_cksum();
            builder.append(&header, if file { contents.as_bytes() } else { b"" }).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn refusal(entries: &[(EntryType, &str, &str)]) -> ArchiveError {
        read(&mut archive(entries).as_slice(), 1 << 20).unwrap_err()
    }

    #[test]
    fn places_outside_are_refused() {
        for path in ["/etc/passwd", "../up", "a/../../up", "./../up"] {
            let error = refusal(&[(EntryType::Regular, path, "x")]);
            assert!(
                matches!(&error, ArchiveError::Outside(named) if named == Path::new(path)),
                "{path}: {error}"
            );
        }
        let error = refusal(&[(EntryType::Link, "a", "/etc/passwd")]);
        assert!(matches!(error, ArchiveError::Outside(_)), "{error}");
    }

    #[test]
    fn links_reach_the_recording_only() {
        let tree = read(
            &mut archive(&[
                (EntryType::Symlink, "m/sys/out", "/../../etc"),
                (EntryType::Regular, "m/sys/out/passwd", "through the link"),
                (EntryType::Regular, "m/proc/cpuinfo", "one"),
                (EntryType::Link, "m/proc/same", "m/proc/cpuinfo"),
            ])
            .as_slice(),
            1 << 20,
        )
        .unwrap();
        let root = Root::of_tree("a.tar", tree.below(Path::new("m")).unwrap());
        assert_eq!(root.read("sys/out/passwd").unwrap(), None);
        assert_eq!(root.read("proc/same").unwrap().as_deref(), Some("one"));
    }

    #[test]
    fn what_is_too_large_is_refused_however_it_is_packed() {
        let large = "x".repeat(600);
        let entries = [(EntryType::Regular, "a", large.as_str()), (EntryType::Regular, "b", large.as_str())];
        assert!(matches!(read(&mut archive(&entries).as_slice(), 1000), Err(ArchiveError::TooMuch)));
        assert_eq!(read(&mut archive(&entries).as_slice(), 10_000).unwrap().len(), 3);
        let copies = [entries[0], (EntryType::Link, "b", "a"), (EntryType::Link, "c", "a")];
        assert!(matches!(read(&mut archive(&copies).as_slice(), 1500), Err(ArchiveError::TooMuch)));
    }

    #[test]
    fn packings_are_known_by_their_beginning() {
        assert_eq!(packing(b"BZh91AY"), Some(Packing::Bzip2));
        assert_eq!(packing(&archive(&[(EntryType::Regular, "a", "")])), Some(Packing::Plain));
        assert_eq!(packing(b"<?xml"), None);
        assert_eq!(packing(b""), None);
    }
}
