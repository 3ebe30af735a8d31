//! Small cases, worked out by hand.

use super::*;
use crate::Task;

/// Two nodes of two cores. A message takes 1 s and its bytes at 10 a second within a node, 2 s and 5 a second between nodes.
fn machine() -> Machine {
    Machine::parse("2:2 + 1:2").unwrap().with_levels(&[(0.5, 10.0), (1.0, 10.0), (2.0, 5.0)])
}

fn message(from: u32, to: u32, bytes: f64) -> Message {
    Message { from, to, count: 1.0, bytes }
}

fn simulated(loads: &[f64], messages: &[Message], cores: &[u32]) -> Run {
    let problem = Problem::new(loads.iter().map(|load| Task::new(*load)).collect(), messages).unwrap();
    run(&problem, &machine(), &Mapping::new(cores.to_vec())).unwrap()
}

#[test]
fn the_core_that_receives_fetches() {
    // Task 0 runs until 3; task 1 until 1, and its core fetches from 3 for 1 s and 10 bytes at 10 a second.
    let run = simulated(&[3.0, 1.0], &[message(0, 1, 10.0)], &[0, 1]);
    assert_eq!(run.elapsed_s, 5.0);
    assert_eq!(run.busy_s, [3.0, 3.0, 0.0, 0.0]);
    assert_eq!(run.task_s, [3.0, 3.0]);
    assert_eq!(run.efficiency(), 6.0 / 20.0);
}

#[test]
fn distances_cost_what_their_class_costs() {
    let elapsed = |to| {
        let messages = [Message { count: 3.0, ..message(0, 1, 10.0) }];
        simulated(&[1.0, 0.0], &messages, &[0, to]).elapsed_s
    };
    assert_eq!([elapsed(0), elapsed(1), elapsed(2)], [1.0 + 1.5 + 1.0, 1.0 + 3.0 + 1.0, 1.0 + 6.0 + 2.0]);
}

#[test]
fn background_comes_first_and_speed_counts() {
    let machine = machine().with_cores(&[(2.0, 1.0), (1.0, 0.0), (1.0, 7.0), (1.0, 0.0)]);
    let problem = Problem::new(vec![Task::new(4.0)], &[]).unwrap();
    let run = run(&problem, &machine, &Mapping::new(vec![0])).unwrap();
    assert_eq!((&run.task_s[..], &run.busy_s[..]), (&[2.0][..], &[2.0, 0.0, 0.0, 0.0][..]));
    // The background of another core ends last.
    assert_eq!(run.elapsed_s, 7.0);
}

#[test]
fn tasks_are_packed_and_unpacked() {
    let tasks = |count| (0..count).map(|_| Task { bytes: 20, ..Task::new(1.0).at(0) }).collect();
    let moved = |count: usize| {
        let problem = Problem::new(tasks(count), &[]).unwrap();
        let (to, from) = (Mapping::new(vec![2; count]), Mapping::new(vec![0; count]));
        migration(&problem, &machine(), &to, &from).unwrap()
    };
    // Packed in 2 s, taken in in 2 + 4 s; the second is packed meanwhile and waits.
    assert_eq!(moved(1), 8.0);
    assert_eq!(moved(2), 14.0);
    assert_eq!(moved(0), 0.0);
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    let problem = Problem::new(vec![Task::new(1.0)], &[]).unwrap();
    let unknown = Machine::parse("2 + 1").unwrap();
    let error = run(&problem, &unknown, &Mapping::new(vec![0])).unwrap_err();
    assert_eq!(error.to_string(), "what a message costs over the distance `core` of 2 + 1 is not known");
    let error = run(&problem, &machine(), &Mapping::new(vec![9])).unwrap_err();
    assert_eq!(error, SimulationError::Mapping);
}
