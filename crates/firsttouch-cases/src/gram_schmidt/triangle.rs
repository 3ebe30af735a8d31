//! Small triangular matrices, by columns: what is between two passes over long vectors.

/// A square matrix by columns, of which the part below the diagonal is 0.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Triangle {
    pub(super) size: usize,
    pub(super) values: Vec<f64>,
}

impl Triangle {
    /// All zero.
    pub(super) fn zero(size: usize) -> Triangle {
        Triangle { size, values: vec![0.0; size * size] }
    }

    pub(super) fn at(&self, row: usize, column: usize) -> f64 {
        self.values[column * self.size + row]
    }

    pub(super) fn set(&mut self, row: usize, column: usize, value: f64) {
        self.values[column * self.size + row] = value;
    }

    /// The R of A = R'R, of a symmetric A of which the part on and above the diagonal is given (Cholesky). Not a number where
    /// A is not positive definite: where vectors depend on each other to within the square root of what rounding does.
    pub(super) fn cholesky(a: &Triangle) -> Triangle {
        let mut r = Triangle::zero(a.size);
        for column in 0..a.size {
            for row in 0..=column {
                let known: f64 = (0..row).map(|k| r.at(k, row) * r.at(k, column)).sum();
                let rest = a.at(row, column) - known;
                r.set(row, column, if row == column { rest.sqrt() } else { rest / r.at(row, row) });
            }
        }
        r
    }

    /// What it multiplies to the identity.
    pub(super) fn inverse(&self) -> Triangle {
        let mut inverse = Triangle::zero(self.size);
        for column in 0..self.size {
            inverse.set(column, column, 1.0 / self.at(column, column));
            for row in (0..column).rev() {
                let known: f64 = (row + 1..=column).map(|k| self.at(row, k) * inverse.at(k, column)).sum();
                inverse.set(row, column, -known / self.at(row, row));
            }
        }
        inverse
    }

    pub(super) fn times(&self, other: &Triangle) -> Triangle {
        let mut product = Triangle::zero(self.size);
        for column in 0..self.size {
            for row in 0..=column {
                let value = (row..=column).map(|k| self.at(row, k) * other.at(k, column)).sum();
                product.set(row, column, value);
            }
        }
        product
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_triangle_is_found_again_in_its_square_and_its_inverse_undoes_it() {
        for size in 1..12 {
            let mut r = Triangle::zero(size);
            for column in 0..size {
                (0..column).for_each(|row| r.set(row, column, (row * 3 + column) as f64 / 8.0 - 1.0));
                r.set(column, column, 1.0 + column as f64 / 4.0);
            }
            let mut square = Triangle::zero(size);
            for (row, column) in (0..size).flat_map(|column| (0..=column).map(move |row| (row, column))) {
                square.set(row, column, (0..size).map(|k| r.at(k, row) * r.at(k, column)).sum());
            }
            let near = |one: &Triangle, other: &Triangle| {
                one.values.iter().zip(&other.values).all(|(one, other)| (one - other).abs() < 1e-9)
            };
            assert!(near(&Triangle::cholesky(&square), &r), "{size}");
            let mut identity = Triangle::zero(size);
            (0..size).for_each(|place| identity.set(place, place, 1.0));
            assert!(
                near(&r.times(&r.inverse()), &identity) && near(&r.inverse().times(&r), &identity),
                "{size}"
            );
        }
    }

    #[test]
    fn vectors_that_depend_on_each_other_have_no_triangle() {
        let square = Triangle { size: 2, values: vec![1.0, 0.0, 2.0, 3.0] };
        assert!(Triangle::cholesky(&square).at(1, 1).is_nan());
    }
}
