//! Dependent reads: what one read costs when nothing can be overlapped or foreseen.

use crate::array::Array;
use crate::case::{About, Case, Given, Prepared, Unit, Variant, Work, Workload};
use crate::checksum::Checksum;
use crate::error::CaseError;
use crate::parameter::{Kind, Parameter};
use crate::share::alone;
use firsttouch_measure::{Chain, Limit};
use firsttouch_threads::Team;

/// Reads along a cycle through every cache line of a table, by the first of the threads.
#[derive(Debug)]
pub(crate) struct Latency;

static ABOUT: About = About {
    name: "latency",
    summary: "reads that wait for one another, along a cycle through all lines of a table",
    source: "lat_mem_rd of lmbench (McVoy and Staelin), with lines in random order",
    parameters: &[
        Parameter {
            name: "table",
            meaning: "size of the table",
            kind: Kind::Bytes(64, 1 << 40),
            default: "1G",
            quick: "256M",
        },
        Parameter {
            name: "reads",
            meaning: "reads of a step",
            kind: Kind::Count(1, 1 << 40),
            default: "4000000",
            quick: "500000",
        },
        Parameter {
            name: "order",
            meaning: "lines in any order, or those of a page of 4 KiB one after the other: then few reads look up a page",
            kind: Kind::Word(&["any", "pages"]),
            default: "any",
            quick: "any",
        },
    ],
    variants: &[Variant { name: "chain", meaning: "one thread, one chain", alternative: false }],
    steps: 2,
    unit: Unit::Latency("ns/read"),
    bound: Some(Limit::Latency),
};

impl Case for Latency {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn prepare(&self, given: &mut Given<'_>) -> Result<Prepared, CaseError> {
        let words = given.arguments.number("table") / size_of::<u64>();
        let table = given.arrays.zeroed::<u64>("table", words)?;
        let block = if given.arguments.word("order") == "pages" { PAGE_WORDS } else { words };
        let chain = alone(given.team, table, |table| Chain::by_blocks(table, block, SEED));
        Ok(Prepared::Here(Box::new(Walk { chain, reads: given.arguments.number("reads") as u64, end: 0 })))
    }
}

struct Walk {
    chain: Chain<Array<u64>>,
    reads: u64,
    /// The place of the last read.
    end: u64,
}

impl Workload for Walk {
    fn step(&mut self, team: &mut Team) {
        let reads = self.reads;
        self.end = alone(team, &mut self.chain, |chain| {
            chain.rewind();
            chain.walk(reads)
        });
    }

    /// Each read decides all that follow: the last one is where it should be if all were.
    fn checksum(&self) -> Checksum {
        Checksum::Exact(self.end)
    }

    fn work(&self) -> Work {
        Work { bytes: self.reads * LINE_BYTES, operations: self.reads }
    }
}

/// Memory hands out whole lines.
const LINE_BYTES: u64 = 64;
/// Words of the least page.
const PAGE_WORDS: usize = 512;
/// The same cycle in every run.
const SEED: u64 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arguments, Arrays};

    fn walk(order: &str, reads: u64) -> (Checksum, Work) {
        let chosen = [("table", "64K"), ("order", order), ("reads", &reads.to_string())]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let arguments = Arguments::of(&ABOUT, &chosen, true).unwrap();
        let (arrays, mut team) = (Arrays::default(), Team::of_this_process(2).unwrap());
        let variant = &ABOUT.variants[0];
        let mut given = Given { arguments: &arguments, variant, arrays: &arrays, team: &mut team };
        let Prepared::Here(mut workload) = Latency.prepare(&mut given).unwrap() else { panic!("outside") };
        workload.step(&mut team);
        workload.step(&mut team);
        (workload.checksum(), workload.work())
    }

    #[test]
    fn a_step_ends_where_so_many_reads_end() {
        const LINES: u64 = 1024;
        for order in ["any", "pages"] {
            let mut table = vec![0; 8192];
            let block = if order == "pages" { 512 } else { 8192 };
            let mut chain = Chain::by_blocks(&mut table[..], block, SEED);
            for reads in [1, 7, LINES - 1, LINES + 3] {
                chain.rewind();
                let (end, work) = walk(order, reads);
                assert_eq!(end, Checksum::Exact((0..reads).fold(0, |_, _| chain.walk(1))), "{order} {reads}");
                assert_eq!(work, Work { bytes: 64 * reads, operations: reads });
            }
            assert_eq!(walk(order, LINES).0, Checksum::Exact(0), "{order}: the cycle is closed");
            assert_ne!(walk(order, LINES / 2).0, Checksum::Exact(0), "{order}: and has all lines");
        }
    }
}
