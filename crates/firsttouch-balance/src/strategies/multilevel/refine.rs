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
/// A pass costs as much as all vertices have neighbours of neighbours. Where those are more, each vertex is looked at in turn
/// instead, so often.
const MOST_BY_GAIN: usize = 60_000_000;
const SWEEPS: usize = 3;
const LEAST_OF_A_SWEEP: f64 = 0.01;

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
}

/// A vertex that could move, by what that saves.
#[derive(Debug, PartialEq)]
pub(super) struct Wish {
    pub(super) gain: f64,
    pub(super) vertex: u32,
}

impl Eq for Wish {}

impl Ord for Wish {
    fn cmp(&self, other: &Wish) -> std::cmp::Ordering {
        self.gain.total_cmp(&other.gain).then(other.vertex.cmp(&self.vertex))
    }
}

impl PartialOrd for Wish {
    fn partial_cmp(&self, other: &Wish) -> Option<std::cmp::Ordering> {
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
}

impl<'a> Refiner<'a> {
    pub(super) fn new(net: &'a Net, apart: Apart<'a>, parts: Vec<u32>, caps: &[f64]) -> Refiner<'a> {
        let mut loads = vec![0.0; caps.len()];
        for (part, load) in parts.iter().zip(&net.loads) {
            loads[*part as usize] += load;
        }
        let exchanged = vec![0.0; caps.len()];
        Refiner { net, apart, parts, loads, caps: caps.to_vec(), exchanged, met: Vec::new() }
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

    /// What the vertex looked at would save by going from its part to another.
    fn gain(&self, from: u32, to: u32) -> f64 {
        match self.apart {
            Apart::Equally => self.exchanged[to as usize] - self.exchanged[from as usize],
            Apart::By(_) => {
                let saved = |part: &u32| {
                    self.exchanged[*part as usize] * (self.between(from, *part) - self.between(to, *part))
                };
                self.met.iter().map(saved).sum()
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
        let mut best: Option<(f64, f64, u32)> = None;
        let targets =
            self.met.iter().take(if matches!(self.apart, Apart::By(_)) { MOST_TARGETS } else { usize::MAX });
        for &to in targets.chain(emptiest.iter()) {
            let left = self.caps[to as usize] - self.loads[to as usize] - load;
            if to == from || left < -room * (1.0 + ROUNDING) - ROUNDING * self.caps[to as usize] {
                continue;
            }
            let gain = self.gain(from, to);
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
        self.loads[self.parts[vertex as usize] as usize] -= load;
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
                    heap.extend(self.way_out(vertex).map(|(gain, _)| Wish { gain, vertex }));
                }
            }
            while self.is_over(part) {
                let Some(Wish { vertex, .. }) = heap.pop() else { break };
                let Some((gain, to)) = self.way_out(vertex) else { continue };
                if heap.peek().is_some_and(|next| next.gain > gain) {
                    heap.push(Wish { gain, vertex });
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
            self.sweep(scale);
        } else {
            for _ in 0..moves.passes {
                if !self.pass(room, scale, patience) {
                    break;
                }
            }
        }
        self.caps = asked;
    }

    /// Moves each vertex where that saves the most and it fits, in the order of the vertices (label propagation with a cap:
    /// Meyerhenke, Sanders and Schulz 2014): no vertex is looked at again because a neighbour moved.
    fn sweep(&mut self, scale: f64) {
        for _ in 0..SWEEPS {
            let mut saved = 0.0;
            for vertex in 0..self.net.len() as u32 {
                if let Some((gain, to)) = self.best_move(vertex, 0.0, None).filter(|(gain, _)| *gain > 0.0) {
                    self.put(vertex, to);
                    saved += gain;
                }
            }
            if saved <= LEAST_OF_A_SWEEP * scale {
                break;
            }
        }
    }

    /// Says whether it saved anything.
    fn pass(&mut self, room: f64, scale: f64, patience: usize) -> bool {
        let mut gains = vec![f64::NAN; self.net.len()];
        let mut heaps: Vec<BinaryHeap<Wish>> = self.caps.iter().map(|_| BinaryHeap::new()).collect();
        for vertex in 0..self.net.len() as u32 {
            if let Some((gain, _)) = self.best_move(vertex, room, None) {
                gains[vertex as usize] = gain;
                heaps[self.parts[vertex as usize] as usize].push(Wish { gain, vertex });
            }
        }
        let mut moved = vec![false; self.net.len()];
        let mut trail: Vec<(u32, u32)> = Vec::new();
        let (mut saved, mut best_saved, mut best_length) = (0.0, 0.0, 0);
        // Parts that are too full on the way.
        let mut over: Vec<u32> = Vec::new();
        while trail.len() < best_length + patience {
            let Some(vertex) = self.next(&mut heaps, &gains, over.last().copied()) else { break };
            let from = self.parts[vertex as usize];
            let emptiest = if over.is_empty() { None } else { self.emptiest() };
            // Parts fill up: what was the best move when this one was looked at may not be possible any more.
            let Some((gain, to)) = self.best_move(vertex, room, emptiest) else {
                heaps[from as usize].pop();
                continue;
            };
            if gain < gains[vertex as usize] {
                heaps[from as usize].pop();
                gains[vertex as usize] = gain;
                heaps[from as usize].push(Wish { gain, vertex });
                continue;
            }
            gains[vertex as usize] = f64::NAN;
            moved[vertex as usize] = true;
            self.put(vertex, to);
            trail.push((vertex, from));
            saved += gain;
            for index in 0..self.net.ends(vertex).len() {
                let (other, _) = self.net.ends(vertex)[index];
                if !moved[other as usize]
                    && let Some((gain, _)) = self.best_move(other, room, None)
                {
                    gains[other as usize] = gain;
                    heaps[self.parts[other as usize] as usize].push(Wish { gain, vertex: other });
                }
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
        best_length > 0
    }

    /// The vertex that saves the most, of the part that is too full where one is.
    fn next(&self, heaps: &mut [BinaryHeap<Wish>], gains: &[f64], over: Option<u32>) -> Option<u32> {
        let mut next: Option<(f64, u32)> = None;
        let all = 0..heaps.len() as u32;
        for part in over.map_or(all, |part| part..part + 1) {
            let heap = &mut heaps[part as usize];
            // What was moved has no gain any more, and what it talks to has another.
            while heap.peek().is_some_and(|wish| wish.gain != gains[wish.vertex as usize]) {
                heap.pop();
            }
            if let Some(wish) = heap.peek()
                && next.is_none_or(|(most, _)| wish.gain > most)
            {
                next = Some((wish.gain, wish.vertex));
            }
        }
        next.map(|(_, vertex)| vertex)
    }
}
