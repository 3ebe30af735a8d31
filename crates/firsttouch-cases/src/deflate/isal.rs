//! ISA-L's igzip. Its states are structures of the caller's, laid out as in `isa-l/igzip_lib.h` of version 2.30.
#![expect(unsafe_code, reason = "a library in C")]

use super::codec::{Codec, function};
use crate::error::Missing;
use crate::library;
use libloading::Library;
use std::ffi::c_int;

/// The head of `struct isal_zstream`, of 82384 bytes, and room for the rest and more.
#[repr(C, align(64))]
struct Deflate {
    next_in: *const u8,
    avail_in: u32,
    total_in: u32,
    next_out: *mut u8,
    avail_out: u32,
    total_out: u32,
    hufftables: *mut u8,
    level: u32,
    level_buf_size: u32,
    level_buf: *mut u8,
    end_of_stream: u16,
    flush: u16,
    gzip_flag: u16,
    hist_bits: u16,
    state: [u64; 1 << 14],
}

/// The head of `struct inflate_state`, of 87368 bytes, and room for the rest and more.
#[repr(C, align(64))]
struct Inflate {
    next_out: *mut u8,
    avail_out: u32,
    total_out: u32,
    next_in: *const u8,
    read_in: u64,
    avail_in: u32,
    state: [u32; 1 << 15],
}

/// Where behind the head the member `crc_flag` is, which says what is around the stream.
const CRC_FLAG: usize = (21_172 - 36) / 4;
/// `IGZIP_ZLIB` and `ISAL_ZLIB`: zlib's header and checksum.
const ZLIB: u16 = 3;
/// The library's highest level.
const LEVELS: u32 = 3;
/// More than any level wants (`ISAL_DEF_LVL3_DEFAULT` is 348160).
const LEVEL_BYTES: usize = 1 << 19;

/// The library and its states for one thread.
pub(super) struct IsaL {
    deflate: Box<Deflate>,
    inflate: Box<Inflate>,
    level: u32,
    level_buf: Vec<u64>,
    begin_deflate: unsafe extern "C" fn(*mut Deflate),
    run_deflate: unsafe extern "C" fn(*mut Deflate) -> c_int,
    begin_inflate: unsafe extern "C" fn(*mut Inflate),
    run_inflate: unsafe extern "C" fn(*mut Inflate) -> c_int,
    /// Keeps the functions loaded.
    _library: Library,
}

// SAFETY: pointers in the states are to buffers of one call, or into the library, and looked at in calls only.
unsafe impl Send for IsaL {}

impl IsaL {
    /// Levels above its own are its highest.
    pub(super) fn new(level: u32) -> Result<IsaL, Missing> {
        let library = library::open(&["libisal.so.2"], "sudo apt install libisal2")?;
        let none = std::ptr::null_mut();
        Ok(IsaL {
            deflate: Box::new(Deflate {
                next_in: none,
                avail_in: 0,
                total_in: 0,
                next_out: none,
                avail_out: 0,
                total_out: 0,
                hufftables: none,
                level: 0,
                level_buf_size: 0,
                level_buf: none,
                end_of_stream: 0,
                flush: 0,
                gzip_flag: 0,
                hist_bits: 0,
                state: [0; 1 << 14],
            }),
            inflate: Box::new(Inflate {
                next_out: none,
                avail_out: 0,
                total_out: 0,
                next_in: none,
                read_in: 0,
                avail_in: 0,
                state: [0; 1 << 15],
            }),
            level: level.min(LEVELS),
            level_buf: vec![0; LEVEL_BYTES / 8],
            begin_deflate: function(&library, "isal_deflate_stateless_init")?,
            run_deflate: function(&library, "isal_deflate_stateless")?,
            begin_inflate: function(&library, "isal_inflate_init")?,
            run_inflate: function(&library, "isal_inflate_stateless")?,
            _library: library,
        })
    }
}

impl Codec for IsaL {
    fn compress(&mut self, from: &[u8], to: &mut [u8]) -> Option<usize> {
        let it = &mut *self.deflate;
        // SAFETY: there is room for the whole structure; buffers are as long as is said.
        let status = unsafe {
            (self.begin_deflate)(it);
            (it.next_in, it.avail_in) = (from.as_ptr(), u32::try_from(from.len()).ok()?);
            (it.next_out, it.avail_out) = (to.as_mut_ptr(), u32::try_from(to.len()).ok()?);
            (it.level, it.level_buf, it.level_buf_size) =
                (self.level, self.level_buf.as_mut_ptr().cast(), LEVEL_BYTES as u32);
            (it.end_of_stream, it.gzip_flag) = (1, ZLIB);
            (self.run_deflate)(it)
        };
        (status == 0).then_some(it.total_out as usize)
    }

    fn decompress(&mut self, from: &[u8], to: &mut [u8]) -> Option<usize> {
        let it = &mut *self.inflate;
        // SAFETY: there is room for the whole structure; buffers are as long as is said.
        let status = unsafe {
            (self.begin_inflate)(it);
            (it.next_in, it.avail_in) = (from.as_ptr(), u32::try_from(from.len()).ok()?);
            (it.next_out, it.avail_out) = (to.as_mut_ptr(), u32::try_from(to.len()).ok()?);
            it.state[CRC_FLAG] = ZLIB.into();
            (self.run_inflate)(it)
        };
        (status == 0).then_some(it.total_out as usize)
    }
}
