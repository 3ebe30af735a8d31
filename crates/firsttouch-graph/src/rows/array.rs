//! Arrays that never change, wherever they lie: on the heap, in a region with chosen pages, in a mapped file.
//!
//! Invariant: an array is a part of memory that its owner neither changes nor moves for as long as the array lives, and
//! the array keeps the owner alive. The code is unsafe because it forgets how long a borrow of the owner lasts: the owner stands
//! beside it.

use bytemuck::Pod;
use firsttouch_memory::{Pages, Region, RegionError};
use memmap2::Mmap;
use std::fmt;
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};
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
            had.map_err(|_| RegionError::no_memory(bytes))?;
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

/// Elements that were just made, or put in memory on chosen pages.
#[derive(Clone, Debug)]
pub(crate) enum Store<T> {
    Made(Vec<T>),
    Placed(Array<T>),
}

impl<T: Pod> Store<T> {
    /// What keeps them, if they were put somewhere.
    pub(crate) fn owner(&self) -> Option<&Arc<Owner>> {
        match self {
            Store::Made(_) => None,
            Store::Placed(array) => Some(array.owner()),
        }
    }
}

impl<T> Deref for Store<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Store::Made(elements) => elements,
            Store::Placed(array) => array,
        }
    }
}

impl<T> From<Vec<T>> for Store<T> {
    fn from(elements: Vec<T>) -> Store<T> {
        Store::Made(elements)
    }
}

/// Copies of several arrays one behind the other in one piece of memory, so that small ones share large pages.
#[derive(Debug)]
pub(crate) struct Pack {
    owner: Arc<Owner>,
    ranges: std::vec::IntoIter<Range<usize>>,
}

impl Pack {
    /// Of these arrays.
    pub(crate) fn of(parts: &[&[u8]], place: Place) -> Result<Pack, RegionError> {
        /// Each begins with a cache line.
        const LINE: usize = 64;
        let mut end = 0_usize;
        let mut ranges = Vec::with_capacity(parts.len());
        for part in parts {
            ranges.push(end..end + part.len());
            end = (end + part.len()).next_multiple_of(LINE);
        }
        // A place of nothing is none.
        let words = (end / size_of::<u64>()).max(1);
        let mut owner = Owner::zeroed(words, place)?;
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(owner.words_mut(words));
        for (part, range) in parts.iter().zip(&ranges) {
            bytes[range.clone()].copy_from_slice(part);
        }
        Ok(Pack { owner: Arc::new(owner), ranges: ranges.into_iter() })
    }

    /// The next of them.
    ///
    /// # Panics
    /// If there are no more, or it had other elements.
    pub(crate) fn next<T: Pod>(&mut self) -> Store<T> {
        let range = self.ranges.next().expect("as many as were packed");
        let array = Array::new(Arc::clone(&self.owner), range);
        Store::Placed(array.expect("aligned to cache lines, and whole elements"))
    }
}

/// Elements that change, in memory on chosen pages.
pub(crate) struct Cells<T> {
    first: NonNull<T>,
    length: usize,
    owner: Owner,
}

// SAFETY: the elements are reached through a borrow of the cells only, as those of a vector are.
unsafe impl<T: Pod + Send> Send for Cells<T> {}
// SAFETY: as above.
unsafe impl<T: Pod + Sync> Sync for Cells<T> {}

impl<T: Pod> Cells<T> {
    /// So many of the same. Where the place cannot be had they are on the heap, which their owner tells.
    ///
    /// # Panics
    /// If there is no memory at all.
    pub(crate) fn of(element: T, length: usize, place: Place) -> Cells<T> {
        let words = (length * size_of::<T>()).div_ceil(size_of::<u64>());
        let placed = Owner::zeroed(words, place).or_else(|_| Owner::zeroed(words, Place::HEAP));
        let mut owner = placed.expect("memory for the arrays of a search");
        let cells: &mut [T] = &mut bytemuck::cast_slice_mut(owner.words_mut(words))[..length];
        cells.fill(element);
        let first = NonNull::from(cells).cast();
        Cells { first, length, owner }
    }

    /// What keeps them.
    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }
}

impl<T> Deref for Cells<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the owner's memory stays where it is while it lives, holds so many initialised elements, and is reached
        // through these cells only.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.length) }
    }
}

impl<T> DerefMut for Cells<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and the cells are borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.length) }
    }
}

impl<T> fmt::Debug for Cells<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cells").field("length", &self.length).finish_non_exhaustive()
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
    fn packed_arrays_and_cells_hold_what_they_were_given() {
        for place in [Place::HEAP, Place::default(), Place { pages: Pages::Base, node: None }] {
            let (short, long) = ([1_u16, 2, 3], [u64::MAX; 70]);
            let mut pack =
                Pack::of(&[bytemuck::cast_slice(&short), &[], bytemuck::cast_slice(&long)], place).unwrap();
            let (first, none, last) = (pack.next::<u16>(), pack.next::<u32>(), pack.next::<u64>());
            assert_eq!((&*first, &*none, &*last), (&short[..], &[][..], &long[..]));
            assert!(Arc::ptr_eq(first.owner().unwrap(), last.owner().unwrap()));
            let mut cells = Cells::of(7_u32, 1001, place);
            cells[1000] += 1;
            assert_eq!((cells[0], cells[1000], cells.len()), (7, 8, 1001));
            assert_eq!(cells.owner().region().is_some(), place != Place::HEAP);
            assert_eq!(Cells::of(7_u64, 0, place).len(), 0);
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
