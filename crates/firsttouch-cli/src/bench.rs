//! `bench`: reference workloads. Cases are those of `firsttouch-cases`, run by the launcher of `tune`; shortest paths have variants of
//! several processes, and a file of their own.

mod case_run;
mod comparison;
mod followed;
mod list;
mod one_run;
mod search;
mod session;
mod sssp;

pub(crate) use one_run::run as run_case;

use crate::args::{Bench, BenchWhat};
use crate::output::Outcome;

pub(crate) fn run(args: &Bench) -> Outcome {
    match &args.what {
        Some(BenchWhat::Sssp(args)) => sssp::run(args),
        Some(BenchWhat::Search(args)) => search::run(args),
        None if args.list => list::run(args),
        None => session::run(args),
    }
}
