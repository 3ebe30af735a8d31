//! Who gave CPUs to those who were made since: threads and processes begin with those of their maker.

use crate::journal::Step;
use crate::target::Target;
use crate::work::Work;
use firsttouch_documents::JournalEntry;
use firsttouch_linux::cpulist::parse_list;
use firsttouch_linux::numa::CpuBits;
use firsttouch_machine::cpuset_of_process;
use firsttouch_sorted::{SortedMap, SortedSet};
use std::collections::HashSet;

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
pub(crate) struct Makers {
    /// Threads that have lines of their own, with when they started. After an `exec` the first thread may be another one, which has taken
    /// its number.
    known: HashSet<(u32, u64)>,
    /// Attaches, the newest first.
    given: Vec<Given>,
    /// The number of the first thread, where somebody has executed: whoever did has it from then on, and its start, too.
    executed: Option<u32>,
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

    /// Those of the process that is worked on, by its journal as it is now.
    pub(crate) fn at_work(work: &Work<'_>) -> Makers {
        let mut steps = work.journal.history().steps(work.target.image());
        steps.retain(|step| matches!(step.entry, JournalEntry::Affinity { .. }));
        let cpuset = Cpuset(cpuset_of_process(work.target.root(), work.target.member()));
        Makers::of_process(work, &steps, &cpuset)
    }

    /// The same by these steps of it.
    pub(crate) fn of_process(work: &Work<'_>, steps: &[Step], cpuset: &Cpuset) -> Makers {
        let has_executed = steps.iter().any(|step| !step.same_program);
        let executed = has_executed.then(|| work.target.pid());
        Makers { executed, ..Makers::of_target(work.target, steps, cpuset) }
    }

    /// Those of a process as what it has started sees them.
    pub(crate) fn of_target(target: &Target, steps: &[Step], cpuset: &Cpuset) -> Makers {
        let (pid, member) = (target.pid(), target.member());
        // Where the main thread has ended it has no line, and another stands for it.
        Makers::of(steps, cpuset, |thread| thread == pid || member != pid)
    }

    /// Whether nobody was given anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.given.iter().all(|given| given.before.is_empty())
    }

    /// What a thread of the process would have without us, if it has these CPUs from its maker. Who was there before an attach has them by its
    /// own choice: an attach gives nothing to who has it.
    pub(crate) fn of_thread(&self, thread: u32, started: u64, cpus: &[u32]) -> Option<&Vec<u32>> {
        if self.known.contains(&(thread, started)) {
            return None;
        }
        self.of_heir(cpus, (self.executed != Some(thread)).then_some(started))
    }

    /// What a thread that has these CPUs would have without us, through all attaches; `None` if it has them from none of them. Of who
    /// may have them by somebody else's choice, `started` tells when it started: only attaches that began before count.
    pub(crate) fn of_heir(&self, cpus: &[u32], started: Option<u64>) -> Option<&Vec<u32>> {
        let is_before =
            |since: Option<u64>| started.is_none_or(|started| since.is_some_and(|since| started >= since));
        self.given
            .iter()
            .filter(|given| is_before(given.since))
            .fold(None, |found, given| given.of_heir(found.map_or(cpus, Vec::as_slice)).or(found))
    }
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
    fn who_was_there_before_and_who_has_a_line_is_no_heir() {
        let steps = [bound(11, "0-3", "2"), bound(10, "0-3", "1")].map(|entry| Step {
            line: 0,
            entry,
            same_program: true,
            began_ticks: Some(70),
        });
        let mut makers = Makers::of(&steps, &Cpuset(None), |thread| thread == 10);
        let all = vec![0, 1, 2, 3];
        assert_eq!(makers.of_thread(12, 70, &[1]), Some(&all));
        assert_eq!((makers.of_thread(12, 69, &[1]), makers.of_thread(11, 0, &[1])), (None, None));
        // After an exec its start tells nothing.
        makers.executed = Some(12);
        assert_eq!(makers.of_thread(12, 69, &[1]), Some(&all));
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
