//! Many sources, shared out to the threads of a team.

use super::goal::Goal;
use super::one::Search;
use super::tree::Tree;
use crate::rows::Node;
use firsttouch_threads::{Member, Team};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Searches from every source. Each member makes its own search with `make`, so that the arrays are first touched where they
/// are used, takes the next source that nobody has taken, and shows the result to `each` with the source's place in the list
/// and the time that the search took.
/// When `stop` says so, searches that have begun are finished, and no more begin.
pub fn search_each<'g, 't>(
    team: &mut Team,
    sources: &[Node],
    goal: impl Into<Goal<'t>>,
    stop: impl Fn() -> bool + Sync,
    make: impl Fn(&Member<'_>) -> Search<'g> + Sync,
    each: impl Fn(usize, &Tree<'_>, Duration) + Sync,
) {
    let goal = goal.into();
    let next = AtomicUsize::new(0);
    team.run(|member| {
        let mut search = None;
        while !stop() {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(&source) = sources.get(at) else { break };
            let search = search.get_or_insert_with(|| make(member));
            let began = Instant::now();
            let tree = search.run(source, goal);
            let took = began.elapsed();
            each(at, &tree, took);
        }
    });
}
