//! OpenSSL's libcrypto, one message after another.
#![expect(unsafe_code, reason = "a library in C")]

use super::algorithm::{Algorithm, Digest};
use super::manager::{Hasher, Job};
use crate::error::Missing;
use crate::library;
use libloading::{Library, Symbol};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;

/// The digests of libcrypto 3, as its manual describes them: EVP_MD_fetch(3), EVP_DigestInit(3).
#[derive(Debug)]
pub(super) struct OpenSsl {
    context: *mut c_void,
    kind: *mut c_void,
    init: unsafe extern "C" fn(*mut c_void, *const c_void, *mut c_void) -> c_int,
    update: unsafe extern "C" fn(*mut c_void, *const u8, usize) -> c_int,
    finish: unsafe extern "C" fn(*mut c_void, *mut u8, *mut c_uint) -> c_int,
    free_context: unsafe extern "C" fn(*mut c_void),
    free_kind: unsafe extern "C" fn(*mut c_void),
    /// Keeps the functions loaded.
    _library: Library,
}

type Fetch = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> *mut c_void;

pub(super) fn open() -> Result<Library, Missing> {
    library::open(&["libcrypto.so.3"], "sudo apt install libssl3")
}

impl OpenSsl {
    pub(super) fn new(algorithm: Algorithm) -> Result<OpenSsl, Missing> {
        let library = open()?;
        let lacks = |name: &CStr| {
            Missing::new(
                format!("libcrypto.so.3 has no {}", name.to_string_lossy()),
                "OpenSSL 3 with its default provider",
            )
        };
        macro_rules! function {
            ($name:literal) => {{
                // SAFETY: the manual's prototype of that function is what the value becomes.
                let symbol: Symbol<'_, _> = unsafe { library.get($name) }.map_err(|_| lacks($name))?;
                *symbol
            }};
        }
        let fetch: Fetch = function!(c"EVP_MD_fetch");
        let new_context: unsafe extern "C" fn() -> *mut c_void = function!(c"EVP_MD_CTX_new");
        let name = match algorithm {
            Algorithm::Md5 => c"MD5",
            Algorithm::Sha1 => c"SHA1",
            Algorithm::Sha256 => c"SHA256",
            Algorithm::Sha512 => c"SHA512",
        };
        let mut this = OpenSsl {
            context: ptr::null_mut(),
            kind: ptr::null_mut(),
            init: function!(c"EVP_DigestInit_ex2"),
            update: function!(c"EVP_DigestUpdate"),
            finish: function!(c"EVP_DigestFinal_ex"),
            free_context: function!(c"EVP_MD_CTX_free"),
            free_kind: function!(c"EVP_MD_free"),
            _library: library,
        };
        // SAFETY: no library context and no properties mean the default ones; the name ends with a zero.
        (this.kind, this.context) =
            unsafe { (fetch(ptr::null_mut(), name.as_ptr(), ptr::null()), new_context()) };
        if this.kind.is_null() || this.context.is_null() {
            return Err(lacks(name));
        }
        Ok(this)
    }

    fn digest(&mut self, data: &[u8]) -> Digest {
        let mut digest = [0; 64];
        // SAFETY: context and kind are the library's own; there are `data.len()` bytes, and 64 (EVP_MAX_MD_SIZE) for the digest.
        let done = unsafe {
            (self.init)(self.context, self.kind, ptr::null_mut()) == 1
                && (self.update)(self.context, data.as_ptr(), data.len()) == 1
                && (self.finish)(self.context, digest.as_mut_ptr(), ptr::null_mut()) == 1
        };
        assert!(done, "a digest that was fetched is computed");
        digest
    }
}

impl Drop for OpenSsl {
    fn drop(&mut self) {
        // SAFETY: both are the library's own, or null, which it allows; nobody else has them.
        unsafe {
            (self.free_context)(self.context);
            (self.free_kind)(self.kind);
        }
    }
}

// SAFETY: the library's contexts may go from thread to thread; only one has this value.
unsafe impl Send for OpenSsl {}

impl<'data> Hasher<'data> for &mut OpenSsl {
    fn submit(&mut self, job: Job<'data>, done: &mut dyn FnMut(Job<'data>, &Digest)) {
        let digest = self.digest(job.data);
        done(job, &digest);
    }

    fn flush(&mut self, _: &mut dyn FnMut(Job<'data>, &Digest)) {}
}
