//! What `firsttouch measure` found: latency and bandwidth between every pair of nodes, and the file that keeps it.
//!
//! A file holds any number of measurements, one for each machine, so that a home folder shared by many machines
//! serves them all. A single document, as `measure --json` prints it, reads as well.

use crate::Machine;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Version of the document; an older reader would misunderstand a document of a higher one.
pub const MEASUREMENT_VERSION: u32 = 1;

/// A value for each pair of nodes, by their places in [`Measurement::nodes`]: `[from the CPUs of][memory of]`.
/// `None` where nothing could be measured: a node without CPUs or without memory, or a refusal.
pub type Matrix = Vec<Vec<Option<f64>>>;

/// One memory node of a measured machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
pub struct MeasuredPages {
    /// The kind asked for (`thp`, `2m`, …).
    pub asked: String,
    /// The least share of a measured region that was on huge pages, read back; `None` where the kernel does not tell.
    pub huge_share: Option<f64>,
    /// Bytes of the region that latency was measured in, at each node.
    pub latency_bytes: u64,
    /// Bytes that each pass of a bandwidth measurement covered.
    pub bandwidth_bytes: u64,
}

/// Latency with small pages against huge ones, in a region of the same size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
pub struct Range {
    /// The lowest.
    pub low: Matrix,
    /// The highest.
    pub high: Matrix,
}

/// How the numbers were obtained.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Method {
    /// Repetitions behind each median. One repetition of every pair follows another, so that a change of the machine's
    /// speed meets all pairs alike.
    pub repetitions: u32,
    /// Dependent reads in one repetition.
    pub reads: u64,
    /// The instructions that were the fastest with all CPUs of a node.
    pub all_cpus: Means,
    /// Those that were the fastest with one CPU.
    pub one_cpu: Means,
    /// Measured with `--quick`: fewer and shorter repetitions.
    pub quick: bool,
}

/// Instructions that stream, in words: `avx512`, `avx2 non-temporal`, `plain` (compiler and C library).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Means {
    /// For reading.
    pub read: String,
    /// For writing.
    pub write: String,
    /// For copying.
    pub copy: String,
}

/// A place where the firmware's table says something else than what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
pub struct Measurement {
    /// [`MEASUREMENT_VERSION`].
    pub schema_version: u32,
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
    /// How.
    pub method: Method,
    /// Where the firmware's tables say something else.
    pub disagreements: Vec<Disagreement>,
    /// What a reader should know about the numbers.
    pub notes: Vec<String>,
}

/// A file of measurements that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MeasurementError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the kernel answered.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the kernel answered.
        source: io::Error,
    },
    /// The file holds something else.
    #[error("{} is not a file of `firsttouch measure --save`", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where it goes wrong.
        source: serde_json::Error,
    },
    /// The file was written by a newer version.
    #[error("{} has schema_version {found}; this version reads {MEASUREMENT_VERSION}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The version found.
        found: u32,
    },
}

/// A file: many measurements, or one.
#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Many(Vec<Measurement>),
    One(Box<Measurement>),
}

impl Measurement {
    /// The measurement of this machine in a file; `Ok(None)` where the file does not exist or holds other machines only.
    pub fn load(path: &Path, machine: &Machine) -> Result<Option<Measurement>, MeasurementError> {
        Ok(read(path)?.into_iter().rev().find(|measurement| measurement.is_of(machine)))
    }

    /// Puts the measurement into a file, in place of an older one of the same machine. The file is replaced as a whole:
    /// a reader sees the old content or the new one.
    pub fn save(&self, path: &Path) -> Result<(), MeasurementError> {
        let mut all = read(path)?;
        all.retain(|other| {
            !(other.machine.cpu_model == self.machine.cpu_model && same_shape(&other.nodes, &self.nodes))
        });
        all.push(self.clone());
        write(path, &all).map_err(|source| MeasurementError::Write { path: path.to_owned(), source })
    }

    /// Whether the machine has the processor and the nodes that were measured: the same ids with the same CPUs.
    pub fn is_of(&self, machine: &Machine) -> bool {
        self.machine.cpu_model == machine.cpu_model && same_shape(&self.nodes, &MeasuredNode::all_of(machine))
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

/// What a file holds; nothing when there is no such file.
fn read(path: &Path) -> Result<Vec<Measurement>, MeasurementError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(MeasurementError::Read { path: path.to_owned(), source }),
    };
    let syntax = |source| MeasurementError::Syntax { path: path.to_owned(), source };
    let value: serde_json::Value = serde_json::from_str(&text).map_err(syntax)?;
    // The version comes first: a newer document need not read as ours at all.
    let documents = value.as_array().map_or(std::slice::from_ref(&value), Vec::as_slice);
    for document in documents {
        let found = document.get("schema_version").and_then(serde_json::Value::as_u64);
        if let Some(found) = found.and_then(|found| u32::try_from(found).ok())
            && found > MEASUREMENT_VERSION
        {
            return Err(MeasurementError::Version { path: path.to_owned(), found });
        }
    }
    match serde_json::from_value(value).map_err(syntax)? {
        Content::Many(measurements) => Ok(measurements),
        Content::One(measurement) => Ok(vec![*measurement]),
    }
}

fn write(path: &Path, all: &[Measurement]) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let name = path.file_name().ok_or_else(|| io::Error::other("the path names no file"))?;
    // Under another name first, in the same folder, which makes the renaming one step.
    let mut other_name = std::ffi::OsString::from(".");
    other_name.push(name);
    other_name.push(format!(".{}", std::process::id()));
    let other = folder.join(other_name);
    let mut text = serde_json::to_vec_pretty(all)?;
    text.push(b'\n');
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&other)
        .and_then(|mut file| file.write_all(&text))
        .and_then(|()| fs::rename(&other, path));
    if written.is_err() {
        // What is left of an attempt that failed; the error itself is told.
        let _ = fs::remove_file(&other);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Root;

    /// A machine of two nodes with CPUs and one without, written to a folder and read like any other.
    fn machine(model: &str) -> (tempfile::TempDir, Machine) {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/cpuinfo", &format!("processor : 0\nmodel name : {model}\n"));
        write("sys/devices/system/cpu/online", "0-3\n");
        for cpu in 0..4 {
            write(&format!("sys/devices/system/cpu/cpu{cpu}/topology/core_id"), &format!("{cpu}\n"));
        }
        for (node, cpus) in [(0, "0-1"), (2, "2-3"), (3, "")] {
            write(&format!("sys/devices/system/node/node{node}/cpulist"), &format!("{cpus}\n"));
        }
        let machine = Machine::read(&Root::at(folder.path())).unwrap();
        (folder, machine)
    }

    fn measured(machine: &Machine, read_gbps: Matrix) -> Measurement {
        let nothing = vec![vec![None; 3]; 3];
        Measurement {
            schema_version: MEASUREMENT_VERSION,
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
                huge_share: None,
                latency_bytes: 1 << 30,
                bandwidth_bytes: 1 << 29,
            },
            page_latency: None,
            method: Method::default(),
            disagreements: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn rates() -> Matrix {
        vec![
            vec![Some(100.0), Some(48.0), Some(24.0)],
            vec![Some(50.0), Some(102.0), Some(26.0)],
            vec![None; 3],
        ]
    }

    #[test]
    fn a_file_keeps_one_measurement_for_each_machine() {
        let ((_a, one), (_b, other)) = (machine("One"), machine("Other"));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/measured.json");
        assert_eq!(Measurement::load(&path, &one).unwrap(), None);
        let (first, second) = (measured(&one, rates()), measured(&other, rates()));
        first.save(&path).unwrap();
        second.save(&path).unwrap();
        let newer = Measurement { date: "2027-01-01T00:00:00Z".to_owned(), ..first };
        newer.save(&path).unwrap();
        assert_eq!(Measurement::load(&path, &one).unwrap(), Some(newer));
        assert_eq!(Measurement::load(&path, &other).unwrap(), Some(second));
        assert_eq!(read(&path).unwrap().len(), 2);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn a_single_document_reads_as_a_file() {
        let (_folder, machine) = machine("One");
        let measurement = measured(&machine, rates());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("measured.json");
        fs::write(&path, serde_json::to_string(&measurement).unwrap()).unwrap();
        assert_eq!(Measurement::load(&path, &machine).unwrap(), Some(measurement));
    }

    #[test]
    fn what_is_no_measurement_is_refused_and_left_alone() {
        let (_folder, machine) = machine("One");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("measured.json");
        for content in ["", "{", "[1]", "{\"schema_version\":1}"] {
            fs::write(&path, content).unwrap();
            assert!(
                matches!(Measurement::load(&path, &machine), Err(MeasurementError::Syntax { .. })),
                "{content}"
            );
            measured(&machine, rates()).save(&path).unwrap_err();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        fs::write(&path, "[{\"schema_version\":2,\"else\":[]}]").unwrap();
        assert!(matches!(
            Measurement::load(&path, &machine),
            Err(MeasurementError::Version { found: 2, .. })
        ));
    }

    #[test]
    fn weights_follow_the_measured_bandwidth() {
        let (_folder, machine) = machine("One");
        let measurement = measured(&machine, rates());
        // From node 0 alone: 100, 48, 24. From both: 75, 75, 25.
        assert_eq!(measurement.weights(&[0], &[0, 2, 3], 32), Some(vec![(0, 4), (2, 2), (3, 1)]));
        assert_eq!(measurement.weights(&[0, 2], &[0, 2, 3], 32), Some(vec![(0, 3), (2, 3), (3, 1)]));
        assert_eq!(measurement.weights(&[2], &[2], 32), Some(vec![(2, 1)]));
        assert_eq!(measurement.weights(&[3], &[0], 32), None, "a node without CPUs reads nothing");
        assert_eq!(measurement.weights(&[0], &[0, 9], 32), None);
        assert_eq!(measurement.between(&measurement.read_gbps, 2, 3), Some(26.0));
    }

    #[test]
    fn weights_stay_small_and_never_zero() {
        assert_eq!(small_ratio(&[1000.0, 1.0], 32), [32, 1]);
        assert_eq!(small_ratio(&[90.0, 60.0], 32), [3, 2]);
        assert_eq!(small_ratio(&[50.0, 51.0, 49.5], 32), [1, 1, 1]);
    }
}
