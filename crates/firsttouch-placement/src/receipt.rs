//! Obtained: what the kernel really gave.

use crate::{Placement, Via};
use firsttouch_memory::Reason;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::collections::BTreeMap;

/// Bytes that did not get what was asked, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortfall {
    /// One reason of the closed list.
    #[serde(serialize_with = "reason_out", deserialize_with = "reason_in")]
    pub reason: Reason,
    /// How many bytes it concerns; 0 where the whole program is concerned and no size is known.
    pub bytes: u64,
    /// The line that mends it.
    pub remedy: String,
}

impl Shortfall {
    /// A shortfall with the remedy of its reason.
    pub fn new(reason: Reason, bytes: u64) -> Self {
        Shortfall { reason, bytes, remedy: reason.remedy().to_owned() }
    }
}

/// One placed block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockReport {
    /// Running number of the block in its process, from 1.
    pub id: u64,
    /// Address, in hexadecimal (`0x…`).
    pub address: String,
    /// Bytes the program asked for.
    pub bytes: u64,
    /// Of these, bytes on huge pages.
    pub huge_bytes: u64,
}

/// What was obtained, at the moment when placed memory was at its peak.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Obtained {
    /// Resident bytes of placed memory by page size in bytes. Without a way to see multi-size pages they count as base pages.
    pub bytes_by_page_size: BTreeMap<u64, u64>,
    /// Resident bytes of placed memory by NUMA node; `None` if the kernel does not say.
    pub bytes_by_node: Option<BTreeMap<u32, u64>>,
    /// Bytes of placed blocks at that moment.
    pub placed_bytes: u64,
    /// Largest number of bytes in placed blocks at any time.
    pub peak_bytes: u64,
    /// Allocations placed over the life of the program.
    pub placed_blocks: u64,
    /// Bytes that came from recycled blocks instead of the kernel, over the life of the program.
    pub recycled_bytes: u64,
    /// The whole process at its end, resident bytes by page size; `None` if it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_bytes_by_page_size: Option<BTreeMap<u64, u64>>,
}

impl Obtained {
    /// Share of the resident placed bytes that lies on pages of at least `page_bytes`; `None` when nothing is resident.
    pub fn share_on_pages_of(&self, page_bytes: u64) -> Option<f64> {
        let total: u64 = self.bytes_by_page_size.values().sum();
        let there: u64 = self.bytes_by_page_size.range(page_bytes..).map(|(_, bytes)| bytes).sum();
        (total > 0).then(|| there as f64 / total as f64)
    }
}

/// Asked against obtained, for one execution of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// [`crate::SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The program image that was looked at.
    pub program: String,
    /// What was asked.
    pub asked: Placement,
    /// What was obtained; `None` if nothing could be read (the shortfalls say why).
    pub obtained: Option<Obtained>,
    /// Reasons for everything that did not get what was asked.
    pub shortfalls: Vec<Shortfall>,
    /// The means that was really used.
    pub via: Via,
    /// The placed blocks of the peak, largest first, at most 64 of them.
    pub blocks: Vec<BlockReport>,
    /// The program ran to its end and the reading is its last; false if it was killed before.
    pub complete: bool,
    /// Remarks that are no shortfalls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

fn reason_out<S: Serializer>(reason: &Reason, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(reason.word())
}

fn reason_in<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Reason, D::Error> {
    let word = String::deserialize(deserializer)?;
    Reason::parse(&word).ok_or_else(|| de::Error::custom(format!("`{word}` is not a reason of the list")))
}
