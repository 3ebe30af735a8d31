//! Takes tasks from overloaded cores only, for the lowest makespan that this can reach, found by halving (Charm++'s
//! RefineA, the former RefineLB).

use super::compare::{Finish, heaviest_first};
use crate::{Answer, Asked, Mapping, Problem, Strategy, StrategyError, metrics};

/// How often the interval of makespans is halved: to a thousandth of it.
const HALVINGS: usize = 10;

/// Moves tasks from overloaded cores to others, as few as possible.
#[derive(Clone, Copy, Debug)]
pub struct Refine;

impl Strategy for Refine {
    fn name(&self) -> &'static str {
        "refine"
    }

    fn map(&self, asked: &Asked<'_>) -> Result<Answer, StrategyError> {
        let Asked { problem, machine, start, .. } = *asked;
        let now = Finish::of(problem, machine, start, |_| true);
        let order = heaviest_first(problem);
        let (mut low, mut high) = (metrics::lower_bound(problem, machine), now.last());
        let mut best = start.clone();
        // The lower bound itself is reachable sometimes: then nothing is left to halve.
        if let Some(mapping) = relieve(problem, start, &now, &order, low) {
            (best, high) = (mapping, low);
        }
        for _ in 0..HALVINGS {
            let cap = (low + high) / 2.0;
            match relieve(problem, start, &now, &order, cap) {
                Some(mapping) => (best, high) = (mapping, cap),
                None => low = cap,
            }
        }
        Ok(best.into())
    }
}

/// Each task, the heaviest first, that is on a core done later than `cap` and fits on the core that is done first, goes
/// there. `None` if a core is still too late.
fn relieve(problem: &Problem, start: &Mapping, now: &Finish, order: &[u32], cap: f64) -> Option<Mapping> {
    let mut finish = now.clone();
    let mut mapping = start.clone();
    for &task in order {
        let (load, home) = (problem.tasks()[task as usize].load, start.core(task as usize));
        if finish.time(home) <= cap {
            continue;
        }
        let core = finish.first_with(load);
        if core != home && finish.with(core, load) <= cap {
            finish.take(home, load);
            finish.add(core, load);
            mapping.put(task as usize, core);
        }
    }
    (finish.last() <= cap).then_some(mapping)
}
