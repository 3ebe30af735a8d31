//! Arrays of NumPy's as slices, for as long as a function of ours works on them.
//!
//! What an array is, NumPy is asked by its C interface (the crate `numpy`): an object that merely says that it has memory of some
//! kind (`__array_interface__`) is none. Whoever writes borrows the array alone, also among arrays that share memory, and whoever
//! reads lends it to nobody who writes; an array that is borrowed already is refused. Python itself knows nothing of that: as with
//! all functions that work on arrays without its lock, other threads must leave the arrays alone meanwhile.

use crate::errors::bad_argument;
use firsttouch_graph::{Index, Weights};
use numpy::{
    BorrowError, Element, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyReadwriteArrayDyn,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// A type of numbers that arrays have.
pub(super) trait Number: Element + Copy {
    /// NumPy's word for it.
    const WORD: &'static str;

    /// The elements, if they are of this type.
    fn elements_of<'a>(storage: &'a Storage<'_>) -> Option<&'a [Self]>;
}

macro_rules! numbers {
    ($($kind:ident, $type:ty, $word:literal);*) => {
        /// An array of any such type, borrowed for reading: contiguous and aligned.
        pub(super) enum Storage<'py> {
            $($kind(PyReadonlyArrayDyn<'py, $type>)),*
        }

        impl<'py> Storage<'py> {
            fn of(array: &Bound<'py, PyAny>) -> PyResult<Option<Storage<'py>>> {
                $(if let Some(array) = typed::<$type>(array)? {
                    return Ok(Some(Storage::$kind(array.try_readonly()?)));
                })*
                Ok(None)
            }

            fn weights(&self) -> Option<Weights<'_>> {
                match self {
                    $(Storage::$kind(array) => array.as_slice().ok().map(Weights::$kind)),*
                }
            }

            fn word(&self) -> &'static str {
                match self {
                    $(Storage::$kind(_) => <$type>::WORD),*
                }
            }
        }

        $(impl Number for $type {
            const WORD: &'static str =
                if cfg!(target_endian = "little") { concat!("<", $word) } else { concat!(">", $word) };

            fn elements_of<'a>(storage: &'a Storage<'_>) -> Option<&'a [$type]> {
                match storage {
                    Storage::$kind(array) => array.as_slice().ok(),
                    _ => None,
                }
            }
        })*
    };
}

numbers! { I32, i32, "i4"; U32, u32, "u4"; I64, i64, "i8"; U64, u64, "u8"; F32, f32, "f4"; F64, f64, "f8" }

fn wrong() -> PyErr {
    PyTypeError::new_err("a contiguous array of numbers was expected")
}

fn not_to_be_written(error: BorrowError) -> PyErr {
    match error {
        BorrowError::AlreadyBorrowed => bad_argument(
            &"out is borrowed already: its memory is that of the graph, or of other results",
            "an array of its own memory: out=numpy.empty(shape)",
        ),
        other => other.into(),
    }
}

/// The array, if it is one of this type in the machine's order of bytes; an error if it is none that a slice can be had of.
fn typed<'a, 'py, T: Number>(
    array: &'a Bound<'py, PyAny>,
) -> PyResult<Option<&'a Bound<'py, PyArrayDyn<T>>>> {
    let Ok(array) = array.cast::<PyArrayDyn<T>>() else { return Ok(None) };
    if array.len() == 0 || array.is_c_contiguous() && array.is_aligned() {
        Ok(Some(array))
    } else {
        Err(wrong())
    }
}

/// An array to be read.
pub(super) struct Numbers<'py>(Storage<'py>);

impl<'py> Numbers<'py> {
    pub(super) fn of(array: &Bound<'py, PyAny>) -> PyResult<Numbers<'py>> {
        Storage::of(array)?.map(Numbers).ok_or_else(wrong)
    }

    /// NumPy's word for the type of its elements.
    pub(super) fn word(&self) -> &'static str {
        self.0.word()
    }

    /// Its elements.
    pub(super) fn slice<T: Number>(&self) -> PyResult<&[T]> {
        T::elements_of(&self.0).ok_or_else(|| self.of_another_type(T::WORD))
    }

    /// Its elements as the weights of arcs.
    pub(super) fn weights(&self) -> PyResult<Weights<'_>> {
        self.0.weights().ok_or_else(wrong)
    }

    /// Its elements as the offsets of rows with these heads, which are integers of the same type.
    pub(super) fn index<'a>(&'a self, heads: &'a Numbers<'_>) -> PyResult<Index<'a>> {
        match &self.0 {
            Storage::I32(_) => Ok((self.slice::<i32>()?, heads.slice::<i32>()?).into()),
            Storage::U32(_) => Ok((self.slice::<u32>()?, heads.slice::<u32>()?).into()),
            Storage::U64(_) => Ok((self.slice::<u64>()?, heads.slice::<u64>()?).into()),
            _ => Ok((self.slice::<i64>()?, heads.slice::<i64>()?).into()),
        }
    }

    fn of_another_type(&self, wanted: &str) -> PyErr {
        PyTypeError::new_err(format!("numbers of the type {wanted} were expected, not {}", self.word()))
    }
}

/// An array to be written, by nobody else meanwhile.
pub(super) struct Writable<'py, T: Number>(PyReadwriteArrayDyn<'py, T>);

impl<'py, T: Number> Writable<'py, T> {
    pub(super) fn of(array: &Bound<'py, PyAny>) -> PyResult<Writable<'py, T>> {
        let wrong =
            || PyTypeError::new_err(format!("a contiguous array of the type {} was expected", T::WORD));
        Writable::if_typed(array)?.ok_or_else(wrong)
    }

    /// The same; `None` if its elements are of another type.
    pub(super) fn if_typed(array: &Bound<'py, PyAny>) -> PyResult<Option<Writable<'py, T>>> {
        let Some(array) = typed::<T>(array)? else { return Ok(None) };
        Ok(Some(Writable(array.try_readwrite().map_err(not_to_be_written)?)))
    }

    /// Its elements.
    pub(super) fn slice(&mut self) -> PyResult<&mut [T]> {
        Ok(self.0.as_slice_mut()?)
    }
}
