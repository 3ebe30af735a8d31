//! The workload of `tune --demo`: what makes programs slow that live in memory, in a few seconds and without anything but this binary.

use crate::case::{About, Case, Given, Prepared, Unit, Variant, Work, Workload};
use crate::checksum::Checksum;
use crate::error::CaseError;
use crate::gather::{Table, chase, gather};
use crate::hilbert::{hilbert, qr};
use crate::parameter::{Kind, Parameter};
use firsttouch_threads::Team;

/// R's default tolerance for dependent columns.
const TOLERANCE: f64 = 1e-7;
/// Reads that wait for one another cost several times more than those that do not: fewer of them.
const CHASED_SHARE: usize = 8;

/// The QR decomposition of a Hilbert matrix, and random reads of a large table. Both are allocated in every step, as programs do: who
/// keeps freed memory creates their pages once.
#[derive(Debug)]
pub(crate) struct Demo;

static ABOUT: About = About {
    name: "demo",
    summary: "the QR decomposition of a Hilbert matrix, and random reads of a large table: what `tune --demo` runs",
    source: "Nakano and Nakama, Speeding up by using ISM-like calls: qr(hilbert(N))",
    parameters: &[
        Parameter::new(
            "table",
            "size of the table, rounded down to a power of two",
            Kind::Bytes(64, 1 << 40),
            ["256M", "64M"],
        ),
        Parameter::new(
            "reads",
            "random reads of the table in a step; an eighth as many wait for one another",
            Kind::Count(8, 1 << 40),
            ["5000000", "1000000"],
        ),
        Parameter::new("order", "order of the matrix", Kind::Count(1, 10_000), ["350", "200"]),
    ],
    variants: &[Variant::ours("demo", "one thread")],
    steps: 2,
    unit: Unit::Time,
    bound: None,
};

impl Case for Demo {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn prepare(&self, given: &mut Given<'_>) -> Result<Prepared, CaseError> {
        Ok(Prepared::Here(Box::new(Demonstration {
            table_bytes: given.arguments.number("table"),
            reads: given.arguments.number("reads"),
            order: given.arguments.number("order"),
            sum: 0,
        })))
    }
}

struct Demonstration {
    table_bytes: usize,
    reads: usize,
    order: usize,
    sum: u64,
}

impl Workload for Demonstration {
    fn step(&mut self, _: &mut Team) {
        let decomposition = qr(hilbert(self.order), TOLERANCE);
        let table = Table::new(self.table_bytes);
        let sum = gather(&table, self.reads as u64, 1);
        let end = chase(&table, (self.reads / CHASED_SHARE) as u64, 1);
        // Every bit counts: placed or not, they must be the same.
        let parts = [decomposition.rank as u64, decomposition.checksum().to_bits(), sum, end];
        self.sum = parts.into_iter().fold(0, |all, part| all.rotate_left(13) ^ part);
    }

    fn checksum(&self) -> Checksum {
        Checksum::Exact(self.sum)
    }

    fn work(&self) -> Work {
        Work { bytes: 2 * self.table_bytes as u64, operations: 0 }
    }
}
