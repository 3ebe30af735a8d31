//! One task for each core: the quadratic assignment problem, by annealing that only exchanges (Connolly 1990).
//!
//! Where all tasks are alike and no core may have two, the cores of the tasks are a permutation, and an exchange costs as much as
//! two tasks have neighbours. That is cheap enough for millions of them from beginnings of their own, which finds mappings of ranks
//! with much structure that no descent from one good mapping reaches.

use super::anneal::{below, unit};
use super::context::SearchContext;
use super::local_search::Deadline;
use chacha20::ChaCha8Rng;

/// Most cores: the table of their distances has as many squared.
const MOST_CORES: usize = 1024;
/// Loads that differ by less than this share are alike.
const ALIKE: f64 = 1e-9;
/// The temperature at the beginning, in mean changes of an exchange, and how much cooler the end is.
const HEAT: f64 = 0.3;
const COOLING: f64 = 0.1;
const SAMPLE: usize = 500;
/// How often the deadline is looked at, and the temperature set.
const STEPS_A_LOOK: u64 = 1024;

/// A problem that is one of assignment.
#[derive(Debug)]
pub(super) struct Assignment {
    /// For each task, and each core that stays empty, to whom it talks: bytes to and from them.
    links: Vec<Vec<(u32, f64, f64)>>,
    /// Between cores, by row.
    distances: Vec<f64>,
    tasks: usize,
}

impl Assignment {
    /// Of tasks that are nowhere yet, if they are alike and so are the cores, and `cap` lets each core have one.
    pub(super) fn of(context: &SearchContext<'_>, cap: f64) -> Option<Assignment> {
        let (machine, graph) = (context.machine, context.graph);
        let (cores, tasks) = (machine.cores().len(), graph.len());
        let load = *graph.loads.first()?;
        let first = machine.cores()[0];
        let alike = graph.loads.iter().all(|one| (one - load).abs() <= ALIKE * load)
            && machine
                .cores()
                .iter()
                .all(|core| core.speed == first.speed && core.background == first.background);
        let alone = first.background + 2.0 * load / first.speed > cap;
        let free = context.homes.iter().all(Option::is_none) && !context.pinned.contains(&true);
        let plain = machine.seconds_per_byte() == 0.0 && !context.is_tight();
        if !(alike && alone && free && plain && tasks <= cores && cores <= MOST_CORES) {
            return None;
        }
        let of = |task: u32| graph.links(task).iter().map(|link| (link.other, link.out, link.back)).collect();
        let mut links: Vec<Vec<(u32, f64, f64)>> = (0..tasks as u32).map(of).collect();
        links.resize(cores, Vec::new());
        let all = || 0..cores as u32;
        let distances = all().flat_map(|a| all().map(move |b| machine.distance(a, b))).collect();
        Some(Assignment { links, distances, tasks })
    }

    fn between(&self, from: u32, to: u32) -> f64 {
        self.distances[from as usize * self.links.len() + to as usize]
    }

    /// What exchanging two changes.
    fn change(&self, at: &[u32], one: usize, two: usize) -> f64 {
        let mut change = 0.0;
        for (this, that) in [(one, two), (two, one)] {
            let (from, to) = (at[this], at[that]);
            for &(other, out, back) in &self.links[this] {
                // Those two that change places stay as far apart, and what differs by direction turns around.
                let (there, then) = if other as usize == that {
                    (to, from)
                } else {
                    (at[other as usize], at[other as usize])
                };
                change += out * (self.between(to, then) - self.between(from, there));
                if other as usize != that {
                    change += back * (self.between(then, to) - self.between(there, from));
                }
            }
        }
        change
    }

    /// Anneals a random permutation, and gives the cheapest one met and whether the deadline ended it.
    pub(super) fn anneal(&self, steps: u64, random: &mut ChaCha8Rng, deadline: Deadline) -> (Vec<u32>, bool) {
        let count = self.links.len();
        let mut at: Vec<u32> = (0..count as u32).collect();
        for place in (1..count).rev() {
            at.swap(place, below(random, place + 1));
        }
        let mut best = at.clone();
        let pair = |random: &mut ChaCha8Rng| {
            let one = below(random, self.tasks);
            (one, (one + 1 + below(random, count - 1)) % count)
        };
        if count < 2 {
            return (best, false);
        }
        let sample = (0..SAMPLE).map(|_| {
            let (one, two) = pair(random);
            self.change(&at, one, two).abs()
        });
        let hot = HEAT * sample.sum::<f64>() / SAMPLE as f64;
        // Costs are compared with the beginning's, so that only changes need be known.
        let (mut cost, mut least, mut temperature) = (0.0, 0.0, hot);
        for step in 0..steps {
            if step % STEPS_A_LOOK == 0 {
                if deadline.is_over() {
                    best.truncate(self.tasks);
                    return (best, true);
                }
                temperature = hot * COOLING.powf(step as f64 / steps as f64);
            }
            let (one, two) = pair(random);
            let change = self.change(&at, one, two);
            if change <= 0.0 || unit(random) < (-change / temperature).exp() {
                at.swap(one, two);
                cost += change;
                if cost < least - hot * ALIKE {
                    least = cost;
                    best.copy_from_slice(&at);
                }
            }
        }
        best.truncate(self.tasks);
        (best, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategies::graph::Graph;
    use crate::{Machine, Message, Metrics, Problem, SolveOptions, Task};
    use chacha20::rand_core::SeedableRng;

    /// Seven tasks on nine cores whose distances differ by direction.
    fn case() -> (Machine, Problem) {
        let distance = |a: usize, b: usize| if a == b { 1.0 } else { 1.0 + ((a * 5 + b * 7) % 11) as f64 };
        let rows: Vec<Vec<f64>> = (0..9).map(|a| (0..9).map(|b| distance(a, b)).collect()).collect();
        let machine = Machine::from_factors("m", &rows, 1).unwrap();
        let message =
            |from: u32, to: u32| Message { from, to, count: 1.0, bytes: f64::from(1 + (from * 3 + to) % 5) };
        let messages: Vec<Message> = (0..7)
            .flat_map(|from| {
                (0..7).filter(move |to| (from * 2 + to) % 3 == 0).map(move |to| message(from, to))
            })
            .collect();
        (machine, Problem::new(vec![Task::new(1.0); 7], &messages).unwrap())
    }

    #[test]
    fn changes_are_what_exchanges_change() {
        let (machine, problem) = case();
        let graph = Graph::of(&problem);
        let start = graph.cores_of(&problem.start(&machine).unwrap());
        let context = SearchContext::new(&problem, &machine, &graph, &start, &SolveOptions::default());
        let assignment = Assignment::of(&context, 1.5).unwrap();
        let cost = |at: &[u32]| {
            let mapping = graph.mapping_of(&at[..7]);
            Metrics::of(&problem, &machine, &mapping, &mapping).cost
        };
        let mut at: Vec<u32> = (0..9).collect();
        for step in 0..200 {
            let (one, two) = (step * 5 % 7, (step * 5 % 7 + 1 + step % 8) % 9);
            let (before, change) = (cost(&at), assignment.change(&at, one, two));
            at.swap(one, two);
            assert!((cost(&at) - before - change).abs() < 1e-9, "{step}: {change}");
        }
        // What it finds is a mapping of one task to a core, and no worse than the beginning.
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let (found, cut) = assignment.anneal(20_000, &mut random, Deadline(None));
        assert!(!cut && cost(&found) <= cost(&at));
        let mut sorted = found.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), 7);
    }

    #[test]
    fn only_tasks_that_are_alike_and_free_are_assigned() {
        let (machine, problem) = case();
        let is_one = |problem: &Problem, machine: &Machine, cap: f64| {
            let graph = Graph::of(problem);
            let start = graph.cores_of(&problem.start(machine).unwrap());
            Assignment::of(
                &SearchContext::new(problem, machine, &graph, &start, &SolveOptions::default()),
                cap,
            )
            .is_some()
        };
        assert!(is_one(&problem, &machine, 1.5));
        assert!(!is_one(&problem, &machine, 2.0), "two fit on a core");
        let with = |task: Task| {
            let mut tasks = problem.tasks().to_vec();
            tasks[0] = task;
            Problem::new(tasks, &problem.messages().collect::<Vec<_>>()).unwrap()
        };
        assert!(!is_one(&with(Task::new(0.5)), &machine, 1.5));
        assert!(!is_one(&with(Task::new(1.0).at(3)), &machine, 1.5));
        let speeds: Vec<(f64, f64)> = (0..9).map(|core| (1.0 + f64::from(core), 0.0)).collect();
        assert!(!is_one(&problem, &machine.with_cores(&speeds), 1.5));
    }
}
