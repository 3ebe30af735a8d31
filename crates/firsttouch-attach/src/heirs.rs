//! Who has CPUs that we gave to others: threads and processes that were made since have those of their maker.

use crate::bind::{self, Set};
use crate::executor::{Executor, Remote};
use crate::journal::{JournalHistory, Step, path_of};
use crate::target::Target;
use crate::work::{Halt, Work};
use firsttouch_documents::JournalEntry;
use firsttouch_linux::cpulist::parse_list;
use firsttouch_linux::numa::CpuBits;
use firsttouch_linux::process::{Stat, descendants};
use firsttouch_machine::cpuset_of_process;
use firsttouch_sorted::{SortedMap, SortedSet};
use std::collections::HashSet;
use std::io;
use std::path::Path;

/// What threads had before we gave them CPUs.
#[derive(Default)]
struct Makers {
    /// Threads that have lines of their own, with when they started.
    known: HashSet<(u32, u64)>,
    /// By what we gave them.
    before: SortedMap<Vec<u32>, SortedSet<Vec<u32>>>,
    /// When somebody was given these first, in clock ticks after boot; `None` where a journal does not tell.
    since: SortedMap<Vec<u32>, Option<u64>>,
    /// The main thread.
    main: Option<Vec<u32>>,
}

impl Makers {
    /// `is_main` tells whether a thread stands for the main one.
    fn of(steps: &[Step], cpuset: &Cpuset, is_main: impl Fn(u32) -> bool) -> Makers {
        let mut makers = Makers::default();
        for Step { entry, began_ticks, .. } in steps {
            if let JournalEntry::Affinity { thread, start_ticks, before, given } = entry {
                let (Some(before), Some(given)) = (parse_list(before), parse_list(given)) else { continue };
                makers.known.insert((*thread, *start_ticks));
                let given = cpuset.cut(&given);
                // The oldest is last.
                makers.since.insert(given.clone(), *began_ticks);
                makers.before.entry(given).or_default().insert(before.clone());
                if is_main(*thread) {
                    makers.main = Some(before);
                }
            }
        }
        makers
    }

    /// What a thread that has CPUs which we gave to its maker would have without us: what all had that we gave them to; where
    /// these had different ones, what the main thread had. `None` if we gave them to nobody, or the main thread had them anyway.
    fn of_heir(&self, cpus: &[u32]) -> Option<&Vec<u32>> {
        let before = self.before.get(cpus)?;
        if before.len() == 1 { before.first() } else { self.main.as_ref() }
    }
}

/// Threads that were made since have the CPUs of their maker.
pub(crate) fn of_process(work: &mut Work<'_>, steps: &[Step], cpuset: &Cpuset) -> Result<(), Halt> {
    // A main thread that has ended has no line, and another stands for it.
    let (pid, member) = (work.target.pid(), work.target.member());
    let makers = Makers::of(steps, cpuset, |thread| thread == pid || member != pid);
    if makers.before.is_empty() {
        return Ok(());
    }
    for thread in bind::threads(work)? {
        let Some(started) = bind::start_of(work, thread.id) else { continue };
        if makers.known.contains(&(thread.id, started)) {
            continue;
        }
        let before = makers.of_heir(&thread.cpus);
        let Some(bits) = before.and_then(|before| cpuset.bits_of(before)) else { continue };
        work.may_go_on()?;
        if bind::set(work, thread.id, started, &bits)? == Set::Done {
            work.bound_threads += 1;
        }
    }
    Ok(())
}

/// Processes that were started since have the CPUs of their makers, and theirs too: those are given back that nobody has attached to and
/// that still have what we gave. Who started before we gave it has it by somebody else's choice.
pub(crate) fn of_descendants(work: &mut Work<'_>, steps: &[Step], journals: &Path) -> Result<(), Halt> {
    if !steps.iter().any(|step| matches!(step.entry, JournalEntry::Affinity { .. })) {
        return Ok(());
    }
    let (root, pid) = (work.target.root().clone(), work.target.pid());
    // What is attached to has a journal of its own, also for what it starts.
    let mut left = HashSet::from([std::process::id()]);
    let mut given_back = Vec::new();
    for descendant in descendants(&root, &[pid]).unwrap_or_default().into_iter().skip(1) {
        work.may_go_on()?;
        let Ok(Stat { parent, start_ticks, .. }) = Stat::read(&root, descendant) else { continue };
        if left.contains(&descendant)
            || left.contains(&parent)
            || is_attached(journals, descendant, start_ticks)
        {
            left.insert(descendant);
            continue;
        }
        match of_descendant(work.target, descendant, steps) {
            Ok(false) => {}
            Ok(true) => given_back.push(descendant),
            Err(error) => work.notes.push(format!(
                "process {descendant}, which was started since, keeps the CPUs that its maker was given: {error}"
            )),
        }
    }
    if !given_back.is_empty() {
        let numbers: Vec<String> = given_back.iter().map(u32::to_string).collect();
        work.notes.push(format!(
            "processes that were started since had the CPUs that their makers were given, and have those that these had before: {}",
            numbers.join(", ")
        ));
    }
    Ok(())
}

/// Whether it was a heir, and is none any more.
fn of_descendant(maker: &Target, pid: u32, steps: &[Step]) -> io::Result<bool> {
    let (root, main) = (maker.root(), (maker.pid(), maker.member()));
    let cpuset = Cpuset(cpuset_of_process(root, pid));
    let makers = Makers::of(steps, &cpuset, |thread| thread == main.0 || main.0 != main.1);
    // Most are none: nobody is taken hold of for nothing.
    let is_heir = |cpus: &[u32], start_ticks: u64| {
        makers.of_heir(cpus).is_some()
            && makers.since.get(cpus).is_some_and(|since| since.is_some_and(|since| start_ticks > since))
    };
    let threads = firsttouch_threads::threads_of(root, pid)?;
    if !Stat::read(root, pid)
        .is_ok_and(|stat| threads.iter().any(|thread| is_heir(&thread.cpus, stat.start_ticks)))
    {
        return Ok(false);
    }
    let target = match Target::open(root, pid) {
        Ok(target) if target.descends_from(maker) => target,
        Ok(_) => return Ok(false),
        Err(error) => return Err(io::Error::other(error)),
    };
    let mut executor = Remote::new(&target)?;
    let mut is_back = false;
    for thread in bind::threads_of(&target)? {
        let is_there = |stat: Stat| stat.start_ticks >= target.start_ticks();
        let stat = Stat::read_thread(root, pid, thread.id);
        let bits = makers.of_heir(&thread.cpus).and_then(|before| cpuset.bits_of(before));
        let (true, Some(bits)) =
            (is_heir(&thread.cpus, target.start_ticks()) && stat.is_ok_and(is_there), bits)
        else {
            continue;
        };
        match executor.set_affinity(thread.id, &bits) {
            Ok(()) => is_back = true,
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(is_back)
}

/// Whether a process has a journal with CPUs that can be given back.
fn is_attached(journals: &Path, pid: u32, start_ticks: u64) -> bool {
    let history = std::fs::read(path_of(journals, pid, start_ticks))
        .ok()
        .and_then(|bytes| JournalHistory::parse(&bytes).ok());
    let is_affinity = |(_, entry): &(usize, &JournalEntry)| matches!(entry, JournalEntry::Affinity { .. });
    history.is_some_and(|history| history.open_steps().iter().any(is_affinity))
}

/// The CPUs of the cpuset that a process is in now; `None` where there are no cpusets.
pub(crate) struct Cpuset(pub(crate) Option<Vec<u32>>);

impl Cpuset {
    /// What the kernel makes of CPUs that a thread was given: those that the cpuset has, or all of it if it has none of them.
    pub(crate) fn cut(&self, given: &[u32]) -> Vec<u32> {
        let Some(cpuset) = &self.0 else { return given.to_vec() };
        let both: Vec<u32> = given.iter().filter(|cpu| cpuset.contains(cpu)).copied().collect();
        if both.is_empty() { cpuset.clone() } else { both }
    }

    /// CPUs for a thread that had these. One that had all of the cpuset was not bound: it is to have all, also when the cpuset is larger
    /// one day, which the kernel remembers from Linux 6.2 on.
    pub(crate) fn bits_of(&self, before: &[u32]) -> Option<CpuBits> {
        match &self.0 {
            Some(cpuset) if cpuset.iter().all(|cpu| before.contains(cpu)) => Some(CpuBits::ALL),
            _ => CpuBits::of(before),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(thread: u32, before: &str, given: &str) -> JournalEntry {
        let (before, given) = (before.to_owned(), given.to_owned());
        JournalEntry::Affinity { thread, start_ticks: 0, before, given }
    }

    #[test]
    fn who_was_made_since_gets_what_its_maker_had() {
        let steps = [bound(12, "2", "1"), bound(11, "0", "1"), bound(9, "3", "4"), bound(10, "0-3", "5")]
            .map(|entry| Step { line: 0, entry, same_program: true, began_ticks: Some(70) });
        let makers = Makers::of(&steps, &Cpuset(None), |thread| thread == 10);
        assert_eq!(makers.of_heir(&[4]), Some(&vec![3]));
        // Of two makers nobody knows which it was.
        assert_eq!(makers.of_heir(&[1]), Some(&vec![0, 1, 2, 3]));
        assert_eq!(makers.of_heir(&[7]), None);
    }

    #[test]
    fn what_a_thread_has_is_what_the_cpuset_leaves_of_what_it_was_given() {
        let cpuset = Cpuset(Some(vec![1, 2, 3]));
        assert_eq!(cpuset.cut(&[0, 2]), [2]);
        assert_eq!(cpuset.cut(&[0]), [1, 2, 3]);
        assert_eq!(Cpuset(None).cut(&[0]), [0]);
        assert!(cpuset.bits_of(&[0, 1, 2, 3]) == Some(CpuBits::ALL));
        assert!(cpuset.bits_of(&[1, 2]) == CpuBits::of(&[1, 2]));
    }
}
