//! The rates that the rule promises, in few simulated sessions; the example `operating` prints them of many.

use crate::sessions::{Rates, Scenario};

const SESSIONS: u32 = 100;
const SEED: u64 = 7;

/// Five in a hundred are promised, and more than nine in a hundred such are less likely than 3 %; the seed is fixed.
const MOST_FALSE: f64 = 0.09;

fn operate(scenario: &Scenario) -> Rates {
    let rates = scenario.operate(SESSIONS, SEED);
    assert!(rates.false_verdicts <= MOST_FALSE, "{scenario:?} {rates:?}");
    rates
}

#[test]
fn real_gains_are_found_in_few_blocks() {
    for (gain, noise, most) in [(0.10, 0.05, 10), (0.25, 0.10, 9), (0.05, 0.05, 25)] {
        let rates = operate(&Scenario::new(&[0.0, gain], noise, 100));
        assert!(rates.faster >= 0.97 && rates.slower == 0.0, "{rates:?}");
        assert!(rates.median_blocks.is_some_and(|blocks| blocks <= most), "{rates:?}");
        assert!(rates.coverage >= 0.94, "{rates:?}");
    }
    let rates = operate(&Scenario::new(&[0.0, 0.25, 0.28, 0.3, 0.32, 0.35, 0.38, 0.4], 0.03, 40));
    assert_eq!((rates.faster, rates.median_blocks), (1.0, Some(3)));
}

#[test]
fn the_same_is_called_the_same() {
    let rates = operate(&Scenario::new(&[0.0, 0.0], 0.02, 80));
    assert!(rates.same >= 0.9 && rates.median_blocks.is_some_and(|blocks| blocks <= 38), "{rates:?}");
    assert!(operate(&Scenario::new(&[0.0; 8], 0.02, 50)).same >= 0.9);
}

#[test]
fn what_a_machine_does_to_all_fools_nobody() {
    for configurations in [2, 8] {
        let quiet = Scenario::new(&vec![0.0; configurations], 0.05, 40);
        operate(&Scenario { drift: 0.05, ..quiet.clone() });
        operate(&Scenario { slow_runs: vec![0.05; configurations], ..quiet });
    }
    let carried = Scenario { carry_over: 0.03, ..Scenario::new(&[0.0; 8], 0.05, 40) };
    operate(&carried);
}

#[test]
fn unequal_noise_fools_nobody() {
    for configurations in [2, 8] {
        let steps = (configurations - 1) as f64;
        let rising: Vec<f64> = (0..configurations).map(|at| 0.025 + 0.1 * at as f64 / steps).collect();
        let falling = rising.iter().rev().copied().collect();
        let mut baseline = vec![0.025; configurations];
        baseline[0] = 0.125;
        let alternative = baseline.iter().rev().copied().collect();
        for noise in [rising, falling, baseline, alternative] {
            operate(&Scenario { noise, ..Scenario::new(&vec![0.0; configurations], 0.05, 40) });
        }
    }
}
