//! CholeskyQR2: the products of all vectors with each other, their triangle R by Cholesky's decomposition, Q = V / R; and all of it once
//! more, because what the first time loses of orthogonality the second restores. Yamamoto, Nakatsukasa, Yanagisawa and Fukaya, *Roundoff
//! error analysis of the CholeskyQR2 algorithm* (ETNA 44, 2015): as orthogonal as Householder's as long as the condition of the vectors is
//! below 10^8.
//!
//! The first quotient is never stored: the second pass makes a chunk of it in the cache, for its products only, and the third divides by both
//! triangles at once. So vectors are read three times and written once.

use super::kernels::{Columns, ColumnsMut, Kernel, LEFT, LINE, SUMS};
use super::messages::{Everybody, Messages};
use super::methods::Directions;
use super::triangle::Triangle;
use super::vectors::Rows;
use crate::dgemm::pack_b;
use crate::prefetch::prefetch;
use crate::share::each;
use std::ops::Range;

/// Rows of a chunk: little enough that all vectors of it stay in the first-level cache, and a multiple of the rows of every tile.
const ROWS: usize = 120;

/// What a member works in.
#[derive(Debug)]
pub(super) struct Scratch {
    near: Near,
    products: Products,
    factors: Factors,
}

/// Makes `q` orthonormal, gives `d` the same combinations, and answers R.
pub(super) fn cholesky_qr2<'b>(
    q: &mut [Rows<'b>],
    d: Directions<'_, 'b>,
    scratch: &mut [Scratch],
    all: &mut Everybody<'_>,
) -> Triangle {
    let products = each(all.team, q.iter().zip(&mut *scratch).collect(), |_, (rows, scratch)| {
        scratch.products(&columns(rows))
    });
    let first = Triangle::cholesky(&total(products, all.messages));
    let inverse = first.inverse();
    let products = each(all.team, q.iter().zip(&mut *scratch).collect(), |_, (rows, scratch)| {
        scratch.products_of_quotient(&columns(rows), &inverse)
    });
    let second = Triangle::cholesky(&total(products, all.messages));
    let inverse = inverse.times(&second.inverse());
    for set in [Some(q), d].into_iter().flatten() {
        each(all.team, set.iter_mut().zip(&mut *scratch).collect(), |_, (rows, scratch)| {
            let vectors = rows.iter_mut().map(|vector| &mut **vector);
            scratch.divide(&mut ColumnsMut::of(vectors), &inverse);
        });
    }
    second.times(&first)
}

fn columns<'a>(rows: &'a Rows<'_>) -> Columns<'a> {
    Columns::of(rows.iter().map(|vector| &**vector))
}

fn chunks(length: usize) -> impl Iterator<Item = Range<usize>> {
    (0..length).step_by(ROWS).map(move |row| row..length.min(row + ROWS))
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

/// Asks for a chunk of a column, which need not be there.
fn ask(chunk: *const f64) {
    (0..ROWS).step_by(LINE).for_each(|row| prefetch::<2, _>(chunk.wrapping_add(row)));
}

/// Rows that are needed later, asked for a few lines at a time while others are multiplied: otherwise memory would be idle while
/// the processor multiplies, and the other way round.
struct Later {
    rows: Range<usize>,
    /// What is asked for next: the line of a row, of a column.
    row: usize,
    column: usize,
}

impl Later {
    fn new(rows: Range<usize>) -> Later {
        Later { row: rows.start, rows, column: 0 }
    }

    /// Asks for so many lines of these columns, if there are as many left.
    fn ask(&mut self, columns: &Columns<'_>, lines: usize) {
        for _ in 0..lines {
            if self.column == columns.count() {
                return;
            }
            prefetch::<2, _>(columns.column(self.column).as_ptr().wrapping_add(self.row));
            self.row += LINE;
            if self.row >= self.rows.end {
                (self.row, self.column) = (self.rows.start, self.column + 1);
            }
        }
    }
}

impl Scratch {
    /// For so many vectors.
    pub(super) fn new(count: usize, kernel: Kernel) -> Scratch {
        assert!(ROWS.is_multiple_of(kernel.rows) && kernel.rows.is_multiple_of(8), "whole tiles in a chunk");
        Scratch {
            near: Near::new(count),
            products: Products::new(count, kernel),
            factors: Factors::new(count, kernel),
        }
    }

    /// The products of all vectors with each other.
    pub(super) fn products(&mut self, vectors: &Columns<'_>) -> Triangle {
        let Scratch { near, products, .. } = self;
        for chunk in chunks(vectors.rows()) {
            let later = (vectors, chunk.end);
            if chunk.len() == ROWS {
                products.add(vectors, chunk.start, later);
            } else {
                products.add(&near.copy(vectors, &chunk), 0, later);
            }
        }
        products.take()
    }

    /// The products of what the vectors are by the triangle that this is the inverse of; it is not kept.
    fn products_of_quotient(&mut self, vectors: &Columns<'_>, inverse: &Triangle) -> Triangle {
        let Scratch { near, products, factors } = self;
        factors.set(inverse);
        let rows = factors.kernel.rows;
        for chunk in chunks(vectors.rows()) {
            let near = if chunk.len() == ROWS {
                let mut near = near.columns();
                for row in (0..ROWS).step_by(rows) {
                    factors.apply_to((vectors, chunk.start + row), (&mut near, row));
                }
                near
            } else {
                let mut near = near.copy(vectors, &chunk);
                (0..ROWS).step_by(rows).for_each(|row| factors.apply(&mut near, row, |_| {}));
                near
            };
            products.add(&near, 0, (vectors, chunk.end));
        }
        products.take()
    }

    /// Makes of vectors what they are by the triangle that this is the inverse of.
    fn divide(&mut self, vectors: &mut ColumnsMut<'_>, inverse: &Triangle) {
        let Scratch { near, factors, .. } = self;
        factors.set(inverse);
        let rows = factors.kernel.rows;
        let lines = (vectors.count() * rows / LINE).div_ceil(factors.strips().count());
        let tiles = vectors.rows() / rows;
        for row in (0..tiles).map(|tile| tile * rows) {
            let mut later = Later::new(row + ROWS..row + ROWS + rows);
            factors.apply(vectors, row, |vectors| later.ask(vectors, lines));
        }
        let rest = tiles * rows..vectors.rows();
        if rest.is_empty() {
            return;
        }
        let mut near = near.copy(vectors, &rest);
        factors.apply(&mut near, 0, |_| {});
        for number in 0..vectors.count() {
            vectors.column_mut(number)[rest.clone()].copy_from_slice(&near.column(number)[..rest.len()]);
        }
    }
}

/// A chunk of all vectors, from the beginning of a line on: vectors of numbers that cross lines are read by two accesses.
#[derive(Debug)]
struct Near {
    count: usize,
    numbers: Vec<f64>,
}

impl Near {
    fn new(count: usize) -> Near {
        Near { count, numbers: vec![0.0; ROWS * count + LINE - 1] }
    }

    fn columns(&mut self) -> ColumnsMut<'_> {
        let first = self.numbers.as_ptr().align_offset(LINE * size_of::<f64>());
        ColumnsMut::of(self.numbers[first..].chunks_exact_mut(ROWS).take(self.count))
    }

    /// Begins with these rows of the vectors; the rest is 0.
    fn copy(&mut self, vectors: &Columns<'_>, rows: &Range<usize>) -> ColumnsMut<'_> {
        let mut columns = self.columns();
        for number in 0..vectors.count() {
            let (target, missing) = columns.column_mut(number).split_at_mut(rows.len());
            target.copy_from_slice(&vectors.column(number)[rows.clone()]);
            missing.fill(0.0);
        }
        columns
    }
}

/// Products of all vectors with each other, in blocks.
#[derive(Debug)]
struct Products {
    count: usize,
    kernel: Kernel,
    /// Which blocks there are, by the first vectors of their sides, and the sums of each.
    blocks: Vec<((usize, usize), [f64; SUMS])>,
}

impl Products {
    fn new(count: usize, kernel: Kernel) -> Products {
        let rights = move |left: usize| {
            let needed = (0..count).step_by(kernel.right).filter(move |right| right + kernel.right > left);
            needed.map(move |right| ((left, right), [0.0; SUMS]))
        };
        Products { count, kernel, blocks: (0..count).step_by(LEFT).flat_map(rights).collect() }
    }

    /// Adds those of a chunk's rows from one on. Each block asks for its part of the columns that are needed later, from that row on.
    fn add(&mut self, columns: &Columns<'_>, row: usize, (later, from): (&Columns<'_>, usize)) {
        let (count, blocks) = (self.count, self.blocks.len());
        let chunk =
            |of: &Columns<'_>, column: usize, row: usize| of.column(column).as_ptr().wrapping_add(row);
        for (number, (sides, sums)) in self.blocks.iter_mut().enumerate() {
            let mut asked = number * count / blocks..(number + 1) * count / blocks;
            // Whoever has none asks for what is near.
            let ahead = asked.next().map_or(chunk(columns, 0, row), |column| chunk(later, column, from));
            self.kernel.add_products(columns, *sides, (row, ROWS), ahead, sums);
            asked.for_each(|column| ask(chunk(later, column, from)));
        }
    }

    /// The products so far; they begin with nothing again.
    fn take(&mut self) -> Triangle {
        let mut products = Triangle::zero(self.count);
        for ((left, right), sums) in &mut self.blocks {
            for (i, j) in (0..LEFT).flat_map(|i| (0..self.kernel.right).map(move |j| (i, j))) {
                let (row, column) = (*left + i, *right + j);
                if row <= column && column < self.count {
                    products.set(row, column, self.kernel.sum(sums, i, j));
                }
            }
            *sums = [0.0; SUMS];
        }
        products
    }
}

/// What vectors are multiplied by: a triangle in strips of as many columns as the kernel makes at a time.
#[derive(Debug)]
struct Factors {
    count: usize,
    kernel: Kernel,
    strips: Vec<f64>,
}

impl Factors {
    fn new(count: usize, kernel: Kernel) -> Factors {
        Factors { count, kernel, strips: vec![0.0; count.next_multiple_of(kernel.width) * count] }
    }

    fn set(&mut self, triangle: &Triangle) {
        pack_b(&triangle.values, self.count, &(0..self.count), 0, self.kernel.width, &mut self.strips);
    }

    /// Each strip with the first column that it makes; the last first, because columns are needed by those behind them.
    fn strips(&self) -> impl Iterator<Item = (usize, &[f64])> {
        let width = self.kernel.width;
        let strips = self.strips.chunks_exact(width * self.count).enumerate().rev();
        strips.map(move |(number, strip)| (number * width, strip))
    }

    /// Multiplies a tile of rows where it is, and does something else between strips.
    fn apply(&self, columns: &mut ColumnsMut<'_>, row: usize, mut between: impl FnMut(&Columns<'_>)) {
        for (first, factors) in self.strips() {
            self.kernel.combine(columns, row, first, factors);
            between(columns);
        }
    }

    /// The same to another place.
    fn apply_to(&self, from: (&Columns<'_>, usize), (target, row): (&mut ColumnsMut<'_>, usize)) {
        for (first, factors) in self.strips() {
            self.kernel.combine_to(from, first, factors, (target, row));
        }
    }
}
