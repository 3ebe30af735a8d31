//! What a placement of several processes on one machine means for each of them.

use crate::resolve::{allowed_cpus, can_hold};
use crate::{MemoryPolicy, NodePart, NodeSet, Placement, Policies, ProgramCpus, ResolveError};
use firsttouch_machine::{Machine, Near, Node};
use firsttouch_threads::shares;

/// One of several processes on this machine that are placed in the same words.
#[derive(Clone, Copy, Debug)]
pub struct RankOf<'a> {
    /// Which of them it is.
    pub local_rank: usize,
    /// The CPUs that each may use, by local rank.
    pub masks: &'a [Vec<u32>],
    /// Where the devices of `near` are.
    pub near: &'a [Near],
    /// What the kernel can do.
    pub kernel: Policies,
    /// It inherits a memory policy that is not the kernel's own, which stays unless another is asked for.
    pub has_policy: bool,
}

impl Placement {
    /// The devices that `near` names: of several, each rank gets one.
    pub fn near_devices(&self) -> impl Iterator<Item = &str> {
        self.near.iter().flat_map(|devices| devices.split(',')).map(str::trim)
    }

    /// The placement of one of several processes: CPUs of its own, and what depends on where those are.
    ///
    /// Its CPUs are its [share](firsttouch_threads::shares) of those that were asked for and that the processes may use. Of several
    /// devices it is next to the one with most of its CPUs, by turns where several have as many. Kinds of memory mean the nodes of that
    /// kind nearest to its CPUs; where nothing is asked of memory, and nothing was inherited, it comes from the nodes of its CPUs.
    ///
    /// # Errors
    /// Where there is no CPU for each.
    pub fn of_rank(&self, machine: &Machine, of: &RankOf<'_>) -> Result<Placement, ResolveError> {
        let wanted = self.wanted_cpus(machine)?;
        let is_near = |cpu: &u32| of.near.is_empty() || of.near.iter().any(|near| near.cpus.contains(cpu));
        let mut masks = of.masks.to_vec();
        for (rank, mask) in masks.iter_mut().enumerate() {
            let all = mask.clone();
            mask.retain(|cpu| wanted.contains(cpu));
            if mask.is_empty() {
                return Err(ResolveError::RankElsewhere { rank: rank as u32, cpus: all, asked: wanted });
            }
            let left = mask.clone();
            mask.retain(is_near);
            if mask.is_empty() {
                let device = self.near.clone().unwrap_or_default();
                let near = of.near.iter().flat_map(|near| near.cpus.clone()).collect();
                return Err(ResolveError::NoCpuNear { device, near, allowed: left });
            }
        }
        let mut cpus = shares(machine, &masks)?.swap_remove(of.local_rank);
        let near = nearest_device(&cpus, of);
        if let Some(near) = near {
            cpus.retain(|cpu| near.cpus.contains(cpu));
        }
        let mut placement = Placement { near: near.map(|near| near.device.clone()), ..self.clone() };
        let own = |policy: &mut MemoryPolicy| match policy {
            MemoryPolicy::None | MemoryPolicy::Local | MemoryPolicy::Weighted(None) => {}
            MemoryPolicy::Bind(set)
            | MemoryPolicy::Prefer(set)
            | MemoryPolicy::Interleave(set)
            | MemoryPolicy::Weighted(Some(set)) => *set = nearest_of_kinds(set, machine, &cpus),
        };
        own(&mut placement.memory);
        placement.objects.values_mut().for_each(|object| own(&mut object.memory));
        if placement.memory == MemoryPolicy::None && near.is_none() && !of.has_policy {
            placement.memory = own_nodes(machine, &cpus, of.kernel);
        }
        placement.cpus = ProgramCpus::Cpus(cpus);
        Ok(placement)
    }

    fn wanted_cpus(&self, machine: &Machine) -> Result<Vec<u32>, ResolveError> {
        // Others may have been given CPUs that we have not.
        let mut machine = machine.clone();
        machine.limits.allowed_cpus = machine.limits.cpuset_cpus.clone();
        let wanted = allowed_cpus(&self.cpus, &machine)?;
        if wanted.is_empty() { Err(ResolveError::CpusUnknown) } else { Ok(wanted) }
    }
}

/// The device with most of these CPUs next to it; of several, each rank takes another.
fn nearest_device<'a>(cpus: &[u32], of: &RankOf<'a>) -> Option<&'a Near> {
    let shared = |near: &Near| cpus.iter().filter(|cpu| near.cpus.contains(cpu)).count();
    let most = of.near.iter().map(shared).max()?;
    let nearest: Vec<&Near> = of.near.iter().filter(|near| shared(near) == most).collect();
    nearest.get(of.local_rank % nearest.len()).copied()
}

/// The nodes with memory that are nearest to those of these CPUs, and are wanted.
fn nearest_nodes(machine: &Machine, cpus: &[u32], wanted: impl Fn(&Node) -> bool) -> Vec<u32> {
    let nodes = &machine.nodes;
    let wanted: Vec<&Node> = nodes.iter().filter(|node| can_hold(node, machine) && wanted(node)).collect();
    let mut nearest = Vec::new();
    for from in nodes.iter().filter(|node| node.cpus.iter().any(|cpu| cpus.contains(cpu))) {
        let distance = |to: &Node| match &from.distances {
            Some(distances) => distances.get(&to.id).copied().unwrap_or(u32::MAX),
            None => u32::from(to.id != from.id),
        };
        let least = wanted.iter().map(|node| distance(node)).min();
        nearest.extend(wanted.iter().filter(|node| Some(distance(node)) == least).map(|node| node.id));
    }
    nearest.sort_unstable();
    nearest.dedup();
    nearest
}

/// In place of a kind of memory its nodes next to these CPUs; what cannot be had is left to be refused by its name.
fn nearest_of_kinds(set: &NodeSet, machine: &Machine, cpus: &[u32]) -> NodeSet {
    let parts = set.parts().iter().flat_map(|part| {
        let nodes = match part {
            NodePart::Kind(kind) => nearest_nodes(machine, cpus, |node| node.kind == Some(*kind)),
            NodePart::All | NodePart::Range(..) => Vec::new(),
        };
        let kept = nodes.is_empty().then_some(*part);
        nodes.into_iter().map(|node| NodePart::Range(node, node)).chain(kept).collect::<Vec<_>>()
    });
    NodeSet::of_parts(parts.collect())
}

/// Memory of the nodes of these CPUs, and of others when they are full.
fn own_nodes(machine: &Machine, cpus: &[u32], kernel: Policies) -> MemoryPolicy {
    if machine.nodes.len() < 2 {
        return MemoryPolicy::None;
    }
    let nodes = nearest_nodes(machine, cpus, Node::is_ordinary);
    match nodes.len() {
        0 => MemoryPolicy::None,
        1 => MemoryPolicy::Prefer(NodeSet::of(&nodes)),
        _ if kernel.preferred_many => MemoryPolicy::Prefer(NodeSet::of(&nodes)),
        _ => MemoryPolicy::Local,
    }
}
