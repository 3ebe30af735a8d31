//! Who has CPUs that we gave to others: threads and processes that were made since have those of their maker.

use crate::bind::{self, Set};
use crate::executor::{Executor, Remote};
use crate::journal::{JournalHistory, Owner, Step};
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

/// What threads had before an attach gave them CPUs.
#[derive(Default)]
struct Given {
    /// When it began, in clock ticks after boot; `None` where a journal does not tell.
    since: Option<u64>,
    /// By what it gave them.
    before: SortedMap<Vec<u32>, SortedSet<Vec<u32>>>,
    /// The main thread.
    main: Option<Vec<u32>>,
}

impl Given {
    /// What a thread that has CPUs which were given to its maker would have without: what all had that they were given to; where
    /// these had different ones, what the main thread had. `None` if they were given to nobody, or the main thread had them anyway.
    fn of_heir(&self, cpus: &[u32]) -> Option<&Vec<u32>> {
        let before = self.before.get(cpus)?;
        if before.len() == 1 { before.first() } else { self.main.as_ref() }
    }
}

/// The threads that we gave CPUs.
#[derive(Default)]
struct Makers {
    /// Threads that have lines of their own, with when they started. After an `exec` the first thread may be another one, which has taken
    /// its number.
    known: HashSet<(u32, u64)>,
    /// Attaches, the newest first.
    given: Vec<Given>,
}

impl Makers {
    /// `is_main` tells whether a thread stands for the main one.
    fn of(steps: &[Step], cpuset: &Cpuset, is_main: impl Fn(u32) -> bool) -> Makers {
        let mut makers = Makers::default();
        for of_one in steps.chunk_by(|a, b| a.began_ticks == b.began_ticks) {
            let mut of_attach = Given { since: of_one[0].began_ticks, ..Given::default() };
            for Step { entry, same_program, .. } in of_one {
                if let JournalEntry::Affinity { thread, start_ticks, before, given } = entry {
                    let (Some(before), Some(given)) = (parse_list(before), parse_list(given)) else {
                        continue;
                    };
                    if *same_program {
                        makers.known.insert((*thread, *start_ticks));
                    }
                    of_attach.before.entry(cpuset.cut(&given)).or_default().insert(before.clone());
                    if is_main(*thread) {
                        of_attach.main = Some(before);
                    }
                }
            }
            makers.given.push(of_attach);
        }
        makers
    }

    /// What a thread that has these CPUs would have without us, through all attaches; `None` if it has them from none of them. Of who
    /// may have them by somebody else's choice, `started` tells when it started: only attaches that began before count.
    fn of_heir(&self, cpus: &[u32], started: Option<u64>) -> Option<&Vec<u32>> {
        let is_before =
            |since: Option<u64>| started.is_none_or(|started| since.is_some_and(|since| started >= since));
        self.given
            .iter()
            .filter(|given| is_before(given.since))
            .fold(None, |found, given| given.of_heir(found.map_or(cpus, Vec::as_slice)).or(found))
    }
}

/// Threads that were made since have the CPUs of their maker.
pub(crate) fn of_process(work: &mut Work<'_>, steps: &[Step], cpuset: &Cpuset) -> Result<(), Halt> {
    // A main thread that has ended has no line, and another stands for it.
    let (pid, member) = (work.target.pid(), work.target.member());
    let makers = Makers::of(steps, cpuset, |thread| thread == pid || member != pid);
    if makers.given.iter().all(|given| given.before.is_empty()) {
        return Ok(());
    }
    for thread in bind::threads(work)? {
        let Some(started) = bind::start_of(work, thread.id) else { continue };
        if makers.known.contains(&(thread.id, started)) {
            continue;
        }
        let before = makers.of_heir(&thread.cpus, None);
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
    let (root, pid, owner) = (work.target.root().clone(), work.target.pid(), work.target.owner());
    // What is attached to has a journal of its own, also for what it starts.
    let mut left = HashSet::from([std::process::id()]);
    let mut given_back = Vec::new();
    for descendant in descendants(&root, &[pid]).unwrap_or_default().into_iter().skip(1) {
        work.may_go_on()?;
        let Ok(Stat { parent, start_ticks, .. }) = Stat::read(&root, descendant) else { continue };
        if left.contains(&descendant)
            || left.contains(&parent)
            || is_attached(journals, &Owner { pid: descendant, start_ticks, ..owner.clone() })
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
    let threads = firsttouch_threads::threads_of(root, pid)?;
    let is_heir =
        |started: u64| threads.iter().any(|thread| makers.of_heir(&thread.cpus, Some(started)).is_some());
    if !Stat::read(root, pid).is_ok_and(|stat| is_heir(stat.start_ticks)) {
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
        let before = makers.of_heir(&thread.cpus, Some(target.start_ticks()));
        let Some(bits) =
            before.filter(|_| stat.is_ok_and(is_there)).and_then(|before| cpuset.bits_of(before))
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
fn is_attached(journals: &Path, owner: &Owner) -> bool {
    let history =
        std::fs::read(owner.path(journals)).ok().and_then(|bytes| JournalHistory::parse(&bytes).ok());
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
        assert_eq!(makers.of_heir(&[4], None), Some(&vec![3]));
        // Of two makers nobody knows which it was.
        assert_eq!(makers.of_heir(&[1], None), Some(&vec![0, 1, 2, 3]));
        assert_eq!(makers.of_heir(&[7], None), None);
        assert_eq!(makers.of_heir(&[4], Some(70)), Some(&vec![3]), "within the tick in which it began");
        assert_eq!(makers.of_heir(&[4], Some(69)), None);
    }

    #[test]
    fn who_was_made_after_several_attaches_gets_what_was_before_all_of_them() {
        let step = |entry, began| Step { line: 0, entry, same_program: true, began_ticks: Some(began) };
        // Back and forth: what the last one gave is what another had taken away.
        let steps =
            [step(bound(10, "1", "0"), 90), step(bound(10, "0", "1"), 80), step(bound(10, "0-3", "0"), 70)];
        let makers = Makers::of(&steps, &Cpuset(None), |thread| thread == 10);
        let all = vec![0, 1, 2, 3];
        assert_eq!((makers.of_heir(&[0], None), makers.of_heir(&[1], None)), (Some(&all), Some(&all)));
        assert_eq!(makers.of_heir(&[0], Some(75)), Some(&all), "of the first");
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
