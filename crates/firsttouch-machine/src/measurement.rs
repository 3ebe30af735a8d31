//! What `firsttouch measure` found: latency and bandwidth between every pair of nodes.

use crate::{CoreLatency, Machine};
use serde::{Deserialize, Serialize};

/// A value for each pair of nodes, by their places in [`Measurement::nodes`]: `[from the CPUs of][memory of]`.
/// `None` where nothing could be measured: a node without CPUs or without memory, or a refusal.
pub type Matrix = Vec<Vec<Option<f64>>>;

/// One memory node of a measured machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MeasuredNode {
    /// Its number.
    pub id: u32,
    /// Its CPUs that were online.
    pub cpus: Vec<u32>,
    /// Its memory.
    pub size_bytes: Option<u64>,
}

/// The machine that was measured, as far as it decides whether the numbers hold for another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MeasuredMachine {
    /// Name of the processor.
    pub cpu_model: Option<String>,
    /// Release of the kernel. Not part of the key.
    pub kernel: Option<String>,
    /// Whether it is a virtual machine. Not part of the key.
    pub virtual_machine: Option<bool>,
}

/// The pages the numbers were measured on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MeasuredPages {
    /// The kind asked for (`thp`, `2m`, …).
    pub asked: String,
    /// The kinds that the regions got, each once; empty in documents from before this was told.
    #[serde(default)]
    pub obtained: Vec<String>,
    /// The least share of a measured region that was on huge pages, read back; `None` where the kernel does not tell.
    pub huge_share: Option<f64>,
    /// Bytes of the region that latency was measured in, at each node.
    pub latency_bytes: u64,
    /// Bytes that each pass of a bandwidth measurement covered.
    pub bandwidth_bytes: u64,
}

/// Latency with small pages against huge ones, in a region of the same size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PageLatency {
    /// Size of the region.
    pub size_bytes: u64,
    /// On pages of 4 KiB.
    pub small_ns: f64,
    /// On huge pages (see [`MeasuredPages::huge_share`]).
    pub huge_ns: f64,
}

/// Bandwidth with one CPU, in 10^9 bytes a second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SingleCpu {
    /// Reading.
    pub read_gbps: Matrix,
    /// Writing.
    pub write_gbps: Matrix,
    /// Copying; bytes read and bytes written both count.
    pub copy_gbps: Matrix,
}

/// The lowest and the highest of the repetitions behind each median.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Spread {
    /// Of [`Measurement::latency_ns`].
    pub latency_ns: Range,
    /// Of [`Measurement::loaded_latency_ns`].
    pub loaded_latency_ns: Range,
    /// Of [`Measurement::read_gbps`].
    pub read_gbps: Range,
    /// Of [`Measurement::write_gbps`].
    pub write_gbps: Range,
    /// Of [`Measurement::copy_gbps`].
    pub copy_gbps: Range,
}

/// Two matrices: the lowest and the highest repetition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Range {
    /// The lowest.
    pub low: Matrix,
    /// The highest.
    pub high: Matrix,
}

/// How the numbers were obtained.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Method {
    /// Repetitions behind each median. One repetition of every pair follows another, so that a change of the machine's
    /// speed meets all pairs alike.
    pub repetitions: u32,
    /// Dependent reads in one repetition.
    pub reads: u64,
    /// The instructions that were the fastest with all CPUs of a node.
    pub all_cpus: StreamInstructions,
    /// Those that were the fastest with one CPU.
    pub one_cpu: StreamInstructions,
    /// Measured with `--quick`: fewer and shorter repetitions.
    pub quick: bool,
}

/// Instructions that stream, in words: `avx512`, `avx2 non-temporal`, `plain` (compiler and C library).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StreamInstructions {
    /// For reading.
    pub read: String,
    /// For writing.
    pub write: String,
    /// For copying.
    pub copy: String,
}

/// A place where the firmware's table says something else than what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Disagreement {
    /// The table: `slit` (distances) or `hmat` (latency and bandwidth).
    pub table: String,
    /// What it states: `distance`, `order`, `read_latency_ns`, `read_gbps` or `write_gbps`.
    pub what: String,
    /// The node of the CPUs.
    pub cpu_node: u32,
    /// The node of the memory.
    pub memory_node: u32,
    /// What the table states, in the unit of `what`; a distance as a multiple of the node's own.
    pub stated: f64,
    /// What was measured, in the same unit.
    pub measured: f64,
}

/// Latency and bandwidth between the nodes of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Measurement {
    /// When it was measured, RFC 3339.
    pub date: String,
    /// Where.
    pub machine: MeasuredMachine,
    /// The nodes; rows and columns of the matrices are in this order.
    pub nodes: Vec<MeasuredNode>,
    /// Latency of a dependent read in nanoseconds, nothing else running.
    pub latency_ns: Matrix,
    /// The same while the other CPUs of the node read as fast as they can; `None` also where there is no other CPU.
    pub loaded_latency_ns: Matrix,
    /// What those other CPUs read meanwhile, in 10^9 bytes a second.
    pub load_gbps: Matrix,
    /// Bandwidth of reading with all CPUs of the node, in 10^9 bytes a second.
    pub read_gbps: Matrix,
    /// Bandwidth of writing.
    pub write_gbps: Matrix,
    /// Bandwidth of copying; bytes read and bytes written both count.
    pub copy_gbps: Matrix,
    /// The NUMA factor: latency to the node over latency to the own memory.
    pub numa_factor: Matrix,
    /// Bandwidth with one CPU.
    pub single_cpu: SingleCpu,
    /// Lowest and highest repetitions.
    pub spread: Spread,
    /// What it was measured on.
    pub pages: MeasuredPages,
    /// 4 KiB pages against huge pages.
    pub page_latency: Option<PageLatency>,
    /// Core to core, where it was asked for.
    #[serde(default)]
    pub cores: Option<CoreLatency>,
    /// How.
    pub method: Method,
    /// Where the firmware's tables say something else.
    pub disagreements: Vec<Disagreement>,
    /// What a reader should know about the numbers.
    pub notes: Vec<String>,
}

impl Measurement {
    /// Whether the machine has the processor and the nodes that were measured: the same ids with the same CPUs.
    pub fn is_of(&self, machine: &Machine) -> bool {
        self.machine.cpu_model == machine.cpu_model && same_shape(&self.nodes, &MeasuredNode::all_of(machine))
    }

    /// Whether both were measured on machines that are the same by processor and nodes.
    pub fn is_of_same_machine(&self, other: &Measurement) -> bool {
        self.machine.cpu_model == other.machine.cpu_model && same_shape(&self.nodes, &other.nodes)
    }

    /// The value of a pair of nodes, by their ids.
    pub fn between(&self, matrix: &Matrix, cpu_node: u32, memory_node: u32) -> Option<f64> {
        let place = |id| self.nodes.iter().position(|node| node.id == id);
        *matrix.get(place(cpu_node)?)?.get(place(memory_node)?)?
    }

    /// Weights for interleaving over memory nodes, in proportion to the bandwidth with which the CPUs of `cpu_nodes`
    /// read them (the mean of those that were measured). The largest weight is at most `most`, the smallest is 1 at
    /// least, and common factors are taken out: smaller weights spread finer. `None` where a node was not measured.
    pub fn weights(&self, cpu_nodes: &[u32], memory_nodes: &[u32], most: u32) -> Option<Vec<(u32, u32)>> {
        let bandwidth = |memory: u32| {
            let measured: Vec<f64> =
                cpu_nodes.iter().filter_map(|cpu| self.between(&self.read_gbps, *cpu, memory)).collect();
            let mean = measured.iter().sum::<f64>() / measured.len() as f64;
            (mean > 0.0).then_some(mean)
        };
        let rates = memory_nodes.iter().map(|node| bandwidth(*node)).collect::<Option<Vec<f64>>>()?;
        let weights = small_ratio(&rates, most);
        Some(memory_nodes.iter().copied().zip(weights).collect())
    }
}

impl MeasuredNode {
    /// The nodes of a machine in the order of the matrices.
    pub fn all_of(machine: &Machine) -> Vec<MeasuredNode> {
        let node = |node: &crate::Node| MeasuredNode {
            id: node.id,
            cpus: node.cpus.clone(),
            size_bytes: node.size_bytes,
        };
        machine.nodes.iter().map(node).collect()
    }
}

impl MeasuredMachine {
    /// The key of a machine.
    pub fn of(machine: &Machine) -> MeasuredMachine {
        MeasuredMachine {
            cpu_model: machine.cpu_model.clone(),
            kernel: machine.kernel.clone(),
            virtual_machine: machine.virtual_machine,
        }
    }
}

/// Sizes are left out: they differ by what the kernel keeps for itself, from one kernel to the next.
fn same_shape(a: &[MeasuredNode], b: &[MeasuredNode]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.id == b.id && a.cpus == b.cpus)
}

/// The smallest whole numbers that are in proportion to the rates within 5 %, or the nearest with the largest allowed.
/// None is 0.
pub fn small_ratio(rates: &[f64], most: u32) -> Vec<u32> {
    const CLOSE: f64 = 0.05;
    let fastest = rates.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let scaled = |top: u32| -> (Vec<u32>, f64) {
        let exact = rates.iter().map(|rate| rate / fastest * f64::from(top));
        let whole: Vec<u32> = exact.clone().map(|value| (value.round() as u32).max(1)).collect();
        let error = exact.zip(&whole).map(|(exact, whole)| (f64::from(*whole) / exact - 1.0).abs());
        let worst = error.fold(0.0, f64::max);
        (whole, worst)
    };
    let mut best = scaled(1);
    for top in 2..=most {
        if best.1 <= CLOSE {
            break;
        }
        let candidate = scaled(top);
        if candidate.1 < best.1 {
            best = candidate;
        }
    }
    best.0
}
