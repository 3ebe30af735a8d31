//! Arrays that never change, wherever they lie: on the heap, in a region with chosen pages, in a mapped file.
//!
//! Invariant: an array is a part of memory that its owner neither changes nor moves for as long as the array lives, and
//! the array keeps the owner alive. This is the only module of the data side with unsafe code: it forgets how long a
//! borrow of the owner lasts, because the owner stands beside it.

use bytemuck::Pod;
use firsttouch_memory::{Pages, Region, RegionError};
use memmap2::Mmap;
use std::fmt;
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Which pages an array is to lie on, and on which node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The kind of pages; [`Pages::Plain`] is the heap.
    pub pages: Pages,
    /// The only node the memory may come from; `None` leaves it to whoever touches it first.
    pub node: Option<u32>,
}

impl Default for Place {
    /// Transparent huge pages, on whatever node they are touched from: right for anything large, and harmless where there
    /// are none.
    fn default() -> Place {
        Place { pages: Pages::Transparent, node: None }
    }
}

impl Place {
    /// The heap, as the program has it anyway.
    pub const HEAP: Place = Place { pages: Pages::Plain, node: None };
}

/// Memory that arrays lie in.
#[derive(Debug)]
pub(crate) enum Owner {
    Heap(Vec<u64>),
    Region(Box<Region>),
    File(Mmap),
}

impl Owner {
    /// So many zeros.
    pub(crate) fn zeroed(words: usize, place: Place) -> Result<Owner, RegionError> {
        let bytes = words.saturating_mul(size_of::<u64>());
        if place.pages == Pages::Plain && place.node.is_none() {
            // A vector that cannot be had ends the process; the kernel can say no.
            let mut memory = Vec::new();
            let had = memory.try_reserve_exact(words);
            had.map_err(|_| RegionError::Map { bytes, errno: libc::ENOMEM })?;
            memory.resize(words, 0);
            return Ok(Owner::Heap(memory));
        }
        let pages = if place.pages == Pages::Plain { Pages::Base } else { place.pages };
        Region::map(bytes, pages, place.node).map(|region| Owner::Region(Box::new(region)))
    }

    /// A file, as it is at this moment. What others write into it later shows: whoever maps a file trusts that nobody
    /// does, and that nobody cuts it short, which would end the process (SIGBUS).
    pub(crate) fn of_file(file: &File) -> io::Result<Owner> {
        // SAFETY: read only. That nobody changes the file meanwhile is what the documentation asks of callers; what is
        // read of it are numbers, of which every value is valid.
        unsafe { Mmap::map(file) }.map(Owner::File)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Owner::Heap(words) => bytemuck::cast_slice(words),
            Owner::Region(region) => region.as_slice(),
            Owner::File(file) => file,
        }
    }

    /// The first words, to be filled before anybody reads them. None of a file.
    pub(crate) fn words_mut(&mut self, words: usize) -> &mut [u64] {
        match self {
            Owner::Heap(memory) => &mut memory[..words],
            Owner::Region(region) => &mut bytemuck::cast_slice_mut(region.as_mut_slice())[..words],
            Owner::File(_) => &mut [],
        }
    }

    /// The region, if it is one.
    pub(crate) fn region(&self) -> Option<&Region> {
        match self {
            Owner::Region(region) => Some(region),
            Owner::Heap(_) | Owner::File(_) => None,
        }
    }
}

/// Words that several threads count and write in at the same time.
pub(crate) fn shared(words: &mut [u64]) -> &[AtomicU64] {
    const { assert!(align_of::<AtomicU64>() == align_of::<u64>()) };
    let words: *const [u64] = words;
    // SAFETY: the same size and, as asserted, alignment; the words are borrowed exclusively for as long as the result
    // lives, so that nobody reads them in another way meanwhile.
    unsafe { &*(words as *const [AtomicU64]) }
}

/// An array that never changes, and what keeps its memory.
pub(crate) struct Array<T> {
    first: NonNull<T>,
    length: usize,
    owner: Arc<Owner>,
    elements: PhantomData<T>,
}

// SAFETY: an array is read only, and its owner may be dropped by any thread.
unsafe impl<T: Pod + Sync> Send for Array<T> {}
// SAFETY: as above.
unsafe impl<T: Pod + Sync> Sync for Array<T> {}

impl<T: Pod> Array<T> {
    /// The elements in these bytes of the owner; `None` if they are not there, or not aligned.
    pub(crate) fn new(owner: Arc<Owner>, bytes: Range<usize>) -> Option<Array<T>> {
        let elements: &[T] = bytemuck::try_cast_slice(owner.bytes().get(bytes)?).ok()?;
        let (first, length) = (NonNull::from(elements).cast(), elements.len());
        Some(Array { first, length, owner, elements: PhantomData })
    }

    /// The first elements of an owner.
    ///
    /// # Panics
    /// If it is smaller.
    pub(crate) fn first_of(owner: Owner, length: usize) -> Array<T> {
        let bytes = 0..length * size_of::<T>();
        Array::new(Arc::new(owner), bytes).expect("an owner is aligned, and as large as it was asked to be")
    }

    pub(crate) fn owner(&self) -> &Arc<Owner> {
        &self.owner
    }
}

impl<T> Deref for Array<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: made of a slice of the owner's memory, which stays where it is and as it is while the owner lives.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.length) }
    }
}

impl<T> Clone for Array<T> {
    /// The same memory once more.
    fn clone(&self) -> Array<T> {
        let (first, length) = (self.first, self.length);
        Array { first, length, owner: Arc::clone(&self.owner), elements: PhantomData }
    }
}

impl<T: PartialEq> PartialEq for Array<T> {
    fn eq(&self, other: &Array<T>) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Array<T> {}

impl<T> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Array").field("length", &self.length).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn an_array_outlives_whoever_made_it_and_stays_what_it_was() {
        for place in [Place::HEAP, Place::default()] {
            let mut owner = Owner::zeroed(1000, place).unwrap();
            owner.words_mut(1000).iter_mut().enumerate().for_each(|(at, word)| *word = at as u64);
            let array: Array<u64> = Array::first_of(owner, 1000);
            let again = array.clone();
            drop(array);
            assert!(again.iter().enumerate().all(|(at, word)| *word == at as u64));
        }
    }

    #[test]
    fn threads_count_in_the_same_words() {
        let mut words = vec![0_u64; 4];
        let counts = shared(&mut words);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for at in 0..4000 {
                        counts[at % 4].fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(words, [4000; 4]);
    }

    #[test]
    fn parts_that_are_not_there_are_refused() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 100]).unwrap();
        let owner = Arc::new(Owner::of_file(&file).unwrap());
        assert_eq!(&*Array::<u32>::new(Arc::clone(&owner), 4..12).unwrap(), [0x0707_0707; 2]);
        assert!(Array::<u32>::new(Arc::clone(&owner), 2..10).is_none());
        assert!(Array::<u64>::new(Arc::clone(&owner), 0..12).is_none());
        assert!(Array::<u8>::new(owner, 90..101).is_none());
    }

    #[test]
    fn memory_that_cannot_be_had_is_an_error() {
        for place in [Place::HEAP, Place::default()] {
            assert!(matches!(Owner::zeroed(usize::MAX / 4, place), Err(RegionError::Map { .. })));
        }
    }
}
