//! The isotropic acoustic wave equation in three dimensions, by explicit finite differences: what seismic imaging spends its time
//! with, and what high-bandwidth memory was first filled with.
//!
//! The field of the next time is computed from that of now and the one before, in whose place it is stored: eighth order in space,
//! second in time, single precision. A wave is absorbed where it comes near the faces of the cube, by a damping that grows
//! towards them (Cerjan and others, 1985; here as a term of first order), so that it does not come back.

mod field;
mod rows;
mod sweep;

use crate::array::{Array, Arrays};
use crate::case::{About, Case, Given, Prepared, Unit, Variant, Work, Workload};
use crate::checksum::Checksum;
use crate::error::{CaseError, Missing};
use crate::outside::{missing_module, python_script};
use crate::parameter::{Kind, Parameter};
use crate::share::{cut, cut_slice, each};
use crate::texts;
use field::Cube;
use firsttouch_measure::Limit;
use firsttouch_threads::Team;
use rows::{Fields, Rows};
use std::ffi::OsStr;
use std::ops::Range;
use sweep::{Cut, sweep};

/// Time steps of the wave equation.
#[derive(Debug)]
pub(crate) struct Wave;

static ABOUT: About = About {
    name: "wave3d",
    summary: "time steps of an acoustic wave in a cube, of eighth order in space and second in time",
    source: "3D Isotropic Acoustic Finite-Difference Wave Equation Code: A Many-Core Processor Implementation and Analysis",
    parameters: &[
        Parameter::new("n", "points along each side of the cube", Kind::Count(1, 1 << 14), ["512", "192"]),
        Parameter::new("times", "time steps of a step", Kind::Count(1, 1 << 20), ["8", "4"]),
        Parameter::new(
            "border",
            "points at each face that absorb what comes there",
            Kind::Count(0, 1 << 14),
            ["20", "20"],
        ),
    ],
    variants: &[
        Variant::ours("blocked", "vectors, in tiles that stay in a cache"),
        Variant::ours("time-tiles", "the same, several time steps of a tile while it is in a cache"),
        Variant::ours("planes", "the same, plane after plane"),
        Variant::ours("plain", "what the compiler makes of a plain loop over rows"),
        Variant::others("devito", "Devito: C made of the equation, compiled when it runs"),
    ],
    steps: 2,
    unit: Unit::Rate("Gpoints/s"),
    bound: Some(Limit::Read),
};

impl Case for Wave {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn missing(&self, variant: &Variant, path: Option<&OsStr>) -> Option<Missing> {
        match variant.name {
            "devito" => missing_module("devito", path, "pip install devito"),
            _ => None,
        }
    }

    fn prepare(&self, given: &mut Given<'_>) -> Result<Prepared, CaseError> {
        let numbers = ["n", "times", "border"].map(|name| given.arguments.number(name));
        let [n, times, border] = numbers;
        let (rows, tile, depth) = match given.variant.name {
            "blocked" => (rows::all()[0], TILE, 1),
            "time-tiles" => (rows::all()[0], TILE, DEPTH),
            "planes" => (rows::all()[0], n, 1),
            "plain" => (rows::plain as Rows, n, 1),
            _ => {
                let arguments = numbers.iter().map(usize::to_string).collect();
                return Ok(Prepared::Outside(python_script(texts::WAVE3D_WAVE3D_PY, arguments)));
            }
        };
        let how = Cut { rows, tile, depth };
        let waves = Waves::new(given.arrays, given.team, Cube::new(n, border), times, how)?;
        Ok(Prepared::Here(Box::new(waves)))
    }
}

/// Rows of a tile: nine planes of as many, and of those beside them, stay in the cache of a core.
const TILE: usize = 32;
/// Time steps at once: the planes of a tile that they need stay in a cache that cores share.
const DEPTH: usize = 4;

struct Waves {
    /// The field one time step ago; after a time step that of the next time, and the two change their names.
    before: Array<f32>,
    now: Array<f32>,
    /// What the sum of differences counts: the square of how far a wave comes in a time step.
    speed: Array<f32>,
    cube: Cube,
    times: usize,
    how: Cut,
}

impl Waves {
    fn new(arrays: &Arrays, team: &mut Team, cube: Cube, times: usize, how: Cut) -> Result<Waves, CaseError> {
        let [before, now, speed] = ["before", "now", "speed"].map(|name| arrays.zeroed(name, cube.length()));
        let mut waves = Waves { before: before?, now: now?, speed: speed?, cube, times, how };
        let cube = &waves.cube;
        each(team, slabs(&mut waves.speed, cube, team.size()), |_, (first, slab)| {
            cube.fill_speed(first, slab)
        });
        waves.reset(team);
        Ok(waves)
    }

    /// Time steps at once.
    fn advance(&mut self, times: &Range<usize>, team: &mut Team) {
        let fields = Fields::new(&self.cube, &mut self.before, &mut self.now, &self.speed);
        sweep(&self.cube, fields, times, self.how, team);
        if !times.len().is_multiple_of(2) {
            std::mem::swap(&mut self.before, &mut self.now);
        }
    }
}

/// The planes of each member, and the first of them.
fn slabs<'a>(array: &'a mut [f32], cube: &Cube, members: usize) -> Vec<(usize, &'a mut [f32])> {
    let starts = cut(cube.n, members, 1).into_iter().map(|planes| planes.start);
    starts.zip(cut_slice(cube.inner(array), members, cube.plane)).collect()
}

impl Workload for Waves {
    fn reset(&mut self, team: &mut Team) {
        let cube = &self.cube;
        for array in [&mut self.before, &mut self.now] {
            each(team, slabs(array, cube, team.size()), |_, (z, slab)| cube.fill_field(z, slab));
        }
    }

    fn step(&mut self, team: &mut Team) {
        for first in (0..self.times).step_by(self.how.depth) {
            self.advance(&(first..(first + self.how.depth).min(self.times)), team);
        }
    }

    /// The squares of the field that was computed last, each with a weight of its place; rounding differs by the order of additions.
    fn checksum(&self) -> Checksum {
        Checksum::Near { value: self.cube.weighted_energy(&self.now), within: 1e-4 }
    }

    /// Of each point and time step three numbers are read and one is written: those beside it come from the caches.
    fn work(&self) -> Work {
        let points = (self.cube.n.pow(3) * self.times) as u64;
        Work { bytes: 4 * size_of::<f32>() as u64 * points, operations: points }
    }

    fn picture(&self) -> Option<Vec<u8>> {
        Some(self.cube.picture(&self.now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn waves(n: usize, border: usize, (rows, tile): (Rows, usize), team: &mut Team) -> Waves {
        let how = Cut { rows, tile, depth: 1 };
        Waves::new(&Arrays::default(), team, Cube::new(n, border), 1, how).unwrap()
    }

    /// A time step when the source is silent again.
    const LATE: Range<usize> = 1000..1001;

    /// A point, or the zero outside.
    fn point(waves: &Waves, field: &[f32], place: [isize; 3]) -> f64 {
        let inside = place.iter().all(|at| (0..waves.cube.n as isize).contains(at));
        if inside { f64::from(field[waves.cube.at(place.map(|at| at as usize))]) } else { 0.0 }
    }

    /// The equation, point by point: second differences along the axes, and a movement that is damped.
    fn expected(waves: &Waves, place: [usize; 3]) -> f64 {
        const FACTORS: [f64; 5] = [-205.0 / 72.0, 8.0 / 5.0, -1.0 / 5.0, 8.0 / 315.0, -1.0 / 560.0];
        let at = place.map(|at| at as isize);
        let mut sum = 0.0;
        for axis in 0..3 {
            for distance in -4_isize..=4 {
                let mut neighbour = at;
                neighbour[axis] += distance;
                sum += FACTORS[distance.unsigned_abs()] * point(waves, &waves.now, neighbour);
            }
        }
        let damping = place.map(|at| waves.cube.damping[at]).into_iter().fold(0.0, f32::max);
        let (now, before) = (point(waves, &waves.now, at), point(waves, &waves.before, at));
        now + (now - before) * (1.0 - f64::from(damping)) + point(waves, &waves.speed, at) * sum
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn every_point_follows_the_equation(
            n in 1_usize..40,
            border in 0_usize..25,
            tile in 1_usize..40,
            threads in 1_usize..3,
            seed in any::<u64>(),
        ) {
            let mut team = Team::of_this_process(threads).unwrap();
            for rows in rows::all() {
                let mut waves = waves(n, border, (rows, tile), &mut team);
                let cube = Cube::new(n, border);
                for (array, salt) in [(&mut waves.before, 1), (&mut waves.now, 2)] {
                    for place in (0..n * n * n).map(|number| [number % n, number / n % n, number / n / n]) {
                        let at = cube.at(place);
                        array[at] = (firsttouch_measure::mix(seed ^ (salt << 32) ^ at as u64) >> 40) as f32 / 1e6;
                    }
                }
                let places = || (0..n * n * n).map(|number| [number % n, number / n % n, number / n / n]);
                let expected: Vec<f64> = places().map(|place| expected(&waves, place)).collect();
                waves.advance(&LATE, &mut team);
                for (place, expected) in places().zip(&expected) {
                    let seen = point(&waves, &waves.now, place.map(|at| at as isize));
                    prop_assert!((seen - expected).abs() < 2e-4, "{place:?} of {n}: {seen}, {expected}");
                }
                let inside: f64 = places().map(|place| f64::from(waves.now[cube.at(place)]).powi(2)).sum();
                let all: f64 = waves.now.iter().map(|value| f64::from(*value).powi(2)).sum();
                prop_assert!((all - inside).abs() <= 1e-9 * all, "what surrounds the cube stays zero");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// To the last bit: the same numbers are added in the same order.
        #[test]
        fn several_time_steps_at_once_come_to_the_same(
            n in 1_usize..70,
            border in 0_usize..25,
            tile in 8_usize..40,
            (depth, times) in (2_usize..6, 1_usize..12),
            threads in 1_usize..5,
        ) {
            let mut team = Team::of_this_process(threads).unwrap();
            let mut ends = Vec::new();
            for depth in [1, depth] {
                let how = Cut { rows: rows::all()[0], tile, depth };
                let mut waves = Waves::new(&Arrays::default(), &mut team, Cube::new(n, border), times, how).unwrap();
                waves.reset(&mut team);
                waves.step(&mut team);
                ends.push([waves.before.to_vec(), waves.now.to_vec()]);
            }
            prop_assert!(ends[0] == ends[1]);
        }
    }

    /// Energy of the field after some times, of a wave that starts at the source.
    fn energy(border: usize, times: usize) -> f64 {
        let mut team = Team::of_this_process(2).unwrap();
        let mut waves = waves(48, border, (rows::all()[0], TILE), &mut team);
        waves.before.fill(0.0);
        waves.now.fill(0.0);
        for time in 0..times {
            waves.advance(&(time..time + 1), &mut team);
        }
        waves.now.iter().map(|value| f64::from(*value).powi(2)).sum()
    }

    #[test]
    fn a_wave_is_kept_by_walls_and_lost_in_a_border() {
        let (walls, absorbed) = (energy(0, 600), energy(20, 600));
        assert!(walls.is_finite() && walls > 1e-6 && walls < 1e3, "{walls}");
        assert!(absorbed < walls / 100.0, "{absorbed} of {walls}");
    }

    #[test]
    fn work_is_counted_by_point_and_time() {
        let mut team = Team::of_this_process(1).unwrap();
        let mut waves = waves(10, 2, (rows::plain as Rows, 10), &mut team);
        waves.times = 3;
        assert_eq!(waves.work(), Work { bytes: 3 * 1000 * (3 + 1) * 4, operations: 3000 });
    }

    #[test]
    fn a_picture_shows_the_plane_of_the_source() {
        let mut team = Team::of_this_process(1).unwrap();
        let mut waves = waves(8, 0, (rows::plain as Rows, 8), &mut team);
        waves.now.fill(0.0);
        let (up, down) = (waves.cube.at([4, 4, 2]), waves.cube.at([1, 4, 7]));
        waves.now[up] = 2.0;
        waves.now[down] = -1.0;
        let picture = waves.picture().unwrap();
        let (head, points) = picture.split_at(picture.len() - 64);
        assert_eq!(head, b"P5\n8 8\n255\n");
        assert_eq!((points[2 * 8 + 4], points[7 * 8 + 1], points[0]), (255, 64, 128));
    }
}
