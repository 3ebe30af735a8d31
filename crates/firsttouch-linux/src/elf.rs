//! What an ELF file says about the program in it, as far as it decides whether a preload library can reach it.
//!
//! Written for files of any origin: every offset is checked, every count is capped, nothing panics.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Bytes that can be read at an offset: a slice, or a file of which only the needed parts are read.
pub trait Image {
    /// Fills the buffer from that offset on; `None` if the image ends before.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Option<()>;
}

impl Image for [u8] {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Option<()> {
        let start = usize::try_from(offset).ok()?;
        buffer.copy_from_slice(self.get(start..start.checked_add(buffer.len())?)?);
        Some(())
    }
}

impl Image for File {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Option<()> {
        // Offsets beyond the range of the kernel's are errors there, too.
        self.read_exact_at(buffer, offset).ok()
    }
}

/// Word size and instruction set: what has to agree for code to be loaded into a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// 64-bit words; else 32.
    pub wide: bool,
    /// Least significant byte first.
    pub little_endian: bool,
    /// The `e_machine` number: 62 x86-64, 183 arm64, 3 i386…
    pub number: u16,
}

impl Machine {
    /// The machine this code was compiled for; `None` on one it has no number for.
    pub fn native() -> Option<Machine> {
        let number = match std::env::consts::ARCH {
            "x86_64" => 62,
            "aarch64" => 183,
            "riscv64" => 243,
            "powerpc64" => 21,
            "s390x" => 22,
            "loongarch64" => 258,
            _ => return None,
        };
        Some(Machine { wide: true, little_endian: cfg!(target_endian = "little"), number })
    }
}

/// What an ELF file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elf {
    /// Word size and instruction set.
    pub machine: Machine,
    /// The loader it asks for (`PT_INTERP`); `None` is a static program. Read for 64-bit files only.
    pub interpreter: Option<String>,
    /// The libraries it asks for (`DT_NEEDED`), in order. Read for 64-bit files only.
    pub needed: Vec<String>,
    /// The folders it wants them looked for in (`DT_RUNPATH`, or `DT_RPATH` where that is absent), `$ORIGIN` as it
    /// stands. Read for 64-bit files only.
    pub run_path: Vec<String>,
    /// Where in the file the last segment ends: what lies beyond (sections, debugging information) is for tools, not
    /// for running it. Read for 64-bit files only.
    pub segments_end: u64,
    /// The names of the dynamic symbols it defines itself. Read for 64-bit files only.
    pub defined: Vec<String>,
    /// It was built by the Go tool chain. Read for 64-bit files only.
    pub go: bool,
}

/// Why a file does not read as ELF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElfError {
    /// It does not begin like one.
    NotElf,
    /// It begins like one, but a part it needs is missing or out of range.
    Damaged,
}

impl std::fmt::Display for ElfError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ElfError::NotElf => "not an ELF file",
            ElfError::Damaged => "a damaged ELF file",
        })
    }
}

impl std::error::Error for ElfError {}

/// Tables larger than this are taken for damage: the largest real ones (browsers) have a tenth of it.
const MOST_TABLE_BYTES: u64 = 256 << 20;

impl Elf {
    /// Reads an image.
    pub fn read<I: Image + ?Sized>(image: &I) -> Result<Elf, ElfError> {
        let mut identity = [0; 16];
        image.read_at(0, &mut identity).ok_or(ElfError::NotElf)?;
        if !identity.starts_with(b"\x7fELF") {
            return Err(ElfError::NotElf);
        }
        Reader::new(image, identity).and_then(|reader| reader.elf()).ok_or(ElfError::Damaged)
    }
}

/// One program header.
struct Segment {
    kind: u32,
    offset: u64,
    address: u64,
    file_bytes: u64,
}

/// One section header.
struct Section {
    name: u32,
    kind: u32,
    offset: u64,
    bytes: u64,
}

struct Reader<'a, I: Image + ?Sized> {
    image: &'a I,
    machine: Machine,
}

impl<'a, I: Image + ?Sized> Reader<'a, I> {
    fn new(image: &'a I, identity: [u8; 16]) -> Option<Self> {
        let wide = match identity[4] {
            1 => false,
            2 => true,
            _ => return None,
        };
        let little_endian = match identity[5] {
            1 => true,
            2 => false,
            _ => return None,
        };
        let mut reader = Reader { image, machine: Machine { wide, little_endian, number: 0 } };
        reader.machine.number = reader.half(18)?;
        Some(reader)
    }

    fn elf(&self) -> Option<Elf> {
        let mut elf = Elf {
            machine: self.machine,
            interpreter: None,
            needed: Vec::new(),
            run_path: Vec::new(),
            segments_end: 0,
            defined: Vec::new(),
            go: false,
        };
        if !self.machine.wide {
            return Some(elf);
        }
        let segments = self.segments()?;
        let sections = self.sections().unwrap_or_default();
        let ends = segments.iter().map(|segment| segment.offset.saturating_add(segment.file_bytes));
        elf.segments_end = ends.max().unwrap_or(0);
        if let Some(segment) = segments.iter().find(|segment| segment.kind == PT_INTERP) {
            elf.interpreter = Some(text(&self.bytes(segment.offset, segment.file_bytes.min(4096))?));
        }
        if let Some(dynamic) = segments.iter().find(|segment| segment.kind == PT_DYNAMIC) {
            self.dynamic(dynamic, &segments, &sections, &mut elf)?;
        }
        elf.go = self.is_go(&segments, &sections);
        Some(elf)
    }

    fn segments(&self) -> Option<Vec<Segment>> {
        let (start, size, count) = (self.word(32)?, u64::from(self.half(54)?), u64::from(self.half(56)?));
        if count > 0 && size < 56 {
            return None;
        }
        (0..count)
            .map(|index| {
                let at = start.checked_add(index * size)?;
                Some(Segment {
                    kind: self.int(at)?,
                    offset: self.word(at.checked_add(8)?)?,
                    address: self.word(at.checked_add(16)?)?,
                    file_bytes: self.word(at.checked_add(32)?)?,
                })
            })
            .collect()
    }

    /// The sections, for what only they tell. A program runs without any.
    fn sections(&self) -> Option<Vec<(String, Section)>> {
        let (start, size, count) = (self.word(40)?, u64::from(self.half(58)?), u64::from(self.half(60)?));
        let names_at = usize::from(self.half(62)?);
        if start == 0 || size < 64 {
            return None;
        }
        let sections: Vec<Section> = (0..count)
            .map(|index| {
                let at = start.checked_add(index * size)?;
                Some(Section {
                    name: self.int(at)?,
                    kind: self.int(at.checked_add(4)?)?,
                    offset: self.word(at.checked_add(24)?)?,
                    bytes: self.word(at.checked_add(32)?)?,
                })
            })
            .collect::<Option<_>>()?;
        let names = sections.get(names_at).and_then(|names| self.bytes(names.offset, names.bytes))?;
        let named = sections.into_iter().map(|section| {
            let name = names.get(section.name as usize..).map(text).unwrap_or_default();
            (name, section)
        });
        Some(named.collect())
    }

    fn dynamic(
        &self,
        dynamic: &Segment,
        segments: &[Segment],
        sections: &[(String, Section)],
        elf: &mut Elf,
    ) -> Option<()> {
        let table = self.bytes(dynamic.offset, dynamic.file_bytes)?;
        let (mut names_at, mut names_bytes, mut symbols_at, mut needed) = (None, None, None, Vec::new());
        let (mut run_path, mut old_run_path) = (None, None);
        let (entries, _) = table.as_chunks::<16>();
        for entry in entries {
            let (words, _) = entry.as_chunks::<8>();
            let value = self.u64(words[1]);
            match self.u64(words[0]) {
                DT_NULL => break,
                DT_NEEDED => needed.push(value),
                DT_STRTAB => names_at = Some(value),
                DT_STRSZ => names_bytes = Some(value),
                DT_SYMTAB => symbols_at = Some(value),
                DT_RPATH => old_run_path = Some(value),
                DT_RUNPATH => run_path = Some(value),
                _ => {}
            }
        }
        // Static programs that place themselves (static-pie) have a table without names.
        let (Some(names_address), Some(names_bytes)) = (names_at, names_bytes) else { return Some(()) };
        let names = self.bytes(offset_of(segments, names_address)?, names_bytes)?;
        let name = |at: u64| names.get(usize::try_from(at).ok()?..).map(text);
        elf.needed = needed.into_iter().map(name).collect::<Option<_>>()?;
        if let Some(folders) = run_path.or(old_run_path).and_then(name) {
            let folders = folders.split(':').filter(|folder| !folder.is_empty());
            elf.run_path = folders.map(str::to_owned).collect();
        }
        // A program whose symbols cannot be found still runs; it just does not tell about itself.
        if let Some(symbols_address) = symbols_at {
            let section = sections.iter().find(|(_, section)| section.kind == SHT_DYNSYM);
            // The dynamic table does not say how many symbols there are. The section does; in a file without
            // sections, linkers put the names right behind the symbols.
            let bytes = section
                .map_or_else(|| names_address.checked_sub(symbols_address), |(_, table)| Some(table.bytes));
            let symbols = bytes
                .and_then(|bytes| self.bytes(offset_of(segments, symbols_address)?, bytes))
                .unwrap_or_default();
            elf.defined = self.defined(&symbols, &names);
        }
        Some(())
    }

    fn defined(&self, symbols: &[u8], names: &[u8]) -> Vec<String> {
        let (symbols, _) = symbols.as_chunks::<24>();
        let defined = symbols.iter().filter(|symbol| [symbol[6], symbol[7]] != [0, 0]);
        defined
            .filter_map(|symbol| {
                let at = self.u32([symbol[0], symbol[1], symbol[2], symbol[3]]) as usize;
                names.get(at..).map(text).filter(|name| !name.is_empty())
            })
            .collect()
    }

    fn is_go(&self, segments: &[Segment], sections: &[(String, Section)]) -> bool {
        sections.iter().any(|(name, _)| name == ".go.buildinfo" || name == ".note.go.buildid")
            || segments
                .iter()
                .filter(|segment| segment.kind == PT_NOTE)
                .any(|segment| self.is_go_note(segment).unwrap_or(false))
    }

    /// Go puts its build id into a note of the owner "Go", kind 4, that outlives stripping of the sections.
    fn is_go_note(&self, segment: &Segment) -> Option<bool> {
        let head = self.bytes(segment.offset, 16)?;
        let int = |at: usize| self.u32([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        Some(int(0) == 4 && int(8) == 4 && &head[12..] == b"Go\0\0")
    }

    fn bytes(&self, offset: u64, bytes: u64) -> Option<Vec<u8>> {
        if bytes > MOST_TABLE_BYTES {
            return None;
        }
        if bytes > 0 {
            // The last byte must be there before memory is taken for all of them.
            self.image.read_at(offset.checked_add(bytes - 1)?, &mut [0])?;
        }
        let mut buffer = vec![0; bytes as usize];
        self.image.read_at(offset, &mut buffer)?;
        Some(buffer)
    }

    fn half(&self, offset: u64) -> Option<u16> {
        let mut bytes = [0; 2];
        self.image.read_at(offset, &mut bytes)?;
        Some(if self.machine.little_endian { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    }

    fn int(&self, offset: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        self.image.read_at(offset, &mut bytes)?;
        Some(self.u32(bytes))
    }

    fn word(&self, offset: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.image.read_at(offset, &mut bytes)?;
        Some(self.u64(bytes))
    }

    fn u32(&self, bytes: [u8; 4]) -> u32 {
        if self.machine.little_endian { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) }
    }

    fn u64(&self, bytes: [u8; 8]) -> u64 {
        if self.machine.little_endian { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) }
    }
}

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_INTERP: u32 = 3;
const PT_NOTE: u32 = 4;
const DT_NULL: u64 = 0;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_STRSZ: u64 = 10;
const DT_RPATH: u64 = 15;
const DT_RUNPATH: u64 = 29;
const SHT_DYNSYM: u32 = 11;

/// Where in the file an address of the running program comes from.
fn offset_of(segments: &[Segment], address: u64) -> Option<u64> {
    segments.iter().filter(|segment| segment.kind == PT_LOAD).find_map(|segment| {
        let inside = address.checked_sub(segment.address)?;
        (inside < segment.file_bytes).then(|| segment.offset.checked_add(inside))?
    })
}

/// The longest name that is read, as long as the longest path: many symbols may have the same long one. Those of C++ that are
/// longer are none that anybody looks for.
const MOST_NAME_BYTES: usize = 4096;

/// The text up to the first zero byte.
fn text(bytes: &[u8]) -> String {
    let bytes = &bytes[..bytes.len().min(MOST_NAME_BYTES)];
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shell() -> Vec<u8> {
        std::fs::read("/bin/sh").unwrap()
    }

    #[test]
    fn the_shell_reads_as_a_program_of_this_machine() {
        let elf = Elf::read(shell().as_slice()).unwrap();
        assert_eq!(Some(elf.machine), Machine::native());
        assert!(elf.interpreter.as_deref().is_some_and(|loader| loader.starts_with('/')), "{elf:?}");
        assert!(elf.needed.iter().any(|library| library.starts_with("libc.")), "{:?}", elf.needed);
        assert!(!elf.go);
    }

    #[test]
    fn a_file_and_its_bytes_read_the_same() {
        let file = File::open("/bin/sh").unwrap();
        assert_eq!(Elf::read(&file), Elf::read(shell().as_slice()));
    }

    #[test]
    fn what_is_no_elf_says_so() {
        assert_eq!(Elf::read(b"#!/bin/sh\nexit 0\n".as_slice()), Err(ElfError::NotElf));
        assert_eq!(Elf::read(b"".as_slice()), Err(ElfError::NotElf));
        assert_eq!(Elf::read(b"\x7fELF\x02\x01\0\0\0\0\0\0\0\0\0\0".as_slice()), Err(ElfError::Damaged));
    }

    #[test]
    fn a_program_without_sections_still_tells_its_symbols() {
        let mut bytes = shell();
        let whole = Elf::read(bytes.as_slice()).unwrap();
        // No section table: offset, count and index of names are zero.
        bytes[40..48].fill(0);
        bytes[60..64].fill(0);
        let stripped = Elf::read(bytes.as_slice()).unwrap();
        assert_eq!(stripped.needed, whole.needed);
        for name in &whole.defined {
            assert!(stripped.defined.contains(name), "{name}");
        }
    }

    /// A program that defines so many symbols, all of which have one name.
    fn with_symbols(symbols: usize, name: &str) -> Vec<u8> {
        let (segments_at, dynamic_at, symbols_at) = (64, 64 + 2 * 56, 64 + 2 * 56 + 4 * 16);
        let names_at = symbols_at + 24 * symbols as u64;
        let names_bytes = name.len() as u64 + 1;
        let end = names_at + names_bytes;
        let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
        bytes.resize(64, 0);
        bytes[18..20].copy_from_slice(&62_u16.to_le_bytes());
        bytes[32..40].copy_from_slice(&u64::to_le_bytes(segments_at));
        bytes[54..56].copy_from_slice(&56_u16.to_le_bytes());
        bytes[56..58].copy_from_slice(&2_u16.to_le_bytes());
        for [kind, offset, length] in [[PT_LOAD.into(), 0, end], [PT_DYNAMIC.into(), dynamic_at, 4 * 16]] {
            bytes.extend(
                [kind, offset, offset, offset, length, length, 8].map(u64::to_le_bytes).as_flattened(),
            );
        }
        let table = [DT_STRTAB, names_at, DT_STRSZ, names_bytes, DT_SYMTAB, symbols_at, DT_NULL, 0];
        bytes.extend(table.map(u64::to_le_bytes).as_flattened());
        for _ in 0..symbols {
            // In the first section.
            bytes.extend([1, 0, 0].map(|word: u64| (word << 48).to_le_bytes()).as_flattened());
        }
        bytes.extend(name.bytes().chain([0]));
        bytes
    }

    #[test]
    fn symbols_that_share_a_long_name_take_no_memory_for_each() {
        let elf = Elf::read(with_symbols(3, "malloc").as_slice()).unwrap();
        assert_eq!(elf.defined, ["malloc"; 3]);
        let elf = Elf::read(with_symbols(1000, &"x".repeat(100_000)).as_slice()).unwrap();
        assert_eq!(elf.defined.len(), 1000);
        assert!(elf.defined.iter().all(|name| name.len() <= MOST_NAME_BYTES));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(mut bytes in proptest::collection::vec(any::<u8>(), 0..600), wide in 1u8..3, endian in 1u8..3) {
            let head = [0x7f, b'E', b'L', b'F', wide, endian];
            if bytes.len() > head.len() {
                bytes[..head.len()].copy_from_slice(&head);
            }
            let _ = Elf::read(bytes.as_slice());
        }

        #[test]
        fn a_damaged_program_is_survived(
            cut in any::<prop::sample::Index>(),
            spots in proptest::collection::vec((0usize..2048, any::<u8>()), 0..12),
        ) {
            let mut bytes = shell();
            for (at, byte) in spots {
                bytes[at] = byte;
            }
            let _ = Elf::read(bytes.as_slice());
            bytes.truncate(cut.index(bytes.len()));
            let _ = Elf::read(bytes.as_slice());
        }
    }
}
