//! What the rule for independent noise cannot see is told: how often, and how often for nothing.

#![expect(clippy::print_stdout, reason = "the measured rates belong in the output of the test")]

use crate::machine::{Machine, plan, session};
use firsttouch_experiment::Plan;

const SESSIONS: u64 = 200;

/// 5 % of 200 sessions, and two binomial standard deviations (3.1) above.
const FIVE_PERCENT_AT_MOST: u64 = 16;

/// In how many sessions of so many blocks of so many identical configurations a warning says so.
fn warned(words: &str, configurations: usize, blocks: u32, set: impl Fn(&mut Machine)) -> u64 {
    let says = |seed: &u64| {
        let mut machine = Machine::new(&vec![1.0; configurations], 0.02, *seed);
        set(&mut machine);
        // So that nothing leaves before its time.
        let precision = Some(1e-4);
        let plan = Plan { precision, max_runs: Some(blocks), confirm: false, ..plan(configurations, *seed) };
        session(&plan, &mut machine).warnings.iter().any(|line| line.contains(words))
    };
    let warned = (0..SESSIONS).filter(says).count() as u64;
    println!(
        "{configurations} configurations, {blocks} blocks: `{words}` in {warned} of {SESSIONS} sessions"
    );
    warned
}

#[test]
fn dependence_within_one_configuration_is_told() {
    let words = "resemble those in the block before";
    for configurations in [2, 8] {
        let moody = |machine: &mut Machine| machine.mood = Some((1, 0.05, 0.8));
        assert!(warned(words, configurations, 50, moody) * 100 >= 90 * SESSIONS);
        assert!(warned(words, configurations, 50, |_| {}) <= FIVE_PERCENT_AT_MOST);
    }
}

#[test]
fn what_a_configuration_leaves_behind_is_told() {
    let words = "runs directly after one of";
    for configurations in [2, 8] {
        let spoiled = |machine: &mut Machine| machine.spoiler = Some((1, 0.03));
        assert!(warned(words, configurations, 60, spoiled) * 100 >= 90 * SESSIONS);
        assert!(warned(words, configurations, 60, |_| {}) <= FIVE_PERCENT_AT_MOST);
    }
}

#[test]
fn slow_runs_of_one_configuration_are_told() {
    let moody = |machine: &mut Machine| machine.slow_mode = Some((1, 0.08, 3.0));
    let (apart, sums) = ("are slow and stand apart", "by the arithmetic means of all times");
    assert!(warned(apart, 4, 100, moody) * 100 >= 80 * SESSIONS);
    assert!(warned(apart, 4, 100, |_| {}) <= FIVE_PERCENT_AT_MOST);
    assert!(warned(sums, 4, 100, moody) * 100 >= 80 * SESSIONS);
    assert_eq!(warned(sums, 4, 100, |_| {}), 0);
}

#[test]
fn what_the_slow_runs_had_more_of_is_told() {
    let words = "runs of a configuration were those with";
    for configurations in [2, 8] {
        // Steal in one run of five, which takes up to a fifth longer; load and frequency come and go, and do nothing.
        let struck = |machine: &mut Machine| machine.steal = Some((0.2, 0.2));
        assert!(warned("more steal", configurations, 40, struck) * 100 >= 90 * SESSIONS);
        assert!(warned("more load by others", configurations, 40, struck) <= FIVE_PERCENT_AT_MOST);
        assert!(warned("lower clock", configurations, 40, struck) <= FIVE_PERCENT_AT_MOST);
        let harmless = |machine: &mut Machine| machine.steal = Some((0.2, 0.0));
        assert!(warned(words, configurations, 40, harmless) <= FIVE_PERCENT_AT_MOST);
        // Nor where runs are slow by something else.
        let moody = |machine: &mut Machine| {
            (machine.steal, machine.slow_mode) = (Some((0.2, 0.0)), Some((1, 0.1, 2.0)));
        };
        assert!(warned(words, configurations, 40, moody) <= FIVE_PERCENT_AT_MOST);
        let drifting = |machine: &mut Machine| {
            (machine.steal, machine.slow_noise) = (Some((0.2, 0.0)), 0.1);
        };
        assert!(warned(words, configurations, 40, drifting) <= FIVE_PERCENT_AT_MOST);
    }
}
