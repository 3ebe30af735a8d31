//! Cuts that are moved until they fit, and the best of several.

use super::net::Net;
use super::refine::{Apart, Moves, Refiner};

const MOVES: Moves = Moves { passes: 4, patience: 100, rounds: 3, patience_near: 30 };

/// What a part is to take, and what it can take.
#[derive(Clone, Copy, Debug)]
pub(in crate::strategies) struct Room {
    pub(in crate::strategies) wanted: f64,
    pub(in crate::strategies) cap: f64,
}

impl Room {
    /// Of several together.
    pub(in crate::strategies) fn of_all(rooms: &[Room]) -> Room {
        let sum = |value: fn(&Room) -> f64| rooms.iter().map(value).sum();
        Room { wanted: sum(|room| room.wanted), cap: sum(|room| room.cap) }
    }
}

/// The cut that is the least above the caps, and of those the cheapest.
#[derive(Debug, Default)]
pub(super) struct Best(pub(super) Option<((f64, f64), Vec<u32>)>);

impl Best {
    pub(super) fn take(&mut self, refiner: Refiner<'_>) {
        let key = (refiner.excess(), refiner.cost());
        if self.0.as_ref().is_none_or(|(least, _)| key < *least) {
            self.0 = Some((key, refiner.into_parts()));
        }
    }

    pub(super) fn parts(self) -> Vec<u32> {
        self.0.map(|(_, parts)| parts).unwrap_or_default()
    }
}

/// What parts can take while vertices are as heavy as these: one more or less does not matter yet.
pub(super) fn caps(net: &Net, rooms: &[Room]) -> Vec<f64> {
    let heaviest = net.loads.iter().copied().fold(0.0, f64::max);
    rooms.iter().map(|room| room.cap.max(room.wanted + heaviest)).collect()
}

pub(super) fn refined<'a>(net: &'a Net, apart: Apart<'a>, parts: Vec<u32>, caps: &[f64]) -> Refiner<'a> {
    let mut refiner = Refiner::new(net, apart, parts, caps);
    refiner.fit();
    refiner.refine(MOVES);
    refiner
}
