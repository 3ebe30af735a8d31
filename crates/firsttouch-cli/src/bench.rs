//! `bench`: reference workloads, one file each.

mod search;
mod sssp;

use crate::args::{Bench, BenchWhat};
use crate::output::Outcome;

pub(crate) fn run(args: &Bench) -> Outcome {
    match &args.what {
        BenchWhat::Sssp(args) => sssp::run(args),
        BenchWhat::Search(args) => search::run(args),
    }
}
