//! What every library that compresses does, and how its functions are found.

use crate::error::Missing;
use libloading::{Library, Symbol};

/// What compresses and decompresses for one thread.
pub(super) trait Codec: Send {
    /// Compresses a chunk; answers how long it is then, `None` if it does not fit.
    fn compress(&mut self, from: &[u8], to: &mut [u8]) -> Option<usize>;

    /// Decompresses a chunk; answers how long it is then, `None` if it is damaged or does not fit.
    fn decompress(&mut self, from: &[u8], to: &mut [u8]) -> Option<usize>;
}

/// A function of a library.
#[expect(unsafe_code, reason = "a library in C")]
pub(super) fn function<F: Copy>(library: &Library, name: &str) -> Result<F, Missing> {
    let lacks = |_| Missing::new(format!("the library has no {name}"), "another version of the library");
    // SAFETY: callers name the type that the library's manual gives the function, and call it as that.
    let symbol: Symbol<'_, F> = unsafe { library.get(name) }.map_err(lacks)?;
    Ok(*symbol)
}
