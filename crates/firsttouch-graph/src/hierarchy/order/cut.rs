//! The fewest nodes without which no path leads from one end of a part to the other: a largest flow of paths that share no
//! node (Menger), found in phases of shortest augmenting paths (Dinic).
//!
//! A node is two places, its entrance and its exit, with room for one path between them. A path that arrives at the
//! entrance of a node in use may turn back along the path that uses it, and so change its course.

use super::part::Part;

/// A part, cut.
#[derive(Debug)]
pub(super) struct Halves {
    pub(super) left: Vec<u32>,
    pub(super) right: Vec<u32>,
    pub(super) cut: Vec<u32>,
}

const NONE: u32 = u32::MAX;

/// Cuts `from` off `to`; `None` where that takes more than `most` nodes. The cut may have nodes of both.
pub(super) fn between(part: &Part, from: &[u32], to: &[u32], most: usize) -> Option<Halves> {
    let mut flow = Flow::new(part, from, to);
    let mut paths = 0;
    while flow.levels() {
        for start in 0..flow.starts.len() {
            let node = flow.starts[start];
            if !flow.is_used(node) && flow.augment(entrance(node)) {
                paths += 1;
                if paths > most {
                    return None;
                }
            }
        }
    }
    Some(flow.halves())
}

fn entrance(node: u32) -> u32 {
    2 * node
}

fn exit(node: u32) -> u32 {
    2 * node + 1
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Middle,
    From,
    To,
}

struct Flow<'part> {
    part: &'part Part,
    side: Vec<Side>,
    /// Nodes of `from` that touch others.
    starts: Vec<u32>,
    /// The node before, and the node after, on the path that uses a node.
    before: Vec<u32>,
    after: Vec<u32>,
    /// Steps of each place from the starts; `NONE` where no path leads.
    level: Vec<u32>,
    /// The next choice to try from each place.
    next: Vec<u32>,
    queue: Vec<u32>,
    path: Vec<u32>,
}

impl<'part> Flow<'part> {
    fn new(part: &'part Part, from: &[u32], to: &[u32]) -> Flow<'part> {
        let nodes = part.nodes();
        let mut side = vec![Side::Middle; nodes];
        to.iter().for_each(|node| side[*node as usize] = Side::To);
        from.iter().for_each(|node| side[*node as usize] = Side::From);
        let touches = |node: &u32| part.around(*node).iter().any(|head| side[*head as usize] != Side::From);
        let starts = from.iter().copied().filter(touches).collect();
        Flow {
            part,
            starts,
            side,
            before: vec![NONE; nodes],
            after: vec![NONE; nodes],
            level: vec![NONE; 2 * nodes],
            next: vec![0; 2 * nodes],
            queue: Vec::with_capacity(2 * nodes),
            path: Vec::new(),
        }
    }

    fn is_used(&self, node: u32) -> bool {
        self.before[node as usize] != NONE || self.after[node as usize] != NONE
    }

    /// The place that choice number `choice` leads to from a place; `None` when there are no more.
    fn step(&self, place: u32, choice: u32) -> Option<u32> {
        let node = place / 2;
        if place == entrance(node) {
            return match choice {
                0 if !self.is_used(node) => Some(exit(node)),
                0 if self.before[node as usize] != NONE => Some(exit(self.before[node as usize])),
                _ => None,
            };
        }
        let around = self.part.around(node);
        match around.get(choice as usize) {
            Some(head) => Some(entrance(*head)),
            None if choice as usize == around.len() && self.before[node as usize] != NONE => {
                Some(entrance(node))
            }
            None => None,
        }
    }

    /// A path ends at an unused node of `to`.
    fn is_end(&self, place: u32) -> bool {
        let node = place / 2;
        place == entrance(node) && self.side[node as usize] == Side::To && !self.is_used(node)
    }

    /// Nobody has to go back into `from`: paths may as well begin where they leave it.
    fn is_barred(&self, place: u32) -> bool {
        place.is_multiple_of(2) && self.side[place as usize / 2] == Side::From
    }

    /// Finds how far every place is; whether an end is reached.
    fn levels(&mut self) -> bool {
        self.level.fill(NONE);
        self.next.fill(0);
        self.queue.clear();
        for start in 0..self.starts.len() {
            let node = self.starts[start];
            self.level[entrance(node) as usize] = 0;
            if !self.is_used(node) {
                self.queue.push(entrance(node));
            }
        }
        let mut at = 0;
        let mut end_level = NONE;
        while let Some(&place) = self.queue.get(at) {
            at += 1;
            let level = self.level[place as usize];
            if level >= end_level {
                break;
            }
            if self.is_end(place) {
                // The rest of this level may reach ends, too.
                end_level = level;
                continue;
            }
            let mut choice = 0;
            while let Some(to) = self.step(place, choice) {
                choice += 1;
                if self.level[to as usize] == NONE && !self.is_barred(to) {
                    self.level[to as usize] = level + 1;
                    self.queue.push(to);
                }
            }
        }
        end_level != NONE
    }

    /// Adds a path from this place along rising levels, if there is one.
    fn augment(&mut self, start: u32) -> bool {
        self.path.clear();
        self.path.push(start);
        while let Some(&place) = self.path.last() {
            if self.is_end(place) {
                self.use_path();
                return true;
            }
            let choice = self.next[place as usize];
            match self.step(place, choice) {
                Some(to) => {
                    self.next[place as usize] += 1;
                    let rises = self.level[to as usize] == self.level[place as usize].wrapping_add(1);
                    if rises && !self.is_barred(to) {
                        self.path.push(to);
                    }
                }
                None => {
                    self.path.pop();
                }
            }
        }
        false
    }

    fn use_path(&mut self) {
        // First those that are passed backwards, for others may come to use what they held.
        for pair in self.path.windows(2) {
            let (one, other) = (pair[0], pair[1]);
            if one / 2 == other / 2 && one > other {
                self.before[one as usize / 2] = NONE;
                self.after[one as usize / 2] = NONE;
            }
        }
        for pair in self.path.windows(2) {
            let (one, other) = (pair[0], pair[1]);
            if one / 2 != other / 2 && !one.is_multiple_of(2) {
                self.after[one as usize / 2] = other / 2;
                self.before[other as usize / 2] = one / 2;
            }
        }
    }

    /// When no path can be added: nodes whose entrance is reached but not their exit are the cut.
    fn halves(&self) -> Halves {
        let mut halves = Halves { left: Vec::new(), right: Vec::new(), cut: Vec::new() };
        for node in 0..self.part.nodes() as u32 {
            let enters = self.level[entrance(node) as usize] != NONE;
            let leaves = self.level[exit(node) as usize] != NONE;
            if leaves || (!enters && self.side[node as usize] == Side::From) {
                halves.left.push(node);
            } else if enters {
                halves.cut.push(node);
            } else {
                halves.right.push(node);
            }
        }
        halves
    }
}
