//! Moving vertices between parts for less traffic across, with no part above its cap.
//!
//! One pass moves each vertex at most once, the one that saves the most first even where that costs, and goes back to the
//! cheapest state that was met (Fiduccia and Mattheyses 1982; for many parts Hendrickson and Leland 1995,
//! by distances Walshaw and Cross 2001). On the way a part may be above its cap by one vertex: then one of its own has to leave next, so that chains
//! of moves go around where every part is full.

use super::net::Net;
use std::collections::BinaryHeap;

/// Differences below this share are rounding.
const ROUNDING: f64 = 1e-9;
/// Of few vertices not all are moved in the hope of something: at most this part of them, but at least some.
const LEAST_OF_ALL: usize = 8;
const LEAST_PATIENCE: usize = 10;
/// Of the parts that a vertex talks to, as many are looked at: those that it exchanges the most with, where distances differ.
const MOST_TARGETS: usize = 6;
/// Where vertices have more neighbours, all are near all, and no search is of the part of the graph where it began.
const MOST_NEIGHBOURS: usize = 16;
/// A pass costs as much as all vertices have neighbours of neighbours. Where those are more, each vertex is looked at in turn
/// instead, so often.
const MOST_BY_GAIN: usize = 60_000_000;
const LABEL_PASSES: usize = 4;
const LEAST_OF_A_PASS: f64 = 0.01;

/// How far parts are from one another.
#[derive(Clone, Copy, Debug)]
pub(in crate::strategies) enum Apart<'a> {
    /// All alike.
    Equally,
    /// By a table with a row for each part, the same in both directions; the diagonal is for what stays within.
    By(&'a [f64]),
}

/// How long to look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moves {
    pub(super) passes: usize,
    /// How many moves beyond the cheapest state are made in the hope of a cheaper one.
    pub(super) patience: usize,
    /// How often each vertex is the beginning of a search of its own, and its patience.
    pub(super) rounds: usize,
    pub(super) patience_near: usize,
}

/// A vertex that could move, by what that saves.
#[derive(Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) gain: f64,
    pub(super) vertex: u32,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Candidate) -> std::cmp::Ordering {
        self.gain.total_cmp(&other.gain).then(other.vertex.cmp(&self.vertex))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Candidate) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// A graph in parts, under change.
#[derive(Debug)]
pub(super) struct Refiner<'a> {
    net: &'a Net,
    apart: Apart<'a>,
    parts: Vec<u32>,
    loads: Vec<f64>,
    caps: Vec<f64>,
    /// What the vertex looked at exchanges with each part, and which parts those are.
    exchanged: Vec<f64>,
    met: Vec<u32>,
    /// The same of all vertices, a row for each, while that is kept: where neighbours are more than parts, it is found faster there.
    table: Option<Vec<f64>>,
}

impl<'a> Refiner<'a> {
    pub(super) fn new(net: &'a Net, apart: Apart<'a>, parts: Vec<u32>, caps: &[f64]) -> Refiner<'a> {
        let mut loads = vec![0.0; caps.len()];
        for (part, load) in parts.iter().zip(&net.loads) {
            loads[*part as usize] += load;
        }
        let exchanged = vec![0.0; caps.len()];
        Refiner { net, apart, parts, loads, caps: caps.to_vec(), exchanged, met: Vec::new(), table: None }
    }

    /// What every vertex exchanges with every part.
    fn tabulated(&self) -> Vec<f64> {
        let count = self.caps.len();
        let mut table = vec![0.0; self.net.len() * count];
        for (vertex, row) in (0..).zip(table.chunks_exact_mut(count)) {
            for (other, weight) in self.net.ends(vertex) {
                row[self.parts[*other as usize] as usize] += weight;
            }
        }
        table
    }

    pub(super) fn into_parts(self) -> Vec<u32> {
        self.parts
    }

    /// By how much parts are above their caps, all together.
    pub(super) fn excess(&self) -> f64 {
        let excess = self.loads.iter().zip(&self.caps).map(|(load, cap)| load - cap);
        let rounding = ROUNDING * self.net.total();
        excess.filter(|excess| *excess > rounding).sum()
    }

    fn between(&self, one: u32, two: u32) -> f64 {
        match self.apart {
            Apart::Equally => f64::from(u8::from(one != two)),
            Apart::By(table) => table[one as usize * self.caps.len() + two as usize],
        }
    }

    /// The traffic times the distances of its ends.
    pub(super) fn cost(&self) -> f64 {
        let cost = |vertex: u32| {
            let own = self.parts[vertex as usize];
            let ends = self.net.ends(vertex).iter();
            ends.map(|(other, weight)| weight * self.between(own, self.parts[*other as usize])).sum::<f64>()
        };
        (0..self.net.len() as u32).map(cost).sum::<f64>() / 2.0
    }

    fn look(&mut self, vertex: u32) {
        if let Some(table) = &self.table {
            let count = self.caps.len();
            self.exchanged.copy_from_slice(&table[vertex as usize * count..][..count]);
            self.met.clear();
            self.met.extend((0..).zip(&self.exchanged).filter(|(_, one)| **one != 0.0).map(|(part, _)| part));
            return;
        }
        for part in self.met.drain(..) {
            self.exchanged[part as usize] = 0.0;
        }
        for &(other, weight) in self.net.ends(vertex) {
            let part = self.parts[other as usize];
            if self.exchanged[part as usize] == 0.0 {
                self.met.push(part);
            }
            self.exchanged[part as usize] += weight;
        }
    }

    /// The traffic of the vertex looked at times distances, if it were in a part; less what is the same in all parts.
    fn cost_in(&self, part: u32) -> f64 {
        match self.apart {
            Apart::Equally => -self.exchanged[part as usize],
            Apart::By(table) => {
                let row = &table[part as usize * self.caps.len()..];
                self.met.iter().map(|other| self.exchanged[*other as usize] * row[*other as usize]).sum()
            }
        }
    }

    fn is_over(&self, part: u32) -> bool {
        let part = part as usize;
        self.loads[part] > self.caps[part] * (1.0 + ROUNDING)
    }

    /// The move of a vertex that saves the most, to a part it talks to that is then above its cap by no more than `room`; of
    /// several to the part with the most room. A part that is above its cap also has the emptiest part to give to.
    fn best_move(&mut self, vertex: u32, room: f64, emptiest: Option<u32>) -> Option<(f64, u32)> {
        self.look(vertex);
        let from = self.parts[vertex as usize];
        let load = self.net.loads[vertex as usize];
        if let Apart::By(_) = self.apart
            && self.met.len() > MOST_TARGETS
        {
            let exchanged = &self.exchanged;
            let most =
                |a: &u32, b: &u32| exchanged[*b as usize].total_cmp(&exchanged[*a as usize]).then(a.cmp(b));
            self.met.select_nth_unstable_by(MOST_TARGETS - 1, most);
        }
        let now = self.cost_in(from);
        let mut best: Option<(f64, f64, u32)> = None;
        let targets =
            self.met.iter().take(if matches!(self.apart, Apart::By(_)) { MOST_TARGETS } else { usize::MAX });
        for &to in targets.chain(emptiest.iter()) {
            let left = self.caps[to as usize] - self.loads[to as usize] - load;
            if to == from || left < -room * (1.0 + ROUNDING) - ROUNDING * self.caps[to as usize] {
                continue;
            }
            let gain = now - self.cost_in(to);
            if best.is_none_or(|(most, most_left, _)| gain > most || gain == most && left > most_left) {
                best = Some((gain, left, to));
            }
        }
        best.map(|(gain, _, to)| (gain, to))
    }

    fn emptiest(&self) -> Option<u32> {
        let left = |part: &u32| self.caps[*part as usize] - self.loads[*part as usize];
        (0..self.caps.len() as u32).max_by(|a, b| left(a).total_cmp(&left(b)).then(b.cmp(a)))
    }

    fn put(&mut self, vertex: u32, to: u32) {
        let load = self.net.loads[vertex as usize];
        let from = self.parts[vertex as usize];
        if let Some(table) = &mut self.table {
            for (other, weight) in self.net.ends(vertex) {
                let row = &mut table[*other as usize * self.caps.len()..];
                row[from as usize] -= weight;
                row[to as usize] += weight;
            }
        }
        self.loads[from as usize] -= load;
        self.loads[to as usize] += load;
        self.parts[vertex as usize] = to;
    }

    /// Takes vertices out of parts above their caps, those that cost the least for their load, as long as others have room.
    pub(super) fn fit(&mut self) {
        for part in 0..self.caps.len() as u32 {
            if !self.is_over(part) {
                continue;
            }
            let mut heap = BinaryHeap::new();
            for vertex in 0..self.net.len() as u32 {
                if self.parts[vertex as usize] == part && self.net.loads[vertex as usize] > 0.0 {
                    heap.extend(self.way_out(vertex).map(|(gain, _)| Candidate { gain, vertex }));
                }
            }
            while self.is_over(part) {
                let Some(Candidate { vertex, .. }) = heap.pop() else { break };
                let Some((gain, to)) = self.way_out(vertex) else { continue };
                if heap.peek().is_some_and(|next| next.gain > gain) {
                    heap.push(Candidate { gain, vertex });
                } else {
                    self.put(vertex, to);
                }
            }
        }
    }

    /// Where a vertex of a part that is too full fits, and what that saves for its load.
    fn way_out(&mut self, vertex: u32) -> Option<(f64, u32)> {
        let emptiest = self.emptiest();
        let (gain, to) = self.best_move(vertex, 0.0, emptiest)?;
        Some((gain / self.net.loads[vertex as usize], to))
    }

    /// Passes of moves as long as they save. What is above its cap stays at most as far above it.
    pub(super) fn refine(&mut self, moves: Moves) {
        let asked = self.caps.clone();
        for (cap, load) in self.caps.iter_mut().zip(&self.loads) {
            *cap = cap.max(*load);
        }
        let room = self.net.loads.iter().copied().fold(0.0, f64::max);
        let scale = self.cost();
        let patience = moves.patience.min(self.net.len() / LEAST_OF_ALL).max(LEAST_PATIENCE);
        let size = self.net.size();
        if size / self.net.len().max(1) * size > MOST_BY_GAIN {
            self.propagate_labels(scale);
        } else {
            let neighbours = (size - self.net.len()) / self.net.len().max(1);
            self.table = (neighbours > self.caps.len()).then(|| self.tabulated());
            for _ in 0..moves.passes {
                if !self.pass(room, scale, patience) {
                    break;
                }
            }
            let rounds = if neighbours <= MOST_NEIGHBOURS { moves.rounds } else { 0 };
            for _ in 0..rounds {
                if !self.tries(room, scale, moves.patience_near) {
                    break;
                }
            }
            self.table = None;
            self.met.clear();
            self.exchanged.fill(0.0);
        }
        self.caps = asked;
    }

    /// Moves each vertex where that saves the most and it fits, in the order of the vertices, and again those that a neighbour
    /// moved of (label propagation with a cap: Meyerhenke, Sanders and Schulz 2014).
    fn propagate_labels(&mut self, scale: f64) {
        let mut open = vec![true; self.net.len()];
        for _ in 0..LABEL_PASSES {
            let mut saved = 0.0;
            for vertex in 0..self.net.len() as u32 {
                if !std::mem::take(&mut open[vertex as usize]) {
                    continue;
                }
                if let Some((gain, to)) = self.best_move(vertex, 0.0, None).filter(|(gain, _)| *gain > 0.0) {
                    self.put(vertex, to);
                    saved += gain;
                    self.net.ends(vertex).iter().for_each(|(other, _)| open[*other as usize] = true);
                }
            }
            if saved <= LEAST_OF_A_PASS * scale {
                break;
            }
        }
    }

    /// One search that all vertices take part in. Says whether it saved anything.
    fn pass(&mut self, room: f64, scale: f64, patience: usize) -> bool {
        let mut walk = Walk::new(self.net.len(), self.caps.len());
        (0..self.net.len() as u32).for_each(|vertex| self.offer(&mut walk, vertex, room));
        self.walk(&mut walk, room, scale, patience)
    }

    /// Searches that each begin at one vertex and go on near it: what costs first is made up for there or nowhere (Sanders and
    /// Schulz 2011). A vertex moves in one of them at most. Says whether any saved anything.
    fn tries(&mut self, room: f64, scale: f64, patience: usize) -> bool {
        let mut walk = Walk::new(self.net.len(), self.caps.len());
        let mut saved = false;
        for vertex in 0..self.net.len() as u32 {
            self.offer(&mut walk, vertex, room);
            saved |= self.walk(&mut walk, room, scale, patience);
        }
        saved
    }

    /// Puts a vertex that has not moved yet among those that could, with what that saves now.
    fn offer(&mut self, walk: &mut Walk, vertex: u32, room: f64) {
        if !walk.moved[vertex as usize]
            && let Some((gain, _)) = self.best_move(vertex, room, None)
            && gain != walk.gains[vertex as usize]
        {
            walk.offer(self.parts[vertex as usize], Candidate { gain, vertex });
        }
    }

    /// Moves what saves the most of what could move, and offers its neighbours, until `patience` moves saved nothing more; then goes
    /// back to the cheapest state. Says whether that saves anything.
    fn walk(&mut self, walk: &mut Walk, room: f64, scale: f64, patience: usize) -> bool {
        let mut trail: Vec<(u32, u32)> = Vec::new();
        let (mut saved, mut best_saved, mut best_length) = (0.0, 0.0, 0);
        // Parts that are too full on the way.
        let mut over: Vec<u32> = Vec::new();
        while trail.len() < best_length + patience {
            let Some(vertex) = walk.next(over.last().copied()) else { break };
            let from = self.parts[vertex as usize];
            let emptiest = if over.is_empty() { None } else { self.emptiest() };
            // Parts fill up: what was the best move when this one was looked at may not be possible any more.
            let Some((gain, to)) = self.best_move(vertex, room, emptiest) else {
                walk.gains[vertex as usize] = f64::NAN;
                continue;
            };
            if gain < walk.gains[vertex as usize] {
                walk.offer(from, Candidate { gain, vertex });
                continue;
            }
            walk.gains[vertex as usize] = f64::NAN;
            walk.moved[vertex as usize] = true;
            self.put(vertex, to);
            trail.push((vertex, from));
            saved += gain;
            for &(other, _) in self.net.ends(vertex) {
                self.offer(walk, other, room);
            }
            over.push(to);
            over.retain(|part| self.is_over(*part));
            if over.is_empty() && saved > best_saved + ROUNDING * scale {
                (best_length, best_saved) = (trail.len(), saved);
            }
        }
        for (vertex, from) in trail.drain(best_length..).rev() {
            self.put(vertex, from);
        }
        walk.forget();
        best_length > 0
    }
}

/// What could move and what has.
#[derive(Debug)]
struct Walk {
    /// By part; those whose gain is another now are left in until they are met.
    heaps: Vec<BinaryHeap<Candidate>>,
    gains: Vec<f64>,
    looked: Vec<u32>,
    moved: Vec<bool>,
}

impl Walk {
    fn new(vertices: usize, parts: usize) -> Walk {
        let heaps = (0..parts).map(|_| BinaryHeap::new()).collect();
        Walk { heaps, gains: vec![f64::NAN; vertices], looked: Vec::new(), moved: vec![false; vertices] }
    }

    fn offer(&mut self, part: u32, candidate: Candidate) {
        self.gains[candidate.vertex as usize] = candidate.gain;
        self.looked.push(candidate.vertex);
        self.heaps[part as usize].push(candidate);
    }

    /// The vertex that saves the most, of the part that is too full where one is.
    fn next(&mut self, over: Option<u32>) -> Option<u32> {
        let mut next: Option<(f64, u32)> = None;
        let all = 0..self.heaps.len() as u32;
        for part in over.map_or(all, |part| part..part + 1) {
            let heap = &mut self.heaps[part as usize];
            // What was moved has no gain any more, and what it talks to has another.
            while heap.peek().is_some_and(|candidate| candidate.gain != self.gains[candidate.vertex as usize])
            {
                heap.pop();
            }
            if let Some(candidate) = heap.peek()
                && next.is_none_or(|(most, _)| candidate.gain > most)
            {
                next = Some((candidate.gain, candidate.vertex));
            }
        }
        next.map(|(_, vertex)| vertex)
    }

    /// Ends a search: what could move is to be offered again.
    fn forget(&mut self) {
        self.heaps.iter_mut().for_each(BinaryHeap::clear);
        for vertex in self.looked.drain(..) {
            self.gains[vertex as usize] = f64::NAN;
        }
    }
}
