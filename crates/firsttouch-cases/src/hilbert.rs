//! The Hilbert matrix and its QR decomposition in the way R does it.
//!
//! Nakano and Nakama, *Speeding up by using ISM-like calls*, time `qr(hilbert(1000))` with
//! `hilbert <- function(N) 1/(matrix(1:N, N, N, byrow=T) + 0:(N-1))`. R's default `qr` is a Householder
//! decomposition, one column after the other, in which a column that nearly depends on its predecessors is
//! moved behind all others. A Hilbert matrix has numerical rank of about ten, so almost every column is moved,
//! and each move walks along every *row* of a matrix stored by *columns*: every step lands `8 N` bytes further,
//! on another page. That walk, and not the arithmetic, is what large pages speed up.

/// A dense matrix of doubles, stored by columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
}

impl Matrix {
    /// The matrix whose element in row `i` and column `j` (from 0) is `element(i, j)`.
    pub fn from_fn(rows: usize, columns: usize, mut element: impl FnMut(usize, usize) -> f64) -> Matrix {
        // Zeroed first and written in order: one allocation of the full size, as R makes it.
        let mut values = vec![0.0; rows * columns];
        for (j, column) in values.chunks_exact_mut(rows.max(1)).enumerate() {
            for (i, value) in column.iter_mut().enumerate() {
                *value = element(i, j);
            }
        }
        Matrix { rows, columns, values }
    }

    /// The element in row `i` and column `j`, from 0.
    ///
    /// # Panics
    /// If there is no such element.
    pub fn get(&self, i: usize, j: usize) -> f64 {
        assert!(i < self.rows, "row {i} of {}", self.rows);
        self.values[j * self.rows + i]
    }

    fn column(&self, j: usize) -> &[f64] {
        &self.values[j * self.rows..(j + 1) * self.rows]
    }

    /// Moves column `from` behind the last one, row by row: the strided walk this workload is about.
    fn rotate_columns_left(&mut self, from: usize) {
        let rows = self.rows;
        for i in 0..rows {
            let first = self.values[from * rows + i];
            for j in from + 1..self.columns {
                self.values[(j - 1) * rows + i] = self.values[j * rows + i];
            }
            self.values[(self.columns - 1) * rows + i] = first;
        }
    }
}

/// The `n` by `n` Hilbert matrix: 1 / (i + j + 1), counted from 0.
pub fn hilbert(n: usize) -> Matrix {
    Matrix::from_fn(n, n, |i, j| 1.0 / ((j + 1 + i) as f64))
}

/// A QR decomposition with limited column pivoting.
#[derive(Clone, Debug, PartialEq)]
pub struct Qr {
    /// On and above the diagonal R, below it the Householder vectors but for their first elements.
    pub compact: Matrix,
    /// Number of leading columns that do not depend on each other within the tolerance.
    pub rank: usize,
    /// For each column of `compact` the column of the input it came from.
    pub pivot: Vec<usize>,
}

impl Qr {
    /// The element of the upper triangle in row `i` and column `j`.
    pub fn r(&self, i: usize, j: usize) -> f64 {
        if i <= j { self.compact.get(i, j) } else { 0.0 }
    }

    /// One number that changes when any step of the decomposition did: the rank, and the magnitudes of R's rows up to it, each
    /// as often as its column's place in the input says, as a share of all columns.
    pub fn checksum(&self) -> f64 {
        let elements = (0..self.rank).flat_map(|i| (i..self.compact.columns).map(move |j| (i, j)));
        let weighted = elements.map(|(i, j)| self.r(i, j).abs() * (self.pivot[j] + 1) as f64).sum::<f64>();
        self.rank as f64 + weighted / self.compact.columns.max(1) as f64
    }
}

/// Decomposes `matrix` by Householder reflections, one column after the other; a column whose remaining norm
/// is below `tolerance` times its original one is moved behind all others and not decomposed. R's default
/// tolerance is `1e-7`.
pub fn qr(matrix: Matrix, tolerance: f64) -> Qr {
    let mut a = matrix;
    let (rows, columns) = (a.rows, a.columns);
    let mut pivot: Vec<usize> = (0..columns).collect();
    let original: Vec<f64> =
        (0..columns).map(|j| norm(a.column(j))).map(|n| if n == 0.0 { 1.0 } else { n }).collect();
    // Per column, moved along with it: the norm of what is left, the norm at its last exact computation, and
    // the original norm.
    let mut left: Vec<[f64; 3]> =
        (0..columns).map(|j| norm(a.column(j))).zip(original).map(|(n, o)| [n, n, o]).collect();
    let mut candidates = columns;

    for l in 0..rows.min(columns) {
        while l < candidates && left[l][0] < left[l][2] * tolerance {
            a.rotate_columns_left(l);
            pivot[l..].rotate_left(1);
            left[l..].rotate_left(1);
            candidates -= 1;
        }
        if l + 1 == rows {
            break;
        }
        reflect(&mut a, l, &mut left);
    }
    Qr { compact: a, rank: candidates.min(rows), pivot }
}

/// One Householder step: clears column `l` below the diagonal and applies the reflection to the columns right
/// of it, keeping their remaining norms up to date.
fn reflect(a: &mut Matrix, l: usize, left: &mut [[f64; 3]]) {
    let rows = a.rows;
    let (done, rest) = a.values.split_at_mut((l + 1) * rows);
    let pivot_column = &mut done[l * rows + l..];
    let mut length = norm(pivot_column);
    if length == 0.0 {
        return;
    }
    if pivot_column[0] < 0.0 {
        length = -length;
    }
    for value in pivot_column.iter_mut() {
        *value /= length;
    }
    pivot_column[0] += 1.0;

    for (offset, column) in rest.chunks_exact_mut(rows).enumerate() {
        let column = &mut column[l..];
        let along: f64 = pivot_column.iter().zip(column.iter()).map(|(v, c)| v * c).sum();
        let step = -along / pivot_column[0];
        for (c, v) in column.iter_mut().zip(pivot_column.iter()) {
            *c += step * v;
        }
        let [remaining, exact, _] = &mut left[l + 1 + offset];
        if *remaining != 0.0 {
            let share = (1.0 - (column[0].abs() / *remaining).powi(2)).max(0.0);
            // Downdating loses digits where little is left: then the norm is computed afresh.
            if share < 1e-6 {
                *remaining = norm(&column[1..]);
                *exact = *remaining;
            } else {
                *remaining *= share.sqrt();
            }
        }
    }
    pivot_column[0] = -length;
}

/// The Euclidean norm. The workload's values are near one, so no scaling against overflow is needed.
fn norm(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Largest difference between (A P)'(A P) and R'R over the columns decomposed.
    fn gram_error(a: &Matrix, qr: &Qr) -> f64 {
        let mut worst = 0.0_f64;
        for x in 0..qr.rank {
            for y in 0..qr.rank {
                let wanted: f64 = (0..a.rows).map(|i| a.get(i, qr.pivot[x]) * a.get(i, qr.pivot[y])).sum();
                let got: f64 = (0..a.rows.min(a.columns)).map(|i| qr.r(i, x) * qr.r(i, y)).sum();
                worst = worst.max((wanted - got).abs());
            }
        }
        worst
    }

    /// Well-conditioned and without structure, yet the same every time.
    fn scattered(rows: usize, columns: usize) -> Matrix {
        let mut state = 1_u64;
        Matrix::from_fn(rows, columns, |_, _| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
        })
    }

    #[test]
    fn r_transposed_times_r_is_the_gram_matrix() {
        for (rows, columns) in [(1, 1), (7, 7), (30, 12), (12, 30)] {
            let a = scattered(rows, columns);
            let qr = qr(a.clone(), 1e-7);
            assert_eq!(qr.rank, rows.min(columns));
            assert!(gram_error(&a, &qr) < 1e-13, "{rows} x {columns}: {}", gram_error(&a, &qr));
        }
    }

    #[test]
    fn the_elements_are_those_of_the_paper() {
        let a = hilbert(3);
        assert_eq!([a.get(0, 0), a.get(1, 0), a.get(0, 1), a.get(2, 2)], [1.0, 0.5, 0.5, 0.2]);
    }

    #[test]
    fn dependent_columns_go_to_the_end() {
        // Column 1 is twice column 0.
        let a = Matrix::from_fn(4, 3, |i, j| match j {
            0 => i as f64 + 1.0,
            1 => 2.0 * (i as f64 + 1.0),
            _ => (i * i) as f64,
        });
        let qr = qr(a.clone(), 1e-7);
        assert_eq!((qr.rank, qr.pivot.as_slice()), (2, [0, 2, 1].as_slice()));
        assert!(gram_error(&a, &qr) < 1e-10);
    }

    #[test]
    fn nothing_is_lost_on_empty_and_zero_matrices() {
        assert_eq!(qr(hilbert(0), 1e-7).rank, 0);
        assert_eq!(qr(Matrix::from_fn(5, 3, |_, _| 0.0), 1e-7).checksum(), 0.0);
    }

    #[test]
    fn the_hilbert_matrix_is_as_rank_deficient_as_in_r() {
        for (n, rank) in RANKS_IN_R {
            let a = hilbert(n);
            let qr = qr(a.clone(), 1e-7);
            assert_eq!(qr.rank, rank, "n = {n}, pivot {:?}", &qr.pivot[..rank.min(12)]);
            assert!(gram_error(&a, &qr) < 1e-12);
        }
    }

    /// `qr(hilbert(n))$rank` in R 4.2.
    const RANKS_IN_R: [(usize, usize); 4] = [(5, 5), (20, 10), (100, 15), (300, 19)];
}
