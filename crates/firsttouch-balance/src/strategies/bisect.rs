//! Cutting a set of tasks in two by a breadth-first search, which is linear.

use super::graph::Graph;
use std::collections::VecDeque;

const OUTSIDE: u8 = 0;
const REST: u8 = 1;
const GROWN: u8 = 2;

/// Scratch of repeated cuts.
#[derive(Debug)]
pub(super) struct Bisector<'a> {
    graph: &'a Graph,
    side: Vec<u8>,
}

impl<'a> Bisector<'a> {
    pub(super) fn new(graph: &'a Graph) -> Bisector<'a> {
        Bisector { graph, side: vec![OUTSIDE; graph.len()] }
    }

    /// Cuts the tasks into a part with this share of their load, and the rest: the part is what a breadth-first search meets first.
    pub(super) fn cut(&mut self, members: &[u32], share: f64) -> (Vec<u32>, Vec<u32>) {
        for &task in members {
            self.side[task as usize] = REST;
        }
        let total: f64 = members.iter().map(|task| self.graph.loads[*task as usize]).sum();
        // Tasks without any load are shared out by their number.
        let by_number = total == 0.0;
        let wanted = share * if by_number { members.len() as f64 } else { total };
        let mut grown = 0.0;
        let mut queue: VecDeque<u32> = VecDeque::new();
        let mut next_seed = 0;
        let mut seed = self.far_end(members);
        'growing: while let Some(first) = seed {
            queue.push_back(first);
            while let Some(task) = queue.pop_front() {
                if self.side[task as usize] != REST {
                    continue;
                }
                let load = if by_number { 1.0 } else { self.graph.loads[task as usize] };
                // The last one comes in if that is nearer to what is wanted than leaving it out.
                if grown + load / 2.0 > wanted {
                    break 'growing;
                }
                self.side[task as usize] = GROWN;
                grown += load;
                let near = self.graph.links(task).iter().map(|link| link.other);
                queue.extend(near.filter(|other| self.side[*other as usize] == REST));
            }
            while members.get(next_seed).is_some_and(|task| self.side[*task as usize] != REST) {
                next_seed += 1;
            }
            seed = members.get(next_seed).copied();
        }
        let (inside, rest) = members.iter().partition(|task| self.side[**task as usize] == GROWN);
        for &task in members {
            self.side[task as usize] = OUTSIDE;
        }
        (inside, rest)
    }

    /// The task that a breadth-first search from the first one meets last: an end of the graph.
    fn far_end(&mut self, members: &[u32]) -> Option<u32> {
        const MET: u8 = 3;
        let mut last = *members.first()?;
        let mut queue = VecDeque::from([last]);
        self.side[last as usize] = MET;
        while let Some(task) = queue.pop_front() {
            last = task;
            for link in self.graph.links(task) {
                if self.side[link.other as usize] == REST {
                    self.side[link.other as usize] = MET;
                    queue.push_back(link.other);
                }
            }
        }
        for &task in members {
            self.side[task as usize] = REST;
        }
        Some(last)
    }
}
