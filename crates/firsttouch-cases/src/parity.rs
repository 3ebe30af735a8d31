//! Parity of ten blocks by exclusive-or, as a store of cold pictures came to use it in place of a Reed-Solomon code.
//!
//! Ten blocks are cut into ten sectors each. The horizontal parity is a block whose sectors are the exclusive-or of those beside
//! one another, of all blocks; the vertical parity is a block, too, whose sectors are the exclusive-or of those of one block. (The
//! article says no more of it than that both are made of ten stripes: this is the form in which they are of one size, ten and two.)
//! A lost block comes back by the one, sectors lost at one place of all blocks by the other.

mod xor;

use crate::array::Array;
use crate::case::{About, Case, Given, Prepared, Unit, Variant, Work, Workload};
use crate::checksum::Checksum;
use crate::error::{CaseError, Missing};
use crate::isal::Isal;
use crate::parameter::{Kind, Parameter};
use crate::share::{cut_each, each};
use firsttouch_measure::{Limit, mix};
use firsttouch_threads::Team;
use std::ffi::OsStr;
use xor::{Ahead, All};

/// Parity by exclusive-or.
#[derive(Debug)]
pub(crate) struct Parity;

static ABOUT: About = About {
    name: "parity",
    summary: "parity of ten blocks by exclusive-or, across them and within them",
    source: ARTICLE,
    parameters: &[
        Parameter::new(
            "block",
            "size of a block, rounded down to a multiple of 640 bytes",
            Kind::Bytes(640, 1 << 30),
            ["64M", "8M"],
        ),
        Parameter::new(
            "code",
            "horizontal parity, or vertical parity as well",
            Kind::Word(&["10+1", "10+2"]),
            ["10+2", "10+2"],
        ),
        Parameter::new(
            "work",
            "makes the parity, or a lost block again (10+1), or a sector that all blocks lost (10+2)",
            Kind::Word(&["encode", "rebuild"]),
            ["encode", "encode"],
        ),
    ],
    variants: &[
        Variant::ours(
            "one-pass",
            "all sources of a target at once, and all targets of a few lines before the next: memory is read once",
        ),
        Variant::ours("array", "all sources of a target at once, one target after the other"),
        Variant::ours("pairs", "two operands at a time, in vectors"),
        Variant::ours("galois", "two operands at a time, in a plain loop over words"),
        Variant::others("isa-l", "xor_gen of Intel's library, in the form of an array"),
    ],
    steps: 5,
    unit: Unit::Bandwidth,
    bound: Some(Limit::Read),
};

const ARTICLE: &str = "Tencent Ultra-Cold Storage System Optimization with Intel ISA-L – A Case Study";

/// Blocks, sectors of each, and sources of each sector that is made.
const BLOCKS: usize = 10;
/// The block, and the sector of all blocks, that are lost.
const LOST: usize = 3;
/// The words of a cache line: sectors are whole lines.
type Line = [u64; LINE];
const LINE: usize = 8;
/// Lines of a piece, of all sectors: with those of the next one, which are asked for meanwhile, a fifth of a MiB of a core's second-level
/// cache. On Emerald Rapids half as many were slower on pages of 4 KiB, four times as many on all.
const PIECE: usize = 16;

impl Case for Parity {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn missing(&self, variant: &Variant, _: Option<&OsStr>) -> Option<Missing> {
        if variant.name == "isa-l" { Isal::open().err() } else { None }
    }

    fn prepare(&self, given: &mut Given<'_>) -> Result<Prepared, CaseError> {
        let bytes = given.arguments.number("block");
        let sector = bytes / size_of::<u64>() / (BLOCKS * LINE) * LINE;
        let form = match given.variant.name {
            "one-pass" => Form::Array { by_piece: true },
            "array" => Form::Array { by_piece: false },
            "pairs" => Form::Pairs(xor::pair()),
            "galois" => Form::Pairs(xor::plain_pair),
            _ => Form::Isal(Isal::open()?),
        };
        let vertical = given.arguments.word("code") == "10+2";
        let rebuild = given.arguments.word("work") == "rebuild";
        let (all, made) = match (rebuild, vertical) {
            (false, false) => (BLOCKS, 1),
            (false, true) => (BLOCKS, 2),
            (true, _) => (BLOCKS + 2, 1),
        };
        let mut sources = given.arrays.zeroed("data", all * BLOCKS * sector)?;
        let targets = given.arrays.zeroed("parity", made * BLOCKS * sector)?;
        let (data, parity) = sources.split_at_mut(BLOCKS * BLOCKS * sector);
        each(given.team, cut_each(data, sector, given.team.size(), LINE), |_, (range, strips)| {
            for (number, strip) in strips.into_iter().enumerate() {
                let places = number * sector + range.start..;
                strip.iter_mut().zip(places).for_each(|(word, place)| *word = mix(place as u64));
            }
        });
        let mut equations = encoding(vertical);
        if rebuild {
            combine(&form, sector, &encoding(true), data, parity, given.team);
            equations = rebuilding(vertical);
        }
        Ok(Prepared::Here(Box::new(Stripes { sources, targets, sector, form, equations })))
    }
}

/// The sectors that make one: those of blocks one after the other, then the horizontal parity, then the vertical one.
type Equation = [usize; BLOCKS];

fn sector_of(block: usize, row: usize) -> usize {
    block * BLOCKS + row
}

/// What the sectors of the parity are made of, in order.
fn encoding(vertical: bool) -> Vec<Equation> {
    let across = (0..BLOCKS).map(|row| std::array::from_fn(|block| sector_of(block, row)));
    let within = (0..BLOCKS).map(|block| std::array::from_fn(|row| sector_of(block, row)));
    across.chain(within.filter(|_| vertical)).collect()
}

/// What lost sectors are made of: those of a block with the horizontal parity, or one of each block with the vertical one.
fn rebuilding(vertical: bool) -> Vec<Equation> {
    let parity = if vertical { BLOCKS + 1 } else { BLOCKS };
    let lost = encoding(vertical).into_iter().rev().take(BLOCKS).rev().zip(0..);
    let put_parity_in = |(mut equation, number): (Equation, usize)| {
        equation[LOST] = sector_of(parity, number);
        equation
    };
    lost.map(put_parity_in).collect()
}

/// How sectors are combined.
enum Form {
    /// All sources at once; by pieces, those of all targets that have sources in common.
    Array {
        by_piece: bool,
    },
    /// The first is copied, and the others are added to it.
    Pairs(xor::Pair),
    Isal(Isal),
}

struct Stripes {
    sources: Array<u64>,
    targets: Array<u64>,
    /// Words of a sector.
    sector: usize,
    form: Form,
    equations: Vec<Equation>,
}

impl Workload for Stripes {
    fn step(&mut self, team: &mut Team) {
        combine(&self.form, self.sector, &self.equations, &self.sources, &mut self.targets, team);
    }

    fn checksum(&self) -> Checksum {
        Checksum::of_words(self.targets.iter().copied())
    }

    /// Ten blocks are read, and those made are written.
    fn work(&self) -> Work {
        let words = BLOCKS * BLOCKS * self.sector + self.targets.len();
        let combined = self.equations.len() * (BLOCKS - 1) * self.sector;
        Work { bytes: (words * size_of::<u64>()) as u64, operations: combined as u64 }
    }
}

/// Makes sectors, each by its equation, each member a strip of all of them.
fn combine(
    form: &Form,
    sector: usize,
    equations: &[Equation],
    sources: &[u64],
    targets: &mut [u64],
    team: &mut Team,
) {
    let (sources, targets) = (sources.as_chunks::<LINE>().0, targets.as_chunks_mut::<LINE>().0);
    let sector = sector / LINE;
    each(team, cut_each(targets, sector, team.size(), 1), |_, (range, mut strips)| {
        let sources: Vec<&[Line]> =
            sources.chunks_exact(sector).map(|source| &source[range.clone()]).collect();
        if let Form::Array { by_piece } = form {
            // Each line is a source of so many targets. What is read after this piece is asked for in equal shares, of lines that lie
            // together: processors may fetch the neighbour of a line with it, and of every other line the rest would have nothing to ask for.
            let every = equations.len() / BLOCKS;
            let in_pieces = *by_piece && every > 1;
            let lines = if in_pieces { PIECE } else { sector };
            let share = lines.div_ceil(every);
            return All::work(|all| {
                for start in (0..range.len()).step_by(lines) {
                    let piece = start..(start + lines).min(range.len());
                    for (number, (equation, strip)) in equations.iter().zip(&mut strips).enumerate() {
                        let first = number / BLOCKS * share;
                        let ahead = in_pieces.then_some(Ahead { lines, first, end: first + share });
                        let sources = equation.map(|number| &sources[number][piece.clone()]);
                        all.make(&mut strip[piece.clone()], &sources, ahead);
                    }
                }
            });
        }
        for (equation, strip) in equations.iter().zip(strips) {
            let sources = equation.map(|number| sources[number].as_flattened());
            let strip = strip.as_flattened_mut();
            match form {
                Form::Isal(isal) => isal.xor(strip, &sources),
                Form::Pairs(pair) => {
                    strip.copy_from_slice(sources[0]);
                    sources[1..].iter().for_each(|source| pair(strip, source));
                }
                Form::Array { .. } => {}
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arrays;
    use crate::here::stepped;
    use proptest::prelude::*;

    /// A word of a block, which has `sector` words in each of its ten sectors.
    fn word(sector: usize, block: usize, row: usize, place: usize) -> u64 {
        mix(((block * BLOCKS + row) * sector + place) as u64)
    }

    #[test]
    fn parity_goes_across_and_within_and_brings_back_what_is_lost() {
        for bytes in [640, 6400, 50_000] {
            let sector = bytes / 640 * 8;
            let words = || (0..BLOCKS).flat_map(|number| (0..sector).map(move |place| (number, place)));
            let sum = |words: &dyn Fn(usize) -> u64| (0..BLOCKS).fold(0, |sum, number| sum ^ words(number));
            let across: Vec<u64> =
                words().map(|(row, place)| sum(&|block| word(sector, block, row, place))).collect();
            let within: Vec<u64> =
                words().map(|(block, place)| sum(&|row| word(sector, block, row, place))).collect();
            let both = [across.clone(), within].concat();
            let lost_block: Vec<u64> = words().map(|(row, place)| word(sector, LOST, row, place)).collect();
            let lost_row: Vec<u64> = words().map(|(block, place)| word(sector, block, LOST, place)).collect();
            let block = 80 * sector as u64;
            let expected = [
                ("10+1", "encode", across, 11, 9),
                ("10+2", "encode", both, 12, 18),
                ("10+1", "rebuild", lost_block, 11, 9),
                ("10+2", "rebuild", lost_row, 11, 9),
            ];
            for (code, work, made, blocks, operations) in expected {
                let done = Work { bytes: blocks * block, operations: operations * block / 8 };
                let expected = (Checksum::of_words(made), done);
                for variant in ABOUT.variants.iter().filter(|variant| Parity.missing(variant, None).is_none())
                {
                    for threads in [1, 2] {
                        let chosen = [("block", &*bytes.to_string()), ("code", code), ("work", work)];
                        let seen = stepped(&Parity, variant.name, &chosen, threads);
                        assert_eq!(seen, expected, "{} {code} {work} {bytes}", variant.name);
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn vectors_do_what_words_do(lines in 0_usize..20, seed in any::<u64>()) {
            let words: Vec<u64> = (0..=(BLOCKS * lines * LINE) as u64).map(|place| mix(seed ^ place)).collect();
            // Sources may begin anywhere, targets with a cache line.
            let all = words[1..].as_chunks::<LINE>().0;
            let sources: [&[Line]; BLOCKS] = std::array::from_fn(|number| &all[number * lines..][..lines]);
            let mut seen = Arrays::default().zeroed::<u64>("parity", (lines + 1) * LINE).unwrap();
            seen.fill(7);
            let mut pairs = seen.to_vec();
            let ahead = Some(Ahead { lines: 3, first: 1, end: 5 });
            All::work(|all| all.make(&mut seen.as_chunks_mut().0[..lines], &sources, ahead));
            let pair = &mut pairs[..lines * LINE];
            pair.fill(0);
            sources.iter().for_each(|source| xor::pair()(pair, source.as_flattened()));
            let word = |place: usize| sources.iter().fold(0, |sum, source| sum ^ source.as_flattened()[place]);
            let expected: Vec<u64> = (0..lines * LINE).map(word).chain([7; LINE]).collect();
            prop_assert_eq!(&*seen, &*expected);
            prop_assert_eq!(&pairs, &expected);
        }
    }
}
