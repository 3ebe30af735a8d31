//! Functions of the C library's `math.h` over arrays: a product of logarithms, and the exponential function and the inverse
//! hyperbolic cosine of those elements that have one or are wanted.
//!
//! Source: *Thread Parallelism in Cython* for `log(a) * log(b)` of numbers from -1 to 1, of which three quarters of the results
//! are no numbers; *Implementing a masked SVML-like function explicitly in user defined way* for what is computed of some elements
//! only: the others get a value that is harmless before, and their own result afterwards.

#[cfg(target_arch = "x86_64")]
mod functions;
#[cfg(target_arch = "x86_64")]
mod libraries;
mod pass;
#[cfg(target_arch = "x86_64")]
mod reals;
#[cfg(test)]
mod tests;

use crate::array::Array;
use crate::case::{About, Case, Given, Prepared, Unit, Variant, Work, Workload};
use crate::checksum::Checksum;
use crate::error::{CaseError, Missing};
use crate::outside::{missing_module, missing_numpy, python_script};
use crate::parameter::{Kind, Parameter};
use crate::share::{cut, cut_slice, each};
use crate::texts;
use firsttouch_measure::{Limit, mix};
use firsttouch_threads::Team;
use pass::{Function, How, Pass};
use std::ffi::OsStr;

/// Functions over arrays.
#[derive(Debug)]
pub(crate) struct VecMath;

static ABOUT: About = About {
    name: "vecmath",
    summary: "logarithms, exponentials, inverse hyperbolic cosines of arrays",
    source: "Thread Parallelism in Cython; Implementing a masked SVML-like function explicitly in user defined way",
    parameters: &[
        Parameter::new(
            "function",
            "log(a)*log(b) on [-1, 1); exp(a) where a > 0, or acosh(a) where a > 1, otherwise 0, on [-8, 8)",
            Kind::Word(Function::WORDS),
            ["log-log", "log-log"],
        ),
        Parameter::new(
            "elements",
            "doubles of each array; the articles have 104857600 and 8388608",
            Kind::Count(1, 1 << 37),
            ["104857600", "4194304"],
        ),
    ],
    variants: &[
        Variant::ours("fused", "one pass in the widest vectors, stored past the caches"),
        Variant::ours("regular", "the same, stored through the caches"),
        Variant::ours(
            "unmasked",
            "as fused; elements that are not wanted are computed as they are, and left out",
        ),
        Variant::ours("fused-avx2", "as fused, in vectors of 256 bits"),
        Variant::ours("branching", "a plain loop with a branch, and the C library's functions"),
        Variant::others("sleef", "SLEEF's functions (1.0 units in the last place) in the loop of fused"),
        Variant::others("libmvec", "glibc's vector functions in the loop of fused"),
        Variant::others("numpy", "NumPy, one thread"),
        Variant::others("numba", "Numba's prange"),
    ],
    steps: 8,
    unit: Unit::Latency("ns/element"),
    bound: Some(Limit::Copy),
};

/// What computes a pass.
enum Computing {
    Ours(Pass),
    #[cfg(target_arch = "x86_64")]
    Theirs(libraries::Theirs),
}

impl Computing {
    fn pass(&self, how: How, to: &mut [f64], x: &[f64], y: &[f64]) {
        match self {
            Computing::Ours(pass) => pass(how, to, x, y),
            #[cfg(target_arch = "x86_64")]
            Computing::Theirs(theirs) => theirs.pass(how, to, x, y),
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn vendor(variant: &str) -> Option<libraries::Vendor> {
    match variant {
        "sleef" => Some(libraries::Vendor::Sleef),
        "libmvec" => Some(libraries::Vendor::Libmvec),
        _ => None,
    }
}

fn computing(function: Function, variant: &str) -> Result<Computing, CaseError> {
    #[cfg(target_arch = "x86_64")]
    if let Some(vendor) = vendor(variant) {
        return Ok(Computing::Theirs(libraries::Theirs::new(vendor, function)?));
    }
    let vectors = match variant {
        "branching" => None,
        "fused-avx2" => pass::avx2(function),
        _ => pass::widest(function),
    };
    Ok(Computing::Ours(vectors.unwrap_or_else(|| pass::branching(function))))
}

impl Case for VecMath {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn missing(&self, variant: &Variant, path: Option<&OsStr>) -> Option<Missing> {
        match variant.name {
            "fused-avx2" => pass::avx2(Function::LogLog).is_none().then(Missing::avx2),
            #[cfg(target_arch = "x86_64")]
            "sleef" | "libmvec" => vendor(variant.name)?.open().err(),
            #[cfg(not(target_arch = "x86_64"))]
            "sleef" | "libmvec" => Some(Missing::avx2()),
            "numpy" => missing_numpy(path),
            "numba" => missing_module("numba", path, "pip install numba"),
            _ => None,
        }
    }

    fn prepare(&self, given: &mut Given<'_>) -> Result<Prepared, CaseError> {
        let function = Function::of(given.arguments.word("function"));
        let elements = given.arguments.number("elements");
        let variant = given.variant.name;
        if matches!(variant, "numpy" | "numba") {
            let word = given.arguments.word("function").to_owned();
            let script = texts::VECMATH_VECMATH_PY;
            let mut outside = python_script(script, vec![word, variant.to_owned(), elements.to_string()]);
            outside.variables.push(("NUMBA_NUM_THREADS", given.team.size().to_string()));
            return Ok(Prepared::Outside(outside));
        }
        let how = How { patched: variant != "unmasked", past_caches: variant != "regular" };
        let computing = computing(function, variant)?;
        let members = given.team.size();
        let made = given.arrays.zeroed("c", elements)?;
        let second = if function.inputs() == 2 { elements } else { 0 };
        let mut inputs = [given.arrays.zeroed("a", elements)?, given.arrays.zeroed("b", second)?];
        for (array, input) in inputs.iter_mut().zip(0..) {
            let starts = cut(array.len(), members, LINE).into_iter().map(|part| part.start as u64);
            let parts = starts.zip(cut_slice(array, members, LINE)).collect();
            each(given.team, parts, |_, (start, part)| {
                (start..).zip(part).for_each(|(place, to)| *to = value(function, input, place));
            });
        }
        let cpus = given.team.map(|member| member.cpu());
        let mut mapped = Mapping { function, how, computing, inputs, made, cpus };
        mapped.step(given.team);
        Ok(Prepared::Here(Box::new(mapped)))
    }
}

/// Elements of a cache line, with which parts begin.
const LINE: usize = 8;

/// What lies at a place of an array: from -1 to 1 for logarithms, from -8 to 8 for the others.
fn value(function: Function, array: u64, place: u64) -> f64 {
    let most = if function == Function::LogLog { 1.0 } else { 8.0 };
    // A whole number of 53 bits, of which half is 2^52.
    let random = (mix(2 * place + array) >> 11) as f64;
    random * (most / 4_503_599_627_370_496.0) - most
}

struct Mapping {
    function: Function,
    how: How,
    computing: Computing,
    inputs: [Array<f64>; 2],
    made: Array<f64>,
    /// Those of the threads, in their order.
    cpus: Vec<u32>,
}

impl Workload for Mapping {
    fn step(&mut self, team: &mut Team) {
        let members = team.size();
        let (how, computing, first) = (self.how, &self.computing, &*self.inputs[0]);
        let second = if self.function.inputs() == 2 { &*self.inputs[1] } else { first };
        let ranges = cut(self.made.len(), members, LINE);
        let parts = ranges.into_iter().zip(cut_slice(&mut self.made, members, LINE)).collect();
        each(team, parts, |_, (range, to)| computing.pass(how, to, &first[range.clone()], &second[range]));
    }

    /// A weighted sum of numbers above 0, to which an element that is none adds what no result is likely to be at its place.
    fn checksum(&self) -> Checksum {
        let weights = (0..7).map(|weight| f64::from(weight + 1)).cycle();
        let told = self.made.iter().map(|made| match made {
            made if made.is_nan() => 2.0,
            made if made.is_infinite() => 3.0,
            made => *made,
        });
        // Each result may be wrong by 4e-16 of it, and the sum in this order by a hundredth of this.
        Checksum::Near { value: weights.zip(told).map(|(weight, made)| weight * made).sum(), within: 1e-11 }
    }

    /// Each array once.
    fn work(&self) -> Work {
        let elements = self.made.len() as u64;
        let arrays = self.function.inputs() as u64 + 1;
        Work { bytes: elements * arrays * size_of::<f64>() as u64, operations: elements }
    }

    /// What the article's program prints of each process beside its seconds.
    fn notes(&self) -> Vec<String> {
        let cpus: Vec<String> = self.cpus.iter().map(u32::to_string).collect();
        vec![format!("threads: {}, on CPUs {}", cpus.len(), cpus.join(","))]
    }
}
