//! Where searches begin.

use super::missing;
use crate::args::Sources;
use crate::output::{Failure, Outcome};
use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use firsttouch_graph::{Ids, Node, read_sources};
use std::path::Path;

/// The nodes that were named, listed or are to be drawn; `None` if nothing was said.
pub(crate) fn sources(args: &Sources, ids: &Ids) -> Outcome<Option<Vec<Node>>> {
    if let Some(file) = &args.sources_file {
        return nodes(&listed(file)?, ids).map(Some);
    }
    let Some(count) = args.random else {
        return if args.sources.is_empty() { Ok(None) } else { nodes(&args.sources, ids).map(Some) };
    };
    if ids.nodes() == 0 {
        return Err(Failure::message("the graph has no nodes to search from").usage());
    }
    let mut generator = ChaCha8Rng::seed_from_u64(args.seed);
    // Drawn as the file counts, so that the order in memory changes nothing.
    let drawn = (0..count).map(|_| (generator.next_u64() % ids.nodes() as u64) as Node);
    Ok(Some(drawn.map(|place| ids.order().map_or(place, |order| order.after(place))).collect()))
}

/// How many there are, without a look at the graph.
pub(crate) fn count(args: &Sources) -> Outcome<u64> {
    match (&args.sources_file, args.random) {
        (Some(file), _) => Ok(listed(file)?.len() as u64),
        (None, Some(count)) => Ok(count.into()),
        (None, None) => Ok(args.sources.len() as u64),
    }
}

fn listed(file: &Path) -> Outcome<Vec<u64>> {
    read_sources(file)
        .map_err(|error| Failure::hinted(error).context(format!("cannot read {}", file.display())))
}

/// The nodes with these numbers in the file.
pub(crate) fn nodes(numbers: &[u64], ids: &Ids) -> Outcome<Vec<Node>> {
    numbers.iter().map(|number| ids.node(*number).ok_or_else(|| missing(*number, ids))).collect()
}
