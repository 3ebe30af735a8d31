//! CholeskyQR2: the products of all vectors with each other, their triangle R by Cholesky's decomposition, Q = V / R; and all of it once
//! more, because what the first time loses of orthogonality the second restores. Yamamoto, Nakatsukasa, Yanagisawa and Fukaya, *Roundoff
//! error analysis of the CholeskyQR2 algorithm* (ETNA 44, 2015): as orthogonal as Householder's as long as the condition of the vectors is
//! below 10^8.
//!
//! The first quotient is never stored: the second pass makes a chunk of it in the cache, for its products only, and the third divides by both
//! triangles at once. So vectors are read three times and written once.

use super::kernels::{LEFT, Pairs, SUMS};
use super::messages::{Everybody, Messages};
use super::methods::Directions;
use super::triangle::Triangle;
use super::vectors::Rows;
use crate::dgemm::{Kernel, pack_a, pack_b};
use crate::prefetch::prefetch;
use crate::share::each;
use std::ops::Range;

/// Rows of a chunk: little enough that the products of four vectors with all others find them near, and a multiple of the rows of every tile.
const ROWS: usize = 240;

/// What a member works in.
#[derive(Debug)]
pub(super) struct Scratch {
    pairs: Pairs,
    kernel: Kernel,
    count: usize,
    /// A chunk of all vectors in strips.
    packed: Vec<f64>,
    /// A chunk by columns, with columns of zeroes for whole blocks of pairs.
    columns: Vec<f64>,
    triangle: Vec<f64>,
    blocks: Vec<[f64; SUMS]>,
}

/// Makes `q` orthonormal, gives `d` the same combinations, and answers R.
pub(super) fn cholesky_qr2<'b>(
    q: &mut [Rows<'b>],
    d: Directions<'_, 'b>,
    scratch: &mut [Scratch],
    all: &mut Everybody<'_>,
) -> Triangle {
    let products = each(all.team, q.iter().zip(&mut *scratch).collect(), |_, (rows, scratch)| {
        scratch.products(&shared(rows))
    });
    let first = Triangle::cholesky(&total(products, all.messages));
    let inverse = first.inverse();
    let products = each(all.team, q.iter().zip(&mut *scratch).collect(), |_, (rows, scratch)| {
        scratch.divide_by(&inverse);
        let vectors = shared(rows);
        chunks(rows[0].len()).for_each(|chunk| {
            let next = &mut Next::after(&chunk, &vectors);
            let length = scratch.combine(&vectors, &chunk, next);
            scratch.add_products(length, next);
        });
        scratch.take_products()
    });
    let second = Triangle::cholesky(&total(products, all.messages));
    let inverse = inverse.times(&second.inverse());
    for set in [Some(q), d].into_iter().flatten() {
        each(all.team, set.iter_mut().zip(&mut *scratch).collect(), |_, (rows, scratch)| {
            scratch.divide_by(&inverse);
            for chunk in chunks(rows[0].len()) {
                let vectors = shared(rows);
                scratch.combine(&vectors, &chunk, &mut Next::after(&chunk, &vectors));
                for (vector, column) in rows.iter_mut().zip(scratch.columns.chunks_exact(ROWS)) {
                    vector[chunk.clone()].copy_from_slice(&column[..chunk.len()]);
                }
            }
        });
    }
    second.times(&first)
}

fn shared<'a>(rows: &'a [&mut [f64]]) -> Vec<&'a [f64]> {
    rows.iter().map(|vector| &**vector).collect()
}

fn chunks(length: usize) -> impl Iterator<Item = Range<usize>> {
    (0..length).step_by(ROWS).map(move |row| row..length.min(row + ROWS))
}

/// The chunk after the one in work, asked for a few lines at a time while that is multiplied: otherwise memory would be idle while
/// the processor multiplies, and the other way round.
struct Next<'a> {
    vectors: &'a [&'a [f64]],
    row: usize,
    lines: usize,
}

/// Lines of a chunk of a vector.
const LINES: usize = ROWS / 8;

impl<'a> Next<'a> {
    fn after(chunk: &Range<usize>, vectors: &'a [&'a [f64]]) -> Next<'a> {
        Next { vectors, row: chunk.end, lines: 0 }
    }

    /// Asks for one part of so many, if there is one left.
    fn fetch(&mut self, parts: usize) {
        let all = self.vectors.len() * LINES;
        let end = (self.lines + all.div_ceil(parts)).min(all);
        for line in self.lines..end {
            prefetch(self.vectors[line / LINES], self.row + line % LINES * 8);
        }
        self.lines = end;
    }
}

fn total(products: Vec<Triangle>, messages: &Messages) -> Triangle {
    let add = |mut one: Triangle, other: Triangle| {
        one.values.iter_mut().zip(other.values).for_each(|(value, more)| *value += more);
        one
    };
    let mut total = products.into_iter().reduce(add).expect("a team has members");
    messages.sum(&mut total.values);
    total
}

impl Scratch {
    /// For so many vectors.
    pub(super) fn new(count: usize, pairs: Pairs, kernel: Kernel) -> Scratch {
        assert!(ROWS.is_multiple_of(kernel.rows) && kernel.rows.is_multiple_of(8), "whole tiles in a chunk");
        let padded = count.next_multiple_of(LEFT);
        Scratch {
            pairs,
            kernel,
            count,
            packed: vec![0.0; ROWS * count],
            columns: vec![0.0; ROWS * padded],
            triangle: vec![0.0; count.next_multiple_of(kernel.columns) * count],
            blocks: vec![[0.0; SUMS]; padded / LEFT * (padded / pairs.right)],
        }
    }

    /// What vectors are multiplied by from here on.
    fn divide_by(&mut self, inverse: &Triangle) {
        pack_b(&inverse.values, self.count, &(0..self.count), 0, self.kernel.columns, &mut self.triangle);
    }

    /// Makes a chunk of the quotient, and answers its rows: so many that tiles are whole, the last of zeroes.
    fn combine(&mut self, vectors: &[&[f64]], chunk: &Range<usize>, next: &mut Next<'_>) -> usize {
        let Scratch { kernel, count, packed, columns, triangle, .. } = self;
        let length = chunk.len().next_multiple_of(kernel.rows);
        let packed = &mut packed[..length * *count];
        pack_a(&vectors.iter().map(|vector| &vector[chunk.clone()]), kernel.rows, packed);
        let tiles = length / kernel.rows * count.div_ceil(kernel.columns);
        for (strip_of_b, b) in triangle.chunks_exact(kernel.columns * *count).enumerate() {
            let first = strip_of_b * kernel.columns;
            let width = kernel.columns.min(*count - first);
            // Below the diagonal there is nothing to add.
            let steps = first + width;
            for (strip_of_a, a) in packed.chunks_exact(kernel.rows * *count).enumerate() {
                let strips = (&a[..steps * kernel.rows], &b[..steps * kernel.columns]);
                let target = &mut columns[first * ROWS + strip_of_a * kernel.rows..];
                kernel.write(strips, target, ROWS, width);
                next.fetch(tiles);
            }
        }
        length
    }

    /// Adds the products of the first rows of the chunk, of each vector with those from it on.
    fn add_products(&mut self, length: usize, next: &mut Next<'_>) {
        let Scratch { pairs, columns, blocks, .. } = self;
        let right_blocks = columns.len() / ROWS / pairs.right;
        let half = blocks.len().div_ceil(2);
        for (block, sums) in blocks.iter_mut().enumerate() {
            let (left, right) = (block / right_blocks * LEFT, block % right_blocks * pairs.right);
            if right + pairs.right > left {
                pairs.add(&columns[left * ROWS..], &columns[right * ROWS..], ROWS, length, sums);
                next.fetch(half);
            }
        }
    }

    /// The products so far; they begin with nothing again.
    fn take_products(&mut self) -> Triangle {
        let right_blocks = self.columns.len() / ROWS / self.pairs.right;
        let mut products = Triangle::zero(self.count);
        for (row, column) in (0..self.count).flat_map(|column| (0..=column).map(move |row| (row, column))) {
            let sums = &self.blocks[row / LEFT * right_blocks + column / self.pairs.right];
            products.set(row, column, self.pairs.sum(sums, row % LEFT, column % self.pairs.right));
        }
        self.blocks.fill([0.0; SUMS]);
        products
    }

    /// The products of all vectors with each other.
    pub(super) fn products(&mut self, vectors: &[&[f64]]) -> Triangle {
        for chunk in chunks(vectors[0].len()) {
            let lines = chunk.len().next_multiple_of(8);
            for (column, vector) in self.columns.chunks_exact_mut(ROWS).zip(vectors) {
                column[..chunk.len()].copy_from_slice(&vector[chunk.clone()]);
                column[chunk.len()..lines].fill(0.0);
            }
            self.add_products(lines, &mut Next::after(&chunk, vectors));
        }
        self.take_products()
    }
}
