//! The package's exceptions: what was asked, what was answered, and a hint.

use core::ffi::CStr;
use firsttouch_ffi::result::{FirsttouchResult, firsttouch_hint, firsttouch_message};
use firsttouch_memory::{Pages, Reason, RegionError};
use pyo3::{PyErr, PyResult};
use std::fmt::Display;

mod imported {
    pyo3::import_exception!(firsttouch._errors, ArgumentError);
    pyo3::import_exception!(firsttouch._errors, GraphError);
    pyo3::import_exception!(firsttouch._errors, NoMemoryError);
    pyo3::import_exception!(firsttouch._errors, TuneError);
    pyo3::import_exception!(firsttouch._errors, UnsupportedError);
}
use imported::{ArgumentError, GraphError, NoMemoryError, TuneError, UnsupportedError};

/// An argument that means nothing here.
pub(crate) fn bad_argument(what: &impl Display, hint: impl Into<String>) -> PyErr {
    ArgumentError::new_err((what.to_string(), hint.into()))
}

/// A file or arrays that make no graph; the number of the line that is wrong, if it is one.
pub(crate) fn graph_error(what: &impl Display, hint: impl Into<String>, line: Option<u64>) -> PyErr {
    GraphError::new_err((what.to_string(), hint.into(), line))
}

/// Memory that cannot be had.
pub(crate) fn no_memory(error: RegionError) -> PyErr {
    NoMemoryError::new_err((error.to_string(), error.hint()))
}

/// A session of `tune` that failed, with the exit status that the command would have.
pub(crate) fn tune_error(what: String, hint: String, status: u8) -> PyErr {
    TuneError::new_err((what, hint, status))
}

/// Something that this process or machine does not allow.
pub(crate) fn unsupported(what: &impl Display, hint: impl Into<String>) -> PyErr {
    UnsupportedError::new_err((what.to_string(), hint.into()))
}

/// What the C interface answered.
pub(crate) fn done(result: FirsttouchResult) -> PyResult<()> {
    // SAFETY: texts that live for ever.
    let text = |text| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    let (message, hint) = (text(firsttouch_message(result as i32)), text(firsttouch_hint(result as i32)));
    match result {
        FirsttouchResult::Ok => Ok(()),
        FirsttouchResult::BadArgument | FirsttouchResult::BadPages => Err(bad_argument(&message, hint)),
        _ => Err(unsupported(&message, hint)),
    }
}

/// The kind of pages of a word.
pub(crate) fn pages(word: &str) -> PyResult<Pages> {
    Pages::parse(word).ok_or_else(|| {
        bad_argument(&format_args!("`{word}` is no kind of pages"), format!("one of {}", Pages::WORDS))
    })
}

/// The word of a reason and the line that mends it.
pub(crate) fn words(reason: Reason) -> (&'static str, &'static str) {
    (reason.word(), reason.remedy())
}
