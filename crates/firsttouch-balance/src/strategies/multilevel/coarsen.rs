//! Making a graph smaller: vertices that exchange much become one.
//!
//! Each vertex is matched with the neighbour it exchanges the most with for the loads of the two (heavy edges: Karypis and Kumar
//! 1998; the rating by loads: Holtgrewe, Sanders and Schulz 2010). Those left over, such as leaves of a star and twins, are
//! matched with another one that has the same strongest neighbour (LaSalle and others 2015), and vertices without links with
//! one another.

use super::net::Net;
use crate::strategies::anneal::below;
use rand_chacha::ChaCha8Rng;

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
const ALONE: u32 = u32::MAX;

/// Makes a graph smaller, step by step, until it has no more than `enough` vertices or does not become smaller any more. Where
/// vertices have parts already, only those of one part become one. The first level is that below the graph itself.
pub(super) fn coarsen(
    net: &Net,
    enough: usize,
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
        let mates = matched(finest, most, parts.as_deref(), random);
        let level = contracted(finest, &mates);
        if level.net.len() as f64 > LEAST_SHRINK * finest.len() as f64 {
            return levels;
        }
        parts = parts.map(|parts| level.of_coarse(&parts));
        levels.push(level);
    }
}

/// Whom each vertex is matched with: itself where there is nobody.
fn matched(net: &Net, most: f64, parts: Option<&[u32]>, random: &mut ChaCha8Rng) -> Vec<u32> {
    let count = net.len();
    let mut mates = vec![ALONE; count];
    let mut order: Vec<u32> = (0..count as u32).collect();
    for place in (1..count).rev() {
        order.swap(place, below(random, place + 1));
    }
    // Loads of 0 must not attract everything.
    let least = 1e-3 * net.total() / count as f64;
    let may = |one: u32, two: u32| {
        net.loads[one as usize] + net.loads[two as usize] <= most
            && parts.is_none_or(|parts| parts[one as usize] == parts[two as usize])
    };
    let pair = |mates: &mut [u32], one: u32, two: u32| {
        (mates[one as usize], mates[two as usize]) = (two, one);
    };
    for &vertex in &order {
        if mates[vertex as usize] != ALONE {
            continue;
        }
        let mut best: Option<(f64, u32)> = None;
        for &(other, weight) in net.ends(vertex) {
            if mates[other as usize] != ALONE || !may(vertex, other) {
                continue;
            }
            let rating = weight * weight / (net.loads[other as usize] + least);
            if best.is_none_or(|(highest, _)| rating > highest) {
                best = Some((rating, other));
            }
        }
        if let Some((_, other)) = best {
            pair(&mut mates, vertex, other);
        }
    }
    // The last one seen that is still alone, by the strongest neighbour; at the end that of those without any.
    let mut waiting = vec![ALONE; count + 1];
    for &vertex in &order {
        if mates[vertex as usize] != ALONE {
            continue;
        }
        let ends = net.ends(vertex).iter();
        let strongest = ends.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        let slot = &mut waiting[strongest.map_or(count, |(other, _)| *other as usize)];
        if *slot != ALONE && may(*slot, vertex) {
            pair(&mut mates, *slot, vertex);
            *slot = ALONE;
        } else {
            *slot = vertex;
        }
    }
    for (vertex, mate) in (0..).zip(&mut mates) {
        if *mate == ALONE {
            *mate = vertex;
        }
    }
    mates
}

/// The graph in which those matched are one.
fn contracted(net: &Net, mates: &[u32]) -> Level {
    let mut became = vec![ALONE; net.len()];
    let mut firsts = Vec::with_capacity(net.len());
    for vertex in 0..net.len() as u32 {
        if became[vertex as usize] == ALONE {
            became[vertex as usize] = firsts.len() as u32;
            became[mates[vertex as usize] as usize] = firsts.len() as u32;
            firsts.push(vertex);
        }
    }
    let both = |first: u32| {
        let second = mates[first as usize];
        std::iter::once(first).chain((second != first).then_some(second))
    };
    let loads = firsts.iter().map(|first| both(*first).map(|one| net.loads[one as usize]).sum()).collect();
    let mut coarse = Net::with_loads(loads);
    // Where in the list of the present vertex each neighbour is.
    let mut place = vec![ALONE; firsts.len()];
    let mut ends: Vec<(u32, f64)> = Vec::new();
    for (own, &first) in (0..).zip(&firsts) {
        for &(other, weight) in both(first).flat_map(|one| net.ends(one)) {
            let other = became[other as usize];
            if other == own {
                continue;
            }
            let at = &mut place[other as usize];
            if *at == ALONE {
                *at = ends.len() as u32;
                ends.push((other, weight));
            } else {
                ends[*at as usize].1 += weight;
            }
        }
        ends.iter().for_each(|(other, _)| place[*other as usize] = ALONE);
        coarse.push(ends.drain(..));
    }
    Level { net: coarse, became }
}
