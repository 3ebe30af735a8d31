//! Core to core: how long a cache line takes that two CPUs write in turn.
//!
//! One thread writes an odd number, the other waits for it and writes the next even one. Each write has to fetch the line
//! out of the other core's cache: half of the time there and back is what one core waits for what another has written.

use crate::series::Series;
use crate::team::{self, Start, wait_until};
use crate::{MeasureError, MeasureProgress};
use firsttouch_machine::{CoreLatency, CpuPair, Machine, pairs_of_cpus};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

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
    let pairs = pairs_of_cpus(machine, &cpus);
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

/// Nanoseconds of a journey one way, by repetition.
fn bounce([from, to]: [u32; 2]) -> Result<Vec<f64>, MeasureError> {
    let (start, line) = (Start::new(2), OnceLock::<Vec<AtomicU64>>::new());
    thread::scope(|scope| {
        let answering = start.thread(scope, || {
            let pinned = team::pin(to);
            start.together();
            if let Some(line) = line.get() {
                answer(&line[0]);
            }
            pinned
        });
        // Nobody would answer.
        let answering = Ok(answering?);
        let asking = start.thread(scope, || {
            let pinned = team::pin(from);
            let line = line.get_or_init(new_line);
            start.together();
            let times = ask(&line[0]);
            pinned.map(|()| times)
        });
        let times = team::ended(asking);
        team::ended(answering)?;
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
