//! McCalpin's STREAM: what memory gives to loops that do next to nothing.

mod loops;

use crate::array::Array;
use crate::case::{About, Case, Given, Prepared, Unit, Variant, Work, Workload};
use crate::checksum::Checksum;
use crate::error::{CaseError, Missing};
use crate::outside::{missing_numpy, python_script};
use crate::parameter::{Kind, Parameter};
use crate::share::{cut, cut_slice, each};
use crate::texts;
use firsttouch_measure::{Limit, mix};
use firsttouch_threads::Team;
use loops::{Kernel, Pass, Stores};
use std::ffi::OsStr;

/// Copy, scale, add or triad over arrays of doubles.
#[derive(Debug)]
pub(crate) struct Stream;

static ABOUT: About = About {
    name: "stream",
    summary: "copies, scales, adds arrays of doubles, or two of these at once",
    source: "STREAM (McCalpin)",
    parameters: &[
        Parameter::new(
            "kernel",
            "c = a, b = 3c, c = a + b, or a = b + 3c",
            Kind::Word(&["copy", "scale", "add", "triad"]),
            ["triad", "triad"],
        ),
        Parameter::new(
            "array",
            "size of each of the three arrays",
            Kind::Bytes(64, 1 << 40),
            ["512M", "128M"],
        ),
    ],
    variants: &[
        Variant::ours(
            "past-caches",
            "vectors, stored past the caches: a line that is written is not read first",
        ),
        Variant::ours("regular", "vectors, stored through the caches"),
        Variant::ours("plain", "what the compiler makes of a plain loop"),
        Variant::others("numpy", "NumPy, one thread"),
    ],
    steps: 10,
    unit: Unit::Bandwidth,
    bound: Some(Limit::Copy),
};

impl Case for Stream {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn missing(&self, variant: &Variant, path: Option<&OsStr>) -> Option<Missing> {
        if variant.name == "numpy" { missing_numpy(path) } else { None }
    }

    fn prepare(&self, given: &mut Given<'_>) -> Result<Prepared, CaseError> {
        let elements = given.arguments.number("array") / size_of::<f64>();
        let kernel = Kernel::of(given.arguments.word("kernel"));
        let stores = match given.variant.name {
            "past-caches" => Stores::PastCaches,
            "regular" => Stores::Regular,
            "plain" => Stores::Plain,
            _ => {
                let arguments = vec![given.arguments.word("kernel").to_owned(), elements.to_string()];
                return Ok(Prepared::Outside(python_script(texts::STREAM_STREAM_PY, arguments)));
            }
        };
        let mut arrays = [
            given.arrays.zeroed("a", elements)?,
            given.arrays.zeroed("b", elements)?,
            given.arrays.zeroed("c", elements)?,
        ];
        for (array, values) in arrays.iter_mut().zip(0..) {
            let members = given.team.size();
            let starts = cut(elements, members, LINE).into_iter().map(|part| part.start as u64);
            let parts = starts.zip(cut_slice(array, members, LINE)).collect();
            each(given.team, parts, |_, (start, part)| {
                (start..).zip(part).for_each(|(place, to)| *to = value(values, place));
            });
        }
        Ok(Prepared::Here(Box::new(Streaming { arrays, kernel, pass: loops::pass(kernel, stores) })))
    }
}

/// Elements of a cache line, with which parts begin.
const LINE: usize = 8;

/// What lies at a place of an array: a whole number of 20 bits, so that no kernel rounds and all variants agree to the last bit.
fn value(array: u64, place: u64) -> f64 {
    (mix(3 * place + array) >> 44) as f64
}

struct Streaming {
    arrays: [Array<f64>; 3],
    kernel: Kernel,
    pass: Pass,
}

impl Streaming {
    /// The array that is written, and those that are read; a kernel that reads one reads it as both.
    fn roles(&mut self) -> (&mut [f64], &[f64], &[f64]) {
        let [a, b, c] = &mut self.arrays;
        match self.kernel {
            Kernel::Copy => (c, a, a),
            Kernel::Scale => (b, c, c),
            Kernel::Add => (c, a, b),
            Kernel::Triad => (a, b, c),
        }
    }
}

impl Workload for Streaming {
    fn step(&mut self, team: &mut Team) {
        let (pass, members) = (self.pass, team.size());
        let (to, x, y) = self.roles();
        let ranges = cut(to.len(), members, LINE);
        let parts = ranges.into_iter().zip(cut_slice(to, members, LINE)).collect();
        each(team, parts, |_, (range, to)| pass(to, &x[range.clone()], &y[range]));
    }

    fn checksum(&self) -> Checksum {
        let written = match self.kernel {
            Kernel::Triad => &self.arrays[0],
            Kernel::Scale => &self.arrays[1],
            Kernel::Copy | Kernel::Add => &self.arrays[2],
        };
        Checksum::of_words(written.iter().map(|value| value.to_bits()))
    }

    /// Counted as STREAM counts: what is read and what is written, and nothing for lines that are read before they are written.
    fn work(&self) -> Work {
        let elements = self.arrays[0].len() as u64;
        let (words, operations) = match self.kernel {
            Kernel::Copy => (2, 0),
            Kernel::Scale => (2, 1),
            Kernel::Add => (3, 1),
            Kernel::Triad => (3, 2),
        };
        Work { bytes: elements * words * size_of::<f64>() as u64, operations: elements * operations }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::here::stepped;

    #[test]
    fn kernels_do_what_mccalpin_says_and_count_it_so() {
        const ELEMENTS: u64 = 1003;
        let [a, b, c] = [0, 1, 2].map(|array| move |place| value(array, place));
        type Element = Box<dyn Fn(u64) -> f64>;
        let kernels: [(&str, Element, u64, u64); 4] = [
            ("copy", Box::new(a), 16, 0),
            ("scale", Box::new(move |place| 3.0 * c(place)), 16, 1),
            ("add", Box::new(move |place| a(place) + b(place)), 24, 1),
            ("triad", Box::new(move |place| b(place) + 3.0 * c(place)), 24, 2),
        ];
        for (kernel, element, bytes, operations) in kernels {
            let expected = Checksum::of_words((0..ELEMENTS).map(|place| element(place).to_bits()));
            for variant in ["past-caches", "regular", "plain"] {
                for threads in [1, 2] {
                    let chosen = [("kernel", kernel), ("array", &*(ELEMENTS * 8).to_string())];
                    let seen = stepped(&Stream, variant, &chosen, threads);
                    let work = Work { bytes: bytes * ELEMENTS, operations: operations * ELEMENTS };
                    assert_eq!(seen, (expected, work), "{kernel} {variant}");
                }
            }
        }
    }
}
