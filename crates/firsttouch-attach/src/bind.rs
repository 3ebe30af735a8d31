//! Threads onto their CPUs.

use crate::makers::Makers;
use crate::target::Target;
use crate::work::{Halt, Phase, Work};
use firsttouch_documents::JournalEntry;
use firsttouch_linux::channel;
use firsttouch_linux::cpulist::format_list;
use firsttouch_linux::numa::CpuBits;
use firsttouch_linux::process::Stat;
use firsttouch_memory::Reason;
use firsttouch_threads::{ThreadState, thread_of};
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::time::Instant;

/// The CPUs that threads are given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadAffinity {
    /// One each, in the order of the threads' numbers; when every CPU has its thread, the order begins again.
    pub order: Vec<u32>,
    /// Where there is no order: any of these, for every thread.
    pub cpus: Vec<u32>,
    /// Single threads, by their numbers; where there are some, all others are left where they are.
    pub single: BTreeMap<u32, SingleCpu>,
}

/// The CPU of a thread that was chosen for it alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SingleCpu {
    /// When the thread started, in clock ticks after boot: its number may come to mean another one.
    pub start_ticks: u64,
    /// Its CPU.
    pub cpu: u32,
}

impl ThreadAffinity {
    /// Whether threads are left where they are.
    pub fn is_none(&self) -> bool {
        self.order.is_empty() && self.cpus.is_empty() && self.single.is_empty()
    }

    /// The order for the next process of a tree: it goes on behind the threads of this one.
    pub fn go_on_behind(&mut self, target: &Target) {
        let threads = threads_of(target).map_or(0, |threads| threads.len());
        let length = self.order.len().max(1);
        self.order.rotate_left(threads % length);
    }

    /// The CPUs of a thread that comes at this place, ascending; `None` if it is left where it is.
    pub fn of(&self, place: usize, thread: u32) -> Option<Vec<u32>> {
        if !self.single.is_empty() {
            return self.single.get(&thread).map(|single_cpu| vec![single_cpu.cpu]);
        }
        match self.order.len() {
            0 if self.cpus.is_empty() => None,
            0 => Some(self.cpus.clone()),
            length => Some(vec![self.order[place % length]]),
        }
    }
}

/// Threads that are made while others are bound are looked for so often.
const MOST_ROUNDS: u32 = 4;

/// Threads that have other CPUs than they are to be given.
pub(crate) fn elsewhere(threads: &[ThreadState], affinity: &ThreadAffinity) -> u32 {
    let is_other = |(place, thread): &(usize, &ThreadState)| {
        affinity.of(*place, thread.id).is_some_and(|given| given != thread.cpus)
    };
    threads.iter().enumerate().filter(is_other).count() as u32
}

/// Binds every thread.
pub(crate) fn bind(work: &mut Work<'_>, affinity: &ThreadAffinity) -> Result<(), Halt> {
    let begun = Instant::now();
    let mut seen: HashSet<(u32, u64)> = HashSet::new();
    let mut place = 0;
    for _ in 0..MOST_ROUNDS {
        work.may_go_on()?;
        let threads = threads(work)?;
        let makers = Makers::at_work(work);
        let of = threads.len() as u64;
        let mut is_new = false;
        for thread in threads {
            let Some(started) = start_of(work, thread.id) else { continue };
            if !seen.insert((thread.id, started)) {
                continue;
            }
            is_new = true;
            let chosen = affinity.single.get(&thread.id);
            let is_itself = chosen.is_none_or(|single_cpu| single_cpu.start_ticks == started);
            let given = affinity.of(place, thread.id).filter(|_| is_itself);
            place += 1;
            if let Some(given) = given {
                // As it is now: the program may have bound it while others were bound.
                let now = thread_of(work.target.root(), work.target.pid(), thread.id);
                if let Some(mut thread) = now.filter(|now| now.cpus != given) {
                    work.may_go_on()?;
                    // Who has what this attach, or one before, gave to its maker had before what that had.
                    if let Some(before) = makers.of_thread(thread.id, started, &thread.cpus) {
                        thread.cpus.clone_from(before);
                    }
                    one(work, &thread, started, &given)?;
                }
            }
            work.progress(Phase::Threads, place as u64, of.max(place as u64), begun);
        }
        if !is_new {
            return Ok(());
        }
    }
    work.notes.push(
        "the process makes threads faster than they can be bound: some have the CPUs of their maker"
            .to_owned(),
    );
    Ok(())
}

fn one(work: &mut Work<'_>, thread: &ThreadState, started: u64, given: &[u32]) -> Result<(), Halt> {
    let Some(bits) = CpuBits::of(given) else { return Ok(()) };
    let line = work.note(JournalEntry::Affinity {
        thread: thread.id,
        start_ticks: started,
        before: format_list(&thread.cpus),
        given: format_list(given),
    })?;
    let outcome = set(work, thread.id, started, &bits);
    // Whoever gave no answer may have made the step all the same, or makes it yet: the way back finds out.
    if matches!(outcome, Ok(Set::Gone | Set::Refused(_)) | Err(Halt::Refused(..))) {
        // The step was not made: there is nothing to take back.
        work.note(JournalEntry::Undone { line })?;
    }
    match outcome? {
        Set::Done => work.bound_threads += 1,
        Set::Gone => {}
        Set::Refused(why) => work.notes.push(format!(
            "thread {} ({}) could not be bound to {}: {why}",
            thread.id,
            thread.name,
            format_list(given)
        )),
    }
    Ok(())
}

/// What became of a thread that was to have other CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Set {
    /// It has them, read back.
    Done,
    /// It has ended.
    Gone,
    /// The kernel does not give it these, for a reason.
    Refused(&'static str),
}

const OUTSIDE_CPUSET: &str = "the cpuset of its control group leaves them out";

/// Gives CPUs to a thread that started then, and reads back.
pub(crate) fn set(work: &mut Work<'_>, thread: u32, started: u64, cpus: &CpuBits) -> Result<Set, Halt> {
    if start_of(work, thread) != Some(started) {
        return Ok(Set::Gone);
    }
    let answer = work.executor.set_affinity(thread, cpus);
    let is_there = start_of(work, thread) == Some(started);
    match answer.map_err(|error| (error.raw_os_error(), error)) {
        _ if !is_there => Ok(Set::Gone),
        Ok(()) => {
            // A cpuset cuts what it does not allow off without a word.
            let now = thread_of(work.target.root(), work.target.pid(), thread);
            let has = |state: ThreadState| state.cpus.iter().all(|cpu| cpus.contains(*cpu));
            Ok(if now.is_none_or(has) { Set::Done } else { Set::Refused(OUTSIDE_CPUSET) })
        }
        Err((Some(libc::ESRCH), _)) => Ok(Set::Gone),
        Err((Some(libc::EINVAL), _)) => Ok(Set::Refused(OUTSIDE_CPUSET)),
        Err((Some(libc::EBUSY), _)) => {
            Ok(Set::Refused("it runs by deadlines (SCHED_DEADLINE), for which the kernel wants all CPUs"))
        }
        Err((Some(libc::EPERM), error)) => Err(Halt::Refused(Reason::NoCapability, error)),
        Err((_, error)) => Err(work.halt_of(error)),
    }
}

/// When a thread of the process started; `None` if it has ended.
pub(crate) fn start_of(work: &Work<'_>, thread: u32) -> Option<u64> {
    let stat = Stat::read_thread(work.target.root(), work.target.pid(), thread).ok()?;
    (!matches!(stat.state, 'Z' | 'X')).then_some(stat.start_ticks)
}

pub(crate) fn threads(work: &Work<'_>) -> Result<Vec<ThreadState>, Halt> {
    threads_of(work.target).map_err(|error| Halt::Unreadable("threads", error))
}

/// The threads of a process, without the one by which the agent in it listens, which does none of its work, and a first one
/// that has ended: neither must take a CPU from those that work.
pub(crate) fn threads_of(target: &Target) -> io::Result<Vec<ThreadState>> {
    let mut threads = firsttouch_threads::threads_of(target.root(), target.pid())?;
    let first_lives = target.member() == target.pid();
    threads.retain(|thread| {
        if thread.id == target.pid() {
            first_lives
        } else {
            thread.name.as_bytes() != channel::THREAD.to_bytes()
        }
    });
    Ok(threads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_begins_again_and_a_set_is_for_all() {
        let order = ThreadAffinity { order: vec![4, 2], cpus: vec![2, 4], ..ThreadAffinity::default() };
        assert_eq!([0, 1, 2].map(|place| order.of(place, 9)), [4, 2, 4].map(|cpu| Some(vec![cpu])));
        let any = ThreadAffinity { cpus: vec![0, 1], ..ThreadAffinity::default() };
        assert_eq!(any.of(7, 9), Some(vec![0, 1]));
        let thread = |id, cpus: &[u32]| ThreadState { id, name: "x".to_owned(), cpus: cpus.to_vec() };
        let threads = [thread(10, &[0, 1]), thread(11, &[1])];
        assert_eq!((elsewhere(&threads, &any), elsewhere(&threads, &order)), (1, 2));
        assert_eq!(elsewhere(&threads, &ThreadAffinity::default()), 0);
        let single_cpu = SingleCpu { start_ticks: 5, cpu: 1 };
        let single = ThreadAffinity {
            single: BTreeMap::from([(10, single_cpu), (11, single_cpu)]),
            ..ThreadAffinity::default()
        };
        assert_eq!(
            (single.of(0, 10), single.of(0, 12), elsewhere(&threads, &single)),
            (Some(vec![1]), None, 1)
        );
    }
}
