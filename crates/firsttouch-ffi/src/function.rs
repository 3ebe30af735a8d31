//! A function whose calls are redirected, and the process's own of that name.
//!
//! The process's functions are found once, by name, and called by address: through our own linkage they might have been
//! redirected themselves. Whoever preloaded an allocator (jemalloc, mimalloc) keeps it behind ours.

use core::ffi::{CStr, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};

const C_LIBRARY: &CStr = c"libc.so.6";

/// The address of a function of ours.
struct FunctionAddress(*const ());
// SAFETY: the address of code.
unsafe impl Sync for FunctionAddress {}

/// A function of C whose calls are redirected.
pub(crate) struct Function {
    pub(crate) name: &'static CStr,
    /// Where calls of chosen libraries go; likewise of the others, null leaves them.
    chosen: FunctionAddress,
    others: FunctionAddress,
    /// The process's own function; 0 if it has none.
    real: AtomicUsize,
    /// A second address of it: a program that is not position-independent may have an entry for it of its own, which the
    /// loader then gives to everybody who asks for the address.
    alias: AtomicUsize,
}

impl Function {
    pub(crate) const fn new(name: &'static CStr, chosen: *const (), others: *const ()) -> Function {
        Function {
            name,
            chosen: FunctionAddress(chosen),
            others: FunctionAddress(others),
            real: AtomicUsize::new(0),
            alias: AtomicUsize::new(0),
        }
    }

    /// Where calls of a library go; `None` if they stay as they are.
    pub(crate) fn target(&self, is_chosen: bool) -> Option<usize> {
        let target = if is_chosen { self.chosen.0 } else { self.others.0 };
        (!target.is_null() && self.real() != 0).then_some(target as usize)
    }

    /// Whether an address is that of the process's own function.
    pub(crate) fn is_real(&self, address: usize) -> bool {
        address == self.real() || address == self.alias.load(Ordering::Relaxed)
    }

    /// Whether an address is one that calls are redirected to.
    pub(crate) fn is_ours(&self, address: usize) -> bool {
        address == self.chosen.0 as usize || address == self.others.0 as usize
    }

    /// Whether it makes new blocks and takes none, so that calls may go back to the process's own at any time.
    pub(crate) fn makes_only(&self) -> bool {
        self.others.0.is_null()
    }

    /// The address of the process's own function; 0 if it has none.
    pub(crate) fn real(&self) -> usize {
        self.real.load(Ordering::Relaxed)
    }

    /// Finds the process's own function.
    pub(crate) fn resolve(&self) {
        // SAFETY: looks a name up.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, self.name.as_ptr()) } as usize;
        self.alias.store(found, Ordering::Relaxed);
        self.real.store(if is_entry(found) { in_c_library(self.name) } else { found }, Ordering::Relaxed);
    }
}

/// Whether an address is not a function's but that of a program's entry for it: a symbol that the program does not
/// define. A call through it could be redirected to us again.
pub(crate) fn is_entry(address: usize) -> bool {
    const DETAIL_SYMBOL: c_int = 1;
    unsafe extern "C" {
        fn dladdr1(
            address: *const c_void,
            info: *mut libc::Dl_info,
            more: *mut *mut c_void,
            kind: c_int,
        ) -> c_int;
    }
    if address == 0 {
        return false;
    }
    let mut symbol: *mut c_void = ptr::null_mut();
    // SAFETY: all zeroes is a valid value of the structure.
    let mut info: libc::Dl_info = unsafe { core::mem::zeroed() };
    // SAFETY: fills the structure and the pointer, to a symbol of a loaded library or to nothing.
    let found = unsafe { dladdr1(address as *const c_void, &raw mut info, &raw mut symbol, DETAIL_SYMBOL) };
    // SAFETY: a symbol of a loaded library, by the contract of dladdr1.
    let section = unsafe { symbol.cast::<libc::Elf64_Sym>().as_ref() }.map(|symbol| symbol.st_shndx);
    // No symbol at all: an entry without one.
    found == 0 || section.is_none_or(|section| section == 0)
}

fn in_c_library(name: &CStr) -> usize {
    // SAFETY: a library that is loaded already, or null; what it holds stays loaded as long as the process.
    unsafe {
        let library = libc::dlopen(C_LIBRARY.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if library.is_null() { 0 } else { libc::dlsym(library, name.as_ptr()) as usize }
    }
}
