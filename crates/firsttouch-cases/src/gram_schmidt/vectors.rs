//! Sets of long vectors, of which each member of a team has the same rows all the time.

use crate::array::{Array, Arrays};
use crate::error::CaseError;
use crate::share::{cut, each};
use firsttouch_threads::Team;
use std::ops::Range;

/// Rows that go together: parts of members begin with a page.
pub(super) const GRANULE: usize = 512;
/// Numbers between the end of one vector and the beginning of the next, whose length may be a power of two: chunks of all
/// vectors then go to different sets of the caches.
const GAP: usize = 1024 + 5 * 8;

/// Rows of vectors of the same length, one vector after the other.
#[derive(Debug)]
pub(super) struct Vectors {
    array: Array<f64>,
    /// Rows that are here.
    pub(super) length: usize,
    pub(super) count: usize,
    /// Which row of all the first one here is, and how many there are in all.
    first: usize,
    pub(super) whole: usize,
}

/// A member's rows of each vector.
pub(super) type Rows<'a> = Vec<&'a mut [f64]>;

impl Vectors {
    pub(super) fn zeroed(
        arrays: &Arrays,
        name: &'static str,
        (rows, whole): (Range<usize>, usize),
        count: usize,
    ) -> Result<Vectors, CaseError> {
        let length = rows.len();
        let array = arrays.zeroed(name, count * (length + GAP))?;
        Ok(Vectors { array, length, count, first: rows.start, whole })
    }

    /// Numbers from the beginning of one vector to that of the next.
    pub(super) fn stride(&self) -> usize {
        self.length + GAP
    }

    pub(super) fn all_mut(&mut self) -> &mut [f64] {
        &mut self.array
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[f64]> {
        self.array.chunks_exact(self.stride()).map(|vector| &vector[..self.length])
    }

    /// All numbers that are here, each with its place among those of whole vectors.
    pub(super) fn numbers(&self) -> impl Iterator<Item = (u64, f64)> {
        let first = |vector: usize| vector * self.whole + self.first;
        self.iter()
            .enumerate()
            .flat_map(move |(vector, numbers)| (first(vector) as u64..).zip(numbers.iter().copied()))
    }

    /// The rows of each of so many members.
    pub(super) fn rows(&mut self, members: usize) -> Vec<Rows<'_>> {
        let ranges = cut(self.length, members, GRANULE);
        let mut rows: Vec<Rows<'_>> = ranges.iter().map(|_| Vec::with_capacity(self.count)).collect();
        for vector in self.array.chunks_exact_mut(self.length + GAP) {
            let mut rest = vector;
            for (range, rows) in ranges.iter().zip(&mut rows) {
                let (part, others) = rest.split_at_mut(range.len());
                rows.push(part);
                rest = others;
            }
        }
        rows
    }

    /// Writes the value of each place; every member its rows.
    pub(super) fn fill(&mut self, team: &mut Team, value: impl Fn(usize) -> f64 + Sync) {
        let (first, whole, members) = (self.first, self.whole, team.size());
        let starts = cut(self.length, members, GRANULE).into_iter().map(|range| range.start);
        let parts = starts.zip(self.rows(members)).collect();
        each(team, parts, |_, (start, rows)| {
            for (vector, part) in rows.into_iter().enumerate() {
                let places = vector * whole + first + start..;
                part.iter_mut().zip(places).for_each(|(number, place)| *number = value(place));
            }
        });
    }
}

/// The inner product of two slices of the same length, in sixteen sums so that none waits for another.
pub(super) fn dot(one: &[f64], other: &[f64]) -> f64 {
    let (one, one_rest) = one.as_chunks::<16>();
    let (other, other_rest) = other.as_chunks::<16>();
    let mut sums = [0.0; 16];
    for (one, other) in one.iter().zip(other) {
        for lane in 0..16 {
            sums[lane] += one[lane] * other[lane];
        }
    }
    let rest: f64 = one_rest.iter().zip(other_rest).map(|(one, other)| one * other).sum();
    sums.iter().sum::<f64>() + rest
}

/// Takes a multiple of the other away.
pub(super) fn subtract(target: &mut [f64], factor: f64, other: &[f64]) {
    target.iter_mut().zip(other).for_each(|(value, other)| *value -= factor * other);
}

/// Takes multiples of four others away.
pub(super) fn subtract_four(target: &mut [f64], factors: &[f64; 4], others: [&[f64]; 4]) {
    let length = target.len();
    let [a, b, c, d] = others.map(|other| &other[..length]);
    let [fa, fb, fc, fd] = *factors;
    for (row, value) in target.iter_mut().enumerate() {
        *value -= (fa * a[row] + fb * b[row]) + (fc * c[row] + fd * d[row]);
    }
}
