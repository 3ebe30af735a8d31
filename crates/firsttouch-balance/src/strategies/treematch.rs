//! Hierarchical mapping for tasks that are nowhere yet: the machine is taken apart along its greatest distances, and the
//! message graph with it, so that what talks the most ends up the nearest.
//!
//! TreeMatch (Jeannot and Mercier 2010) groups from the leaves up, which needs a balanced tree. This goes from the root down
//! as SharedMap does (2025), which needs no tree at all: a machine of any distances has greatest ones.

use super::bisect::Bisector;
use super::graph::{Graph, capacities};
use crate::{Answer, Asked, Machine, Problem, Strategy, StrategyError};

/// Cuts graph and machine together, from the greatest distances down.
#[derive(Clone, Copy, Debug)]
pub struct TreeMatch;

impl Strategy for TreeMatch {
    fn name(&self) -> &'static str {
        "treematch"
    }

    fn map(&self, asked: &Asked<'_>) -> Result<Answer, StrategyError> {
        let Asked { problem, machine, start, .. } = *asked;
        let graph = Graph::of(problem);
        let cores = multisect(problem, machine, &graph, &graph.cores_of(start));
        Ok(graph.mapping_of(&cores).into())
    }
}

/// The cores of the tasks in the order of the graph; pinned tasks keep those of `start`.
pub(super) fn multisect(problem: &Problem, machine: &Machine, graph: &Graph, start: &[u32]) -> Vec<u32> {
    let room = capacities(problem, machine);
    let room_of = |cores: &[u32]| cores.iter().map(|core| room[*core as usize]).sum::<f64>();
    let mut cores = start.to_vec();
    let movable = |task: &u32| !problem.tasks()[graph.tasks[*task as usize] as usize].pinned;
    let members: Vec<u32> = (0..graph.len() as u32).filter(movable).collect();
    let mut bisector = Bisector::new(graph);
    let mut open = vec![(members, vec![(0..machine.cores().len() as u32).collect::<Vec<u32>>()])];
    while let Some((members, mut parts)) = open.pop() {
        if let [part] = &parts[..] {
            if let [core] = part[..] {
                members.iter().for_each(|task| cores[*task as usize] = core);
                continue;
            }
            parts = machine.parts(part);
        }
        let upper = parts.split_off(parts.len() / 2);
        let [below, above] =
            [&parts, &upper].map(|parts| parts.iter().map(|part| room_of(part)).sum::<f64>());
        let share = if below + above > 0.0 { below / (below + above) } else { 0.5 };
        let (inside, rest) = bisector.cut(&members, share, true);
        open.push((inside, parts));
        open.push((rest, upper));
    }
    cores
}
