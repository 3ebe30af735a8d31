//! What the machine has, and which of its nodes are meant.

use crate::errors::{bad_argument, unsupported};
use firsttouch_documents::to_line;
use firsttouch_linux::numa::{self, CpuBits};
use firsttouch_machine::{Machine, Root, StatusReport};
use firsttouch_placement::{MemoryPolicy, NodeSet, Placement, Policies, Surroundings};
use pyo3::prelude::*;

/// The document of `firsttouch status --json`.
#[pyfunction]
pub(crate) fn status(py: Python<'_>) -> PyResult<String> {
    let report = py.detach(|| StatusReport::examine(&Root::live()));
    let report =
        report.map_err(|error| unsupported(&error, "mount -t proc proc /proc; mount -t sysfs sysfs /sys"))?;
    Ok(to_line(&report))
}

/// The one node that memory is to come from: of a number, of a list such as `0-1`, or of a tier (`hbm`, `dram`, `cxl`, …);
/// of several the one with the calling thread's CPUs, else that with most free memory.
#[pyfunction]
pub(crate) fn choose_node(words: String) -> PyResult<u32> {
    let hint = "firsttouch.topology() lists the nodes";
    let set: NodeSet = words.parse().map_err(|error| bad_argument(&error, hint))?;
    let machine = Machine::read(&Root::live())
        .map_err(|error| unsupported(&error, "mount -t proc proc /proc; mount -t sysfs sysfs /sys"))?;
    let placement = Placement { memory: MemoryPolicy::Bind(set), ..Placement::default() };
    let around = Surroundings { machine: &machine, near: None, measured: None, kernel: Policies::default() };
    let resolved = placement.resolve(&around).map_err(|error| bad_argument(&error, error.hint()))?;
    let chosen = resolved.memory.nodes();
    let mut nodes: Vec<_> = machine.nodes.iter().filter(|node| chosen.contains(&node.id)).collect();
    const THIS_THREAD: u32 = 0;
    let own = numa::affinity(THIS_THREAD).unwrap_or(CpuBits::EMPTY);
    nodes.sort_by_key(|node| {
        let is_own = own.iter().all(|cpu| node.cpus.contains(&cpu)) && !own.is_empty();
        (is_own, node.free_bytes)
    });
    nodes.last().map(|node| node.id).ok_or_else(|| bad_argument(&format!("`{words}` is no node"), hint))
}
