//! How often `report --decide` is right: `cargo run --release -p firsttouch-experiment --example elsewhere`; a number after `--` is another
//! seed than 1.
//!
//! The first table is of runs without blocks, looked at after every one; the second of sessions together, the third of who looks after
//! every session, the last of forecasts.

#![expect(clippy::print_stdout, reason = "an example prints its tables")]

#[path = "../operating/random.rs"]
mod random;
mod simulated;

use simulated::Scenario;

const TIMES: u32 = 2000;

fn main() -> Result<(), std::num::ParseIntError> {
    let seed = std::env::args().nth(1).map_or(Ok(1), |seed| seed.parse())?;
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    println!("| one after the other | ever a false verdict | the interval ever misses |");
    println!("|---|---|---|");
    for (name, runs, noise) in [
        ("30 runs each", [30, 30], [0.03, 0.03]),
        ("30 runs each, noise 1:5", [30, 30], [0.01, 0.05]),
        ("10 and 30 runs", [10, 30], [0.03, 0.03]),
        ("10 noisy and 30 quiet runs, noise 5:1", [10, 30], [0.05, 0.01]),
        ("10 quiet and 30 noisy runs, noise 1:5", [10, 30], [0.01, 0.05]),
    ] {
        let scenario = Scenario { runs, noise, ..Scenario::new(0.0, 1) };
        let [wrong, missed] = scenario.unpaired(TIMES / 2, seed);
        println!("| {name} | {} | {} |", percent(wrong), percent(missed));
    }
    println!("\n| sessions | false | decided | coverage | coverage, next session | between, median |");
    println!("|---|---|---|---|---|---|");
    for (name, between, fewer, gain) in [
        ("no gain, alike", 0.0, 1, 0.0),
        ("no gain, 5 % between", 0.05, 1, 0.0),
        ("no gain, alike, every other with a fifth of the runs", 0.0, 5, 0.0),
        ("no gain, 2 % between, every other with a fifth of the runs", 0.02, 5, 0.0),
        ("10 %, alike", 0.0, 1, 0.1),
        ("10 %, 5 % between", 0.05, 1, 0.1),
    ] {
        for sessions in [2, 3, 5, 10] {
            let rates = Scenario { between, fewer, ..Scenario::new(gain, sessions) }.together(TIMES, seed);
            println!(
                "| {sessions}: {name} | {} | {} | {} | {} | {} |",
                percent(rates.wrong),
                percent(rates.decided),
                percent(rates.coverage),
                percent(rates.next),
                percent(rates.share)
            );
        }
    }
    println!(
        "\n| looked at after each of 2 to 10 sessions | ever called different | ever an e-value of 20 |"
    );
    println!("|---|---|---|");
    for between in [0.0, 0.05] {
        let [by_interval, by_e] = Scenario { between, ..Scenario::new(0.0, 10) }.looked_at(TIMES, seed);
        println!("| no gain, {} between | {} | {} |", percent(between), percent(by_interval), percent(by_e));
    }
    println!("\n| forecasts of 20 more sessions at most | come true | forecasts |");
    println!("|---|---|---|");
    for (sessions, gain, between) in [(3, 0.1, 0.05), (5, 0.1, 0.1), (5, 0.05, 0.05), (5, 0.0, 0.01)] {
        let (right, forecasts) =
            Scenario { between, ..Scenario::new(gain, sessions) }.forecasts(TIMES, seed, 20);
        println!(
            "| {sessions} sessions, {} gain, {} between | {} | {forecasts} |",
            percent(gain),
            percent(between),
            percent(right)
        );
    }
    Ok(())
}
