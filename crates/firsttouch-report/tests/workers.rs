//! The time line of workers: well formed, without script, with every step, and readable when there are too many of them.

mod common;

use common::markup::tags;
use firsttouch_documents::{Account, Balancing, Span, Step, WorkerStep};
use firsttouch_report::workers_figure;

/// Two workers of which the second is idle for half of each step.
fn account(steps: u64) -> Account {
    let worker = |begun_s: f64, took: f64| WorkerStep { begun_s, ended_s: begun_s + took, task_s: took };
    let step = |step: u64| {
        let begun_s = step as f64 * 0.1;
        let workers = vec![worker(begun_s, 0.1), worker(begun_s, 0.05)];
        Step { step, begun_s, ended_s: begun_s + 0.1, messages: 3, bytes: 100, workers }
    };
    let span = Span { worker: 1, begun_s: 0.32, ended_s: 0.33 };
    let balancing = Balancing {
        after_step: 2,
        strategy: "<best>".to_owned(),
        begun_s: 0.3,
        decided_s: 0.32,
        ended_s: 0.33,
        imbalance_before: 0.33,
        imbalance_after: 0.02,
        moved: 4,
        rehoused: 3,
        bytes: 4096,
        left_behind: 1,
        migrating: vec![span],
    };
    Account { cpus: vec![0, 1], steps: (1..=steps).map(step).collect(), balancings: vec![balancing] }
}

#[test]
fn every_step_and_balancing_is_drawn() {
    let svg = workers_figure(&account(6), "jacobi2D & <best>");
    tags(&svg).unwrap();
    assert_eq!(svg.matches("worker 0 busy 100 ms of 100 ms").count(), 6, "{svg}");
    assert_eq!(svg.matches("worker 1 busy 50").count(), 6);
    assert!(svg.contains("&lt;best&gt; after step 2: imbalance 33") && svg.contains("worker 1 migrating"));
    assert!(svg.contains("prefers-color-scheme:dark") && !svg.contains("<script"));
}

#[test]
fn many_steps_become_shares() {
    let svg = workers_figure(&account(5000), "long");
    tags(&svg).unwrap();
    assert!(!svg.contains("step 17:"));
    // What the second worker was busy of each column.
    let halves = ["fill-opacity=\"0.4", "fill-opacity=\"0.5"].map(|half| svg.matches(half).count());
    assert!(halves.iter().sum::<usize>() > 400, "{halves:?}");
    assert!(svg.len() < 400_000, "{} bytes", svg.len());
    tags(&workers_figure(&Account::default(), "nothing")).unwrap();
}
