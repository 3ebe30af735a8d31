//! The vector functions of SLEEF and of glibc's libmvec, in the loops that ours are in.
#![expect(unsafe_code, reason = "libraries in C")]

use super::pass::{Function, How, vectors, whole_vectors};
use super::reals::Reals;
use crate::error::Missing;
use crate::library;
use libloading::{Library, Symbol};
use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{__m256d, __m512d};

// Vectors have a place in the calling convention, if none in C itself.
#[expect(improper_ctypes_definitions, reason = "the vector function ABI passes them in registers")]
type Wide = unsafe extern "C" fn(__m512d) -> __m512d;
#[expect(improper_ctypes_definitions, reason = "as above")]
type Narrow = unsafe extern "C" fn(__m256d) -> __m256d;

/// A library's function, for the widest vectors of the processor.
#[derive(Clone, Copy, Debug)]
enum Call {
    Wide(Wide),
    Narrow(Narrow),
}

/// One function of a library.
#[derive(Debug)]
pub(super) struct Theirs {
    function: Function,
    call: Call,
    /// Keeps it loaded.
    _library: Library,
}

/// Whose functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vendor {
    /// SLEEF's, wrong by one unit in the last place at most.
    Sleef,
    /// glibc's, by four.
    Libmvec,
}

impl Vendor {
    pub(super) fn open(self) -> Result<Library, Missing> {
        if !(is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")) {
            return Err(Missing::avx2());
        }
        match self {
            Vendor::Sleef => library::open(&["libsleef.so.3"], "sudo apt install libsleef3"),
            Vendor::Libmvec => library::open(&["libmvec.so.1"], "glibc 2.35 or later"),
        }
    }

    fn symbol(self, name: &str, wide: bool) -> String {
        match (self, wide) {
            (Vendor::Sleef, true) => format!("Sleef_{name}d8_u10avx512f"),
            (Vendor::Sleef, false) => format!("Sleef_{name}d4_u10avx2"),
            (Vendor::Libmvec, true) => format!("_ZGVeN8v_{name}"),
            (Vendor::Libmvec, false) => format!("_ZGVdN4v_{name}"),
        }
    }
}

impl Theirs {
    pub(super) fn new(vendor: Vendor, function: Function) -> Result<Theirs, Missing> {
        let library = vendor.open()?;
        let name = match function {
            Function::LogLog => "log",
            Function::MaskedExp => "exp",
            Function::MaskedAcosh => "acosh",
        };
        let wide = is_x86_feature_detected!("avx512f");
        let symbol = vendor.symbol(name, wide);
        let lacks =
            |_| Missing::new(format!("the library has no {symbol}"), "a later version of the library");
        // SAFETY: these take and give a vector each, as the vector function ABI for x86-64 says and SLEEF's manual.
        let call = unsafe {
            if wide {
                let found: Symbol<'_, Wide> = library.get(symbol.as_str()).map_err(lacks)?;
                Call::Wide(*found)
            } else {
                let found: Symbol<'_, Narrow> = library.get(symbol.as_str()).map_err(lacks)?;
                Call::Narrow(*found)
            }
        };
        Ok(Theirs { function, call, _library: library })
    }

    /// A pass with the library's function.
    pub(super) fn pass(&self, how: How, to: &mut [f64], x: &[f64], y: &[f64]) {
        let function = self.function;
        whole_vectors(to, x, y, |to, x, y| {
            // SAFETY: `open` asked for AVX2, the call was chosen by what the processor has, and these are whole vectors.
            unsafe {
                match self.call {
                    Call::Wide(call) => wide(call, function, how, to, x, y),
                    Call::Narrow(call) => narrow(call, function, how, to, x, y),
                }
            }
        });
    }
}

macro_rules! pass {
    ($name:ident, $features:literal, $vector:ty, $call:ty) => {
        /// # Safety
        /// The processor has what the call needs, and parts are equally long and whole vectors.
        #[target_feature(enable = $features)]
        unsafe fn $name(call: $call, function: Function, how: How, to: &mut [f64], x: &[f64], y: &[f64]) {
            let (threshold, patch) = function.threshold_and_patch();
            let element = |x: $vector, y: $vector| {
                let active = x.above(x.every(threshold));
                let harmless = <$vector>::select(active, x, x.every(patch));
                // SAFETY: as the caller vouches.
                unsafe {
                    match function {
                        Function::LogLog => call(x).mul(call(y)),
                        Function::MaskedExp | Function::MaskedAcosh => {
                            <$vector>::select(active, call(harmless), x.every(0.0))
                        }
                    }
                }
            };
            // SAFETY: as the caller vouches.
            unsafe { vectors::<$vector>(how, to, x, y, element) }
        }
    };
}

pass!(wide, "avx512f", __m512d, Wide);
pass!(narrow, "avx2,fma", __m256d, Narrow);
