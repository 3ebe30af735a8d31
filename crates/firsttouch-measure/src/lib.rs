//! Measures what the firmware does not tell: latency and bandwidth from the CPUs of every node to the memory of every
//! node, idle and loaded.
//!
//! Latency is that of dependent reads at random places of a region far larger than the caches, on huge pages, so that
//! neither caches nor prefetchers nor address translation have a part in it. Bandwidth is that of passes over such a
//! region by the fastest instructions found on this machine. One repetition of every pair follows another, and medians
//! are reported with the lowest and the highest: what a virtual machine gets changes while one looks.
//!
//! Memory is created, written and read back before anything is timed, and stays mapped until the end: memory that a
//! guest frees may go back to the host, and is slow when it comes again.
//!
//! [`measure_filling`] finds what creating, clearing and handing out memory costs, by every way there is.
//!
//! Architecture invariants: a value that was not measured is `None`; no thread of the caller is moved (all work is done
//! by threads of our own); nothing of the machine is changed; this crate prints nothing and reads no clock but the
//! monotonic one.

#![forbid(unsafe_code)]

mod compare;
mod error;
mod filling;
mod memory;
mod plan;
mod rounds;
mod series;
mod streams;
mod team;

pub use error::MeasureError;
pub use filling::{Engine, FillOptions, FillingError, measure_filling};
pub use plan::Options;

use firsttouch_machine::{
    MEASUREMENT_VERSION, Machine, MeasuredMachine, MeasuredPages, Measurement, Method, PageLatency,
};
use plan::Plan;

/// How far a measurement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Memory is being created and written.
    Preparing {
        /// Bytes, over all nodes.
        bytes: u64,
        /// Nodes whose memory is measured.
        nodes: usize,
    },
    /// The fastest instructions are looked for.
    Choosing,
    /// Pairs of nodes are being measured.
    Measuring {
        /// Pairs done, over all repetitions.
        done: usize,
        /// Pairs to do.
        of: usize,
    },
}

/// Measures the machine this program runs on, as [`Machine::examine`] found it. `date` is for the document.
pub fn measure(
    machine: &Machine,
    options: &Options,
    date: String,
    progress: &mut dyn FnMut(Progress),
) -> Result<Measurement, MeasureError> {
    let mut plan = Plan::of(machine, options)?;
    progress(Progress::Preparing { bytes: plan.all_bytes(), nodes: plan.memory_nodes.len() });
    let mut memory = memory::Memory::create(&plan)?;
    let huge_share = memory.huge_share();
    plan.notes.append(&mut memory.notes);
    let (results, means) = rounds::measure(&plan, memory, progress)?;

    let latency_ns = results.latency_ns.median();
    let numa_factor = compare::numa_factor(&latency_ns);
    let (read_gbps, write_gbps) = (results.all.read.median(), results.all.write.median());
    let disagreements = compare::with_firmware(machine, &plan.nodes, &latency_ns, &read_gbps, &write_gbps);
    let page_latency = results.small_pages_ns.median().and_then(|small_ns| {
        let pair = plan.page_pair?;
        let huge_ns = latency_ns[plan.cpu_nodes[pair.0].place][plan.memory_nodes[pair.1].place]?;
        Some(PageLatency { size_bytes: plan.region_bytes as u64, small_ns, huge_ns })
    });
    Ok(Measurement {
        schema_version: MEASUREMENT_VERSION,
        date,
        machine: MeasuredMachine::of(machine),
        nodes: plan.nodes,
        numa_factor,
        loaded_latency_ns: results.loaded_latency_ns.median(),
        load_gbps: results.load_gbps.median(),
        read_gbps,
        write_gbps,
        copy_gbps: results.all.copy.median(),
        single_cpu: results.one.medians(),
        spread: results.spread(),
        latency_ns,
        pages: MeasuredPages {
            asked: options.pages.to_string(),
            huge_share,
            latency_bytes: plan.region_bytes as u64,
            bandwidth_bytes: plan.region_bytes as u64,
        },
        page_latency,
        method: Method {
            repetitions: plan.repetitions,
            reads: plan.reads,
            all_cpus: means.all,
            one_cpu: means.one,
            quick: options.quick,
        },
        disagreements,
        notes: plan.notes,
    })
}
