//! The NUMA-aware balancer of "Improving Charm++ Performance with a NUMA-aware Load Balancer" (Pilla et al. 2011): load and
//! messages in one cost.
//!
//! `cost(c, p) = load(p) + alpha * (rcomm(c, p) * factor - lcomm(c, p))`, with the messages that task c sends to tasks on
//! other nodes than p's, each times the factor between the two nodes, and those it sends to tasks on p's node. The heaviest
//! task is taken off its core and put on the core of least cost, then the next. Costs of cores of one node differ by their
//! loads alone, so messages are looked at once for each node.
//!
//! The paper gives alpha no unit. Here it is seconds for a message or for a byte, so that both terms are seconds. Left to
//! itself it is what an average message takes on the own node, by its latency and bandwidth, where those are known; else
//! such that the messages of an average task weigh as much as the tolerance lets its load differ.

use super::compare::{Finish, heaviest_first};
use crate::{Alpha, Answer, Arc, Asked, Machine, Problem, Strategy, StrategyError};

/// Load and messages in one cost, the heaviest task first.
#[derive(Clone, Copy, Debug)]
pub struct Numa;

impl Strategy for Numa {
    fn name(&self) -> &'static str {
        "numa"
    }

    fn map(&self, asked: &Asked<'_>) -> Result<Answer, StrategyError> {
        let Asked { problem, machine, start, options, .. } = *asked;
        let alpha = match options.alpha {
            Alpha::Auto => automatic(problem, machine, options.tolerance),
            given => given,
        };
        let (seconds, traffic): (f64, fn(&Arc) -> f64) = match alpha {
            Alpha::PerByte(seconds) => (seconds, |arc| arc.bytes),
            Alpha::PerMessage(seconds) => (seconds, |arc| arc.count),
            Alpha::Auto => (0.0, |arc| arc.count),
        };
        let nodes = machine.nodes().len();
        // A message of the own node is taken off the cost.
        let mut factors = machine.numa_factors();
        factors.iter_mut().step_by(nodes + 1).for_each(|own| *own = -1.0);
        let node_of: Vec<u32> = machine.cores().iter().map(|core| core.node).collect();
        let mut finish = Finish::of(problem, machine, start, |_| true);
        let mut mapping = start.clone();
        let (mut sent, mut weights) = (vec![0.0; nodes], vec![0.0; nodes]);
        for task in heaviest_first(problem) {
            let load = problem.tasks()[task as usize].load;
            let home = mapping.core(task as usize);
            finish.take(home, load);
            sent.fill(0.0);
            for arc in problem.sent(task as usize) {
                sent[node_of[mapping.core(arc.to as usize) as usize] as usize] += traffic(arc);
            }
            for (node, weight) in weights.iter_mut().enumerate() {
                let factors = &factors[node * nodes..(node + 1) * nodes];
                *weight =
                    seconds * factors.iter().zip(&sent).map(|(factor, sent)| factor * sent).sum::<f64>();
            }
            let cost = |core: u32| finish.with(core, load) + weights[node_of[core as usize] as usize];
            // Of several the paper takes any: the own core first, so that no task moves for nothing.
            let (mut best, mut least) = (home, cost(home));
            for core in 0..node_of.len() as u32 {
                let cost = cost(core);
                if cost < least {
                    (best, least) = (core, cost);
                }
            }
            finish.add(best, load);
            mapping.put(task as usize, best);
        }
        Ok(Answer { alpha: Some(alpha), ..mapping.into() })
    }
}

fn automatic(problem: &Problem, machine: &Machine, tolerance: f64) -> Alpha {
    let cores = machine.cores();
    // The farthest of the own node: a cache that some share is known by its distance alone.
    let neighbours = (1..cores.len()).filter(|core| cores[*core].node == cores[0].node);
    let own =
        neighbours.map(|core| machine.level(0, core as u32)).max().map(|level| &machine.levels()[level]);
    let messages: f64 = problem.messages().map(|message| message.count).sum();
    let bytes: f64 = problem.messages().map(|message| message.bytes).sum();
    let carried = own.and_then(|level| level.bandwidth).map_or(0.0, |bandwidth| 1.0 / bandwidth);
    if messages > 0.0 {
        let latency = own.and_then(|level| level.latency);
        return Alpha::PerMessage(match latency {
            Some(latency) => latency + carried * bytes / messages,
            None => tolerance * problem.total_load() / messages,
        });
    }
    // Tables of bytes, such as graphs, may tell no messages.
    if carried > 0.0 && bytes > 0.0 {
        return Alpha::PerByte(carried);
    }
    Alpha::PerByte(if bytes > 0.0 { tolerance * problem.total_load() / bytes } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mapping, Message, SolveOptions, Task};

    /// Worked out by hand with the paper's formula: two nodes of one core each, factor 2, alpha 1.
    #[test]
    fn the_formula_by_hand() {
        let machine = Machine::from_factors("m", &[vec![1.0, 2.0], vec![2.0, 1.0]], 1).unwrap();
        let tasks = vec![Task::new(4.0).at(0), Task::new(3.0).at(0), Task::new(2.0).at(0)];
        let message = |from, to, count| Message { from, to, count, bytes: 0.0 };
        let problem = Problem::new(tasks, &[message(0, 1, 1.0), message(2, 1, 2.0)]).unwrap();
        let start = Mapping::new(vec![0, 0, 0]);
        let options = SolveOptions { alpha: Alpha::PerMessage(1.0), ..SolveOptions::default() };
        let solution = Numa.solve(&problem, &machine, &start, &options).unwrap();
        // Task 0: core 0 costs 5 - 1, core 1 costs 0 + 2: moves. Task 1 sends nothing: 2 against 4: stays.
        // Task 2: core 0 costs 3 - 2, core 1 costs 4 + 4: stays.
        assert_eq!(solution.mapping.cores(), [1, 0, 0]);
        assert_eq!(solution.alpha, Some(Alpha::PerMessage(1.0)));
    }

    #[test]
    fn alpha_is_what_a_message_takes_on_the_own_node() {
        let problem = |count: f64| {
            let messages = [Message { from: 0, to: 1, count, bytes: 3000.0 }];
            Problem::new(vec![Task::new(1.0); 2], &messages).unwrap()
        };
        let machine = Machine::parse("numa16").unwrap();
        let speeds = [(1e-8, 1e9), (1e-6, 1e9), (2e-6, 1e8), (3e-6, 1e8), (4e-6, 1e8)];
        let machine = machine.with_levels(&speeds);
        assert_eq!(automatic(&problem(3.0), &machine, 0.05), Alpha::PerMessage(2e-6));
        assert_eq!(automatic(&problem(0.0), &machine, 0.05), Alpha::PerByte(1e-9));
        // Where nothing is known of messages, they weigh as much as the tolerance.
        let unknown = Machine::parse("2:2 + 1:2").unwrap();
        assert_eq!(automatic(&problem(4.0), &unknown, 0.05), Alpha::PerMessage(0.05 * 2.0 / 4.0));
    }
}
