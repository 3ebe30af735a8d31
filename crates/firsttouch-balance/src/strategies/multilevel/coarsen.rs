//! Making a graph smaller: vertices that exchange much become one.
//!
//! Each vertex is matched with the neighbour it exchanges the most with for the loads of the two (heavy edges: Karypis and Kumar
//! 1998; the rating by loads: Holtgrewe, Sanders and Schulz 2010), or, in larger steps, with some that are matched already (first
//! choice: Karypis and Kumar 2000). Those left over, such as leaves of a star and twins, are
//! matched with another one that has the same strongest neighbour (LaSalle and others 2015), and vertices without links with
//! one another.

use super::net::Net;
use crate::strategies::anneal::below;
use chacha20::ChaCha8Rng;

/// A smaller graph, and which of its vertices each one became.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) net: Net,
    pub(super) became: Vec<u32>,
}

impl Level {
    /// The parts of its vertices, where all that became one have the same.
    pub(super) fn of_coarse(&self, parts: &[u32]) -> Vec<u32> {
        let mut coarse = vec![0; self.net.len()];
        for (part, became) in parts.iter().zip(&self.became) {
            coarse[*became as usize] = *part;
        }
        coarse
    }
}

/// A step that leaves more than this share of the vertices is not worth its time.
const LEAST_SHRINK: f64 = 0.95;
const UNKNOWN: u32 = u32::MAX;

/// Makes a graph smaller, step by step, until it has no more than `enough` vertices or does not become smaller any more. At most
/// `together` vertices become one in a step. Where vertices have parts already, only those of one part become one. The first level
/// is that below the graph itself.
pub(super) fn coarsen(
    net: &Net,
    enough: usize,
    together: u32,
    parts: Option<&[u32]>,
    random: &mut ChaCha8Rng,
) -> Vec<Level> {
    let mut levels: Vec<Level> = Vec::new();
    let most = 1.5 * net.total() / enough.max(1) as f64;
    let mut parts = parts.map(<[u32]>::to_vec);
    loop {
        let finest = levels.last().map_or(net, |level| &level.net);
        if finest.len() <= enough {
            return levels;
        }
        let mut mates = Mates::new(finest, most, together, parts.as_deref());
        mates.find(random);
        let level = contracted(finest, &mates.next);
        if level.net.len() as f64 > LEAST_SHRINK * finest.len() as f64 {
            return levels;
        }
        parts = parts.map(|parts| level.of_coarse(&parts));
        levels.push(level);
    }
}

/// Who becomes one.
struct Mates<'a> {
    net: &'a Net,
    /// How heavy those that become one may be, and how many they may be.
    most: f64,
    together: u32,
    parts: Option<&'a [u32]>,
    /// Each vertex names the next of those it becomes one with, the last the first; alone it names itself.
    next: Vec<u32>,
    /// One of them stands for all: its number for each, and what they weigh together and how many they are at that number.
    group: Vec<u32>,
    loads: Vec<f64>,
    counts: Vec<u32>,
}

impl<'a> Mates<'a> {
    fn new(net: &'a Net, most: f64, together: u32, parts: Option<&'a [u32]>) -> Mates<'a> {
        let own: Vec<u32> = (0..net.len() as u32).collect();
        let (loads, counts) = (net.loads.clone(), vec![1; net.len()]);
        Mates { net, most, together, parts, next: own.clone(), group: own, loads, counts }
    }

    fn is_alone(&self, vertex: u32) -> bool {
        self.next[vertex as usize] == vertex
    }

    /// Whether one that is alone may become one with another.
    fn may(&self, alone: u32, other: u32) -> bool {
        let group = self.group[other as usize] as usize;
        self.counts[group] < self.together
            && self.net.loads[alone as usize] + self.loads[group] <= self.most
            && self.parts.is_none_or(|parts| parts[alone as usize] == parts[other as usize])
    }

    fn join(&mut self, alone: u32, other: u32) {
        let group = self.group[other as usize];
        self.group[alone as usize] = group;
        self.loads[group as usize] += self.net.loads[alone as usize];
        self.counts[group as usize] += 1;
        self.next[alone as usize] = self.next[other as usize];
        self.next[other as usize] = alone;
    }

    fn find(&mut self, random: &mut ChaCha8Rng) {
        let net = self.net;
        let count = net.len();
        let mut order: Vec<u32> = (0..count as u32).collect();
        for place in (1..count).rev() {
            order.swap(place, below(random, place + 1));
        }
        // Loads of 0 must not attract everything.
        let least = 1e-3 * net.total() / count as f64;
        for &vertex in &order {
            if !self.is_alone(vertex) {
                continue;
            }
            let mut best: Option<(f64, u32)> = None;
            for &(other, weight) in net.ends(vertex) {
                let rating = weight * weight / (self.loads[self.group[other as usize] as usize] + least);
                if best.is_none_or(|(highest, _)| rating > highest) && self.may(vertex, other) {
                    best = Some((rating, other));
                }
            }
            if let Some((_, other)) = best {
                self.join(vertex, other);
            }
        }
        // The last one seen that is still alone, by the strongest neighbour; at the end that of those without any.
        let mut waiting: Vec<Option<u32>> = vec![None; count + 1];
        for &vertex in &order {
            if !self.is_alone(vertex) {
                continue;
            }
            let ends = net.ends(vertex).iter();
            let strongest = ends.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
            let slot = &mut waiting[strongest.map_or(count, |(other, _)| *other as usize)];
            match slot.filter(|other| self.may(vertex, *other)) {
                Some(other) => {
                    self.join(vertex, other);
                    *slot = None;
                }
                None => *slot = Some(vertex),
            }
        }
    }
}

/// The graph in which those that name one another are one.
fn contracted(net: &Net, next: &[u32]) -> Level {
    let all = |first: u32| {
        let after = move |vertex: &u32| Some(next[*vertex as usize]).filter(|next| *next != first);
        std::iter::successors(Some(first), after)
    };
    let mut became = vec![UNKNOWN; net.len()];
    let mut firsts = Vec::with_capacity(net.len());
    for vertex in 0..net.len() as u32 {
        if became[vertex as usize] == UNKNOWN {
            all(vertex).for_each(|one| became[one as usize] = firsts.len() as u32);
            firsts.push(vertex);
        }
    }
    let loads = firsts.iter().map(|first| all(*first).map(|one| net.loads[one as usize]).sum()).collect();
    let mut coarse = Net::with_loads(loads);
    // Where in the list of the present vertex each neighbour is.
    let mut place = vec![UNKNOWN; firsts.len()];
    let mut ends: Vec<(u32, f64)> = Vec::new();
    for (own, &first) in (0..).zip(&firsts) {
        for &(other, weight) in all(first).flat_map(|one| net.ends(one)) {
            let other = became[other as usize];
            if other == own {
                continue;
            }
            let at = &mut place[other as usize];
            if *at == UNKNOWN {
                *at = ends.len() as u32;
                ends.push((other, weight));
            } else {
                ends[*at as usize].1 += weight;
            }
        }
        ends.iter().for_each(|(other, _)| place[*other as usize] = UNKNOWN);
        coarse.push(ends.drain(..));
    }
    Level { net: coarse, became }
}
