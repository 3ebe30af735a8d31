//! What can go wrong with a region, and what would mend it.

use super::advice::Advice;
use crate::reason::Reason;
use core::fmt;

/// Memory that cannot be had, or not be changed. What there was before is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegionError {
    /// No address space, or no memory promised by the kernel.
    Map {
        /// What was asked for.
        bytes: usize,
        /// The kernel's error number.
        errno: i32,
    },
    /// The kernel does not bind memory to this node.
    Bind {
        /// The node.
        node: u32,
        /// The kernel's error number.
        errno: i32,
    },
    /// The pages could not be created.
    Prefault {
        /// The size of the region.
        bytes: usize,
        /// The kernel's error number.
        errno: i32,
    },
    /// Regions do not begin at multiples of this.
    Align {
        /// What was asked for.
        align_bytes: usize,
    },
    /// The region cannot have another size.
    Resize {
        /// What was asked for.
        bytes: usize,
        /// The kernel's error number.
        errno: i32,
    },
    /// The kernel does not take the advice.
    Advise {
        /// The advice.
        advice: Advice,
        /// The kernel's error number.
        errno: i32,
    },
    /// Memory cannot be shared, handed over or received.
    Share {
        /// The kernel's error number.
        errno: i32,
    },
    /// The kernel's base pages are not of 4 KiB.
    BasePages,
    /// What another process handed over may change its size, and whoever reads beyond its end is killed.
    NotSealed,
}

impl RegionError {
    /// There is no memory for so many bytes.
    pub fn no_memory(bytes: usize) -> RegionError {
        RegionError::Map { bytes, errno: libc::ENOMEM }
    }

    /// The kernel's error number, or the one that comes nearest.
    pub fn errno(self) -> i32 {
        match self {
            RegionError::Map { errno, .. }
            | RegionError::Bind { errno, .. }
            | RegionError::Prefault { errno, .. }
            | RegionError::Resize { errno, .. }
            | RegionError::Advise { errno, .. }
            | RegionError::Share { errno } => errno,
            RegionError::Align { .. } => libc::EINVAL,
            RegionError::BasePages => libc::ENOTSUP,
            RegionError::NotSealed => libc::EPERM,
        }
    }

    /// What would mend it.
    pub fn hint(self) -> &'static str {
        match self {
            RegionError::Map { .. } | RegionError::Resize { .. } => {
                "less memory, or a higher limit: ulimit -v, memory.max, vm.overcommit_memory"
            }
            RegionError::Bind { errno: libc::EPERM, .. } => {
                "the sandbox forbids mbind: docker run --cap-add SYS_NICE, or run outside of it"
            }
            RegionError::Bind { .. } => "firsttouch status lists the nodes and those this process may use",
            RegionError::Prefault { .. } => "less memory, or a node with more of it: see firsttouch status",
            RegionError::BasePages => Reason::BasePageSize.remedy(),
            RegionError::Align { .. } => "a power of two from 4096 to 1 GiB",
            RegionError::Advise { errno: libc::EINVAL, .. } => {
                "the range must lie inside the region, begin with a page, and the kernel know the advice (pages of a pool \
                 know little of it)"
            }
            RegionError::Advise { .. } => "see madvise(2)",
            RegionError::Share { errno: libc::EACCES | libc::EPERM } => {
                "/proc/PID/fd opens only processes of the same user that may be traced; hand the descriptor over a socket"
            }
            RegionError::Share { errno: libc::EBUSY } => {
                "others have it mapped to be written: they let go of it first, or freeze it before it is handed over"
            }
            RegionError::Share { .. } => {
                "the sender must be alive and hand over one region, by SharedRegion::send"
            }
            RegionError::NotSealed => {
                "share memory made by Builder::map_shared, or seal it: F_SEAL_SHRINK | F_SEAL_GROW"
            }
        }
    }
}

impl fmt::Display for RegionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegionError::Map { bytes, errno } => {
                write!(f, "the kernel maps no {bytes} bytes (error {errno})")
            }
            RegionError::Bind { node, errno } => {
                write!(f, "the kernel does not bind memory to node {node} (error {errno})")
            }
            RegionError::Prefault { bytes, errno } => {
                write!(f, "the kernel does not create the pages of {bytes} bytes (error {errno})")
            }
            RegionError::Align { align_bytes } => {
                write!(f, "a region cannot begin at a multiple of {align_bytes} bytes")
            }
            RegionError::Resize { bytes, errno } => {
                write!(f, "the region cannot have {bytes} bytes (error {errno})")
            }
            RegionError::Advise { advice, errno } => {
                write!(f, "the kernel does not take the advice {advice:?} (error {errno})")
            }
            RegionError::Share { errno } => write!(f, "the memory cannot be shared (error {errno})"),
            RegionError::BasePages => f.write_str("the base pages of this kernel are not of 4 KiB"),
            RegionError::NotSealed => f.write_str("the memory that was handed over may change its size"),
        }
    }
}

impl core::error::Error for RegionError {}
