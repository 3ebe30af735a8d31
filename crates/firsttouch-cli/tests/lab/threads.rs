//! First touch: memory lies where the thread runs that touches it.

use crate::bench::{Setting, Test, program};
use crate::counts::{counts, only};

/// Blocks of 2 MiB that each thread touches.
const BLOCKS: u64 = 2;

pub(crate) fn tests() -> Vec<Test> {
    let mut tests: Vec<Test> =
        ["two-node", "istanbul", "opteron8", "xeon4", "holes"].map(own_node).into_iter().collect();
    tests.push(without_memory());
    tests
}

/// A thread on the last CPU of each node touches pages of that node.
fn own_node(machine: &'static str) -> Test {
    let described = firsttouch_lab::Description::named(machine).unwrap();
    let cpus: Vec<String> =
        described.initiators().filter_map(|node| node.cpus.last()).map(u32::to_string).collect();
    let run = program("first_touch", &cpus.join(" "));
    Test::new(
        format!("pinned threads touch their own nodes ({machine})"),
        Setting::of(machine),
        vec![run],
        |machine, ran| {
            for (node, thread) in machine.initiators().zip(1..) {
                assert_eq!(counts(&ran[0], &format!("thread{thread}")), only(node.id, BLOCKS));
            }
        },
    )
}

fn without_memory() -> Test {
    let run = program("first_touch", "0 1 2");
    Test::new(
        "a thread on a node without memory touches a neighbour",
        Setting::of("memory-less"),
        vec![run],
        |_, ran| {
            assert_eq!(counts(&ran[0], "thread1"), only(0, BLOCKS));
            assert_eq!(counts(&ran[0], "thread3"), only(2, BLOCKS));
            let middle = counts(&ran[0], "thread2");
            // Both neighbours are equally near.
            assert!(middle.values().sum::<u64>() == BLOCKS && !middle.contains_key(&1), "{middle:?}");
        },
    )
}
