//! `bench`: reference workloads, which are the cases of `firsttouch-cases`, run by the launcher of `tune`.

mod articles;
mod case_run;
mod comparison;
mod followed;
mod list;
mod objects;
mod one_run;
mod session;

pub(crate) use case_run::CaseRun;
pub(crate) use one_run::run as run_case;

use crate::args::Bench;
use crate::output::Outcome;

/// The name that variants are varied by.
const VARIANT: &str = "variant";
/// The names that threads, their groups and processes are varied by; every other is a parameter.
const TEAM: [&str; 3] = ["threads", "groups", RANKS];
const GROUPS: &str = "groups";
const RANKS: &str = "ranks";

pub(crate) fn run(args: &Bench) -> Outcome {
    match &args.documents {
        Some(names) => articles::run(args, names),
        None if args.list => list::run(args),
        None => session::run(args),
    }
}
