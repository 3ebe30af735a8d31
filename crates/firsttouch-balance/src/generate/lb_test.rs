//! Charm++'s `lb_test`: loads between two bounds, most near the lower one, and a graph of small messages.

use super::{GenerateError, Rand, count, parameter, seconds};
use crate::{Message, Problem, Task};
use std::str::FromStr;

/// What the original seeds its generator with, before the loads and again before the graph.
const SEED: u32 = 12_345;
/// A message has 1000 bytes and a header.
const BYTES: f64 = 1120.0;
/// The share of all pairs that are links of the random graph.
const LINKED: f64 = 0.01;

/// Who sends to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// Each task to the next.
    Ring,
    /// To four neighbours of a nearly square mesh.
    Mesh2D,
    /// To six neighbours of the least cube that holds all.
    Mesh3D,
    /// A ring, and random links until one in a hundred pairs has one.
    RandGraph,
}

impl FromStr for Topology {
    type Err = String;

    fn from_str(word: &str) -> Result<Topology, String> {
        Ok(match word.to_ascii_lowercase().as_str() {
            "ring" => Topology::Ring,
            "mesh2d" => Topology::Mesh2D,
            "mesh3d" => Topology::Mesh3D,
            "randgraph" => Topology::RandGraph,
            _ => return Err(format!("`{word}` is none of Ring, Mesh2D, Mesh3D and RandGraph")),
        })
    }
}

/// The benchmark, with the parameters of its command line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LbTest {
    /// How many tasks.
    pub tasks: usize,
    /// The least load, in seconds.
    pub least_s: f64,
    /// The greatest load, in seconds.
    pub most_s: f64,
    /// Who sends to whom.
    pub topology: Topology,
    /// Added to the original's seed: 0 is the original.
    pub seed: u32,
}

impl LbTest {
    /// Tasks and messages of a step. Loads are `least + (most - least) u^4` for a random u: the mean is a fifth of the way up.
    ///
    /// # Errors
    ///
    /// Parameters that mean nothing.
    pub fn problem(&self) -> Result<Problem, GenerateError> {
        let tasks = count("the number of tasks", self.tasks)?;
        let (least, most) =
            (seconds("the least load", self.least_s)?, seconds("the greatest load", self.most_s)?);
        if most < least {
            return Err(parameter("the greatest load", &most, "it is not less than the least"));
        }
        let seed = SEED.wrapping_add(self.seed);
        let mut rand = Rand::new(seed);
        let loads = (0..tasks).map(|_| Task::new(least + (most - least) * rand.unit().powi(4)));
        let loads = loads.collect();
        let links = match self.topology {
            Topology::Ring => (0..tasks).map(|from| (from, (from + 1) % tasks)).collect(),
            Topology::Mesh2D => mesh(tasks, [columns(tasks), tasks]),
            Topology::Mesh3D => {
                let side = (1..).find(|side: &u32| u64::from(*side).pow(3) >= u64::from(tasks)).unwrap_or(1);
                mesh(tasks, [side, side * side])
            }
            Topology::RandGraph => random(tasks, &mut Rand::new(seed)),
        };
        let message = |(from, to): (u32, u32)| Message { from, to, count: 1.0, bytes: BYTES };
        let messages: Vec<Message> = links.into_iter().map(message).collect();
        Ok(Problem::new(loads, &messages)?)
    }
}

/// How long the rows of a nearly square mesh are.
fn columns(tasks: u32) -> u32 {
    let rows = (f64::from(tasks).sqrt() + 0.5).floor().max(1.0) as u32;
    tasks.div_ceil(rows)
}

/// Neighbours in a grid whose rows and planes have these numbers of tasks; the last plane may have holes.
fn mesh(tasks: u32, [row, plane]: [u32; 2]) -> Vec<(u32, u32)> {
    let mut links = Vec::new();
    for from in 0..tasks {
        // A step along a row must not leave it, nor one across rows the plane.
        for (step, size) in [(1, row), (row, plane), (plane, u32::MAX)] {
            let place = from % size;
            if place >= step {
                links.push((from, from - step));
            }
            if size - place > step && from + step < tasks {
                links.push((from, from + step));
            }
        }
    }
    links
}

/// The original's graph: each pair in turn becomes a link with the probability that still lets the number of links come out.
fn random(tasks: u32, rand: &mut Rand) -> Vec<(u32, u32)> {
    let pairs = i64::from(tasks) * i64::from(tasks - 1);
    let mut links: Vec<(u32, u32)> = Vec::new();
    let mut tried = 0;
    for from in 0..tasks {
        links.push((from, (from + 1) % tasks));
        tried += 1;
        for step in 2..tasks {
            let wanted = (LINKED * pairs as f64 - links.len() as f64).trunc();
            let drawn = f64::from(rand.draw()) * (pairs - tried) as f64 / f64::from(Rand::MAX);
            if drawn < wanted {
                links.push((from, (from + step) % tasks));
            }
            tried += 1;
        }
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(tasks: usize, topology: Topology) -> Problem {
        LbTest { tasks, least_s: 500e-6, most_s: 2000e-6, topology, seed: 0 }.problem().unwrap()
    }

    /// What the original prints: "Total work/step = 0.156776 sec", "420 of 39800 possible links".
    #[test]
    fn totals_are_those_of_the_original() {
        let problem = problem(200, Topology::RandGraph);
        assert!((problem.total_load() - 0.156_776).abs() < 5e-7, "{}", problem.total_load());
        assert_eq!(problem.pairs(), 420);
    }

    #[test]
    fn meshes_link_neighbours_both_ways() {
        // 14 x 15 with 10 holes: the last row is short.
        let plane = problem(200, Topology::Mesh2D);
        assert_eq!(columns(200), 15);
        let of = |problem: &Problem, task| problem.sent(task).iter().map(|arc| arc.to).collect::<Vec<_>>();
        assert_eq!(of(&plane, 0), [1, 15]);
        assert_eq!(of(&plane, 16), [1, 15, 17, 31]);
        assert_eq!(of(&plane, 199), [184, 198]);
        let cube = problem(200, Topology::Mesh3D);
        // 6 x 6 x 6.
        assert_eq!(of(&cube, 5), [4, 11, 41]);
        assert_eq!(of(&cube, 43), [7, 37, 42, 44, 49, 79]);
        for problem in [plane, cube] {
            for message in problem.messages() {
                assert!(problem.sent(message.to as usize).iter().any(|back| back.to == message.from));
            }
        }
        assert_eq!(problem(200, Topology::Ring).pairs(), 200);
    }

    #[test]
    fn what_means_nothing_is_refused() {
        let refused = |one: LbTest| one.problem().unwrap_err().to_string();
        let good = LbTest { tasks: 10, least_s: 0.1, most_s: 0.2, topology: Topology::Ring, seed: 0 };
        assert!(refused(LbTest { tasks: 0, ..good }).starts_with("the number of tasks is 0"));
        assert!(refused(LbTest { least_s: f64::NAN, ..good }).starts_with("the least load is NaN"));
        assert!(refused(LbTest { most_s: 0.05, ..good }).starts_with("the greatest load is 0.05"));
    }
}
