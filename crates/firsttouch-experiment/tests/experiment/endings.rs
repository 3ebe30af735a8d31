//! However a session ends, what was measured is kept and what is missing is said.

use crate::machine::{Broken, Machine, headline, plan, session};
use firsttouch_experiment::Verdict;
use std::time::Duration;

#[test]
fn an_interruption_keeps_the_unfinished_block_out_of_the_ratios() {
    let mut machine = Machine::new(&[1.0, 0.5, 2.0], 0.01, 7);
    machine.interrupt_after = Some(3 * 3 + 2);
    let outcome = session(&plan(3, 7), &mut machine);
    assert!(outcome.interrupted && outcome.failure.is_none() && outcome.confirmation.is_none());
    let counts: Vec<usize> =
        outcome.configurations.iter().map(|configuration| configuration.runs.len()).collect();
    assert_eq!(counts.iter().sum::<usize>(), 11, "every run is kept: {counts:?}");

    // The same session with the interruption at the block end gives the same ratios.
    let mut shorter = Machine::new(&[1.0, 0.5, 2.0], 0.01, 7);
    shorter.interrupt_after = Some(9);
    let whole = session(&plan(3, 7), &mut shorter);
    for (left, right) in outcome.configurations.iter().zip(&whole.configurations) {
        assert_eq!(left.ratio, right.ratio);
    }
    assert_eq!(outcome.winner, Some(1));
    assert!(outcome.warnings.iter().any(|line| line.contains("not confirmed")), "{:?}", outcome.warnings);
}

#[test]
fn an_interruption_before_the_first_run_is_an_empty_outcome() {
    let mut machine = Machine::new(&[1.0, 1.0], 0.01, 7);
    machine.interrupt_after = Some(0);
    let outcome = session(&plan(2, 7), &mut machine);
    assert!(outcome.interrupted);
    for configuration in &outcome.configurations {
        assert!(configuration.runs.is_empty());
        assert_eq!(
            (configuration.mean_wall_s, configuration.ci95_wall_s, configuration.ratio),
            (0.0, None, None)
        );
    }
    assert_eq!(outcome.configurations[1].verdict, Some(Verdict::Undecided));
    assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
}

#[test]
fn an_interruption_of_the_confirmation_keeps_what_it_has() {
    let mut machine = Machine::new(&[1.0, 0.5], 0.01, 8);
    machine.interrupt_after = Some(20 + 7);
    let outcome = session(&plan(2, 8), &mut machine);
    assert!(outcome.interrupted);
    let confirmation = outcome.confirmation.expect("three blocks of it");
    assert_eq!(confirmation.baseline_runs.len() + confirmation.winner_runs.len(), 7);
    assert_eq!(confirmation.verdict, Verdict::Faster);
}

#[test]
fn a_failing_program_ends_the_session_and_loses_nothing() {
    let mut machine = Machine::new(&[1.0, 1.0, 1.0], 0.01, 9);
    machine.fail_at = Some(13);
    let outcome = session(&plan(3, 9), &mut machine);
    let failed = machine.requests.last().expect("some runs").configuration;
    assert_eq!(outcome.failure, Some((failed, Broken(13))));
    assert!(!outcome.interrupted);
    assert_eq!(
        outcome.configurations.iter().map(|configuration| configuration.runs.len()).sum::<usize>(),
        13
    );
    assert!(outcome.configurations[1].ratio.is_some());
}

#[test]
fn a_program_killed_by_the_interruption_has_not_failed() {
    let mut machine = Machine::new(&[1.0, 1.0], 0.01, 9);
    machine.fail_at = Some(4);
    machine.interrupt_after = Some(5);
    let outcome = session(&plan(2, 9), &mut machine);
    assert!(outcome.interrupted && outcome.failure.is_none());
}

#[test]
fn the_cap_on_runs_holds_and_says_what_is_missing() {
    let mut plan = plan(2, 10);
    plan.max_runs = Some(6);
    let outcome = session(&plan, &mut Machine::new(&[1.0, 1.0], 0.3, 10));
    assert_eq!(outcome.configurations[0].runs.len(), 6);
    let line = outcome.warnings.iter().find(|line| line.contains("cap on runs")).expect("a warning");
    assert!(line.contains("--max-runs") && line.contains("baseline (±"), "{line}");
    let more = outcome.configurations[1].more_runs.expect("undecided says how many more");
    assert!(more > 20, "{more}");
}

#[test]
fn the_budget_leaves_time_to_confirm() {
    let mut plan = plan(3, 11);
    plan.budget = Some(Duration::from_secs(90));
    plan.precision = 1e-6;
    let mut machine = Machine::new(&[1.0, 0.5, 1.0], 0.01, 11);
    let outcome = session(&plan, &mut machine);
    let spent: f64 = machine.requests.len() as f64;
    assert!(spent < 180.0, "{spent}");
    assert_eq!(headline(&outcome), Some(Verdict::Faster));
    assert!(outcome.warnings.iter().filter(|line| line.contains("time budget")).count() == 2);
    let searched: f64 = outcome.configurations.iter().flat_map(|c| &c.runs).map(|run| run.timed.wall_s).sum();
    assert!((50.0..=60.0).contains(&searched), "two thirds of 90 s: {searched}");
}

#[test]
fn a_budget_shorter_than_a_block_still_gives_what_ran() {
    let mut plan = plan(3, 12);
    plan.budget = Some(Duration::from_millis(1500));
    let outcome = session(&plan, &mut Machine::new(&[1.0, 1.0, 1.0], 0.01, 12));
    assert_eq!(outcome.configurations.iter().map(|configuration| configuration.runs.len()).sum::<usize>(), 2);
    assert!(outcome.configurations.iter().all(|configuration| configuration.ratio.is_none()));
    assert!(outcome.warnings.iter().any(|line| line.contains("--budget")), "{:?}", outcome.warnings);
}

#[test]
fn nothing_helps_is_an_answer() {
    let outcome = session(&plan(3, 13), &mut Machine::new(&[1.0, 1.0, 1.0], 0.004, 13));
    assert_eq!((outcome.winner, outcome.confirmation.is_none()), (None, true));
    for configuration in &outcome.configurations[1..] {
        assert_eq!(configuration.verdict, Some(Verdict::Same));
        assert_eq!(configuration.more_runs, None);
    }
    assert_eq!((outcome.configurations[0].verdict, outcome.configurations[0].ratio), (None, None));
}

#[test]
fn the_best_of_bad_alternatives_is_measured_to_the_end() {
    let outcome = session(&plan(3, 14), &mut Machine::new(&[1.0, 3.0, 2.0], 0.01, 14));
    let runs: Vec<usize> =
        outcome.configurations.iter().map(|configuration| configuration.runs.len()).collect();
    assert_eq!(runs, [10, 5, 10]);
    assert!(outcome.configurations[1..].iter().all(|c| c.verdict == Some(Verdict::Slower)));
    assert!(!outcome.interrupted && outcome.winner.is_none());
}

#[test]
fn the_baseline_alone_is_measured_to_precision() {
    let outcome = session(&plan(1, 15), &mut Machine::new(&[1.0], 0.02, 15));
    assert_eq!(outcome.configurations.len(), 1);
    assert_eq!(outcome.configurations[0].runs.len(), 10);
    assert!(session(&plan(0, 15), &mut Machine::new(&[], 0.0, 15)).configurations.is_empty());
}

#[test]
fn a_drifting_machine_is_told() {
    let mut machine = Machine::new(&[1.0, 1.0], 0.005, 16);
    machine.drift_per_run = 0.005;
    let outcome = session(&plan(2, 16), &mut machine);
    let line = outcome.warnings.iter().find(|line| line.contains("became slower")).expect("10 % drift");
    assert!(line.contains("+8.") || line.contains("+9."), "{line}");
}
