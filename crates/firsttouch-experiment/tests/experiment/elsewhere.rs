//! Values that were measured elsewhere: rates of the rules in few simulations (the example `elsewhere` prints them of many), and what is said.

use crate::random::Random;
use crate::simulated::{Rates, Scenario};
use firsttouch_experiment::{
    Comparison, ComparisonRules, MeasuredConfiguration, MeasuredRun, MeasuredSession, Verdict, compare,
};

const SEED: u64 = 7;

/// Five in a hundred are promised, and more than nine in a hundred such are less likely than 3 %; the seed is fixed.
const MOST_FALSE: f64 = 0.09;

#[test]
fn sessions_together_promise_what_they_say() {
    for sessions in [2, 3, 5, 10] {
        let together = [(0.0, 1), (0.05, 5)].map(|(between, fewer)| {
            let rates = Scenario { between, fewer, ..Scenario::new(0.0, sessions) }.together(100, SEED);
            assert!(rates.wrong <= MOST_FALSE, "{sessions} {between} {fewer} {rates:?}");
            rates
        });
        // Of 200 intervals: 94 %, and a binomial standard deviation (1.7 %) below.
        let mean = |of: fn(&Rates) -> f64| together.iter().map(of).sum::<f64>() / together.len() as f64;
        assert!(mean(|rates| rates.coverage) >= 0.923, "{sessions} {together:?}");
        assert!(mean(|rates| rates.next) >= 0.923, "{sessions} {together:?}");
    }
}

#[test]
fn sessions_that_differ_are_told_from_sessions_that_do_not() {
    let share = |between| Scenario { between, ..Scenario::new(0.0, 5) }.together(50, SEED).share;
    assert!(share(0.0) < 0.3 && share(0.1) > 0.9, "{} {}", share(0.0), share(0.1));
}

#[test]
fn a_real_gain_is_found_over_sessions() {
    let rates = Scenario::new(0.1, 5).together(50, SEED);
    assert!(rates.decided >= 0.95 && rates.wrong == 0.0, "{rates:?}");
}

#[test]
fn an_e_value_over_sessions_may_be_looked_at_after_each() {
    let [_, by_e] = Scenario { between: 0.05, ..Scenario::new(0.0, 10) }.looked_at(500, SEED);
    assert!(by_e <= 0.05, "{by_e}");
}

#[test]
fn forecasts_of_sessions_come_true() {
    let (right, forecasts) = Scenario { between: 0.1, ..Scenario::new(0.1, 5) }.forecasts(1000, SEED, 20);
    // Two binomial standard deviations below nine in ten.
    assert!(
        forecasts > 50 && right >= 0.9 - 2.0 * (0.09 / f64::from(forecasts)).sqrt(),
        "{right} of {forecasts}"
    );
}

#[test]
fn runs_without_blocks_may_be_looked_at_after_each() {
    for (runs, noise) in [([20, 20], [0.03, 0.03]), ([20, 20], [0.01, 0.05]), ([7, 20], [0.05, 0.01])] {
        let [wrong, missed] = Scenario { runs, noise, ..Scenario::new(0.0, 1) }.unpaired(200, SEED);
        assert!(wrong <= 0.05 && missed <= 0.05, "{runs:?} {noise:?} {wrong} {missed}");
    }
}

/// A session of `old` and of those named, with so many times its time; in blocks, or one after the other.
fn session(name: &str, blocks: u32, paired: bool, others: &[(&str, f64)]) -> MeasuredSession {
    let mut random = Random::new(SEED, u64::from(blocks));
    let mut configuration = |name: &str, time: f64| MeasuredConfiguration {
        name: name.to_owned(),
        runs: (0..blocks)
            .map(|block| MeasuredRun {
                block: paired.then_some(block),
                order: None,
                value: time * (0.01 * random.normal()).exp(),
            })
            .collect(),
    };
    let mut configurations = vec![configuration("old", 2.0)];
    configurations.extend(others.iter().map(|(name, times)| configuration(name, 2.0 * times)));
    MeasuredSession { name: name.to_owned(), configurations }
}

fn decide(sessions: &[MeasuredSession], baseline: &str, higher_is_better: bool) -> Comparison {
    let baseline = baseline.to_owned();
    let rules = ComparisonRules { baseline, metric: None, higher_is_better, same_band: 0.02 };
    compare(sessions, rules)
}

fn verdict(comparison: &Comparison, session: usize, name: &str) -> Option<Verdict> {
    let mut configurations = comparison.sessions[session].configurations.iter();
    configurations.find(|one| one.name == name)?.decided.map(|decided| decided.verdict)
}

#[test]
fn blocks_are_decided_when_they_were() {
    let measured = [session("monday", 30, true, &[("new", 0.8), ("other", 1.3), ("twin", 1.0)])];
    let comparison = decide(&measured, "old", false);
    let found = ["new", "other", "twin"].map(|name| verdict(&comparison, 0, name));
    assert_eq!(found, [Some(Verdict::Faster), Some(Verdict::Slower), Some(Verdict::Same)]);
    let new = &comparison.sessions[0].configurations[1];
    let decided = new.decided.unwrap();
    assert!(decided.blocks <= 5 && decided.e_value >= 20.0, "{decided:?}");
    let ratio = new.ratio.unwrap();
    assert!(ratio.low <= 1.25 && 1.25 <= ratio.high && ratio.high - ratio.low < 0.05, "{ratio:?}");
    assert!(comparison.across.is_empty());
    assert!(comparison.notes[0].contains("one session holds for that session"), "{:?}", comparison.notes);
}

#[test]
fn verdict_and_interval_are_of_all_blocks() {
    let mut turned = session("monday", 80, true, &[("new", 1.12)]);
    turned.configurations[1].runs[..6].iter_mut().for_each(|run| run.value *= 0.9 / 1.12);
    let comparison = decide(&[turned], "old", false);
    let new = &comparison.sessions[0].configurations[1];
    let decided = new.decided.unwrap();
    assert_eq!(decided.verdict, Verdict::Slower);
    assert!(decided.blocks > 6 && decided.ratio.high < 1.0, "{decided:?}");
    assert_eq!(new.ratio, Some(decided.ratio));
}

#[test]
fn more_is_better_where_that_is_said() {
    for paired in [true, false] {
        let measured = [session("monday", 20, paired, &[("new", 1.25)])];
        let [less, more] = [false, true].map(|higher| decide(&measured, "old", higher));
        assert_eq!(verdict(&less, 0, "new"), Some(Verdict::Slower));
        assert_eq!(verdict(&more, 0, "new"), Some(Verdict::Faster));
        let ratio = more.sessions[0].configurations[1].ratio.unwrap().value;
        assert!((ratio - 1.25).abs() < 0.02, "{ratio}");
        assert!((more.sessions[0].configurations[1].mean - 2.5).abs() < 0.05, "as measured");
    }
}

#[test]
fn rates_that_few_runs_decide_are_compared_by_the_time_of_equal_work() {
    let mut measured = session("monday", 60, true, &[("new", 1.1)]);
    measured.configurations[1].runs.iter_mut().step_by(10).for_each(|run| run.value /= 11.0);
    let told = decide(&[measured], "old", true).sessions[0].warnings.join("\n");
    // Of ten runs nine take 1/1.1 of the baseline's time, and one ten times as long: 0.55; in the arithmetic mean nothing would differ.
    let found = ["0.54", "0.55"]
        .map(|of_sums| format!("times better by the geometric mean of its ratios, and {of_sums}"));
    assert!(found.iter().any(|words| told.contains(words)), "{told}");
    assert!(told.contains("by the harmonic means of all values"), "{told}");
}

#[test]
fn another_baseline_comes_first() {
    let comparison = decide(&[session("monday", 20, false, &[("new", 0.8)])], "new", false);
    assert_eq!(comparison.sessions[0].configurations[0].name, "new");
    assert_eq!(verdict(&comparison, 0, "old"), Some(Verdict::Slower));
    assert!(comparison.notes[0].contains("column `block`"), "{:?}", comparison.notes);
}

#[test]
fn a_session_without_the_baseline_compares_nothing() {
    let mut stray = session("tuesday", 20, true, &[("new", 0.5)]);
    stray.configurations.remove(0);
    let comparison = decide(&[session("monday", 20, true, &[("new", 0.8)]), stray], "old", false);
    let other = &comparison.sessions[1].configurations[0];
    assert_eq!((other.decided, other.ratio, other.more_runs), (None, None, None));
    assert!(comparison.across.is_empty());
}

#[test]
fn few_runs_say_little_and_single_ones_make_sessions() {
    let comparison = decide(&[session("monday", 3, false, &[("new", 0.985)])], "old", false);
    let new = &comparison.sessions[0].configurations[1];
    assert!(new.decided.is_none() && new.more_runs.is_some_and(|more| more > 5), "{new:?}");
    let single: Vec<MeasuredSession> = (1..6).map(|_| session("boot", 1, true, &[("new", 0.8)])).collect();
    let together = &decide(&single, "old", false).across[0];
    assert_eq!((together.sessions, together.between_share), (5, None));
    assert_eq!(decide(&[], "old", false).sessions, []);
}

#[test]
fn what_tune_warns_of_is_looked_for() {
    let mut measured = session("monday", 60, true, &[("new", 1.0), ("other", 1.0)]);
    let with = |measured: &MeasuredSession, words: &str| {
        let warnings = &decide(std::slice::from_ref(measured), "old", false).sessions[0].warnings;
        assert!(warnings.iter().any(|warning| warning.contains(words)), "{words}: {warnings:?}");
    };
    for (at, run) in measured.configurations[1].runs.iter_mut().enumerate() {
        run.value *= if at / 10 % 2 == 1 { 1.1 } else { 1.0 };
    }
    with(&measured, "runs of new resemble those in the block before");
    with(&measured, "the times of new fall into more than one group");
    let told = decide(std::slice::from_ref(&measured), "old", true).sessions[0].warnings.join("\n");
    assert!(told.contains("the values of new fall") && !told.contains("times of"), "{told}");
    let mut slow = session("monday", 60, true, &[("new", 1.0)]);
    slow.configurations[1].runs.iter_mut().step_by(8).for_each(|run| run.value *= 3.0);
    with(&slow, "runs of new are slow and stand apart");
    for paired in [true, false] {
        let mut drifting = session("monday", 60, paired, &[("new", 1.0)]);
        for configuration in &mut drifting.configurations {
            for (at, run) in configuration.runs.iter_mut().enumerate() {
                run.value *= 1.0 + 0.002 * at as f64;
            }
        }
        with(&drifting, "the machine became slower");
    }
    let mut moody = session("monday", 60, false, &[("new", 1.0)]);
    for (at, run) in moody.configurations[1].runs.iter_mut().enumerate() {
        run.value *= if at / 10 % 2 == 1 { 1.1 } else { 1.0 };
    }
    with(&moody, "runs of new resemble those directly before");
    // In the order of the runs, what comes after a spoiler suffers.
    let mut spoiled = session("monday", 60, true, &[("new", 1.0), ("other", 1.0)]);
    for block in 0..60 {
        let order = if block % 2 == 0 { [0, 1, 2] } else { [1, 0, 2] };
        for (place, configuration) in order.into_iter().enumerate() {
            let run = &mut spoiled.configurations[configuration].runs[block];
            run.order = Some((3 * block + place) as u32);
            if place == 0 && block > 0 {
                run.value *= 1.06;
            }
        }
    }
    with(&spoiled, "runs directly after one of other take");
}
