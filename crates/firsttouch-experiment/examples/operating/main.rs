//! The operating characteristics of the rule that decides: `cargo run --release -p firsttouch-experiment --example operating`;
//! a number after `--` is another seed than 1.
//!
//! Each row is 500 simulated sessions. *false*: sessions with a false verdict about any alternative. Then what the
//! first alternative, whose gain the row names, was called, and after how many blocks. *coverage*: intervals that hold the truth
//! when the verdict is given.

#![expect(clippy::print_stdout, reason = "an example prints its table")]

mod random;
mod sessions;

use sessions::{Rates, Scenario};

const SESSIONS: u32 = 500;

fn main() -> Result<(), std::num::ParseIntError> {
    let seed = std::env::args().nth(1).map_or(Ok(1), |seed| seed.parse())?;
    let row = |name: &str, scenario: &Scenario| row(name, scenario, seed);
    println!("| case | false | faster | slower | same | median blocks | coverage |");
    println!("|---|---|---|---|---|---|---|");
    for noise in [0.02, 0.05, 0.10] {
        for gain in [0.0, 0.03, 0.05, 0.10, 0.30] {
            for configurations in [2, 8] {
                let mut gains = vec![0.0; configurations];
                gains[1] = gain;
                let name = format!(
                    "{:.0} % at {:.0} % noise, {configurations} configurations",
                    100.0 * gain,
                    100.0 * noise
                );
                row(&name, &Scenario::new(&gains, noise, 300));
            }
        }
    }
    row("seven gains of 25 to 40 % at 3 % noise", &{
        Scenario::new(&[0.0, 0.25, 0.28, 0.3, 0.32, 0.35, 0.38, 0.4], 0.03, 300)
    });
    for (name, gain) in [("none", 0.0), ("5 %", 0.05)] {
        for configurations in [2, 8] {
            let mut gains = vec![0.0; configurations];
            gains[1] = gain;
            let plain = Scenario::new(&gains, 0.05, 300);
            let row = |what: &str, scenario: &Scenario| {
                row(&format!("{name} at 5 % noise, {configurations} configurations, {what}"), scenario);
            };
            row("drift", &Scenario { drift: 0.05, ..plain.clone() });
            for rate in [0.02, 0.05] {
                let all = vec![rate; configurations];
                row(&format!("{:.0} % three times as slow", 100.0 * rate), &{
                    Scenario { slow_runs: all, ..plain.clone() }
                });
                for arm in [0, 1] {
                    let mut one = vec![0.0; configurations];
                    one[arm] = rate;
                    let which = ["the baseline", "the alternative"][arm];
                    row(&format!("{:.0} % three times as slow in {which} alone", 100.0 * rate), &{
                        Scenario { slow_runs: one, ..plain.clone() }
                    });
                }
            }
            let steps = (configurations - 1) as f64;
            let rising: Vec<f64> = (0..configurations).map(|at| 0.025 + 0.1 * at as f64 / steps).collect();
            let falling: Vec<f64> = rising.iter().rev().copied().collect();
            row("noise 1:5, the baseline's the least", &Scenario { noise: rising, ..plain.clone() });
            row("noise 5:1, the baseline's the most", &Scenario { noise: falling, ..plain.clone() });
            if configurations > 2 {
                for (arm, which) in [(0, "the baseline"), (1, "the alternative")] {
                    let mut noise = vec![0.025; configurations];
                    noise[arm] = 0.125;
                    row(&format!("noise 5:1 in {which} alone"), &Scenario { noise, ..plain.clone() });
                }
            }
            row("3 % slower after the last", &Scenario { carry_over: 0.03, ..plain.clone() });
        }
    }
    Ok(())
}

fn row(name: &str, scenario: &Scenario, seed: u64) {
    let Rates { false_verdicts, faster, slower, same, median_blocks, coverage } =
        scenario.operate(SESSIONS, seed);
    let blocks = median_blocks.map_or("-".to_owned(), |blocks| blocks.to_string());
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    println!(
        "| {name} | {} | {} | {} | {} | {blocks} | {} |",
        percent(false_verdicts),
        percent(faster),
        percent(slower),
        percent(same),
        percent(coverage)
    );
}
