//! Charm++'s `jacobi2d-2d-decomposition`: square blocks of an array, a five-point stencil, rows and columns as messages.

use super::{GenerateError, count, parameter, seconds};
use crate::{Message, Problem, Task};

/// The bytes of a number.
const NUMBER: f64 = 8.0;

/// The benchmark. The paper's is unbalanced, but it does not say how: here the blocks of one quarter take longer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jacobi2D {
    /// The side of the array, in points.
    pub array: usize,
    /// The side of a block, in points.
    pub block: usize,
    /// How long a point takes, in seconds.
    pub point_s: f64,
    /// How many times as long points of the first quarter (upper rows, left columns) take.
    pub hot: f64,
}

impl Jacobi2D {
    /// Blocks, row by row, and what they send their four neighbours in a sweep; the array does not wrap around.
    ///
    /// # Errors
    ///
    /// Parameters that mean nothing.
    pub fn problem(&self) -> Result<Problem, GenerateError> {
        if self.block == 0 || !self.array.is_multiple_of(self.block) {
            return Err(parameter("the side of a block", &self.block, "it divides the side of the array"));
        }
        let side = self.array / self.block;
        let tasks = count("the number of blocks", side.saturating_mul(side))?;
        let (side, point) = (side as u32, seconds("the time of a point", self.point_s)?);
        if !(self.hot.is_finite() && self.hot >= 0.0) {
            return Err(parameter(
                "the factor of the first quarter",
                &self.hot,
                "it is a finite number, 0 or more",
            ));
        }
        let points = (self.block as f64).powi(2);
        let load = |task: u32| {
            let hot = task / side < side / 2 && task % side < side / 2;
            point * points * if hot { self.hot } else { 1.0 }
        };
        let bytes = self.block as f64 * NUMBER;
        let mut messages = Vec::with_capacity(4 * tasks as usize);
        let mut exchange = |one: u32, two: u32| {
            for (from, to) in [(one, two), (two, one)] {
                messages.push(Message { from, to, count: 1.0, bytes });
            }
        };
        for task in 0..tasks {
            if task % side + 1 < side {
                exchange(task, task + 1);
            }
            if task + side < tasks {
                exchange(task, task + side);
            }
        }
        Ok(Problem::new((0..tasks).map(|task| Task::new(load(task))).collect(), &messages)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_exchange_their_borders() {
        let jacobi = Jacobi2D { array: 320, block: 32, point_s: 1e-9, hot: 3.0 };
        let problem = jacobi.problem().unwrap();
        assert_eq!((problem.len(), problem.pairs()), (100, 4 * 90));
        assert_eq!(problem.sent(11).iter().map(|arc| arc.to).collect::<Vec<_>>(), [1, 10, 12, 21]);
        assert_eq!(problem.sent(0)[0].bytes, 256.0);
        let load = |task: usize| problem.tasks()[task].load;
        assert_eq!((load(44), load(45), load(54)), (3.0 * 1024.0 * 1e-9, 1024.0 * 1e-9, 1024.0 * 1e-9));
    }

    #[test]
    fn what_means_nothing_is_refused() {
        let good = Jacobi2D { array: 320, block: 32, point_s: 1e-9, hot: 3.0 };
        let refused = |one: Jacobi2D| one.problem().unwrap_err().to_string();
        assert!(refused(Jacobi2D { block: 31, ..good }).contains("divides"));
        assert!(refused(Jacobi2D { block: 0, ..good }).contains("divides"));
        assert!(refused(Jacobi2D { hot: -1.0, ..good }).contains("first quarter"));
        assert!(refused(Jacobi2D { point_s: f64::NAN, ..good }).contains("NaN"));
    }
}
