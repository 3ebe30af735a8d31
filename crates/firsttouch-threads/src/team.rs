//! A team: threads that stay, each bound to its CPU, in groups, waiting for work.
//!
//! Starting a thread costs tens of microseconds, and a thread that wanders takes its caches and the nearness of its
//! memory with it. A team pays once: its members are started and bound when it is made, wait awake for a while between two
//! pieces of work, and sleep after that.

mod barrier;
mod gate;
mod lock;
#[cfg(all(test, loom))]
mod models;
mod schedule;
mod storage;

pub use schedule::Schedule;
pub use storage::PerGroup;

use crate::bind_this_thread;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use barrier::Barrier;
use firsttouch_linux::numa;
use gate::Gate;
use lock::lock;
use schedule::Shares;
use std::any::Any;
use std::fmt;
use std::io;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, PoisonError, mpsc};
use std::thread::{self, JoinHandle};

/// A team that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum TeamError {
    /// There is no CPU, or a group without one.
    #[error("a team needs at least one CPU in every group")]
    Empty,
    /// A thread cannot be bound.
    #[error("a thread cannot be bound to CPU {cpu}")]
    Bind {
        /// The CPU.
        cpu: u32,
        /// What the kernel answered (`EINVAL`: the CPU is offline, or outside of the cpuset).
        source: io::Error,
    },
    /// A thread cannot be started.
    #[error("the team's thread {member} cannot be started")]
    Start {
        /// Which of the team, from 0.
        member: usize,
        /// What the kernel answered (`EAGAIN`: a limit on processes).
        source: io::Error,
    },
}

impl TeamError {
    /// What would mend it.
    pub fn hint(&self) -> &'static str {
        match self {
            TeamError::Empty => "firsttouch status lists the CPUs that may be used",
            TeamError::Bind { .. } => {
                "firsttouch status lists the CPUs that are online and those this process may use"
            }
            TeamError::Start { .. } => crate::MORE_THREADS,
        }
    }
}

/// Threads bound to CPUs, in groups.
///
/// ```
/// use firsttouch_threads::{Schedule, Team};
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// let mut team = Team::new(&[vec![0]])?; // one group, with CPU 0
/// let sum = AtomicUsize::new(0);
/// team.for_each(0..1000, Schedule::Dynamic(100), |_, part| {
///     sum.fetch_add(part.sum::<usize>(), Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 499_500);
/// # Ok::<(), firsttouch_threads::TeamError>(())
/// ```
///
/// The thread that made the team is not a member: it waits while the team works. The members end when the team is
/// dropped. After fork(2) the child has no members; drop or use the team in the parent only.
#[derive(Debug)]
pub struct Team {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// Number of the last piece of work.
    jobs: u32,
}

/// Where a member belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MemberLocation {
    cpu: u32,
    group: usize,
    in_group: usize,
}

/// What the members share.
#[derive(Debug)]
struct Shared {
    locations: Vec<MemberLocation>,
    group_sizes: Vec<usize>,
    /// The number of the piece of work to be done.
    begun: Gate,
    /// How many pieces of work the whole team has finished.
    ended: Gate,
    work: Mutex<Option<Work>>,
    busy: AtomicUsize,
    leave: AtomicBool,
    /// A member has panicked: nobody may wait for it.
    broken: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    all: Barrier,
    by_group: Vec<Barrier>,
}

/// The work of every member, its lifetime forgotten.
#[derive(Clone, Copy)]
struct Work(*const (dyn Fn(&Member<'_>) + Sync));

// SAFETY: what it points to may be called by several threads at once, and `Team::run` keeps it alive until every member
// has finished with it.
unsafe impl Send for Work {}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Work")
    }
}

/// One thread of a team, while it works.
#[derive(Debug)]
pub struct Member<'team> {
    shared: &'team Shared,
    index: usize,
}

impl Member<'_> {
    /// Which of the team, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The CPU it is bound to.
    pub fn cpu(&self) -> u32 {
        self.shared.locations[self.index].cpu
    }

    /// The group it belongs to, from 0.
    pub fn group(&self) -> usize {
        self.shared.locations[self.index].group
    }

    /// Which of its group, from 0.
    pub fn index_in_group(&self) -> usize {
        self.shared.locations[self.index].in_group
    }

    /// Members of its group.
    pub fn group_size(&self) -> usize {
        self.shared.group_sizes[self.group()]
    }

    /// Members of the team.
    pub fn team_size(&self) -> usize {
        self.shared.locations.len()
    }

    /// Waits until every member of the team has come here. True for one of them, no matter which.
    ///
    /// # Panics
    /// If another member has panicked, and so will never come.
    pub fn barrier(&self) -> bool {
        self.shared.all.wait(&self.shared.broken)
    }

    /// Waits until every member of the group has come here; otherwise as [`Member::barrier`].
    pub fn group_barrier(&self) -> bool {
        self.shared.by_group[self.group()].wait(&self.shared.broken)
    }
}

impl Team {
    /// Starts one thread for every CPU of every group, and binds it. The lists may come from [`crate::groups`],
    /// [`crate::compact`] or [`crate::scatter`], cut into groups.
    pub fn new(groups: &[Vec<u32>]) -> Result<Team, TeamError> {
        if groups.is_empty() || groups.iter().any(Vec::is_empty) {
            return Err(TeamError::Empty);
        }
        let locations: Vec<MemberLocation> = groups
            .iter()
            .enumerate()
            .flat_map(|(group, cpus)| {
                cpus.iter().enumerate().map(move |(in_group, cpu)| MemberLocation {
                    cpu: *cpu,
                    group,
                    in_group,
                })
            })
            .collect();
        let shared = Arc::new(Shared::new(locations, groups.iter().map(Vec::len).collect()));
        // Dropped on an error below, it lets those go that have started.
        let mut team = Team { shared, threads: Vec::new(), jobs: 0 };
        let (tell, reports) = mpsc::channel();
        for (index, location) in team.shared.locations.iter().copied().enumerate() {
            let (shared, tell) = (Arc::clone(&team.shared), tell.clone());
            let life = move || {
                let bound = bind_this_thread(location.cpu)
                    .map_err(|source| TeamError::Bind { cpu: location.cpu, source });
                let stays = bound.is_ok();
                // The receiver lives until every member has reported.
                let _ = tell.send(bound);
                if stays {
                    shared.serve(index);
                }
            };
            let name = format!("team {}.{}", location.group, location.in_group);
            let thread = thread::Builder::new().name(name).spawn(life);
            team.threads.push(thread.map_err(|source| TeamError::Start { member: index, source })?);
        }
        let bound: Result<(), TeamError> = reports.iter().take(team.size()).collect();
        bound.map(|()| team)
    }

    /// A team of one group with at most so many members, at least one, on the first of the CPUs that this process may use.
    pub fn of_this_process(most: usize) -> Result<Team, TeamError> {
        const THIS_THREAD: u32 = 0;
        // A kernel that does not tell lets nobody choose either: one member, on the CPU that is always there.
        let cpus: Vec<u32> =
            numa::affinity(THIS_THREAD).map_or_else(|_| vec![0], |cpus| cpus.iter().collect());
        Team::new(&[cpus.into_iter().take(most.max(1)).collect()])
    }

    /// Members of the team.
    pub fn size(&self) -> usize {
        self.shared.locations.len()
    }

    /// Members of each group.
    pub fn group_sizes(&self) -> &[usize] {
        &self.shared.group_sizes
    }

    /// Lets every member do `work` once, all at the same time, and waits for the last.
    ///
    /// # Panics
    /// With the panic of the first member that panicked, once all have ended; the team can be used again.
    pub fn run(&mut self, work: impl Fn(&Member<'_>) + Sync) {
        self.jobs = self.jobs.wrapping_add(1);
        self.shared.run(self.jobs, &work);
    }

    /// As [`Team::run`], and answers what each member made, in their order.
    pub fn map<T: Send>(&mut self, work: impl Fn(&Member<'_>) -> T + Sync) -> Vec<T> {
        let made: Vec<Mutex<Option<T>>> = (0..self.size()).map(|_| Mutex::new(None)).collect();
        self.run(|member| {
            let value = work(member);
            *lock(&made[member.index()]) = Some(value);
        });
        // Every member has stored its own: a panic would have passed us by.
        made.into_iter()
            .filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect()
    }

    /// Calls `work` with parts of `range` that together are all of it, each part once, cut and handed out as `schedule`
    /// says.
    ///
    /// # Panics
    /// As [`Team::run`]; parts that were not begun by then may be left out.
    pub fn for_each(
        &mut self,
        range: Range<usize>,
        schedule: Schedule,
        work: impl Fn(&Member<'_>, Range<usize>) + Sync,
    ) {
        let shares = Shares::new(range, schedule, self.size());
        self.run(|member| shares.of(member.index()).for_each(|part| work(member, part)));
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.shared.leave(self.jobs.wrapping_add(1));
        for thread in self.threads.drain(..) {
            // Members catch the panics of their work.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn new(locations: Vec<MemberLocation>, group_sizes: Vec<usize>) -> Shared {
        Shared {
            begun: Gate::new(),
            ended: Gate::new(),
            work: Mutex::new(None),
            busy: AtomicUsize::new(0),
            leave: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            panic: Mutex::new(None),
            all: Barrier::new(locations.len()),
            by_group: group_sizes.iter().map(|size| Barrier::new(*size)).collect(),
            locations,
            group_sizes,
        }
    }

    /// [`Team::run`], by the number of the piece of work.
    fn run(&self, job: u32, work: &(dyn Fn(&Member<'_>) + Sync)) {
        // SAFETY: only the lifetime is forgotten. The pointer is taken away again below, after every member has reported that
        // it is done with it, and nothing in between returns or panics.
        let work = unsafe {
            std::mem::transmute::<*const (dyn Fn(&Member<'_>) + Sync + '_), *const (dyn Fn(&Member<'_>) + Sync)>(
                work,
            )
        };
        *lock(&self.work) = Some(Work(work));
        self.busy.store(self.locations.len(), Ordering::Relaxed);
        self.begun.set(job);
        self.ended.wait_for(job);
        *lock(&self.work) = None;
        if self.broken.swap(false, Ordering::Relaxed) {
            self.all.reset();
            self.by_group.iter().for_each(Barrier::reset);
            if let Some(panic) = lock(&self.panic).take() {
                resume_unwind(panic);
            }
        }
    }

    /// Lets the members go, in place of the next piece of work, which would have this number.
    fn leave(&self, job: u32) {
        self.leave.store(true, Ordering::Relaxed);
        self.begun.set(job);
    }

    /// The life of a member.
    fn serve(&self, index: usize) {
        let mut done = 0_u32;
        loop {
            done = done.wrapping_add(1);
            self.begun.wait_for(done);
            if self.leave.load(Ordering::Relaxed) {
                return;
            }
            let Some(Work(work)) = *lock(&self.work) else { return };
            let member = Member { shared: self, index };
            // SAFETY: `Team::run` waits for this member before what the pointer points to ends.
            let ended = catch_unwind(AssertUnwindSafe(|| unsafe { (*work)(&member) }));
            if let Err(panic) = ended {
                // The first is the cause; those after it may only be those who waited for it.
                lock(&self.panic).get_or_insert(panic);
                self.broken.store(true, Ordering::Relaxed);
                self.all.wake();
                self.by_group.iter().for_each(Barrier::wake);
            }
            if self.busy.fetch_sub(1, Ordering::AcqRel) == 1 {
                self.ended.set(done);
            }
        }
    }
}
