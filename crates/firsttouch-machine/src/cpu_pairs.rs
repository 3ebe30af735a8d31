//! Which pairs of CPUs are worth measuring: all of a few, and of many some of each class.

use crate::{CpuPairClass, Machine};
use firsttouch_sorted::{SortedMap, sort_by_key};

/// All pairs of so many CPUs are measured.
const MOST_CPUS: usize = 64;
/// As many as those have.
const MOST_PAIRS: usize = MOST_CPUS * (MOST_CPUS - 1) / 2;
/// Of more CPUs so many pairs of those with one cache, and of those between any two caches.
const SAMPLED: usize = 4;
/// What lies at the same node and cache, as places in the machine.
type GroupsOf<T> = SortedMap<(Option<usize>, Option<usize>), Vec<T>>;

/// All pairs, or some of every class where there are many CPUs.
#[must_use]
pub fn pairs_of_cpus(machine: &Machine, cpus: &[u32]) -> Vec<([u32; 2], CpuPairClass)> {
    let classed = |a: u32, b: u32| ([a, b], CpuPairClass::of(machine, a, b));
    let all = |cpus: &[u32]| -> Vec<[u32; 2]> {
        let after = |(place, a): (usize, &u32)| {
            let a = *a;
            cpus[place + 1..].iter().map(move |b| [a, *b]).collect::<Vec<_>>()
        };
        cpus.iter().enumerate().flat_map(after).collect()
    };
    if cpus.len() <= MOST_CPUS {
        return all(cpus).into_iter().map(|[a, b]| classed(a, b)).collect();
    }
    // Of each core the first of its CPUs, by the cache and the node that they share; and the others for pairs of a core.
    let last_level = machine.caches.iter().map(|cache| cache.level).max();
    let place_of = |cpu: u32| {
        let cache = machine
            .caches
            .iter()
            .position(|cache| Some(cache.level) == last_level && cache.cpus.contains(&cpu));
        (machine.nodes.iter().position(|node| node.cpus.contains(&cpu)), cache)
    };
    let (mut groups, mut siblings) = (GroupsOf::<u32>::new(), GroupsOf::<[u32; 2]>::new());
    for cpu in cpus {
        let core = machine.cores.iter().find(|core| core.cpus.contains(cpu));
        let first = core.and_then(|core| core.cpus.iter().find(|other| cpus.contains(other)));
        match first {
            Some(first) if first != cpu => siblings.entry(place_of(*cpu)).or_default().push([*first, *cpu]),
            _ => groups.entry(place_of(*cpu)).or_default().push(*cpu),
        }
    }
    let groups: Vec<Vec<u32>> = groups.into_values().collect();
    let mut chosen: Vec<[u32; 2]> = siblings.into_values().flat_map(|pairs| spread(pairs, SAMPLED)).collect();
    chosen.extend(groups.iter().flat_map(|group| spread(all(group), SAMPLED)));
    for (place, a) in groups.iter().enumerate() {
        for b in &groups[place + 1..] {
            let between: Vec<[u32; 2]> = a.iter().flat_map(|a| b.iter().map(|b| [*a, *b])).collect();
            chosen.extend(spread(between, SAMPLED));
        }
    }
    // By class first, so that what has to be left out is left out of all alike.
    let mut chosen: Vec<([u32; 2], CpuPairClass)> = chosen.into_iter().map(|[a, b]| classed(a, b)).collect();
    sort_by_key(&mut chosen, |(_, class)| *class);
    spread(chosen, MOST_PAIRS)
}

/// So many at the most, from the whole length.
fn spread<T>(all: Vec<T>, most: usize) -> Vec<T> {
    let (length, most) = (all.len(), most.min(all.len()));
    let is_chosen = |place: usize| (place + 1) * most / length > place * most / length;
    all.into_iter().enumerate().filter(|(place, _)| is_chosen(*place)).map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs_of(text: &str) -> (Vec<u32>, Vec<([u32; 2], CpuPairClass)>) {
        let machine = Machine::from_source(text).unwrap();
        let cpus: Vec<u32> = machine.cpus.iter().map(|cpu| cpu.id).collect();
        let pairs = pairs_of_cpus(&machine, &cpus);
        (cpus, pairs)
    }

    fn count(pairs: &[([u32; 2], CpuPairClass)], class: CpuPairClass) -> usize {
        pairs.iter().filter(|(_, of)| *of == class).count()
    }

    #[test]
    fn all_pairs_of_few_cpus() {
        let (_, pairs) = pairs_of("pack:2 [numa] l3:2 core:2 pu:2");
        assert_eq!(pairs.len(), 16 * 15 / 2);
        // 8 cores; 4 caches with 4 pairs of cores between 2 x 2 threads; 2 nodes with 4 x 4 pairs; 8 x 8 between them.
        assert_eq!(CpuPairClass::ALL.map(|class| count(&pairs, class)), [8, 16, 32, 64]);
    }

    #[test]
    fn some_of_every_class_of_many() {
        let (cpus, pairs) = pairs_of("pack:2 [numa] l3:8 core:8 pu:2");
        assert_eq!(cpus.len(), 256);
        // 16 caches; 2 x 28 pairs of caches within nodes, 64 between them.
        assert_eq!(CpuPairClass::ALL.map(|class| count(&pairs, class)), [64, 64, 224, 256]);
        let mut unique: Vec<[u32; 2]> = pairs.iter().map(|(pair, _)| *pair).collect();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), pairs.len());
        assert!(unique.iter().all(|[a, b]| a != b));
    }

    #[test]
    fn very_large_machines_take_no_longer() {
        let (_, pairs) = pairs_of("pack:16 [numa] l3:8 core:4 pu:2");
        assert_eq!(pairs.len(), MOST_PAIRS);
        assert!(CpuPairClass::ALL.iter().all(|class| count(&pairs, *class) >= 16));
    }

    #[test]
    fn a_spread_reaches_over_the_whole_length() {
        assert_eq!(spread((0..9).collect(), 3), [2, 5, 8]);
        assert_eq!(spread((0..2).collect(), 3), [0, 1]);
        assert!(spread(Vec::<u8>::new(), 3).is_empty());
    }
}
