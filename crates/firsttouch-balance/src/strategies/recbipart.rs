//! Recursive bipartition of the message graph by breadth-first searches, until the wanted load is met (Charm++'s RecBipartLB):
//! blind to where tasks are and to distances.

use super::bisect::Bisector;
use super::graph::{Graph, capacities};
use crate::{Answer, Asked, Strategy, StrategyError};

/// Halves the graph and the cores until each part has one core.
#[derive(Clone, Copy, Debug)]
pub struct RecBipart;

impl Strategy for RecBipart {
    fn name(&self) -> &'static str {
        "recbipart"
    }

    fn map(&self, asked: &Asked<'_>) -> Result<Answer, StrategyError> {
        let Asked { problem, machine, start, .. } = *asked;
        let graph = Graph::of(problem);
        let room = capacities(problem, machine);
        let mut cores = graph.cores_of(start);
        let movable = |task: &u32| !problem.tasks()[graph.tasks[*task as usize] as usize].pinned;
        let members: Vec<u32> = (0..graph.len() as u32).filter(movable).collect();
        let all: Vec<u32> = (0..machine.cores().len() as u32).collect();
        let mut bisector = Bisector::new(&graph);
        let mut open = vec![(members, all)];
        while let Some((members, mut part)) = open.pop() {
            if let [core] = part[..] {
                members.iter().for_each(|task| cores[*task as usize] = core);
                continue;
            }
            let upper = part.split_off(part.len() / 2);
            let [below, above] =
                [&part, &upper].map(|cores| cores.iter().map(|core| room[*core as usize]).sum::<f64>());
            let share = if below + above > 0.0 { below / (below + above) } else { 0.5 };
            let (inside, rest) = bisector.cut(&members, share);
            open.push((inside, part));
            open.push((rest, upper));
        }
        Ok(graph.mapping_of(&cores).into())
    }
}
