//! What can be filled.

use firsttouch_memory::Region;

/// Memory that can be handed over to be filled.
///
/// # Safety
/// [`Buffer::memory`] answers the same range of writable memory until the value is dropped, also after the value was
/// moved, and nobody else accesses that range while the value is owned.
pub unsafe trait Buffer: Send + 'static {
    /// Pages that do not exist yet come into being as zeroes when they are touched: private anonymous memory, not that of
    /// a file.
    const IS_ANONYMOUS: bool;

    /// Address and bytes.
    fn memory(&mut self) -> (*mut u8, usize);
}

// SAFETY: the mapping stays where it is until the region is dropped, and the region is its only owner.
unsafe impl Buffer for Region {
    const IS_ANONYMOUS: bool = true;

    fn memory(&mut self) -> (*mut u8, usize) {
        let memory = self.as_mut_slice();
        (memory.as_mut_ptr(), memory.len())
    }
}

// SAFETY: the elements lie on the heap, where they stay when the vector is moved; nobody resizes a vector that was handed
// over.
unsafe impl Buffer for Vec<u8> {
    /// An allocator may have taken it from a file.
    const IS_ANONYMOUS: bool = false;

    fn memory(&mut self) -> (*mut u8, usize) {
        (self.as_mut_ptr(), self.len())
    }
}

// SAFETY: as for vectors.
unsafe impl Buffer for Box<[u8]> {
    const IS_ANONYMOUS: bool = false;

    fn memory(&mut self) -> (*mut u8, usize) {
        (self.as_mut_ptr(), self.len())
    }
}
