//! Ranks that are threads: the graph they are told, and runs that they share.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use firsttouch_graph::hierarchy::{Hierarchy, HierarchyOptions, PhastQuery};
use firsttouch_graph::{
    AllPairs, Checkpoint, Graph, Graphs, Ids, Loaded, MessageError, Node, Order, Place, Queue, Ranks, Recipe,
    Searches, Width, generate,
};
use firsttouch_threads::Team;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const RANKS: usize = 4;

/// Whom it is from, and what it says.
type Message = (usize, Vec<u8>);

/// A rank that passes its messages to other threads.
#[derive(Debug)]
struct Thread {
    rank: usize,
    /// One to each rank, of what is told and of what is sent.
    to: Vec<[Sender<Message>; 2]>,
    from: [Mutex<Receiver<Message>>; 2],
}

fn gone(call: &'static str) -> MessageError {
    MessageError { call, answer: "the other rank has ended".to_owned() }
}

impl Thread {
    fn all() -> Vec<Thread> {
        let (to, from): (Vec<_>, Vec<_>) = (0..RANKS)
            .map(|_| {
                let (told, sent) = (channel(), channel());
                ([told.0, sent.0], [told.1, sent.1].map(Mutex::new))
            })
            .unzip();
        let ranks = from.into_iter().enumerate();
        ranks.map(|(rank, from)| Thread { rank, to: to.clone(), from }).collect()
    }

    fn next(&self, which: usize) -> Option<Message> {
        self.from[which].lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
    }
}

impl Ranks for Thread {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        RANKS
    }

    fn tell(&self, bytes: &[u8]) -> Result<(), MessageError> {
        let mut others = self.to.iter().skip(1);
        others.try_for_each(|[told, _]| told.send((0, bytes.to_vec())).map_err(|_| gone("tell")))
    }

    fn hear(&self, bytes: &mut [u8]) -> Result<(), MessageError> {
        let (_, heard) = self.next(0).ok_or(gone("hear"))?;
        bytes.copy_from_slice(&heard);
        Ok(())
    }

    fn send(&self, to: usize, bytes: &[u8]) -> Result<(), MessageError> {
        self.to[to][1].send((self.rank, bytes.to_vec())).map_err(|_| gone("send"))
    }

    fn receive(&self, from: usize) -> Result<Vec<u8>, MessageError> {
        let (sender, bytes) = self.next(1).ok_or(gone("receive"))?;
        assert_eq!(sender, from);
        Ok(bytes)
    }

    fn poll(&self) -> Result<Option<Message>, MessageError> {
        match self.from[1].lock().unwrap_or_else(PoisonError::into_inner).try_recv() {
            Ok(message) => Ok(Some(message)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(gone("poll")),
        }
    }

    fn sum(&self, _: &mut [f64]) -> Result<(), MessageError> {
        unreachable!("searches of graphs add nothing up")
    }

    fn abort(&self, code: u8) -> ! {
        panic!("aborted with {code}")
    }
}

/// What every rank does, by its number; and what came of it.
fn in_ranks<T: Send>(work: impl Fn(&Thread) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let work = &work;
        let ranks = Thread::all().into_iter();
        let threads: Vec<_> = ranks.map(|rank| scope.spawn(move || work(&rank))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn streets() -> Graph {
    let recipe = Recipe::Streets { width: 32, height: 32 };
    generate(&recipe, 1, Place::HEAP, &mut Team::new(&[vec![0]]).unwrap()).unwrap().graph
}

#[test]
fn all_ranks_have_the_graph_that_one_has_read_where_they_want_it() {
    let graph = streets();
    let order = Order::depth_first(&graph);
    let (nodes, place) = (graph.nodes(), Place::default());
    let ids = Ids::listed((0..nodes as u64).map(|node| 3 * node + 7).collect()).unwrap();
    let format = firsttouch_graph::Format::Binary;
    let coordinates = Some(vec![[1, -2]; nodes]);
    let loaded = Loaded { graph, ids, coordinates, format, notes: Vec::new() };
    let loaded = loaded.reordered(&order, place).unwrap();
    let heard = in_ranks(|rank| {
        if rank.rank() == 0 {
            loaded.tell(rank).unwrap();
            return None;
        }
        Some(Loaded::hear(rank, place, &mut Team::new(&[vec![0]]).unwrap()).unwrap())
    });
    for heard in heard.into_iter().flatten() {
        assert_eq!(heard, loaded);
        assert_eq!(heard.graph.distance_bound(), loaded.graph.distance_bound());
        let obtained = heard.graph.receipt(place).obtained.unwrap();
        assert!(obtained.placed_bytes >= loaded.graph.bytes() as u64, "{obtained:?}");
    }
}

#[test]
fn a_graph_that_is_none_is_refused() {
    let error = in_ranks(|rank| match rank.rank() {
        0 => rank.tell(&[0; 184]).err().map(|_| String::new()),
        _ => Some(
            Loaded::hear(rank, Place::HEAP, &mut Team::new(&[vec![0]]).unwrap()).unwrap_err().to_string(),
        ),
    });
    assert!(error[1].as_ref().unwrap().contains("header is damaged"), "{error:?}");
}

/// Runs on ranks, by searches or by sweeps; rank 0 keeps a checkpoint, and the rank `stops` stops when it has found something.
fn run(
    graph: &Graph,
    sources: &[Node],
    checkpoint: &Path,
    phast: bool,
    stops: Option<usize>,
) -> firsttouch_graph::AllPairsOutcome {
    let others_work = AtomicBool::new(false);
    let outcomes = in_ranks(|rank| {
        let mut team = Team::new(&[vec![0, 0]]).unwrap();
        let stop = AtomicBool::new(false);
        let progress = |found: firsttouch_graph::AllPairsProgress| {
            assert!(found.done <= sources.len());
            if rank.rank() > 0 {
                others_work.store(true, Ordering::Relaxed);
            }
            // Rank 0 does not do it all before the others have begun.
            while !others_work.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            stop.fetch_or(stops == Some(rank.rank()), Ordering::Relaxed);
        };
        let settings = AllPairs {
            checkpoint: (rank.rank() == 0).then_some(Checkpoint { path: checkpoint, every: Duration::MAX }),
            progress: Some(&progress),
            stop: Some(&stop),
            histogram: rank.rank() == 0,
            matrix: None,
        };
        let hierarchy = phast.then(|| Hierarchy::build(graph, &HierarchyOptions::default()).unwrap());
        match &hierarchy {
            Some(hierarchy) => work(&settings, rank, &mut PhastQuery::new(hierarchy, &mut team), sources),
            None => {
                let queue = Queue::Buckets(Width::Guessed);
                work(&settings, rank, &mut Searches::new(Graphs::new(graph, None), &mut team, queue), sources)
            }
        }
    });
    outcomes.into_iter().flatten().next().unwrap()
}

fn work<'a: 'b, 'b>(
    settings: &AllPairs<'_>,
    rank: &Thread,
    engine: impl Into<firsttouch_graph::Engine<'a, 'b>>,
    sources: &[Node],
) -> Option<firsttouch_graph::AllPairsOutcome> {
    if rank.rank() == 0 {
        return Some(settings.lead(engine, sources, rank).unwrap());
    }
    settings.follow(engine, rank).unwrap();
    None
}

#[test]
fn ranks_find_together_what_one_finds_alone() {
    let graph = streets();
    let sources: Vec<Node> = (0..graph.nodes() as Node).rev().collect();
    let mut team = Team::new(&[vec![0]]).unwrap();
    let mut alone = Searches::new(Graphs::new(&graph, None), &mut team, Queue::Heap);
    let settings = AllPairs { histogram: true, ..AllPairs::default() };
    let wanted = settings.run(&mut alone, &sources).unwrap().stored;
    for phast in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let checkpoint = folder.path().join("checkpoint");
        let outcome = run(&graph, &sources, &checkpoint, phast, None);
        assert_eq!((&outcome.stored, outcome.resumed), (&wanted, 0));
    }
}

#[test]
fn a_rank_that_stops_stops_all_and_the_checkpoint_has_what_every_rank_found() {
    let graph = streets();
    let sources: Vec<Node> = (0..graph.nodes() as Node).collect();
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = folder.path().join("checkpoint");
    for stops in [2, 0] {
        let outcome = run(&graph, &sources, &checkpoint, false, Some(stops));
        assert!((1..sources.len()).contains(&outcome.stored.done()), "{}", outcome.stored.done());
    }
    let outcome = run(&graph, &sources, &checkpoint, false, None);
    assert!(outcome.resumed > 0);
    let mut team = Team::new(&[vec![0]]).unwrap();
    let mut alone = Searches::new(Graphs::new(&graph, None), &mut team, Queue::Heap);
    let settings = AllPairs { histogram: true, ..AllPairs::default() };
    assert_eq!(settings.run(&mut alone, &sources).unwrap().stored, outcome.stored);
}
