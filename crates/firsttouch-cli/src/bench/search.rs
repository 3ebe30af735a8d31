//! One run of `bench sssp`, in a process of its own: loads the graph, and prints how long the searches took and what all
//! distances add up to.

use crate::args::BenchSearch;
use crate::output::{self, Failure, Outcome};
use crate::reading;
use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use firsttouch_graph::{Graph, Node, Place, ReadOptions, Search, Width, leads_on, read, search_each};
use firsttouch_linux::numa::{self, CpuBits};
use firsttouch_machine::{Machine, Root};
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const THIS_THREAD: u32 = 0;
/// Nodes drawn for a source at most.
const DRAWS: usize = 64;

pub(crate) fn run(args: &BenchSearch) -> Outcome {
    if let Some(node) = args.node {
        stay_on(node)?;
    }
    let mut team = reading::team(args.threads)?;
    let place = Place { pages: args.pages, node: args.node };
    let loaded = read(&args.file, &ReadOptions { place, ..ReadOptions::default() }, &mut team);
    let loaded = loaded.map_err(Failure::hinted)?;
    let sources = sources(args, &loaded.graph);
    let (took, sum) = if args.unbound {
        let threads = team.size();
        drop(team);
        unbound(&loaded.graph, place, threads, &sources)
    } else {
        let mut copies = None;
        if let Some(groups) = args.groups {
            let (grouped, made) = reading::copies(&loaded, args.pages, groups)?;
            team = grouped;
            copies = Some(made);
        }
        let sum = AtomicU64::new(0);
        let began = Instant::now();
        let make = |member: &firsttouch_threads::Member<'_>| {
            let graph = copies.as_ref().map_or(&loaded.graph, |copies| copies.of(member.group()));
            Search::with_buckets(graph, Width::Guessed).on(place)
        };
        search_each(
            &mut team,
            &sources,
            None,
            || false,
            make,
            |_, tree, _| {
                sum.fetch_add(tree.summary().sum as u64, Ordering::Relaxed);
            },
        );
        (began.elapsed(), sum.into_inner())
    };
    output::data(&format!("{:e} {sum}\n", took.as_secs_f64()))?;
    Ok(0)
}

/// This thread, and all it starts, run on the CPUs of this node.
fn stay_on(node: u32) -> Outcome<()> {
    let machine = Machine::read(&Root::live())?;
    let cpus = machine.nodes.iter().find(|one| one.id == node).map(|one| one.cpus.clone());
    let bits = cpus.as_deref().and_then(CpuBits::of);
    let bits = bits.ok_or_else(|| Failure::message(format!("there is no node {node} with CPUs")))?;
    numa::set_affinity(THIS_THREAD, &bits).map_err(io::Error::from_raw_os_error)?;
    Ok(())
}

/// The sources of this process: of so many draws for each the first that leads on, or, where hardly any node does, the last.
fn sources(args: &BenchSearch, graph: &Graph) -> Vec<Node> {
    let mut generator = ChaCha8Rng::seed_from_u64(args.seed);
    let mut draw = || (generator.next_u64() % graph.nodes() as u64) as Node;
    let all = (0..args.queries).map(|_| {
        let mut source = draw();
        for _ in 1..DRAWS {
            if leads_on(graph, source) {
                break;
            }
            source = draw();
        }
        source
    });
    let (part, of) = args.share.unwrap_or((0, 1));
    all.skip(part).step_by(of).collect()
}

/// As one would write it without thinking of places: threads, and a counter of what is to be done.
fn unbound(graph: &Graph, place: Place, threads: usize, sources: &[Node]) -> (Duration, u64) {
    let (next, sum) = (AtomicUsize::new(0), AtomicU64::new(0));
    let began = Instant::now();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut search = Search::with_buckets(graph, Width::Guessed).on(place);
                while let Some(source) = sources.get(next.fetch_add(1, Ordering::Relaxed)) {
                    sum.fetch_add(search.run(*source, None).summary().sum as u64, Ordering::Relaxed);
                }
            });
        }
    });
    (began.elapsed(), sum.into_inner())
}
