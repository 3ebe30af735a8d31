//! A placement that a machine cannot give, and what it could give.

use firsttouch_linux::cpulist::format_list;
use firsttouch_machine::{Machine, MemoryKind, Node};
use firsttouch_threads::{GroupsError, SharesError};

/// A placement that this machine cannot give.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// There is no node of that number.
    #[error("there is no node {node}: this machine has {}", nodes_in_words(known))]
    NoNode {
        /// As asked.
        node: u32,
        /// The nodes there are.
        known: Vec<u32>,
    },
    /// The node has CPUs and no memory.
    #[error("node {node} has no memory, only CPUs{}", nearest_in_words(*nearest))]
    NoMemory {
        /// As asked.
        node: u32,
        /// The node with memory that is nearest to it, where the machine tells.
        nearest: Option<u32>,
        /// The word of the policy that asked for it.
        policy: &'static str,
    },
    /// The cpuset keeps the node from us.
    #[error("node {node} is outside the cpuset, which allows {}", nodes_in_words(allowed))]
    NodeNotAllowed {
        /// As asked.
        node: u32,
        /// The nodes that are allowed.
        allowed: Vec<u32>,
    },
    /// No node has memory of that kind.
    #[error("no node has memory of the kind `{kind}`{}", kinds_in_words(known))]
    NoSuchKind {
        /// As asked.
        kind: MemoryKind,
        /// The kinds there are.
        known: Vec<MemoryKind>,
    },
    /// No node is left of a set.
    #[error(
        "no node with memory is left of `{asked}` inside the cpuset, which allows {}",
        nodes_in_words(allowed)
    )]
    NothingAllowed {
        /// As asked.
        asked: String,
        /// The nodes that are allowed.
        allowed: Vec<u32>,
    },
    /// There is no CPU of that number.
    #[error("there is no CPU {cpu}: this machine has CPUs {}", format_list(known))]
    NoCpu {
        /// As asked.
        cpu: u32,
        /// The CPUs there are.
        known: Vec<u32>,
    },
    /// The CPU is switched off.
    #[error("CPU {cpu} is offline")]
    CpuOffline {
        /// As asked.
        cpu: u32,
    },
    /// The cpuset keeps the CPU from us.
    #[error("CPU {cpu} is outside the cpuset, which allows {}", format_list(allowed))]
    CpuNotInCpuset {
        /// As asked.
        cpu: u32,
        /// The CPUs that are allowed.
        allowed: Vec<u32>,
    },
    /// The affinity that we inherited leaves the CPU out.
    #[error("CPU {cpu} is outside the affinity that we were started with: {}", format_list(allowed))]
    CpuNotInAffinity {
        /// As asked.
        cpu: u32,
        /// The CPUs that are allowed.
        allowed: Vec<u32>,
    },
    /// The node has memory and no CPUs.
    #[error("node {node} has no CPUs, only memory{}", nearest_cpus_in_words(*nearest))]
    NoCpusOfNode {
        /// As asked.
        node: u32,
        /// The node with CPUs that is nearest to it, where the machine tells.
        nearest: Option<u32>,
    },
    /// None of the CPUs of these nodes may be used.
    #[error(
        "none of the CPUs of {} may be used: they are {}, and we may use {}",
        nodes_in_words(nodes),
        format_list(cpus),
        format_list(allowed)
    )]
    NoCpuOfNodes {
        /// As asked.
        nodes: Vec<u32>,
        /// Their CPUs.
        cpus: Vec<u32>,
        /// The CPUs that are allowed.
        allowed: Vec<u32>,
        /// The cpuset keeps them from us, not the affinity that we inherited.
        by_cpuset: bool,
    },
    /// A thread is to be bound to a CPU that the program is not to run on.
    #[error("--threads names CPU {cpu}, which --cpus {asked} leaves out")]
    CpuNotAsked {
        /// As asked for threads.
        cpu: u32,
        /// As asked for the program.
        asked: String,
        /// The CPUs that this is.
        cpus: Vec<u32>,
    },
    /// No CPU is left to bind threads to.
    #[error(
        "none of the CPUs next to {device} may be used: they are {}, and we may use {}",
        format_list(near),
        format_list(allowed)
    )]
    NoCpuNear {
        /// The device.
        device: String,
        /// The CPUs next to it.
        near: Vec<u32>,
        /// The CPUs that are allowed.
        allowed: Vec<u32>,
    },
    /// None of the CPUs next to the device is asked for.
    #[error(
        "none of the CPUs next to {device} is among those of --cpus: they are {}, and asked are {}",
        format_list(near),
        format_list(asked)
    )]
    NearNotAsked {
        /// The device.
        device: String,
        /// The CPUs next to it.
        near: Vec<u32>,
        /// The CPUs that were asked for.
        asked: Vec<u32>,
    },
    /// The machine does not tell its CPUs.
    #[error("the CPUs of this machine are not known")]
    CpusUnknown,
    /// The groups do not fit.
    #[error(transparent)]
    Groups(#[from] GroupsError),
    /// The processes cannot have CPUs apart, or the cores are too few.
    #[error(transparent)]
    Shares(#[from] SharesError),
    /// A process may use none of the CPUs that all were asked for.
    #[error(
        "local rank {rank} may use CPUs {}, none of which is among those of --cpus: {}",
        format_list(cpus),
        format_list(asked)
    )]
    RankElsewhere {
        /// The process, by its number on this machine.
        rank: u32,
        /// The CPUs that it may use.
        cpus: Vec<u32>,
        /// The CPUs that were asked for.
        asked: Vec<u32>,
    },
    /// Several devices, and one process.
    #[error("{devices}: several devices are for several ranks, each the one next to it")]
    SeveralNear {
        /// As asked.
        devices: String,
    },
    /// No bandwidths to weigh by.
    #[error("the bandwidth of {} is not known, so there is nothing to weigh nodes by", nodes_in_words(nodes))]
    NoWeights {
        /// The nodes without a figure.
        nodes: Vec<u32>,
    },
    /// Neither the kernel nor the agent can lay memory out by these weights.
    #[error("{why}, and nothing is placed by the agent that could be laid out instead")]
    NothingToLayOut {
        /// Why the kernel does not interleave so.
        why: &'static str,
        /// A node and its weight, for the kernel.
        node: (u32, u32),
    },
    /// A number is larger than any kernel has.
    #[error("{what} {number} is beyond what the kernel can count")]
    TooLarge {
        /// `node` or `CPU`.
        what: &'static str,
        /// The number.
        number: u32,
    },
}

impl ResolveError {
    /// The same, of a policy with that word.
    pub(crate) fn of_policy(mut self, word: &'static str) -> ResolveError {
        if let ResolveError::NoMemory { policy, .. } = &mut self {
            *policy = word;
        }
        self
    }

    /// The line that mends it.
    pub fn hint(&self) -> String {
        match self {
            ResolveError::NoNode { .. } => "firsttouch status   # lists the nodes".to_owned(),
            ResolveError::NoMemory { nearest: Some(nearest), policy, .. } => {
                format!("--memory {policy}={nearest}")
            }
            ResolveError::NoMemory { nearest: None, .. } | ResolveError::NoSuchKind { .. } => {
                "firsttouch status   # lists the nodes with their memory".to_owned()
            }
            ResolveError::NodeNotAllowed { allowed, .. } | ResolveError::NothingAllowed { allowed, .. } => {
                format!(
                    "use {}, or widen cpuset.mems of the control group (docker: --cpuset-mems; systemd: AllowedMemoryNodes=)",
                    nodes_in_words(allowed)
                )
            }
            ResolveError::NoCpu { .. } | ResolveError::CpusUnknown => {
                "firsttouch status   # lists the CPUs".to_owned()
            }
            ResolveError::CpuOffline { cpu } => {
                format!("echo 1 | sudo tee /sys/devices/system/cpu/cpu{cpu}/online")
            }
            ResolveError::NoCpusOfNode { node, nearest: Some(nearest) } => {
                format!("-m {node} -N {nearest}   # its memory, from the CPUs next to it")
            }
            ResolveError::NoCpusOfNode { nearest: None, .. } => {
                "firsttouch status   # lists the nodes with their CPUs".to_owned()
            }
            ResolveError::NearNotAsked { device, .. } => {
                format!("leave out --cpus, or ask for the CPUs without --near {device}")
            }
            ResolveError::CpuNotAsked { cpus, .. } => {
                format!("--threads chooses among the CPUs of --cpus: {}", format_list(cpus))
            }
            ResolveError::CpuNotInCpuset { .. } | ResolveError::NoCpuOfNodes { by_cpuset: true, .. } => {
                "widen cpuset.cpus of the control group (docker: --cpuset-cpus; systemd: AllowedCPUs=)"
                    .to_owned()
            }
            ResolveError::CpuNotInAffinity { .. }
            | ResolveError::NoCpuNear { .. }
            | ResolveError::NoCpuOfNodes { by_cpuset: false, .. } => {
                "start firsttouch without taskset, numactl or srun --cpu-bind around it".to_owned()
            }
            ResolveError::Groups(GroupsError::TooLarge { largest, .. }) => {
                format!("a group lies within one node: at most groups={largest}xN")
            }
            ResolveError::Groups(GroupsError::TooMany { cores, possible, .. }) => {
                format!("--threads groups={cores}x{possible}")
            }
            ResolveError::Shares(SharesError::TooFew { cpus, .. }) => format!(
                "start no more than {cpus} here (mpirun --map-by ppr:{cpus}:node, mpiexec -ppn {cpus}, srun --ntasks-per-node={cpus}), \
                 let the launcher bind them to more CPUs, or leave --ranks out"
            ),
            ResolveError::Shares(SharesError::TooFewCores { possible: 0, .. }) => {
                "--threads cores=N takes one CPU of each core; firsttouch status lists the cores".to_owned()
            }
            ResolveError::Shares(SharesError::TooFewCores { per_core, possible, .. }) => format!(
                "--threads cores={possible}x{per_core}, or fewer ranks on this machine; firsttouch status lists the cores"
            ),
            ResolveError::RankElsewhere { .. } => {
                "let the launcher bind nothing (mpirun --bind-to none, srun --cpu-bind=none), or leave --cpus out".to_owned()
            }
            ResolveError::SeveralNear { .. } => "firsttouch run --ranks auto, or name one".to_owned(),
            ResolveError::NoWeights { .. } => "firsttouch measure   # measures and keeps them".to_owned(),
            ResolveError::NothingToLayOut { node: (node, weight), .. } => format!(
                "--pages thp --memory weighted, or give the kernel the weights: echo {weight} | sudo tee \
                 /sys/kernel/mm/mempolicy/weighted_interleave/node{node}"
            ),
            ResolveError::TooLarge { .. } => "firsttouch status   # lists what there is".to_owned(),
        }
    }
}

fn nodes_in_words(nodes: &[u32]) -> String {
    match nodes {
        [] => "no nodes".to_owned(),
        [only] => format!("node {only}"),
        nodes => format!("nodes {}", format_list(nodes)),
    }
}

fn nearest_in_words(nearest: Option<u32>) -> String {
    nearest.map(|node| format!("; the nearest memory is that of node {node}")).unwrap_or_default()
}

fn nearest_cpus_in_words(nearest: Option<u32>) -> String {
    nearest.map(|node| format!("; the nearest CPUs are those of node {node}")).unwrap_or_default()
}

fn kinds_in_words(kinds: &[MemoryKind]) -> String {
    match kinds {
        [] => " (the machine does not tell what its memory is)".to_owned(),
        kinds => {
            format!(" (there is {})", kinds.iter().map(|kind| kind.word()).collect::<Vec<_>>().join(" and "))
        }
    }
}

pub(super) fn no_such_kind(kind: MemoryKind, machine: &Machine) -> ResolveError {
    let mut known: Vec<MemoryKind> = machine.nodes.iter().filter_map(|node| node.kind).collect();
    known.sort_unstable();
    known.dedup();
    ResolveError::NoSuchKind { kind, known }
}

/// The nearest other node that is of use.
pub(super) fn nearest(machine: &Machine, node: &Node, is_of_use: impl Fn(&Node) -> bool) -> Option<u32> {
    let distances = node.distances.as_ref()?;
    let others = machine.nodes.iter().filter(|other| other.id != node.id && is_of_use(other));
    others.filter_map(|other| Some((distances.get(&other.id)?, other.id))).min().map(|(_, id)| id)
}
