//! What is done with a budget that does not suffice for all.

use crate::machine::{Machine, headline, plan, session, tells_apart};
use firsttouch_experiment::{ConfirmationState, Plan, TimedRun, Verdict};
use std::time::Duration;

const SESSIONS: u64 = 200;

/// 5 % of 200 sessions, and two binomial standard deviations (3.1) above.
const FIVE_PERCENT_AT_MOST: usize = 16;

/// A plan whose configurations have had their untimed runs, which took this long.
fn looked_at(untimed_s: &[f64], budget_s: u64, seed: u64) -> Plan {
    let run = |&wall_s: &f64| TimedRun { wall_s, ..TimedRun::default() };
    Plan {
        untimed: untimed_s.iter().map(run).collect(),
        budget: Some(Duration::from_secs(budget_s)),
        ..plan(untimed_s.len(), seed)
    }
}

/// A dozen alternatives to a program of 18 seconds, four of which gain by a third.
fn long_program() -> Vec<f64> {
    let mut base_s = vec![18.0; 14];
    base_s[3..7].fill(12.0);
    base_s
}

#[test]
fn a_short_budget_goes_to_the_most_promising() {
    // Two blocks of all and a bit: what is run of all of them decides nothing.
    let base_s = long_program();
    let decided = (0..SESSIONS)
        .filter(|&seed| {
            let outcome = session(&looked_at(&base_s, 520, seed), &mut Machine::new(&base_s, 0.03, seed));
            let confirmed = headline(&outcome) == Some(ConfirmationState::Confirmed);
            confirmed && outcome.recommended.is_some_and(|recommended| (3..7).contains(&recommended))
        })
        .count();
    println!("two blocks of all: {decided} of {SESSIONS} sessions confirm a gain of a third");
    assert!(decided * 5 >= SESSIONS as usize * 4, "{decided}");

    let outcome = session(&looked_at(&base_s, 520, 1), &mut Machine::new(&base_s, 0.03, 1));
    let runs: Vec<usize> = outcome.configurations.iter().map(|it| it.runs.len()).collect();
    assert!(runs[3..7].iter().filter(|&&runs| runs >= 6).count() >= 2, "{runs:?}");
    // Those that never ran are named, and no ratio is made up for them.
    let never: Vec<usize> = (1..14).filter(|&at| runs[at] == 0).collect();
    assert!(!never.is_empty(), "{runs:?}");
    let line = outcome.warnings.iter().find(|line| line.contains("time budget")).expect("a warning");
    for at in never {
        assert!(line.contains(&format!("alternative-{at} (never run)")), "{line}");
        assert_eq!((outcome.configurations[at].ratio, outcome.configurations[at].decided), (None, None));
    }
}

#[test]
fn of_many_gains_the_budget_decides_some() {
    // R's lm on a machine of few processors: 14 configurations of 7 and 8 seconds, three more to prepare each, and what is left of nine
    // minutes after the untimed runs. All would need 14 minutes.
    let mut base_s = vec![8.0; 14];
    base_s[2..11].fill(6.9);
    let (mut confirmed, mut covered, mut decided) = (0, 0, 0);
    for seed in 0..SESSIONS {
        // Memory is cold by chance in the untimed runs.
        let mut cold = Machine::new(&base_s, 0.3, seed ^ 0xc01d);
        let mut machine = Machine::new(&base_s, 0.04, seed);
        machine.beside_s = 3.0;
        let mut plan = Plan { cold: true, ..looked_at(&base_s, 428, seed) };
        for (at, run) in plan.untimed.iter_mut().enumerate() {
            (run.wall_s, run.user_s) = (cold.wall_s(at, 0), machine.wall_s(at, 0));
        }
        let outcome = session(&plan, &mut machine);
        confirmed += usize::from(headline(&outcome) == Some(ConfirmationState::Confirmed));
        let ratio = outcome.confirmation.as_ref().and_then(|confirmation| confirmation.ratio);
        covered += usize::from(ratio.is_none_or(|it| (it.low..=it.high).contains(&(8.0 / 6.9))));
        decided += outcome.configurations.iter().filter(|it| it.verdict() == Some(Verdict::Faster)).count();
    }
    let mean = decided as f64 / SESSIONS as f64;
    println!(
        "many gains of 16 %: {confirmed} of {SESSIONS} sessions confirm one, {covered} intervals cover it, {mean} are decided in a session"
    );
    assert!(confirmed as u64 * 4 >= SESSIONS * 3 && mean >= 2.0, "{confirmed} {mean}");
    assert!(covered as u64 * 100 >= SESSIONS * 94, "{covered}");
}

#[test]
fn who_is_seen_to_gain_is_decided_before_who_is_not() {
    // R's lm on a faster processor, with all alternatives: ten of fourteen gain a third. The untimed runs, on memory that is as warm as it
    // will be, have shown which.
    let mut base_s = vec![5.7; 15];
    for gains_little in [1, 8] {
        base_s[gains_little] = 5.4;
    }
    for gains in [2, 3, 4, 5, 6, 7, 10, 11, 13, 14] {
        base_s[gains] = 4.3;
    }
    let (mut all, mut decided) = (0, 0);
    for seed in 0..SESSIONS {
        let mut machine = Machine::new(&base_s, 0.03, seed);
        machine.beside_s = 1.9;
        let untimed_s: Vec<f64> = (0..base_s.len()).map(|at| machine.wall_s(at, 0)).collect();
        let outcome = session(&looked_at(&untimed_s, 443, seed).quick(), &mut machine);
        let found = outcome.configurations.iter().filter(|it| it.verdict() == Some(Verdict::Faster)).count();
        decided += found;
        all += usize::from(found >= 10);
    }
    let mean = decided as f64 / SESSIONS as f64;
    println!("ten gains of a third: {mean} are decided in a session, all of them in {all} of {SESSIONS}");
    assert!(mean >= 9.5 && all * 4 >= SESSIONS as usize * 3, "{mean} {all}");
}

#[test]
fn untimed_runs_prove_nothing() {
    // They promise three times the speed where there is none.
    let mut promised = vec![18.0; 14];
    promised[3..7].fill(6.0);
    let base_s = vec![18.0; 14];
    let wrong = (0..SESSIONS)
        .filter(|&seed| {
            let outcome = session(&looked_at(&promised, 900, seed), &mut Machine::new(&base_s, 0.05, seed));
            tells_apart(&outcome, 1..14)
        })
        .count();
    println!("false promises, 14 identical: {wrong} of {SESSIONS} sessions tell some apart");
    assert!(wrong <= FIVE_PERCENT_AT_MOST, "{wrong}");
}

#[test]
fn who_waits_for_time_is_not_judged_by_whom_it_waits_for() {
    // One that cannot be decided waits while others are, and goes on with what they leave; identical ones stay identical.
    let mut waited = 0;
    let wrong = (0..SESSIONS)
        .filter(|&seed| {
            let base_s = [1.0, 0.8, 0.85, 1.0, 1.0, 1.0, 1.0, 1.0];
            let plan = looked_at(&base_s, 150, seed);
            let outcome = session(&plan, &mut Machine::new(&base_s, 0.05, seed));
            let runs: Vec<usize> = outcome.configurations.iter().map(|it| it.runs.len()).collect();
            waited += usize::from((3..8).any(|at| runs[at] + 2 < runs[0]));
            let found = [1, 2].map(|at| outcome.configurations[at].verdict());
            assert!(!found.contains(&Some(Verdict::Slower)), "{found:?}");
            tells_apart(&outcome, 3..8)
        })
        .count();
    println!(
        "beside faster ones, with little time: {wrong} of {SESSIONS} tell equals apart; in {waited} somebody waits"
    );
    assert!(wrong <= FIVE_PERCENT_AT_MOST && waited * 2 > SESSIONS as usize, "{wrong} {waited}");
}

#[test]
fn what_suffices_for_all_is_shared_as_without_a_budget() {
    let base_s = [1.0, 0.7, 0.9, 1.3];
    let budgeted = session(&looked_at(&base_s, 2000, 3), &mut Machine::new(&base_s, 0.02, 3));
    let free = session(&plan(4, 3), &mut Machine::new(&base_s, 0.02, 3));
    assert_eq!(budgeted.configurations, free.configurations);
    assert_eq!(budgeted.confirmation, free.confirmation);
}
