//! The mappings of a process: lines of `/proc/PID/maps`, which are also the head lines of `smaps`.

use crate::root::Root;
use crate::sysinfo::device_number;
use crate::urgent::Precedence;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What backs a mapping, as far as its name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// Anonymous memory: unnamed, the heap, or named by `PR_SET_VMA_ANON_NAME`.
    Anonymous,
    /// A stack the kernel or the C library has named as one.
    Stack,
    /// A file, shared memory or a hugetlb mapping.
    File,
    /// Provided by the kernel itself: `[vdso]`, `[vvar]`, `[uprobes]`…
    Kernel,
}

/// One mapping of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// May be read.
    pub read: bool,
    /// May be written.
    pub write: bool,
    /// May be executed.
    pub execute: bool,
    /// Writes are seen by others (`MAP_SHARED`).
    pub shared: bool,
    /// Offset in the file behind it.
    pub offset: u64,
    /// Major and minor number of the file system of the file behind it.
    pub device: (u32, u32),
    /// Inode of the file behind it; 0 is no file.
    pub inode: u64,
    /// Path or bracketed name; empty for most anonymous memory.
    pub name: String,
}

impl Mapping {
    /// Reads one line; `None` if it is not the line of a mapping.
    ///
    /// ```
    /// use firsttouch_linux::maps::Mapping;
    /// let heap = Mapping::parse("55d0c0000000-55d0c0021000 rw-p 00000000 00:00 0      [heap]").unwrap();
    /// assert_eq!((heap.bytes(), heap.name.as_str()), (0x21000, "[heap]"));
    /// ```
    pub fn parse(line: &str) -> Option<Mapping> {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let (start, end) = (hex(start)?, hex(end)?);
        let (permissions, rest) = rest.split_once(' ')?;
        let &[read, write, execute, sharing] = permissions.as_bytes() else { return None };
        let (offset, rest) = rest.split_once(' ')?;
        let (device, rest) = rest.split_once(' ')?;
        let (inode, name) = rest.split_once(' ').unwrap_or((rest, ""));
        Some(Mapping {
            start,
            end: (end >= start).then_some(end)?,
            read: flag(read, b'r')?,
            write: flag(write, b'w')?,
            execute: flag(execute, b'x')?,
            shared: match sharing {
                b's' => true,
                b'p' => false,
                _ => return None,
            },
            offset: hex(offset)?,
            device: device_number(device, 16)?,
            inode: inode.parse().ok()?,
            name: name.trim_start_matches(' ').to_owned(),
        })
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.end - self.start
    }

    /// What backs it.
    pub fn backing(&self) -> Backing {
        match self.name.as_str() {
            "" if self.inode == 0 => Backing::Anonymous,
            "[heap]" => Backing::Anonymous,
            name if name.starts_with("[anon:") && !name.contains("stack") => Backing::Anonymous,
            name if name.starts_with("[stack") || name.starts_with("[anon:") => Backing::Stack,
            name if name.starts_with('[') => Backing::Kernel,
            _ => Backing::File,
        }
    }

    /// Memory that processes share and no file on a disk: mappings without a file, those of `memfd_create` and `shm_open`, and
    /// System V segments. They have the names of files.
    pub fn is_shared_memory(&self) -> bool {
        const NAMES: [&str; 4] = ["/dev/zero", "/dev/shm/", "/memfd:", "/SYSV"];
        self.backing() == Backing::File && NAMES.iter().any(|name| self.name.starts_with(name))
    }

    /// Neither readable, writable nor executable: reserved address space or a guard.
    pub fn is_inaccessible(&self) -> bool {
        !(self.read || self.write || self.execute)
    }
}

fn flag(byte: u8, set: u8) -> Option<bool> {
    match byte {
        b'-' => Some(false),
        byte if byte == set => Some(true),
        _ => None,
    }
}

pub(crate) fn hex(text: &str) -> Option<u64> {
    // from_str_radix would take a sign.
    if text.starts_with(['+', '-']) { None } else { u64::from_str_radix(text, 16).ok() }
}

/// Reads the text of a `maps` file; `None` if a line does not read.
pub fn parse_maps(text: &str) -> Option<Vec<Mapping>> {
    text.lines().map(Mapping::parse).collect()
}

/// The mappings of a process, in order of address. Read below `root`.
pub fn read_maps(root: &Root, pid: u32) -> io::Result<Vec<Mapping>> {
    let path = process_file(root, pid, "maps");
    parse_maps(&read_text(&path)?).ok_or_else(|| unreadable(&path))
}

/// Whether mappings, in order of address, have all of a range.
pub fn cover(mappings: &[Mapping], range: Range<u64>) -> bool {
    let reach = |reached, mapping: &Mapping| {
        if (mapping.start..mapping.end).contains(&reached) { mapping.end } else { reached }
    };
    mappings.iter().fold(range.start, reach) >= range.end
}

/// A file of a process.
pub(crate) fn process_file(root: &Root, pid: u32, name: &str) -> PathBuf {
    root.path().join("proc").join(pid.to_string()).join(name)
}

/// The text of a procfs file. File names in it need not be UTF-8.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    Ok(text_of(std::fs::read(path)?))
}

/// The same, each part before other threads: the kernel writes one under locks that the process may wait for.
pub(crate) fn read_text_first(path: &Path, precedence: &Precedence) -> io::Result<String> {
    const PART: usize = 64 << 10;
    let mut file = File::open(path)?;
    let (mut bytes, mut part) = (Vec::new(), vec![0; PART]);
    loop {
        match precedence.during(|| file.read(&mut part)) {
            Ok(0) => return Ok(text_of(bytes)),
            Ok(count) => bytes.extend_from_slice(&part[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

pub(crate) fn unreadable(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{} does not read as expected", path.display()))
}

/// `      123 kB` in bytes.
pub(crate) fn kilobytes(text: &str) -> Option<u64> {
    text.trim().strip_suffix("kB")?.trim_end().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SAMPLE: &str = "\
555555554000-555555558000 r--p 00000000 fe:00 1234                       /usr/bin/a program (deleted)
555555580000-5555555a1000 rw-p 00000000 00:00 0                          [heap]
7ffff0000000-7ffff0021000 rw-p 00000000 00:00 0 
7ffff0021000-7ffff4000000 ---p 00000000 00:00 0 
7ffff7a00000-7ffff7c00000 rw-s 00000000 00:01 77                         /dev/zero (deleted)
c000000000-c000400000 rw-p 00000000 00:00 0                              [anon: Go: heap]
7ffff7fc1000-7ffff7fc3000 r-xp 00000000 00:00 0                          [vdso]
7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0                          [stack]
";

    #[test]
    fn a_hole_is_not_covered() {
        let mappings = parse_maps(SAMPLE).unwrap();
        assert!(cover(&mappings, 0x7fff_f000_0000..0x7fff_f400_0000));
        assert!(cover(&mappings, 0x7fff_f001_0000..0x7fff_f002_2000));
        assert!(!cover(&mappings, 0x7fff_f000_0000..0x7fff_f400_1000));
        assert!(!cover(&mappings, 0x7fff_efff_0000..0x7fff_f002_1000));
    }

    #[test]
    fn every_kind_of_line_reads() {
        let maps = parse_maps(SAMPLE).unwrap();
        let backing: Vec<Backing> = maps.iter().map(Mapping::backing).collect();
        use Backing::*;
        assert_eq!(backing, [File, Anonymous, Anonymous, Anonymous, File, Anonymous, Kernel, Stack]);
        assert_eq!(maps[0].name, "/usr/bin/a program (deleted)");
        assert_eq!((maps[0].device, maps[1].device), ((0xfe, 0), (0, 0)));
        assert!(maps[3].is_inaccessible());
        assert!(maps[4].shared && !maps[2].shared);
        assert_eq!(maps[5].bytes(), 4 << 20);
    }

    #[test]
    fn our_own_mappings_hold_what_we_know() {
        let maps = read_maps(&Root::live(), std::process::id()).unwrap();
        let here = SAMPLE.as_ptr() as u64;
        let local = 0u8;
        let stack = (&raw const local) as u64;
        for address in [here, stack] {
            assert!(maps.iter().any(|mapping| (mapping.start..mapping.end).contains(&address)));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "([0-9a-f]{0,17}-?[0-9a-f]{0,17} [rwxps-]{0,5} [0-9a-f]{0,9} 00:00 [0-9]{0,22} .{0,9}\n?){0,4}|.{0,80}") {
            if let Some(maps) = parse_maps(&text) {
                for mapping in maps {
                    let _ = (mapping.bytes(), mapping.backing());
                }
            }
        }
    }
}
