//! Why a machine cannot be measured.

use firsttouch_memory::RegionError;

/// A measurement that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The machine model knows of no node with CPUs that this process may use.
    #[error("no node has CPUs that this process may use")]
    NoCpu,
    /// Regions without a whole huge page.
    #[error("regions of {size} bytes are less than one huge page, which has {}", firsttouch_memory::HUGE)]
    TooSmall {
        /// The size asked for.
        size: u64,
    },
    /// No node has enough memory that nobody uses.
    #[error("measuring takes {} MiB of free memory on a node, and no node has them (most: {} MiB)", needed_bytes >> 20, free_bytes >> 20)]
    NotEnoughMemory {
        /// What would do.
        needed_bytes: u64,
        /// What the best node would give: half of what it has free.
        free_bytes: u64,
    },
    /// The memory was refused.
    #[error("memory of node {node} cannot be had")]
    Memory {
        /// The node.
        node: u32,
        /// What the kernel answered.
        source: RegionError,
    },
    /// Memory of whatever node was refused.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// Memory that was bound to a node lies on another.
    #[error("{bytes} bytes bound to node {node} lie on node {elsewhere}")]
    Elsewhere {
        /// The node asked for.
        node: u32,
        /// Where they are.
        elsewhere: u32,
        /// How many.
        bytes: u64,
    },
    /// A disk was to be measured without a file on it.
    #[error("a disk is measured by a file on it, and there is none")]
    NoFile,
    /// A file could not be read past the page cache.
    #[error("the file cannot be read past the page cache")]
    File(#[source] std::io::Error),
    /// A thread could not be started.
    #[error("no thread can be started")]
    Start(#[source] std::io::Error),
    /// A thread could not be put on its CPU.
    #[error("no thread may run on CPU {cpu}")]
    Pin {
        /// The CPU.
        cpu: u32,
        /// What the kernel answered.
        source: std::io::Error,
    },
}

impl MeasureError {
    /// What would mend it.
    pub fn hint(&self) -> &'static str {
        match self {
            MeasureError::NoCpu => {
                "firsttouch status shows what the cpuset and the affinity of this process leave"
            }
            MeasureError::TooSmall { .. } => {
                "firsttouch measure, without a size: four times the caches; less than twice as much measures them"
            }
            MeasureError::NotEnoughMemory { .. } => {
                "end what uses the memory, or: firsttouch measure --size 64M (closer to the caches, so less exact)"
            }
            MeasureError::Memory { source, .. } | MeasureError::Region(source) => source.hint(),
            MeasureError::Elsewhere { .. } => {
                "something moves memory between nodes; `firsttouch status` shows what may"
            }
            MeasureError::NoFile => "name a file that lies on the disk",
            MeasureError::File(_) => {
                "a file of 4 KiB or more whose file system knows O_DIRECT (open(2)): those of disks do, tmpfs since Linux 6.6"
            }
            MeasureError::Start(_) => firsttouch_threads::MORE_THREADS,
            MeasureError::Pin { .. } => {
                "firsttouch status shows the CPUs this process may use; sandboxes may forbid more"
            }
        }
    }
}
