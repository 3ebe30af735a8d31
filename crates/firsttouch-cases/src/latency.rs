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
        Parameter::new("table", "size of the table", Kind::Bytes(64, 1 << 40), ["1G", "256M"]),
        Parameter::new("reads", "reads of a step", Kind::Count(1, 1 << 40), ["4000000", "500000"]),
        Parameter::new(
            "order",
            "lines in any order, or those of a page of 4 KiB one after the other: then few reads look up a page",
            Kind::Word(&["any", "pages"]),
            ["any", "any"],
        ),
    ],
    variants: &[Variant::ours("chain", "one thread, one chain")],
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
    use crate::here::stepped;

    fn walk(order: &str, reads: u64) -> (Checksum, Work) {
        let chosen = [("table", "64K"), ("order", order), ("reads", &reads.to_string())];
        stepped(&Latency, ABOUT.variants[0].name, &chosen, 2)
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
