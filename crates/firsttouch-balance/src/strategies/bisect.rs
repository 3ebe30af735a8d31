//! Cutting a set of tasks in two, along as little traffic as is found quickly.

use super::graph::Graph;
use std::collections::{BinaryHeap, VecDeque};

/// Up to this many tasks a part grows by the strongest link, and pairs are exchanged afterwards; more are cut in the order
/// of a search in breadth alone, which is linear.
const MOST_WITH_CARE: usize = 4096;
const MOST_EXCHANGED: usize = 256;
/// Passes of moves after growing.
const PASSES: usize = 8;
/// How many moves beyond the cheapest state are made in the hope of a cheaper one.
const PATIENCE: usize = 128;
/// How far a part may be from its share while tasks are moved for less traffic.
const SLACK: f64 = 0.01;

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

    /// Cuts the tasks into a part with this share of their load, and the rest. With `care` the part grows by the strongest
    /// link and tasks on the border are moved; without it is what a search in breadth meets first.
    pub(super) fn cut(&mut self, members: &[u32], share: f64, care: bool) -> (Vec<u32>, Vec<u32>) {
        for &task in members {
            self.side[task as usize] = REST;
        }
        let total: f64 = members.iter().map(|task| self.graph.loads[*task as usize]).sum();
        // Tasks without any load are shared out by their number.
        let by_number = total == 0.0;
        let weight = |graph: &Graph, task: u32| if by_number { 1.0 } else { graph.loads[task as usize] };
        let total = if by_number { members.len() as f64 } else { total };
        let wanted = total * share;
        let care = care && members.len() <= MOST_WITH_CARE;
        let mut grown = 0.0;
        let mut heap: BinaryHeap<Near> = BinaryHeap::new();
        let mut queue: VecDeque<u32> = VecDeque::new();
        let mut pull = vec![0.0; if care { self.graph.len() } else { 0 }];
        let mut next_seed = 0;
        let far = self.far_end(members);
        let mut seed = far;
        'growing: while let Some(first) = seed {
            queue.push_back(first);
            heap.push(Near { pull: 0.0, task: first });
            while let Some(task) = if care { heap.pop().map(|near| near.task) } else { queue.pop_front() } {
                if self.side[task as usize] != REST {
                    continue;
                }
                let load = weight(self.graph, task);
                // The last one comes in if that is nearer to what is wanted than leaving it out.
                if grown + load / 2.0 > wanted {
                    break 'growing;
                }
                self.side[task as usize] = GROWN;
                grown += load;
                for link in self.graph.links(task) {
                    if self.side[link.other as usize] == REST {
                        if care {
                            pull[link.other as usize] += link.out + link.back;
                            heap.push(Near { pull: pull[link.other as usize], task: link.other });
                        } else {
                            queue.push_back(link.other);
                        }
                    }
                }
            }
            while members.get(next_seed).is_some_and(|task| self.side[*task as usize] != REST) {
                next_seed += 1;
            }
            seed = members.get(next_seed).copied();
        }
        if care {
            self.move_border(members, grown, wanted, by_number);
            if members.len() <= MOST_EXCHANGED {
                self.exchange(members, by_number, total);
            }
        }
        let (inside, rest) = members.iter().partition(|task| self.side[**task as usize] == GROWN);
        for &task in members {
            self.side[task as usize] = OUTSIDE;
        }
        (inside, rest)
    }

    /// The task that a search in breadth from the first one meets last: an end of the graph.
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

    /// What moving a task to the other side would save.
    fn gain(&self, task: u32) -> f64 {
        let own = self.side[task as usize];
        let mut gain = 0.0;
        for link in self.graph.links(task) {
            match self.side[link.other as usize] {
                OUTSIDE => {}
                side if side == own => gain -= link.out + link.back,
                _ => gain += link.out + link.back,
            }
        }
        gain
    }

    /// Moves tasks across the border, the one that saves the most first even where that costs, each once, and goes back to the
    /// cheapest that was met (Fiduccia and Mattheyses 1982); again as long as that saves.
    fn move_border(&mut self, members: &[u32], mut grown: f64, wanted: f64, by_number: bool) {
        let weight = |graph: &Graph, task: u32| if by_number { 1.0 } else { graph.loads[task as usize] };
        let heaviest = members.iter().map(|task| weight(self.graph, *task)).fold(0.0, f64::max);
        // On the way the part may be off by a task; where it ends, by no more than it was or the slack.
        let room = heaviest.max(SLACK * wanted);
        let mut gains = vec![f64::NAN; self.graph.len()];
        for _ in 0..PASSES {
            let end_room = (grown - wanted).abs().max(SLACK * wanted);
            let mut heaps = [BinaryHeap::new(), BinaryHeap::new()];
            for &task in members {
                gains[task as usize] = self.gain(task);
                let inside = usize::from(self.side[task as usize] == GROWN);
                heaps[inside].push(Near { pull: gains[task as usize], task });
            }
            let (mut trail, mut now, mut saved) = (Vec::new(), grown, 0.0);
            let (mut best_length, mut best_grown, mut best_saved) = (0, grown, 0.0);
            while trail.len() < best_length + PATIENCE {
                let mut next: Option<(f64, u32, f64)> = None;
                for (inside, heap) in heaps.iter_mut().enumerate() {
                    // What was moved has no gain any more, and what it talks to has another.
                    while heap.peek().is_some_and(|near| near.pull != gains[near.task as usize]) {
                        heap.pop();
                    }
                    let Some(near) = heap.peek() else { continue };
                    let load = weight(self.graph, near.task);
                    let after = if inside == 1 { now - load } else { now + load };
                    let fits = (after - wanted).abs() <= room;
                    if fits && next.is_none_or(|(gain, ..)| near.pull > gain) {
                        next = Some((near.pull, near.task, after));
                    }
                }
                let Some((gain, task, after)) = next else { break };
                self.side[task as usize] = GROWN + REST - self.side[task as usize];
                gains[task as usize] = f64::NAN;
                trail.push(task);
                (now, saved) = (after, saved + gain);
                for link in self.graph.links(task) {
                    let other = link.other as usize;
                    if self.side[other] != OUTSIDE && !gains[other].is_nan() {
                        gains[other] = self.gain(link.other);
                        let inside = usize::from(self.side[other] == GROWN);
                        heaps[inside].push(Near { pull: gains[other], task: link.other });
                    }
                }
                if saved > best_saved && (now - wanted).abs() <= end_room {
                    (best_length, best_grown, best_saved) = (trail.len(), now, saved);
                }
            }
            for task in trail.drain(best_length..) {
                self.side[task as usize] = GROWN + REST - self.side[task as usize];
            }
            grown = best_grown;
            if best_length == 0 {
                break;
            }
        }
    }

    /// Exchanges the pair that saves the most, as long as one does (Kernighan and Lin 1970, without their chains).
    fn exchange(&mut self, members: &[u32], by_number: bool, total: f64) {
        let weight = |graph: &Graph, task: u32| if by_number { 1.0 } else { graph.loads[task as usize] };
        for _ in 0..members.len() {
            let gains: Vec<f64> = members.iter().map(|task| self.gain(*task)).collect();
            let mut best = (0.0, None);
            for (place, &one) in members.iter().enumerate() {
                for (other, &two) in members.iter().enumerate().skip(place + 1) {
                    if self.side[one as usize] == self.side[two as usize]
                        || gains[place] + gains[other] <= best.0
                        || (weight(self.graph, one) - weight(self.graph, two)).abs() > SLACK * total / 2.0
                    {
                        continue;
                    }
                    let link = self.graph.links(one).iter().find(|link| link.other == two);
                    let gain =
                        gains[place] + gains[other] - 2.0 * link.map_or(0.0, |link| link.out + link.back);
                    if gain > best.0 {
                        best = (gain, Some((one, two)));
                    }
                }
            }
            // A saving that is rounding alone could be exchanged to and fro.
            let Some((one, two)) = best.1.filter(|_| best.0 > 1e-9) else { break };
            self.side.swap(one as usize, two as usize);
        }
    }
}

/// A task at the border of a growing part.
#[derive(Debug, PartialEq)]
struct Near {
    pull: f64,
    task: u32,
}

impl Eq for Near {}

impl Ord for Near {
    fn cmp(&self, other: &Near) -> std::cmp::Ordering {
        self.pull.total_cmp(&other.pull).then(other.task.cmp(&self.task))
    }
}

impl PartialOrd for Near {
    fn partial_cmp(&self, other: &Near) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
