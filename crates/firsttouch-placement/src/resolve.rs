//! From what was asked to what the kernel is to be told: nodes and CPUs by number, on one machine.
//!
//! Pure: the machine, the place of the device, the measurement and what the kernel can do are given. A wish that cannot
//! be met is an error that says why and what would mend it, and the program is not started.

mod cpus;
mod error;
mod memory;

pub use error::ResolveError;
pub use memory::ResolvedMemory;

use crate::{MemoryPolicy, NodePart, NodeSet, Placement, ProgramCpus, ThreadPlacement};
use error::{nearest, no_such_kind};
use firsttouch_linux::cpulist::format_list;
use firsttouch_linux::numa::{CpuBits, NodeBits};
use firsttouch_machine::{Machine, Measurement, Near, Node, small_ratio};
use firsttouch_memory::{NodePolicy, Pages, Shares};
use firsttouch_threads::{compact, cores, groups, scatter};

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
    /// Where memory is to come from.
    pub memory: ResolvedMemory,
    /// The CPUs that the program may run on, ascending; empty leaves them.
    pub cpus: Vec<u32>,
    /// The CPUs of the threads in the order of their creation; empty where threads are not bound one by one.
    pub order: Vec<u32>,
    /// Where memory of these names goes.
    pub objects: Vec<(String, Pages, NodePolicy)>,
    /// What was decided on the way and is not to be seen in the rest.
    pub notes: Vec<String>,
}

impl Placement {
    /// Whether anything has to be resolved: without, the machine need not be looked at.
    pub fn needs_resolving(&self) -> bool {
        self.memory != MemoryPolicy::None
            || !self.cpus.is_none()
            || self.threads != ThreadPlacement::None
            || self.near.is_some()
            || !self.objects.is_empty()
    }

    /// What the kernel is to be told on this machine.
    pub fn resolve(&self, around: &Surroundings<'_>) -> Result<Resolved, ResolveError> {
        let mut resolved = Resolved::default();
        self.resolve_cpus(around, &mut resolved)?;
        self.resolve_memory(around, &mut resolved)?;
        for (name, place) in &self.objects {
            resolved.objects.push((name.clone(), place.pages, place.memory.for_region(around)?));
        }
        for (what, numbers, end) in
            [("node", &resolved.memory.nodes(), NodeBits::END), ("CPU", &resolved.cpus, CpuBits::END)]
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
            ThreadPlacement::Cores { cores: count, per_core } => cores(machine, &usable, *count, *per_core)?,
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
        let asked = |set: &NodeSet, word| nodes_of(set, machine).map_err(|error| error.of_policy(word));
        resolved.memory = match &self.memory {
            MemoryPolicy::None => match around.near {
                // The memory next to the device, and other memory when that is full.
                Some(near) => prefer(nodes_of(&NodeSet::of(&near.nodes), machine)?, around, resolved),
                None => ResolvedMemory::Inherit,
            },
            MemoryPolicy::Local => ResolvedMemory::Local,
            MemoryPolicy::Bind(set) => ResolvedMemory::Bind(nodes_of(set, machine)?),
            MemoryPolicy::Prefer(set) => prefer(asked(set, "prefer")?, around, resolved),
            MemoryPolicy::Interleave(set) => ResolvedMemory::Interleave(asked(set, "interleave")?),
            MemoryPolicy::Weighted(set) => {
                let nodes = asked(set.as_ref().unwrap_or(&NodeSet::all()), "weighted")?;
                weigh(&nodes, self.is_placed_by_agent(), around, resolved)?
            }
        };
        Ok(())
    }
}

/// The CPUs that these words mean, of those that may be used.
pub(crate) fn allowed_cpus(asked: &ProgramCpus, machine: &Machine) -> Result<Vec<u32>, ResolveError> {
    cpus::wanted(asked, machine, &mut Vec::new())
}

/// Whether pages of ours can lie on the node.
pub(crate) fn can_hold(node: &Node, machine: &Machine) -> bool {
    let allowed = machine.limits.allowed_nodes.as_ref();
    node.size_bytes != Some(0) && allowed.is_none_or(|allowed| allowed.contains(&node.id))
}

/// These nodes first, where the kernel prefers several.
fn prefer(mut nodes: Vec<u32>, around: &Surroundings<'_>, resolved: &mut Resolved) -> ResolvedMemory {
    if nodes.len() > 1 && !around.kernel.preferred_many {
        let list = format_list(&nodes);
        nodes.truncate(1);
        let note =
            format!("this kernel prefers one node only (several: Linux 5.15): node {} of {list}", nodes[0]);
        resolved.notes.push(note);
    }
    ResolvedMemory::Prefer(nodes)
}

/// Weights from the measurement, else from the firmware, else the kernel's own where somebody has set them; by the kernel where its own weights
/// are the same.
fn weigh(
    nodes: &[u32],
    agent_places: bool,
    around: &Surroundings<'_>,
    resolved: &mut Resolved,
) -> Result<ResolvedMemory, ResolveError> {
    let machine = around.machine;
    let (weights, source) = match measured_weights(nodes, around, &resolved.cpus) {
        Some(weights) => (weights, "by bandwidth as measured"),
        None => match (stated_weights(machine, nodes), set_weights(machine, nodes)) {
            (Err(_), Some(weights)) => (weights, "as set in /sys/kernel/mm/mempolicy/weighted_interleave"),
            (stated, _) => {
                (stated?, "by bandwidth as the firmware states it (firsttouch measure would be surer)")
            }
        },
    };
    let shown: Vec<String> = weights.iter().map(|(node, weight)| format!("{node}:{weight}")).collect();
    resolved.notes.push(format!("weights by node {}, {source}", shown.join(" ")));
    let by_kernel = around.kernel.weighted_interleave && kernel_has(machine, &weights);
    if !by_kernel {
        let why = if around.kernel.weighted_interleave {
            "the kernel's weights are others (/sys/kernel/mm/mempolicy/weighted_interleave)"
        } else {
            "this kernel has no weighted interleaving (Linux 6.9)"
        };
        if !agent_places {
            return Err(ResolveError::NothingToLayOut { why, node: weights[0] });
        }
        resolved.notes.push(format!("{why}: placed blocks are laid out by firsttouch, all else is left"));
        if Shares::of(&weights).is_none() {
            return Err(too_large(nodes));
        }
    }
    Ok(ResolvedMemory::Weighted { weights, by_kernel })
}

/// What is said of nodes that a set has no room for.
pub(crate) fn too_large(nodes: &[u32]) -> ResolveError {
    ResolveError::TooLarge { what: "node", number: nodes.iter().copied().max().unwrap_or(0) }
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

/// The kernel's weights; `None` where it has the same for each node, as it comes.
fn set_weights(machine: &Machine, nodes: &[u32]) -> Option<Vec<(u32, u32)>> {
    let set = machine.interleave_weights.as_ref()?;
    let weights: Option<Vec<(u32, u32)>> =
        nodes.iter().map(|node| Some((*node, *set.get(node).filter(|weight| **weight > 0)?))).collect();
    weights.filter(|weights| weights.iter().any(|(_, weight)| *weight != weights[0].1))
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
pub fn nodes_of(set: &NodeSet, machine: &Machine) -> Result<Vec<u32>, ResolveError> {
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
                            policy: "bind",
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
