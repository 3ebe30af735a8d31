//! The runtime: steps, and between some of them a balancing.

use crate::error::RuntimeError;
use crate::mail::Outbox;
use crate::program::Program;
use crate::worker::{Arrived, CpuLocation, Living, Round, Worker};
use firsttouch_balance::strategies::KeepAll;
use firsttouch_balance::{Machine, Mapping, Message, Metrics, Problem, SolveOptions, Strategy, Task};
use firsttouch_documents::{Account, Balancing, Step};
use firsttouch_memory::{Pages, Region};
use firsttouch_threads::Team;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How a program is run.
#[derive(Debug)]
pub struct Settings {
    /// Where tasks begin; `None` is in blocks of consecutive numbers.
    pub start: Option<Mapping>,
    /// Who moves tasks.
    pub strategy: Box<dyn Strategy>,
    /// What that one may do.
    pub options: SolveOptions,
    /// After every so many steps; 0 is never.
    pub every: u64,
    /// The pages of states.
    pub pages: Pages,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            start: None,
            strategy: Box::new(KeepAll),
            options: SolveOptions::default(),
            every: 0,
            pages: Pages::Base,
        }
    }
}

/// Where a task is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskLocation {
    /// The task.
    pub task: u32,
    /// Its worker.
    pub worker: u32,
    /// The CPU of its worker.
    pub cpu: u32,
    /// The node that its state was asked from; `None` on a machine that is only pretended.
    pub node: Option<u32>,
    /// The bytes of its state on each node, as the kernel tells; `None` where it does not.
    pub bytes_by_node: Option<Vec<(u32, usize)>>,
}

/// A program at work.
#[derive(Debug)]
pub struct Runtime<P> {
    program: P,
    machine: Machine,
    team: Team,
    workers: Vec<Mutex<Worker>>,
    /// What was sent in the last step.
    sent: Vec<Outbox>,
    /// The worker of each task.
    places: Vec<u32>,
    settings: Settings,
    epoch: Instant,
    step: u64,
    /// The step after which was balanced last.
    balanced: u64,
    account: Account,
    is_over: bool,
}

impl<P: Program> Runtime<P> {
    /// Starts a worker on the CPU of every core of a machine, which must be the one this runs on, and begins all tasks.
    ///
    /// # Errors
    /// A core without a CPU, a start that does not fit, threads or memory that cannot be had, a task that panics.
    pub fn new(program: P, machine: Machine, settings: Settings) -> Result<Runtime<P>, RuntimeError> {
        let location = |(core, one): (usize, &firsttouch_balance::Core)| {
            let cpu = one.cpu.ok_or_else(|| RuntimeError::NoCpu { core, machine: machine.name().to_owned() });
            let memory = Some(machine.nodes()[one.node as usize].id);
            cpu.map(|cpu| CpuLocation { cpu, node: one.node, memory })
        };
        let locations =
            machine.cores().iter().enumerate().map(location).collect::<Result<Vec<CpuLocation>, _>>()?;
        Runtime::on(program, machine, &locations, settings)
    }

    /// The same on a machine that is only pretended: its cores are these CPUs, and its nodes are made of the memory that
    /// there is. Tasks that change the node still have their states made anew.
    ///
    /// # Errors
    /// As [`Runtime::new`]; not as many CPUs as cores.
    pub fn pretending(
        program: P,
        machine: Machine,
        cpus: &[u32],
        settings: Settings,
    ) -> Result<Runtime<P>, RuntimeError> {
        let cores = machine.cores();
        if cpus.len() != cores.len() {
            let (machine, cores) = (machine.name().to_owned(), cores.len());
            return Err(RuntimeError::Cpus { machine, cores, cpus: cpus.len() });
        }
        let location = |(core, cpu): (&firsttouch_balance::Core, &u32)| CpuLocation {
            cpu: *cpu,
            node: core.node,
            memory: None,
        };
        let locations: Vec<CpuLocation> = cores.iter().zip(cpus).map(location).collect();
        Runtime::on(program, machine, &locations, settings)
    }

    fn on(
        program: P,
        machine: Machine,
        locations: &[CpuLocation],
        mut settings: Settings,
    ) -> Result<Runtime<P>, RuntimeError> {
        let tasks = program.tasks();
        let in_blocks = |task: u64| (task * locations.len() as u64 / u64::from(tasks)) as u32;
        let places = match settings.start.take() {
            Some(start) => start.cores().to_vec(),
            None => (0..u64::from(tasks)).map(in_blocks).collect(),
        };
        let last = locations.len() - 1;
        if places.len() != tasks as usize || places.iter().any(|worker| *worker as usize > last) {
            return Err(RuntimeError::Start { found: places.len(), tasks, last });
        }
        let cpus: Vec<u32> = locations.iter().map(|location| location.cpu).collect();
        let worker = |(number, location): (u32, &CpuLocation)| {
            Mutex::new(Worker::new(number, *location, settings.pages, locations.len()))
        };
        let mut runtime = Runtime {
            program,
            machine,
            team: Team::new(std::slice::from_ref(&cpus))?,
            workers: (0..).zip(locations).map(worker).collect(),
            sent: locations.iter().map(|_| Outbox::new(locations.len())).collect(),
            places,
            settings,
            epoch: Instant::now(),
            step: 0,
            balanced: 0,
            account: Account { cpus, ..Account::default() },
            is_over: false,
        };
        runtime.round(0, |worker, program, round| worker.begin(program, round))?;
        runtime.forget_loads();
        Ok(runtime)
    }

    /// The program.
    pub fn program(&self) -> &P {
        &self.program
    }

    /// The worker of each task.
    #[must_use]
    pub fn mapping(&self) -> Mapping {
        Mapping::new(self.places.clone())
    }

    /// What the run did with its time so far.
    #[must_use]
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// Makes so many steps, and balances when it is time.
    ///
    /// # Errors
    /// A task that panics; a strategy that finds no mapping. In either case nothing runs any more.
    pub fn run(&mut self, steps: u64) -> Result<(), RuntimeError> {
        for _ in 0..steps {
            self.make_step()?;
            if self.settings.every > 0 && self.step.is_multiple_of(self.settings.every) {
                self.balance()?;
            }
        }
        Ok(())
    }

    /// Lets all workers do something at the same time; afterwards what they sent is on its way.
    fn round(
        &mut self,
        step: u64,
        what: impl Fn(&mut Worker, &P, &Round<'_>) + Sync,
    ) -> Result<(), RuntimeError> {
        if self.is_over {
            return Err(RuntimeError::Over);
        }
        let stop = AtomicBool::new(false);
        let round = Round { step, sent: &self.sent, workers: &self.places, stop: &stop, epoch: self.epoch };
        let (workers, program) = (&self.workers, &self.program);
        self.team.run(|member| what(&mut lock(&workers[member.index()]), program, &round));
        for (worker, sent) in self.workers.iter_mut().zip(&mut self.sent) {
            let worker = own(worker);
            std::mem::swap(&mut worker.outbox, sent);
        }
        // Of several the lowest task, so that a failure is told the same way each time that more than one fails.
        let failures = self.workers.iter_mut().filter_map(|worker| own(worker).failure.take());
        let number = |error: &RuntimeError| match error {
            RuntimeError::Panicked { task, .. } | RuntimeError::State { task, .. } => *task,
            _ => u32::MAX,
        };
        match failures.min_by_key(number) {
            None => Ok(()),
            Some(failure) => {
                self.is_over = true;
                Err(failure)
            }
        }
    }

    fn make_step(&mut self) -> Result<(), RuntimeError> {
        let begun_s = self.epoch.elapsed().as_secs_f64();
        self.round(self.step + 1, |worker, program, round| worker.step(program, round))?;
        let ended_s = self.epoch.elapsed().as_secs_f64();
        self.step += 1;
        let (mut messages, mut bytes) = (0, 0);
        let mut workers = Vec::with_capacity(self.workers.len());
        for worker in &mut self.workers {
            let worker = own(worker);
            let delivered = worker.delivered();
            messages += delivered.0;
            bytes += delivered.1;
            workers.push(worker.last);
        }
        self.account.steps.push(Step { step: self.step, begun_s, ended_s, messages, bytes, workers });
        Ok(())
    }

    /// Loads and messages since the last balancing, for each step, with the tasks where they are.
    fn measured(&mut self) -> Result<Problem, RuntimeError> {
        let steps = (self.step - self.balanced).max(1) as f64;
        let mut tasks = vec![Task::new(0.0); self.places.len()];
        let mut messages = Vec::new();
        for worker in &mut self.workers {
            let worker = own(worker);
            for living in &worker.tasks {
                tasks[living.number as usize] = Task {
                    bytes: living.state.as_slice().len() as u64,
                    pinned: self.program.is_pinned(living.number),
                    ..Task::new(living.load.as_secs_f64() / steps).at(worker.number)
                };
                messages.extend(living.partners.list().iter().map(|partner| Message {
                    from: living.number,
                    to: partner.to,
                    count: partner.messages as f64 / steps,
                    bytes: partner.bytes as f64 / steps,
                }));
            }
        }
        Ok(Problem::new(tasks, &messages)?)
    }

    fn forget_loads(&mut self) {
        for worker in &mut self.workers {
            for living in &mut own(worker).tasks {
                living.load = Duration::ZERO;
                living.partners.forget();
            }
        }
        self.balanced = self.step;
    }

    /// Asks the strategy, and moves the tasks it wants elsewhere.
    fn balance(&mut self) -> Result<(), RuntimeError> {
        let begun_s = self.epoch.elapsed().as_secs_f64();
        let problem = self.measured()?;
        let start = problem.start(&self.machine)?;
        let found = self.settings.strategy.solve(&problem, &self.machine, &start, &self.settings.options);
        let mapping = found.inspect_err(|_| self.is_over = true)?.mapping;
        let decided_s = self.epoch.elapsed().as_secs_f64();
        let moved = self.relocate(&mapping);
        let arrived = if moved > 0 { self.settle() } else { Vec::new() };
        let ended_s = self.epoch.elapsed().as_secs_f64();
        let imbalance = |mapping| Metrics::of(&problem, &self.machine, mapping, &start).imbalance;
        self.account.balancings.push(Balancing {
            after_step: self.step,
            strategy: self.settings.strategy.name().to_owned(),
            begun_s,
            decided_s,
            ended_s,
            imbalance_before: imbalance(&start),
            imbalance_after: imbalance(&mapping),
            moved,
            rehoused: arrived.iter().map(|one| one.rehoused).sum(),
            bytes: arrived.iter().map(|one| one.bytes).sum(),
            left_behind: arrived.iter().map(|one| one.left_behind).sum(),
            migrating: arrived.iter().filter_map(|one| one.span).collect(),
        });
        self.forget_loads();
        Ok(())
    }

    /// Hands tasks, and what is on its way to them, over to other workers; how many.
    fn relocate(&mut self, mapping: &Mapping) -> usize {
        let mut going: Vec<Living> = Vec::new();
        for worker in &mut self.workers {
            let worker = own(worker);
            let leaves = |living: &mut Living| mapping.core(living.number as usize) != worker.number;
            going.extend(worker.tasks.extract_if(.., leaves));
        }
        let moved = going.len();
        for living in going {
            let to = mapping.core(living.number as usize);
            self.places[living.number as usize] = to;
            own(&mut self.workers[to as usize]).arrivals.push(living);
        }
        if moved > 0 {
            self.sent.iter_mut().for_each(|outbox| outbox.readdress(&self.places));
        }
        moved
    }

    fn settle(&mut self) -> Vec<Arrived> {
        let (workers, epoch) = (&self.workers, self.epoch);
        self.team.map(|member| lock(&workers[member.index()]).settle(epoch))
    }

    /// The state of a task.
    ///
    /// # Panics
    /// If there is no such task.
    pub fn state(&mut self, task: u32) -> &Region {
        let worker = own(&mut self.workers[self.places[task as usize] as usize]);
        let place = worker.tasks.partition_point(|living| living.number < task);
        &worker.tasks[place].state
    }

    /// Where each task is, and where the kernel says its state lies.
    pub fn task_locations(&mut self) -> Vec<TaskLocation> {
        let mut all = Vec::with_capacity(self.places.len());
        for worker in &mut self.workers {
            let worker = own(worker);
            all.extend(worker.tasks.iter().map(|living| TaskLocation {
                task: living.number,
                worker: worker.number,
                cpu: worker.location.cpu,
                node: worker.location.memory,
                bytes_by_node: living.state.bytes_by_node().map(Iterator::collect),
            }));
        }
        all.sort_unstable_by_key(|one| one.task);
        all
    }
}

/// A worker's panics are caught before they reach its lock.
fn lock(worker: &Mutex<Worker>) -> MutexGuard<'_, Worker> {
    worker.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A worker while nobody works.
fn own(worker: &mut Mutex<Worker>) -> &mut Worker {
    worker.get_mut().unwrap_or_else(PoisonError::into_inner)
}
