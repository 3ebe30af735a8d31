//! What a Linux machine has and what it allows: CPUs, caches, memory nodes and tiers, page pools, settings of
//! transparent huge pages, limits, capabilities, features of the kernel.
//!
//! [`Machine::read`] reads files below a [`Root`] and nothing else, so a recorded machine prints like the live one.
//! [`Features::probe`] asks the running kernel by trying, on pages of its own. [`StatusReport::examine`] joins the
//! two and derives from them what can be done here, and by which command the rest could. A [`Measurement`] is what
//! `firsttouch measure` found out about the speed of the nodes, and the file that keeps it. [`Machine::near`] tells where
//! a device is, [`Machine::own_devices`] which devices a running process uses.
//!
//! ```
//! use firsttouch_machine::{Root, StatusReport};
//! let report = StatusReport::examine(&Root::live())?;
//! for ability in report.can.iter().filter(|ability| ability.possible == Some(false)) {
//!     println!("{}: {}", ability.what, ability.why);
//! }
//! # Ok::<(), firsttouch_machine::MachineError>(())
//! ```
//!
//! Architecture invariant: nothing here changes the machine or the process; what is not known is `None`, never 0;
//! a file that is missing, unreadable or odd costs the field that it would have filled, never the whole.

#![forbid(unsafe_code)]

mod abilities;
mod apic;
mod apic_ids;
mod capabilities;
mod cgroup;
mod core_kinds;
mod core_latency;
mod cpu_pairs;
mod devices;
mod evidence;
mod examine;
mod features;
mod filling;
mod host;
mod kind;
mod limits;
mod locality;
mod machine;
mod measurement;
mod near;
mod nodes;
mod own_devices;
mod pages;
mod reader;
mod report;
mod settings;
mod source;
mod topology;
mod trap;
mod traps;

pub use abilities::{Ability, pages_ability};
pub use apic_ids::{ApicIds, ApicStep, Unanswered};
pub use core_kinds::CoreKind;
pub use core_latency::{CoreLatency, CpuPair, CpuPairClass, CpuPairs};
pub use cpu_pairs::pairs_of_cpus;
pub use devices::Device;
pub use examine::MachineError;
pub use features::{Features, Probe};
pub use filling::{FillCancel, FillCold, FillCrossovers, FillDevice, FillReport, FillRow, FillState};
pub use firsttouch_linux::root::Root;
pub use kind::{MemoryKind, UnknownMemoryKind};
pub use limits::{Bound, GroupMemory, HugetlbLimit, Limits, cpuset_of_process};
pub use machine::Machine;
pub use measurement::{
    Disagreement, Matrix, MeasuredMachine, MeasuredNode, MeasuredPages, Measurement, Method, PageLatency,
    Range, SingleCpu, Spread, StreamInstructions, small_ratio,
};
pub use near::{Near, NearError};
pub use nodes::{Access, Node, SideCache, Tier};
pub use own_devices::{NoOwnPlace, OwnDevice, OwnDevices, OwnDevicesError, OwnPlace};
pub use pages::{NodePool, Pool, Thp, ThpSize, page_word};
pub use report::StatusReport;
pub use settings::{CpuQuota, Settings};
pub use source::{ArchiveError, Folders, Rest, Source, SourceError, SyntheticError, XmlError};
pub use topology::{Cache, Core, Cpu, Package, Part};
pub use trap::Trap;
