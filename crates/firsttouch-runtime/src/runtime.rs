//! The runtime: steps, and between some of them a balancing.

use crate::account::{Account, Balancing, Step};
use crate::mail::Outbox;
use crate::program::Program;
use crate::worker::{Arrived, Living, Round, Seat, Worker};
use firsttouch_balance::strategies::KeepAll;
use firsttouch_balance::{
    Machine, Mapping, Message, Metrics, Options, Problem, ProblemError, Strategy, StrategyError, Task,
};
use firsttouch_memory::{Pages, Region, RegionError};
use firsttouch_threads::{Team, TeamError};
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
    pub options: Options,
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
            options: Options::default(),
            every: 0,
            pages: Pages::Base,
        }
    }
}

/// Why a program cannot be run, or not further.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// Workers must sit somewhere.
    #[error("core {core} of {machine} has no CPU to put a worker on")]
    NoCpu {
        /// The core.
        core: usize,
        /// The machine.
        machine: String,
    },
    /// As many CPUs as cores are needed.
    #[error("{machine} has {cores} cores, but {cpus} CPUs were named")]
    Cpus {
        /// The machine.
        machine: String,
        /// Its cores.
        cores: usize,
        /// The CPUs.
        cpus: usize,
    },
    /// The start names workers that are not there, or not all tasks.
    #[error("the start has {found} tasks, the program {tasks}; workers are numbered from 0 to {last}")]
    Start {
        /// Tasks of the start.
        found: usize,
        /// Tasks of the program.
        tasks: u32,
        /// The last worker.
        last: usize,
    },
    /// The workers cannot be started.
    #[error(transparent)]
    Team(#[from] TeamError),
    /// There is no memory for a state.
    #[error("there is no memory for the state of task {task}")]
    State {
        /// The task.
        task: u32,
        /// What the kernel answered.
        source: RegionError,
    },
    /// A task panicked. All workers have stopped; nothing runs any more.
    #[error("task {task} panicked in step {step}: {words}")]
    Panicked {
        /// The task.
        task: u32,
        /// The step; 0 is its beginning.
        step: u64,
        /// What it said.
        words: String,
    },
    /// The run ended with a failure before.
    #[error("the run has failed before: its tasks are in different steps")]
    Over,
    /// The strategy found no mapping.
    #[error(transparent)]
    Strategy(#[from] StrategyError),
    /// What was measured makes no problem.
    #[error(transparent)]
    Problem(#[from] ProblemError),
}

impl RuntimeError {
    /// What would mend it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            RuntimeError::NoCpu { .. } => {
                "take the machine that this runs on, or name CPUs (Runtime::pretending)"
            }
            RuntimeError::Cpus { .. } => "name a CPU for each core; one may be named several times",
            RuntimeError::Start { .. } => "give every task a worker that is there",
            RuntimeError::Team(error) => error.hint(),
            RuntimeError::State { source, .. } => source.hint(),
            RuntimeError::Panicked { .. } => "mend the task: what it said is above",
            RuntimeError::Over => "make a new runtime",
            RuntimeError::Strategy(error) => error.hint().unwrap_or("choose another strategy"),
            RuntimeError::Problem(error) => error.hint(),
        }
    }
}

/// Where a task is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whereabouts {
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
        let seat = |(core, one): (usize, &firsttouch_balance::Core)| {
            let cpu = one.cpu.ok_or_else(|| RuntimeError::NoCpu { core, machine: machine.name().to_owned() });
            let memory = Some(machine.nodes()[one.node as usize].id);
            cpu.map(|cpu| Seat { cpu, node: one.node, memory })
        };
        let seats = machine.cores().iter().enumerate().map(seat).collect::<Result<Vec<Seat>, _>>()?;
        Runtime::on(program, machine, &seats, settings)
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
        let seat = |(core, cpu): (&firsttouch_balance::Core, &u32)| Seat {
            cpu: *cpu,
            node: core.node,
            memory: None,
        };
        let seats: Vec<Seat> = cores.iter().zip(cpus).map(seat).collect();
        Runtime::on(program, machine, &seats, settings)
    }

    fn on(
        program: P,
        machine: Machine,
        seats: &[Seat],
        mut settings: Settings,
    ) -> Result<Runtime<P>, RuntimeError> {
        let tasks = program.tasks();
        let in_blocks = |task: u64| (task * seats.len() as u64 / u64::from(tasks)) as u32;
        let places = match settings.start.take() {
            Some(start) => start.cores().to_vec(),
            None => (0..u64::from(tasks)).map(in_blocks).collect(),
        };
        let last = seats.len() - 1;
        if places.len() != tasks as usize || places.iter().any(|worker| *worker as usize > last) {
            return Err(RuntimeError::Start { found: places.len(), tasks, last });
        }
        let cpus: Vec<u32> = seats.iter().map(|seat| seat.cpu).collect();
        let worker = |(number, seat): (u32, &Seat)| {
            Mutex::new(Worker::new(number, *seat, settings.pages, seats.len()))
        };
        let mut runtime = Runtime {
            program,
            machine,
            team: Team::new(std::slice::from_ref(&cpus))?,
            workers: (0..).zip(seats).map(worker).collect(),
            sent: seats.iter().map(|_| Outbox::new(seats.len())).collect(),
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
    pub fn whereabouts(&mut self) -> Vec<Whereabouts> {
        let mut all = Vec::with_capacity(self.places.len());
        for worker in &mut self.workers {
            let worker = own(worker);
            all.extend(worker.tasks.iter().map(|living| Whereabouts {
                task: living.number,
                worker: worker.number,
                cpu: worker.seat.cpu,
                node: worker.seat.memory,
                bytes_by_node: living.state.bytes_by_node().map(Iterator::collect),
            }));
        }
        all.sort_by_key(|one| one.task);
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
