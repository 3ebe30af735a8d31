//! Threads on CPUs, and back.

use crate::errors::{bad_argument, unsupported};
use firsttouch_linux::numa::{self, CpuBits};
use firsttouch_machine::{Machine, Root};
use firsttouch_placement::{Placement, Policies, Surroundings, ThreadPlacement};
use firsttouch_threads::{ThreadState, threads_of};
use pyo3::prelude::*;
use std::io;
use std::sync::{Mutex, PoisonError};

/// A thread that was bound: its number, its name, the CPUs that it could run on before, the one that it has now.
type Bound = (u32, String, Vec<u32>, u32);

/// The CPUs that the process could use before any thread was bound: a second order is not to be confined to the first.
static WIDEST: Mutex<Option<CpuBits>> = Mutex::new(None);

fn threads() -> PyResult<Vec<ThreadState>> {
    let read = threads_of(&Root::live(), std::process::id());
    read.map_err(|error| unsupported(&error, "mount -t proc proc /proc"))
}

/// The CPUs of an order (`compact`, `scatter`, `groups=CORESxGROUPS`, or CPUs such as `0,2,4-7`), the first to be given
/// first.
fn order(words: &str, threads: &[ThreadState]) -> PyResult<Vec<u32>> {
    let placement: ThreadPlacement =
        words.parse().map_err(|error| bad_argument(&error, "firsttouch.topology() lists the CPUs"))?;
    if placement == ThreadPlacement::None {
        return Err(bad_argument(
            &"`none` is no order of CPUs",
            "compact, scatter, groups=6x4, or CPUs such as 0,2,4-7",
        ));
    }
    let mut machine = Machine::read(&Root::live())
        .map_err(|error| unsupported(&error, "mount -t proc proc /proc; mount -t sysfs sysfs /sys"))?;
    let mut widest = WIDEST.lock().unwrap_or_else(PoisonError::into_inner);
    let mut usable = widest.unwrap_or(CpuBits::EMPTY);
    for cpu in threads.iter().flat_map(|thread| &thread.cpus) {
        usable.insert(*cpu);
    }
    *widest = Some(usable);
    machine.limits.allowed_cpus = Some(usable.iter().collect());
    let placement = Placement { threads: placement, ..Placement::default() };
    let around = Surroundings { machine: &machine, near: None, measured: None, kernel: Policies::default() };
    let resolved = placement.resolve(&around).map_err(|error| bad_argument(&error, error.hint()))?;
    Ok(resolved.order)
}

/// Binds the calling thread, or all threads of the process, each to one CPU of an order. Of several threads each gets the
/// next one; a single one gets the first that fewest others are bound to. Answers who was bound, and the numbers of all
/// threads there were.
#[pyfunction]
pub(crate) fn pin(words: String, everyone: bool) -> PyResult<(Vec<Bound>, Vec<u32>)> {
    let threads = threads()?;
    let order = order(&words, &threads)?;
    let own = numa::thread_id();
    let mut given: Vec<(&ThreadState, u32)> = Vec::new();
    if everyone {
        given.extend(threads.iter().zip(order.iter().copied().cycle()));
    } else if let Some(thread) = threads.iter().find(|thread| thread.id == own) {
        let others = |cpu: u32| threads.iter().filter(|other| other.id != own && other.cpus == [cpu]).count();
        given.extend(order.iter().copied().min_by_key(|cpu| others(*cpu)).map(|cpu| (thread, cpu)));
    }
    let mut bound = Vec::new();
    for (thread, cpu) in given {
        match bind(thread.id, &[cpu]) {
            Ok(()) => bound.push((thread.id, thread.name.clone(), thread.cpus.clone(), cpu)),
            Err(error) => {
                // It has ended meanwhile, or nothing is bound.
                if error.raw_os_error() != Some(libc::ESRCH) {
                    take_back(&bound);
                    let what = format!("thread {} cannot be bound to CPU {cpu}: {error}", thread.id);
                    return Err(unsupported(&what, "firsttouch.topology() lists the CPUs that may be used"));
                }
            }
        }
    }
    Ok((bound, threads.iter().map(|thread| thread.id).collect()))
}

fn bind(thread: u32, cpus: &[u32]) -> io::Result<()> {
    let cpus = CpuBits::of(cpus).ok_or(libc::EINVAL);
    cpus.and_then(|cpus| numa::set_affinity(thread, &cpus)).map(drop).map_err(io::Error::from_raw_os_error)
}

/// Gives threads back the CPUs they had, where they still have the one they were given.
fn take_back(bound: &[Bound]) {
    for (thread, _, before, cpu) in bound {
        if CpuBits::of(&[*cpu]).is_some_and(|given| numa::affinity(*thread) == Ok(given)) {
            // A thread that has ended needs none.
            let _ = bind(*thread, before);
        }
    }
}

/// Takes back what `pin` did. Threads that were started since, `known` being those before, inherited the CPU of the thread
/// that started them, and get what the first bound one gets.
#[pyfunction]
pub(crate) fn unpin(bound: Vec<Bound>, known: Vec<u32>) -> PyResult<()> {
    let mut all = bound;
    if let Some((_, _, before, _)) = all.first().cloned() {
        let heirs = threads()?.into_iter().filter(|thread| !known.contains(&thread.id));
        let heirs = heirs.filter_map(|thread| match thread.cpus.as_slice() {
            [cpu] if all.iter().any(|(_, _, _, given)| given == cpu) => {
                Some((thread.id, thread.name, before.clone(), *cpu))
            }
            _ => None,
        });
        let heirs: Vec<Bound> = heirs.collect();
        all.extend(heirs);
    }
    take_back(&all);
    Ok(())
}
