//! Core to core: how long a cache line takes that two CPUs write in turn.
//!
//! One thread writes an odd number, the other waits for it and writes the next even one. Each write has to fetch the line
//! out of the other core's cache: half of the time there and back is what one core waits for what another has written.

use crate::series::Series;
use crate::team::{self, Start, wait_until};
use crate::{MeasureError, MeasureProgress};
use firsttouch_machine::{CoreLatency, CpuPair, CpuPairClass, Machine};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// All pairs of so many CPUs are measured.
const MOST_CPUS: usize = 64;
/// As many as those have.
const MOST_PAIRS: usize = MOST_CPUS * (MOST_CPUS - 1) / 2;
/// Of more CPUs so many pairs of those with one cache, and of those between any two caches.
const SAMPLED: usize = 4;
/// Rounds over all pairs, so that a change of the machine's speed meets them alike.
const ROUNDS: u32 = 3;
/// Repetitions of a pair in a round, and the journeys of each.
const REPETITIONS: u32 = 15;
const ROUND_TRIPS: u32 = 200;
/// So long a pair may take in a round when it has the fewest repetitions that have a median.
const PATIENCE: Duration = Duration::from_millis(4);
const FEWEST: u32 = 3;
/// What the thread that answers ends by.
const END: u64 = u64::MAX;
/// More than any C library keeps of freed memory: what is taken is new, and lies where it is written first.
const NEW: usize = 40 << 20;

/// What lies at the same node and cache, as places in the machine.
type GroupsOf<T> = BTreeMap<(Option<usize>, Option<usize>), Vec<T>>;

/// Two CPUs to be measured.
type Pair = ([u32; 2], CpuPairClass);

/// Measures the pairs of a machine's CPUs that this process may use.
pub(crate) fn measure(
    machine: &Machine,
    quick: bool,
    date: String,
    progress: &mut dyn FnMut(MeasureProgress),
) -> Result<CoreLatency, MeasureError> {
    let allowed = machine.limits.allowed_cpus.as_ref();
    let usable = machine.cpus.iter().filter(|cpu| cpu.online).map(|cpu| cpu.id);
    let cpus: Vec<u32> = usable.filter(|cpu| allowed.is_none_or(|allowed| allowed.contains(cpu))).collect();
    let pairs = pairs(machine, &cpus);
    let rounds = if quick { 1 } else { ROUNDS };
    let mut found = vec![Series::default(); pairs.len()];
    let of = pairs.len() * rounds as usize;
    for round in 0..rounds as usize {
        for (place, ((pair, _), series)) in pairs.iter().zip(&mut found).enumerate() {
            progress(MeasureProgress::Cores { done: round * pairs.len() + place, of });
            bounce(*pair)?.into_iter().for_each(|ns| series.add(ns));
        }
    }
    let found = pairs.into_iter().zip(found).filter_map(|((cpus, class), series)| {
        let tenth = |ns: f64| (ns * 10.0).round() / 10.0;
        let [latency_ns, low_ns, high_ns] = [series.median()?, series.low()?, series.high()?].map(tenth);
        Some(CpuPair { cpus, class, latency_ns, low_ns, high_ns })
    });
    Ok(CoreLatency::of(date, cpus, found.collect(), REPETITIONS * rounds, ROUND_TRIPS))
}

/// All pairs, or some of every class where there are many CPUs.
fn pairs(machine: &Machine, cpus: &[u32]) -> Vec<Pair> {
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
    let mut chosen: Vec<Pair> = chosen.into_iter().map(|[a, b]| classed(a, b)).collect();
    chosen.sort_by_key(|(_, class)| *class);
    spread(chosen, MOST_PAIRS)
}

/// So many at the most, from the whole length.
fn spread<T>(all: Vec<T>, most: usize) -> Vec<T> {
    let (length, most) = (all.len(), most.min(all.len()));
    let is_chosen = |place: usize| (place + 1) * most / length > place * most / length;
    all.into_iter().enumerate().filter(|(place, _)| is_chosen(*place)).map(|(_, one)| one).collect()
}

/// Nanoseconds of a journey one way, by repetition.
fn bounce([from, to]: [u32; 2]) -> Result<Vec<f64>, MeasureError> {
    let (start, line) = (Start::new(2), OnceLock::<Vec<AtomicU64>>::new());
    thread::scope(|scope| {
        let answering = scope.spawn(|| {
            let pinned = team::pin(to);
            start.together();
            if let Some(line) = line.get() {
                answer(&line[0]);
            }
            pinned
        });
        let asking = scope.spawn(|| {
            let pinned = team::pin(from);
            let line = line.get_or_init(new_line);
            start.together();
            let times = ask(&line[0]);
            pinned.map(|()| times)
        });
        let times = asking.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        answering.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        times
    })
}

/// A line on the node of the thread that calls, with nothing else on its page.
fn new_line() -> Vec<AtomicU64> {
    let mut line = Vec::new();
    // A limit on address space: a line from somewhere is better than none.
    let _ = line.try_reserve_exact(NEW / size_of::<AtomicU64>());
    line.push(AtomicU64::new(0));
    line
}

fn answer(line: &AtomicU64) {
    let mut expected = 1;
    loop {
        let found = wait_until(|| Some(line.load(Ordering::Acquire)).filter(|found| *found >= expected));
        if found == END {
            return;
        }
        line.store(found + 1, Ordering::Release);
        expected = found + 2;
    }
}

fn ask(line: &AtomicU64) -> Vec<f64> {
    let (mut next, began, mut times) = (1, Instant::now(), Vec::new());
    for repetition in 0..REPETITIONS {
        if repetition >= FEWEST && began.elapsed() > PATIENCE {
            break;
        }
        let begin = Instant::now();
        for _ in 0..ROUND_TRIPS {
            line.store(next, Ordering::Release);
            wait_until(|| (line.load(Ordering::Acquire) > next).then_some(()));
            next += 2;
        }
        times.push(begin.elapsed().as_secs_f64() * 1e9 / f64::from(2 * ROUND_TRIPS));
    }
    line.store(END, Ordering::Release);
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs_of(text: &str) -> (Vec<u32>, Vec<Pair>) {
        let machine = Machine::from_source(text).unwrap();
        let cpus: Vec<u32> = machine.cpus.iter().map(|cpu| cpu.id).collect();
        let pairs = pairs(&machine, &cpus);
        (cpus, pairs)
    }

    fn count(pairs: &[Pair], class: CpuPairClass) -> usize {
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

    #[test]
    fn every_question_is_answered_and_both_threads_end() {
        let cpus = team::own_cpus();
        let pair = [cpus[0], *cpus.last().unwrap()];
        let times = bounce(pair).unwrap();
        assert!(times.len() >= FEWEST as usize && times.iter().all(|ns| *ns > 0.0), "{times:?}");
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error_on_either_end() {
        let cpu = team::own_cpus()[0];
        for pair in [[cpu, 100_000], [100_000, cpu]] {
            assert!(matches!(bounce(pair), Err(MeasureError::Pin { cpu: 100_000, .. })));
        }
    }
}
