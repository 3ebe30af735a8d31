//! BLAS libraries of others, opened where they are installed: what most programs would call.

use crate::error::Missing;
use crate::library::open;
use libloading::Library;
use std::ffi::{CStr, c_char, c_int};

/// A library with the C interface of BLAS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Package {
    OpenBlas,
    Blis,
}

/// One that is open.
pub(crate) struct Blas {
    gemm: Gemm,
    gemv: Gemv,
    /// The library's own name of the kernels that it chose.
    pub(crate) kernels: String,
    /// Where the functions are: last, so that it goes last.
    _library: Library,
}

// The C interface of the BLAS standard (BLAS Technical Forum, 2001, appendix B), integers of 32 bits.
type Gemm = unsafe extern "C" fn(
    order: c_int,
    transpose_a: c_int,
    transpose_b: c_int,
    m: c_int,
    n: c_int,
    k: c_int,
    alpha: f64,
    a: *const f64,
    stride_a: c_int,
    b: *const f64,
    stride_b: c_int,
    beta: f64,
    c: *mut f64,
    stride_c: c_int,
);
type Gemv = unsafe extern "C" fn(
    order: c_int,
    transpose: c_int,
    m: c_int,
    n: c_int,
    alpha: f64,
    a: *const f64,
    stride_a: c_int,
    x: *const f64,
    stride_x: c_int,
    beta: f64,
    y: *mut f64,
    stride_y: c_int,
);
const COLUMN_MAJOR: c_int = 102;
const NO_TRANSPOSE: c_int = 111;
const TRANSPOSE: c_int = 112;

impl Package {
    fn files(self) -> &'static [&'static str] {
        match self {
            Package::OpenBlas => &["libopenblas.so.0", "libopenblas.so"],
            Package::Blis => &["libblis.so.4", "libblis.so.5", "libblis.so"],
        }
    }

    fn remedy(self) -> &'static str {
        match self {
            Package::OpenBlas => "sudo apt install libopenblas0-pthread",
            Package::Blis => "sudo apt install libblis4-pthread",
        }
    }

    /// What is missing of it here.
    pub(crate) fn missing(self) -> Option<Missing> {
        self.open(1).err()
    }

    /// Opens it, to use so many threads of its own.
    pub(crate) fn open(self, threads: usize) -> Result<Blas, Missing> {
        let library = open(self.files(), self.remedy())?;
        let lacks =
            |_| Missing::new(format!("{} has no C interface of BLAS", self.files()[0]), self.remedy());
        // SAFETY: these are the types of the standard's functions, and of the two libraries' own. The functions stay where they are as
        // long as the library is open, which is as long as the answer lives; names of kernels are constants of the library.
        unsafe {
            let kernels = match self {
                Package::OpenBlas => {
                    let set: unsafe extern "C" fn(c_int) =
                        *library.get(b"openblas_set_num_threads\0").map_err(lacks)?;
                    set(c_int::try_from(threads).unwrap_or(c_int::MAX));
                    let name: unsafe extern "C" fn() -> *const c_char =
                        *library.get(b"openblas_get_corename\0").map_err(lacks)?;
                    CStr::from_ptr(name())
                }
                Package::Blis => {
                    let set: unsafe extern "C" fn(isize) =
                        *library.get(b"bli_thread_set_num_threads\0").map_err(lacks)?;
                    set(isize::try_from(threads).unwrap_or(isize::MAX));
                    let (number, name) = blis_names(&library).map_err(lacks)?;
                    CStr::from_ptr(name(number()))
                }
            };
            let kernels = kernels.to_string_lossy().into_owned();
            let gemm = *library.get::<Gemm>(b"cblas_dgemm\0").map_err(lacks)?;
            let gemv = *library.get::<Gemv>(b"cblas_dgemv\0").map_err(lacks)?;
            Ok(Blas { gemm, gemv, kernels, _library: library })
        }
    }

    /// Variables that the process should have, or not have, when the library is loaded: so that it chooses its kernels by the processor.
    pub(crate) fn variables(self) -> Vec<(&'static str, Option<String>)> {
        match self {
            Package::OpenBlas => {
                let mut variables = OPENBLAS.variables(openblas_kernels);
                variables.push(("OPENBLAS_L2_SIZE", None));
                variables
            }
            Package::Blis => BLIS.variables(blis_architecture),
        }
    }
}

/// A library's variable that names its kernels, and ours beside it where that is our choice: with kernels named, a library does
/// not tell which it would have chosen itself, and BLIS ends the process if it is asked.
struct Named {
    variable: &'static str,
    told: &'static str,
}

const OPENBLAS: Named = Named { variable: "OPENBLAS_CORETYPE", told: "FIRSTTOUCH_OPENBLAS_CORETYPE" };
const BLIS: Named = Named { variable: "BLIS_ARCH_TYPE", told: "FIRSTTOUCH_BLIS_ARCH_TYPE" };

impl Named {
    /// Both variables: as they are told, or without any where somebody else has named kernels, or with what `choose` says.
    fn variables(&self, choose: impl FnOnce() -> Option<String>) -> Vec<(&'static str, Option<String>)> {
        let kernels = match std::env::var(self.told) {
            Ok(told) => Some(told),
            Err(_) if std::env::var_os(self.variable).is_some() => None,
            Err(_) => choose(),
        };
        vec![(self.variable, kernels.clone()), (self.told, kernels)]
    }
}

/// The kernels that OpenBLAS should take where it does not know the processor: it would take those of 2004 (Prescott, with SSE3).
/// `None` where it chooses itself.
fn openblas_kernels() -> Option<String> {
    let chosen = Package::OpenBlas.open(1).ok()?.kernels;
    let better = if avx512() { Some("SkylakeX") } else { avx2().then_some("Haswell") };
    better.filter(|_| chosen == "Prescott").map(str::to_owned)
}

/// The number of BLIS's kernels for AVX-512, where it would take plain C or AVX2 for a processor that has the extension: it looks for
/// models' names, which guests do not show. Numbers change with versions, so the library is asked for their names.
fn blis_architecture() -> Option<String> {
    let library = open(Package::Blis.files(), "").ok()?;
    // SAFETY: names are constants of the library, and end with "generic", which is the last.
    unsafe {
        let (chosen, name) = blis_names(&library).ok()?;
        let name = |number| CStr::from_ptr(name(number)).to_bytes();
        if ![&b"generic"[..], b"haswell"].contains(&name(chosen())) || !avx512() {
            return None;
        }
        let mut known = (0..).take_while(|number| name(*number) != b"generic");
        known.find(|number| name(*number) == b"skx").map(|number| number.to_string())
    }
}

/// BLIS's functions that answer the number of the kernels that it chose, and the name of a number.
///
/// # Safety
/// The library is BLIS; the functions are called while it is open.
unsafe fn blis_names(library: &Library) -> Result<(BlisNumber, BlisName), libloading::Error> {
    // SAFETY: the types are those of the library's headers since 0.2.
    unsafe { Ok((*library.get(b"bli_arch_query_id\0")?, *library.get(b"bli_arch_string\0")?)) }
}

type BlisNumber = unsafe extern "C" fn() -> c_int;
type BlisName = unsafe extern "C" fn(c_int) -> *const c_char;

fn avx512() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx512f") && std::arch::is_x86_feature_detected!("avx512dq");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

fn avx2() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

impl Blas {
    /// C = A B, all `n` by `n`, by columns.
    ///
    /// # Panics
    /// If one of them is smaller.
    pub(crate) fn product(&self, n: usize, a: &[f64], b: &[f64], c: &mut [f64]) {
        assert!(a.len().min(b.len()).min(c.len()) >= n * n, "matrices of n by n");
        let size = c_int::try_from(n).expect("matrices have fewer than 2^31 columns");
        let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
        // SAFETY: the three are as large as they are said to be.
        unsafe {
            (self.gemm)(
                COLUMN_MAJOR,
                NO_TRANSPOSE,
                NO_TRANSPOSE,
                size,
                size,
                size,
                1.0,
                a,
                size,
                b,
                size,
                0.0,
                c,
                size,
            );
        }
    }
}

/// Columns of a matrix that lies by columns, `stride` apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns<'a> {
    pub(crate) values: &'a [f64],
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) stride: usize,
}

impl Blas {
    /// x = A'y: the products of all columns with a vector.
    ///
    /// # Panics
    /// If something is smaller than it is said to be.
    pub(crate) fn products(&self, a: Columns<'_>, y: &[f64], x: &mut [f64]) {
        assert!(y.len() >= a.rows && x.len() >= a.columns);
        // OpenBLAS leaves products of no rows as they were.
        x[..a.columns].fill(0.0);
        // SAFETY: vectors are as long as the standard wants them for a transposed matrix.
        unsafe { self.vector(TRANSPOSE, 1.0, a, y, 0.0, x) };
    }

    /// y = y - A x: takes multiples of all columns away.
    ///
    /// # Panics
    /// If something is smaller than it is said to be.
    pub(crate) fn subtract(&self, a: Columns<'_>, x: &[f64], y: &mut [f64]) {
        assert!(x.len() >= a.columns && y.len() >= a.rows);
        // SAFETY: vectors are as long as the standard wants them.
        unsafe { self.vector(NO_TRANSPOSE, -1.0, a, x, 1.0, y) };
    }

    /// # Safety
    /// Vectors are as long as the standard says for `transpose`.
    unsafe fn vector(
        &self,
        transpose: c_int,
        alpha: f64,
        a: Columns<'_>,
        x: &[f64],
        beta: f64,
        y: &mut [f64],
    ) {
        if a.columns == 0 {
            return;
        }
        assert!(a.rows <= a.stride && a.values.len() >= (a.columns - 1) * a.stride + a.rows);
        let [rows, columns, stride] = [a.rows, a.columns, a.stride]
            .map(|size| c_int::try_from(size).expect("vectors have fewer than 2^31 numbers"));
        let (a, x, y) = (a.values.as_ptr(), x.as_ptr(), y.as_mut_ptr());
        // SAFETY: the matrix is as large as it is said to be, and of the vectors the caller says so.
        unsafe { (self.gemv)(COLUMN_MAJOR, transpose, rows, columns, alpha, a, stride, x, 1, beta, y, 1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_multiplies_as_the_standard_says() {
        for package in [Package::OpenBlas, Package::Blis] {
            let Ok(library) = package.open(2) else { continue };
            let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
            let mut c = [f64::NAN; 4];
            library.product(2, &a, &b, &mut c);
            assert_eq!(c, [23.0, 34.0, 31.0, 46.0], "{package:?}");
            let columns = Columns { values: &[1.0, 2.0, f64::NAN, 3.0, 4.0], rows: 2, columns: 2, stride: 3 };
            let (mut x, mut y) = ([0.0; 2], [10.0, 20.0]);
            library.products(columns, &y, &mut x);
            assert_eq!(x, [50.0, 110.0], "{package:?}");
            library.subtract(columns, &[1.0, 2.0], &mut y);
            assert_eq!(y, [3.0, 10.0], "{package:?}");
            library.products(Columns { columns: 0, ..columns }, &y, &mut []);
        }
    }
}
