//! Who has CPUs that we gave to others: threads and processes that were made since have those of their maker.

use crate::bind::{self, Set};
use crate::executor::{Executor, Remote};
use crate::journal::{JournalHistory, Owner, Step};
use crate::makers::{Cpuset, Makers};
use crate::target::Target;
use crate::work::{Halt, Work};
use firsttouch_documents::JournalEntry;
use firsttouch_linux::process::{Stat, descendants};
use firsttouch_machine::cpuset_of_process;
use std::collections::HashSet;
use std::io;
use std::path::Path;

/// Threads that were made since have the CPUs of their maker. Whether there were any is the answer.
pub(crate) fn of_process(work: &mut Work<'_>, steps: &[Step], cpuset: &Cpuset) -> Result<bool, Halt> {
    let makers = Makers::of_process(work, steps, cpuset);
    if makers.is_empty() {
        return Ok(false);
    }
    let mut is_any = false;
    for thread in bind::threads(work)? {
        let Some(started) = bind::start_of(work, thread.id) else { continue };
        let before = makers.of_thread(thread.id, started, &thread.cpus);
        let Some(bits) = before.and_then(|before| cpuset.bits_of(before)) else { continue };
        work.may_go_on()?;
        if bind::set(work, thread.id, started, &bits)? == Set::Done {
            work.bound_threads += 1;
            is_any = true;
        }
    }
    Ok(is_any)
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
    let root = maker.root();
    let cpuset = Cpuset(cpuset_of_process(root, pid));
    let makers = Makers::of_target(maker, steps, &cpuset);
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
