//! The first parts of a small graph: halves of halves, each grown from a vertex by what it exchanges with what is in already.

use super::best::{Best, Room, caps, refined};
use super::net::Net;
use super::refine::{Apart, Candidate};
use crate::strategies::anneal::below;
use chacha20::ChaCha8Rng;
use std::collections::BinaryHeap;

/// A part for each vertex, filled to about what is wanted. Each half is the cheapest of several, grown from another vertex each.
pub(super) fn grow(net: &Net, rooms: &[Room], times: usize, random: &mut ChaCha8Rng) -> Vec<u32> {
    let mut parts = vec![0; net.len()];
    let mut open = vec![((0..net.len() as u32).collect::<Vec<u32>>(), 0..rooms.len())];
    while let Some((members, range)) = open.pop() {
        if range.len() <= 1 {
            members.iter().for_each(|vertex| parts[*vertex as usize] = range.start as u32);
            continue;
        }
        let middle = range.start + range.len() / 2;
        let halves = [range.start..middle, middle..range.end];
        let both = halves.clone().map(|half| Room::of_all(&rooms[half]));
        let inner = net.induced(&members);
        let found = halve(&inner, both, times, random);
        for (half, range) in (0..).zip(halves) {
            let chosen = members.iter().zip(&found).filter(|(_, part)| **part == half);
            open.push((chosen.map(|(vertex, _)| *vertex).collect(), range));
        }
    }
    parts
}

/// The cheapest of several halves.
fn halve(net: &Net, rooms: [Room; 2], times: usize, random: &mut ChaCha8Rng) -> Vec<u32> {
    let mut best = Best::default();
    for _ in 0..times {
        best.take(refined(net, Apart::Equally, grown(net, rooms, random), &caps(net, &rooms)));
    }
    best.parts()
}

/// Part 0 grows from a vertex, always by the one that leaves the least traffic across; the rest is part 1.
fn grown(net: &Net, rooms: [Room; 2], random: &mut ChaCha8Rng) -> Vec<u32> {
    let mut parts = vec![1_u32; net.len()];
    let share = rooms[0].wanted / (rooms[0].wanted + rooms[1].wanted);
    let wanted = net.total() * if share.is_finite() { share } else { 0.5 };
    let mut pull: Vec<f64> = (0..net.len() as u32)
        .map(|vertex| -net.ends(vertex).iter().map(|(_, weight)| weight).sum::<f64>())
        .collect();
    let mut heap = BinaryHeap::new();
    let mut inside = 0.0;
    let mut turn = if net.len() > 0 { below(random, net.len()) } else { 0 };
    for _ in 0..net.len() {
        // Where nothing is left that talks to the part, it grows from the next vertex.
        let vertex = loop {
            match heap.pop() {
                Some(Candidate { gain, vertex }) => {
                    if parts[vertex as usize] == 1 && gain == pull[vertex as usize] {
                        break vertex;
                    }
                }
                None => {
                    while parts[turn] == 0 {
                        turn = (turn + 1) % net.len();
                    }
                    break turn as u32;
                }
            }
        };
        let load = net.loads[vertex as usize];
        // The last one comes in if that is nearer to what is wanted than leaving it out.
        if inside + load / 2.0 > wanted {
            break;
        }
        inside += load;
        parts[vertex as usize] = 0;
        for &(other, weight) in net.ends(vertex) {
            if parts[other as usize] == 1 {
                pull[other as usize] += 2.0 * weight;
                heap.push(Candidate { gain: pull[other as usize], vertex: other });
            }
        }
    }
    parts
}
