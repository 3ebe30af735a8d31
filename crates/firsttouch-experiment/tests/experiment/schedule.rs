//! What is run when.

use crate::machine::{Machine, Notebook, plan, session};
use firsttouch_experiment::{Phase, RunRequest, run};
use std::collections::BTreeSet;

/// The configurations of each block of the search, in their order.
fn blocks(requests: &[RunRequest]) -> Vec<Vec<usize>> {
    let search: Vec<&RunRequest> = requests.iter().filter(|request| request.phase == Phase::Search).collect();
    search
        .chunk_by(|left, right| left.block == right.block)
        .map(|block| block.iter().map(|request| request.configuration).collect())
        .collect()
}

#[test]
fn every_block_holds_every_live_configuration_once() {
    let mut machine = Machine::new(&[1.0, 0.9, 4.0, 1.0], 0.02, 5);
    let outcome = session(&plan(4, 5), &mut machine);
    assert_eq!(
        outcome.configurations[2].dropped_after_block,
        Some(4),
        "four times as slow ends after five blocks"
    );
    for (number, block) in blocks(&machine.requests).iter().enumerate() {
        let mut sorted = block.clone();
        sorted.sort_unstable();
        let live: Vec<usize> = (0..4)
            .filter(|&index| {
                outcome.configurations[index].dropped_after_block.is_none_or(|last| number as u32 <= last)
            })
            .collect();
        assert_eq!(sorted, live, "block {number}");
        assert!(block.contains(&0), "the baseline is in every block");
    }
    let orders: Vec<u32> = machine.requests.iter().map(|request| request.order).collect();
    assert_eq!(orders, (0..orders.len() as u32).collect::<Vec<u32>>());
}

#[test]
fn orders_differ_from_block_to_block_and_repeat_with_the_seed() {
    let requests = |seed: u64| {
        let mut machine = Machine::new(&[1.0; 5], 0.02, 1);
        session(&plan(5, seed), &mut machine);
        machine.requests
    };
    let first = requests(11);
    let distinct: BTreeSet<Vec<usize>> = blocks(&first).into_iter().collect();
    assert!(distinct.len() >= 8, "{distinct:?}");
    assert_eq!(first, requests(11));
    assert_ne!(blocks(&first), blocks(&requests(12)));
    let offsets: BTreeSet<u32> = first.iter().map(|request| request.environment_offset_bytes).collect();
    assert!(offsets.len() > first.len() / 2 && offsets.iter().all(|&offset| offset < 4096));
}

#[test]
fn the_confirmation_holds_fresh_blocks_of_winner_and_baseline() {
    let mut machine = Machine::new(&[1.0, 0.8, 1.0], 0.02, 2);
    let outcome = session(&plan(3, 2), &mut machine);
    let confirmation = outcome.confirmation.expect("20 % is found");
    let fresh: Vec<&RunRequest> =
        machine.requests.iter().filter(|request| request.phase == Phase::Confirmation).collect();
    assert_eq!(outcome.winner, Some(1));
    assert!(fresh.len() >= 20 && fresh.iter().all(|request| request.configuration < 2));
    assert_eq!(confirmation.winner_runs.len() + confirmation.baseline_runs.len(), fresh.len());
    let searched: usize = outcome.configurations.iter().map(|configuration| configuration.runs.len()).sum();
    assert_eq!(searched + fresh.len(), machine.requests.len(), "no run is counted twice or lost");
    let ratio = confirmation.ratio.expect("ten blocks");
    assert!(ratio.low < 1.25 && 1.25 < ratio.high * 1.02, "{ratio:?}");
}

#[test]
fn stops_when_precise_and_not_before() {
    let mut quiet = Machine::new(&[1.0, 1.0], 0.001, 3);
    let outcome = session(&plan(2, 3), &mut quiet);
    assert_eq!(outcome.configurations[0].runs.len(), 10);
    let outcome = session(&plan(2, 3).quick(), &mut Machine::new(&[1.0, 1.0], 0.001, 3));
    assert_eq!(outcome.configurations[0].runs.len(), 5);
    let outcome = session(&plan(2, 3), &mut Machine::new(&[1.0, 1.0], 0.2, 3));
    assert!(outcome.configurations[0].runs.len() > 30);
    for configuration in &outcome.configurations {
        let error = configuration.ci95_wall_s.expect("many runs") / configuration.mean_wall_s;
        assert!(error <= 0.05, "{error}");
    }
}

#[test]
fn progress_counts_down() {
    let (mut machine, mut notebook) = (Machine::new(&[1.0, 1.0, 3.0], 0.15, 4), Notebook::default());
    let outcome = run(&plan(3, 4), &mut machine, &mut notebook);
    assert_eq!((notebook.started, notebook.finished), (machine.requests.len(), machine.requests.len()));
    let pages: Vec<_> = notebook.pages.iter().filter(|page| page.phase == Phase::Search).collect();
    assert_eq!(pages.len(), outcome.configurations[0].runs.len());

    let first = pages[0];
    assert_eq!((first.remaining_blocks, first.remaining, first.configurations[1].ratio), (None, None, None));
    let third = pages[2];
    let summary = &third.configurations[1];
    assert!(summary.ratio.is_some() && summary.verdict.is_some() && summary.relative_error.is_some());
    assert!(third.remaining_blocks.is_some_and(|blocks| blocks >= 7));
    let seconds = third.remaining.expect("known after two blocks").as_secs_f64();
    let blocks = f64::from(third.remaining_blocks.expect("known after two blocks"));
    assert!((seconds / blocks - 5.0).abs() < 2.0, "a block takes about 5 s: {seconds} s for {blocks}");

    let dropping = pages.iter().find(|page| page.dropped.contains(&2)).expect("three times as slow");
    assert_eq!(outcome.configurations[2].dropped_after_block, Some(dropping.block));
    assert_eq!(dropping.configurations[2].remaining_runs, Some(0));
    assert_eq!(pages.last().and_then(|page| page.remaining_blocks), Some(0), "nothing remains at the end");
}
