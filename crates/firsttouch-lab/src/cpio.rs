//! Writes a file tree as the archive that the kernel unpacks into memory when it starts: `cpio` in its `newc` form
//! (`Documentation/driver-api/early-userspace/buffer-format.rst` of Linux).
//!
//! Not compressed: an emulated processor would take longer to unpack it than the emulator takes to copy it.

use crate::tree::{Entry, Tree};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const DEVICE: u32 = 0o020_000;

/// Writes the archive. Everything in it belongs to root, and has the same age whenever it is written.
pub(crate) fn write(tree: &Tree, output: impl Write) -> io::Result<()> {
    let mut archive = Archive { output, number: 0 };
    for (path, entry) in tree.entries() {
        match entry {
            Entry::Folder => archive.head(path, FOLDER | 0o755, 0, (0, 0))?,
            Entry::Device { major, minor } => archive.head(path, DEVICE | 0o600, 0, (*major, *minor))?,
            Entry::Link { target } => archive.whole(path, LINK | 0o777, target.as_os_str().as_bytes())?,
            Entry::Made { contents, mode } => archive.whole(path, FILE | mode, contents)?,
            Entry::Copy { of, mode, bytes } => {
                archive.head(path, FILE | mode, *bytes, (0, 0))?;
                let copied = io::copy(&mut File::open(of)?.take(*bytes), &mut archive.output)?;
                if copied != *bytes {
                    let why = format!("{} became shorter while it was read", of.display());
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
                }
                archive.pad(*bytes)?;
            }
        }
    }
    archive.head(Path::new("TRAILER!!!"), 0, 0, (0, 0))?;
    archive.output.flush()
}

struct Archive<W: Write> {
    output: W,
    /// Inode number of the last entry: equal numbers would be hard links.
    number: u32,
}

impl<W: Write> Archive<W> {
    fn whole(&mut self, path: &Path, mode: u32, contents: &[u8]) -> io::Result<()> {
        self.head(path, mode, contents.len() as u64, (0, 0))?;
        self.output.write_all(contents)?;
        self.pad(contents.len() as u64)
    }

    fn head(&mut self, path: &Path, mode: u32, bytes: u64, device: (u32, u32)) -> io::Result<()> {
        let too_large = |_| io::Error::new(io::ErrorKind::FileTooLarge, "more than 4 GiB in one file");
        let bytes = u32::try_from(bytes).map_err(too_large)?;
        let name = path.as_os_str().as_bytes();
        self.number += 1;
        let (links, age) = (1, 0);
        // Number, mode, user, group, links, age, size, device it lies on (major, minor), device it is, length of the
        // name with its zero, checksum (unused in this form).
        let fields =
            [self.number, mode, 0, 0, links, age, bytes, 0, 0, device.0, device.1, name.len() as u32 + 1, 0];
        let mut head = String::from("070701");
        for field in fields {
            head += &format!("{field:08X}");
        }
        self.output.write_all(head.as_bytes())?;
        self.output.write_all(name)?;
        self.output.write_all(&[0])?;
        self.pad((head.len() + name.len() + 1) as u64)
    }

    /// Head and contents each end on a multiple of four.
    fn pad(&mut self, written: u64) -> io::Result<()> {
        let missing = (4 - written % 4) % 4;
        self.output.write_all(&[0; 3][..missing as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_archive_is_the_same_every_time_and_aligned() {
        let mut tree = Tree::default();
        tree.put("/dev/console", Entry::Device { major: 5, minor: 1 });
        tree.put("/a/file", Entry::Made { contents: b"12345".to_vec(), mode: 0o644 });
        tree.put("/a/link", Entry::Link { target: "file".into() });
        let mut bytes = Vec::new();
        write(&tree, &mut bytes).unwrap();
        let mut again = Vec::new();
        write(&tree, &mut again).unwrap();
        assert_eq!(bytes, again);
        assert_eq!(bytes.len() % 4, 0);
        let text = String::from_utf8(bytes).unwrap();
        let heads: Vec<usize> = text.match_indices("070701").map(|(at, _)| at).collect();
        assert_eq!(heads.len(), 6, "two folders, three entries, the end");
        assert!(heads.iter().all(|at| at % 4 == 0));
        let file = text.find("a/file").unwrap() - 110;
        assert_eq!(&text[file + 54..file + 62], "00000005");
        assert_eq!(&text[file + 14..file + 22], "000081A4");
    }
}
