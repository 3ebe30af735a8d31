//! CPUs: which there are, which we may use, and which of them a program is to run on.

use super::error::{ResolveError, nearest, no_such_kind};
use crate::{NodePart, NodeSet, ProgramCpus};
use firsttouch_linux::cpulist::format_list;
use firsttouch_machine::{Machine, Node};

/// The CPUs that a program is to run on, ascending; without a wish all that we may use.
pub(super) fn wanted(
    asked: &ProgramCpus,
    machine: &Machine,
    notes: &mut Vec<String>,
) -> Result<Vec<u32>, ResolveError> {
    match asked {
        ProgramCpus::None => Ok(usable(machine)),
        ProgramCpus::Cpus(cpus) => {
            cpus.iter().try_for_each(|cpu| check(machine, *cpu))?;
            Ok(cpus.clone())
        }
        ProgramCpus::Nodes(set) => of_nodes(set, machine, notes),
    }
}

/// The CPUs of nodes that we may use. Nodes without memory have CPUs, too, and what nodes a cpuset allows memory of does not
/// matter; every node that was named by number has CPUs.
fn of_nodes(set: &NodeSet, machine: &Machine, notes: &mut Vec<String>) -> Result<Vec<u32>, ResolveError> {
    let has_cpus = |node: &Node| !node.cpus.is_empty();
    let mut nodes: Vec<&Node> = Vec::new();
    for part in set.parts() {
        match part {
            NodePart::All => nodes.extend(machine.nodes.iter().filter(|node| has_cpus(node))),
            NodePart::Kind(kind) => {
                let of_kind: Vec<&Node> =
                    machine.nodes.iter().filter(|node| node.kind == Some(*kind)).collect();
                match of_kind.iter().find(|node| has_cpus(node)).or(of_kind.first()) {
                    None => return Err(no_such_kind(*kind, machine)),
                    Some(node) if !has_cpus(node) => return Err(without_cpus(machine, node)),
                    Some(_) => nodes.extend(of_kind),
                }
            }
            NodePart::Range(first, last) => {
                for id in *first..=*last {
                    match machine.nodes.iter().find(|node| node.id == id) {
                        None => {
                            let known = machine.nodes.iter().map(|node| node.id).collect();
                            return Err(ResolveError::NoNode { node: id, known });
                        }
                        Some(node) if !has_cpus(node) => return Err(without_cpus(machine, node)),
                        Some(node) => nodes.push(node),
                    }
                }
            }
        }
    }
    let allowed = usable(machine);
    let mut all: Vec<u32> = nodes.iter().flat_map(|node| node.cpus.iter().copied()).collect();
    all.sort_unstable();
    all.dedup();
    let (left, lost): (Vec<u32>, Vec<u32>) = all.iter().partition(|cpu| allowed.contains(cpu));
    if left.is_empty() {
        let mut nodes: Vec<u32> = nodes.iter().map(|node| node.id).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let cpuset = machine.limits.cpuset_cpus.as_ref();
        let by_cpuset = cpuset.is_some_and(|cpuset| !all.iter().any(|cpu| cpuset.contains(cpu)));
        return Err(ResolveError::NoCpuOfNodes { nodes, cpus: all, allowed, by_cpuset });
    }
    // `all` means those that there are for us.
    if !lost.is_empty() && !set.parts().contains(&NodePart::All) {
        notes.push(format!(
            "CPUs {} of the nodes are offline or not ours to use: the program runs on {}",
            format_list(&lost),
            format_list(&left)
        ));
    }
    Ok(left)
}

fn without_cpus(machine: &Machine, node: &Node) -> ResolveError {
    let nearest = nearest(machine, node, |other| !other.cpus.is_empty());
    ResolveError::NoCpusOfNode { node: node.id, nearest }
}

/// The CPUs that are online and that we may use.
fn usable(machine: &Machine) -> Vec<u32> {
    let online = machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id);
    match &machine.limits.allowed_cpus {
        Some(allowed) => online.filter(|cpu| allowed.contains(cpu)).collect(),
        None => online.collect(),
    }
}

/// Whether there is such a CPU, and we may use it.
pub(super) fn check(machine: &Machine, cpu: u32) -> Result<(), ResolveError> {
    let Some(found) = machine.cpus.iter().find(|known| known.id == cpu) else {
        return Err(ResolveError::NoCpu { cpu, known: machine.cpus.iter().map(|cpu| cpu.id).collect() });
    };
    if !found.online {
        return Err(ResolveError::CpuOffline { cpu });
    }
    if let Some(allowed) = machine.limits.cpuset_cpus.as_ref().filter(|allowed| !allowed.contains(&cpu)) {
        return Err(ResolveError::CpuNotInCpuset { cpu, allowed: allowed.clone() });
    }
    if let Some(allowed) = machine.limits.allowed_cpus.as_ref().filter(|allowed| !allowed.contains(&cpu)) {
        return Err(ResolveError::CpuNotInAffinity { cpu, allowed: allowed.clone() });
    }
    Ok(())
}
