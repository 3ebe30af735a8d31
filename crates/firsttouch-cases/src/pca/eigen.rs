//! Eigenvalues and eigenvectors of a small symmetric matrix: Householder's reduction to three diagonals, then QL steps with implicit
//! shifts (Golub and Van Loan, *Matrix Computations*, 8.3; Bowdler, Martin, Reinsch and Wilkinson, *The QR and QL algorithms for
//! symmetric matrices*, Numerische Mathematik 11, 1968).

/// Eigenvalues, the largest first, and their eigenvectors of length one, a row each.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Eigen {
    pub(super) values: Vec<f64>,
    pub(super) vectors: Vec<Vec<f64>>,
}

/// Of a symmetric matrix by rows.
pub(super) fn eigen(mut matrix: Vec<Vec<f64>>) -> Eigen {
    let (mut diagonal, mut beside, mut vectors) = reduce(&mut matrix);
    diagonalise(&mut diagonal, &mut beside, &mut vectors);
    let mut pairs: Vec<(f64, Vec<f64>)> = diagonal.into_iter().zip(vectors).collect();
    pairs.sort_by(|one, other| other.0.total_cmp(&one.0));
    let (values, vectors) = pairs.into_iter().unzip();
    Eigen { values, vectors }
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// `to += factor * from`.
fn add(to: &mut [f64], factor: f64, from: &[f64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
}

/// Reflects the matrix into one of three diagonals: the diagonal, what stands beside it, and the transposed product of the
/// reflections.
fn reduce(matrix: &mut [Vec<f64>]) -> (Vec<f64>, Vec<f64>, Vec<Vec<f64>>) {
    let order = matrix.len();
    let mut beside = vec![0.0; order];
    let mut reflections = Vec::new();
    for k in 0..order.saturating_sub(1) {
        let mut v = matrix[k][k + 1..].to_vec();
        let length = dot(&v, &v).sqrt();
        // The reflection turns the row into its first element alone, of the sign that does not cancel.
        beside[k] = if v[0] > 0.0 { -length } else { length };
        v[0] -= beside[k];
        let square = dot(&v, &v);
        if square == 0.0 {
            continue;
        }
        let factor = 2.0 / square;
        let mut w: Vec<f64> = matrix[k + 1..].iter().map(|row| factor * dot(&row[k + 1..], &v)).collect();
        let half = factor / 2.0 * dot(&w, &v);
        add(&mut w, -half, &v);
        for (i, row) in matrix[k + 1..].iter_mut().enumerate() {
            add(&mut row[k + 1..], -v[i], &w);
            add(&mut row[k + 1..], -w[i], &v);
        }
        reflections.push((k, factor, v));
    }
    let mut vectors: Vec<Vec<f64>> =
        (0..order).map(|i| (0..order).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    // The last reflection first: it reaches the fewest rows and columns.
    for (k, factor, v) in reflections.iter().rev() {
        for row in &mut vectors[k + 1..] {
            let along = factor * dot(&row[k + 1..], v);
            add(&mut row[k + 1..], -along, v);
        }
    }
    ((0..order).map(|i| matrix[i][i]).collect(), beside, vectors)
}

/// Turns three diagonals into one, and `vectors` with them.
fn diagonalise(diagonal: &mut [f64], beside: &mut [f64], vectors: &mut [Vec<f64>]) {
    let order = diagonal.len();
    for first in 0..order {
        loop {
            let is_small = |i: usize| {
                i + 1 == order
                    || beside[i].abs() <= f64::EPSILON * (diagonal[i].abs() + diagonal[i + 1].abs())
            };
            let last = (first..order).find(|i| is_small(*i)).unwrap_or(first);
            if last == first {
                break;
            }
            // Wilkinson's shift: the eigenvalue of the first two by two that is nearer to its first element.
            let ratio = (diagonal[first + 1] - diagonal[first]) / (2.0 * beside[first]);
            let shift = diagonal[first] - beside[first] / (ratio + ratio.hypot(1.0).copysign(ratio));
            let (mut sine, mut cosine, mut carried) = (1.0, 1.0, 0.0);
            let mut g = diagonal[last] - shift;
            let mut i = last;
            while i > first {
                i -= 1;
                let (f, b) = (sine * beside[i], cosine * beside[i]);
                let r = f.hypot(g);
                beside[i + 1] = r;
                if r == 0.0 {
                    // It came apart in the middle.
                    diagonal[i + 1] -= carried;
                    break;
                }
                (sine, cosine) = (f / r, g / r);
                let rest = diagonal[i + 1] - carried;
                let turned = (diagonal[i] - rest) * sine + 2.0 * cosine * b;
                carried = sine * turned;
                diagonal[i + 1] = rest + carried;
                g = cosine * turned - b;
                rotate(vectors, i, sine, cosine);
                if i == first {
                    diagonal[first] -= carried;
                    beside[first] = g;
                }
            }
            beside[last] = 0.0;
        }
    }
}

/// Rotates two neighbouring vectors.
fn rotate(vectors: &mut [Vec<f64>], i: usize, sine: f64, cosine: f64) {
    let [one, other] = &mut vectors[i..i + 2] else { return };
    for (one, other) in one.iter_mut().zip(other) {
        (*one, *other) = (cosine * *one - sine * *other, sine * *one + cosine * *other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Largest of the errors of `A v = value v` and of `v·v' = [v = v']`.
    fn error(matrix: &[Vec<f64>], eigen: &Eigen) -> f64 {
        let mut worst = 0.0_f64;
        for (k, vector) in eigen.vectors.iter().enumerate() {
            for (row, element) in matrix.iter().zip(vector) {
                worst = worst.max((dot(row, vector) - eigen.values[k] * element).abs());
            }
            for (other, second) in eigen.vectors.iter().enumerate() {
                worst = worst.max((dot(vector, second) - f64::from(u8::from(k == other))).abs());
            }
        }
        worst
    }

    fn symmetric(order: usize, element: impl Fn(usize, usize) -> f64) -> Vec<Vec<f64>> {
        (0..order).map(|i| (0..order).map(|j| element(i.min(j), i.max(j))).collect()).collect()
    }

    proptest! {
        #[test]
        fn vectors_are_those_of_the_matrix(order in 0..40_usize, seed in 0..1000_u64, sparse in 1..5_u64) {
            let matrix = symmetric(order, |i, j| {
                let bits = firsttouch_measure::mix(seed + (i * order + j) as u64);
                if bits.is_multiple_of(sparse) { (bits >> 11) as f64 / (1_u64 << 53) as f64 - 0.5 } else { 0.0 }
            });
            let eigen = eigen(matrix.clone());
            prop_assert!(eigen.values.is_sorted_by(|one, other| one >= other));
            prop_assert!(error(&matrix, &eigen) < 1e-13 * (order + 1) as f64, "{}", error(&matrix, &eigen));
        }
    }

    /// A path's second differences have the eigenvalues 2 - 2 cos(k pi / (n + 1)).
    #[test]
    fn values_are_those_that_are_known() {
        let order = 50;
        let matrix = symmetric(order, |i, j| match j - i {
            0 => 2.0,
            1 => -1.0,
            _ => 0.0,
        });
        for (k, value) in eigen(matrix).values.into_iter().rev().enumerate() {
            let wanted = 2.0 - 2.0 * ((k + 1) as f64 * std::f64::consts::PI / (order + 1) as f64).cos();
            assert!((value - wanted).abs() < 1e-13, "{k}: {value}, not {wanted}");
        }
    }

    #[test]
    fn equal_values_and_zeroes_have_vectors_too() {
        let ones = symmetric(6, |_, _| 1.0);
        for matrix in
            [symmetric(5, |i, j| if i == j { 3.0 } else { 0.0 }), ones.clone(), symmetric(4, |_, _| 0.0)]
        {
            assert!(error(&matrix, &eigen(matrix.clone())) < 1e-14);
        }
        assert!((eigen(ones).values[0] - 6.0).abs() < 1e-14);
    }
}
