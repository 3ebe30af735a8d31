//! The program of `tune --demo`: the Hilbert-matrix QR of Nakano and Nakama, *Speeding up by using ISM-like calls*, and random reads of a large table.

use crate::args::DemoWorkload;
use crate::output::{self, Outcome};
use firsttouch_cases::gather::{Table, chase, gather};
use firsttouch_cases::hilbert::{hilbert, qr};

/// R's default tolerance for dependent columns.
const TOLERANCE: f64 = 1e-7;
/// Reads that wait for one another cost several times more than those that do not: fewer of them.
const CHASED_SHARE: u64 = 8;

pub(crate) fn run(workload: &DemoWorkload) -> Outcome {
    let decomposition = qr(hilbert(workload.order), TOLERANCE);
    let table = Table::new(workload.table as usize);
    let sum = gather(&table, workload.reads, 1);
    let end = chase(&table, workload.reads / CHASED_SHARE, 1);
    // Every figure is printed to the last bit: placed or not, they must be the same.
    output::data(&format!(
        "rank {}\nqr {:e}\ngather {sum:016x}\nchase {end:016x}\n",
        decomposition.rank,
        decomposition.checksum()
    ))?;
    Ok(0)
}
