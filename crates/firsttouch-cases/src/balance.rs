//! Tasks of uneven loads that send one another messages, run by `firsttouch-runtime`, and moved by each strategy of balancing.

use crate::case::{About, Case, Given, Prepared, Unit, Variant, Work, Workload};
use crate::checksum::Checksum;
use crate::error::{CaseError, Missing};
use crate::outside::missing_program;
use crate::parameter::{Arguments, Kind, Parameter};
use firsttouch_balance::generate::{KNeighbor, LbTest, Topology, Work as Loads};
use firsttouch_balance::{CpuSelection, Machine, Mapping, Problem, strategies};
use firsttouch_machine::Root;
use firsttouch_memory::{Coverage, Pages};
use firsttouch_runtime::programs::{Jacobi, Synthetic};
use firsttouch_runtime::{Program, Runtime, Settings};
use firsttouch_threads::Team;
use std::cell::RefCell;
use std::ffi::OsStr;

/// Runs of the runtime.
#[derive(Debug)]
pub(crate) struct Balance;

/// Where the benchmarks and the figures are from.
const PAPER: &str = "Improving Charm++ Performance with a NUMA-aware Load Balancer (2011)";

static ABOUT: About = About {
    name: "balance",
    summary: "tasks of uneven loads that send messages, moved between threads by strategies of balancing",
    source: PAPER,
    parameters: &[
        Parameter::new(
            "benchmark",
            "tasks that talk to neighbours in a ring, or by a random graph, or blocks of a relaxation of which a quarter takes four times as long",
            Kind::Word(&["kneighbor", "lb_test", "jacobi2d"]),
            ["kneighbor", "kneighbor"],
        ),
        Parameter::new(
            "tasks",
            "tasks; of jacobi2d the next square below",
            Kind::Count(16, 16_384),
            ["200", "50"],
        ),
        Parameter::new(
            "state",
            "memory of a task, at least what a message takes",
            Kind::Bytes(4096, 1 << 30),
            ["1M", "256K"],
        ),
        Parameter::new(
            "rounds",
            "random changes of their states that all tasks make in an iteration; jacobi2d computes its points",
            Kind::Count(1, 1 << 40),
            ["2000000", "500000"],
        ),
        Parameter::new("iterations", "iterations of a step", Kind::Count(1, 1 << 20), ["20", "10"]),
        Parameter::new(
            "every",
            "iterations after which tasks are moved",
            Kind::Count(1, 1 << 20),
            ["5", "5"],
        ),
        Parameter::new("pages", "pages of the tasks' memory", Kind::Word(&["4k", "thp", "2m"]), ["4k", "4k"]),
    ],
    variants: &[
        variant("none", "tasks stay where they begin, in blocks of consecutive numbers"),
        variant("greedy", "the heaviest task to the thread with the least to do, and so on"),
        variant("greedy-refine", "greedy, but tasks stay where they are if that is as good"),
        variant("refine", "tasks leave overloaded threads"),
        variant("recbipart", "the graph of tasks cut in two, and each half again"),
        variant("numa", "NumaLB: load against messages and distances"),
        variant("treematch", "the graph of tasks cut along the distances of the machine"),
        variant("best", "the best of several, and a search from there"),
        Variant::others("metis", "parts by METIS's gpmetis"),
        Variant::others("scotch", "parts by SCOTCH's scotch_gmap"),
    ],
    steps: 1,
    unit: Unit::Time,
    bound: None,
};

const fn variant(name: &'static str, meaning: &'static str) -> Variant {
    Variant::ours(name, meaning)
}

impl Case for Balance {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn missing(&self, variant: &Variant, path: Option<&OsStr>) -> Option<Missing> {
        match variant.name {
            "metis" => missing_program("gpmetis", path, "sudo apt install metis"),
            "scotch" => missing_program("scotch_gmap", path, "sudo apt install scotch"),
            _ => None,
        }
    }

    fn prepare(&self, given: &mut Given<'_>) -> Result<Prepared, CaseError> {
        let cannot = |error: &dyn std::error::Error, hint: Option<String>| CaseError::Input {
            what: format!("tasks cannot be balanced here: {error}"),
            hint,
        };
        let cpus = given.team.map(|member| member.cpu());
        let machine =
            firsttouch_machine::Machine::read(&Root::live()).map_err(|error| cannot(&error, None))?;
        let machine = Machine::of(&machine, None, CpuSelection::Cpus, |cpu| cpus.contains(&cpu))
            .map_err(|error| cannot(&error, Some(error.hint().to_owned())))?;
        let job = Job::of(given.arguments, given.variant.name, machine);
        // What cannot be had or found is told now: a step has nobody to tell.
        let failed = |error: firsttouch_runtime::RuntimeError| cannot(&error, Some(error.hint().to_owned()));
        let mut trial = job.begin().map_err(failed)?;
        trial.run(job.every).map_err(failed)?;
        Ok(Prepared::Here(Box::new(Balancing { job, runtime: RefCell::new(trial) })))
    }
}

/// What tasks do.
#[derive(Clone)]
enum Tasks {
    Synthetic(Synthetic),
    Jacobi(Jacobi),
}

/// What begins anew before every step.
struct Job {
    tasks: Tasks,
    start: Option<Mapping>,
    strategy: &'static str,
    machine: Machine,
    iterations: u64,
    every: u64,
    pages: Pages,
}

type Running = Runtime<Box<dyn Program + Send>>;

impl Job {
    fn of(arguments: &Arguments, strategy: &'static str, machine: Machine) -> Job {
        let (tasks, state) = (arguments.number("tasks"), arguments.number("state"));
        let workers = machine.cores().len();
        let synthetic = |problem: Problem| {
            let rate = arguments.number("rounds") as f64 / problem.total_load();
            Tasks::Synthetic(Synthetic::new(problem, rate, state))
        };
        let (tasks, start) = match arguments.word("benchmark") {
            "jacobi2d" => {
                // A block before and after an iteration, each with a frame.
                let block = (state / (2 * size_of::<f64>())).isqrt().saturating_sub(2).max(1);
                let jacobi = Jacobi::new(tasks.isqrt() * block, block, 4).expect("blocks fill the array");
                (Tasks::Jacobi(jacobi), None)
            }
            "lb_test" => {
                let (least_s, most_s) = (20e-6, 200e-6);
                let problem =
                    LbTest { tasks, least_s, most_s, topology: Topology::RandGraph, seed: 0 }.problem();
                let problem = problem.expect("a number of tasks");
                let start = by_load(&problem, workers);
                (synthetic(problem), Some(start))
            }
            _ => {
                let (message_bytes, work) = (16e3, Loads::Skewed);
                let ring = KNeighbor { tasks, neighbours: 8, stride: 1, message_bytes, work_s: 1.0, work };
                (synthetic(ring.problem().expect("more tasks than neighbours")), None)
            }
        };
        Job {
            tasks,
            start,
            strategy,
            machine,
            iterations: arguments.number("iterations") as u64,
            every: arguments.number("every") as u64,
            pages: Pages::parse(arguments.word("pages")).expect("a word of pages"),
        }
    }

    fn begin(&self) -> Result<Running, firsttouch_runtime::RuntimeError> {
        let program: Box<dyn Program + Send> = match &self.tasks {
            Tasks::Synthetic(synthetic) => Box::new(synthetic.clone()),
            Tasks::Jacobi(jacobi) => Box::new(*jacobi),
        };
        let settings = Settings {
            start: self.start.clone(),
            strategy: strategies::named(self.strategy).map_err(firsttouch_runtime::RuntimeError::Strategy)?,
            every: if self.strategy == ABOUT.variants[0].name { 0 } else { self.every },
            pages: self.pages,
            ..Settings::default()
        };
        Runtime::new(program, self.machine.clone(), settings)
    }
}

/// Tasks by their loads, the heavier ones with the first threads: random loads are even by themselves where threads are few.
fn by_load(problem: &Problem, workers: usize) -> Mapping {
    let mut order: Vec<usize> = (0..problem.len()).collect();
    order.sort_by(|a, b| problem.tasks()[*b].load.total_cmp(&problem.tasks()[*a].load));
    let mut mapping = Mapping::new(vec![0; problem.len()]);
    for (place, task) in order.iter().enumerate() {
        mapping.put(*task, (place * workers / problem.len()) as u32);
    }
    mapping
}

struct Balancing {
    job: Job,
    /// Asking it for states takes it whole.
    runtime: RefCell<Running>,
}

impl Workload for Balancing {
    fn reset(&mut self, _: &mut Team) {
        *self.runtime.get_mut() = self.job.begin().expect("it began before");
    }

    fn step(&mut self, _: &mut Team) {
        self.runtime.get_mut().run(self.job.iterations).expect("the strategy has answered before");
    }

    /// Of all words of all states.
    fn checksum(&self) -> Checksum {
        let mut runtime = self.runtime.borrow_mut();
        let sums = (0..runtime.program().tasks()).map(|task| {
            let words = runtime.program().state_bytes(task) / size_of::<u64>();
            match Checksum::of_words(runtime.state(task).as_slice_of::<u64>()[..words].iter().copied()) {
                Checksum::Exact(sum) => sum,
                Checksum::Near { value, .. } => value.to_bits(),
            }
        });
        Checksum::of_words(sums.collect::<Vec<_>>())
    }

    /// States are gone through once; operations are rounds, or points.
    fn work(&self) -> Work {
        let runtime = self.runtime.borrow();
        let (program, iterations) = (runtime.program(), self.job.iterations);
        let bytes: usize = (0..program.tasks()).map(|task| program.state_bytes(task)).sum();
        let operations = match &self.job.tasks {
            Tasks::Synthetic(synthetic) => synthetic.rounds(),
            Tasks::Jacobi(jacobi) => jacobi.points(),
        };
        Work { bytes: 2 * bytes as u64, operations: operations * iterations }
    }

    fn notes(&self) -> Vec<String> {
        let mut runtime = self.runtime.borrow_mut();
        let balancings = &runtime.account().balancings;
        let moved: usize = balancings.iter().map(|one| one.moved).sum();
        let imbalance = balancings.iter().map(|one| (one.imbalance_before, one.imbalance_after)).next();
        let tasks = runtime.program().tasks();
        let mut notes = vec![match imbalance {
            Some((before, after)) => format!(
                "{moved} moves of {tasks} tasks; the busiest thread had {:.0} % more than the mean, {:.0} % once balanced",
                100.0 * before,
                100.0 * after
            ),
            None => format!("{tasks} tasks stay where they are"),
        }];
        let (mut huge, mut small) = (0, 0);
        for task in 0..tasks {
            let memory = runtime.state(task).as_slice().as_ptr_range();
            let Some(seen) = Coverage::of(memory.start.addr(), memory.end.addr()) else { return notes };
            (huge, small) = (huge + seen.huge, small + seen.small);
        }
        notes.push(format!("states: {} KiB on huge pages, {} KiB on small ones", huge >> 10, small >> 10));
        notes
    }
}

#[cfg(test)]
mod tests;
