//! CPUs of several processes on one machine: apart from each other, and each near to what it has.

use crate::locations::{CpuLocation, locations};
use firsttouch_machine::Machine;

/// CPUs that processes cannot be given apart.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SharesError {
    /// Fewer CPUs than processes.
    #[error("{ranks} ranks have {cpus} CPU{} among them", if *cpus == 1 { "" } else { "s" })]
    TooFew {
        /// The processes that may run on these CPUs.
        ranks: u32,
        /// The CPUs.
        cpus: u32,
    },
    /// Fewer cores, or fewer hardware threads of them, than asked for.
    #[error("there are {possible} cores with {per_core} CPUs each that may be used, not {cores}")]
    TooFewCores {
        /// Cores, as asked.
        cores: u32,
        /// CPUs of each, as asked.
        per_core: u32,
        /// As many there are.
        possible: u32,
    },
}

/// The CPUs of each of several processes, ascending, no CPU twice: of each process those of `masks` that it need not share, and its
/// part of those that others may use, too. A core is one process's, unless there are more processes than cores.
///
/// Processes with the same mask divide it evenly, as many cores for each as can be, in the order of their numbers: by nodes first,
/// so that none reaches over two where there are as many processes as nodes; then by last-level caches, where that costs no process
/// a core; then by cores. Of masks that overlap otherwise a core is the process's that has fewest, those with few takers first.
///
/// # Errors
/// Where a process would have no CPU.
pub fn shares(machine: &Machine, masks: &[Vec<u32>]) -> Result<Vec<Vec<u32>>, SharesError> {
    let mut shares = vec![Vec::new(); masks.len()];
    for group in overlapping(masks) {
        let mask = &masks[group[0]];
        let cut = if group.iter().all(|rank| masks[*rank] == *mask) {
            divide(machine, mask, group.len())
        } else {
            by_turns(machine, masks, &group)
        };
        let all: usize = cut.iter().map(Vec::len).sum();
        if cut.iter().any(Vec::is_empty) {
            return Err(SharesError::TooFew { ranks: group.len() as u32, cpus: all as u32 });
        }
        for (rank, mut cpus) in group.into_iter().zip(cut) {
            cpus.sort_unstable();
            shares[rank] = cpus;
        }
    }
    Ok(shares)
}

/// Processes whose masks hang together by CPUs that they share, each process in one group, ascending.
fn overlapping(masks: &[Vec<u32>]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(Vec<usize>, Vec<u32>)> = Vec::new();
    for (rank, mask) in masks.iter().enumerate() {
        let touches = |group: &(Vec<usize>, Vec<u32>)| mask.iter().any(|cpu| group.1.contains(cpu));
        let (touched, mut apart): (Vec<_>, Vec<_>) = groups.into_iter().partition(touches);
        let mut joined = (vec![rank], mask.clone());
        for (ranks, cpus) in touched {
            joined.0.extend(ranks);
            joined.1.extend(cpus);
        }
        joined.0.sort_unstable();
        apart.push(joined);
        groups = apart;
    }
    groups.into_iter().map(|(ranks, _)| ranks).collect()
}

/// Cores, or CPUs where there are fewer cores than processes, in the order in which near ones follow each other.
fn units(machine: &Machine, mask: &[u32], ranks: usize) -> Vec<Vec<CpuLocation>> {
    let mut locations = locations(machine, mask);
    locations.sort_by_key(|at| (at.package, at.node, at.cache, at.core, at.cpu));
    let cores: Vec<_> =
        locations.chunk_by(|a, b| (a.package, a.core) == (b.package, b.core)).map(<[_]>::to_vec).collect();
    if cores.len() >= ranks { cores } else { locations.into_iter().map(|at| vec![at]).collect() }
}

fn divide(machine: &Machine, mask: &[u32], ranks: usize) -> Vec<Vec<u32>> {
    let units = units(machine, mask, ranks);
    let mut cut = Vec::new();
    cut_level(&units, ranks, &LEVELS, &mut cut);
    cut
}

/// Something that CPUs lie in, and whether it is kept whole also where that costs some process a core.
type Level = (fn(&CpuLocation) -> (u32, u32), bool);

/// What is kept whole, the larger first.
const LEVELS: [Level; 2] = [(|at| (at.package, at.node), true), (|at| (at.package, at.cache), false)];

fn cut_level(units: &[Vec<CpuLocation>], ranks: usize, levels: &[Level], cut: &mut Vec<Vec<u32>>) {
    let Some(((level, always), finer)) = levels.split_first() else {
        // Evenly: no part has two more than another.
        let bound = |rank: usize| rank * units.len() / ranks;
        cut.extend((0..ranks).map(|rank| cpus_of(&units[bound(rank)..bound(rank + 1)])));
        return;
    };
    let parts: Vec<&[Vec<CpuLocation>]> = units.chunk_by(|a, b| level(&a[0]) == level(&b[0])).collect();
    let fair = units.len() / ranks;
    if ranks >= parts.len() {
        let counts = apportion(&parts, ranks);
        let least = parts.iter().zip(&counts).map(|(part, count)| part.len() / count).min();
        if *always || least >= Some(fair) {
            for (part, count) in parts.iter().zip(counts) {
                cut_level(part, count, finer, cut);
            }
            return;
        }
    } else {
        // Whole parts for each, where no process loses by that.
        let bound = |rank: usize| rank * parts.len() / ranks;
        let runs: Vec<_> = (0..ranks).map(|rank| parts[bound(rank)..bound(rank + 1)].concat()).collect();
        if runs.iter().all(|run| run.len() >= fair) {
            cut.extend(runs.iter().map(|run| cpus_of(run)));
            return;
        }
    }
    cut_level(units, ranks, finer, cut);
}

fn cpus_of(units: &[Vec<CpuLocation>]) -> Vec<u32> {
    units.iter().flatten().map(|at| at.cpu).collect()
}

/// How many of the processes each part gets: one, and the others one by one where each has most then.
fn apportion(parts: &[&[Vec<CpuLocation>]], ranks: usize) -> Vec<usize> {
    let mut counts = vec![1; parts.len()];
    for _ in parts.len()..ranks {
        // Shares of `length / (count + 1)`, compared without fractions; the first of the largest.
        let better = |a: usize, b: usize| parts[a].len() * (counts[b] + 1) > parts[b].len() * (counts[a] + 1);
        let most = (1..parts.len()).fold(0, |best, part| if better(part, best) { part } else { best });
        counts[most] += 1;
    }
    counts
}

/// Masks that overlap and are not the same.
fn by_turns(machine: &Machine, masks: &[Vec<u32>], group: &[usize]) -> Vec<Vec<u32>> {
    let mut all: Vec<u32> = group.iter().flat_map(|rank| masks[*rank].iter().copied()).collect();
    all.sort_unstable();
    all.dedup();
    let mut units = units(machine, &all, group.len());
    let takes = |rank: usize, unit: &[CpuLocation]| unit.iter().all(|at| masks[rank].contains(&at.cpu));
    // A core of which a mask has a part is divided with the mask.
    if units.iter().any(|unit| group.iter().all(|rank| !takes(*rank, unit))) {
        units = units.into_iter().flatten().map(|at| vec![at]).collect();
    }
    let takers = |unit: &[CpuLocation]| group.iter().filter(|rank| takes(**rank, unit)).count();
    units.sort_by_key(|unit| takers(unit));
    let mut cut: Vec<Vec<u32>> = vec![Vec::new(); group.len()];
    for unit in units {
        let taking = (0..group.len()).filter(|index| takes(group[*index], &unit));
        if let Some(index) = taking.min_by_key(|index| cut[*index].len()) {
            cut[index].extend(unit.iter().map(|at| at.cpu));
        }
    }
    cut
}

/// `per_core` CPUs of each of `cores` cores; those of a core follow each other, and cores that follow are as near as in
/// [`compact`](crate::compact).
///
/// # Errors
/// Where fewer cores have so many CPUs that may be used.
pub fn cores(machine: &Machine, allowed: &[u32], cores: u32, per_core: u32) -> Result<Vec<u32>, SharesError> {
    let mut order: Vec<Vec<CpuLocation>> = units(machine, allowed, 1);
    order.retain(|core| core.len() >= per_core as usize);
    if order.len() < cores as usize {
        return Err(SharesError::TooFewCores { cores, per_core, possible: order.len() as u32 });
    }
    order.truncate(cores as usize);
    Ok(order.iter().flat_map(|core| &core[..per_core as usize]).map(|at| at.cpu).collect())
}
