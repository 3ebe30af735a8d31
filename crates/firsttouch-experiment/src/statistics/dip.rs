//! Does a sample fall into more than one group? Hartigan's dip.
//!
//! The dip is the largest distance between the empirical distribution function and the unimodal distribution
//! function nearest to it: J. A. Hartigan and P. M. Hartigan, "The dip test of unimodality", *Annals of Statistics*
//! 13 (1985). The iteration below follows the description in section 3 of that paper. A sample counts as
//! surprising when uniform samples of its size rarely dip as far; the uniform is the worst unimodal case.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};

/// Most uniform samples drawn for one p-value.
const SAMPLES: u32 = 1999;

/// Drawing ends early at this many samples that dip as far: the p-value is then certainly not small.
/// J. Besag and P. Clifford, "Sequential Monte Carlo p-values", *Biometrika* 78 (1991).
const EXCEEDANCES: u32 = 20;

/// The dip of a sample, at least 1/(2n); `None` of nothing.
pub fn dip(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    (!sorted.is_empty()).then(|| dip_of_sorted(&sorted))
}

/// Probability that a uniform sample of this size dips as far. The draws depend on nothing but the size, so a report
/// computed twice says the same. `None` of nothing.
pub fn dip_p(values: &[f64]) -> Option<f64> {
    let observed = dip(values)?;
    let mut generator = ChaCha8Rng::seed_from_u64(values.len() as u64);
    let mut exceedances = 0;
    for drawn in 1..=SAMPLES {
        let mut uniform: Vec<f64> = (0..values.len()).map(|_| unit_interval(&mut generator)).collect();
        uniform.sort_unstable_by(f64::total_cmp);
        if dip_of_sorted(&uniform) >= observed {
            exceedances += 1;
            if exceedances == EXCEEDANCES {
                return Some(f64::from(exceedances) / f64::from(drawn));
            }
        }
    }
    Some(f64::from(exceedances + 1) / f64::from(SAMPLES + 1))
}

fn unit_interval(generator: &mut ChaCha8Rng) -> f64 {
    (generator.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// The steps of the empirical distribution function, in counts: at `at[i]` it rises from `below[i]` to `upto[i]`.
struct Steps {
    at: Vec<f64>,
    below: Vec<f64>,
    upto: Vec<f64>,
}

impl Steps {
    fn of_sorted(sorted: &[f64]) -> Self {
        let mut steps = Steps { at: Vec::new(), below: Vec::new(), upto: Vec::new() };
        let mut count = 0.0;
        for equal in sorted.chunk_by(|left, right| left == right) {
            steps.at.push(equal[0]);
            steps.below.push(count);
            count += equal.len() as f64;
            steps.upto.push(count);
        }
        steps
    }

    /// The greatest convex function below the steps between two of them: where it touches, and its value at each.
    fn convex_minorant(&self, low: usize, high: usize) -> (Vec<usize>, Vec<f64>) {
        hull(&self.at[low..=high], &self.below[low..=high], 1.0)
    }

    /// The least concave function above the steps between two of them.
    fn concave_majorant(&self, low: usize, high: usize) -> (Vec<usize>, Vec<f64>) {
        hull(&self.at[low..=high], &self.upto[low..=high], -1.0)
    }
}

/// Lower convex hull of points with ascending `x` (`side` 1), or the upper one (`side` −1): the indices of its
/// corners and its height at every `x`.
fn hull(x: &[f64], y: &[f64], side: f64) -> (Vec<usize>, Vec<f64>) {
    let mut corners: Vec<usize> = Vec::with_capacity(x.len());
    for point in 0..x.len() {
        while let [.., before, last] = corners[..] {
            let turn = (x[last] - x[before]) * (y[point] - y[before])
                - (y[last] - y[before]) * (x[point] - x[before]);
            if side * turn > 0.0 {
                break;
            }
            corners.pop();
        }
        corners.push(point);
    }
    let mut heights = Vec::with_capacity(x.len());
    for side in corners.windows(2) {
        let (from, to) = (side[0], side[1]);
        let slope = (y[to] - y[from]) / (x[to] - x[from]);
        heights.extend((from..to).map(|point| y[from] + slope * (x[point] - x[from])));
    }
    heights.extend(corners.last().map(|&last| y[last]));
    (corners, heights)
}

/// Shrinks the modal interval until minorant and majorant inside it are no farther apart than they are forced to be
/// from the steps outside it.
fn dip_of_sorted(sorted: &[f64]) -> f64 {
    let steps = Steps::of_sorted(sorted);
    let (mut low, mut high) = (0, steps.at.len() - 1);
    // Twice the dip, in counts. A step of one observation is never nearer than half a count.
    let mut twice_dip = 1.0f64;
    // A modal interval of one value costs nothing: a unimodal function may jump at its mode.
    while low < high {
        let (minorant_corners, minorant) = steps.convex_minorant(low, high);
        let (majorant_corners, majorant) = steps.concave_majorant(low, high);

        // The widest gap is at a corner of one of them; the next modal interval reaches from a corner of the
        // minorant to a corner of the majorant around it.
        let (mut gap, mut next_low, mut next_high) = (0.0, 0, high - low);
        for &corner in &minorant_corners {
            let here = majorant[corner] - minorant[corner];
            if here > gap {
                let above = majorant_corners.partition_point(|&other| other < corner);
                (gap, next_low, next_high) = (here, corner, majorant_corners[above]);
            }
        }
        for &corner in &majorant_corners {
            let here = majorant[corner] - minorant[corner];
            if here > gap {
                let above = minorant_corners.partition_point(|&other| other <= corner);
                (gap, next_low, next_high) = (here, minorant_corners[above - 1], corner);
            }
        }
        if gap <= twice_dip {
            break;
        }
        let (upto, below) = (&steps.upto[low..=high], &steps.below[low..=high]);
        for (upto, minorant) in upto.iter().zip(&minorant).take(next_low) {
            twice_dip = twice_dip.max(upto - minorant);
        }
        for (majorant, below) in majorant.iter().zip(below).skip(next_high + 1) {
            twice_dip = twice_dip.max(majorant - below);
        }
        (low, high) = (low + next_low, low + next_high);
    }
    0.5 * twice_dip / sorted.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition itself, by bisection: is there a function within `distance` counts of the steps that is convex
    /// up to some value and concave from there on? Slow, and shares nothing with the iteration above.
    fn dip_by_definition(values: &[f64]) -> f64 {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let steps = Steps::of_sorted(&sorted);
        let (mut low, mut high) = (0.0, sorted.len() as f64);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if (0..steps.at.len()).any(|mode| unimodal_within(&steps, mode, middle)) {
                high = middle;
            } else {
                low = middle;
            }
        }
        (high / sorted.len() as f64).max(0.5 / sorted.len() as f64)
    }

    fn unimodal_within(steps: &Steps, mode: usize, distance: f64) -> bool {
        let count = steps.upto[steps.at.len() - 1];
        let left = lowest_end(&steps.at, &steps.below, &steps.upto, mode, distance);
        // The right side is the left side turned by 180 degrees.
        let turned = |values: &[f64]| values.iter().rev().map(|value| count - value).collect::<Vec<f64>>();
        let at: Vec<f64> = steps.at.iter().rev().map(|x| -x).collect();
        let mirrored_mode = steps.at.len() - 1 - mode;
        let right = lowest_end(&at, &turned(&steps.upto), &turned(&steps.below), mirrored_mode, distance);
        match (left, right) {
            (Some(left), Some(right)) => left <= count - right + 1e-9,
            _ => false,
        }
    }

    /// The lowest value at the mode of a convex rising function that keeps between `upto - distance` and
    /// `below + distance` before it; `None` if there is no such function.
    fn lowest_end(at: &[f64], below: &[f64], upto: &[f64], mode: usize, distance: f64) -> Option<f64> {
        let (upper, lower) = (|i: usize| below[i] + distance, |i: usize| upto[i] - distance);
        let mut lowest = 0.0f64;
        for bounded in 0..mode {
            // Convexity: a chord between two upper bounds lies above the function.
            for from in 0..=bounded {
                for to in bounded..=mode {
                    let chord = if from == to {
                        upper(from)
                    } else {
                        upper(from)
                            + (upper(to) - upper(from)) * (at[bounded] - at[from]) / (at[to] - at[from])
                    };
                    if chord < lower(bounded) - 1e-9 {
                        return None;
                    }
                }
            }
            lowest = lowest.max(lower(bounded));
            for from in 0..bounded {
                let slope = (lower(bounded) - upper(from)) / (at[bounded] - at[from]);
                lowest = lowest.max(upper(from) + slope * (at[mode] - at[from]));
            }
        }
        (lowest <= upper(mode) + 1e-9).then_some(lowest)
    }

    #[test]
    fn small_cases_by_hand() {
        // Evenly spaced: the straight line is half a count away from every step.
        assert_eq!(dip(&[1.0, 2.0, 3.0, 4.0]), Some(1.0 / 8.0));
        assert_eq!(dip(&[5.0]), Some(0.5));
        assert_eq!(dip(&[]), None);
        // All in one place is as unimodal as can be.
        assert_eq!(dip(&[2.0; 7]), Some(1.0 / 14.0));
        // Two heaps of n/2: the nearest unimodal function misses each by a quarter, the largest dip there is.
        assert_eq!(dip(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0]), Some(0.25));
    }

    #[test]
    fn two_pairs_far_apart() {
        // With the mode at 1 the function is concave from 1 to 10. In counts it is at most 2 + d at 9 and at least
        // 4 - d at 10, so it rises by at least 2 - 2d there, and by at least eight times that from 1 to 9; but at 1
        // it is at least 2 - d already. So 2 + d - 8 (2 - 2d) >= 2 - d, d >= 8/9, and the dip is d / 4.
        assert!((dip(&[0.0, 1.0, 9.0, 10.0]).unwrap() - 2.0 / 9.0).abs() < 1e-12);
    }

    #[test]
    fn two_groups_are_seen_and_one_is_not() {
        let spread = |centre: f64| (0..10).map(move |i| centre + 0.001 * f64::from(i * i % 13));
        let two: Vec<f64> = spread(1.0).chain(spread(1.3)).collect();
        assert!(dip_p(&two).unwrap() < 0.01);
        let bell = [1.0, 1.05, 1.08, 1.1, 1.11, 1.12, 1.125, 1.13, 1.14, 1.15, 1.17, 1.2, 1.25];
        assert!(dip_p(&bell).unwrap() > 0.2);
    }

    #[test]
    fn the_p_value_is_that_of_uniform_samples() {
        let mut generator = ChaCha8Rng::seed_from_u64(77);
        let below = (0..300)
            .filter(|_| {
                let sample: Vec<f64> = (0..12).map(|_| unit_interval(&mut generator)).collect();
                dip_p(&sample).is_some_and(|p| p <= 0.2)
            })
            .count();
        // 60 expected, standard deviation 7.
        assert!((40..80).contains(&below), "{below}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn agrees_with_the_definition(values in prop::collection::vec(0.0f64..1.0, 1..11)) {
            let (computed, defined) = (dip(&values).unwrap(), dip_by_definition(&values));
            prop_assert!((computed - defined).abs() < 1e-6, "{} {}", computed, defined);
        }

        #[test]
        fn agrees_with_the_definition_on_ties(values in prop::collection::vec((0u8..6).prop_map(f64::from), 1..12)) {
            let (computed, defined) = (dip(&values).unwrap(), dip_by_definition(&values));
            prop_assert!((computed - defined).abs() < 1e-6, "{} {}", computed, defined);
        }

        #[test]
        fn scale_and_place_do_not_matter(values in prop::collection::vec(0.0f64..1.0, 1..30)) {
            let moved: Vec<f64> = values.iter().map(|value| 8.0 * value + 2.0).collect();
            prop_assert!((dip(&values).unwrap() - dip(&moved).unwrap()).abs() < 1e-9);
        }
    }
}
