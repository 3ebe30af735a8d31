//! Intel's Intelligent Storage Acceleration Library, where it is installed.

use crate::error::Missing;
use crate::library;
use libloading::{Library, Symbol};
use std::ffi::{c_int, c_uchar, c_void};

/// The library.
#[derive(Debug)]
pub(crate) struct Isal {
    library: Library,
}

type XorGen = unsafe extern "C" fn(c_int, c_int, *mut *mut c_void) -> c_int;
type InitTables = unsafe extern "C" fn(c_int, c_int, *const c_uchar, *mut c_uchar);
type EncodeData =
    unsafe extern "C" fn(c_int, c_int, c_int, *const c_uchar, *const *const c_uchar, *const *mut c_uchar);

impl Isal {
    /// Opens it, and looks whether it has what is called here.
    pub(crate) fn open() -> Result<Isal, Missing> {
        let isal = Isal { library: library::open(&["libisal.so.2"], "sudo apt install libisal2")? };
        for name in ["xor_gen", "ec_init_tables", "ec_encode_data"] {
            // SAFETY: nothing is done with what is found.
            let found = unsafe { isal.library.get::<*const c_void>(name) };
            found.map_err(|_| {
                Missing::new(format!("libisal.so.2 has no {name}"), "sudo apt install libisal2")
            })?;
        }
        Ok(isal)
    }

    fn function<F>(&self, name: &str) -> Symbol<'_, F> {
        // SAFETY: callers below name the functions and their types as `raid.h` and `erasure_code.h` have them.
        unsafe { self.library.get(name) }.expect("looked for when the library was opened")
    }

    /// The exclusive-or of all sources.
    pub(crate) fn xor(&self, target: &mut [u64], sources: &[&[u64]]) {
        let length = same_length(target.len(), sources);
        let mut pointers: Vec<*mut c_void> =
            sources.iter().map(|source| source.as_ptr().cast_mut().cast()).collect();
        pointers.push(target.as_mut_ptr().cast());
        let generate = self.function::<XorGen>("xor_gen");
        assert_eq!(target.as_ptr().cast::<u8>().align_offset(32), 0, "an aligned target");
        // SAFETY: all are of that length, begin where 32 bytes do, as `raid.h` wants it, and only the last is written.
        let failed = unsafe { generate(pointers.len() as c_int, length, pointers.as_mut_ptr()) };
        assert_eq!(failed, 0, "xor_gen takes two sources and more");
    }

    /// What [`Isal::product`] reads: 32 bytes for each coefficient, those of a target one after the other.
    pub(crate) fn tables(&self, sources: usize, coefficients: &[u8]) -> Vec<u8> {
        let mut tables = vec![0; 32 * coefficients.len()];
        let (sources, targets) = (sources as c_int, (coefficients.len() / sources) as c_int);
        let init = self.function::<InitTables>("ec_init_tables");
        // SAFETY: there are as many coefficients as sources times targets, and 32 times as many bytes of tables.
        unsafe { init(sources, targets, coefficients.as_ptr(), tables.as_mut_ptr()) };
        tables
    }

    /// Each target is the sum of all sources, each times its coefficient.
    pub(crate) fn product(&self, tables: &[u8], sources: &[&[u64]], targets: &mut [&mut [u64]]) {
        assert_eq!(tables.len(), 32 * sources.len() * targets.len(), "tables of these sources and targets");
        let length = targets.iter().map(|target| same_length(target.len(), sources)).max().unwrap_or(0);
        let from: Vec<*const c_uchar> = sources.iter().map(|source| source.as_ptr().cast()).collect();
        let to: Vec<*mut c_uchar> = targets.iter_mut().map(|target| target.as_mut_ptr().cast()).collect();
        let encode = self.function::<EncodeData>("ec_encode_data");
        let (k, rows) = (from.len() as c_int, to.len() as c_int);
        // SAFETY: all are of that length, and there are tables for all.
        unsafe { encode(length, k, rows, tables.as_ptr(), from.as_ptr(), to.as_ptr()) };
    }
}

/// The length of a target and of its sources, in bytes.
fn same_length(target: usize, sources: &[&[u64]]) -> c_int {
    let alike =
        |source: &&[u64]| source.len() == target && source.as_ptr().cast::<u8>().align_offset(32) == 0;
    assert!(sources.iter().all(alike), "sources as long as the target, aligned");
    c_int::try_from(8 * target).expect("blocks are at most 1 GiB")
}
