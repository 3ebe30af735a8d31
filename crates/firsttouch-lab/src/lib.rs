//! Machines that one does not own: a real kernel, booted by QEMU with the memory nodes, distances, speeds and devices
//! of a [`Description`], runs a program of this machine and hands back what it said.
//!
//! ```text
//!  here    Lab ── Description → arguments of QEMU (qemu)
//!           │  ── program, its libraries, files → a file system in memory (closure, tree, cpio)
//!           │  ── boots, listens, keeps time (boot)
//!           │                 ▲ frames on a serial line (wire)
//!  guest    └── job ──► init (guest): mounts, plugs memory in, runs each command, reports, switches off
//! ```
//!
//! The kernel is the distribution's own ([`KernelStore`]): what is proved here is proved on what people run. An emulator
//! has no slow and fast memory, so a lab shows where pages and threads go, never what that is worth.
//!
//! Architecture invariants: nothing is downloaded unless [`KernelStore::fetch`] is called; nothing is installed; nothing
//! of this machine's can be written by the guest, which sees copies. Programs are never executed to find out what they
//! need. The guest's side ([`guest`]) is only ever called in a guest.

#![forbid(unsafe_code)]

mod boot;
mod closure;
mod cpio;
mod description;
mod error;
mod finished;
pub mod guest;
mod job;
mod kernel;
mod lab;
mod qemu;
mod release;
mod tree;
mod wire;

pub use boot::become_emulator;
#[doc(hidden)] // for the fuzz targets
pub use boot::hear;
pub use description::{
    Bytes, Description, DescriptionError, Device, DeviceKind, LabNode, Processor, SideCache, built_in_names,
};
pub use error::LabError;
pub use finished::{CopiedFile, Finished, Stream};
pub use job::{Cpuset, Ending};
pub use kernel::{Kernel, KernelStore};
pub use lab::{Collected, Command, Lab, LabRun};
pub use qemu::{Acceleration, Qemu};
pub use release::Release;
