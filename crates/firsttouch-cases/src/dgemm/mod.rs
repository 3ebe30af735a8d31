//! C = A B in double precision: packed blocks and micro-kernels.
//!
//! The case of *Intel Xeon Phi Processor 7200 Family Memory Management Optimizations*: matrices by columns, A and B packed into strips,
//! a tile of C in registers, and every array where somebody decides. Its arguments `64 1 336 112 43008 43008 dynamic 2` are the
//! team and its order, `depth`, `columns`, `n`, `rows`, `schedule` and `chunk`; its pair of prefetch distances are `ahead-l2` and
//! `ahead-l1`.

#[expect(unsafe_code, reason = "vector instructions")]
mod kernels;
mod packed;

use crate::array::Array;
use crate::blas::{Blas, Package};
use crate::case::{About, Case, Given, Prepared, Unit, Variant, Work, Workload};
use crate::checksum::{Checksum, weighted_sum};
use crate::error::{CaseError, Missing};
use crate::parameter::{Arguments, Kind, Parameter};
use crate::share::{cut, cut_slice, each};
use firsttouch_measure::{Limit, mix};
use firsttouch_threads::{Schedule, Team};
use kernels::{Ahead, Kernel};
pub(crate) use packed::pack_b;
use packed::{Blocks, Packed};
use std::ffi::OsStr;

/// Multiplication of matrices.
#[derive(Debug)]
pub(crate) struct Dgemm;

static ABOUT: About = About {
    name: "dgemm",
    summary: "product of two matrices in double precision, by packed blocks",
    source: "Intel Xeon Phi Processor 7200 Family Memory Management Optimizations",
    parameters: &[
        Parameter::new("n", "rows and columns of each matrix", Kind::Count(1, 1 << 20), ["4096", "1024"]),
        Parameter::new(
            "depth",
            "columns of A and rows of B that are packed at a time",
            Kind::Count(1, 1 << 20),
            ["512", "512"],
        ),
        Parameter::new("columns", "columns of a block of C", Kind::Count(1, 1 << 20), ["224", "224"]),
        Parameter::new("rows", "rows of a block of C", Kind::Count(1, 1 << 20), ["120", "120"]),
        Parameter::new(
            "schedule",
            "how blocks of C are handed out, as in OpenMP; auto is guided with chunks of 4",
            Kind::Word(&["auto", "static", "dynamic", "guided"]),
            ["auto", "auto"],
        ),
        Parameter::new(
            "chunk",
            "blocks that are handed out at a time, at least; 0 is what OpenMP takes when nothing is said",
            Kind::Count(0, 1 << 20),
            ["0", "0"],
        ),
        Parameter::new(
            "ahead-l2",
            "steps ahead at which strips are prefetched into the second-level cache; 0 does not",
            Kind::Count(0, 4096),
            ["0", "0"],
        ),
        Parameter::new(
            "ahead-l1",
            "steps ahead at which strips are prefetched into the first-level cache; 0 does not",
            Kind::Count(0, 4096),
            ["16", "16"],
        ),
    ],
    variants: &[
        Variant::ours("packed", "tiles of 24 x 8 by AVX-512, else 8 x 6 by AVX2, else 8 x 4 by plain code"),
        Variant::ours("8x28", "the article's tile by AVX-512, with sums in 28 registers"),
        Variant::ours("avx2", "tiles of 8 x 6 by AVX2"),
        Variant::ours("portable", "tiles of 8 x 4 by plain code"),
        Variant::others("openblas", "OpenBLAS"),
        Variant::others("blis", "BLIS"),
    ],
    steps: 3,
    unit: Unit::Rate("GFLOP/s"),
    bound: Some(Limit::MultiplyAdd),
};

impl Case for Dgemm {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn missing(&self, variant: &Variant, _: Option<&OsStr>) -> Option<Missing> {
        match package(variant) {
            Some(package) => package.missing(),
            None => kernel(variant).err(),
        }
    }

    fn variables(&self, variant: &Variant) -> Vec<(&'static str, Option<String>)> {
        package(variant).map(Package::variables).unwrap_or_default()
    }

    fn prepare(&self, given: &mut Given<'_>) -> Result<Prepared, CaseError> {
        let n = given.arguments.number("n");
        let way = match package(given.variant) {
            Some(package) => Way::Library(package.open(given.team.size())?),
            None => {
                let (kernel, blocks) = (kernel(given.variant)?, blocks(given.arguments));
                Way::Packed(Packed::new(n, kernel, blocks, given.arrays, given.team)?)
            }
        };
        let mut matrix = |name, value: &(dyn Fn(usize) -> f64 + Sync)| {
            let mut matrix = given.arrays.zeroed::<f64>(name, n * n)?;
            let members = given.team.size();
            let starts = cut(n * n, members, n).into_iter().map(|part| part.start);
            let parts = starts.zip(cut_slice(&mut matrix, members, n)).collect();
            each(given.team, parts, |_, (start, part)| {
                (start..).zip(part).for_each(|(place, number)| *number = value(place));
            });
            Ok::<_, CaseError>(matrix)
        };
        let a = matrix("a", &|place| unit(place))?;
        let b = matrix("b", &|place| unit(n * n + place))?;
        let c = matrix("c", &|_| 0.0)?;
        Ok(Prepared::Here(Box::new(Multiplying { n, a, b, c, way })))
    }
}

/// A number from 0 to 1. Products of such numbers have one sign, so that sums of them are exact to the last digits.
fn unit(place: usize) -> f64 {
    (mix(place as u64) >> 11) as f64 / (1_u64 << 53) as f64
}

fn package(variant: &Variant) -> Option<Package> {
    match variant.name {
        "openblas" => Some(Package::OpenBlas),
        "blis" => Some(Package::Blis),
        _ => None,
    }
}

fn kernel(variant: &Variant) -> Result<Kernel, Missing> {
    match variant.name {
        "packed" => Ok(Kernel::best()),
        name => Kernel::of(name).ok_or_else(|| {
            Missing::new(
                format!("the processor has no {}", if name == "avx2" { "AVX2" } else { "AVX-512" }),
                "a machine that has it",
            )
        }),
    }
}

fn blocks(arguments: &Arguments) -> Blocks {
    let number = |name| arguments.number(name);
    let chunk = number("chunk");
    let schedule = match arguments.word("schedule") {
        "static" if chunk == 0 => Schedule::Static,
        "static" => Schedule::StaticParts(chunk),
        "dynamic" => Schedule::Dynamic(chunk.max(1)),
        "guided" => Schedule::Guided(chunk.max(1)),
        _ => Schedule::Guided(if chunk == 0 { 4 } else { chunk }),
    };
    let ahead = Ahead { second_level: number("ahead-l2"), first_level: number("ahead-l1") };
    Blocks { depth: number("depth"), rows: number("rows"), columns: number("columns"), schedule, ahead }
}

enum Way {
    Packed(Packed),
    Library(Blas),
}

struct Multiplying {
    n: usize,
    a: Array<f64>,
    b: Array<f64>,
    c: Array<f64>,
    way: Way,
}

impl Workload for Multiplying {
    fn step(&mut self, team: &mut Team) {
        let Multiplying { n, a, b, c, way } = self;
        match way {
            Way::Packed(packed) => packed.multiply(a, b, c, team),
            Way::Library(library) => library.product(*n, a, b, c),
        }
    }

    fn checksum(&self) -> Checksum {
        Checksum::Near { value: weighted_sum(self.c.iter().copied()), within: 1e-12 }
    }

    fn work(&self) -> Work {
        let n = self.n as u64;
        Work { bytes: 3 * n * n * size_of::<f64>() as u64, operations: 2 * n * n * n }
    }

    fn notes(&self) -> Vec<String> {
        vec![match &self.way {
            Way::Packed(packed) => packed.note(),
            Way::Library(library) => format!("kernels for {}", library.kernels),
        }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::here::workload;
    use crate::parameter::Arguments;

    #[test]
    fn work_is_counted_by_hand() {
        // Three matrices of 3 by 3 doubles; each element of the product takes three multiplications and three additions.
        let mut team = Team::of_this_process(2).unwrap();
        let mut workload = workload(&Dgemm, ABOUT.variants[0].name, &[("n", "3")], &mut team);
        assert_eq!(workload.work(), Work { bytes: 216, operations: 54 });
        workload.step(&mut team);
        let value = |row: usize, column: usize| -> f64 {
            (0..3).map(|k| unit(3 * k + row) * unit(9 + 3 * column + k)).sum()
        };
        let product: Vec<f64> = (0..9).map(|place| value(place % 3, place / 3)).collect();
        assert!(
            workload
                .checksum()
                .agrees(Checksum::Near { value: weighted_sum(product.iter().copied()), within: 1e-12 })
        );
    }

    #[test]
    fn schedules_are_those_of_openmp() {
        let schedule = |word: &str, chunk: &str| {
            let chosen =
                [("schedule", word), ("chunk", chunk)].map(|(name, text)| (name.to_owned(), text.to_owned()));
            blocks(&Arguments::of(&ABOUT, &chosen, false).unwrap()).schedule
        };
        assert_eq!(schedule("static", "0"), Schedule::Static);
        assert_eq!(schedule("static", "2"), Schedule::StaticParts(2));
        assert_eq!(schedule("dynamic", "0"), Schedule::Dynamic(1));
        assert_eq!(schedule("dynamic", "2"), Schedule::Dynamic(2));
        assert_eq!(schedule("guided", "0"), Schedule::Guided(1));
        assert_eq!(schedule("auto", "0"), Schedule::Guided(4));
    }
}
