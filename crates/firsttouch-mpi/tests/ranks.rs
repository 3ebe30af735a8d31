//! Four ranks under `mpirun`, which run this test program once more: messages longer than a piece, a graph and a run that they
//! share, one of them killed.

#![cfg(feature = "mpi")]
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]
#![allow(clippy::print_stdout, reason = "a rank tells what it found")]

#[path = "../../../tests/skipped.rs"]
mod skipped;

use firsttouch_graph::{
    AllPairs, AllPairsProgress, Checkpoint, Graphs, Loaded, Node, Place, Queue, Ranks, Recipe, Searches,
    Totals, Width, generate,
};
use firsttouch_mpi::World;
use firsttouch_threads::Team;
use skipped::skipped;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const RANKS: usize = 4;
/// What rank 0 leaves to another rank after each source, of which there are hundreds.
const MOMENT: Duration = Duration::from_millis(10);
/// Says to a test that it is a rank, and where its files are.
const FOLDER: &str = "FIRSTTOUCH_MPI_TEST";
/// Says which rank is to die.
const DIES: &str = "FIRSTTOUCH_MPI_TEST_DIES";

fn folder() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from)
}

/// Runs one test of this program in all ranks; `None` where there is no `mpirun`.
fn in_ranks(test: &str, folder: &Path, dies: Option<usize>) -> Option<Output> {
    let mut command = Command::new("mpirun");
    command.args(["-n", &RANKS.to_string()]).arg(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture", "--test-threads", "1"]).env(FOLDER, folder);
    // Open MPI's: root may, there may be fewer cores than ranks, and threads may run on all of them.
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.env("OMPI_MCA_rmaps_base_oversubscribe", "1").env("OMPI_MCA_hwloc_base_binding_policy", "none");
    if let Some(rank) = dies {
        command.env(DIES, rank.to_string());
    }
    let output = command.output().ok();
    if output.is_none() {
        skipped("mpirun is not installed");
    }
    output
}

/// Whether this process is a rank of that test. If not, the test is run by all ranks, and has to succeed.
fn is_rank(test: &str) -> bool {
    if folder().is_some() {
        return true;
    }
    let folder = tempfile::tempdir().unwrap();
    if let Some(output) = in_ranks(test, folder.path(), None) {
        assert!(output.status.success(), "{}", words(&output));
    }
    false
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

#[test]
fn bytes_arrive_as_they_were_sent_however_many() {
    if !is_rank("bytes_arrive_as_they_were_sent_however_many") {
        return;
    }
    let world = World::start().unwrap();
    assert_eq!(world.size(), RANKS);
    assert!(World::start().unwrap_err().to_string().contains("before"));
    // More than two of the pieces that go at once.
    let long: Vec<u8> = (0..(40_u32 << 20) + 5).map(|at| (at % 251) as u8).collect();
    if world.rank() == 0 {
        world.tell_all(&long).unwrap();
        world.tell_all(&[]).unwrap();
        assert_eq!(world.receive(1).unwrap(), long);
        world.send(1, &long).unwrap();
        let mut seen = Vec::new();
        while seen.len() < RANKS - 2 {
            let Some((from, bytes)) = world.poll().unwrap() else { continue };
            assert_eq!(bytes, [from as u8; 3]);
            seen.push(from);
        }
        seen.sort_unstable();
        assert_eq!(seen, [2, 3]);
        assert_eq!(world.poll(), Ok(None));
        return;
    }
    assert_eq!(world.hear_all().unwrap(), long);
    assert!(world.hear_all().unwrap().is_empty());
    if world.rank() == 1 {
        world.send(0, &long).unwrap();
        assert_eq!(world.receive(0).unwrap(), long);
    } else {
        world.send(0, &[world.rank() as u8; 3]).unwrap();
    }
}

#[test]
fn values_are_added_up_for_all() {
    if !is_rank("values_are_added_up_for_all") {
        return;
    }
    let world = World::start().unwrap();
    let own = (world.rank() + 1) as f64;
    world.sum(&mut []).unwrap();
    // More than goes at once.
    let mut values: Vec<f64> = (0..(5 << 20) + 3).map(|at| own * f64::from(at % 1000)).collect();
    world.sum(&mut values).unwrap();
    let of_all = (1..=RANKS).sum::<usize>() as f64;
    assert!((0_u32..).zip(&values).all(|(at, value)| *value == of_all * f64::from(at % 1000)));
}

fn graph() -> Loaded {
    let mut team = Team::new(&[vec![0]]).unwrap();
    generate(&Recipe::Streets { width: 32, height: 8 }, 1, Place::HEAP, &mut team).unwrap()
}

/// What a rank does: hears the graph, and searches.
fn rank(folder: &Path) {
    let world = World::start().unwrap();
    let mut team = Team::new(&[vec![0]]).unwrap();
    let path = folder.join("checkpoint");
    let loaded = match world.rank() {
        0 => graph(),
        _ => Loaded::hear(&world, Place::default(), &mut team).unwrap(),
    };
    let dies = std::env::var(DIES).ok().map(|rank| rank == world.rank().to_string());
    let calls = AtomicU32::new(0);
    let [begun, dying] = ["begun", "dying"].map(|name| folder.join(name));
    let wait_for = |file: &Path| {
        while !file.exists() {
            std::thread::yield_now();
        }
    };
    // Whoever else is at work on the machine: the others are not done before it has had its turn.
    let progress = |_: AllPairsProgress| match dies {
        None => {}
        // In its second chunk, the first of which rank 0 has.
        Some(true) if calls.fetch_add(1, Ordering::Relaxed) > 0 => {
            std::fs::write(&dying, "").unwrap();
            std::process::abort();
        }
        Some(true) => std::fs::write(&begun, "").unwrap(),
        Some(false) if world.rank() > 0 => wait_for(&dying),
        // Rank 0 hands out meanwhile, in the moments between.
        Some(false) => {
            wait_for(&begun);
            let until = Instant::now() + MOMENT;
            while !dying.exists() && Instant::now() < until {
                std::thread::yield_now();
            }
        }
    };
    let settings = AllPairs {
        checkpoint: (world.rank() == 0).then_some(Checkpoint { path: &path, every: Duration::ZERO }),
        progress: Some(&progress),
        histogram: true,
        ..AllPairs::default()
    };
    let graphs = Graphs::new(&loaded.graph, None);
    let mut searches = Searches::new(graphs, &mut team, Queue::Buckets(Width::Guessed));
    if world.rank() > 0 {
        assert!(settings.follow(&mut searches, &world).unwrap());
        return;
    }
    loaded.tell(&world).unwrap();
    let sources: Vec<Node> = (0..loaded.graph.nodes() as Node).collect();
    let outcome = settings.lead(&mut searches, &sources, &world).unwrap();
    let totals = Totals::of(&outcome.stored.finished().unwrap());
    println!("found {totals:?} {:?} resumed {}", outcome.stored.histogram.unwrap(), outcome.resumed > 0);
}

#[test]
fn ranks_share_a_graph_and_a_run_which_goes_on_when_one_was_killed() {
    const NAME: &str = "ranks_share_a_graph_and_a_run_which_goes_on_when_one_was_killed";
    if let Some(folder) = folder() {
        return rank(&folder);
    }
    let loaded = graph();
    let mut team = Team::new(&[vec![0]]).unwrap();
    let mut searches = Searches::new(Graphs::new(&loaded.graph, None), &mut team, Queue::Heap);
    let sources: Vec<Node> = (0..loaded.graph.nodes() as Node).collect();
    let alone = AllPairs { histogram: true, ..AllPairs::default() };
    let stored = alone.run(&mut searches, &sources).unwrap().stored;
    let totals = Totals::of(&stored.finished().unwrap());
    let wanted = format!("found {totals:?} {:?} resumed", stored.histogram.unwrap());

    let folder = tempfile::tempdir().unwrap();
    let Some(whole) = in_ranks(NAME, folder.path(), None) else { return };
    assert!(whole.status.success(), "{}", words(&whole));
    assert!(words(&whole).contains(&format!("{wanted} false")), "{}", words(&whole));

    let folder = tempfile::tempdir().unwrap();
    let killed = in_ranks(NAME, folder.path(), Some(2)).unwrap();
    assert!(!killed.status.success());
    assert!(!words(&killed).contains("found"), "{}", words(&killed));
    let again = in_ranks(NAME, folder.path(), None).unwrap();
    assert!(again.status.success(), "{}", words(&again));
    assert!(words(&again).contains(&format!("{wanted} true")), "{}", words(&again));
}
