//! k-means: each point goes to the nearest of some centres, and, where that is asked for, each centre to the mean of its points.
//!
//! Kostrov, *What to Do When Auto-Vectorization Fails?*, takes it for the loop that a compiler does not turn into vector
//! instructions, because a branch keeps the place of the least distance (`article`), and rewrites it without one. Keeping the
//! place need not cost anything for a distance (`nearest`).

mod article;
mod means;
mod nearest;
mod points;

use crate::array::Array;
use crate::case::{About, Case, Given, Prepared, Unit, Variant, Work, Workload};
use crate::checksum::Checksum;
use crate::error::{CaseError, Missing};
use crate::outside::{missing_module, python_script};
use crate::parameter::{Kind, Parameter};
use crate::share::{cut, cut_slice, each};
use crate::simd::Instructions;
use crate::texts;
use firsttouch_measure::Limit;
use firsttouch_threads::Team;
use means::Means;
use nearest::Centres;
use points::{BLOCK, COORDINATES, Point, TILE, as_blocks, coordinate, distance, point};
use std::ffi::OsStr;

/// Assignment of points to centres.
#[derive(Debug)]
pub(crate) struct KMeans;

static ABOUT: About = About {
    name: "k-means",
    summary: "the nearest of some centres to each point in three dimensions, and where asked, centres that move to the means",
    source: "Kostrov, What to Do When Auto-Vectorization Fails?",
    parameters: &[
        Parameter::new(
            "points",
            "points, in single precision",
            Kind::Count(1, 1 << 31),
            ["1000000", "400000"],
        ),
        Parameter::new(
            "clusters",
            "centres, which are some of the points; no more than there are points",
            Kind::Count(1, 1 << 20),
            ["1000", "250"],
        ),
        Parameter::new("rounds", "assignments of a step", Kind::Count(1, 1 << 20), ["10", "2"]),
        Parameter::new(
            "centres",
            "`still`: every round is the same assignment; `moving`: after each round centres move to the means of their points (Lloyd's algorithm), and one more assignment ends the step",
            Kind::Word(&["still", "moving"]),
            ["still", "still"],
        ),
    ],
    variants: &[
        Variant::ours("groups", "least distance of sixteen centres at a time, by vector instructions"),
        Variant::ours("portable", "the same, by what every processor has"),
        Variant::ours("branching", "the article's loop before: a branch keeps the nearest"),
        Variant::ours(
            "printed",
            "the article's loops after, as printed: by vector instructions, with the least distance and no nearest centre",
        ),
        Variant::others("scikit-learn", "scikit-learn: predict of KMeans, and fit where centres move"),
        Variant::others("faiss", "FAISS: search of IndexFlatL2, and Kmeans where centres move"),
    ],
    steps: 2,
    unit: Unit::Rate("GFLOP/s"),
    bound: Some(Limit::MultiplyAddSingle),
};

impl Case for KMeans {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn missing(&self, variant: &Variant, path: Option<&OsStr>) -> Option<Missing> {
        let (module, remedy) = match variant.name {
            "scikit-learn" => ("sklearn", "pip install scikit-learn"),
            "faiss" => ("faiss", "pip install faiss-cpu"),
            _ => return None,
        };
        missing_module(module, path, remedy)
    }

    fn prepare(&self, given: &mut Given<'_>) -> Result<Prepared, CaseError> {
        let number = |name| given.arguments.number(name);
        let (points, clusters, rounds) = (number("points"), number("clusters"), number("rounds"));
        let moving = given.arguments.word("centres") == "moving";
        if clusters > points {
            return Err(CaseError::Together(format!("{points} points are no {clusters} clusters")));
        }
        let method = match given.variant.name {
            "groups" => Method::Groups(Instructions::best()),
            "portable" => Method::Groups(Instructions::Portable),
            "branching" => Method::Branching,
            "printed" if moving => {
                return Err(CaseError::Together(
                    "the form as printed labels no points that centres could move to".to_owned(),
                ));
            }
            "printed" => Method::Printed(Instructions::best()),
            library => {
                let values = ABOUT.parameters.iter().map(|parameter| given.arguments.word(parameter.name));
                let words = values.chain([library]).map(str::to_owned).collect();
                let script = python_script(texts::K_MEANS_LIBRARIES_PY, words);
                return Ok(Prepared::Outside(script.threads(given.team.size())));
            }
        };
        let blocks = points.div_ceil(TILE);
        let mut coordinates = given.arrays.zeroed::<f32>("points", blocks * BLOCK)?;
        let mut labels = given.arrays.zeroed::<u32>("labels", blocks * TILE)?;
        let members = given.team.size();
        let parts = cut(blocks, members, 1).into_iter().zip(cut_slice(&mut coordinates, members, BLOCK));
        let parts = parts.zip(cut_slice(&mut labels, members, TILE)).collect();
        each(given.team, parts, |_, ((numbers, coordinates), labels)| {
            for (number, block) in numbers.zip(coordinates.chunks_exact_mut(BLOCK)) {
                for (place, value) in block.iter_mut().enumerate() {
                    *value = coordinate(number * TILE + place % TILE, place / TILE);
                }
            }
            labels.fill(0);
        });
        let first = (0..clusters).map(|cluster| (cluster as u64 * points as u64 / clusters as u64) as usize);
        let first: Vec<Point> = first.map(|place| point(as_blocks(&coordinates), place)).collect();
        let means = if moving { Means::of(members, clusters) } else { Means::default() };
        let centres = first.clone();
        Ok(Prepared::Here(Box::new(Clustering {
            method,
            points,
            coordinates,
            labels,
            first,
            centres,
            grouped: Centres::default(),
            rounds,
            moving,
            means,
            printed: 0.0,
        })))
    }
}

/// How the nearest centre is found.
#[derive(Clone, Copy, Debug)]
enum Method {
    Groups(Instructions),
    Branching,
    Printed(Instructions),
}

struct Clustering {
    method: Method,
    points: usize,
    coordinates: Array<f32>,
    labels: Array<u32>,
    /// Where centres begin in each step.
    first: Vec<Point>,
    centres: Vec<Point>,
    grouped: Centres,
    rounds: usize,
    moving: bool,
    means: Means,
    /// What the form as printed has instead of labels: the sum of distances that it found.
    printed: f64,
}

impl Clustering {
    /// Labels all points.
    fn assign(&mut self, team: &mut Team) {
        let members = team.size();
        self.grouped.set(&self.centres);
        let (method, points, centres, grouped) = (self.method, self.points, &*self.centres, &self.grouped);
        let blocks = as_blocks(&self.coordinates);
        let parts = cut(blocks.len(), members, 1).into_iter();
        let parts = parts.zip(cut_slice(self.labels.as_chunks_mut().0, members, 1)).collect();
        let sums = each(team, parts, |_, (range, labels)| {
            let (begin, blocks) = (range.start * TILE, &blocks[range]);
            match method {
                Method::Groups(instructions) => nearest::label(instructions, blocks, grouped, labels),
                Method::Branching => article::branching(blocks, centres, labels),
                Method::Printed(instructions) => {
                    let mut sum = 0.0;
                    let found = |place: usize, least: f32| {
                        if begin + place < points {
                            sum += weighted(begin + place, f64::from(least));
                        }
                    };
                    article::printed(instructions, blocks, centres, labels, found);
                    return sum;
                }
            }
            0.0
        });
        self.printed = sums.into_iter().sum();
    }
}

/// Each point's share of the checksum, of which the place of the point is a part.
fn weighted(place: usize, square: f64) -> f64 {
    square.sqrt() * (1 + place % 7) as f64
}

impl Workload for Clustering {
    fn step(&mut self, team: &mut Team) {
        self.centres.copy_from_slice(&self.first);
        for _ in 0..self.rounds {
            self.assign(team);
            if self.moving {
                self.means.take(team, &self.coordinates, &self.labels, self.points, &mut self.centres);
            }
        }
        if self.moving {
            self.assign(team);
        }
    }

    /// Distances of all points to the centres that they were given. Between two centres at nearly the same distance rounding decides,
    /// and each form of the distance rounds in its own way: labels of such points differ, the sum does not. Moved
    /// centres differ a little more.
    fn checksum(&self) -> Checksum {
        let within = if self.moving { 1e-5 } else { 1e-7 };
        if let Method::Printed(_) = self.method {
            return Checksum::Near { value: self.printed, within };
        }
        let blocks = as_blocks(&self.coordinates);
        let of = |(place, label): (usize, &u32)| {
            weighted(place, distance(point(blocks, place), self.centres[*label as usize]))
        };
        Checksum::Near { value: self.labels[..self.points].iter().enumerate().map(of).sum(), within }
    }

    /// In each assignment points are read and labels written; a distance is three multiplications and additions.
    fn work(&self) -> Work {
        let assignments = (self.rounds + usize::from(self.moving)) as u64;
        let (points, clusters) = (self.points as u64, self.centres.len() as u64);
        Work {
            bytes: assignments * points * (4 * COORDINATES as u64 + 4),
            operations: assignments * points * clusters * 6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::here::{prepared, stepped};

    fn sum(variant: &str, chosen: &[(&str, &str)], threads: usize) -> f64 {
        let (Checksum::Near { value, .. }, _) = stepped(&KMeans, variant, chosen, threads) else {
            panic!("sums are of distances")
        };
        value
    }

    /// Lloyd's algorithm, all in double precision, one thing after the other.
    fn naive(points: usize, clusters: usize, rounds: usize) -> f64 {
        let point = |place| -> [f64; 3] { std::array::from_fn(|axis| f64::from(coordinate(place, axis))) };
        let square = |one: [f64; 3], other: [f64; 3]| {
            (0..3).map(|axis| (one[axis] - other[axis]).powi(2)).sum::<f64>()
        };
        let mut centres: Vec<[f64; 3]> =
            (0..clusters).map(|cluster| point(cluster * points / clusters)).collect();
        let nearest = |centres: &[[f64; 3]], place| {
            let squares = centres.iter().map(|centre| square(point(place), *centre)).enumerate();
            squares.min_by(|one, other| one.1.total_cmp(&other.1)).unwrap()
        };
        for _ in 0..rounds {
            let labels: Vec<usize> = (0..points).map(|place| nearest(&centres, place).0).collect();
            for (cluster, centre) in centres.iter_mut().enumerate() {
                let own: Vec<usize> = (0..points).filter(|place| labels[*place] == cluster).collect();
                *centre = std::array::from_fn(|axis| {
                    own.iter().map(|place| point(*place)[axis]).sum::<f64>() / own.len() as f64
                });
            }
        }
        (0..points).map(|place| weighted(place, nearest(&centres, place).1)).sum()
    }

    #[test]
    fn all_forms_come_to_what_a_naive_one_does() {
        for (points, clusters) in [(1, 1), (63, 5), (1000, 17)] {
            let chosen = [("points", &*points.to_string()), ("clusters", &*clusters.to_string())];
            let still = naive(points, clusters, 0);
            for variant in ["groups", "portable", "branching", "printed"] {
                for threads in [1, 2] {
                    let sum = sum(variant, &chosen, threads);
                    assert!((sum - still).abs() <= 1e-6 * still, "{variant}: {sum}, not {still}");
                }
            }
        }
    }

    #[test]
    fn moving_centres_are_those_of_lloyd() {
        let wanted = naive(1000, 17, 3);
        let chosen = [("points", "1000"), ("clusters", "17"), ("rounds", "3"), ("centres", "moving")];
        assert!(wanted < 0.98 * naive(1000, 17, 0), "points come nearer to their centres");
        for variant in ["groups", "portable", "branching"] {
            let sum = sum(variant, &chosen, 2);
            assert!((sum - wanted).abs() <= 1e-5 * wanted, "{variant}: {sum}, not {wanted}");
        }
    }

    #[test]
    fn work_is_what_is_read_written_and_multiplied() {
        let chosen = [("points", "1000"), ("clusters", "10"), ("rounds", "3")];
        let work =
            |centres| stepped(&KMeans, "groups", &[&chosen[..], &[("centres", centres)]].concat(), 1).1;
        // Three coordinates and a label of four bytes each.
        assert_eq!(work("still"), Work { bytes: 3 * 1000 * 16, operations: 3 * 1000 * 10 * 6 });
        assert_eq!(work("moving"), Work { bytes: 4 * 1000 * 16, operations: 4 * 1000 * 10 * 6 });
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let mut team = Team::of_this_process(1).unwrap();
        let few = [("points", "3"), ("clusters", "4")];
        let many = prepared(&KMeans, "groups", &few, &mut team).unwrap_err();
        assert_eq!(many.to_string(), "3 points are no 4 clusters");
        let moving = [("points", "100"), ("clusters", "4"), ("centres", "moving")];
        prepared(&KMeans, "printed", &moving, &mut team).unwrap_err();
    }
}
