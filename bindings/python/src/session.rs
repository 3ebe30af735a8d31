//! Huge pages for whatever the process allocates: the session of the C interface, shared with R and C in one process.

use crate::errors::{bad_argument, done};
use core::ptr;
use firsttouch_ffi::ism::{
    firsttouch_ism_choose, firsttouch_ism_off, firsttouch_ism_on, firsttouch_ism_status,
};
use firsttouch_ffi::status::{FirsttouchIsmStatus, FirsttouchVia};
use firsttouch_memory::Heap;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ffi::CString;
use std::sync::OnceLock;

static HEAP: OnceLock<&'static Heap> = OnceLock::new();

/// The heap of placed blocks, opened now if it was not; `None` where a sanitizer watches allocations.
pub(crate) fn open() -> Option<&'static Heap> {
    let heap = firsttouch_ffi::heap()?;
    Some(HEAP.get_or_init(|| heap))
}

/// The heap of placed blocks, if anything was ever placed on it.
pub(crate) fn opened() -> Option<&'static Heap> {
    HEAP.get().copied()
}

/// Whether the agent, or another copy of the library, places what the process allocates.
pub(crate) fn is_served_by_others() -> bool {
    let via = now().map_or(FirsttouchVia::Nothing as u32, |now| now.via);
    via == FirsttouchVia::Agent as u32 || via == FirsttouchVia::OtherCopy as u32
}

fn now() -> PyResult<FirsttouchIsmStatus> {
    let mut now = FirsttouchIsmStatus::default();
    // SAFETY: the structure and its size.
    done(unsafe { firsttouch_ism_status(&raw mut now, size_of::<FirsttouchIsmStatus>()) })?;
    Ok(now)
}

/// Places what any library allocates; without a kind of pages, on that of before.
#[pyfunction]
#[pyo3(signature = (kind, least, most))]
pub(crate) fn place_whole_process(kind: Option<String>, least: u64, most: u64) -> PyResult<()> {
    let kind = kind.map(CString::new).transpose();
    let kind = kind.map_err(|error| bad_argument(&error, "a kind of pages is a word"))?;
    // SAFETY: a C string: everything is chosen.
    done(unsafe { firsttouch_ism_choose(c"".as_ptr()) })?;
    // SAFETY: null or a C string.
    done(unsafe { firsttouch_ism_on(kind.as_ref().map_or(ptr::null(), |kind| kind.as_ptr()), least, most) })?;
    if now()?.via == FirsttouchVia::Redirection as u32 {
        open();
    }
    Ok(())
}

/// Places nothing any more.
#[pyfunction]
pub(crate) fn place_nothing() {
    firsttouch_ism_off();
}

/// To be called before the process limits its memory: gives up the address space that holds no array.
#[pyfunction]
pub(crate) fn ration() {
    if let Some(heap) = opened() {
        heap.ration();
    }
}

/// How it stands: `enabled`, `via`, `page_bytes`, `min_bytes`, `max_bytes`, `live_bytes`, `live_blocks`.
#[pyfunction]
pub(crate) fn whole_process<'py>(py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
    let now = now()?;
    let via = [
        (FirsttouchVia::Agent, "agent"),
        (FirsttouchVia::Redirection, "redirection"),
        (FirsttouchVia::OtherCopy, "other copy"),
    ];
    let via = via.iter().find(|(via, _)| *via as u32 == now.via).map_or("nothing", |(_, word)| word);
    let status = PyDict::new(py);
    status.set_item("enabled", now.enabled != 0)?;
    status.set_item("via", via)?;
    status.set_item("page_bytes", now.page_bytes)?;
    status.set_item("min_bytes", now.min_bytes)?;
    status.set_item("max_bytes", now.max_bytes)?;
    status.set_item("live_bytes", now.live_bytes)?;
    status.set_item("live_blocks", now.live_blocks)?;
    Ok(status)
}
