//! RandomAccess of the HPC Challenge: updates of a table at random places.
//!
//! The benchmark lets threads lose updates by races, up to one in a hundred, as long as each holds back at most 1024 of them.
//! Here none is lost: an update is an exclusive-or, so that their order does not matter, and either the instruction is atomic or
//! one thread alone changes a part of the table.

#[expect(unsafe_code, reason = "words that several threads change")]
mod memory;
mod numbers;

use crate::array::Array;
use crate::case::{About, Case, Given, Prepared, Unit, Variant, Work, Workload};
use crate::checksum::Checksum;
use crate::error::{CaseError, Missing};
use crate::gather::TABLE;
use crate::outside::{missing_numpy, python_script};
use crate::parameter::{Kind, Parameter};
use crate::share::{cut, cut_slice, each};
use crate::texts;
use firsttouch_threads::Team;
use std::ffi::OsStr;
use std::sync::atomic::Ordering;

/// Random updates of a table.
#[derive(Debug)]
pub(crate) struct Gups;

static ABOUT: About = About {
    name: "gups",
    summary: "exclusive-or of words at random places of a table, none lost",
    source: "RandomAccess of the HPC Challenge",
    parameters: &[
        TABLE,
        Parameter::new(
            "updates",
            "updates of a step, of all threads together; the benchmark makes four for each word",
            Kind::Count(1, 1 << 44),
            ["32000000", "4000000"],
        ),
    ],
    variants: &[
        Variant::ours("atomic", "atomic, each thread its share of the updates"),
        Variant::ours("owned", "each thread draws all numbers and changes its own part of the table"),
        Variant::others("numpy", "NumPy's bitwise_xor.at, one thread"),
    ],
    steps: 2,
    unit: Unit::Rate("GUP/s"),
    bound: None,
};

/// Updates that a thread holds back, far fewer than the benchmark allows.
const BLOCK: usize = 128;

impl Case for Gups {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn missing(&self, variant: &Variant, path: Option<&OsStr>) -> Option<Missing> {
        if variant.name == "numpy" { missing_numpy(path) } else { None }
    }

    fn prepare(&self, given: &mut Given<'_>) -> Result<Prepared, CaseError> {
        let entries = 1_usize << (given.arguments.number("table") / size_of::<u64>()).ilog2();
        let updates = given.arguments.number("updates");
        if given.variant.name == "numpy" {
            let arguments = vec![entries.to_string(), updates.to_string()];
            return Ok(Prepared::Outside(python_script(texts::GUPS_GUPS_PY, arguments)));
        }
        let owned = given.variant.name == "owned";
        let mut updating = Updating { table: given.arrays.zeroed("table", entries)?, updates, owned };
        updating.reset(given.team);
        Ok(Prepared::Here(Box::new(updating)))
    }
}

struct Updating {
    table: Array<u64>,
    updates: usize,
    /// Each part of the table is changed by one thread alone.
    owned: bool,
}

impl Updating {
    /// The parts of the table that threads own, and where each begins.
    fn parts(&mut self, members: usize) -> Vec<(usize, &mut [u64])> {
        let starts = cut(self.table.len(), members, LINE).into_iter().map(|part| part.start);
        starts.zip(cut_slice(&mut self.table, members, LINE)).collect()
    }
}

impl Workload for Updating {
    /// Each word its place, as the benchmark begins: what is updated twice would be as it was.
    fn reset(&mut self, team: &mut Team) {
        each(team, self.parts(team.size()), |_, (start, part)| {
            (start as u64..).zip(part).for_each(|(place, word)| *word = place);
        });
    }

    fn step(&mut self, team: &mut Team) {
        let (updates, members, mask) = (self.updates, team.size(), self.table.len() - 1);
        let place = |number: u64| number as usize & mask;
        if self.owned {
            each(team, self.parts(members), |_, (start, part)| own(start, part, updates, place));
        } else {
            let table = memory::shared(&mut self.table);
            each(team, cut(updates, members, 1), |_, indices| {
                for number in numbers::after(indices.start as u64).take(indices.len()) {
                    table[place(number)].fetch_xor(number, Ordering::Relaxed);
                }
            });
        }
    }

    fn checksum(&self) -> Checksum {
        Checksum::of_words(self.table.iter().copied())
    }

    /// The line of each update is read and written.
    fn work(&self) -> Work {
        Work { bytes: 2 * LINE_BYTES * self.updates as u64, operations: self.updates as u64 }
    }
}

/// Draws all numbers, and does the updates of the part that begins at `start`.
fn own(start: usize, part: &mut [u64], updates: usize, place: impl Fn(u64) -> usize) {
    let mut numbers = numbers::after(0).take(updates).peekable();
    let mut drawn = [0; BLOCK];
    while numbers.peek().is_some() {
        let mut kept = 0;
        for number in numbers.by_ref().take(BLOCK) {
            // No branch: nobody could foresee whose a number is.
            drawn[kept] = number;
            kept += usize::from(place(number).wrapping_sub(start) < part.len());
        }
        drawn[..kept].iter().for_each(|number| part[place(*number) - start] ^= number);
    }
}

/// Memory hands out whole lines.
const LINE_BYTES: u64 = 64;
/// Words of a line.
const LINE: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::here::stepped;

    #[test]
    fn no_update_is_lost_whatever_the_way() {
        for (entries, updates) in
            [(8, 1), (64, 127), (64, 128), (64, 129), (1 << 12, 1 << 14), (1 << 12, 12_345)]
        {
            let mut table: Vec<u64> = (0..entries).collect();
            let mut number = 1_i64;
            for _ in 0..updates {
                number = (number << 1) ^ if number < 0 { 7 } else { 0 };
                table[number as usize & (entries as usize - 1)] ^= number as u64;
            }
            let chosen = [("table", &*(entries * 8).to_string()), ("updates", &updates.to_string())];
            for variant in ABOUT.variants.iter().filter(|variant| !variant.alternative) {
                for threads in [1, 2] {
                    let seen = stepped(&Gups, variant.name, &chosen, threads);
                    let expected = Checksum::of_words(table.iter().copied());
                    let work = Work { bytes: 128 * updates, operations: updates };
                    assert_eq!(seen, (expected, work), "{} {entries} {updates}", variant.name);
                }
            }
        }
    }
}
