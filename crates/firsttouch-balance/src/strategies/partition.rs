//! What METIS and SCOTCH share: the graph as whole numbers, a program that is run on it, and parts that become cores.

use super::folder::Folder;
use super::graph::{Graph, capacities};
use crate::{Answer, Asked, Machine, Mapping, Problem, SolveOptions, StrategyError};
use std::fmt::Write;
use std::fs;
use std::io;
use std::process::Command;

/// Weights become whole numbers: the heaviest is this.
const HEAVIEST_TASK: f64 = 10_000.0;
const HEAVIEST_LINK: f64 = 1_000_000.0;

/// A program to run, and what would bring it.
pub(super) struct Program {
    pub(super) strategy: &'static str,
    pub(super) program: &'static str,
    pub(super) hint: &'static str,
}

impl Program {
    /// Runs the program in a folder.
    fn run(&self, arguments: &[String], folder: &Folder) -> Result<(), StrategyError> {
        let mut command = Command::new(self.program);
        // It reads nothing there: for as long as it holds that, the folder is its own.
        let command = command.args(arguments).current_dir(folder.path()).stdin(folder.in_use());
        let run = command.output();
        let output = run.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => StrategyError::Missing {
                strategy: self.strategy,
                reason: format!("there is no program `{}`", self.program),
                hint: self.hint,
            },
            _ => self.failed(&format!("{}: {error}", self.program)),
        })?;
        if output.status.success() {
            return Ok(());
        }
        let said = [output.stderr, output.stdout].concat();
        let said = String::from_utf8_lossy(&said);
        let line = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it said nothing");
        Err(self.failed(&format!("{} ended with {}: {line}", self.program, output.status)))
    }

    fn failed(&self, reason: &dyn std::fmt::Display) -> StrategyError {
        StrategyError::Failed { strategy: self.strategy, reason: reason.to_string() }
    }
}

/// One run of a program: the graph it is given, and the folder it works in.
pub(super) struct Job<'a> {
    program: &'a Program,
    weighted: Weighted,
    folder: &'a Folder,
    pub(super) parts: usize,
}

impl Job<'_> {
    /// For each vertex its weight, and its neighbours with theirs.
    pub(super) fn rows(&self) -> Vec<(u64, Vec<(u32, u64)>)> {
        self.weighted.rows()
    }

    /// What part of the load each core can take.
    pub(super) fn shares(&self) -> Vec<f64> {
        self.weighted.shares()
    }

    /// Writes a file of the folder.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), StrategyError> {
        let path = self.folder.path().join(name);
        fs::write(&path, text).map_err(|error| self.program.failed(&format!("{}: {error}", path.display())))
    }

    /// Runs the program in the folder.
    pub(super) fn run(&self, arguments: &[String]) -> Result<(), StrategyError> {
        self.program.run(arguments, self.folder)
    }

    /// Reads a file of the folder.
    pub(super) fn read(&self, name: &str) -> Result<String, StrategyError> {
        fs::read_to_string(self.folder.path().join(name)).map_err(|error| self.program.failed(&error))
    }
}

/// Has a program cut the graph into a part for each core, and maps by its parts, of which it must have named one for each
/// vertex.
pub(super) fn partition(
    program: &Program,
    asked: &Asked<'_>,
    run: impl FnOnce(&Job<'_>) -> Result<Vec<Option<u32>>, StrategyError>,
) -> Result<Answer, StrategyError> {
    let Asked { problem, machine, start, options, .. } = *asked;
    let weighted = Weighted::of(problem, machine);
    let (parts, vertices) = (weighted.room.len(), weighted.free.len());
    if parts == 1 || vertices == 0 {
        return Ok(start.clone().into());
    }
    let folder = Folder::new().map_err(|error| program.failed(&error))?;
    let job = Job { program, weighted, folder: &folder, parts };
    let found: Option<Vec<u32>> =
        run(&job)?.into_iter().map(|part| part.filter(|part| (*part as usize) < parts)).collect();
    let found = found
        .filter(|found| found.len() == vertices)
        .ok_or_else(|| program.failed(&"its answer has other parts than were asked for"))?;
    Ok(job.weighted.mapping(&found, start, options).into())
}

/// The tasks that may move, with their links among themselves, in whole numbers.
struct Weighted {
    graph: Graph,
    /// The tasks that may move, as places in the graph.
    free: Vec<u32>,
    /// Of every place its number among the free ones.
    number: Vec<Option<u32>>,
    /// How much load each core can take.
    room: Vec<f64>,
}

impl Weighted {
    fn of(problem: &Problem, machine: &Machine) -> Weighted {
        let graph = Graph::of(problem);
        let free: Vec<u32> = (0..graph.len() as u32)
            .filter(|place| !problem.tasks()[graph.tasks[*place as usize] as usize].pinned)
            .collect();
        let mut number = vec![None; graph.len()];
        for (index, place) in free.iter().enumerate() {
            number[*place as usize] = Some(index as u32);
        }
        Weighted { graph, free, number, room: capacities(problem, machine) }
    }

    fn rows(&self) -> Vec<(u64, Vec<(u32, u64)>)> {
        let top = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        let heaviest = top(&mut self.graph.loads.iter().copied());
        let links = || self.free.iter().flat_map(|place| self.graph.links(*place));
        let strongest = top(&mut links().map(|link| link.out + link.back));
        let whole = |value: f64, most: f64, scale: f64| (value / most * scale).round().max(1.0) as u64;
        self.free
            .iter()
            .map(|place| {
                let load = self.graph.loads[*place as usize];
                let neighbours = self.graph.links(*place).iter().filter_map(|link| {
                    let other = self.number[link.other as usize]?;
                    Some((other, whole(link.out + link.back, strongest, HEAVIEST_LINK)))
                });
                (whole(load, heaviest, HEAVIEST_TASK), neighbours.collect())
            })
            .collect()
    }

    /// No program takes shares of 0.
    fn shares(&self) -> Vec<f64> {
        let least = 1e-6;
        let all: f64 = self.room.iter().sum();
        let raw = self.room.iter().map(|room| if all > 0.0 { (room / all).max(least) } else { 1.0 });
        let raw: Vec<f64> = raw.collect();
        let sum: f64 = raw.iter().sum();
        raw.iter().map(|share| share / sum).collect()
    }

    /// The mapping of parts, by vertex.
    fn mapping(&self, parts: &[u32], start: &Mapping, options: &SolveOptions) -> Mapping {
        let mut cores = self.graph.cores_of(start);
        let label = if options.raw { None } else { Some(self.relabelled(parts, &cores)) };
        for (place, part) in self.free.iter().zip(parts) {
            cores[*place as usize] = label.as_ref().map_or(*part, |label| label[*part as usize]);
        }
        self.graph.mapping_of(&cores)
    }

    /// The core of each part: the greatest overlap with what is on a core now first. A part goes only to a core that can take
    /// as much as the one it was made for.
    fn relabelled(&self, parts: &[u32], cores: &[u32]) -> Vec<u32> {
        let count = self.room.len();
        let mut overlap = vec![0.0; count * count];
        for (place, part) in self.free.iter().zip(parts) {
            let core = cores[*place as usize] as usize;
            overlap[*part as usize * count + core] += self.graph.loads[*place as usize];
        }
        let alike =
            |a: usize, b: usize| (self.room[a] - self.room[b]).abs() <= 1e-9 * self.room[a].max(self.room[b]);
        let mut pairs: Vec<usize> = (0..count * count)
            .filter(|pair| overlap[*pair] > 0.0 && alike(pair / count, pair % count))
            .collect();
        pairs.sort_unstable_by(|a, b| overlap[*b].total_cmp(&overlap[*a]).then(a.cmp(b)));
        let (mut label, mut taken) = (vec![None; count], vec![false; count]);
        for (part, core) in pairs.into_iter().map(|pair| (pair / count, pair % count)) {
            if label[part].is_none() && !taken[core] {
                (label[part], taken[core]) = (Some(core as u32), true);
            }
        }
        for (part, label) in label.iter_mut().enumerate().filter(|(_, label)| label.is_none()) {
            // Of cores that are alike as many are free as parts made for them have none.
            let core = (0..count).find(|core| !taken[*core] && alike(part, *core)).unwrap_or(part);
            (*label, taken[core]) = (Some(core as u32), true);
        }
        label.into_iter().flatten().collect()
    }
}

/// A line of whole numbers.
pub(super) fn line(text: &mut String, numbers: impl Iterator<Item = u64>) {
    for number in numbers {
        let _ = write!(text, "{number} ");
    }
    text.push('\n');
}
