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

fn simulated(loads: &[f64], messages: &[Message], cores: &[u32], simulation: Simulation) -> Run {
    let problem = Problem::new(loads.iter().map(|load| Task::new(*load)).collect(), messages).unwrap();
    run(&problem, &machine(), &Mapping::new(cores.to_vec()), &simulation).unwrap()
}

#[test]
fn the_core_that_receives_fetches() {
    // Task 0 runs until 3; task 1 until 1, and its core fetches from 3 for 1 s and 10 bytes at 10 a second.
    let run = simulated(&[3.0, 1.0], &[message(0, 1, 10.0)], &[0, 1], Simulation::default());
    assert_eq!(run.elapsed_s, 5.0);
    assert_eq!(run.busy_s, [3.0, 3.0, 0.0, 0.0]);
    assert_eq!(run.task_s, [3.0, 3.0]);
    assert_eq!(run.efficiency(), 6.0 / 20.0);
}

#[test]
fn distances_cost_what_their_class_costs() {
    let elapsed = |to| {
        let messages = [Message { count: 3.0, ..message(0, 1, 10.0) }];
        simulated(&[1.0, 0.0], &messages, &[0, to], Simulation::default()).elapsed_s
    };
    assert_eq!([elapsed(0), elapsed(1), elapsed(2)], [1.0 + 1.5 + 1.0, 1.0 + 3.0 + 1.0, 1.0 + 6.0 + 2.0]);
}

#[test]
fn what_is_delivered_keeps_no_core_busy() {
    let delivered = Simulation { carriage: Carriage::Delivered, ..Simulation::default() };
    let run = simulated(&[3.0, 1.0], &[message(0, 1, 10.0)], &[0, 1], delivered);
    assert_eq!((run.elapsed_s, run.busy_s[1]), (5.0, 1.0));
}

#[test]
fn a_memory_gives_to_one_after_the_other() {
    let messages = [message(0, 1, 10.0), message(0, 2, 10.0)];
    let crowded = Simulation { memory_bandwidth: Some(2.0), ..Simulation::default() };
    // From 1 the memory is busy for 5 s with the first and for 5 s with the second; alone they would take 2 s and 4 s.
    let run = simulated(&[1.0, 0.0, 0.0], &messages, &[0, 1, 2], crowded);
    assert_eq!(run.task_s, [1.0, 5.0, 10.0]);
    assert_eq!(simulated(&[1.0, 0.0, 0.0], &messages, &[0, 1, 2], Simulation::default()).elapsed_s, 5.0);
    // What stays on a core is in its cache.
    assert_eq!(simulated(&[1.0, 0.0], &[message(0, 1, 10.0)], &[0, 0], crowded).elapsed_s, 2.5);
    // Between nodes a network is shared, within them it is not.
    let network = Simulation { carriage: Carriage::Delivered, ..crowded };
    assert_eq!(simulated(&[1.0, 0.0, 0.0], &messages, &[0, 1, 2], network).elapsed_s, 6.0);
}

#[test]
fn without_a_barrier_those_that_can_go_on() {
    // Task 0 waits for nobody: from 0 to 3 and from 3 to 6. Task 1 ends at 4, runs until 5, and fetches from 6 to 7.
    let two = Simulation { steps: 2, together: false, ..Simulation::default() };
    let run = |together| {
        simulated(&[3.0, 1.0], &[message(0, 1, 0.0)], &[0, 1], Simulation { together, ..two }).step_ends_s
    };
    assert_eq!(run(false), [4.0, 7.0]);
    assert_eq!(run(true), [4.0, 8.0]);
}

#[test]
fn messages_of_a_sender_that_is_ahead_wait_for_their_step() {
    // Task 2 has all of task 0's messages at 5 but the first of task 1's only at 7, the second at 12.
    let messages = [message(0, 2, 0.0), message(1, 2, 0.0)];
    let flow = Simulation { steps: 2, together: false, ..Simulation::default() };
    let run = simulated(&[1.0, 5.0, 0.0], &messages, &[0, 1, 2], flow);
    assert_eq!(run.step_ends_s, [7.0, 12.0]);
    assert_eq!(run.step_s(), 6.0);
}

#[test]
fn background_comes_first_and_speed_counts() {
    let machine = machine().with_cores(&[(2.0, 1.0), (1.0, 0.0), (1.0, 7.0), (1.0, 0.0)]);
    let problem = Problem::new(vec![Task::new(4.0)], &[]).unwrap();
    let simulated = |steps| {
        let simulation = Simulation { steps, ..Simulation::default() };
        run(&problem, &machine, &Mapping::new(vec![0]), &simulation).unwrap()
    };
    assert_eq!(simulated(1).step_ends_s, [3.0]);
    assert_eq!(simulated(1).elapsed_s, 7.0);
    assert_eq!(simulated(2).step_ends_s, [3.0, 6.0]);
}

#[test]
fn tasks_are_packed_and_unpacked() {
    let tasks = |count| (0..count).map(|_| Task { bytes: 20, ..Task::new(1.0).at(0) }).collect();
    let moved = |count: usize, simulation: Simulation| {
        let problem = Problem::new(tasks(count), &[]).unwrap();
        let (to, from) = (Mapping::new(vec![2; count]), Mapping::new(vec![0; count]));
        migration(&problem, &machine(), &to, &from, &simulation).unwrap()
    };
    // Packed in 2 s, taken in in 2 + 4 s; the second is packed meanwhile and waits.
    assert_eq!(moved(1, Simulation::default()), 8.0);
    assert_eq!(moved(2, Simulation::default()), 14.0);
    assert_eq!(moved(0, Simulation::default()), 0.0);
    assert_eq!(moved(1, Simulation { memory_bandwidth: Some(1.0), ..Simulation::default() }), 22.0);
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    let problem = Problem::new(vec![Task::new(1.0)], &[]).unwrap();
    let unknown = Machine::parse("2 + 1").unwrap();
    let error = run(&problem, &unknown, &Mapping::new(vec![0]), &Simulation::default()).unwrap_err();
    assert_eq!(error.to_string(), "what a message costs over the distance `core` of 2 + 1 is not known");
    let error = run(&problem, &machine(), &Mapping::new(vec![9]), &Simulation::default()).unwrap_err();
    assert_eq!(error, SimulationError::Mapping);
    let stopped = Simulation { memory_bandwidth: Some(0.0), ..Simulation::default() };
    let error = run(&problem, &machine(), &Mapping::new(vec![0]), &stopped).unwrap_err();
    assert_eq!(error, SimulationError::Bandwidth(0.0));
}
