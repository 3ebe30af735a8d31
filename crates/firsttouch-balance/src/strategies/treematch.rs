//! Hierarchical mapping for tasks that are nowhere yet: the machine is taken apart along its greatest distances, and the
//! message graph with it, so that what talks the most ends up the nearest.
//!
//! TreeMatch (Jeannot and Mercier 2010) groups from the leaves up, which needs a balanced tree. This goes from the root down
//! as SharedMap does (2025), which needs no tree at all: a machine of any distances has greatest ones.

use super::graph::{Graph, capacities};
use super::multilevel::{Effort, Net, Room, cut, mapped};
use crate::{Answer, Asked, Machine, Problem, Strategy, StrategyError};
use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng;

/// With fewer tasks, and with more pairs that talk, less is tried at once.
const FEW: usize = 400;
const MANY_PAIRS: usize = 200_000;
const LIGHT: Effort = Effort { beginnings: 1, firsts: 1, grown: 1, cycles: 0 };
const THOROUGH: Effort = Effort { beginnings: 4, firsts: 6, grown: 2, cycles: 2 };
/// With more cores, tasks are not moved by the distances of all of them: their table has as many squared.
const MOST_CORES: usize = 1024;
/// Loads that differ by less than this share are alike.
const ALIKE: f64 = 1e-9;

/// Cuts graph and machine together, from the greatest distances down.
#[derive(Clone, Copy, Debug)]
pub struct TreeMatch;

impl Strategy for TreeMatch {
    fn name(&self) -> &'static str {
        "treematch"
    }

    fn map(&self, asked: &Asked<'_>) -> Result<Answer, StrategyError> {
        let Asked { problem, machine, start, options, .. } = *asked;
        let graph = Graph::of(problem);
        let mut random = ChaCha8Rng::seed_from_u64(options.seed);
        let (start, effort) = (graph.cores_of(start), quick(problem));
        let cores = multisect(problem, machine, &graph, &start, effort, options.tolerance, &mut random);
        Ok(graph.mapping_of(&cores).into())
    }
}

/// What there is time for at once: a millisecond for few tasks, a second for very many.
pub(super) fn quick(problem: &Problem) -> Effort {
    match (problem.len(), problem.pairs()) {
        (tasks @ ..FEW, _) => {
            Effort { beginnings: (FEW / 2 / tasks.max(1)).clamp(1, THOROUGH.beginnings), ..LIGHT }
        }
        (_, ..MANY_PAIRS) => THOROUGH,
        _ => Effort { firsts: THOROUGH.firsts / 2, ..LIGHT },
    }
}

/// What is tried in a round of a longer search.
pub(super) fn patient(problem: &Problem) -> Effort {
    if problem.pairs() < MANY_PAIRS { THOROUGH } else { quick(problem) }
}

/// The cores of the tasks in the order of the graph, filled to about what the tolerance lets them be; pinned tasks keep those of
/// `start`.
pub(super) fn multisect(
    problem: &Problem,
    machine: &Machine,
    graph: &Graph,
    start: &[u32],
    effort: Effort,
    tolerance: f64,
    random: &mut ChaCha8Rng,
) -> Vec<u32> {
    let movable = |task: &u32| !problem.tasks()[graph.tasks[*task as usize] as usize].pinned;
    let members: Vec<u32> = (0..graph.len() as u32).filter(movable).collect();
    let rooms = Rooms::of(problem, machine, graph, &members, tolerance);
    let net = Net::of(graph, &members);
    let take_apart = |net: &Net, random: &mut ChaCha8Rng| taken_apart(net, machine, &rooms, effort, random);
    let found = if machine.cores().len() > MOST_CORES {
        take_apart(&net, random)
    } else {
        mapped(&net, &distances(machine), &rooms.cores, random, take_apart)
    };
    let mut cores = start.to_vec();
    for (task, core) in members.iter().zip(found) {
        cores[*task as usize] = core;
    }
    cores
}

/// The core of each vertex, from the greatest distances down.
fn taken_apart(
    net: &Net,
    machine: &Machine,
    rooms: &Rooms,
    effort: Effort,
    random: &mut ChaCha8Rng,
) -> Vec<u32> {
    let mut cores = vec![0; net.len()];
    let all: Vec<u32> = (0..machine.cores().len() as u32).collect();
    let depth = depth(machine, &all);
    let mut open = vec![((0..net.len() as u32).collect::<Vec<u32>>(), all, 1)];
    while let Some((members, group, level)) = open.pop() {
        if let [core] = group[..] {
            members.iter().for_each(|vertex| cores[*vertex as usize] = core);
            continue;
        }
        let parts = machine.parts(&group);
        let share = (f64::from(level) / f64::from(depth)).min(1.0);
        let wanted: Vec<Room> = parts.iter().map(|part| rooms.of_part(part, share)).collect();
        let found = cut(&net.induced(&members), &wanted, effort, random);
        let mut inside = vec![Vec::new(); parts.len()];
        for (vertex, part) in members.iter().zip(found) {
            inside[part as usize].push(*vertex);
        }
        open.extend(inside.into_iter().zip(parts).map(|(members, part)| (members, part, level + 1)));
    }
    cores
}

/// Between all cores, by row, the mean of both directions.
fn distances(machine: &Machine) -> Vec<f64> {
    let all = || 0..machine.cores().len() as u32;
    let mean = |a: u32, b: u32| (machine.distance(a, b) + machine.distance(b, a)) / 2.0;
    all().flat_map(|a| all().map(move |b| mean(a, b))).collect()
}

/// How often a group of cores can be taken apart.
fn depth(machine: &Machine, cores: &[u32]) -> u32 {
    let mut group = cores.to_vec();
    let mut depth = 0;
    while group.len() > 1 {
        group = machine.parts(&group).swap_remove(0);
        depth += 1;
    }
    depth
}

/// What cores are to take, and can take.
struct Rooms {
    cores: Vec<Room>,
    /// The load that all tasks have, if they are alike.
    alike: Option<f64>,
    heaviest: f64,
}

impl Rooms {
    fn of(problem: &Problem, machine: &Machine, graph: &Graph, members: &[u32], tolerance: f64) -> Rooms {
        let loads = || members.iter().map(|task| graph.loads[*task as usize]);
        let (heaviest, lightest) = (loads().fold(0.0, f64::max), loads().fold(f64::INFINITY, f64::min));
        let alike = (heaviest - lightest <= ALIKE * heaviest).then_some(heaviest).filter(|load| *load > 0.0);
        let wanted = capacities(problem, machine);
        let most = |wanted: f64| wanted * (1.0 + tolerance);
        let whole = |wanted: f64, load: f64| (most(wanted) / load * (1.0 + ALIKE)).floor() * load;
        let caps: Vec<f64> = match alike {
            None => wanted.iter().map(|wanted| most(*wanted)).collect(),
            Some(load) => {
                let caps: Vec<f64> = wanted.iter().map(|wanted| whole(*wanted, load)).collect();
                if caps.iter().sum::<f64>() >= load * members.len() as f64 * (1.0 - ALIKE) {
                    caps
                } else {
                    // Some core has to take more than it should.
                    wanted.iter().map(|wanted| ((wanted / load) * (1.0 - ALIKE)).ceil() * load).collect()
                }
            }
        };
        let cores = wanted.into_iter().zip(caps).map(|(wanted, cap)| Room { wanted, cap }).collect();
        Rooms { cores, alike, heaviest }
    }

    /// What a group of cores is to take; of what they could take beyond that a share, so that something is left for the parts
    /// of it.
    fn of_part(&self, part: &[u32], share: f64) -> Room {
        let rooms: Vec<Room> = part.iter().map(|core| self.cores[*core as usize]).collect();
        let Room { wanted, cap: most } = Room::of_all(&rooms);
        let cap = wanted + (most - wanted) * share;
        let cap = match self.alike {
            Some(load) => cap.max((wanted / load * (1.0 - ALIKE)).ceil() * load).min(most),
            None => cap.max(wanted + self.heaviest / 2.0),
        };
        Room { wanted, cap }
    }
}
