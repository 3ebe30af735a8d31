//! What is run when.

use crate::machine::{Machine, Notebook, plan, session};
use firsttouch_experiment::{Phase, RunRequest, Verdict, run};
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
    let left = outcome.configurations[2].decided.expect("four times as slow").blocks;
    assert!(left <= 5, "{left}");
    for (number, block) in blocks(&machine.requests).iter().enumerate() {
        let mut sorted = block.clone();
        sorted.sort_unstable();
        assert_eq!(sorted.contains(&2), number < left as usize, "block {number}");
        assert!(block.contains(&0), "the baseline is in every block");
        assert!(sorted.windows(2).all(|pair| pair[0] < pair[1]), "nobody twice: {block:?}");
    }
    assert!(blocks(&machine.requests).len() > left as usize, "the others go on");
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
fn the_confirmation_holds_fresh_blocks_of_the_recommended_and_the_baseline() {
    let mut machine = Machine::new(&[1.0, 0.8, 1.0], 0.02, 2);
    let outcome = session(&plan(3, 2), &mut machine);
    let confirmation = outcome.confirmation.expect("20 % is found");
    let fresh: Vec<&RunRequest> =
        machine.requests.iter().filter(|request| request.phase == Phase::Confirmation).collect();
    assert_eq!(outcome.recommended, Some(1));
    assert!(fresh.len() >= 4 && fresh.iter().all(|request| request.configuration < 2));
    assert_eq!(confirmation.recommended_runs.len() + confirmation.baseline_runs.len(), fresh.len());
    let searched: usize = outcome.configurations.iter().map(|configuration| configuration.runs.len()).sum();
    assert_eq!(searched + fresh.len(), machine.requests.len(), "no run is counted twice or lost");
    let ratio = confirmation.ratio.expect("decided");
    assert!(ratio.low < 1.25 && 1.25 < ratio.high * 1.02, "{ratio:?}");
}

#[test]
fn progress_counts_down() {
    let (mut machine, mut notebook) = (Machine::new(&[1.0, 1.0, 3.0], 0.05, 4), Notebook::default());
    let outcome = run(&plan(3, 4), &mut machine, &mut notebook);
    assert_eq!((notebook.started, notebook.finished), (machine.requests.len(), machine.requests.len()));
    let pages: Vec<_> = notebook.pages.iter().filter(|page| page.phase == Phase::Search).collect();
    assert_eq!(pages.len(), outcome.configurations[0].runs.len());

    let first = pages[0];
    assert_eq!((first.remaining_blocks, first.remaining, first.configurations[1].ratio), (None, None, None));
    let tenth = pages[9];
    assert!(tenth.configurations[1].ratio.is_some() && tenth.configurations[1].is_live);
    let forecast = tenth.configurations[1].forecast.expect("undecided");
    assert_eq!(tenth.remaining_blocks, Some(forecast.runs));
    let seconds = tenth.remaining.expect("known by then").as_secs_f64();
    assert!((seconds / f64::from(forecast.runs) - 2.0).abs() < 0.2, "two runs of a second: {seconds} s");

    let slower = &tenth.configurations[2];
    assert!(!slower.is_live && slower.forecast.is_none());
    assert_eq!(slower.decided.map(|(verdict, _)| verdict), Some(Verdict::Slower));
    assert_eq!(pages.last().and_then(|page| page.remaining_blocks), None, "nothing remains at the end");
}
