//! Whether a program that is about to be executed may have the agent with it.
//!
//! The launcher looks closely at the program it starts, but that one may execute another: one for another machine, at
//! which the loader would complain; one of another C library, or an older one, whose loader would end it; one built with a sanitizer, which would
//! refuse to start; one with an allocator of its own, whose parts call each other past us. Nor one that calls the kernel past us, static or of
//! Go: it has nothing of the agent, and what it executes, perhaps in a container of another C library, nobody would look at. A look at the
//! ELF file's loader, notes and list of libraries tells, without allocating; of a script, at its interpreter's. What is linked into the
//! program itself is not found so.

use crate::environment::Strings;
use core::ffi::{CStr, c_char};
use firsttouch_linux::libraries::{ALLOCATORS, SANITIZERS, is_loader, is_loader_of_others};
use firsttouch_linux::sys::{self, Descriptor, open_to_read};

const SEGMENT_LOAD: u32 = 1;
const SEGMENT_DYNAMIC: u32 = 2;
const SEGMENT_LOADER: u32 = 3;
const SEGMENT_NOTES: u32 = 4;
const TAG_NEEDED: u64 = 1;
const TAG_STRINGS: u64 = 5;
/// Files with more are not looked at further: these are many times what linkers make.
const MOST_SEGMENTS: u64 = 64;
const MOST_ENTRIES: u64 = 512;
const MOST_NOTE_BYTES: usize = 512;
/// The kernel reads no more of a script for the name of its interpreter, and gives up after so many scripts in a row (binfmt_script).
const MOST_LINE_BYTES: usize = 256;
const MOST_SCRIPTS: u32 = 5;

#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = 62;
#[cfg(target_arch = "aarch64")]
const MACHINE: u16 = 183;

/// Whether the agent must not be loaded into that program. A file that is no ELF file, or not readable, may have it: the
/// kernel or the loader will say what there is to say. What is no ordinary file is left alone: to open it may take for ever (FIFO),
/// or do something. A loader with these arguments loads a program, which it gives its own C library.
pub(crate) fn refuses_agent(mut path: *const c_char, arguments: Strings) -> bool {
    let mut arguments = Some(arguments);
    let mut line = [0; MOST_LINE_BYTES];
    for _ in 0..MOST_SCRIPTS {
        if !sys::is_ordinary_file(path) {
            return false;
        }
        // SAFETY: a C string: the kernel has found a file by it.
        let name = unsafe { CStr::from_ptr(path) };
        if is_loader(name.to_bytes()) {
            let given = arguments.take().and_then(given_to_loader);
            match given.filter(|_| !is_loader_of_others(name)) {
                Some(program) => path = program,
                None => return is_loader_of_others(name),
            }
            continue;
        }
        let Ok(file) = open_to_read(name) else { return false };
        let Ok(filled) = file.read_at(0, &mut line) else { return false };
        match interpreter(&mut line, filled) {
            Some(interpreter) => (path, arguments) = (interpreter, None),
            None => return look(&file).unwrap_or(false),
        }
    }
    false
}

/// The first argument of a loader that is no option (`ld.so --help`), where it is a path; with other options it runs no program.
fn given_to_loader(arguments: Strings) -> Option<*const c_char> {
    if !sys::is_readable(arguments as usize) {
        return None;
    }
    let mut rest = arguments;
    loop {
        // SAFETY: an array of C strings with a null at its end, which the caller hands to the kernel; the name before is none.
        let given = unsafe {
            if (*rest).is_null() {
                return None;
            }
            rest = rest.add(1);
            *rest
        };
        if given.is_null() {
            return None;
        }
        // SAFETY: a C string of the array.
        let name = unsafe { CStr::from_ptr(given) }.to_bytes();
        match name {
            b"--inhibit-cache" | b"--" => {}
            b"--library-path"
            | b"--preload"
            | b"--argv0"
            | b"--audit"
            | b"--inhibit-rpath"
            | b"--glibc-hwcaps-prepend"
            // SAFETY: there is an element behind this one, the null at the latest.
            | b"--glibc-hwcaps-mask" => rest = unsafe { rest.add(1) },
            _ => return (!name.starts_with(b"--") && name.contains(&b'/')).then_some(given),
        }
    }
}

/// The interpreter that the first line of a script names, which becomes a C string in its place.
fn interpreter(line: &mut [u8; MOST_LINE_BYTES], filled: usize) -> Option<*const c_char> {
    let text = line[..filled].strip_prefix(b"#!")?;
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = filled - text.len() + text.iter().position(|byte| !is_blank(byte))?;
    let ends = |byte: &u8| is_blank(byte) || matches!(byte, b'\n' | 0);
    let end = line[start..filled].iter().position(ends).map_or(filled, |length| start + length);
    // A name that is cut off the kernel refuses.
    *line.get_mut(end)? = 0;
    Some(line[start..].as_ptr().cast())
}

fn look(file: &Descriptor) -> Option<bool> {
    let magic: [u8; 20] = read(file, 0)?;
    if !magic.starts_with(b"\x7fELF") {
        return None;
    }
    const WIDE_LITTLE_ENDIAN: [u8; 2] = [2, 1];
    if magic[4..6] != WIDE_LITTLE_ENDIAN || u16::from_le_bytes([magic[18], magic[19]]) != MACHINE {
        return Some(true);
    }
    let segments = number(file, 32)?;
    let short = |offset| Some(u64::from(u16::from_le_bytes(read(file, offset)?)));
    let (size, count) = (short(54)?, short(56)?);
    let segment = |index: u64| segments.checked_add(index.checked_mul(size)?);
    let kind = |index| Some(u32::from_le_bytes(read(file, segment(index)?)?));
    let count = count.min(MOST_SEGMENTS);
    // Without a loader it is static.
    let Some(loader) = (0..count).find(|index| kind(*index) == Some(SEGMENT_LOADER)) else {
        return Some(true);
    };
    let mut notes = (0..count).filter(|index| kind(*index) == Some(SEGMENT_NOTES));
    if is_of_other_libc(file, segment(loader)) == Some(true)
        || notes.any(|index| is_of_go(file, segment(index)) == Some(true))
    {
        return Some(true);
    }
    let dynamic = (0..count).find(|index| kind(*index) == Some(SEGMENT_DYNAMIC))?;
    let entries = number(file, segment(dynamic)?.checked_add(8)?)?;
    let entry = |index: u64| {
        let at = entries.checked_add(index.checked_mul(16)?)?;
        Some((number(file, at)?, number(file, at.checked_add(8)?)?)).filter(|(tag, _)| *tag != 0)
    };
    let all = || (0..MOST_ENTRIES).map_while(entry);
    let (_, strings_address) = all().find(|(tag, _)| *tag == TAG_STRINGS)?;
    // The address in memory, as an offset in the file: by the segment that is loaded there.
    let strings = (0..count).filter(|index| kind(*index) == Some(SEGMENT_LOAD)).find_map(|index| {
        let at = segment(index)?;
        let (offset, address) = (number(file, at.checked_add(8)?)?, number(file, at.checked_add(16)?)?);
        let bytes = number(file, at.checked_add(32)?)?;
        let into = strings_address.checked_sub(address).filter(|into| *into < bytes)?;
        offset.checked_add(into)
    })?;
    Some(all().filter(|(tag, _)| *tag == TAG_NEEDED).any(|(_, name)| {
        let mut start = [0; 16];
        let read = strings.checked_add(name).and_then(|at| file.read_at(at, &mut start).ok());
        let known = |library: &&str| start.starts_with(library.as_bytes());
        read.is_some() && SANITIZERS.iter().chain(&ALLOCATORS).any(known)
    }))
}

/// Where in the file what a segment, at this place in it, loads begins, and how long it is.
fn range_of(file: &Descriptor, segment: Option<u64>) -> Option<(u64, u64)> {
    let segment = segment?;
    Some((number(file, segment.checked_add(8)?)?, number(file, segment.checked_add(32)?)?))
}

/// Whether there is a build id of Go's among the notes of a segment: one of the owner "Go", kind 4.
fn is_of_go(file: &Descriptor, segment: Option<u64>) -> Option<bool> {
    const OWNER: &[u8] = b"Go\0";
    const KIND: usize = 4;
    let (start, bytes) = range_of(file, segment)?;
    let mut notes = [0; MOST_NOTE_BYTES];
    let most = bytes.min(MOST_NOTE_BYTES as u64) as usize;
    let filled = file.read_at(start, &mut notes[..most]).ok()?;
    let mut rest = &notes[..filled];
    loop {
        let word = |at: usize| Some(u32::from_le_bytes(rest.get(at..at + 4)?.try_into().ok()?) as usize);
        let (owner, content) = (word(0)?, word(4)?);
        if word(8)? == KIND && rest.get(12..)?.starts_with(OWNER) {
            return Some(true);
        }
        rest = rest.get(12 + owner.next_multiple_of(4) + content.next_multiple_of(4)..)?;
    }
}

/// Whether the loader that a segment, at this place in the file, names is not for the agent.
fn is_of_other_libc(file: &Descriptor, segment: Option<u64>) -> Option<bool> {
    let (start, bytes) = range_of(file, segment)?;
    let mut name = [0; 256];
    let room = name.get_mut(..usize::try_from(bytes).ok()?)?;
    file.read_at(start, room).ok()?;
    Some(is_loader_of_others(CStr::from_bytes_until_nul(&name).ok()?))
}

fn read<const BYTES: usize>(file: &Descriptor, offset: u64) -> Option<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    (file.read_at(offset, &mut bytes) == Ok(BYTES)).then_some(bytes)
}

fn number(file: &Descriptor, offset: u64) -> Option<u64> {
    read(file, offset).map(u64::from_le_bytes)
}
