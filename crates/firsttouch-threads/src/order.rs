//! Orders of CPUs: near to each other, far from each other, or in groups.

use crate::locations::{CpuLocation, locations};
use firsttouch_machine::Machine;

/// As near to each other as can be without sharing a core: package after package and node after node; within a node
/// first one hardware thread of every core, cache after cache, then the second ones.
///
/// Threads that work on the same data, fewer than the machine has CPUs, share a node and its caches.
pub fn compact(machine: &Machine, allowed: &[u32]) -> Vec<u32> {
    let mut locations = locations(machine, allowed);
    locations.sort_by_key(|location| {
        (location.package, location.node, location.rank, location.cache, location.core, location.cpu)
    });
    locations.iter().map(|location| location.cpu).collect()
}

/// As far from each other as can be: in turn over packages, within them over nodes, caches and cores; second hardware
/// threads of a core only when every core has one.
///
/// Few threads get the most of memory bandwidth and caches.
pub fn scatter(machine: &Machine, allowed: &[u32]) -> Vec<u32> {
    let mut locations = locations(machine, allowed);
    locations.sort_by_key(|location| {
        (location.rank, location.package, location.node, location.cache, location.core, location.cpu)
    });
    let by_rank = locations.chunk_by(|a, b| a.rank == b.rank);
    by_rank.flat_map(|locations| spread(locations, &LEVELS)).map(|location| location.cpu).collect()
}

type Level = fn(&CpuLocation) -> u32;

/// What CPUs are spread over, the largest thing first.
const LEVELS: [Level; 4] = [
    |location| location.package,
    |location| location.node,
    |location| location.cache,
    |location| location.core,
];

/// Takes in turn from each part of the first level, whose parts are spread by the other levels.
fn spread(locations: &[CpuLocation], levels: &[Level]) -> Vec<CpuLocation> {
    let Some((level, finer)) = levels.split_first() else { return locations.to_vec() };
    let parts: Vec<Vec<CpuLocation>> =
        locations.chunk_by(|a, b| level(a) == level(b)).map(|part| spread(part, finer)).collect();
    let longest = parts.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest).flat_map(|turn| parts.iter().filter_map(move |part| part.get(turn).copied())).collect()
}

/// Groups that a machine has no room for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupsError {
    /// No node has as many cores.
    #[error("a group of {cores} cores fits into no node: the largest has {largest} that may be used")]
    TooLarge {
        /// Cores per group, as asked.
        cores: u32,
        /// The most cores of one node.
        largest: u32,
    },
    /// There is room for fewer groups.
    #[error("there is room for {possible} groups of {cores} cores, not {groups}")]
    TooMany {
        /// Cores per group, as asked.
        cores: u32,
        /// Groups, as asked.
        groups: u32,
        /// As many are possible.
        possible: u32,
    },
}

/// `groups` groups of `cores` cores each, one CPU per core; the CPUs of a group follow each other.
///
/// A group lies within a node, and within a last-level cache where one has room; groups are spread evenly over the
/// nodes, and neighbours in the order are near each other. Threads of one group share their data in a cache, and the
/// groups share nothing.
pub fn groups(machine: &Machine, allowed: &[u32], cores: u32, groups: u32) -> Result<Vec<u32>, GroupsError> {
    let mut first: Vec<CpuLocation> =
        locations(machine, allowed).into_iter().filter(|location| location.rank == 0).collect();
    first.sort_by_key(|location| (location.package, location.node, location.cache, location.core));
    let by_node: Vec<&[CpuLocation]> =
        first.chunk_by(|a, b| (a.package, a.node) == (b.package, b.node)).collect();
    let largest = by_node.iter().map(|node| node.len()).max().unwrap_or(0) as u32;
    if cores == 0 || cores > largest {
        return Err(GroupsError::TooLarge { cores, largest });
    }
    let rooms: Vec<Vec<Vec<u32>>> = by_node
        .into_iter()
        .map(|node| cut(node, cores as usize))
        .filter(|groups| !groups.is_empty())
        .collect();
    let possible = rooms.iter().map(Vec::len).sum::<usize>() as u32;
    if groups > possible {
        return Err(GroupsError::TooMany { cores, groups, possible });
    }
    let taken = share_out(groups as usize, &rooms.iter().map(Vec::len).collect::<Vec<_>>());
    Ok(rooms.iter().zip(taken).flat_map(|(room, taken)| room[..taken].concat()).collect())
}

/// `groups` groups of `cores` cores each, one CPU per core, that reach over the nodes: the cores are taken in turn from all
/// of them.
///
/// What a machine's CPUs in the order of their numbers often are, and what [`groups`] avoids: to be compared with it.
pub fn groups_across(
    machine: &Machine,
    allowed: &[u32],
    cores: u32,
    groups: u32,
) -> Result<Vec<u32>, GroupsError> {
    let first: Vec<u32> = locations(machine, allowed)
        .into_iter()
        .filter(|location| location.rank == 0)
        .map(|location| location.cpu)
        .collect();
    let possible = (first.len() as u32).checked_div(cores).unwrap_or(0);
    if cores == 0 || groups > possible {
        return Err(GroupsError::TooMany { cores, groups, possible });
    }
    let mut order = scatter(machine, &first);
    order.truncate((cores * groups) as usize);
    Ok(order)
}

/// Cuts the cores of a node into groups: within each cache first, then of what the caches have left over.
fn cut(node: &[CpuLocation], cores: usize) -> Vec<Vec<u32>> {
    let mut groups = Vec::new();
    let mut left = Vec::new();
    for cache in node.chunk_by(|a, b| a.cache == b.cache) {
        let cpus: Vec<u32> = cache.iter().map(|location| location.cpu).collect();
        let whole = cpus.chunks_exact(cores);
        left.extend_from_slice(whole.remainder());
        groups.extend(whole.map(<[u32]>::to_vec));
    }
    groups.extend(left.chunks_exact(cores).map(<[u32]>::to_vec));
    groups
}

/// How many of `groups` each node gets: evenly, where it has room, and what is left where there is room.
fn share_out(groups: usize, rooms: &[usize]) -> Vec<usize> {
    let nodes = rooms.len();
    let mut taken = vec![0; nodes];
    for group in 0..groups {
        let first = group * nodes / groups.max(1);
        // Every node from the fair one on, around the machine: one has room, because there is room for all.
        if let Some(node) =
            (first..first + nodes).map(|node| node % nodes).find(|node| taken[*node] < rooms[*node])
        {
            taken[node] += 1;
        }
    }
    taken
}
