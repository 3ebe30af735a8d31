//! What `firsttouch fill` found: how fast memory is created, cleared and handed out here.

use serde::{Deserialize, Serialize};

/// Where the memory of a row came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FillState {
    /// From the kernel, which creates and clears every page.
    New,
    /// It was there, with other contents.
    InPlace,
    /// Given back to a pool, until it was ready again.
    Pooled,
    /// Ready in a pool, until it could be used.
    HandedOut,
}

impl FillState {
    /// The word of documents.
    pub fn word(self) -> &'static str {
        match self {
            FillState::New => "new",
            FillState::InPlace => "in_place",
            FillState::Pooled => "pooled",
            FillState::HandedOut => "handed_out",
        }
    }
}

/// One way of getting zeroed memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct FillRow {
    /// `touch`, `populate`, `string`, `streaming`, `clzero`, `vector`, `filler`, `pool` or `dsa`.
    pub method: String,
    /// The kind of pages asked for (`4k`, `thp`, …).
    pub pages: String,
    /// Their size in bytes, as obtained.
    pub page_size: u64,
    /// Threads that worked on it at the same time.
    pub threads: u32,
    /// CPUs that it might have used: a filler takes no more threads than pay.
    #[serde(default)]
    pub cpus: u32,
    /// Where the memory came from.
    pub state: FillState,
    /// 10⁹ bytes per second: the median of the rounds.
    pub gbps: f64,
    /// Nanoseconds for each page.
    pub ns_per_page: f64,
    /// The part of the store bandwidth of as many CPUs: of that measured in the same round, if the memory was there; the
    /// median.
    pub share_of_store_bandwidth: f64,
    /// Of new memory: the part of the best rate at which the kernel, touched or asked, created it with as many CPUs in the
    /// same round; the median.
    #[serde(default)]
    pub share_of_kernels_best: Option<f64>,
}

/// From which sizes on stores past the caches are faster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct FillCrossovers {
    /// The means that passes them.
    pub past_caches: String,
    /// Bytes from which on it is, for memory that is not read next; `None` if it never is.
    pub left_from_bytes: Option<u64>,
    /// The same for memory that is read next.
    pub read_from_bytes: Option<u64>,
    /// Bytes up to which vector stores are, for memory that is read next and in the caches; `None` if they never are.
    #[serde(default)]
    pub vector_to_bytes: Option<u64>,
}

/// A size filled by the C library and by the means that a filler takes for it, on memory that lies in no cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct FillCold {
    /// Bytes that are filled at a time.
    pub bytes: u64,
    /// By `memset`, in 10⁹ bytes per second.
    pub memset_gbps: f64,
    /// What a filler takes for memory that is not read next.
    pub means: String,
    /// By that.
    pub gbps: f64,
}

/// How long a fill that is cancelled goes on, until it has said what it filled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct FillCancel {
    /// Where the memory came from.
    pub state: FillState,
    /// Microseconds, the middle one of many.
    pub median_us: f64,
    /// The longest.
    pub worst_us: f64,
}

/// A queue of a device that clears memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct FillDevice {
    /// As the kernel names it (`wq0.1`).
    pub queue: String,
    /// The device it belongs to (`dsa0`).
    pub device: String,
    /// The node it is next to.
    pub node: Option<u32>,
    /// Why it was not used; `None` if it was.
    pub obstacle: Option<String>,
    /// False: what is known of this engine is known of a model in software.
    pub verified_on_hardware: bool,
}

/// The document of `fill --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct FillReport {
    /// When it was measured (RFC 3339).
    pub date: String,
    /// Bytes of memory of every row.
    pub size_bytes: u64,
    /// Store bandwidth on memory that is there, by number of threads from 1 on, in 10⁹ bytes per second.
    pub store_bandwidth_gbps: Vec<f64>,
    /// All that was tried.
    pub rows: Vec<FillRow>,
    /// What decides between the means.
    pub crossovers: FillCrossovers,
    /// Sizes of memory that is there, filled by one thread while it lies in no cache.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cold: Vec<FillCold>,
    /// Threads that the filler uses on each node: on memory that is there, and on new memory.
    pub filler_threads: [u32; 2],
    /// Microseconds until a thread that sleeps has done a page of work.
    pub wake_us: f64,
    /// How soon fills by the filler end when they are cancelled; empty where it was not tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cancels: Vec<FillCancel>,
    /// Devices that were found; empty where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<FillDevice>,
    /// Every byte of every row was read back as zero.
    pub verified: bool,
    /// What to know about the numbers.
    pub notes: Vec<String>,
}
