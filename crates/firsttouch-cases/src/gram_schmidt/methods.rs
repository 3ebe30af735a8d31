//! Gram-Schmidt as the article prints it: a vector at a time against those before it.

use super::messages::Everybody;
use super::triangle::Triangle;
use super::vectors::{Rows, dot, subtract, subtract_four};
use crate::share::each;
use firsttouch_threads::Team;

/// The second set of vectors, which takes the same combinations.
pub(super) type Directions<'a, 'b> = Option<&'a mut [Rows<'b>]>;

/// Modified: a product, then its multiple is taken away, then the next product (the article's listing 1).
pub(super) fn modified<'b>(
    q: &mut [Rows<'b>],
    mut d: Directions<'_, 'b>,
    all: &mut Everybody<'_>,
) -> Triangle {
    let count = q[0].len();
    let mut r = Triangle::zero(count);
    for j in 0..count {
        for i in 0..j {
            let alpha = sum(q, all, |rows| dot(rows[j], rows[i]));
            for set in [Some(&mut *q), d.as_deref_mut()].into_iter().flatten() {
                every(set, all.team, |rows| {
                    let (before, target) = parts(rows, j);
                    subtract(target, alpha, before[i]);
                });
            }
            r.set(i, j, alpha);
        }
        let norm = sum(q, all, |rows| dot(rows[j], rows[j])).sqrt();
        normalise(q, d.as_deref_mut(), j, norm, all.team);
        r.set(j, j, norm);
    }
    r
}

/// Classic: all products with a vector, then all multiples are taken away, by chunks of so many rows that stay in the cache while
/// the others go by (listings 3 and 4). A second `turn` takes away what rounding left.
pub(super) fn classic<'b>(
    q: &mut [Rows<'b>],
    mut d: Directions<'_, 'b>,
    (chunk, turns): (usize, usize),
    all: &mut Everybody<'_>,
) -> Triangle {
    let count = q[0].len();
    let mut r = Triangle::zero(count);
    for j in 0..count {
        let mut alphas = vec![0.0; j];
        for _ in 0..turns {
            let found = sums(q, all, |rows| products(rows, j, chunk));
            every(q, all.team, |rows| combine(rows, &found, chunk));
            alphas.iter_mut().zip(found).for_each(|(alpha, more)| *alpha += more);
        }
        if let Some(d) = d.as_deref_mut() {
            every(d, all.team, |rows| combine(rows, &alphas, chunk));
        }
        let norm = sum(q, all, |rows| dot(rows[j], rows[j])).sqrt();
        normalise(q, d.as_deref_mut(), j, norm, all.team);
        alphas.into_iter().enumerate().for_each(|(i, alpha)| r.set(i, j, alpha));
        r.set(j, j, norm);
    }
    r
}

/// The products of vector `j` with each before it.
fn products(rows: &Rows<'_>, j: usize, chunk: usize) -> Vec<f64> {
    let mut alphas = vec![0.0; j];
    for (number, target) in rows[j].chunks(chunk).enumerate() {
        for (alpha, other) in alphas.iter_mut().zip(rows) {
            *alpha += dot(target, &other[number * chunk..][..target.len()]);
        }
    }
    alphas
}

/// Takes multiples of the vectors before it away from the one after them.
fn combine(rows: &mut Rows<'_>, alphas: &[f64], chunk: usize) {
    let (before, target) = parts(rows, alphas.len());
    let (fours, others) = before.as_chunks::<4>();
    let (alphas_of_fours, alphas_of_others) = alphas.as_chunks::<4>();
    for (number, target) in target.chunks_mut(chunk).enumerate() {
        let range = number * chunk..number * chunk + target.len();
        for ([a, b, c, d], alphas) in fours.iter().zip(alphas_of_fours) {
            let four = [&a[range.clone()], &b[range.clone()], &c[range.clone()], &d[range.clone()]];
            subtract_four(target, alphas, four);
        }
        for (other, alpha) in others.iter().zip(alphas_of_others) {
            subtract(target, *alpha, &other[range.clone()]);
        }
    }
}

/// Vectors before one, and that one.
fn parts<'a, 'b>(rows: &'a mut Rows<'b>, j: usize) -> (&'a [&'b mut [f64]], &'a mut [f64]) {
    let (before, from) = rows.split_at_mut(j);
    (before, &mut *from[0])
}

/// Divides a vector, and its direction, by its norm.
fn normalise<'b>(q: &mut [Rows<'b>], d: Directions<'_, 'b>, j: usize, norm: f64, team: &mut Team) {
    for set in [Some(q), d].into_iter().flatten() {
        every(set, team, |rows| rows[j].iter_mut().for_each(|value| *value *= 1.0 / norm));
    }
}

/// Every member does something with its rows.
fn every(set: &mut [Rows<'_>], team: &mut Team, work: impl Fn(&mut Rows<'_>) + Sync) {
    each(team, set.iter_mut().collect(), |_, rows| work(rows));
}

/// What all members of all processes found, added up.
fn sum(set: &[Rows<'_>], all: &mut Everybody<'_>, work: impl Fn(&Rows<'_>) -> f64 + Sync) -> f64 {
    let mut sum = [each(all.team, set.iter().collect(), |_, rows| work(rows)).into_iter().sum()];
    all.messages.sum(&mut sum);
    sum[0]
}

/// The same of several values: one reduction for all.
fn sums(set: &[Rows<'_>], all: &mut Everybody<'_>, work: impl Fn(&Rows<'_>) -> Vec<f64> + Sync) -> Vec<f64> {
    let found = each(all.team, set.iter().collect(), |_, rows| work(rows));
    let add = |mut sums: Vec<f64>, more: Vec<f64>| {
        sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        sums
    };
    let mut sums = found.into_iter().reduce(add).unwrap_or_default();
    all.messages.sum(&mut sums);
    sums
}
