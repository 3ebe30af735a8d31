//! Arrays of NumPy's as slices, for as long as a function of ours works on them.
//!
//! The package hands over arrays that are contiguous, of the machine's byte order, and held by the caller until the call
//! returns. All of that but the last is checked here. As with all functions that work on arrays without Python's lock,
//! other threads must leave the arrays alone meanwhile.

use core::marker::PhantomData;
use core::slice;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A type of numbers that arrays have.
///
/// # Safety
/// Any bytes are a value, and `WORD` is NumPy's word for it.
pub(super) unsafe trait Number: Copy + Send + Sync + 'static {
    const WORD: &'static str;
}

macro_rules! number {
    ($($type:ty, $little:literal, $big:literal);*) => {
        $(
            // SAFETY: plain numbers, and the word of their size and kind.
            unsafe impl Number for $type {
                const WORD: &'static str = if cfg!(target_endian = "little") { $little } else { $big };
            }
        )*
    };
}

number! {
    i32, "<i4", ">i4"; u32, "<u4", ">u4"; i64, "<i8", ">i8"; u64, "<u8", ">u8"; f32, "<f4", ">f4"; f64, "<f8", ">f8"
}

/// An array, as it says itself what it is.
pub(super) struct Numbers<'a> {
    address: usize,
    length: usize,
    is_read_only: bool,
    word: String,
    array: PhantomData<&'a ()>,
}

impl<'a> Numbers<'a> {
    pub(super) fn of(array: &'a Bound<'_, PyAny>) -> PyResult<Numbers<'a>> {
        let wrong = || PyTypeError::new_err("a contiguous array of numbers was expected");
        let interface = array.getattr("__array_interface__")?.cast_into::<PyDict>()?;
        let part = |name: &str| interface.get_item(name)?.ok_or_else(wrong);
        if interface.get_item("strides")?.is_some_and(|strides| !strides.is_none()) {
            return Err(wrong());
        }
        let (address, is_read_only): (usize, bool) = part("data")?.extract()?;
        let shape: Vec<usize> = part("shape")?.extract()?;
        let word = part("typestr")?.extract()?;
        Ok(Numbers { address, length: shape.iter().product(), is_read_only, word, array: PhantomData })
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// NumPy's word for the type of its elements.
    pub(super) fn word(&self) -> &str {
        &self.word
    }

    /// Its elements.
    pub(super) fn slice<T: Number>(&self) -> PyResult<&'a [T]> {
        self.slice_if(self.word == T::WORD)
    }

    /// Its elements as integers of the unsigned type `T`: also those of the signed type as wide, by their bits.
    pub(super) fn unsigned<T: Number>(&self) -> PyResult<&'a [T]> {
        self.slice_if(self.word.replace('i', "u") == T::WORD)
    }

    /// Its elements as numbers of `T`, if these are as wide and the array is aligned.
    fn slice_if<T: Number>(&self, is_as_wide: bool) -> PyResult<&'a [T]> {
        self.check::<T>(is_as_wide)?;
        if self.length == 0 {
            return Ok(&[]);
        }
        // SAFETY: so many elements as wide as that type, of which any bytes are a value, aligned, in an array that the
        // caller holds.
        Ok(unsafe { slice::from_raw_parts(self.address as *const T, self.length) })
    }

    /// Its elements, to be written.
    pub(super) fn slice_mut<T: Number>(&self) -> PyResult<&'a mut [T]> {
        self.check::<T>(self.word == T::WORD)?;
        if self.length == 0 {
            return Ok(&mut []);
        }
        if self.is_read_only {
            return Err(PyTypeError::new_err("an array that can be written was expected"));
        }
        // SAFETY: as above; the package hands over a different array for every argument.
        Ok(unsafe { slice::from_raw_parts_mut(self.address as *mut T, self.length) })
    }

    fn check<T: Number>(&self, is_as_wide: bool) -> PyResult<()> {
        if is_as_wide && self.address.is_multiple_of(align_of::<T>()) {
            return Ok(());
        }
        Err(PyTypeError::new_err(format!(
            "aligned numbers of the type {} were expected, not {}",
            T::WORD,
            self.word
        )))
    }
}

/// The elements of an array that is an argument.
pub(super) fn elements<'a, T: Number>(array: &'a Bound<'_, PyAny>) -> PyResult<&'a [T]> {
    Numbers::of(array)?.slice()
}

/// The same, to be written.
pub(super) fn elements_mut<'a, T: Number>(array: &'a Bound<'_, PyAny>) -> PyResult<&'a mut [T]> {
    Numbers::of(array)?.slice_mut()
}
