//! Cutting a graph into parts: made small, cut, and made large again, with moves between parts at every size (Hendrickson and
//! Leland 1995; Karypis and Kumar 1998).
//!
//! Cuts are found from several beginnings. The best one is gone through again: only vertices of one part become one, so that it
//! can be had at the smallest size, and moves of whole regions are tried there (Walshaw 2004; Sanders and Schulz 2011).

mod best;
mod coarsen;
mod grow;
mod net;
mod refine;

pub(super) use best::Room;
pub(super) use net::Net;

use best::{Best, caps, refined};
use chacha20::ChaCha8Rng;
use coarsen::{Level, coarsen};
use grow::grow;
use refine::{Apart, Refiner};

/// How many vertices for each part are few enough to cut at once.
const ENOUGH_A_PART: usize = 20;
const LEAST_ENOUGH: usize = 60;

/// How many vertices become one in a step.
const PAIRS: u32 = 2;
/// Larger graphs are made small before anything else, in larger steps, so that they are gone through but once.
const LARGE: usize = 1_000_000;
const LARGE_STEPS: u32 = 4;
const ENOUGH_OF_LARGE: usize = 8192;
/// Vertices and ends of links that the beginnings of one cut may go through in all.
const BUDGET: usize = 500_000;

/// How much is tried for a cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// How often the graph is made small in another way, where it is not too large for that.
    pub(super) beginnings: usize,
    /// How often the small one is cut, and how often each half of that is grown.
    pub(super) firsts: usize,
    pub(super) grown: usize,
    /// How often the best cut is gone through again.
    pub(super) cycles: usize,
}

/// A part for each vertex, with little traffic across, none above its cap where that is found.
pub(super) fn cut(net: &Net, rooms: &[Room], effort: Effort, random: &mut ChaCha8Rng) -> Vec<u32> {
    let enough = (ENOUGH_A_PART * rooms.len()).max(LEAST_ENOUGH);
    let mut best = Best::default();
    for _ in 0..effort.beginnings.min(BUDGET / net.size().max(1)).max(1) {
        let levels = coarsen(net, enough, PAIRS, None, random);
        let coarsest = levels.last().map_or(net, |level| &level.net);
        let mut first = Best::default();
        for _ in 0..effort.firsts.max(1) {
            let grown = grow(coarsest, rooms, effort.grown, random);
            first.take(refined(coarsest, Apart::Equally, grown, &caps(coarsest, rooms)));
        }
        best.take(uncoarsened(net, Apart::Equally, &levels, first.parts(), rooms));
    }
    for _ in 0..effort.cycles {
        let Some((_, parts)) = &best.0 else { break };
        let levels = coarsen(net, enough, PAIRS, Some(parts), random);
        let mut coarse = parts.clone();
        for level in &levels {
            coarse = level.of_coarse(&coarse);
        }
        best.take(uncoarsened(net, Apart::Equally, &levels, coarse, rooms));
    }
    best.parts()
}

/// Makes a cut one of the graph itself, step by step, and moves vertices at each.
fn uncoarsened<'a>(
    net: &'a Net,
    apart: Apart<'a>,
    levels: &[Level],
    mut parts: Vec<u32>,
    rooms: &[Room],
) -> Refiner<'a> {
    for level in levels.iter().rev() {
        let coarse = refined(&level.net, apart, parts, &caps(&level.net, rooms)).into_parts();
        parts = level.became.iter().map(|became| coarse[*became as usize]).collect();
    }
    refined(net, apart, parts, &rooms.iter().map(|room| room.cap).collect::<Vec<f64>>())
}

/// Maps a graph to parts that are not equally far apart: `map` does so where it is small enough, what came of it is made one of
/// the graph itself, and vertices are moved by the distances of the parts.
pub(super) fn mapped(
    net: &Net,
    distances: &[f64],
    rooms: &[Room],
    random: &mut ChaCha8Rng,
    map: impl FnOnce(&Net, &mut ChaCha8Rng) -> Vec<u32>,
) -> Vec<u32> {
    let levels = if net.size() > LARGE {
        coarsen(net, ENOUGH_OF_LARGE, LARGE_STEPS, None, random)
    } else {
        Vec::new()
    };
    let parts = map(levels.last().map_or(net, |level| &level.net), random);
    uncoarsened(net, Apart::By(distances), &levels, parts, rooms).into_parts()
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::rand_core::SeedableRng;

    const EFFORT: Effort = Effort { beginnings: 4, firsts: 4, grown: 2, cycles: 2 };

    /// A square of vertices that exchange 1 with those beside, above and below them.
    fn square(side: u32) -> Net {
        let mut net = Net::with_loads(vec![1.0; (side * side) as usize]);
        for vertex in 0..side * side {
            let (row, column) = (vertex / side, vertex % side);
            let near = [
                (row > 0).then(|| vertex - side),
                (column > 0).then(|| vertex - 1),
                (column + 1 < side).then_some(vertex + 1),
                (row + 1 < side).then_some(vertex + side),
            ];
            net.push(near.into_iter().flatten().map(|other| (other, 1.0)));
        }
        net
    }

    fn parts_of(parts: &[u32], count: usize) -> Vec<usize> {
        (0..count as u32).map(|part| parts.iter().filter(|one| **one == part).count()).collect()
    }

    #[test]
    fn a_square_is_quartered_nearly_as_well_as_by_hand() {
        let net = square(32);
        let rooms = [Room { wanted: 256.0, cap: 256.0 }; 4];
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let parts = cut(&net, &rooms, EFFORT, &mut random);
        // No vertex more than its share fits.
        assert_eq!(parts_of(&parts, 4), [256; 4]);
        let caps = [256.0; 4];
        let cost = Refiner::new(&net, Apart::Equally, parts, &caps).cost();
        assert!((64.0..=76.0).contains(&cost), "{cost}");
    }

    #[test]
    fn parts_differ_as_they_are_asked_to() {
        let net = square(20);
        let rooms = [(40.0, 42.0), (120.0, 126.0), (240.0, 252.0)].map(|(wanted, cap)| Room { wanted, cap });
        let parts = cut(&net, &rooms, EFFORT, &mut ChaCha8Rng::seed_from_u64(2));
        for (count, room) in parts_of(&parts, 3).into_iter().zip(rooms) {
            assert!(count as f64 <= room.cap, "{count} {room:?}");
        }
    }

    #[test]
    fn parts_that_are_near_share_what_is_exchanged() {
        // Four parts in a row: what talks goes to those beside one another.
        let net = square(16);
        let distances: Vec<f64> =
            (0..4_i32).flat_map(|a| (0..4_i32).map(move |b| f64::from((a - b).abs()))).collect();
        let rooms = [Room { wanted: 64.0, cap: 66.0 }; 4];
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let scattered =
            |net: &Net, _: &mut ChaCha8Rng| (0..net.len() as u32).map(|vertex| vertex % 4).collect();
        let caps = [66.0; 4];
        let cost = |parts| Refiner::new(&net, Apart::By(&distances), parts, &caps).cost();
        let before = cost(scattered(&net, &mut random));
        let after = mapped(&net, &distances, &rooms, &mut random, scattered);
        assert!(parts_of(&after, 4).iter().all(|count| *count <= 66));
        assert!(cost(after) < before / 2.0);
    }

    #[test]
    fn leaves_and_lone_vertices_become_one_too() {
        // A star of 40 leaves, and 20 vertices that talk to nobody.
        let mut net = Net::with_loads(vec![1.0; 61]);
        net.push((1..41).map(|leaf| (leaf, 1.0)));
        for _ in 1..41 {
            net.push(std::iter::once((0, 1.0)));
        }
        for _ in 41..61 {
            net.push(std::iter::empty());
        }
        let levels = coarsen(&net, 10, PAIRS, None, &mut ChaCha8Rng::seed_from_u64(1));
        assert!(levels[0].net.len() <= 32, "{}", levels[0].net.len());
        let coarsest = &levels[levels.len() - 1].net;
        assert!(coarsest.len() <= 16, "{}", coarsest.len());
        assert_eq!(coarsest.loads.iter().sum::<f64>(), 61.0);
    }

    #[test]
    fn what_has_another_part_does_not_become_one() {
        let net = square(10);
        let parts: Vec<u32> = (0..100).map(|vertex| vertex % 2).collect();
        let levels = coarsen(&net, 10, PAIRS, Some(&parts), &mut ChaCha8Rng::seed_from_u64(1));
        for (vertex, became) in levels[0].became.iter().enumerate() {
            let same = levels[0].became.iter().enumerate().filter(|(_, other)| *other == became);
            assert!(same.into_iter().all(|(other, _)| parts[other] == parts[vertex]));
        }
    }
}
