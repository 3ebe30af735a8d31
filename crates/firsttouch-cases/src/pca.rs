//! Principal components: the eigenvectors of the correlations of columns.
//!
//! The feed's article calls them of a library, by its correlation method. What costs is the correlations of a tall matrix: read once
//! where sums of products and of columns are taken together (`gram`), about a value near each column's mean so that they do
//! not cancel (Chan, Golub and LeVeque, *Algorithms for Computing the Sample Variance*, The American Statistician 37, 1983).

mod eigen;
mod gram;

use crate::array::Array;
use crate::case::{About, Case, Given, Prepared, Unit, Variant, Work, Workload};
use crate::checksum::Checksum;
use crate::error::{CaseError, Missing};
use crate::outside::{missing_module, missing_numpy, missing_release, python_script};
use crate::parameter::{Kind, Parameter};
use crate::share::{cut, cut_slice, each};
use crate::simd::Instructions;
use crate::texts;
use eigen::{Eigen, eigen};
use firsttouch_measure::{Limit, mix};
use firsttouch_threads::Team;
use gram::Gram;
use std::ffi::OsStr;
use std::ops::Range;

/// Principal components of a tall matrix.
#[derive(Debug)]
pub(crate) struct Pca;

static ABOUT: About = About {
    name: "pca",
    summary: "principal components: eigenvalues and eigenvectors of the correlations of a tall matrix's columns",
    source: "Improving the Performance of Principal Component Analysis with Intel Data Analytics Acceleration Library",
    parameters: &[
        Parameter::new("rows", "observations", Kind::Count(2, 1 << 31), ["1000000", "200000"]),
        Parameter::new("columns", "variables, in double precision", Kind::Count(1, 1000), ["50", "50"]),
        Parameter::new(
            "matrix",
            "whose eigenvectors: `correlation`, or `covariance` of columns as they are",
            Kind::Word(&["correlation", "covariance"]),
            ["correlation", "correlation"],
        ),
    ],
    variants: &[
        Variant::ours("one-pass", "products and sums at once, about the mean of the first rows"),
        Variant::ours("two-pass", "means first, then products about them"),
        Variant::ours("portable", "one pass, by what every processor has"),
        Variant::others("numpy", "NumPy: corrcoef or cov, and eigh"),
        Variant::others(
            "numpy-gram",
            "NumPy: X'X of the matrix as it is, means taken out afterwards, and eigh",
        ),
        Variant::others(
            "scikit-learn",
            "scikit-learn: PCA by covariance_eigh, after StandardScaler for correlations",
        ),
        Variant::others("scikit-learn-svd", "the same by svd_solver=full, the article's other method"),
    ],
    steps: 3,
    unit: Unit::Bandwidth,
    bound: Some(Limit::Read),
};

/// Rows whose mean stands for that of all, in one pass.
const FIRST_ROWS: usize = 64;

impl Case for Pca {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn missing(&self, variant: &Variant, path: Option<&OsStr>) -> Option<Missing> {
        let scikit_learn = || missing_module("sklearn", path, "pip install scikit-learn");
        match variant.name {
            "numpy" | "numpy-gram" => missing_numpy(path),
            "scikit-learn" => scikit_learn().or_else(|| {
                // The first that has the solver covariance_eigh.
                missing_release("scikit-learn", (1, 5), path, "pip install 'scikit-learn>=1.5'")
            }),
            "scikit-learn-svd" => scikit_learn(),
            _ => None,
        }
    }

    fn prepare(&self, given: &mut Given<'_>) -> Result<Prepared, CaseError> {
        let (rows, columns) = (given.arguments.number("rows"), given.arguments.number("columns"));
        if given.variant.alternative {
            let values = ABOUT.parameters.iter().map(|parameter| given.arguments.word(parameter.name));
            let words = values.chain([given.variant.name]).map(str::to_owned).collect();
            let script = python_script(texts::PCA_LIBRARIES_PY, words);
            return Ok(Prepared::Outside(script.threads(given.team.size())));
        }
        let mut matrix = given.arrays.zeroed::<f64>("matrix", rows * columns)?;
        let members = given.team.size();
        let ranges = cut(rows, members, 1).into_iter();
        let parts = ranges.zip(cut_slice(&mut matrix, members, columns)).collect();
        let grams = each(given.team, parts, |_, (range, part)| {
            for (row, values) in range.zip(part.chunks_exact_mut(columns)) {
                for (column, value) in values.iter_mut().enumerate() {
                    *value = element(row, column, columns);
                }
            }
            Gram::of(columns)
        });
        Ok(Prepared::Here(Box::new(Analysing {
            matrix,
            columns,
            two_passes: given.variant.name == "two-pass",
            correlation: given.arguments.word("matrix") == "correlation",
            instructions: if given.variant.name == "portable" {
                Instructions::Portable
            } else {
                Instructions::best()
            },
            grams,
            found: Eigen::default(),
        })))
    }
}

/// A common factor that weighs more from column to column, and noise of its own, so that no two eigenvalues are alike; and columns
/// whose means and scales are their own.
fn element(row: usize, column: usize, columns: usize) -> f64 {
    let chance = |number: usize| (mix(number as u64) >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
    let loading = 2.0 * (column + 1) as f64 / columns as f64;
    let common = chance((1 << 48) + row);
    column as f64 + (1 + column % 5) as f64 * (chance(row * columns + column) + loading * common)
}

struct Analysing {
    matrix: Array<f64>,
    columns: usize,
    two_passes: bool,
    correlation: bool,
    instructions: Instructions,
    grams: Vec<Gram>,
    found: Eigen,
}

impl Analysing {
    /// The rows of each member.
    fn shares(&self, members: usize) -> Vec<Range<usize>> {
        let ranges = cut(self.matrix.len() / self.columns, members, 1).into_iter();
        ranges.map(|rows| rows.start * self.columns..rows.end * self.columns).collect()
    }

    /// The mean of each column.
    fn means(&self, team: &mut Team) -> Vec<f64> {
        let sums = each(team, self.shares(team.size()), |_, range| sums(&self.matrix[range], self.columns));
        let rows = (self.matrix.len() / self.columns) as f64;
        (0..self.columns).map(|column| sums.iter().map(|sums| sums[column]).sum::<f64>() / rows).collect()
    }
}

/// The sum of each column.
fn sums(rows: &[f64], columns: usize) -> Vec<f64> {
    let mut sums = vec![0.0; columns];
    for row in rows.chunks_exact(columns) {
        sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
    }
    sums
}

/// The covariances of columns, or their correlations; a column that does not vary is correlated with none.
fn matrix_of(gram: &Gram, columns: usize, correlation: bool) -> Vec<Vec<f64>> {
    let scale = |column| {
        let deviation = if correlation { gram.covariance(column, column).sqrt() } else { 1.0 };
        if deviation > 0.0 { deviation } else { 1.0 }
    };
    let scales: Vec<f64> = (0..columns).map(scale).collect();
    let element = |i: usize, j: usize| gram.covariance(i, j) / (scales[i] * scales[j]);
    (0..columns).map(|i| (0..columns).map(|j| element(i, j)).collect()).collect()
}

impl Workload for Analysing {
    fn step(&mut self, team: &mut Team) {
        let (columns, instructions) = (self.columns, self.instructions);
        let shift = if self.two_passes {
            self.means(team)
        } else {
            let first = &self.matrix[..self.matrix.len().min(FIRST_ROWS * columns)];
            let count = (first.len() / columns) as f64;
            sums(first, columns).into_iter().map(|sum| sum / count).collect()
        };
        let shares = self.shares(team.size());
        let (matrix, shift) = (&self.matrix, &shift);
        let parts = shares.into_iter().zip(&mut self.grams).collect();
        each(team, parts, |_, (range, gram)| {
            gram.clear();
            gram::add(instructions, &matrix[range], shift, gram);
        });
        if let Some((all, others)) = self.grams.split_first_mut() {
            others.iter().for_each(|gram| all.merge(gram));
            self.found = eigen(matrix_of(all, columns, self.correlation));
        }
    }

    /// Eigenvalues and the squares of all elements of eigenvectors, whatever their signs, each weighted by its places.
    fn checksum(&self) -> Checksum {
        let of = |(k, (value, vector)): (usize, (&f64, &Vec<f64>))| {
            let squares = (1..).zip(vector).map(|(place, element)| f64::from(place) * element * element);
            (k + 1) as f64 * (value + squares.sum::<f64>() / self.columns as f64)
        };
        let value = self.found.values.iter().zip(&self.found.vectors).enumerate().map(of).sum();
        Checksum::Near { value, within: 1e-8 }
    }

    /// The matrix is read once.
    fn work(&self) -> Work {
        Work { bytes: 8 * self.matrix.len() as u64, operations: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::here::stepped;

    #[test]
    fn all_ways_come_to_the_same_however_many_rows_a_thread_has() {
        for (rows, columns) in [("2", "1"), ("65", "7"), ("1000", "8"), ("777", "33")] {
            for matrix in ["correlation", "covariance"] {
                let chosen = [("rows", rows), ("columns", columns), ("matrix", matrix)];
                let first = stepped(&Pca, "two-pass", &chosen, 1).0;
                for (variant, threads) in [("one-pass", 1), ("one-pass", 2), ("two-pass", 2), ("portable", 2)]
                {
                    let seen = stepped(&Pca, variant, &chosen, threads).0;
                    assert!(first.agrees(seen), "{variant} {chosen:?}: {seen:?}, not {first:?}");
                }
            }
        }
    }

    #[test]
    fn the_matrix_is_read_once() {
        let chosen = [("rows", "100"), ("columns", "7")];
        assert_eq!(stepped(&Pca, "one-pass", &chosen, 1).1, Work { bytes: 100 * 7 * 8, operations: 0 });
    }

    #[test]
    fn correlations_are_of_columns_that_vary() {
        let rows: [[f64; 3]; 4] = [[1.0, 5.0, -2.0], [2.0, 5.0, -4.0], [3.0, 5.0, -6.0], [4.0, 5.0, -8.0]];
        let mut gram = Gram::of(3);
        gram::add(Instructions::best(), rows.as_flattened(), &[2.0, 5.0, -3.0], &mut gram);
        let correlations = matrix_of(&gram, 3, true);
        let wanted = [[1.0, 0.0, -1.0], [0.0, 0.0, 0.0], [-1.0, 0.0, 1.0]];
        for (row, wanted) in correlations.iter().zip(wanted) {
            assert!(
                row.iter().zip(wanted).all(|(found, wanted)| (found - wanted).abs() < 1e-15),
                "{correlations:?}"
            );
        }
        assert!((matrix_of(&gram, 3, false)[2][2] - 20.0 / 3.0).abs() < 1e-14);
    }
}
