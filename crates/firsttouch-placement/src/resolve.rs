//! From what was asked to what the kernel is to be told: nodes and CPUs by number, on one machine.
//!
//! Pure: the machine, the place of the device, the measurement and what the kernel can do are given. A wish that cannot
//! be met is an error that says why and what would mend it, and the program is not started.

mod cpus;

use crate::{MemoryPolicy, NodePart, NodeSet, Placement, ThreadPlacement};
use firsttouch_linux::cpulist::format_list;
use firsttouch_linux::numa::{CpuBits, Mode, NodeBits};
use firsttouch_machine::{Machine, Measurement, MemoryKind, Near, Node, small_ratio};
use firsttouch_threads::{GroupsError, compact, groups, scatter};

/// The largest weight of a node: the kernel keeps weights in one byte, and small ones spread finer.
const MOST_WEIGHT: u32 = 32;

/// What decides, besides the placement.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// Where the device of `near` is; needed if there is one.
    pub near: Option<&'a Near>,
    /// What `firsttouch measure` found on this machine, if it ran.
    pub measured: Option<&'a Measurement>,
    /// What the kernel can do.
    pub kernel: Policies,
}

/// The policies that not every kernel has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policies {
    /// Several preferred nodes (Linux 5.15).
    pub preferred_many: bool,
    /// Weighted interleaving (Linux 6.9).
    pub weighted_interleave: bool,
}

/// What the kernel, and the agent, are to be told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// The memory policy of the program's first thread, which all others inherit; `None` leaves it.
    pub memory: Option<(Mode, Vec<u32>)>,
    /// Placed blocks are laid out by the agent, so many steps on each node in turn; empty where the kernel does it.
    pub weights: Vec<(u32, u32)>,
    /// The nodes that pages are expected on; empty where no node was asked for.
    pub nodes: Vec<u32>,
    /// The CPUs that the program may run on, ascending; empty leaves them.
    pub cpus: Vec<u32>,
    /// The CPUs of the threads in the order of their creation; empty where threads are not bound one by one.
    pub order: Vec<u32>,
    /// What was decided on the way and is not to be seen in the rest.
    pub notes: Vec<String>,
}

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
    /// The line that mends it.
    pub fn hint(&self) -> String {
        match self {
            ResolveError::NoNode { .. } => "firsttouch status   # lists the nodes".to_owned(),
            ResolveError::NoMemory { nearest: Some(nearest), .. } => format!("--memory bind={nearest}"),
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

impl Placement {
    /// Whether anything has to be resolved: without, the machine need not be looked at.
    pub fn needs_resolving(&self) -> bool {
        self.memory != MemoryPolicy::None
            || !self.cpus.is_none()
            || self.threads != ThreadPlacement::None
            || self.near.is_some()
    }

    /// What the kernel is to be told on this machine.
    pub fn resolve(&self, around: &Surroundings<'_>) -> Result<Resolved, ResolveError> {
        let mut resolved = Resolved::default();
        self.resolve_cpus(around, &mut resolved)?;
        self.resolve_memory(around, &mut resolved)?;
        for (what, numbers, end) in
            [("node", &resolved.nodes, NodeBits::END), ("CPU", &resolved.cpus, CpuBits::END)]
        {
            if let Some(number) = numbers.iter().find(|number| **number >= end) {
                return Err(ResolveError::TooLarge { what, number: *number });
            }
        }
        Ok(resolved)
    }

    fn resolve_cpus(&self, around: &Surroundings<'_>, resolved: &mut Resolved) -> Result<(), ResolveError> {
        if self.threads == ThreadPlacement::None && self.cpus.is_none() && around.near.is_none() {
            return Ok(());
        }
        let machine = around.machine;
        let mut usable = cpus::wanted(&self.cpus, machine, &mut resolved.notes)?;
        if let Some(near) = around.near {
            let all = usable.clone();
            usable.retain(|cpu| near.cpus.contains(cpu));
            if usable.is_empty() && !all.is_empty() {
                let (device, near) = (near.device.clone(), near.cpus.clone());
                if !self.cpus.is_none() {
                    return Err(ResolveError::NearNotAsked { device, near, asked: all });
                }
                return Err(ResolveError::NoCpuNear { device, near, allowed: all });
            }
        }
        if usable.is_empty() {
            return Err(ResolveError::CpusUnknown);
        }
        resolved.order = match &self.threads {
            ThreadPlacement::None => Vec::new(),
            ThreadPlacement::Compact => compact(machine, &usable),
            ThreadPlacement::Scatter => scatter(machine, &usable),
            ThreadPlacement::Groups { cores, groups: count } => groups(machine, &usable, *cores, *count)?,
            ThreadPlacement::Cpus(cpus) => {
                cpus.iter().try_for_each(|cpu| cpus::check(machine, *cpu))?;
                let is_left_out = |cpu: &&u32| !self.cpus.is_none() && !usable.contains(cpu);
                if let Some(cpu) = cpus.iter().find(is_left_out) {
                    let asked = self.cpus.to_string();
                    return Err(ResolveError::CpuNotAsked { cpu: *cpu, asked, cpus: usable });
                }
                cpus.clone()
            }
        };
        resolved.cpus = if resolved.order.is_empty() { usable } else { resolved.order.clone() };
        resolved.cpus.sort_unstable();
        Ok(())
    }

    fn resolve_memory(&self, around: &Surroundings<'_>, resolved: &mut Resolved) -> Result<(), ResolveError> {
        let machine = around.machine;
        let (mode, set) = match &self.memory {
            MemoryPolicy::None => {
                // The memory next to the device, and other memory when that is full.
                let Some(near) = around.near else { return Ok(()) };
                prefer(nodes_of(&NodeSet::of(&near.nodes), machine)?, around, resolved);
                return Ok(());
            }
            MemoryPolicy::Local => {
                resolved.memory = Some((Mode::Local, Vec::new()));
                return Ok(());
            }
            MemoryPolicy::Prefer(set) => {
                prefer(nodes_of(set, machine)?, around, resolved);
                return Ok(());
            }
            MemoryPolicy::Weighted(set) => {
                let nodes = nodes_of(set.as_ref().unwrap_or(&NodeSet::all()), machine)?;
                return weigh(nodes, self.is_placed_by_agent(), around, resolved);
            }
            MemoryPolicy::Bind(set) => (Mode::Bind, set),
            MemoryPolicy::Interleave(set) => (Mode::Interleave, set),
        };
        resolved.nodes = nodes_of(set, machine)?;
        resolved.memory = Some((mode, resolved.nodes.clone()));
        Ok(())
    }
}

/// These nodes first: by one call for several where the kernel has it.
fn prefer(nodes: Vec<u32>, around: &Surroundings<'_>, resolved: &mut Resolved) {
    resolved.nodes.clone_from(&nodes);
    resolved.memory = Some(match nodes.as_slice() {
        [first, _, ..] if !around.kernel.preferred_many => {
            let note = format!(
                "this kernel prefers one node only (several: Linux 5.15): node {first} of {}",
                format_list(&nodes)
            );
            resolved.notes.push(note);
            resolved.nodes = vec![*first];
            (Mode::Preferred, vec![*first])
        }
        [_] => (Mode::Preferred, nodes),
        _ => (Mode::PreferredMany, nodes),
    });
}

/// Weights from the measurement, else from the firmware; by the kernel where its own weights are the same.
fn weigh(
    nodes: Vec<u32>,
    agent_places: bool,
    around: &Surroundings<'_>,
    resolved: &mut Resolved,
) -> Result<(), ResolveError> {
    let machine = around.machine;
    let (weights, source) = match measured_weights(&nodes, around, &resolved.cpus) {
        Some(weights) => (weights, "as measured"),
        None => (
            stated_weights(machine, &nodes)?,
            "as the firmware states it (firsttouch measure would be surer)",
        ),
    };
    let shown: Vec<String> = weights.iter().map(|(node, weight)| format!("{node}:{weight}")).collect();
    resolved.notes.push(format!("weights by node {}, by bandwidth {source}", shown.join(" ")));
    resolved.nodes.clone_from(&nodes);
    if around.kernel.weighted_interleave && kernel_has(machine, &weights) {
        resolved.memory = Some((Mode::WeightedInterleave, nodes));
    } else {
        let why = if around.kernel.weighted_interleave {
            "the kernel's weights are others (/sys/kernel/mm/mempolicy/weighted_interleave)"
        } else {
            "this kernel has no weighted interleaving (Linux 6.9)"
        };
        if !agent_places {
            return Err(ResolveError::NothingToLayOut { why, node: weights[0] });
        }
        resolved.notes.push(format!("{why}: placed blocks are laid out by firsttouch, all else is left"));
        resolved.weights = weights;
    }
    Ok(())
}

fn measured_weights(nodes: &[u32], around: &Surroundings<'_>, cpus: &[u32]) -> Option<Vec<(u32, u32)>> {
    // Threads run on the CPUs that are given to them, or anywhere.
    let running = |node: &&Node| node.cpus.iter().any(|cpu| cpus.is_empty() || cpus.contains(cpu));
    let cpu_nodes: Vec<u32> = around.machine.nodes.iter().filter(running).map(|node| node.id).collect();
    around.measured?.weights(&cpu_nodes, nodes, MOST_WEIGHT)
}

fn stated_weights(machine: &Machine, nodes: &[u32]) -> Result<Vec<(u32, u32)>, ResolveError> {
    let stated = |id: &u32| {
        let node = machine.nodes.iter().find(|node| node.id == *id)?;
        node.speed_from_cpus()?.read_bandwidth_bytes_per_s.map(|rate| rate as f64)
    };
    let unknown: Vec<u32> = nodes.iter().copied().filter(|id| stated(id).is_none()).collect();
    if !unknown.is_empty() {
        return Err(ResolveError::NoWeights { nodes: unknown });
    }
    let rates: Vec<f64> = nodes.iter().filter_map(stated).collect();
    Ok(nodes.iter().copied().zip(small_ratio(&rates, MOST_WEIGHT)).collect())
}

/// Whether the kernel's weights are in the same proportion.
fn kernel_has(machine: &Machine, wanted: &[(u32, u32)]) -> bool {
    let Some(weights) = &machine.interleave_weights else { return false };
    let kernel: Option<Vec<u32>> =
        wanted.iter().map(|(node, _)| weights.get(node).copied().filter(|weight| *weight > 0)).collect();
    let Some(kernel) = kernel else { return false };
    let same = |((_, a), b): ((u32, u32), u32)| {
        let ((_, first), first_kernel) = (wanted[0], kernel[0]);
        u64::from(a) * u64::from(first_kernel) == u64::from(b) * u64::from(first)
    };
    wanted.iter().copied().zip(kernel.iter().copied()).all(same)
}

/// The numbers of a set of nodes, ascending; every one exists, has memory, and is allowed.
pub(crate) fn nodes_of(set: &NodeSet, machine: &Machine) -> Result<Vec<u32>, ResolveError> {
    let known: Vec<u32> = machine.nodes.iter().map(|node| node.id).collect();
    let allowed: Vec<u32> = match &machine.limits.allowed_nodes {
        Some(allowed) => known.iter().copied().filter(|node| allowed.contains(node)).collect(),
        None => known.clone(),
    };
    let mut nodes = Vec::new();
    for part in set.parts() {
        match part {
            NodePart::All => nodes.extend(
                machine
                    .nodes
                    .iter()
                    .filter(|node| node.is_ordinary() && allowed.contains(&node.id))
                    .map(|n| n.id),
            ),
            NodePart::Kind(kind) => {
                let of_kind: Vec<u32> = machine
                    .nodes
                    .iter()
                    .filter(|node| node.kind == Some(*kind) && node.size_bytes != Some(0))
                    .map(|node| node.id)
                    .collect();
                if of_kind.is_empty() {
                    return Err(no_such_kind(*kind, machine));
                }
                nodes.extend(of_kind.into_iter().filter(|node| allowed.contains(node)));
            }
            NodePart::Range(first, last) => {
                for id in *first..=*last {
                    let Some(node) = machine.nodes.iter().find(|node| node.id == id) else {
                        return Err(ResolveError::NoNode { node: id, known });
                    };
                    if node.size_bytes == Some(0) {
                        return Err(ResolveError::NoMemory {
                            node: id,
                            nearest: nearest(machine, node, Node::is_ordinary),
                        });
                    }
                    if !allowed.contains(&id) {
                        return Err(ResolveError::NodeNotAllowed { node: id, allowed });
                    }
                    nodes.push(id);
                }
            }
        }
    }
    nodes.sort_unstable();
    nodes.dedup();
    if nodes.is_empty() {
        return Err(ResolveError::NothingAllowed { asked: set.to_string(), allowed });
    }
    Ok(nodes)
}

fn no_such_kind(kind: MemoryKind, machine: &Machine) -> ResolveError {
    let mut known: Vec<MemoryKind> = machine.nodes.iter().filter_map(|node| node.kind).collect();
    known.sort_unstable();
    known.dedup();
    ResolveError::NoSuchKind { kind, known }
}

/// The nearest other node that is of use.
fn nearest(machine: &Machine, node: &Node, is_of_use: impl Fn(&Node) -> bool) -> Option<u32> {
    let distances = node.distances.as_ref()?;
    let others = machine.nodes.iter().filter(|other| other.id != node.id && is_of_use(other));
    others.filter_map(|other| Some((distances.get(&other.id)?, other.id))).min().map(|(_, id)| id)
}
