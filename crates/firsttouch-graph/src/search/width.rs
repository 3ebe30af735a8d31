//! How wide buckets should be: a guess from the graph, and the answer from the searches themselves.
//!
//! Narrow buckets cost time to find the next one that is not empty, and bring few nodes at a time; wide ones let nodes be
//! worked on before they have their last distance. Where the best lies depends on the graph, its order and the caches, so
//! it is measured: the first searches run with widths around the guess, and the fastest stays.

use crate::rows::{Node, Rows};

/// Searches with each width; the fastest of them counts, since a disturbance only ever makes one slower.
const RUNS_EACH: u32 = 3;
/// By what factor another width must be faster to be preferred.
const CLEARLY: f64 = 0.98;
/// Nodes looked at for a guess.
const SAMPLE: usize = 4096;
/// The widest buckets, as a power of two: beyond the greatest weight there is nothing to gain.
const WIDEST: u32 = 31;

/// The width that fits the graph, as a power of two.
pub(super) fn guess(rows: Rows<'_>) -> u32 {
    let stride = (rows.nodes() / SAMPLE).max(1);
    let (mut arcs, mut nodes, mut sum) = (0_u64, 0_u64, 0_u64);
    for node in (0..rows.nodes()).step_by(stride) {
        nodes += 1;
        arcs += rows.degree(node as Node) as u64;
        rows.each_out(node as Node, |arc| sum += u64::from(arc.weight));
    }
    if arcs == 0 {
        return 0;
    }
    let mean = sum as f64 / arcs as f64;
    let degree = arcs as f64 / nodes as f64;
    (mean / degree).max(1.0).log2().round() as u32
}

/// The search for the best width.
#[derive(Clone, Debug)]
pub(super) struct Tuner {
    guess: u32,
    shift: u32,
    runs: u32,
    cost: f64,
    best: Option<(u32, f64)>,
    /// On which side of the best this width is.
    direction: Direction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    /// It is the guess.
    Start,
    Wider,
    Narrower,
    /// On none: it is the best.
    Found,
}

impl Tuner {
    pub(super) fn from(guess: u32) -> Tuner {
        Tuner { guess, shift: guess, runs: 0, cost: f64::INFINITY, best: None, direction: Direction::Start }
    }

    /// Always this width.
    pub(super) fn fixed(shift: u32) -> Tuner {
        Tuner { direction: Direction::Found, ..Tuner::from(shift) }
    }

    /// The width to use next, as a power of two.
    pub(super) fn shift(&self) -> u32 {
        self.shift
    }

    /// Whether the answer is known.
    pub(super) fn has_found(&self) -> bool {
        self.direction == Direction::Found
    }

    /// Takes note of what a search with this width cost, by any measure that allows to compare searches.
    pub(super) fn note(&mut self, cost: f64) {
        if self.has_found() {
            return;
        }
        self.cost = self.cost.min(cost);
        self.runs += 1;
        if self.runs < RUNS_EACH {
            return;
        }
        let (shift, cost) = (self.shift, self.cost);
        (self.runs, self.cost) = (0, f64::INFINITY);
        let is_better = self.best.is_none_or(|(_, best)| cost < best * CLEARLY);
        if is_better {
            self.best = Some((shift, cost));
        }
        let (best, _) = self.best.expect("the first is better than none");
        // The guess has two sides: where wider is no better, narrower is looked at.
        let next = match self.direction {
            Direction::Start => Direction::Wider,
            Direction::Wider if is_better => Direction::Wider,
            Direction::Wider if best == self.guess => Direction::Narrower,
            Direction::Narrower if is_better => Direction::Narrower,
            _ => Direction::Found,
        };
        (self.direction, self.shift) = match next {
            Direction::Wider if best < WIDEST => (next, best + 1),
            Direction::Narrower if best > 0 => (next, best - 1),
            _ => (Direction::Found, best),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Graph;

    /// Where the tuner ends, if widths cost what `cost` says.
    fn ends_at(guess: u32, cost: impl Fn(u32) -> f64) -> u32 {
        let mut tuner = Tuner::from(guess);
        for run in 0..200 {
            // Every third run is disturbed.
            let disturbed = if run % 3 == 0 { 3.0 } else { 1.0 };
            tuner.note(cost(tuner.shift()) * disturbed);
        }
        assert!(tuner.has_found());
        tuner.shift()
    }

    #[test]
    fn the_best_width_is_found_on_either_side_of_the_guess() {
        for best in [0, 3, 8, 12, 31] {
            for guess in [0, 5, 8, 11, 31] {
                let valley = |shift: u32| 1.0 + 0.1 * f64::from(shift.abs_diff(best));
                let wanted = if guess == 31 { 31 } else { best };
                assert_eq!(ends_at(guess, valley), wanted, "from {guess}");
            }
        }
    }

    #[test]
    fn a_difference_that_is_none_moves_nothing() {
        assert_eq!(ends_at(8, |shift| 1.0 - 0.001 * f64::from(shift)), 8);
    }

    #[test]
    fn the_guess_grows_with_the_weights_and_falls_with_the_degree() {
        let ring = |weight, degree: u32| {
            let arcs = (0..1000_u32)
                .flat_map(|tail| (1..=degree).map(move |step| (tail, (tail + step) % 1000, weight)));
            guess((&Graph::from_arcs(1000, &arcs.collect::<Vec<_>>()).unwrap()).into())
        };
        assert!(ring(10_000, 2) > ring(100, 2) && ring(10_000, 2) > ring(10_000, 30));
        assert_eq!(ring(0, 2), 0);
        assert_eq!(guess((&Graph::from_arcs(2, &[]).unwrap()).into()), 0);
    }
}
