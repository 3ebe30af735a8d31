//! What a library that a program loads while it runs has of an allocator of its own.
//!
//! Such allocators are linked statically and renamed, so that nobody else's calls come to them: `_rjem_je_malloc`, `duckdb_je_malloc`. What the
//! program links does not tell of them; tables of names do, where nobody has taken them away.
//!
//! Written for files of any origin, as `elf` is.

use object::Endianness;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, SectionHeader};
use object::read::{ReadCache, ReadRef};
use std::fs::File;

/// Functions that every version of an allocator has, as they end when they are renamed.
const FUNCTIONS: [&[u8]; 4] = [b"je_arena_malloc_hard", b"mi_malloc_generic", b"tc_malloc", b"rpmalloc"];
/// Tables larger than this are taken for damage: the largest real ones (browsers) have a fifth of it.
const MOST_NAMES_BYTES: u64 = 128 << 20;
const MOST_SECTIONS: u32 = 1 << 16;

/// The function by which a 64-bit library is known to bring an allocator; `None` where it is not known to.
pub fn allocator_of_module(file: &File) -> Option<String> {
    allocator_in(&ReadCache::new(file))
}

/// The same, of the bytes of a library.
pub fn allocator_in<'a, R: ReadRef<'a>>(data: R) -> Option<String> {
    let header = FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    header.shnum(endian, data).ok().filter(|count| *count <= MOST_SECTIONS)?;
    let sections = header.sections(endian, data).ok()?;
    let names = sections.iter().filter(|section| {
        section.sh_type(endian) == elf::SHT_STRTAB && section.sh_size(endian) <= MOST_NAMES_BYTES
    });
    names.filter_map(|section| section.data(endian, data).ok()).find_map(known)
}

fn known(names: &[u8]) -> Option<String> {
    let is_known = |name: &&[u8]| FUNCTIONS.iter().any(|function| name.ends_with(function));
    let name = names.split(|byte| *byte == 0).find(is_known)?;
    Some(String::from_utf8_lossy(name).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_allocator_is_known_by_its_renamed_function_and_the_c_library_has_none() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let libc = maps.split_whitespace().find(|word| word.ends_with("/libc.so.6")).unwrap();
        let mut bytes = std::fs::read(libc).unwrap();
        assert_eq!(allocator_of_module(&File::open(libc).unwrap()), None);
        let (theirs, name) = (b"\0pthread_attr_setstacksize\0".as_slice(), b"je_arena_malloc_hard\0");
        let place = bytes.windows(theirs.len()).position(|window| window == theirs).unwrap();
        let end = place + theirs.len();
        bytes[end - name.len()..end].copy_from_slice(name);
        assert_eq!(allocator_in(bytes.as_slice()).as_deref(), Some("pthreje_arena_malloc_hard"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(mut bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let head = [0x7f, b'E', b'L', b'F', 2, 1, 1];
            if bytes.len() > head.len() {
                bytes[..head.len()].copy_from_slice(&head);
            }
            let _ = allocator_in(bytes.as_slice());
        }
    }
}
