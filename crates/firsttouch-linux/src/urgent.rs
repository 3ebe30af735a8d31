//! Going before other threads, for who holds what others wait for and would keep them waiting while it waits itself.

use crate::clock::thread_processor_time;
use crate::root::Root;
use crate::trials;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The calling thread goes a little before others, until this is dropped; without the right to that (`CAP_SYS_NICE`) it
/// does not. Where the kernel shares processors by session (autogroups) or by control group, it goes before those of its own
/// only: [`Precedence`] does more.
#[derive(Debug)]
pub struct Urgent {
    /// The niceness before, where it was changed.
    before: Option<libc::c_int>,
}

impl Urgent {
    /// From now on.
    pub fn begin() -> Urgent {
        // Further up, a thread that wants this very processor would wait for a quarter of a second.
        const A_LITTLE: libc::c_int = -5;
        // SAFETY: reads the niceness of the calling thread. An answer of -1 cannot be told from an error, and is nobody's
        // usual niceness.
        let before = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        // SAFETY: changes how the calling thread is scheduled.
        let changed = before > A_LITTLE && unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, A_LITTLE) } == 0;
        Urgent { before: changed.then_some(before) }
    }
}

impl Drop for Urgent {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // SAFETY: as above; going back needs no right.
            unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, before) };
        }
    }
}

/// Leave for a thread to go before all ordinary ones, call by call (`SCHED_FIFO` at the lowest priority; see sched(7)): once it
/// has a processor it keeps it until the call is made.
///
/// It does so for three quarters of the time at most. Above that the kernel would take the processor away (`sched_rt_runtime_us`),
/// in the middle of a call; calls beyond are made in their turn, like anybody's.
#[derive(Debug)]
pub struct Precedence {
    /// `None` where nobody may, or where the kernel allows less than usual.
    ration: Mutex<Option<Ration>>,
}

impl Precedence {
    /// What this machine allows; whether the kernel allows it to us turns out at the first call.
    pub fn new(root: &Root) -> Precedence {
        let setting = |name: &str| {
            let text = root.read(&format!("proc/sys/kernel/{name}")).ok().flatten()?;
            text.trim().parse::<i64>().ok()
        };
        let share = setting("sched_rt_runtime_us").zip(setting("sched_rt_period_us"));
        let is_usual = share.is_some_and(|(runtime_us, period_us)| is_enough(runtime_us, period_us));
        let allowed = is_usual && trials::may_be_scheduled();
        Precedence { ration: Mutex::new(allowed.then(|| Ration::full(Instant::now()))) }
    }

    /// None at all.
    pub const fn none() -> Precedence {
        Precedence { ration: Mutex::new(None) }
    }

    /// Whether it has not been refused.
    pub fn is_allowed(&self) -> bool {
        self.ration(|ration| ration.is_some())
    }

    /// Makes a call before all ordinary threads, if that is allowed and there is time left for it.
    pub fn during<T>(&self, call: impl FnOnce() -> T) -> T {
        if !self.ration(|ration| ration.as_mut().is_some_and(|ration| ration.is_open(Instant::now()))) {
            return call();
        }
        let Some(first) = First::begin() else {
            self.ration(|ration| *ration = None);
            return call();
        };
        let begun = thread_processor_time();
        let answer = call();
        drop(first);
        let used = thread_processor_time().saturating_sub(begun);
        self.ration(|ration| ration.iter_mut().for_each(|ration| ration.used(used)));
        answer
    }

    fn ration<T>(&self, change: impl FnOnce(&mut Option<Ration>) -> T) -> T {
        // What it holds is whole after every change.
        change(&mut self.ration.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Whether the kernel lets such threads run for more than a ration is, counted over a period that is long enough for it.
fn is_enough(runtime_us: i64, period_us: i64) -> bool {
    let usual = period_us >= 500_000 && runtime_us.saturating_mul(100) >= period_us.saturating_mul(95);
    runtime_us == -1 || usual
}

/// The calling thread before all ordinary ones, until this is dropped.
#[derive(Debug)]
struct First {
    /// The policy before, where it was changed; with it comes the niceness, which the kernel keeps.
    before: Option<libc::c_int>,
}

impl First {
    /// `None` if it may not.
    fn begin() -> Option<First> {
        // SAFETY: reads the policy of the calling thread.
        let before = unsafe { libc::sched_getscheduler(0) };
        let kept = before & libc::SCHED_RESET_ON_FORK;
        if !matches!(before & !kept, libc::SCHED_OTHER | libc::SCHED_BATCH | libc::SCHED_IDLE) {
            // It goes before others already.
            return Some(First { before: None });
        }
        set_policy(libc::SCHED_FIFO | kept, 1).then_some(First { before: Some(before) })
    }
}

impl Drop for First {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            // Going back needs no right.
            set_policy(before, 0);
        }
    }
}

fn set_policy(policy: libc::c_int, priority: libc::c_int) -> bool {
    // Without the C library's function, which musl does not have; the structure holds no more than this.
    // SAFETY: changes how the calling thread is scheduled; the kernel reads one number.
    unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) == 0 }
}

/// Processor time that may be used, growing with time.
#[derive(Clone, Copy, Debug)]
struct Ration {
    left_ns: i64,
    at: Instant,
}

impl Ration {
    /// Of the clock's time, so much grows.
    const SHARE: (i64, i64) = (3, 4);
    /// More is not kept: in any second no more than nine tenths are used.
    const MOST_NS: i64 = 100_000_000;
    /// With less than a long call takes, none is begun.
    const ENOUGH_NS: i64 = 20_000_000;

    fn full(now: Instant) -> Ration {
        Ration { left_ns: Ration::MOST_NS, at: now }
    }

    fn is_open(&mut self, now: Instant) -> bool {
        let since = nanoseconds(now.saturating_duration_since(self.at));
        self.at = now;
        let grown = since / Ration::SHARE.1 * Ration::SHARE.0;
        self.left_ns = self.left_ns.saturating_add(grown).min(Ration::MOST_NS);
        self.left_ns >= Ration::ENOUGH_NS
    }

    fn used(&mut self, time: Duration) {
        self.left_ns = self.left_ns.saturating_sub(nanoseconds(time));
    }
}

fn nanoseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> libc::c_int {
        // SAFETY: reads the policy of the calling thread.
        unsafe { libc::sched_getscheduler(0) }
    }

    fn niceness() -> libc::c_int {
        // SAFETY: reads the niceness of the calling thread.
        unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
    }

    #[test]
    fn urgency_leaves_nothing_behind() {
        let before = (niceness(), policy());
        let urgent = Urgent::begin();
        assert!(niceness() <= before.0);
        let nice = niceness();
        let precedence = Precedence::new(&Root::live());
        let during = precedence.during(policy);
        assert_eq!(during == libc::SCHED_FIFO, precedence.is_allowed());
        assert_eq!(precedence.during(|| precedence.during(policy)), during, "within another");
        assert_eq!((niceness(), policy()), (nice, before.1));
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            precedence.during(|| std::panic::resume_unwind(Box::new(())))
        }));
        assert!(panicked.is_err());
        assert_eq!((niceness(), policy()), (nice, before.1));
        drop(urgent);
        assert_eq!((niceness(), policy()), before);
        assert_eq!(Precedence::none().during(policy), before.1);
    }

    #[test]
    fn nobody_goes_first_for_longer_than_the_kernel_lets_him() {
        let start = Instant::now();
        let mut ration = Ration::full(start);
        let (ms, second) = (Duration::from_millis, 1000);
        let mut in_second = std::collections::VecDeque::new();
        // Calls of 10 ms, one after another.
        for at in (0..10 * second).step_by(10) {
            if ration.is_open(start + ms(at)) {
                ration.used(ms(10));
                in_second.push_back(at);
            }
            in_second.retain(|&then| then + second > at);
            assert!(in_second.len() <= 90, "{} of 100", in_second.len());
        }
        assert!(in_second.len() >= 70, "{} of 100", in_second.len());
    }

    #[test]
    fn where_the_kernel_allows_less_nobody_goes_first() {
        assert!(is_enough(-1, 1_000_000) && is_enough(950_000, 1_000_000));
        assert!(!is_enough(0, 1_000_000) && !is_enough(500_000, 1_000_000) && !is_enough(95_000, 100_000));
    }
}
