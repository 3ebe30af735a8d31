//! Redirecting calls of C's allocation functions in everything that is loaded, and taking it back.
//!
//! What makes blocks is redirected in chosen libraries only; what takes them, in all, so that any of them may free what
//! a chosen one made. A slot is changed when it holds the process's own function, or has not been bound yet; a library
//! that has an allocator of its own keeps it. Slots on pages that the loader protected are written while their page is
//! writable for a moment; where it has not protected them yet, another thread is loading the object just now, and it is
//! left for the next pass: the loader could take the right to write from under us. Variables of libraries that begin as a
//! pointer to a function that takes blocks are redirected as well. Other function pointers that were taken before stay as
//! they are, and lead to the process's own functions; glibc's take placed blocks for what it mapped itself.
//!
//! Nothing is remembered of what slots held: when it is taken back, the slots that lead to us are found again, because
//! libraries come and go.

use crate::function::Function;
use crate::object::{self, Object, Slot};
use core::sync::atomic::{AtomicUsize, Ordering};
use firsttouch_linux::maps::Mapping;
use firsttouch_linux::sys;
use std::ffi::OsStr;
use std::ops::ControlFlow::Continue;
use std::os::unix::ffi::OsStrExt;

/// Libraries whose allocations are placed: how their file names begin.
#[derive(Debug)]
pub(crate) struct Chosen {
    prefixes: [[u8; Self::LONGEST]; Self::MOST],
    lengths: [usize; Self::MOST],
    count: usize,
}

impl Chosen {
    const MOST: usize = 16;
    const LONGEST: usize = 64;

    pub(crate) const NONE: Chosen =
        Chosen { prefixes: [[0; Self::LONGEST]; Self::MOST], lengths: [0; Self::MOST], count: 0 };

    /// Adds a prefix; the empty one means everything. False if there is no room.
    pub(crate) fn add(&mut self, prefix: &[u8]) -> bool {
        if self.iter().any(|known| known == prefix) {
            return true;
        }
        if self.count == Self::MOST || prefix.len() > Self::LONGEST {
            return false;
        }
        self.prefixes[self.count][..prefix.len()].copy_from_slice(prefix);
        self.lengths[self.count] = prefix.len();
        self.count += 1;
        true
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.prefixes.iter().zip(self.lengths).take(self.count).map(|(prefix, length)| &prefix[..length])
    }

    /// Whether a file name is chosen. Without a choice, everything is but the C library itself: what that makes (strdup,
    /// getline) is freed by whatever means a program has, and calls within it are its own.
    fn has(&self, file_name: &[u8]) -> bool {
        let is_c_library = file_name.starts_with(b"libc.so.");
        let named = |prefix: &[u8]| file_name.starts_with(prefix) && !(prefix.is_empty() && is_c_library);
        self.count == 0 && !is_c_library || self.iter().any(named)
    }
}

/// What leads to us after a pass.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Redirected {
    /// Loaded objects with at least one redirected slot.
    pub(crate) objects: u32,
    /// Of these, chosen ones.
    pub(crate) chosen: u32,
    /// Redirected slots.
    pub(crate) slots: u32,
    /// Objects loaded in the life of the process before the pass began.
    pub(crate) loads: u64,
    /// Choices that had been made.
    choices: usize,
}

impl Redirected {
    /// Whether another pass would find nothing else to do: nothing was loaded since, and nothing else chosen.
    pub(crate) fn is_current(&self, chosen: &Chosen) -> bool {
        self.loads == object::loads() && self.choices == chosen.count
    }
}

/// Redirects calls of these functions in whatever is loaded now.
pub(crate) fn redirect(functions: &[Function], chosen: &Chosen) -> Redirected {
    let mut done = Redirected { loads: object::loads(), choices: chosen.count, ..Redirected::default() };
    let program = program_name();
    let mut pages = Pages::default();
    // Whoever makes the first call through a slot just now writes it, too, when the loader has found the function.
    let mut is_settled = true;
    object::each(|_, object| {
        if is_spared(&object) {
            return Continue(());
        }
        let file_name = if object.path().is_empty() { program.as_slice() } else { object.file_name() };
        let is_chosen = chosen.has(file_name);
        let mut slots = 0;
        for slot in object.slots() {
            let function = functions.iter().find(|function| function.name == slot.name);
            let Some((function, target)) =
                function.and_then(|function| Some((function, function.target(is_chosen)?)))
            else {
                continue;
            };
            // A pointer to what makes blocks may be one of a pair, of which the program has copied the other.
            if slot.is_variable && function.makes_only() {
                continue;
            }
            let now = value(&slot);
            let unbound = !slot.is_defined_here && !slot.is_variable && object.holds(now);
            let may_change = unbound || function.is_real(now) || function.is_ours(now);
            if now == target {
                slots += 1;
            } else if may_change && pages.write(&object, &slot, target) {
                slots += 1;
                is_settled &= !unbound;
            }
        }
        done.slots += slots;
        done.objects += u32::from(slots > 0);
        done.chosen += u32::from(slots > 0 && is_chosen);
        Continue(())
    });
    if pages.is_one_being_loaded || !is_settled {
        // So that the next look finds something to do.
        done.loads = 0;
    }
    done
}

/// Which calls to give back to the process's own functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// Those that make blocks.
    Making,
    /// All.
    All,
}

/// Leads calls to the process's own functions again.
pub(crate) fn undo(functions: &[Function], which: Which) {
    let mut pages = Pages::default();
    object::each(|_, object| {
        for slot in object.slots() {
            let function = functions.iter().find(|function| function.name == slot.name);
            let Some(function) = function.filter(|function| function.is_ours(value(&slot))) else { continue };
            if which == Which::All || function.makes_only() {
                pages.write(&object, &slot, function.real());
            }
        }
        Continue(())
    });
}

/// The loader, which calls before and between everything, and the kernel's own object.
fn is_spared(object: &Object<'_>) -> bool {
    [libc::AT_BASE, libc::AT_SYSINFO_EHDR].into_iter().any(|key| {
        // SAFETY: reads the auxiliary vector.
        let address = unsafe { libc::getauxval(key) } as usize;
        address != 0 && object.holds(address)
    })
}

fn program_name() -> Vec<u8> {
    let path = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    path.file_name().map(OsStr::as_bytes).unwrap_or_default().to_vec()
}

fn value(slot: &Slot<'_>) -> usize {
    place(slot).load(Ordering::Acquire)
}

fn place<'a>(slot: &Slot<'a>) -> &'a AtomicUsize {
    // SAFETY: an aligned word of an object that stays loaded for the time of the visit; the loader and we write it whole.
    unsafe { AtomicUsize::from_ptr(slot.address as *mut usize) }
}

/// The pages that slots lie on.
#[derive(Default)]
struct Pages {
    /// What may be done to them: read during the visit of objects, which then stay where they are.
    mappings: Vec<Mapping>,
    /// An object was met that another thread is loading.
    is_one_being_loaded: bool,
}

impl Pages {
    /// Writes a slot; false if its page is not known, not ours to write yet, or the kernel does not let us.
    fn write(&mut self, object: &Object<'_>, slot: &Slot<'_>, target: usize) -> bool {
        if self.mappings.is_empty() {
            let text = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
            self.mappings.extend(text.lines().filter_map(Mapping::parse));
        }
        let at = slot.address as u64;
        let index = self.mappings.partition_point(|mapping| mapping.end <= at);
        let mapping = self.mappings.get(index).filter(|mapping| mapping.start <= at && mapping.read);
        let Some(mapping) = mapping else { return false };
        // SAFETY: asks for a number.
        let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(1) as usize;
        if mapping.write {
            if object.is_sealed(slot.address, page_bytes) {
                self.is_one_being_loaded = true;
                return false;
            }
            place(slot).store(target, Ordering::Release);
            return true;
        }
        let page = slot.address / page_bytes * page_bytes;
        let before = libc::PROT_READ | if mapping.execute { libc::PROT_EXEC } else { 0 };
        // SAFETY: a page of relocated data, which was writable before the loader had done its work and gets its
        // protection back below; readers see the old or the new address.
        if unsafe { sys::protect(page, page_bytes, before | libc::PROT_WRITE) }.is_err() {
            return false;
        }
        place(slot).store(target, Ordering::Release);
        // SAFETY: as above.
        let _ = unsafe { sys::protect(page, page_bytes, before) };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_chosen_by_how_their_names_begin() {
        let mut chosen = Chosen::NONE;
        assert!(chosen.has(b"anything") && !chosen.has(b"libc.so.6"));
        assert!(chosen.add(b"libR.") && chosen.add(b"libR."));
        assert!(chosen.has(b"libR.so") && !chosen.has(b"libRblas.so") && !chosen.has(b"lib"));
        assert!(!chosen.add(&[b'x'; 65]));
        for index in 1..16 {
            assert!(chosen.add(&[index]));
        }
        assert!(!chosen.add(b"one too many"));
        assert!(chosen.has(&[15, 1]) && !chosen.has(b"one too many"));
        let mut everything = Chosen::NONE;
        assert!(everything.add(b"") && everything.has(b"libcurl.so.4") && !everything.has(b"libc.so.6"));
        assert!(everything.add(b"libc.so") && everything.has(b"libc.so.6"));
    }
}
