//! Which devices a running process uses, and where they are: disks below its files, cards that its sockets go through,
//! device files that it has open or mapped.
//!
//! Invariant: what cannot be followed down to hardware is told with the reason, and counts for no node. Code and what is
//! installed with it does not count: every program has the disk that its libraries lie on.

mod choice;
mod files;
mod sockets;

pub use choice::{NoOwnPlace, OwnPlace};

use crate::near::Near;
use crate::reader::Reader;
use crate::{Machine, NearError, Root};
use firsttouch_linux::root::ReadError;
use firsttouch_sorted::{SortedMap, sort_by, sort_by_key};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

/// A device that a process uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct OwnDevice {
    /// Its name, as [`Machine::near`] takes it, where it is a device of our own namespaces.
    pub name: String,
    /// What the process does with it, the most bytes first: `open file /data/x`, `connection to 192.0.2.7 port 443`.
    pub how: Vec<String>,
    /// The layers from the device down to the hardware.
    pub layers: Vec<String>,
    /// The nodes whose memory is nearest; none when that is not known.
    pub nodes: Vec<u32>,
    /// The CPUs that are nearest; none when that is not known.
    pub cpus: Vec<u32>,
    /// Bytes of the files in use; `None` where something else is used, which has no size.
    pub bytes: Option<u64>,
    /// Why its place is not known.
    pub unplaced: Option<String>,
}

/// All devices that a process uses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct OwnDevices {
    /// Those that were found, by name.
    pub devices: Vec<OwnDevice>,
    /// What is used and could not be followed down to a device, with the reason.
    pub unknown: Vec<String>,
}

/// Why the devices of a process cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum OwnDevicesError {
    /// There is no such process, or it has ended.
    #[error("there is no process {pid}")]
    NoProcess {
        /// The process.
        pid: u32,
    },
    /// We may not look into it.
    #[error("cannot see what process {pid} has open")]
    Refused {
        /// The process.
        pid: u32,
        /// What the kernel answered.
        source: ReadError,
    },
}

impl OwnDevicesError {
    /// What would mend it.
    pub fn hint(&self) -> &'static str {
        match self {
            OwnDevicesError::NoProcess { .. } => "ps -e lists the processes",
            OwnDevicesError::Refused { .. } => "run as the user of that process, or as root",
        }
    }
}

/// One thing that a process does with a device.
#[derive(Clone, Debug)]
struct Use {
    what: String,
    bytes: Option<u64>,
}

/// A device, and what is done with it.
#[derive(Debug)]
struct Found {
    near: Result<Near, NearError>,
    uses: Vec<Use>,
}

/// One look at a process.
struct Search<'a> {
    machine: &'a Machine,
    reader: &'a Reader<'a>,
    /// Its folder below the root.
    process: String,
    /// Its open files: number, and what the link says.
    open: Vec<(String, String)>,
    /// By their folders, because several names may mean one device.
    devices: SortedMap<PathBuf, Found>,
    /// By the reason; one example of each is enough.
    unknown: SortedMap<String, Use>,
}

impl Search<'_> {
    /// Adds a use of the device in a folder below the `sys` of `reader`.
    fn add(&mut self, reader: &Reader<'_>, folder: &Path, used: Use) {
        let found = self.devices.entry(folder.to_owned()).or_insert_with(|| Found {
            near: self.machine.near_folder(reader, &name_of(folder), folder),
            uses: Vec::new(),
        });
        found.uses.push(used);
    }

    /// Adds something whose device cannot be told.
    fn cannot_tell(&mut self, why: String, used: Use) {
        self.unknown.entry(why).or_insert(used);
    }

    fn into_devices(self) -> OwnDevices {
        let mut own = OwnDevices::default();
        for (folder, Found { near, mut uses }) in self.devices {
            sort_by_key(&mut uses, |used| Reverse(used.bytes.unwrap_or(u64::MAX)));
            let mut device = OwnDevice {
                name: name_of(&folder),
                bytes: uses.iter().map(|used| used.bytes).sum(),
                how: uses.into_iter().map(|used| used.what).collect(),
                layers: Vec::new(),
                nodes: Vec::new(),
                cpus: Vec::new(),
                unplaced: None,
            };
            match near {
                Ok(near) => {
                    (device.layers, device.nodes, device.cpus) = (near.layers, near.nodes, near.cpus);
                }
                Err(NearError::Unplaced { layers, .. }) => {
                    device.layers = layers;
                    device.unplaced = Some("the firmware does not say which node it is next to".to_owned());
                }
                Err(error) => {
                    own.unknown.extend(device.how.first().map(|what| format!("{what}: {error}")));
                    continue;
                }
            }
            own.devices.push(device);
        }
        sort_by(&mut own.devices, |a, b| a.name.cmp(&b.name));
        let rest = self.unknown.into_iter().map(|(why, used)| format!("{}: {why}", used.what));
        own.unknown.extend(rest);
        own
    }
}

fn name_of(folder: &Path) -> String {
    folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

impl Machine {
    /// The devices that a process uses now, read below `root`.
    ///
    /// Files count by the file system that they lie on, sockets by the interface that their address belongs to, in the
    /// network namespace of the process.
    pub fn own_devices(&self, root: &Root, pid: u32) -> Result<OwnDevices, OwnDevicesError> {
        let process = format!("proc/{pid}");
        let names = match root.list(&format!("{process}/fd")) {
            Ok(Some(names)) => names.into_iter(),
            Ok(None) => return Err(OwnDevicesError::NoProcess { pid }),
            Err(source) => return Err(OwnDevicesError::Refused { pid, source }),
        };
        let open =
            names.filter_map(|name| Some((name.clone(), root.link_text(&format!("{process}/fd/{name}"))?)));
        let mut search = Search {
            machine: self,
            reader: &Reader::new(root),
            open: open.collect(),
            process,
            devices: SortedMap::new(),
            unknown: SortedMap::new(),
        };
        search.files();
        search.sockets();
        Ok(search.into_devices())
    }
}
