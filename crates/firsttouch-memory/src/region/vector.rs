//! A vector in a region: elements in placed memory, with the operations of `Vec` that do not need a heap.

use super::{Builder, Region, RegionError, RegionReceipt};
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

/// Elements that any bytes are: numbers, and arrays of such.
///
/// # Safety
/// Every pattern of bytes is a value, all zeroes too; there is no padding and nothing to be dropped.
pub unsafe trait PlainData: Copy + Send + Sync + 'static {}

macro_rules! plain {
    ($($number:ty),*) => {
        $(
            // SAFETY: every pattern of its bits is a number.
            unsafe impl PlainData for $number {}
        )*
    };
}

plain!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, f32, f64);

// SAFETY: elements without padding between them.
unsafe impl<T: PlainData, const COUNT: usize> PlainData for [T; COUNT] {}

/// Bytes of an element, which has some and whose alignment is met by a page.
pub(super) const fn element_bytes<T: PlainData>() -> usize {
    const { assert!(size_of::<T>() > 0 && align_of::<T>() <= crate::pages::BASE) };
    size_of::<T>()
}

/// A vector of plain elements in a [`Region`]: with its pages, its nodes, its receipt.
///
/// It grows as a region does, so that huge pages stay whole and few bytes are copied; memory that nobody wrote yet is
/// taken as zero without being cleared.
///
/// ```
/// use firsttouch_memory::{Pages, Region};
/// let mut squares = Region::of_elements::<u64>(1000).pages(Pages::Transparent).map_vec::<u64>()?;
/// squares.extend((0..1000).map(|number| number * number));
/// assert_eq!((squares.len(), squares[30]), (1000, 900));
/// squares.resize_zeroed(1_000_000)?;
/// assert_eq!(squares.last(), Some(&0));
/// # Ok::<(), firsttouch_memory::RegionError>(())
/// ```
pub struct RegionVec<T: PlainData> {
    region: Region,
    len: usize,
    /// Elements from here on are zero: nobody wrote them.
    clean_from: usize,
    elements: PhantomData<T>,
}

impl<T: PlainData> RegionVec<T> {
    fn fresh(region: Region) -> RegionVec<T> {
        RegionVec { region, len: 0, clean_from: 0, elements: PhantomData }
    }

    pub(super) fn used(region: Region) -> RegionVec<T> {
        let mut vector = RegionVec::fresh(region);
        vector.clean_from = vector.capacity();
        vector
    }

    /// Elements it can hold where it is.
    pub fn capacity(&self) -> usize {
        self.region.as_slice().len() / element_bytes::<T>()
    }

    /// Adds an element.
    ///
    /// # Panics
    /// If there is no memory, as `Vec` ends the program; [`RegionVec::try_push`] answers instead.
    pub fn push(&mut self, element: T) {
        or_panic(self.try_push(element));
    }

    /// Adds an element; without memory for it nothing has changed.
    pub fn try_push(&mut self, element: T) -> Result<(), RegionError> {
        self.try_reserve(1)?;
        self.region.as_mut_slice_of::<T>()[self.len] = element;
        self.has_now(self.len + 1);
        Ok(())
    }

    /// Adds a copy of elements.
    ///
    /// # Panics
    /// As [`RegionVec::push`].
    pub fn extend_from_slice(&mut self, elements: &[T]) {
        or_panic(self.try_reserve(elements.len()));
        let end = self.len + elements.len();
        self.region.as_mut_slice_of::<T>()[self.len..end].copy_from_slice(elements);
        self.has_now(end);
    }

    /// Takes the last element away.
    pub fn pop(&mut self) -> Option<T> {
        let last = self.last().copied()?;
        self.len -= 1;
        Some(last)
    }

    /// Keeps the first `len` elements, if there are more.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Keeps no element; the memory stays.
    pub fn clear(&mut self) {
        self.truncate(0);
    }

    /// Makes it `len` elements: fewer, or more that are zero. Only what was written before is cleared.
    pub fn resize_zeroed(&mut self, len: usize) -> Result<(), RegionError> {
        if len > self.len {
            self.try_reserve(len - self.len)?;
            let dirty = self.len..self.clean_from.clamp(self.len, len);
            let bytes = dirty.start * element_bytes::<T>()..dirty.end * element_bytes::<T>();
            self.region.as_mut_slice()[bytes].fill(0);
        }
        self.has_now(len);
        Ok(())
    }

    /// Makes room for so many more elements, and for some beyond, so that adding one by one costs little.
    pub fn try_reserve(&mut self, more: usize) -> Result<(), RegionError> {
        let size = element_bytes::<T>();
        let bytes = self.len.checked_add(more).and_then(|needed| needed.checked_mul(size));
        let bytes = bytes.ok_or(RegionError::Resize { bytes: usize::MAX, errno: libc::ENOMEM })?;
        let there = self.region.as_slice().len();
        if bytes > there {
            // Twice as much, if there is; else as much as is needed.
            let grown = self.region.grow(bytes.max(there.saturating_mul(2)));
            grown.or_else(|_| self.region.grow(bytes))?;
        }
        Ok(())
    }

    /// Gives memory behind the last element back to the kernel, as far as it is whole pages.
    pub fn shrink_to_fit(&mut self) -> Result<(), RegionError> {
        self.region.shrink(self.len * element_bytes::<T>())
    }

    /// What its memory has obtained.
    pub fn receipt(&self) -> RegionReceipt {
        self.region.receipt()
    }

    /// The region, with the elements at its beginning.
    pub fn into_region(self) -> Region {
        self.region
    }

    fn has_now(&mut self, len: usize) {
        self.len = len;
        self.clean_from = self.clean_from.max(len);
    }
}

/// As `Vec` does where memory ends; the functions beside this answer.
fn or_panic(answer: Result<(), RegionError>) {
    if let Err(error) = answer {
        panic!("{error}; {}", error.hint());
    }
}

impl Region {
    /// A region for so many elements, to be described further and then mapped.
    pub fn of_elements<T: PlainData>(elements: usize) -> Builder {
        // What saturates is refused when it is mapped.
        Region::of(elements.saturating_mul(element_bytes::<T>()))
    }
}

impl Builder {
    /// Maps it as a vector without elements, with room for what was asked.
    pub fn map_vec<T: PlainData>(self) -> Result<RegionVec<T>, RegionError> {
        self.map().map(RegionVec::fresh)
    }
}

impl<T: PlainData> Deref for RegionVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.region.as_slice_of()[..self.len]
    }
}

impl<T: PlainData> DerefMut for RegionVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.region.as_mut_slice_of()[..self.len]
    }
}

impl<T: PlainData> Extend<T> for RegionVec<T> {
    /// As [`RegionVec::push`] does.
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        let elements = elements.into_iter();
        or_panic(self.try_reserve(elements.size_hint().0));
        elements.for_each(|element| self.push(element));
    }
}

impl<T: PlainData + fmt::Debug> fmt::Debug for RegionVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::Pages;
    use std::vec::Vec;

    #[test]
    fn it_holds_what_a_vec_holds() {
        let mut placed = Region::of_elements::<u32>(10).pages(Pages::Base).map_vec::<u32>().unwrap();
        let mut plain: Vec<u32> = Vec::new();
        for round in 0..40_u32 {
            let more: Vec<u32> = (0..round * 97).collect();
            placed.extend_from_slice(&more);
            plain.extend_from_slice(&more);
            placed.push(round);
            plain.push(round);
            if round % 7 == 3 {
                placed.truncate(plain.len() / 2);
                plain.truncate(plain.len() / 2);
                assert_eq!(placed.pop(), plain.pop());
                let len = plain.len() + 500;
                placed.resize_zeroed(len).unwrap();
                plain.resize(len, 0);
            }
            assert_eq!(*placed, *plain);
        }
        assert!(placed.capacity() >= placed.len());
        placed[5] = 1;
        placed.clear();
        placed.extend([1, 2, 3]);
        placed.shrink_to_fit().unwrap();
        assert_eq!((placed.capacity(), &placed[..]), (1024, &[1, 2, 3][..]));
        let again = placed.into_region().into_vec::<u32>();
        assert!(again.is_empty());
    }

    #[test]
    fn zeroes_cost_nothing_where_nobody_wrote() {
        let mut numbers = Region::of(64 << 20).pages(Pages::Base).map_vec::<f64>().unwrap();
        numbers.resize_zeroed(8 << 20).unwrap();
        if let Some(untouched) = numbers.receipt().untouched_bytes() {
            assert_eq!(untouched, 64 << 20);
        }
        numbers[77] = 1.5;
        numbers.truncate(10);
        numbers.resize_zeroed(100).unwrap();
        assert!(numbers.iter().all(|number| *number == 0.0));
        // What somebody else left behind is not taken for zero.
        let mut used = numbers.into_region();
        used.as_mut_slice().fill(0xff);
        let mut numbers = used.into_vec::<u16>();
        numbers.resize_zeroed(5000).unwrap();
        assert!(numbers.iter().all(|number| *number == 0));
    }

    #[test]
    fn without_memory_nothing_changes() {
        let mut numbers = Region::of_elements::<u64>(3).map_vec::<u64>().unwrap();
        numbers.extend([1, 2, 3]);
        for len in [usize::MAX, usize::MAX / 8, 1 << 50] {
            let error = numbers.resize_zeroed(len).unwrap_err();
            assert!(matches!(error, RegionError::Resize { .. }) && !error.hint().is_empty(), "{error}");
        }
        assert_eq!(numbers[..], [1, 2, 3]);
        assert!(Region::of_elements::<u64>(usize::MAX).map().is_err());
    }
}
