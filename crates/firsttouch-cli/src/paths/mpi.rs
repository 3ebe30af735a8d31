//! Ranks that MPI started: they have the graph from rank 0, and search from the sources that it hands out.

use super::{Input, Ready};
use crate::args::PlacedGraph;
use crate::output::{Failure, Outcome};
use firsttouch_graph::hierarchy::{Hierarchy, HierarchyOptions};
use firsttouch_graph::{Algorithm, Choice, Loaded, Node, Ranks};
use std::num::NonZero;
use std::time::Instant;

/// What builds it with MPI.
const WITH_MPI: &str =
    "cargo install --path crates/firsttouch-cli --features mpi, where MPI is (Debian: libopenmpi-dev)";

/// The ranks of the job, if there are to be some.
pub(crate) fn world(asked: bool) -> Outcome<Option<Box<dyn Ranks>>> {
    if asked { start().map(Some) } else { Ok(None) }
}

/// Whether there is MPI to start.
pub(crate) fn is_there() -> Outcome<()> {
    if cfg!(feature = "mpi") { Ok(()) } else { Err(built_without().hint(WITH_MPI)) }
}

#[cfg(feature = "mpi")]
fn start() -> Outcome<Box<dyn Ranks>> {
    Ok(Box::new(firsttouch_mpi::World::start().map_err(Failure::hinted)?))
}

#[cfg(not(feature = "mpi"))]
fn start() -> Outcome<Box<dyn Ranks>> {
    Err(built_without().hint(format!("{WITH_MPI}; or --shard-dir DIR, which needs none")))
}

fn built_without() -> Failure {
    Failure::message("this firsttouch was built without MPI").usage()
}

/// The graph: read by rank 0, and told to the others.
pub(crate) fn load(ranks: &dyn Ranks, args: &PlacedGraph) -> Outcome<Input> {
    if ranks.rank() == 0 {
        let began = Instant::now();
        let mut input = Input::load(args)?;
        input.loaded.tell(ranks).map_err(Failure::hinted)?;
        input.preprocessing_s = began.elapsed().as_secs_f64() - input.parse_s;
        return Ok(input);
    }
    Input::of(args, |place, team| {
        let began = Instant::now();
        let heard = Loaded::hear(ranks, place, team).map_err(Failure::hinted)?;
        Ok((heard, began.elapsed().as_secs_f64()))
    })
}

/// Rank 0 tells how to search, and the order of the hierarchy if it is to be swept over.
pub(crate) fn tell_ready(ranks: &dyn Ranks, ready: &Ready) -> Outcome<()> {
    let order = ready.hierarchy.as_ref().map(Hierarchy::order).unwrap_or_default();
    ranks.tell_all(ready.choice.algorithm.word().as_bytes()).map_err(Failure::hinted)?;
    let bytes: Vec<u8> = order.iter().flat_map(|node| node.to_le_bytes()).collect();
    ranks.tell_all(&bytes).map_err(Failure::hinted)
}

/// What rank 0 tells, made ready here.
pub(crate) fn hear_ready(ranks: &dyn Ranks, input: &Input) -> Outcome<Ready> {
    let word = ranks.hear_all().map_err(Failure::hinted)?;
    let order = ranks.hear_all().map_err(Failure::hinted)?;
    let began = Instant::now();
    let known = Algorithm::ALL.into_iter().find(|algorithm| algorithm.word().as_bytes() == word);
    let algorithm = known.ok_or_else(|| Failure::message("rank 0 is of another version of firsttouch"))?;
    let order: Vec<Node> = order.as_chunks().0.iter().map(|bytes| Node::from_le_bytes(*bytes)).collect();
    let hierarchy = if algorithm == Algorithm::Phast {
        let threads = NonZero::new(input.team.size()).unwrap_or(NonZero::<usize>::MIN);
        let options = HierarchyOptions { threads, ..HierarchyOptions::default() };
        Some(Hierarchy::with_order(&input.loaded.graph, &order, &options)?)
    } else {
        None
    };
    let choice = Choice { algorithm, reason: "as rank 0 says".to_owned() };
    Ok(Ready { choice, hierarchy, took_s: began.elapsed().as_secs_f64() })
}
