//! NumPy's allocation handlers (NEP 49): arrays of a range of sizes on a kind of pages, all others as before.
//!
//! Every array keeps the handler that made its memory, and frees it by that one. So a handler lives as long as the capsule
//! around it, of which each array holds a reference, and it holds the handler that was there before it, which takes the
//! sizes that it leaves alone. Placed blocks are told from others by their address.

use crate::errors::{bad_argument, pages, unsupported};
use crate::session;
use core::ffi::{CStr, c_char, c_void};
use core::ptr::{self, NonNull};
use firsttouch_memory::{Heap, Pages, Resized, may_be_placed};
use pyo3::exceptions::PySystemError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// The name by which NumPy knows the capsules of handlers.
const CAPSULE: &CStr = c"mem_handler";
/// Places of NumPy's table of functions (NumPy 1.22; the table only grows).
const SET_HANDLER: usize = 304;
const GET_HANDLER: usize = 305;
const NAME_BYTES: usize = 127;

/// NumPy's `PyDataMemAllocator`.
#[repr(C)]
struct Allocator {
    context: *mut c_void,
    malloc: unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void,
    calloc: unsafe extern "C" fn(*mut c_void, usize, usize) -> *mut c_void,
    realloc: unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void, *mut c_void, usize),
}

/// NumPy's `PyDataMem_Handler`, version 1.
#[repr(C)]
struct Handler {
    name: [c_char; NAME_BYTES],
    version: u8,
    allocator: Allocator,
}

/// A handler of ours; NumPy sees its beginning.
#[repr(C)]
struct Placing {
    handler: Handler,
    heap: &'static Heap,
    pages: Pages,
    least: usize,
    most: usize,
    /// Whoever takes what is not placed; lives as long as its capsule.
    behind: NonNull<Handler>,
    _behind: Py<PyAny>,
}

impl Placing {
    /// # Safety
    /// A context that NumPy was given by [`placing_handler`].
    unsafe fn of<'a>(context: *mut c_void) -> &'a Placing {
        // SAFETY: by contract; the capsule lives as long as an array that calls.
        unsafe { &*context.cast::<Placing>() }
    }

    fn behind(&self) -> &Allocator {
        // SAFETY: its capsule lives as long as we do.
        &unsafe { self.behind.as_ref() }.allocator
    }

    /// What the handler behind answers. Where it finds no room, the heap makes some and it is asked once more.
    fn ask_behind(&self, ask: impl Fn(&Allocator) -> *mut c_void) -> *mut c_void {
        let block = ask(self.behind());
        if block.is_null() && self.heap.make_room() { ask(self.behind()) } else { block }
    }

    fn wants(&self, bytes: usize) -> bool {
        (self.least..=self.most).contains(&bytes)
    }

    /// A placed block, or null: the size is out of the range, or there is no room.
    fn place(&self, bytes: usize, zeroed: bool) -> *mut c_void {
        if !self.wants(bytes) {
            return ptr::null_mut();
        }
        self.heap.allocate_on(Some(self.pages), bytes, 0, zeroed).cast()
    }
}

unsafe extern "C" fn malloc(context: *mut c_void, bytes: usize) -> *mut c_void {
    // SAFETY: our own context.
    let placing = unsafe { Placing::of(context) };
    let block = placing.place(bytes, false);
    if !block.is_null() {
        return block;
    }
    // SAFETY: the same call.
    placing.ask_behind(|behind| unsafe { (behind.malloc)(behind.context, bytes) })
}

unsafe extern "C" fn calloc(context: *mut c_void, count: usize, bytes: usize) -> *mut c_void {
    // SAFETY: our own context.
    let placing = unsafe { Placing::of(context) };
    let block = count.checked_mul(bytes).map_or(ptr::null_mut(), |total| placing.place(total, true));
    if !block.is_null() {
        return block;
    }
    // SAFETY: the same call; an overflow is the other's to answer.
    placing.ask_behind(|behind| unsafe { (behind.calloc)(behind.context, count, bytes) })
}

/// Blocks of others stay with them: only they know how large those are.
unsafe extern "C" fn realloc(context: *mut c_void, block: *mut c_void, bytes: usize) -> *mut c_void {
    // SAFETY: our own context.
    let placing = unsafe { Placing::of(context) };
    let usable = may_be_placed(block.cast()).then(|| placing.heap.usable_bytes(block.cast())).flatten();
    let Some(usable) = usable else {
        // SAFETY: the same call.
        let resize = |behind: &Allocator| unsafe { (behind.realloc)(behind.context, block, bytes) };
        // To no bytes, null may mean that it is freed.
        return if bytes == 0 { resize(placing.behind()) } else { placing.ask_behind(resize) };
    };
    if placing.wants(bytes) {
        let kind = Some(placing.pages);
        // SAFETY: a live block, which its owner does not use meanwhile, by the contract of realloc.
        let resized = unsafe { placing.heap.resize_on(kind, block.cast(), bytes) };
        if let Resized::To(block) = resized {
            return block.cast();
        }
    }
    // SAFETY: our own context.
    let target = unsafe { malloc(context, bytes) };
    if !target.is_null() {
        // SAFETY: both have that many bytes, and the new one is known to nobody else.
        unsafe { ptr::copy_nonoverlapping(block.cast::<u8>(), target.cast(), usable.min(bytes)) };
        placing.heap.free(block.cast());
    }
    target
}

unsafe extern "C" fn free(context: *mut c_void, block: *mut c_void, bytes: usize) {
    // SAFETY: our own context.
    let placing = unsafe { Placing::of(context) };
    if may_be_placed(block.cast()) && placing.heap.free(block.cast()) {
        return;
    }
    let behind = placing.behind();
    // SAFETY: the same call.
    unsafe { (behind.free)(behind.context, block, bytes) }
}

/// The last array made with a handler is gone, and nobody has it set any more.
unsafe extern "C" fn destroy(capsule: *mut ffi::PyObject) {
    // SAFETY: a capsule of ours, whose pointer is a box.
    unsafe {
        let placing = ffi::PyCapsule_GetPointer(capsule, CAPSULE.as_ptr());
        drop(Box::from_raw(placing.cast::<Placing>()));
    }
}

/// A function of NumPy's table.
///
/// # Safety
/// `T` is the type of that function, and `table` is NumPy's `_ARRAY_API`.
unsafe fn numpy<T: Copy>(table: &Bound<'_, PyCapsule>, place: usize) -> PyResult<T> {
    let table = table.pointer_checked(None)?.cast::<T>();
    // SAFETY: by contract; the table has had these places since NumPy 1.22, and the package asks for a newer one.
    Ok(unsafe { *table.as_ptr().add(place) })
}

type GetHandler = unsafe extern "C" fn() -> *mut ffi::PyObject;
type SetHandler = unsafe extern "C" fn(*mut ffi::PyObject) -> *mut ffi::PyObject;

/// Makes a handler that places arrays of `least` to `most` bytes, with the one that is set now behind it.
#[pyfunction]
pub(crate) fn placing_handler<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyCapsule>,
    kind: String,
    least: usize,
    most: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let pages = pages(&kind)?;
    if least == 0 || least > most {
        return Err(bad_argument(&"the range of sizes is empty", "1 <= min_bytes <= max_bytes"));
    }
    let heap = session::open().ok_or_else(|| {
        unsupported(
            &"arrays of this process cannot be placed: a sanitizer watches its memory",
            "run it without, or use firsttouch.zeros, empty and full",
        )
    })?;
    // SAFETY: the function of that place.
    let get: GetHandler = unsafe { numpy(table, GET_HANDLER)? };
    // SAFETY: answers a new reference, or null with an exception.
    let behind = unsafe { Bound::from_owned_ptr_or_err(py, get())? };
    // SAFETY: a capsule, or null with an exception.
    let pointer = unsafe { ffi::PyCapsule_GetPointer(behind.as_ptr(), CAPSULE.as_ptr()) };
    let Some(pointer) = NonNull::new(pointer.cast::<Handler>()) else { return Err(PyErr::fetch(py)) };
    let mut name = [0; NAME_BYTES];
    for (place, byte) in name.iter_mut().zip(format!("firsttouch {pages}").bytes().take(NAME_BYTES - 1)) {
        *place = byte as c_char;
    }
    let allocator = Allocator { context: ptr::null_mut(), malloc, calloc, realloc, free };
    let mut placing = Box::new(Placing {
        handler: Handler { name, version: 1, allocator },
        heap,
        pages,
        least,
        most,
        behind: pointer,
        _behind: behind.unbind(),
    });
    let address: *mut Placing = &raw mut *placing;
    placing.handler.allocator.context = address.cast();
    let address = Box::into_raw(placing);
    // SAFETY: a live box, a name that lives for ever, and the function that takes the box back.
    let capsule = unsafe { ffi::PyCapsule_New(address.cast(), CAPSULE.as_ptr(), Some(destroy)) };
    // SAFETY: a new reference, or null with an exception.
    let capsule = unsafe { Bound::from_owned_ptr_or_err(py, capsule) };
    if capsule.is_err() {
        // SAFETY: the box, which nobody has taken.
        drop(unsafe { Box::from_raw(address) });
    }
    capsule
}

/// Sets the handler of the present context, `None` for NumPy's own; answers the one that was set.
#[pyfunction]
pub(crate) fn set_handler<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyCapsule>,
    handler: Option<&Bound<'py, PyCapsule>>,
) -> PyResult<Bound<'py, PyAny>> {
    let capsule = match handler {
        None => ptr::null_mut(),
        Some(handler) => {
            handler.pointer_checked(Some(CAPSULE)).map_err(|_| PySystemError::new_err("not a handler"))?;
            handler.as_ptr()
        }
    };
    // SAFETY: the function of that place.
    let set: SetHandler = unsafe { numpy(table, SET_HANDLER)? };
    // SAFETY: takes a handler or null, answers a new reference or null with an exception.
    unsafe { Bound::from_owned_ptr_or_err(py, set(capsule)) }
}
