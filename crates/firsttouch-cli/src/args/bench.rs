//! The options of `bench`.

use clap::{Args, Subcommand, builder::ValueParser};

/// Run reference workloads, and print what others published beside what is measured here
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  firsttouch bench balance                     ten balancers on three benchmarks and two machines, by simulation
  firsttouch bench balance --json > balance.json")]
pub(crate) struct Bench {
    #[command(subcommand)]
    pub(crate) what: BenchWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchWhat {
    /// Balance tasks of kNeighbor, lb_test and jacobi2D on NUMA16 and NUMA32, by simulation
    ///
    /// Every strategy is told the loads that the start was seen to have; its mapping is simulated with messages and distances.
    /// Times are not those of the document, whose programs and machines are not here: ratios are to be compared.
    Balance(BenchBalance),
}

#[derive(Args, Debug)]
pub(crate) struct BenchBalance {
    /// Executions of each, with loads of their own
    #[arg(long, value_name = "N", default_value_t = 25, value_parser = seeds())]
    pub(crate) seeds: u32,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// At least two: one value has no interval.
fn seeds() -> ValueParser {
    ValueParser::from(clap::value_parser!(u32).range(2..=10_000))
}
