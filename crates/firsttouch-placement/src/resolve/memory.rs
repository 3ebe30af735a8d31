//! What a memory policy means on one machine, and its forms for the kernel, the agent and regions. That for a process which
//! already runs is `Destination` of `firsttouch-attach`.

use firsttouch_linux::numa::{Mode, NodeBits};
use firsttouch_memory::{NodePolicy, Shares};

/// A memory policy with its nodes by number, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ResolvedMemory {
    /// Whatever is inherited.
    #[default]
    Inherit,
    /// The node of the CPU that touches first.
    Local,
    /// These nodes only.
    Bind(Vec<u32>),
    /// These nodes, and others when they are full: one, where the kernel prefers no more.
    Prefer(Vec<u32>),
    /// Page by page over these nodes.
    Interleave(Vec<u32>),
    /// Over nodes in proportion to their weights.
    Weighted {
        /// Nodes and weights.
        weights: Vec<(u32, u32)>,
        /// The kernel's own weights are the same, and it does that by itself; otherwise blocks are laid out one by one.
        by_kernel: bool,
    },
}

impl ResolvedMemory {
    /// The nodes that pages are expected on; empty where no node was asked for.
    pub fn nodes(&self) -> Vec<u32> {
        match self {
            ResolvedMemory::Inherit | ResolvedMemory::Local => Vec::new(),
            ResolvedMemory::Bind(nodes)
            | ResolvedMemory::Prefer(nodes)
            | ResolvedMemory::Interleave(nodes) => nodes.clone(),
            ResolvedMemory::Weighted { weights, .. } => weights.iter().map(|(node, _)| *node).collect(),
        }
    }

    /// The policy of a process, which its threads and the programs that follow inherit (set_mempolicy(2)); `None` leaves it.
    pub fn of_process(&self) -> Option<(Mode, NodeBits)> {
        let mode = match self {
            ResolvedMemory::Inherit | ResolvedMemory::Weighted { by_kernel: false, .. } => return None,
            ResolvedMemory::Local => Mode::Local,
            ResolvedMemory::Bind(_) => Mode::Bind,
            ResolvedMemory::Prefer(nodes) if nodes.len() == 1 => Mode::Preferred,
            ResolvedMemory::Prefer(_) => Mode::PreferredMany,
            ResolvedMemory::Interleave(_) => Mode::Interleave,
            ResolvedMemory::Weighted { by_kernel: true, .. } => Mode::WeightedInterleave,
        };
        Some((mode, self.bits()))
    }

    /// How the agent lays out placed blocks; no shares where the kernel decides.
    pub fn of_agent(&self) -> Shares {
        match self {
            ResolvedMemory::Weighted { weights, by_kernel: false } => {
                Shares::of(weights).unwrap_or(Shares::NONE)
            }
            _ => Shares::NONE,
        }
    }

    /// The policy of a region, which has weights of its own whether or not the kernel has some; `None` if there are too many.
    pub(crate) fn of_region(&self) -> Option<NodePolicy> {
        Some(match self {
            ResolvedMemory::Inherit => NodePolicy::Inherited,
            ResolvedMemory::Local => NodePolicy::Local,
            ResolvedMemory::Bind(_) => NodePolicy::Bind(self.bits()),
            ResolvedMemory::Prefer(_) => NodePolicy::Prefer(self.bits()),
            ResolvedMemory::Interleave(_) => NodePolicy::Interleave(self.bits()),
            ResolvedMemory::Weighted { weights, .. } => NodePolicy::Weighted(Shares::of(weights)?),
        })
    }

    /// Numbers beyond what a set holds are refused when a placement is resolved.
    fn bits(&self) -> NodeBits {
        NodeBits::of(&self.nodes()).unwrap_or(NodeBits::EMPTY)
    }
}
