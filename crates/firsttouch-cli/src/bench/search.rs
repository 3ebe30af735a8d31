//! One run of `bench sssp`, in a process of its own: loads the graph, and prints how long the searches took, what all distances
//! add up to, and what the memory obtained.

use crate::args::BenchSearch;
use crate::output::{self, Failure, Outcome};
use crate::reading;
use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use firsttouch_documents::GraphReceipt;
use firsttouch_graph::{Graph, Graphs, Node, Place, ReadOptions, Search, Width, leads_on, read};
use firsttouch_linux::numa::{self, CpuBits};
use firsttouch_machine::{Machine, Root};
use firsttouch_threads::{Team, compact};
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

const THIS_THREAD: u32 = 0;
/// Nodes drawn for a source at most.
const DRAWS: usize = 64;

pub(crate) fn run(args: &BenchSearch) -> Outcome {
    if let Some(node) = args.node {
        stay_on(node)?;
    }
    let mut team = team(args.threads)?;
    let place = Place { pages: args.pages, node: args.node };
    let loaded = read(&args.file, &ReadOptions { place, ..ReadOptions::default() }, &mut team);
    let loaded = loaded.map_err(Failure::hinted)?;
    let mut copies = None;
    if let Some(groups) = args.groups {
        let (grouped, made) = reading::copies(&loaded, args.pages, groups)?;
        team = grouped;
        copies = Some(made);
    }
    let searching = Searching {
        graphs: Graphs::new(&loaded.graph, copies.as_ref()),
        place,
        sources: sources(args, &loaded.graph),
        next: AtomicUsize::new(0),
        sum: AtomicU64::new(0),
    };
    let threads = team.size();
    let began;
    let done = if args.unbound {
        drop(team);
        began = Instant::now();
        searching.unbound(threads)
    } else {
        began = Instant::now();
        team.map(|member| searching.search(member.group()))
    };
    let took = done.iter().map(|(ended, _)| *ended - began).max().unwrap_or_default();
    let mut receipt = copies.as_ref().map_or_else(|| loaded.graph.receipt(place), |copies| copies.receipt());
    done.iter().filter_map(|(_, receipt)| receipt.as_ref()).for_each(|one| receipt.add(one));
    let receipt = serde_json::to_string(&receipt)?;
    output::data(&format!("{:e} {}\n{receipt}\n", took.as_secs_f64(), searching.sum.into_inner()))?;
    Ok(0)
}

/// What all threads search: each takes the next source until there is none.
struct Searching<'a> {
    graphs: Graphs<'a>,
    place: Place,
    sources: Vec<Node>,
    next: AtomicUsize,
    /// Of all distances.
    sum: AtomicU64,
}

impl Searching<'_> {
    /// One thread's part: when it ended, and what the memory of its distances obtained if it searched at all.
    fn search(&self, group: usize) -> (Instant, Option<GraphReceipt>) {
        let mut search = None;
        while let Some(source) = self.sources.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let make = || Search::with_buckets(self.graphs.of(group), Width::Guessed).on(self.place);
            let tree = search.get_or_insert_with(make).run(*source, None);
            self.sum.fetch_add(tree.summary().sum as u64, Ordering::Relaxed);
        }
        let ended = Instant::now();
        (ended, search.map(|search| search.receipt()))
    }

    /// As one would write it without thinking of places: threads, and a counter of what is to be done.
    fn unbound(&self, threads: usize) -> Vec<(Instant, Option<GraphReceipt>)> {
        thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(|| self.search(0))).collect();
            let join =
                |thread: thread::ScopedJoinHandle<'_, _>| thread.join().expect("a search does not panic");
            threads.into_iter().map(join).collect()
        })
    }
}

/// All CPUs that this process may use, or so many, as near to each other as can be without sharing a core.
fn team(threads: Option<u32>) -> Outcome<Team> {
    let Some(threads) = threads else { return reading::team(None) };
    let usable: Vec<u32> =
        numa::affinity(THIS_THREAD).map_err(io::Error::from_raw_os_error)?.iter().collect();
    let mut order = compact(&Machine::read(&Root::live())?, &usable);
    order.truncate(threads as usize);
    Team::new(&[order]).map_err(Failure::hinted)
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
