//! Libraries that write and read streams of RFC 1950 (DEFLATE with zlib's header and checksum), each chunk at once.

use super::codec::{Codec, function};
use super::isal::IsaL;
use crate::error::Missing;
use crate::library;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use libloading::Library;
use std::ffi::{c_int, c_ulong, c_void};

/// The libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vendor {
    Flate2,
    Zlib,
    ZlibNg,
    Libdeflate,
    IsaL,
}

impl Vendor {
    /// The library of that variant.
    pub(super) fn of(variant: &str) -> Vendor {
        match variant {
            "zlib" => Vendor::Zlib,
            "zlib-ng" => Vendor::ZlibNg,
            "libdeflate" => Vendor::Libdeflate,
            "isa-l" => Vendor::IsaL,
            _ => Vendor::Flate2,
        }
    }

    /// A codec of that level, from 1 to 9.
    pub(super) fn codec(self, level: u32) -> Result<Box<dyn Codec>, Missing> {
        Ok(match self {
            Vendor::Flate2 => Box::new(Flate2 {
                compress: Compress::new(Compression::new(level), true),
                decompress: Decompress::new(true),
            }),
            Vendor::Zlib => {
                let library = library::open(&["libz.so.1"], "sudo apt install zlib1g")?;
                Box::new(Zlib::new(library, "compress2", "uncompress", level)?)
            }
            Vendor::ZlibNg => {
                let library = library::open(&["libz-ng.so.2"], "https://github.com/zlib-ng/zlib-ng")?;
                Box::new(Zlib::new(library, "zng_compress2", "zng_uncompress", level)?)
            }
            Vendor::Libdeflate => Box::new(Libdeflate::new(level)?),
            Vendor::IsaL => Box::new(IsaL::new(level)?),
        })
    }
}

/// The crate flate2 with the backend that this workspace builds.
struct Flate2 {
    compress: Compress,
    decompress: Decompress,
}

impl Codec for Flate2 {
    fn compress(&mut self, from: &[u8], to: &mut [u8]) -> Option<usize> {
        self.compress.reset();
        let status = self.compress.compress(from, to, FlushCompress::Finish).ok()?;
        (status == Status::StreamEnd).then_some(self.compress.total_out() as usize)
    }

    fn decompress(&mut self, from: &[u8], to: &mut [u8]) -> Option<usize> {
        self.decompress.reset(true);
        let status = self.decompress.decompress(from, to, FlushDecompress::Finish).ok()?;
        (status == Status::StreamEnd).then_some(self.decompress.total_out() as usize)
    }
}

type Compress2 = unsafe extern "C" fn(*mut u8, *mut c_ulong, *const u8, c_ulong, c_int) -> c_int;
type Uncompress = unsafe extern "C" fn(*mut u8, *mut c_ulong, *const u8, c_ulong) -> c_int;

/// zlib, and zlib-ng, whose lengths are of type `size_t`: the same on Linux.
struct Zlib {
    compress2: Compress2,
    uncompress: Uncompress,
    level: c_int,
    /// Keeps the functions loaded.
    _library: Library,
}

impl Zlib {
    fn new(library: Library, compress2: &str, uncompress: &str, level: u32) -> Result<Zlib, Missing> {
        Ok(Zlib {
            compress2: function(&library, compress2)?,
            uncompress: function(&library, uncompress)?,
            level: level as c_int,
            _library: library,
        })
    }
}

#[expect(unsafe_code, reason = "a library in C")]
impl Codec for Zlib {
    fn compress(&mut self, from: &[u8], to: &mut [u8]) -> Option<usize> {
        let mut made = to.len() as c_ulong;
        // SAFETY: both buffers are as long as is said.
        let status = unsafe {
            (self.compress2)(to.as_mut_ptr(), &raw mut made, from.as_ptr(), from.len() as c_ulong, self.level)
        };
        (status == 0).then_some(made as usize)
    }

    fn decompress(&mut self, from: &[u8], to: &mut [u8]) -> Option<usize> {
        let mut made = to.len() as c_ulong;
        // SAFETY: both buffers are as long as is said.
        let status = unsafe {
            (self.uncompress)(to.as_mut_ptr(), &raw mut made, from.as_ptr(), from.len() as c_ulong)
        };
        (status == 0).then_some(made as usize)
    }
}

type Free = unsafe extern "C" fn(*mut c_void);

/// libdeflate, as its header describes it.
struct Libdeflate {
    compressor: *mut c_void,
    decompressor: *mut c_void,
    compress: unsafe extern "C" fn(*mut c_void, *const u8, usize, *mut u8, usize) -> usize,
    decompress: unsafe extern "C" fn(*mut c_void, *const u8, usize, *mut u8, usize, *mut usize) -> c_int,
    free: (Free, Free),
    /// Keeps the functions loaded.
    _library: Library,
}

#[expect(unsafe_code, reason = "a library in C")]
impl Libdeflate {
    fn new(level: u32) -> Result<Libdeflate, Missing> {
        let library = library::open(&["libdeflate.so.0"], "sudo apt install libdeflate0")?;
        type New = unsafe extern "C" fn() -> *mut c_void;
        type NewOfLevel = unsafe extern "C" fn(c_int) -> *mut c_void;
        let compressor: NewOfLevel = function(&library, "libdeflate_alloc_compressor")?;
        let decompressor: New = function(&library, "libdeflate_alloc_decompressor")?;
        // SAFETY: these allocate, for a level that exists.
        let (compressor, decompressor) = unsafe { (compressor(level as c_int), decompressor()) };
        assert!(!compressor.is_null() && !decompressor.is_null(), "there is memory for the library's state");
        Ok(Libdeflate {
            compressor,
            decompressor,
            compress: function(&library, "libdeflate_zlib_compress")?,
            decompress: function(&library, "libdeflate_zlib_decompress")?,
            free: (
                function(&library, "libdeflate_free_compressor")?,
                function(&library, "libdeflate_free_decompressor")?,
            ),
            _library: library,
        })
    }
}

// SAFETY: the library's states belong to this value alone, and may be used by any thread, one at a time.
#[expect(unsafe_code, reason = "a library in C")]
unsafe impl Send for Libdeflate {}

#[expect(unsafe_code, reason = "a library in C")]
impl Drop for Libdeflate {
    fn drop(&mut self) {
        // SAFETY: they are the library's own and used by nobody else.
        unsafe {
            (self.free.0)(self.compressor);
            (self.free.1)(self.decompressor);
        }
    }
}

#[expect(unsafe_code, reason = "a library in C")]
impl Codec for Libdeflate {
    fn compress(&mut self, from: &[u8], to: &mut [u8]) -> Option<usize> {
        // SAFETY: both buffers are as long as is said.
        let made =
            unsafe { (self.compress)(self.compressor, from.as_ptr(), from.len(), to.as_mut_ptr(), to.len()) };
        (made > 0).then_some(made)
    }

    fn decompress(&mut self, from: &[u8], to: &mut [u8]) -> Option<usize> {
        let (read, room, mut made) = (from.len(), to.len(), 0);
        // SAFETY: both buffers are as long as is said.
        let status = unsafe {
            (self.decompress)(self.decompressor, from.as_ptr(), read, to.as_mut_ptr(), room, &raw mut made)
        };
        (status == 0).then_some(made)
    }
}
