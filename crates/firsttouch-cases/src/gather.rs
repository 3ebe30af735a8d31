//! Random reads over a large table.
//!
//! A table of hundreds of MiB spans more base pages than any translation buffer holds, so nearly every read at
//! a random place walks the page tables (twice, in a virtual machine). With 2 MiB pages a few hundred entries
//! cover the table. [`gather`] lets the processor overlap the misses; [`chase`] makes each read wait for the
//! one before, as in linked data.

use crate::array::Array;
use crate::case::{About, Case, Given, Prepared, Unit, Variant, Work, Workload};
use crate::checksum::Checksum;
use crate::error::CaseError;
use crate::parameter::{Kind, Parameter};
use crate::share::{cut, cut_slice, each};
use firsttouch_measure::mix;
use firsttouch_threads::Team;

/// The table: a power of two of 8-byte values, each a mix of its place.
#[derive(Clone, Debug)]
pub struct Table {
    values: Vec<u64>,
}

impl Table {
    /// Fills a table of `bytes`, rounded down to a power of two, and at least 8 bytes.
    pub fn new(bytes: usize) -> Table {
        let length = 1_usize << (bytes / size_of::<u64>()).max(1).ilog2();
        let mut values = vec![0; length];
        for (place, value) in values.iter_mut().enumerate() {
            *value = mix(place as u64);
        }
        Table { values }
    }

    fn at(&self, place: u64) -> u64 {
        // The length is a power of two, so the mask keeps every place inside.
        self.values[place as usize & (self.values.len() - 1)]
    }
}

/// Adds up `reads` values at random places that depend on `seed` only.
pub fn gather(table: &Table, reads: u64, seed: u64) -> u64 {
    (0..reads).fold(0_u64, |sum, read| sum.wrapping_add(table.at(mix(seed.wrapping_add(read)))))
}

/// Follows `reads` values, each at a place that the value before it names; returns where it ends.
pub fn chase(table: &Table, reads: u64, seed: u64) -> u64 {
    (0..reads).fold(seed, |place, read| mix(table.at(place) ^ read))
}

/// Random reads that do not wait for one another.
#[derive(Debug)]
pub struct Gather;

/// The size of a table.
pub(crate) const TABLE: Parameter = Parameter::new(
    "table",
    "size of the table, rounded down to a power of two",
    Kind::Bytes(64, 1 << 40),
    ["1G", "256M"],
);

static ABOUT: About = About {
    name: "gather",
    summary: "sum of values at random places of a table",
    source: "GUPS of the HPC Challenge, read-only",
    parameters: &[
        TABLE,
        Parameter::new(
            "reads",
            "reads of a step, of all threads together",
            Kind::Count(1, 1 << 40),
            ["32000000", "8000000"],
        ),
    ],
    variants: &[Variant::ours("gather", "each thread its share of the reads")],
    steps: 2,
    unit: Unit::Rate("Greads/s"),
    bound: None,
};

impl Case for Gather {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn prepare(&self, given: &mut Given<'_>) -> Result<Prepared, CaseError> {
        let entries = 1_usize << (given.arguments.number("table") / size_of::<u64>()).ilog2();
        let mut table = given.arrays.zeroed::<u64>("table", entries)?;
        let members = given.team.size();
        let starts = cut(entries, members, 8).into_iter().map(|part| part.start);
        let parts = starts.zip(cut_slice(&mut table, members, 8)).collect();
        each(given.team, parts, |_, (start, part)| {
            (start..).zip(part).for_each(|(place, value)| *value = mix(place as u64));
        });
        Ok(Prepared::Here(Box::new(Gathering { table, reads: given.arguments.number("reads"), sum: 0 })))
    }
}

struct Gathering {
    table: Array<u64>,
    reads: usize,
    sum: u64,
}

impl Workload for Gathering {
    fn step(&mut self, team: &mut Team) {
        let (table, mask) = (&*self.table, self.table.len() - 1);
        let parts = cut(self.reads, team.size(), 1);
        let sums = each(team, parts, |_, reads| {
            reads.fold(0_u64, |sum, read| sum.wrapping_add(table[mix(read as u64) as usize & mask]))
        });
        self.sum = sums.into_iter().fold(0, u64::wrapping_add);
    }

    fn checksum(&self) -> Checksum {
        Checksum::Exact(self.sum)
    }

    fn work(&self) -> Work {
        Work { bytes: self.reads as u64 * LINE_BYTES, operations: self.reads as u64 }
    }
}

/// Memory hands out whole lines.
const LINE_BYTES: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gather_is_the_sum_of_what_lies_there() {
        let table = Table::new(1 << 12);
        let mut naive = 0_u64;
        for read in 0..1000 {
            let place = mix(7 + read) % (table.values.len() as u64);
            naive = naive.wrapping_add(mix(place));
        }
        assert_eq!(gather(&table, 1000, 7), naive);
    }

    #[test]
    fn a_chase_goes_where_the_values_say() {
        let table = Table::new(1 << 12);
        let mut place = 3_u64;
        for read in 0..1000 {
            place = mix(mix(place % (table.values.len() as u64)) ^ read);
        }
        assert_eq!(chase(&table, 1000, 3), place);
        assert_eq!(chase(&table, 0, 3), 3);
    }

    #[test]
    fn reads_spread_over_the_whole_table() {
        let table = Table::new(1 << 15);
        let entries = table.values.len();
        let mut seen = vec![false; entries];
        for read in 0..8 * entries as u64 {
            seen[mix(read) as usize & (entries - 1)] = true;
        }
        // Eight throws per place leave e^-8 of them empty when the throws are fair.
        assert!(seen.iter().filter(|seen| !**seen).count() < entries / 500);
    }

    #[test]
    fn sizes_round_down_to_a_power_of_two() {
        assert_eq!(Table::new(1000).values.len(), 64);
        assert_eq!(Table::new(0).values.len(), 1);
    }
}
