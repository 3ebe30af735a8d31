//! Repetitions of one value, and of one value for each pair of nodes.

use firsttouch_machine::{Matrix, Range};

/// Repetitions of one value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Series {
    values: Vec<f64>,
}

impl Series {
    pub(crate) fn add(&mut self, value: f64) {
        // A clock that stood still gives an infinite speed: not a measurement.
        if value.is_finite() && value > 0.0 {
            self.values.push(value);
        }
    }

    /// The middle one, or the mean of the middle two; `None` without any.
    pub(crate) fn median(&self) -> Option<f64> {
        let mut sorted = self.values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match sorted.len() {
            0 => None,
            length if length % 2 == 0 => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
            _ => Some(sorted[middle]),
        }
    }

    pub(crate) fn low(&self) -> Option<f64> {
        self.values.iter().copied().reduce(f64::min)
    }

    pub(crate) fn high(&self) -> Option<f64> {
        self.values.iter().copied().reduce(f64::max)
    }
}

/// A series for each pair of nodes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grid {
    series: Vec<Vec<Series>>,
}

impl Grid {
    /// Without any value, for so many nodes.
    pub(crate) fn new(nodes: usize) -> Grid {
        Grid { series: vec![vec![Series::default(); nodes]; nodes] }
    }

    /// Adds a value for the CPUs of one place and the memory of another.
    pub(crate) fn add(&mut self, (cpu, memory): (usize, usize), value: f64) {
        self.series[cpu][memory].add(value);
    }

    pub(crate) fn median(&self) -> Matrix {
        self.each(Series::median)
    }

    pub(crate) fn range(&self) -> Range {
        Range { low: self.each(Series::low), high: self.each(Series::high) }
    }

    /// A thousandth of a nanosecond or of a gigabyte a second is less than any of them is good for.
    fn each(&self, value: fn(&Series) -> Option<f64>) -> Matrix {
        let rounded = |series: &Series| value(series).map(|value| (value * 1e3).round() / 1e3);
        self.series.iter().map(|row| row.iter().map(rounded).collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_ends() {
        let mut grid = Grid::new(2);
        for value in [3.0, 1.0, 100.0, f64::INFINITY, f64::NAN, 0.0] {
            grid.add((0, 1), value);
        }
        grid.add((1, 1), 2.0);
        grid.add((1, 1), 4.0);
        assert_eq!(grid.median(), [[None, Some(3.0)], [None, Some(3.0)]]);
        let range = grid.range();
        assert_eq!((range.low[0][1], range.high[0][1], range.low[1][0]), (Some(1.0), Some(100.0), None));
    }
}
