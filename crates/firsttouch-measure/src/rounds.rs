//! The repetitions: every pair of nodes once, then all again, so that a change of speed meets all pairs alike.

use crate::bandwidth::Stream;
use crate::latency::{Chain, chains};
use crate::memory::Memory;
use crate::plan::{CpuNode, Plan};
use crate::series::{Grid, Series};
use crate::simd::words;
use crate::streams::{self, Choice};
use crate::team::{self, Start, timed};
use crate::{MeasureError, MeasureProgress};
use firsttouch_machine::{SingleCpu, Spread, StreamInstructions};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

/// Words that load is made of before the makers look whether to go on (1 MiB).
const LOAD_WORDS: usize = 1 << 17;

/// Bandwidth by pair of nodes.
#[derive(Debug)]
pub(crate) struct Bandwidth {
    pub(crate) read: Grid,
    pub(crate) write: Grid,
    pub(crate) copy: Grid,
}

/// Everything that was timed.
#[derive(Debug)]
pub(crate) struct Results {
    pub(crate) latency_ns: Grid,
    pub(crate) loaded_latency_ns: Grid,
    pub(crate) load_gbps: Grid,
    pub(crate) all: Bandwidth,
    pub(crate) one: Bandwidth,
    pub(crate) small_pages_ns: Series,
}

/// The instructions that were chosen, in words.
#[derive(Debug)]
pub(crate) struct ChosenInstructions {
    pub(crate) all: StreamInstructions,
    pub(crate) one: StreamInstructions,
}

impl Bandwidth {
    fn new(nodes: usize) -> Bandwidth {
        Bandwidth { read: Grid::new(nodes), write: Grid::new(nodes), copy: Grid::new(nodes) }
    }

    pub(crate) fn medians(&self) -> SingleCpu {
        SingleCpu {
            read_gbps: self.read.median(),
            write_gbps: self.write.median(),
            copy_gbps: self.copy.median(),
        }
    }

    /// One pass of each kind.
    fn add(
        &mut self,
        pair: (usize, usize),
        choice: &Choice,
        cpus: &[u32],
        words: &mut [u64],
    ) -> Result<(), MeasureError> {
        self.read.add(pair, streams::read(choice.read, cpus, words)?);
        self.write.add(pair, streams::write(choice.write, cpus, words)?);
        self.copy.add(pair, streams::copy(choice.copy, cpus, words)?);
        Ok(())
    }
}

impl Results {
    fn new(nodes: usize) -> Results {
        Results {
            latency_ns: Grid::new(nodes),
            loaded_latency_ns: Grid::new(nodes),
            load_gbps: Grid::new(nodes),
            all: Bandwidth::new(nodes),
            one: Bandwidth::new(nodes),
            small_pages_ns: Series::default(),
        }
    }

    pub(crate) fn spread(&self) -> Spread {
        Spread {
            latency_ns: self.latency_ns.range(),
            loaded_latency_ns: self.loaded_latency_ns.range(),
            read_gbps: self.all.read.range(),
            write_gbps: self.all.write.range(),
            copy_gbps: self.all.copy.range(),
        }
    }
}

/// Measures every pair, as often as planned.
pub(crate) fn measure(
    plan: &Plan,
    mut memory: Memory,
    progress: &mut dyn FnMut(MeasureProgress),
) -> Result<(Results, ChosenInstructions), MeasureError> {
    let has_small = memory.small.is_some();
    let regions = memory.chains.iter_mut().chain(&mut memory.small);
    let mut chains = chains(regions.map(|region| words(region.as_mut_slice())));
    let mut small = if has_small { chains.pop() } else { None };
    let mut regions: Vec<&mut [u64]> =
        memory.streams.iter_mut().map(|region| words(region.as_mut_slice())).collect();

    progress(MeasureProgress::Choosing);
    let (cpu, near) = plan.page_pair.unwrap_or((0, 0));
    let cpus = &plan.cpu_nodes[cpu].cpus;
    let all = Choice::find(cpus, regions[near])?;
    let one = Choice::find(&cpus[..1], regions[near])?;

    let mut results = Results::new(plan.nodes.len());
    let of = plan.repetitions as usize * plan.cpu_nodes.len() * plan.memory_nodes.len();
    let mut done = 0;
    for _ in 0..plan.repetitions {
        for cpu_node in &plan.cpu_nodes {
            for (memory_node, (chain, region)) in
                plan.memory_nodes.iter().zip(chains.iter_mut().zip(&mut regions))
            {
                progress(MeasureProgress::Measuring { done, of });
                let pair = (cpu_node.place, memory_node.place);
                results.latency_ns.add(pair, latency(chain, cpu_node, plan.reads)?);
                if !cpu_node.load_cpus.is_empty() {
                    let (ns, gbps) = loaded(chain, cpu_node, plan.reads, all.read, region)?;
                    results.loaded_latency_ns.add(pair, ns);
                    results.load_gbps.add(pair, gbps);
                }
                results.all.add(pair, &all, &cpu_node.cpus, region)?;
                results.one.add(pair, &one, &cpu_node.cpus[..1], region)?;
                done += 1;
            }
        }
        if let (Some(chain), Some((cpu, _))) = (&mut small, plan.page_pair) {
            results.small_pages_ns.add(latency(chain, &plan.cpu_nodes[cpu], plan.reads)?);
        }
    }
    progress(MeasureProgress::Measuring { done, of });
    Ok((results, ChosenInstructions { all: all.means(), one: one.means() }))
}

/// Nanoseconds of a dependent read by the first CPU of a node, nothing else running.
fn latency(chain: &mut Chain<&mut [u64]>, node: &CpuNode, reads: u64) -> Result<f64, MeasureError> {
    let seconds = timed([(node.cpus[0], || {
        black_box(chain.walk(reads));
    })])?;
    Ok(seconds * 1e9 / reads as f64)
}

/// The same while the load CPUs read a region, and what they read meanwhile in 10^9 bytes a second.
fn loaded(
    chain: &mut Chain<&mut [u64]>,
    node: &CpuNode,
    reads: u64,
    stream: Stream,
    region: &[u64],
) -> Result<(f64, f64), MeasureError> {
    let start = Start::new(node.load_cpus.len() + 1);
    let (stop, bytes) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let makers: Vec<_> = node
            .load_cpus
            .iter()
            .zip(0..)
            .map(|(&cpu, index)| {
                let (start, stop, bytes) = (&start, &stop, &bytes);
                start.thread(scope, move || {
                    let pinned = team::pin(cpu);
                    start.together();
                    // Each begins at a place of its own and goes round.
                    let first = region.len() / LOAD_WORDS * index / node.load_cpus.len();
                    for piece in region.chunks(LOAD_WORDS).cycle().skip(first) {
                        if stop.load(Ordering::Relaxed) {
                            break;
                        }
                        black_box(stream.read(piece));
                        bytes.fetch_add(size_of_val(piece) as u64, Ordering::Relaxed);
                    }
                    pinned
                })
            })
            .collect();
        let chaser = start.thread(scope, || {
            let pinned = team::pin(node.cpus[0]);
            start.together();
            // The load is under way when a first part is done.
            black_box(chain.walk(reads / 8));
            let (before, begin) = (bytes.load(Ordering::Relaxed), Instant::now());
            black_box(chain.walk(reads));
            let (seconds, after) = (begin.elapsed().as_secs_f64(), bytes.load(Ordering::Relaxed));
            stop.store(true, Ordering::Relaxed);
            pinned.map(|()| (seconds * 1e9 / reads as f64, (after - before) as f64 / seconds / 1e9))
        });
        let answer = team::ended(chaser).inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
        makers.into_iter().try_for_each(team::ended)?;
        Ok(answer)
    })
}
