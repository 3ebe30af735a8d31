//! A Reed-Solomon code of nine blocks and three of parity: any three of the twelve may be lost.
//!
//! Bytes are elements of the field of 256, and each parity is a sum of all blocks, each times a coefficient. The coefficients are
//! those of a Cauchy matrix, every square part of which can be inverted (Blömer and others, *An XOR-Based Erasure-Resilient Coding
//! Scheme*, 1995), as `gf_gen_cauchy1_matrix` of Intel's library has them, so that both make the same parity.

mod field;
mod product;

use crate::array::Array;
use crate::case::{About, Case, Given, Prepared, Unit, Variant, Work, Workload};
use crate::checksum::Checksum;
use crate::error::{CaseError, Missing};
use crate::isal::Isal;
use crate::parameter::{Kind, Parameter};
use crate::share::{cut_each, each};
use field::Matrix;
use firsttouch_measure::{Limit, mix};
use firsttouch_threads::Team;
use product::Product;
use std::ffi::OsStr;

/// Reed-Solomon parity.
#[derive(Debug)]
pub(crate) struct ReedSolomon;

static ABOUT: About = About {
    name: "reed-solomon",
    summary: "three blocks of parity for nine of data, or three lost blocks again",
    source: "Tencent Ultra-Cold Storage System Optimization with Intel ISA-L – A Case Study",
    parameters: &[
        Parameter::new(
            "block",
            "size of a block, rounded down to a multiple of 64 bytes",
            Kind::Bytes(64, 1 << 30),
            ["64M", "8M"],
        ),
        Parameter::new(
            "work",
            "makes the parity, or three lost blocks again",
            Kind::Word(&["encode", "rebuild"]),
            ["encode", "encode"],
        ),
    ],
    variants: &[
        Variant::ours("affine", "multiplies 64 bytes by one instruction (GFNI), where the processor has it"),
        Variant::ours("shuffle", "looks halves of 32 bytes up by two (AVX2)"),
        Variant::ours("tables", "looks up byte by byte"),
        Variant::others("isa-l", "ec_encode_data of Intel's library"),
    ],
    steps: 3,
    unit: Unit::Bandwidth,
    bound: Some(Limit::Read),
};

/// Blocks of data, and of parity.
const DATA: usize = 9;
const PARITY: usize = 3;
/// Blocks of data that are lost.
const LOST: [usize; PARITY] = [0, 4, 8];
/// Words of a cache line: blocks are whole lines.
const LINE: usize = 8;

impl Case for ReedSolomon {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn missing(&self, variant: &Variant, _: Option<&OsStr>) -> Option<Missing> {
        match variant.name {
            "isa-l" => Isal::open().err(),
            "shuffle" if product::shuffle().is_none() => Some(Missing::avx2()),
            _ => None,
        }
    }

    fn prepare(&self, given: &mut Given<'_>) -> Result<Prepared, CaseError> {
        let block = given.arguments.number("block") / size_of::<u64>() / LINE * LINE;
        let form = match given.variant.name {
            "affine" => Form::Ours(product::fastest()),
            "shuffle" => Form::Ours(product::shuffle().unwrap_or(product::tables)),
            "tables" => Form::Ours(product::tables),
            _ => Form::Isal(Isal::open()?),
        };
        let mut data = given.arrays.zeroed("data", DATA * block)?;
        let mut targets = given.arrays.zeroed("parity", PARITY * block)?;
        each(given.team, cut_each(&mut data, block, given.team.size(), LINE), |_, (range, strips)| {
            for (number, strip) in strips.into_iter().enumerate() {
                let places = number * block + range.start..;
                strip.iter_mut().zip(places).for_each(|(word, place)| *word = mix(place as u64));
            }
        });
        let mut matrix = field::parity();
        if given.arguments.word("work") == "rebuild" {
            // The parity takes the place of what is lost.
            combine(&form, block, &matrix, &data, &mut targets, given.team);
            for (lost, parity) in LOST.into_iter().zip(targets.chunks_exact(block)) {
                data[lost * block..][..block].copy_from_slice(parity);
            }
            matrix = field::rebuilding(LOST);
        }
        Ok(Prepared::Here(Box::new(Coding { data, targets, block, form, matrix })))
    }
}

/// How blocks are combined.
enum Form {
    Ours(Product),
    Isal(Isal),
}

struct Coding {
    data: Array<u64>,
    targets: Array<u64>,
    /// Words of a block.
    block: usize,
    form: Form,
    matrix: Matrix,
}

impl Workload for Coding {
    fn step(&mut self, team: &mut Team) {
        combine(&self.form, self.block, &self.matrix, &self.data, &mut self.targets, team);
    }

    fn checksum(&self) -> Checksum {
        Checksum::of_words(self.targets.iter().copied())
    }

    /// Nine blocks are read and three are written; each byte of them is a sum of nine products.
    fn work(&self) -> Work {
        let bytes = (self.block * size_of::<u64>()) as u64;
        Work { bytes: (DATA + PARITY) as u64 * bytes, operations: (DATA * PARITY) as u64 * bytes }
    }
}

/// Multiplies the matrix by the blocks of data, each member a strip of all of them.
fn combine(form: &Form, block: usize, matrix: &Matrix, data: &[u64], targets: &mut [u64], team: &mut Team) {
    each(team, cut_each(targets, block, team.size(), LINE), |_, (range, strips)| {
        let sources: [&[u64]; DATA] = std::array::from_fn(|number| &data[number * block..][range.clone()]);
        let mut targets: [&mut [u64]; PARITY] = strips.try_into().expect("three blocks are made");
        match form {
            Form::Ours(product) => product(matrix, &sources, &mut targets),
            Form::Isal(isal) => {
                isal.product(&isal.tables(DATA, matrix.as_flattened()), &sources, &mut targets);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::here::stepped;

    #[test]
    fn parity_is_what_the_field_says_and_lost_blocks_come_back() {
        for block in [64, 128, 4096 + 64] {
            let words = block / 8;
            let data: Vec<u64> = (0..DATA * words).map(|place| mix(place as u64)).collect();
            let byte = |block: usize, place: usize| data[block * words + place / 8].to_ne_bytes()[place % 8];
            let parity = field::parity().map(|factors| {
                let made: Vec<u8> = (0..block)
                    .map(|place| {
                        (0..DATA)
                            .fold(0, |sum, number| sum ^ field::product(factors[number], byte(number, place)))
                    })
                    .collect();
                made.as_chunks::<8>().0.iter().map(|bytes| u64::from_ne_bytes(*bytes)).collect::<Vec<_>>()
            });
            let encoded = Checksum::of_words(parity.concat());
            let rebuilt = Checksum::of_words(
                LOST.iter().flat_map(|lost| data[lost * words..][..words].iter().copied()),
            );
            for variant in
                ABOUT.variants.iter().filter(|variant| ReedSolomon.missing(variant, None).is_none())
            {
                for threads in [1, 2] {
                    let work = Work { bytes: 12 * block as u64, operations: 27 * block as u64 };
                    for (what, expected) in [("encode", encoded), ("rebuild", rebuilt)] {
                        let chosen = [("block", &*block.to_string()), ("work", what)];
                        let seen = stepped(&ReedSolomon, variant.name, &chosen, threads);
                        assert_eq!(seen, (expected, work), "{} {block} {what}", variant.name);
                    }
                }
            }
        }
    }
}
