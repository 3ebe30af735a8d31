//! However a session ends, what was measured is kept and what is missing is said.

use crate::machine::{Broken, Machine, headline, plan, session};
use firsttouch_experiment::{ConfirmationState, Launcher, Phase, Plan, Ratio, Verdict};
use std::time::Duration;

#[test]
fn an_interruption_keeps_the_unfinished_block_out_of_the_ratios() {
    let mut machine = Machine::new(&[1.0, 0.5, 2.0], 0.01, 7);
    machine.interrupt_after = Some(2 * 3 + 2);
    let outcome = session(&plan(3, 7), &mut machine);
    assert!(outcome.interrupted && outcome.failure.is_none() && outcome.confirmation.is_none());
    let counts: Vec<usize> =
        outcome.configurations.iter().map(|configuration| configuration.runs.len()).collect();
    assert_eq!(counts.iter().sum::<usize>(), 8, "every run is kept: {counts:?}");

    // The same session with the interruption at the block end gives the same ratios.
    let mut shorter = Machine::new(&[1.0, 0.5, 2.0], 0.01, 7);
    shorter.interrupt_after = Some(6);
    let whole = session(&plan(3, 7), &mut shorter);
    for (left, right) in outcome.configurations.iter().zip(&whole.configurations) {
        assert_eq!(left.ratio, right.ratio);
    }
    assert_eq!(outcome.best, whole.best);
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
            (configuration.mean_wall_s, configuration.deviation_wall_s, configuration.ratio),
            (0.0, None, None)
        );
    }
    assert_eq!(outcome.configurations[1].verdict(), None);
    assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
}

#[test]
fn an_interruption_of_the_confirmation_keeps_what_it_has() {
    let whole = || Machine::new(&[1.0, 0.5], 0.01, 8);
    let mut machine = whole();
    session(&plan(2, 8), &mut machine);
    let searched = machine.requests.iter().filter(|request| request.phase == Phase::Search).count();
    let mut machine = whole();
    machine.interrupt_after = Some(searched + 3);
    let outcome = session(&plan(2, 8), &mut machine);
    assert!(outcome.interrupted);
    let confirmation = outcome.confirmation.expect("a block of it");
    assert_eq!(confirmation.baseline_runs.len() + confirmation.recommended_runs.len(), 3);
    assert_eq!(confirmation.state, ConfirmationState::NotYet);
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
    assert!(line.contains("--max-runs") && line.contains("alternative-1 (about"), "{line}");
    let forecast = outcome.configurations[1].forecast.expect("undecided says how many more");
    // A run takes a second, one of each to a block.
    let of_each = forecast.seconds / f64::from(forecast.runs);
    assert!(forecast.runs > 20 && (1.5..3.0).contains(&of_each), "{forecast:?}");
}

#[test]
fn the_budget_leaves_time_to_confirm_and_is_used() {
    let mut plan = plan(3, 11);
    plan.budget = Some(Duration::from_secs(90));
    let mut machine = Machine::new(&[1.0, 0.5, 1.0], 0.1, 11);
    let outcome = session(&plan, &mut machine);
    assert_eq!(headline(&outcome), Some(ConfirmationState::Confirmed));
    assert_eq!(outcome.configurations[2].decided, None, "ten in a hundred of noise");
    let spent = machine.elapsed().as_secs_f64();
    // What the confirmation did not need went to the one that is undecided.
    assert!((85.0..=92.0).contains(&spent), "{spent}");
    let line = outcome.warnings.iter().find(|line| line.contains("time budget")).expect("a warning");
    assert!(line.contains("alternative-2 (about") && !line.contains("alternative-1"), "{line}");
}

#[test]
fn a_gain_that_fresh_runs_do_not_find_is_refuted() {
    // The machine is faster for the alternative while the search lasts.
    let mut machine = Machine::new(&[1.0, 0.8], 0.01, 4);
    machine.gains_end_with = Some(Phase::Search);
    let outcome = session(&plan(2, 4), &mut machine);
    assert_eq!(outcome.configurations[1].verdict(), Some(Verdict::Faster));
    assert_eq!(headline(&outcome), Some(ConfirmationState::Refuted));
}

#[test]
fn a_confirmation_without_time_is_not_one_yet() {
    let mut plan = plan(2, 5);
    plan.max_runs = Some(25);
    // So that the search needs most of its runs, and fresh ones as many.
    let outcome = (0..50)
        .map(|seed| session(&plan, &mut Machine::new(&[1.0, 0.95], 0.05, seed)))
        .find(|outcome| headline(outcome) == Some(ConfirmationState::NotYet));
    let confirmation = outcome.and_then(|outcome| outcome.confirmation).expect("one of fifty");
    assert!(confirmation.forecast.is_some_and(|forecast| forecast.runs > 0), "{confirmation:?}");
}

#[test]
fn a_precision_makes_it_go_on() {
    let runs = |precision| {
        let mut plan = plan(2, 6);
        plan.precision = precision;
        let outcome = session(&plan, &mut Machine::new(&[1.0, 0.7], 0.03, 6));
        let ratio = outcome.confirmation.unwrap().ratio.unwrap();
        (outcome.configurations[1].runs.len(), ratio.high / ratio.value - 1.0)
    };
    let ((few, _), (many, half_width)) = (runs(None), runs(Some(0.01)));
    assert!(few <= 10 && many > 50, "{few} {many}");
    assert!(half_width <= 0.01, "{half_width}");
}

#[test]
fn what_goes_on_after_its_verdict_is_judged_by_all_blocks() {
    let plan = |seed| Plan { precision: Some(0.003), max_runs: Some(80), confirm: false, ..plan(2, seed) };
    for seed in 0..100 {
        let outcome = session(&plan(seed), &mut Machine::new(&[1.0, 0.985], 0.02, seed));
        let one = &outcome.configurations[1];
        let Some(decided) = one.decided else { continue };
        assert_eq!(one.ratio, Some(decided.ratio), "seed {seed}");
        let Ratio { value, low, high } = decided.ratio;
        let agrees = match decided.verdict {
            Verdict::Faster => low > 1.0,
            Verdict::Slower => high < 1.0,
            Verdict::Same => (0.98..=1.02).contains(&value),
        };
        assert!(agrees, "seed {seed}: {decided:?}");
    }
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
    assert_eq!((outcome.recommended, outcome.confirmation.is_none()), (None, true));
    assert!(outcome.best.is_empty() && outcome.warnings.is_empty(), "{:?}", outcome.warnings);
    for configuration in &outcome.configurations[1..] {
        assert_eq!((configuration.verdict(), configuration.forecast), (Some(Verdict::Same), None));
    }
    assert_eq!((outcome.configurations[0].verdict(), outcome.configurations[0].ratio), (None, None));
}

#[test]
fn what_is_slower_leaves() {
    let outcome = session(&plan(3, 14), &mut Machine::new(&[1.0, 3.0, 1.0], 0.02, 14));
    let runs: Vec<usize> =
        outcome.configurations.iter().map(|configuration| configuration.runs.len()).collect();
    assert!(runs[1] <= 5 && runs[2] > 10 && runs[0] == runs[2], "{runs:?}");
    assert_eq!(outcome.configurations[1].decided.map(|decided| decided.verdict), Some(Verdict::Slower));
    assert!(!outcome.interrupted && outcome.recommended.is_none());
}

#[test]
fn the_baseline_alone_runs_once() {
    let outcome = session(&plan(1, 15), &mut Machine::new(&[1.0], 0.02, 15));
    assert_eq!(outcome.configurations.len(), 1);
    assert_eq!(outcome.configurations[0].runs.len(), 1);
    assert!(session(&plan(0, 15), &mut Machine::new(&[], 0.0, 15)).configurations.is_empty());
}

#[test]
fn a_drifting_machine_is_told() {
    let mut machine = Machine::new(&[1.0, 1.0], 0.005, 16);
    machine.drift_per_run = 0.01;
    let outcome = session(&plan(2, 16), &mut machine);
    let line = outcome.warnings.iter().find(|line| line.contains("became slower")).expect("a percent a run");
    assert!(line.contains("+5.") || line.contains("+6."), "{line}");
}
