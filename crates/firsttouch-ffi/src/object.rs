//! A program or library as the loader has it in memory: where it lies, and where it keeps the addresses of functions of
//! others.
//!
//! Read from the tables that the loader itself works with (ELF, System V ABI chapter 5). Only relocations of whole
//! addresses are told: a slot in the global offset table, or one for calls (`GLOB_DAT`, `JUMP_SLOT`), and a variable of the
//! library's that begins with the address of a function (`R_X86_64_64`, `R_AARCH64_ABS64`).

use core::ffi::{CStr, c_int, c_void};
use std::ops::ControlFlow;

#[cfg(target_arch = "x86_64")]
const SLOT_RELOCATIONS: [u32; 2] = [6, 7];
#[cfg(target_arch = "aarch64")]
const SLOT_RELOCATIONS: [u32; 2] = [1025, 1026];
#[cfg(target_arch = "x86_64")]
const VARIABLE_RELOCATION: u32 = 1;
#[cfg(target_arch = "aarch64")]
const VARIABLE_RELOCATION: u32 = 257;

const DT_PLTRELSZ: u64 = 2;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_RELA: u64 = 7;
const DT_RELASZ: u64 = 8;
const DT_STRSZ: u64 = 10;
const DT_PLTREL: u64 = 20;
const DT_JMPREL: u64 = 23;

/// A table entry of the dynamic section.
#[repr(C)]
#[derive(Clone, Copy)]
struct Entry {
    tag: u64,
    value: u64,
}

/// A relocation with an addend, the form of 64-bit machines.
#[repr(C)]
#[derive(Clone, Copy)]
struct Relocation {
    offset: u64,
    info: u64,
    addend: i64,
}

/// A place that holds the address of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot<'a> {
    /// The function's name.
    pub(crate) name: &'a CStr,
    /// Where its address is kept.
    pub(crate) address: usize,
    /// The object itself defines a function of this name.
    pub(crate) is_defined_here: bool,
    /// It is a variable, which the program may have given another value.
    pub(crate) is_variable: bool,
}

/// A program or library in memory.
#[derive(Clone, Copy)]
pub(crate) struct Object<'a> {
    base: usize,
    name: &'a CStr,
    segments: &'a [libc::Elf64_Phdr],
}

/// Visits every loaded object, the program first, while none can be loaded or unloaded. The first argument is the number of
/// objects loaded so far in the life of the process.
pub(crate) fn each(mut visit: impl FnMut(u64, Object<'_>) -> ControlFlow<()>) {
    unsafe extern "C" fn one<F: FnMut(u64, Object<'_>) -> ControlFlow<()>>(
        info: *mut libc::dl_phdr_info,
        _bytes: usize,
        visit: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader's structure, and the closure of the caller, for the time of this call.
        let (info, visit) = unsafe { (&*info, &mut *visit.cast::<F>()) };
        // SAFETY: null, or a C string of the loader's.
        let name = if info.dlpi_name.is_null() { c"" } else { unsafe { CStr::from_ptr(info.dlpi_name) } };
        let segments = if info.dlpi_phdr.is_null() {
            &[]
        } else {
            // SAFETY: the program headers of an object that stays loaded for the time of this call.
            unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) }
        };
        let object = Object { base: info.dlpi_addr as usize, name, segments };
        c_int::from(visit(info.dlpi_adds, object).is_break())
    }

    fn with<F: FnMut(u64, Object<'_>) -> ControlFlow<()>>(visit: &mut F) {
        // SAFETY: the function matches the closure's type, and both outlive the call.
        unsafe { libc::dl_iterate_phdr(Some(one::<F>), core::ptr::from_mut(visit).cast()) };
    }
    with(&mut visit);
}

/// How many objects were loaded so far in the life of the process.
pub(crate) fn loads() -> u64 {
    let mut count = 0;
    each(|loads, _| {
        count = loads;
        ControlFlow::Break(())
    });
    count
}

impl<'a> Object<'a> {
    /// The path, as the loader found it; empty for the program.
    pub(crate) fn path(&self) -> &'a CStr {
        self.name
    }

    /// The last part of the path; empty for the program.
    pub(crate) fn file_name(&self) -> &'a [u8] {
        self.name.to_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or(&[])
    }

    /// Whether an address lies in what was loaded of it.
    pub(crate) fn holds(&self, address: usize) -> bool {
        self.holds_range(address, 1)
    }

    fn holds_range(&self, address: usize, bytes: usize) -> bool {
        self.segments.iter().filter(|segment| segment.p_type == libc::PT_LOAD).any(|segment| {
            let offset = address.wrapping_sub(self.base.wrapping_add(segment.p_vaddr as usize));
            let size = segment.p_memsz as usize;
            offset < size && bytes <= size - offset
        })
    }

    /// Whether the loader protects an address when it has relocated the object: as it does it, in whole pages.
    pub(crate) fn is_sealed(&self, address: usize, page_bytes: usize) -> bool {
        let page = |address: usize| address / page_bytes * page_bytes;
        self.segments.iter().filter(|segment| segment.p_type == libc::PT_GNU_RELRO).any(|segment| {
            let start = self.base.wrapping_add(segment.p_vaddr as usize);
            (page(start)..page(start + segment.p_memsz as usize)).contains(&address)
        })
    }

    /// The slots for functions of others, and for functions of its own that others may replace.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot<'a>> {
        self.tables().into_iter().flat_map(|tables| {
            let object = *self;
            tables
                .relocations
                .into_iter()
                .flatten()
                .filter_map(move |relocation| object.slot(&tables, *relocation))
        })
    }

    fn slot(&self, tables: &Tables<'a>, relocation: Relocation) -> Option<Slot<'a>> {
        let (kind, symbol) = (relocation.info as u32, (relocation.info >> 32) as usize);
        let is_variable = kind == VARIABLE_RELOCATION && relocation.addend == 0;
        if !is_variable && !SLOT_RELOCATIONS.contains(&kind) || symbol == 0 {
            return None;
        }
        let address = self.base.wrapping_add(relocation.offset as usize);
        let symbol_address = tables.symbols + symbol * size_of::<libc::Elf64_Sym>();
        let whole = address.is_multiple_of(size_of::<usize>())
            && self.holds_range(address, size_of::<usize>())
            && self.holds_range(symbol_address, size_of::<libc::Elf64_Sym>());
        if !whole {
            return None;
        }
        // SAFETY: inside the object's own table of symbols, which the loader uses itself.
        let symbol = unsafe { &*(symbol_address as *const libc::Elf64_Sym) };
        let name = CStr::from_bytes_until_nul(tables.names.get(symbol.st_name as usize..)?).ok()?;
        Some(Slot { name, address, is_defined_here: symbol.st_shndx != 0, is_variable })
    }

    fn tables(&self) -> Option<Tables<'a>> {
        let dynamic = self.segments.iter().find(|segment| segment.p_type == libc::PT_DYNAMIC)?;
        let at = self.base.wrapping_add(dynamic.p_vaddr as usize);
        let entries: &[Entry] = self.table(at, dynamic.p_memsz as usize)?;
        let value = |tag: u64| {
            let entry = entries.iter().take_while(|entry| entry.tag != 0).find(|entry| entry.tag == tag)?;
            Some(entry.value as usize)
        };
        // The loader has made addresses of these, but for objects that it did not load itself.
        let address = |tag| value(tag).map(|value| if value < self.base { self.base + value } else { value });
        let relocations = |start, bytes| match (address(start), value(bytes)) {
            (Some(start), Some(bytes)) => self.table::<Relocation>(start, bytes).unwrap_or(&[]),
            _ => &[],
        };
        let calls = if value(DT_PLTREL) == Some(DT_RELA as usize) {
            relocations(DT_JMPREL, DT_PLTRELSZ)
        } else {
            &[]
        };
        Some(Tables {
            symbols: address(DT_SYMTAB)?,
            names: self.table(address(DT_STRTAB)?, value(DT_STRSZ)?)?,
            relocations: [relocations(DT_RELA, DT_RELASZ), calls],
        })
    }

    /// A table of plain numbers that lies in the object; `None` if it does not.
    fn table<T: Copy>(&self, address: usize, bytes: usize) -> Option<&'a [T]> {
        let whole = address.is_multiple_of(align_of::<T>()) && self.holds_range(address, bytes);
        // SAFETY: loaded memory of an object that stays loaded for the time of the visit; numbers of any value are valid.
        whole.then(|| unsafe { core::slice::from_raw_parts(address as *const T, bytes / size_of::<T>()) })
    }
}

/// Where an object tells what it needs of others.
struct Tables<'a> {
    /// Address of the table of symbols, whose length is told nowhere.
    symbols: usize,
    names: &'a [u8],
    relocations: [&'a [Relocation]; 2],
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::ControlFlow::Continue;

    #[test]
    fn the_program_and_the_c_library_tell_their_slots() {
        let (mut objects, mut of_program, mut of_c_library) = (0, 0, 0);
        each(|loads, object| {
            objects += 1;
            assert!(loads >= 1);
            let frees = object.slots().filter(|slot| slot.name == c"free");
            match object.file_name() {
                b"" => of_program = frees.inspect(|slot| assert!(!slot.is_defined_here)).count(),
                b"libc.so.6" => of_c_library = frees.inspect(|slot| assert!(slot.is_defined_here)).count(),
                _ => {}
            }
            Continue(())
        });
        assert!(
            objects >= 2 && of_program >= 1 && of_c_library >= 1,
            "{objects} {of_program} {of_c_library}"
        );
        assert!(loads() >= 2);
    }

    #[test]
    fn a_slot_holds_what_it_is_for() {
        let own = a_slot_holds_what_it_is_for as *const () as usize;
        let mut seen = 0;
        each(|_, object| {
            if object.holds(own) {
                for slot in object.slots().filter(|slot| slot.name == c"getpid") {
                    // SAFETY: a slot of this program.
                    let address = unsafe { *(slot.address as *const usize) };
                    assert!(object.holds(address) || address == libc::getpid as *const () as usize);
                    seen += 1;
                }
            }
            Continue(())
        });
        // SAFETY: so that the program has such a slot at all.
        assert!(unsafe { libc::getpid() } > 0 && seen > 0);
    }
}
