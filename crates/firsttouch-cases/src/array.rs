//! Arrays of a case: named, zeroed, and where somebody else decided.

use crate::error::CaseError;
use firsttouch_memory::{Coverage, NodePolicy, Pages, PlainData, Region};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut, Range};

/// Arrays begin with a cache line, as vector instructions like it.
const LINE_BYTES: usize = 64;

/// What arrays can be of.
pub trait Element: PlainData + Default {}

impl<T: PlainData + Default> Element for T {}

/// Where an array lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayPlace {
    /// Its pages.
    pub pages: Pages,
    /// The nodes that they come from.
    pub memory: NodePolicy,
}

/// The name of an array, and the addresses of its parts.
type Made = (&'static str, Vec<Range<usize>>);

/// Where the arrays of a case come from: those with a place of their own from there, all others from the allocator, as in any
/// program. An allocator that places large blocks so places them as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrays {
    places: BTreeMap<String, ArrayPlace>,
    /// Name and addresses of those that were made with a place of their own.
    made: RefCell<Vec<Made>>,
    /// Bytes of all that were made, by name.
    bytes: RefCell<BTreeMap<&'static str, u64>>,
}

/// What an array with a place of its own has obtained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayObtained {
    /// Its name.
    pub name: &'static str,
    /// Its bytes, in whole pages.
    pub bytes: u64,
    /// Bytes on huge pages; `None` where the kernel does not tell (before Linux 6.7).
    pub huge_bytes: Option<u64>,
    /// Resident bytes by node; empty where the kernel does not tell.
    pub bytes_by_node: BTreeMap<u32, u64>,
}

impl Arrays {
    /// These have a place of their own.
    pub fn with_places(places: BTreeMap<String, ArrayPlace>) -> Arrays {
        Arrays { places, ..Arrays::default() }
    }

    /// An array of zeroes. Whoever writes to a page first decides where it comes from, if no place was named for it.
    ///
    /// # Errors
    /// Where its place cannot give that much.
    pub fn zeroed<T: Element>(&self, name: &'static str, elements: usize) -> Result<Array<T>, CaseError> {
        self.count(name, (elements * size_of::<T>()) as u64);
        let memory = match self.places.get(name) {
            Some(place) => {
                let region = Region::of(elements.max(1) * size_of::<T>()).pages(place.pages);
                let region = region.memory(place.memory).name(name).map();
                let region = region.map_err(|source| CaseError::Array { name, source })?;
                let addresses = region.as_slice().as_ptr_range();
                self.note(name, std::iter::once(addresses.start as usize..addresses.end as usize));
                Storage::Placed(Box::new(region))
            }
            None => {
                let spare = LINE_BYTES / size_of::<T>();
                let values = vec![T::default(); elements + spare];
                let begin = values.as_ptr().align_offset(LINE_BYTES).min(spare);
                Storage::Allocated { values, begin }
            }
        };
        Ok(Array { memory, elements })
    }

    /// The place of its own that an array has, for what is not made by [`zeroed`](Arrays::zeroed): whoever makes it
    /// [`note`](Arrays::note)s where it lies.
    pub(crate) fn place(&self, name: &str) -> Option<ArrayPlace> {
        self.places.get(name).copied()
    }

    /// An array, or several of one name, with a place of its own lies at these addresses.
    pub(crate) fn note(&self, name: &'static str, addresses: impl Iterator<Item = Range<usize>>) {
        self.made.borrow_mut().push((name, addresses.collect()));
    }

    /// An array of this name has so many bytes, wherever it lies.
    pub(crate) fn count(&self, name: &'static str, bytes: u64) {
        *self.bytes.borrow_mut().entry(name).or_default() += bytes;
    }

    /// The bytes of all that were made until now, by name, wherever they lie.
    pub fn bytes(&self) -> BTreeMap<&'static str, u64> {
        self.bytes.borrow().clone()
    }

    /// What those with a place of their own have obtained by now; to be asked while they live.
    pub fn obtained(&self) -> Vec<ArrayObtained> {
        let look = |(name, addresses): &Made| {
            let (mut bytes, mut huge_bytes, mut bytes_by_node) = (0, Some(0), BTreeMap::new());
            for &Range { start, end } in addresses {
                bytes += (end - start) as u64;
                huge_bytes =
                    huge_bytes.zip(Coverage::of(start, end)).map(|(sum, seen)| sum + seen.huge as u64);
                for (node, bytes) in Coverage::by_node(start, end).into_iter().flatten() {
                    *bytes_by_node.entry(node).or_default() += bytes as u64;
                }
            }
            ArrayObtained { name, bytes, huge_bytes, bytes_by_node }
        };
        self.made.borrow().iter().map(look).collect()
    }
}

/// An array that begins with a cache line.
#[derive(Debug)]
pub struct Array<T> {
    memory: Storage<T>,
    elements: usize,
}

#[derive(Debug)]
enum Storage<T> {
    Allocated { values: Vec<T>, begin: usize },
    Placed(Box<Region>),
}

impl<T: Element> Deref for Array<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.memory {
            Storage::Allocated { values, begin } => &values[*begin..*begin + self.elements],
            Storage::Placed(region) => &region.as_slice_of::<T>()[..self.elements],
        }
    }
}

impl<T: Element> DerefMut for Array<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.memory {
            Storage::Allocated { values, begin } => &mut values[*begin..*begin + self.elements],
            Storage::Placed(region) => &mut region.as_mut_slice_of::<T>()[..self.elements],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_zeroed_aligned_and_of_their_length() {
        let place = ArrayPlace { pages: Pages::Transparent, memory: NodePolicy::Inherited };
        let arrays = Arrays::with_places(BTreeMap::from([("placed".to_owned(), place)]));
        for name in ["placed", "allocated"] {
            for elements in [0, 1, 7, 1000, 300_001] {
                let mut bytes = arrays.zeroed::<u8>(name, elements).unwrap();
                let mut numbers = arrays.zeroed::<f64>(name, elements).unwrap();
                assert_eq!((bytes.len(), numbers.len()), (elements, elements));
                assert!(bytes.iter().all(|byte| *byte == 0) && numbers.iter().all(|number| *number == 0.0));
                assert_eq!((bytes.as_ptr() as usize % 64, numbers.as_ptr() as usize % 64), (0, 0));
                bytes.fill(1);
                numbers.fill(1.0);
                assert_eq!(numbers.iter().sum::<f64>(), elements as f64);
            }
        }
        // 301,009 elements of nine bytes in all.
        assert_eq!(arrays.bytes(), BTreeMap::from([("placed", 301_009 * 9), ("allocated", 301_009 * 9)]));
        let obtained = arrays.obtained();
        assert!(obtained.len() == 10 && obtained.iter().all(|one| one.name == "placed"), "{obtained:?}");
    }
}
