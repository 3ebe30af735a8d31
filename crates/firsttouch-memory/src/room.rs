//! What the heap gives up where the kernel has no room for something else, and how it finds out whether that is why.

use crate::arena::Arena;
use crate::heap::Heap;
use crate::pages::BASE;
use crate::state::Inner;
use firsttouch_linux::sys;

impl Inner {
    /// Gives up all that holds no block.
    pub(crate) fn give_up(&mut self) {
        self.ration();
        self.give_back_all();
    }

    /// Whether what is mapped is taken from what else the program may map.
    pub(crate) fn mappings_are_limited(&self) -> bool {
        self.span.as_ref().is_some_and(|span| span.is_strict) || sys::mappings_are_limited()
    }

    /// The kernel refused to map: whether that may be because of what is reserved, where another process has set a limit, and is
    /// so no longer.
    pub(crate) fn gave_up_in_limit(&mut self) -> bool {
        let is_reserved = self.span.as_ref().is_some_and(|span| span.reserved);
        let may_be_why = is_reserved && self.mappings_are_limited();
        if may_be_why {
            self.give_up();
        }
        may_be_why
    }

    /// The same for something else than a block, where mappings are limited: what is free between blocks as well.
    fn give_up_for_others(&mut self) {
        self.give_up();
        self.arenas.iter_mut().flatten().for_each(Arena::retire_between);
    }

    /// Gives up what may be why the kernel has no room for a block of the program's: what is held for reuse, and, where
    /// mappings are limited, everything else without blocks as well.
    pub(crate) fn make_room(&mut self) {
        if self.mappings_are_limited() {
            self.give_up_for_others();
        } else {
            self.arenas.iter_mut().flatten().for_each(Arena::unmap_free_chunks);
        }
    }

    /// Gives up what may be why the kernel refused something of the program's that was to map so many bytes, 0 for none. A mapping that cannot
    /// grow where it is, because something lies behind it, say, is none of ours: what is held and reserved stays.
    pub(crate) fn make_room_for_mapping(&mut self, bytes: usize) {
        if self.mappings_are_limited() {
            // What is mapped where all is locked is created, too.
            if self.locks_all || !can_map(bytes, READ_WRITE) {
                self.give_up_for_others();
            }
        } else if !are_mappings_left() {
            self.make_room();
        } else if bytes > 0 && !can_map(bytes, libc::PROT_NONE) {
            // Nowhere are so many addresses free.
            self.give_up();
        }
    }
}

impl Heap {
    /// Gives up what may be why the kernel has no room for something else that is to map so many bytes, 0 if it maps none; whether there
    /// may be room now, also because another thread has just given it up.
    pub fn make_room_for_mapping(&self, bytes: usize) -> bool {
        self.may_give(|inner| inner.make_room_for_mapping(bytes))
    }

    /// The same for a block that the allocator behind has no room for. Programs ask for sizes that nobody has, too: address
    /// space stays reserved unless a limit is set, which another process may have done.
    pub fn make_room(&self) -> bool {
        self.may_give(Inner::make_room)
    }

    fn may_give(&self, give: impl FnOnce(&mut Inner)) -> bool {
        // For who confined itself the kernel is asked nothing more.
        let inner = self.enter().filter(|inner| inner.span.is_some() && !inner.is_confined());
        // A child of vfork(2) has our memory.
        let Some(mut inner) = inner.filter(|_| self.is_of_this_process()) else { return false };
        give(&mut inner);
        true
    }
}

const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// Whether the kernel maps so many bytes; not of 0.
fn can_map(bytes: usize, access: i32) -> bool {
    map(bytes, access).map(|start| unmap(start, bytes)).is_some()
}

/// Whether the process may have more mappings (`vm.max_map_count`), as one that becomes three needs them.
fn are_mappings_left() -> bool {
    let bytes = 3 * BASE;
    let Some(start) = map(bytes, libc::PROT_NONE) else { return false };
    // SAFETY: the new mapping, which nobody knows.
    let is_split = unsafe { sys::protect(start + BASE, BASE, libc::PROT_READ) }.is_ok();
    unmap(start, bytes);
    is_split
}

fn map(bytes: usize, access: i32) -> Option<usize> {
    // SAFETY: a new mapping, which replaces nothing.
    unsafe { sys::map_anonymous(0, bytes, access, libc::MAP_NORESERVE) }.ok()
}

fn unmap(start: usize, bytes: usize) {
    // SAFETY: a mapping of ours, which nobody knows.
    let _ = unsafe { sys::unmap(start, bytes) };
}
