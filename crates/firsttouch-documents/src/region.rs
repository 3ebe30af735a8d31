//! The receipts of code that places its own data. The C library and the Python package write them without this crate, which
//! reads them.

use firsttouch_placement::Shortfall;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Asked against obtained, for one region of memory or one array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RegionReceipt {
    /// What was asked; `None` if nothing was.
    pub asked: Option<RegionAsked>,
    /// What was obtained; `None` if the kernel does not tell.
    pub obtained: Option<RegionObtained>,
    /// Reasons for everything that did not get what was asked.
    pub shortfalls: Vec<Shortfall>,
}

/// What was asked for a region.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RegionAsked {
    /// The kind of pages, as on the command line.
    pub pages: String,
    /// Its size.
    pub bytes: u64,
    /// The node it was to lie on; absent where it was left open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
}

/// What a region obtained.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RegionObtained {
    /// Resident bytes by page size in bytes.
    pub bytes_by_page_size: BTreeMap<u64, u64>,
    /// Resident bytes by node; `None` if the kernel does not say.
    pub bytes_by_node: Option<BTreeMap<u32, u64>>,
    /// Bytes that were placed.
    pub placed_bytes: u64,
}
