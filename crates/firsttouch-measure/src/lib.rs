//! Measures what the firmware leaves out: latency and bandwidth from the CPUs of every node to the memory of every
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
//! Between CPUs ([`MeasureOptions::cores`]) it is a cache line that both write in turn.
//!
//! [`measure_filling`] finds what creating, clearing and handing out memory costs, by every engine there is;
//! [`measure_limit`] in a fraction of a second what a set of CPUs can do at most, to hold a program's figure against.
//!
//! Architecture invariants: a value that was not measured is `None`; no thread of the caller is moved (all work is done
//! by threads of our own); nothing of the machine is changed; this crate prints nothing and reads no clock but the
//! monotonic one. `unsafe` is for vector instructions and lives in `simd` alone.

#![deny(unsafe_code)]

mod bandwidth;
mod compare;
mod cores;
mod disk;
mod error;
mod filling;
mod latency;
mod limits;
mod memory;
mod plan;
mod progress;
mod rounds;
mod series;
#[expect(unsafe_code, reason = "vector instructions")]
mod simd;
mod streams;
mod team;

pub use disk::DirectFile;
pub use error::MeasureError;
pub use filling::{Engine, FillOptions, FillingError, measure_filling};
pub use latency::{Chain, mix};
pub use limits::{Limit, measure_limit};
pub use plan::{MeasureOptions, enough_bytes};
pub use progress::MeasureProgress;

use firsttouch_machine::{Machine, MeasuredMachine, MeasuredPages, Measurement, Method, PageLatency};
use plan::Plan;

/// Measures the machine this program runs on, as [`Machine::examine`] found it. `date` is for the document.
pub fn measure(
    machine: &Machine,
    options: &MeasureOptions,
    date: String,
    progress: &mut dyn FnMut(MeasureProgress),
) -> Result<Measurement, MeasureError> {
    let mut plan = Plan::of(machine, options)?;
    progress(MeasureProgress::Preparing { bytes: plan.all_bytes(), nodes: plan.memory_nodes.len() });
    let mut memory = memory::Memory::create(&plan)?;
    let (obtained, huge_share) = (memory.kinds(), memory.huge_share());
    plan.notes.append(&mut memory.notes);
    let (results, means) = rounds::measure(&plan, memory, progress)?;

    let latency_ns = results.latency_ns.median();
    let cores = match options.cores {
        true => Some(cores::measure(machine, options.quick, date.clone(), progress)?),
        false => None,
    };
    let numa_factor = compare::numa_factor(&latency_ns);
    let (read_gbps, write_gbps) = (results.all.read.median(), results.all.write.median());
    let disagreements = compare::with_firmware(machine, &plan.nodes, &latency_ns, &read_gbps, &write_gbps);
    let page_latency = results.small_pages_ns.median().and_then(|small_ns| {
        let pair = plan.page_pair?;
        let huge_ns = latency_ns[plan.cpu_nodes[pair.0].place][plan.memory_nodes[pair.1].place]?;
        Some(PageLatency { size_bytes: plan.region_bytes as u64, small_ns, huge_ns })
    });
    Ok(Measurement {
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
            obtained,
            huge_share,
            latency_bytes: plan.region_bytes as u64,
            bandwidth_bytes: plan.region_bytes as u64,
        },
        page_latency,
        cores,
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
