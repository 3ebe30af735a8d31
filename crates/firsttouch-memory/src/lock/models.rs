//! `RUSTFLAGS="--cfg loom" cargo test -p firsttouch-memory --lib models`

use super::*;
use loom::sync::atomic::AtomicU32 as Number;
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

/// A futex as its manual page describes it: what is compared, and who sleeps, changes under a lock of the kernel's.
struct Modelled {
    number: Number,
    kernel: Mutex<()>,
    sleepers: Condvar,
    /// Turns pass before anybody comes.
    is_late: bool,
}

impl Word for Modelled {
    fn load(&self) -> u32 {
        self.number.load(Ordering::Relaxed)
    }

    fn replace(&self, from: u32, to: u32) -> bool {
        self.number.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    fn swap(&self, to: u32) -> u32 {
        self.number.swap(to, Ordering::AcqRel)
    }

    fn wait(&self, number: u32) -> bool {
        let kernel = self.kernel.lock().unwrap();
        let is_so = self.number.load(Ordering::Relaxed) == number;
        if is_so && !self.is_late {
            drop(self.sleepers.wait(kernel));
        }
        is_so && self.is_late
    }

    fn wake_one(&self) {
        let _kernel = self.kernel.lock().unwrap();
        self.sleepers.notify_one();
    }

    fn wake_all(&self) {
        let _kernel = self.kernel.lock().unwrap();
        self.sleepers.notify_all();
    }

    fn this_thread() -> u32 {
        // Loom numbers threads from 0.
        let number = std::format!("{:?}", thread::current().id());
        let digits: std::string::String = number.chars().filter(char::is_ascii_digit).collect();
        (digits.parse::<u32>().unwrap() + 1) << 2
    }

    fn work_ns() -> u64 {
        0
    }

    fn hold_signals() -> u64 {
        0
    }

    fn let_signals(_: u64) {}
}

/// The cell is loom's, which notices two that use it at once, and what one has not given on to the other.
type OfNumber = Lock<loom::cell::UnsafeCell<u32>, Modelled>;

fn lock(is_late: bool) -> Arc<OfNumber> {
    let (kernel, sleepers) = (Mutex::new(()), Condvar::new());
    Arc::new(Lock {
        state: Modelled { number: Number::new(FREE), kernel, sleepers, is_late },
        holds_signals: AtomicBool::new(false),
        value: UnsafeCell::new(loom::cell::UnsafeCell::new(0)),
    })
}

#[test]
fn one_at_a_time_and_nobody_sleeps_for_ever() {
    let mut builder = loom::model::Builder::new();
    // Orders in which a thread is interrupted more often are too many to try, and find nothing that these do not.
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let lock = lock(false);
        let add = |lock: &OfNumber| {
            let guard = lock.enter().unwrap();
            // SAFETY: the lock is held.
            guard.with_mut(|count| unsafe { *count += 1 });
        };
        let others = [(), ()].map(|()| {
            let lock = Arc::clone(&lock);
            thread::spawn(move || add(&lock))
        });
        add(&lock);
        for other in others {
            other.join().unwrap();
        }
        // SAFETY: nobody else is left.
        lock.enter().unwrap().with(|count| assert_eq!(unsafe { *count }, 3));
    });
}

#[test]
fn nothing_changes_while_a_process_forks() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let lock = lock(false);
        let add = |guard: Option<Guard<'_, loom::cell::UnsafeCell<u32>, Modelled>>| {
            // SAFETY: the lock is held.
            guard.is_some_and(|guard| guard.with_mut(|count| unsafe { *count += 1 }) == ())
        };
        let fork = |lock: &OfNumber| {
            assert!(lock.close(Patience::SHORT));
            // SAFETY: closed by this thread: others only read.
            let look = || unsafe { lock.closed() }.with(|count| unsafe { *count });
            assert_eq!(look(), look());
            drop(lock.open());
        };
        let other = {
            let lock = Arc::clone(&lock);
            thread::spawn(move || fork(&lock))
        };
        let worker = {
            let lock = Arc::clone(&lock);
            thread::spawn(move || u32::from(add(lock.enter())) + u32::from(add(lock.wait())))
        };
        fork(&lock);
        other.join().unwrap();
        let added = worker.join().unwrap();
        assert!(added >= 1, "who waits for forks is woken");
        // SAFETY: nobody else is left.
        lock.enter().unwrap().with(|count| assert_eq!(unsafe { *count }, added));
    });
}

/// A fork waits for what others hold while they wait for the lock: stdio's locks.
#[test]
fn a_fork_waits_for_nobody_whom_it_keeps_waiting() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let lock = lock(false);
        let others = [(), ()].map(|()| {
            let lock = Arc::clone(&lock);
            thread::spawn(move || drop(lock.enter()))
        });
        assert!(lock.close(Patience::SHORT));
        for other in others {
            other.join().unwrap();
        }
        drop(lock.open().unwrap());
    });
}
/// Whoever waits for a holder that does not come back goes on, forks too, and nobody is in while it is.
#[test]
fn a_holder_that_does_not_come_back_is_left() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let lock = lock(true);
        let add = |guard: Option<Guard<'_, loom::cell::UnsafeCell<u32>, Modelled>>| {
            // SAFETY: the lock is held.
            u32::from(guard.is_some_and(|guard| guard.with_mut(|count| unsafe { *count += 1 }) == ()))
        };
        let guard = lock.enter().unwrap();
        let others = [true, false].map(|forks| {
            let lock = Arc::clone(&lock);
            thread::spawn(move || {
                if forks && lock.close(Patience::SHORT) {
                    drop(lock.open());
                }
                add(lock.enter())
            })
        });
        // The holder comes back whenever it likes: before, while or after the others give it up.
        let mut added = add(Some(guard));
        added += others.into_iter().map(|other| other.join().unwrap()).sum::<u32>();
        added += add(lock.enter());
        // SAFETY: nobody else is left.
        lock.enter().unwrap().with(|count| assert_eq!(unsafe { *count }, added));
    });
}

/// Who waits without end for a holder that others have left is woken by its coming back.
#[test]
fn who_waits_for_one_that_is_left_is_woken() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let lock = lock(false);
        let guard = lock.enter().unwrap();
        let waiter = {
            let lock = Arc::clone(&lock);
            thread::spawn(move || drop(lock.wait().unwrap()))
        };
        let held = lock.state.load() & !HOW;
        if lock.state.replace(held | CONTENDED, held | LEFT) {
            lock.state.wake_all();
        }
        drop(guard);
        waiter.join().unwrap();
        assert!(lock.enter().is_some());
    });
}
