//! What an ELF file says about the program in it, as far as it decides whether a preload library can reach it.
//!
//! Written for files of any origin: nothing panics, and no more memory is taken than a few times what is in the file.

use object::Endianness;
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader, Sym};
use object::read::{ReadCache, ReadRef};
use std::fs::File;

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
    /// The loader it asks for (`PT_INTERP`); `None` is a static program.
    pub interpreter: Option<String>,
    /// The libraries it asks for (`DT_NEEDED`), in order.
    pub needed: Vec<String>,
    /// The folders it wants them looked for in (`DT_RUNPATH`, or `DT_RPATH` where that is absent), `$ORIGIN` as it
    /// stands.
    pub run_path: Vec<String>,
    /// Where in the file the last segment ends: what lies beyond (sections, debugging information) is for tools, not
    /// for running it.
    pub segments_end: u64,
    /// The names of the dynamic symbols it defines itself.
    pub defined: Vec<String>,
    /// It was built by the Go tool chain.
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

impl Elf {
    /// Reads a file, of which only the needed parts are read.
    ///
    /// # Errors
    ///
    /// What is no ELF file, or a damaged one.
    pub fn of_file(file: &File) -> Result<Elf, ElfError> {
        Elf::read(&ReadCache::new(file))
    }

    /// Reads the bytes of a file.
    ///
    /// # Errors
    ///
    /// As [`Elf::of_file`].
    pub fn read<'a, R: ReadRef<'a>>(data: R) -> Result<Elf, ElfError> {
        let identity = data.read_bytes_at(0, 16).map_err(|()| ElfError::NotElf)?;
        if !identity.starts_with(&elf::ELFMAG) {
            return Err(ElfError::NotElf);
        }
        let read = if identity[4] == elf::ELFCLASS32.0 {
            whole::<FileHeader32<Endianness>, R>(data)
        } else {
            whole::<FileHeader64<Endianness>, R>(data)
        };
        read.ok_or(ElfError::Damaged)
    }
}

/// Tables larger than this are taken for damage, however large the file is: the largest real ones (browsers) have a tenth of
/// it. The kernel takes 64 KiB of program headers.
const MOST_TABLE_BYTES: u64 = 256 << 20;
const MOST_SEGMENT_BYTES: usize = 64 << 10;
const MOST_SECTIONS: u32 = 1 << 20;

fn whole<'a, H: FileHeader<Endian = Endianness>, R: ReadRef<'a>>(data: R) -> Option<Elf> {
    let header = H::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let machine = Machine {
        wide: header.is_class_64(),
        little_endian: header.is_little_endian(),
        number: header.e_machine(endian).0,
    };
    if header.phnum(endian, data).ok()? as usize > MOST_SEGMENT_BYTES / size_of::<H::ProgramHeader>() {
        return None;
    }
    let segments = header.program_headers(endian, data).ok()?;
    // A program runs without sections.
    let few = header.shnum(endian, data).is_ok_and(|count| count <= MOST_SECTIONS);
    let sections = few.then(|| header.sections(endian, data).ok()).flatten().unwrap_or_default();
    let end = |segment: &H::ProgramHeader| {
        let (start, bytes) = segment.file_range(endian);
        start.saturating_add(bytes)
    };
    let is_go = |name: &[u8]| name == b".go.buildinfo" || name == b".note.go.buildid";
    let mut elf = Elf {
        machine,
        interpreter: None,
        needed: Vec::new(),
        run_path: Vec::new(),
        segments_end: segments.iter().map(end).max().unwrap_or(0),
        defined: Vec::new(),
        go: sections.iter().any(|section| sections.section_name(endian, section).is_ok_and(is_go))
            || segments.iter().any(|segment| is_go_note::<H, R>(segment, endian, data)),
    };
    let of_kind = |kind| segments.iter().find(move |segment| segment.p_type(endian) == kind);
    if let Some(segment) = of_kind(elf::PT_INTERP) {
        let (start, bytes) = segment.file_range(endian);
        elf.interpreter = Some(text(data.read_bytes_at(start, bytes.min(MOST_NAME_BYTES as u64)).ok()?));
    }
    if let Some(segment) = of_kind(elf::PT_DYNAMIC) {
        let symbols = sections.iter().find(|section| section.sh_type(endian) == elf::SHT_DYNSYM);
        let symbol_bytes = symbols.map(|section| section.sh_size(endian).into());
        let table = Table::<H, R> { data, endian, segments, symbol_bytes };
        table.dynamic(segment.dynamic(endian, data).ok()??, &mut elf)?;
    }
    Some(elf)
}

/// Go puts its build id into a note of the owner "Go", kind 4, that outlives stripping of the sections.
fn is_go_note<'a, H, R>(segment: &H::ProgramHeader, endian: Endianness, data: R) -> bool
where
    H: FileHeader<Endian = Endianness>,
    R: ReadRef<'a>,
{
    let notes = segment.notes(endian, data).ok().flatten();
    let first = notes.and_then(|mut notes| notes.next().ok().flatten());
    first.is_some_and(|note| note.name() == b"Go" && note.n_type(endian).0 == 4)
}

/// The dynamic table, and what it leads to.
struct Table<'a, H: FileHeader, R> {
    data: R,
    endian: Endianness,
    segments: &'a [H::ProgramHeader],
    /// The dynamic table does not say how many symbols there are; the section does.
    symbol_bytes: Option<u64>,
}

impl<'a, H: FileHeader<Endian = Endianness>, R: ReadRef<'a>> Table<'a, H, R> {
    fn dynamic(&self, entries: &[H::Dyn], elf: &mut Elf) -> Option<()> {
        let endian = self.endian;
        let entries = || entries.iter().take_while(|entry| entry.tag(endian) != elf::DT_NULL);
        let all =
            |tag| entries().filter(move |entry| entry.tag(endian) == tag).map(|entry| entry.val(endian));
        let last = |tag| all(tag).last();
        // Static programs that place themselves (static-pie) have a table without names.
        let (Some(names_at), Some(bytes)) = (last(elf::DT_STRTAB), last(elf::DT_STRSZ)) else {
            return Some(());
        };
        let names = self.loaded(names_at, bytes)?;
        let name = |at: u64| names.get(usize::try_from(at).ok()?..).map(text);
        elf.needed = all(elf::DT_NEEDED).map(name).collect::<Option<_>>()?;
        if let Some(folders) = last(elf::DT_RUNPATH).or(last(elf::DT_RPATH)).and_then(name) {
            let folders = folders.split(':').filter(|folder| !folder.is_empty());
            elf.run_path = folders.map(str::to_owned).collect();
        }
        // A program whose symbols cannot be found still runs; it just does not tell about itself. In a file without
        // sections, linkers put the names right behind the symbols.
        let symbols = last(elf::DT_SYMTAB).and_then(|at| {
            let bytes =
                self.symbol_bytes.or(names_at.checked_sub(at)).filter(|bytes| *bytes <= MOST_TABLE_BYTES)?;
            let count = usize::try_from(bytes).ok()? / size_of::<H::Sym>();
            self.data.read_slice_at::<H::Sym>(self.offset_of(at)?, count).ok()
        });
        let defined = symbols.unwrap_or_default().iter().filter(|symbol| symbol.st_shndx(endian).0 != 0);
        let names = defined.filter_map(|symbol| name(symbol.st_name(endian).into()));
        elf.defined = names.filter(|name| !name.is_empty()).collect();
        Some(())
    }

    /// Bytes at an address of the running program.
    fn loaded(&self, address: u64, bytes: u64) -> Option<&'a [u8]> {
        let bytes = Some(bytes).filter(|bytes| *bytes <= MOST_TABLE_BYTES)?;
        self.data.read_bytes_at(self.offset_of(address)?, bytes).ok()
    }

    /// Where in the file an address of the running program comes from.
    fn offset_of(&self, address: u64) -> Option<u64> {
        let loaded = self.segments.iter().filter(|segment| segment.p_type(self.endian) == elf::PT_LOAD);
        let mut offsets = loaded.filter_map(|segment| {
            let inside = address.checked_sub(segment.p_vaddr(self.endian).into())?;
            let (start, bytes) = segment.file_range(self.endian);
            (inside < bytes).then(|| start.checked_add(inside))?
        });
        offsets.next()
    }
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
        assert_eq!(Elf::of_file(&file), Elf::read(shell().as_slice()));
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
        for [kind, offset, length] in
            [[u64::from(elf::PT_LOAD.0), 0, end], [u64::from(elf::PT_DYNAMIC.0), dynamic_at, 4 * 16]]
        {
            bytes.extend(
                [kind, offset, offset, offset, length, length, 8].map(u64::to_le_bytes).as_flattened(),
            );
        }
        let table = [5, names_at, 10, names_bytes, 6, symbols_at, 0, 0];
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
