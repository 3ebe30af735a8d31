//! `bench`: reference workloads, one file each.

mod balance;
mod search;
mod sssp;

use crate::args::{Bench, BenchWhat};
use crate::output::Outcome;

pub(crate) fn run(args: &Bench) -> Outcome {
    match &args.what {
        BenchWhat::Balance(args) => balance::run(args),
        BenchWhat::Sssp(args) => sssp::run(args),
        BenchWhat::Search(args) => search::run(args),
    }
}
