//! A machine and its parts, as they are written.

use firsttouch_linux::cpulist::parse_list;
use firsttouch_placement::parse_size;
use serde::{Deserialize, Deserializer, de};

/// A machine to boot.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// What it stands for, in one line.
    pub about: String,
    /// The packages and what is in each.
    pub processor: Processor,
    /// The memory nodes, ascending by id. Ids may have gaps.
    pub nodes: Vec<LabNode>,
    /// Distances of the firmware's table (SLIT), a row and a column for each node in order; 10 is the node itself.
    pub distances: Option<Vec<Vec<u32>>>,
    /// Latencies of the firmware's table (HMAT) in nanoseconds: a row for each node with CPUs, a column for each node.
    pub latencies_ns: Option<Vec<Vec<u64>>>,
    /// Bandwidths of the firmware's table in bytes per second, rows and columns likewise.
    pub bandwidths: Option<Vec<Vec<Bytes>>>,
    /// Memory-side caches.
    #[serde(default)]
    pub side_caches: Vec<SideCache>,
    /// Devices beside what every machine needs.
    #[serde(default)]
    pub devices: Vec<Device>,
    /// More words for the kernel's command line: `isolcpus=3`.
    #[serde(default)]
    pub kernel_options: String,
    /// The mode of transparent huge pages: `always`, `madvise` or `never`; the kernel's own where absent.
    pub thp: Option<String>,
}

impl Description {
    /// The node of that id.
    pub fn node(&self, id: u32) -> Option<&LabNode> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// Nodes with CPUs, the rows of the speed tables.
    pub fn initiators(&self) -> impl Iterator<Item = &LabNode> {
        self.nodes.iter().filter(|node| !node.cpus.is_empty())
    }
}

/// How many of each make up the processors.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Processor {
    /// Packages (sockets).
    pub packages: u32,
    /// Dies in each package.
    #[serde(default = "one")]
    pub dies: u32,
    /// Cores in each die.
    pub cores: u32,
    /// Threads of each core.
    #[serde(default = "one")]
    pub threads: u32,
}

impl Processor {
    /// CPUs of one package.
    pub fn cpus_per_package(&self) -> u32 {
        self.dies.saturating_mul(self.cores).saturating_mul(self.threads)
    }

    /// CPUs of all packages.
    pub fn cpus(&self) -> u32 {
        self.packages.saturating_mul(self.cpus_per_package())
    }
}

/// One memory node.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct LabNode {
    /// Its number.
    pub id: u32,
    /// Its CPUs, numbered package by package; empty for a node of memory alone.
    #[serde(default, deserialize_with = "cpu_list")]
    pub cpus: Vec<u32>,
    /// Memory that is there from the start.
    #[serde(default)]
    pub memory: Bytes,
    /// Memory in a slot, which the kernel takes in as it takes in memory plugged into a running machine.
    #[serde(default)]
    pub plugged: Bytes,
    /// Whether plugged memory is made usable before the program runs.
    #[serde(default = "yes")]
    pub online: bool,
    /// For a node without CPUs: the node whose CPUs are nearest.
    pub nearest: Option<u32>,
}

impl LabNode {
    /// All of its memory once everything is plugged in, in bytes.
    pub fn bytes(&self) -> u64 {
        self.memory.0.saturating_add(self.plugged.0)
    }
}

/// A cache in front of a node's memory.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct SideCache {
    /// The node.
    pub node: u32,
    /// Its size.
    pub size: Bytes,
}

/// A device in a slot next to a node.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// What it is.
    pub kind: DeviceKind,
    /// The node it is next to.
    pub node: u32,
}

/// Kinds of devices.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// A disk, empty.
    Nvme,
    /// A network card, connected to nothing.
    Net,
}

/// A number of bytes, written as `512M` or as a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a size, for example \"512M\"")]
        enum Written {
            Number(u64),
            Text(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Number(bytes) => Ok(Bytes(bytes)),
            Written::Text(text) => parse_size(&text)
                .map(Bytes)
                .ok_or_else(|| de::Error::custom(format!("`{text}` is no size; \"512M\" is one"))),
        }
    }
}

fn cpu_list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u32>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_list(&text)
        .ok_or_else(|| de::Error::custom(format!("`{text}` is no list of CPUs; \"0-3,8\" is one")))
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}
