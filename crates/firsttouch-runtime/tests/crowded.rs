//! Workers without work leave the CPU to those who have some. Alone in its file, because it looks at the whole process.

use firsttouch_balance::{Machine, Mapping, Problem, Task};
use firsttouch_linux::numa;
use firsttouch_linux::process::{Stat, TICKS_PER_S};
use firsttouch_linux::root::Root;
use firsttouch_runtime::programs::{Synthetic, rounds_per_second};
use firsttouch_runtime::{Runtime, Settings};

/// Work of a step, in seconds, and steps.
const WORK_S: f64 = 0.02;
const STEPS: u64 = 30;

#[test]
fn workers_that_wait_do_not_spin_for_long() {
    let cpu = numa::affinity(0).unwrap().iter().next().unwrap();
    // Eight workers on one CPU, and all the work with the first of them.
    let problem = Problem::new(vec![Task::new(WORK_S)], &[]).unwrap();
    let program = Synthetic::new(problem, rounds_per_second(), 4096);
    let settings = Settings { start: Some(Mapping::new(vec![0])), ..Settings::default() };
    let machine = Machine::parse("8 + 1").unwrap();
    let mut runtime = Runtime::pretending(program, machine, &[cpu; 8], settings).unwrap();
    let used = || Stat::read(&Root::live(), std::process::id()).unwrap().ticks() as f64 / TICKS_PER_S as f64;
    let before = used();
    runtime.run(STEPS).unwrap();
    let all = used() - before;
    let work: f64 = runtime.account().steps.iter().flat_map(|step| &step.workers).map(|w| w.task_s).sum();
    assert!(work > 0.0 && all < 1.3 * work + 0.05, "{all} s of processor time for {work} s of work");
}
