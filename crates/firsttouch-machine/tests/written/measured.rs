//! A machine that was measured.

use super::{CPU, NODE, Written};
use firsttouch_machine::{
    Machine, Matrix, MeasuredMachine, MeasuredNode, MeasuredPages, Measurement, Method, Root, SingleCpu,
    Spread,
};

/// A machine of two nodes with CPUs (0 and 2) and one without (3).
pub(crate) fn three_nodes(model: &str) -> Machine {
    let written = Written::new();
    written.file("proc/cpuinfo", &format!("processor : 0\nmodel name : {model}\n"));
    written.file(&format!("{CPU}/online"), "0-3\n");
    for cpu in 0..4 {
        written.file(&format!("{CPU}/cpu{cpu}/topology/core_id"), &format!("{cpu}\n"));
    }
    for (node, cpus) in [(0, "0-1"), (2, "2-3"), (3, "")] {
        written.file(&format!("{NODE}/node{node}/cpulist"), &format!("{cpus}\n"));
    }
    Machine::read(&Root::at(written.path())).unwrap()
}

/// A measurement of it that found these rates of reading, and nothing else.
pub(crate) fn measured(machine: &Machine, read_gbps: Matrix) -> Measurement {
    let nothing = nothing();
    Measurement {
        date: "2026-01-01T00:00:00Z".to_owned(),
        machine: MeasuredMachine::of(machine),
        nodes: MeasuredNode::all_of(machine),
        latency_ns: nothing.clone(),
        loaded_latency_ns: nothing.clone(),
        load_gbps: nothing.clone(),
        read_gbps,
        write_gbps: nothing.clone(),
        copy_gbps: nothing.clone(),
        numa_factor: nothing,
        single_cpu: SingleCpu::default(),
        spread: Spread::default(),
        pages: MeasuredPages {
            asked: "thp".to_owned(),
            obtained: Vec::new(),
            huge_share: None,
            latency_bytes: 1 << 30,
            bandwidth_bytes: 1 << 29,
        },
        page_latency: None,
        cores: None,
        method: Method::default(),
        disagreements: Vec::new(),
        notes: Vec::new(),
    }
}

/// What is known where nothing was measured.
pub(crate) fn nothing() -> Matrix {
    vec![vec![None; 3]; 3]
}
