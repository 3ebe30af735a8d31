//! The lock of a heap: needs no thread-local storage, never allocates, and nobody waits for it who might wait for ever.
//!
//! A futex lock with three states (Drepper, "Futexes Are Tricky", 2011, second mutex) whose word also names the thread
//! that holds it, and two more:
//!
//! - A signal handler that interrupts its holder is turned away, not kept waiting for its own thread. It may fork there:
//!   the child goes on in the same thread, with the lock held, and releases it as its parent does.
//! - While a process forks, the lock is *closed*: everybody is turned away, and nothing changes, so that the child's copy
//!   is whole. Handlers of fork(3) that run after ours, other threads that hold locks of the C library which the
//!   fork waits for (stdio's), and further forks meanwhile all go on.
//! - A holder that a handler of a signal has stopped inside may wait for those who wait for it (`patience`). After a tenth of
//!   a second they give it up: until it comes back the lock is *left*, and turns everybody away. From then on who takes the lock
//!   holds off signals meanwhile, so that it does not happen again; others do not pay for that.
//!
//! Who is turned away does without placed memory: see `Heap`.

#[cfg(all(test, loom))]
mod models;

use crate::patience::{Patience, TURN_NS, Turns};
use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use firsttouch_linux::sys;

const FREE: u32 = 0;
/// The low bits of a word that is not free say how it is held, the others who holds it; if it is closed, by how many
/// forks.
const HOW: u32 = 3;
const LEFT: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;
const CLOSED: u32 = 3;
const ONE_FORK: u32 = 4;

/// The signals that others send. Those of a thread's own doing end the process where they are held off.
const ALL_BUT_FAULTS: u64 =
    !(bit(libc::SIGSEGV) | bit(libc::SIGBUS) | bit(libc::SIGFPE) | bit(libc::SIGILL) | bit(libc::SIGTRAP));

const fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// A number that threads can wait by.
pub trait Word {
    /// The number now.
    fn load(&self) -> u32;
    /// Puts `to` in place of `from`, if that is what is there. What was written before is given on to whoever sees it.
    fn replace(&self, from: u32, to: u32) -> bool;
    /// Puts a number there, and answers what was there; likewise.
    fn swap(&self, to: u32) -> u32;
    /// Waits while the number is this one, for a turn at most, and answers whether that has passed; may come back at any time.
    fn wait(&self, number: u32) -> bool;
    /// Wakes one that waits.
    fn wake_one(&self);
    /// Wakes all that wait.
    fn wake_all(&self);
    /// A number for the calling thread with the bits of [`HOW`] clear, not 0. Two threads may have the same: either may
    /// then be turned away where it would have waited.
    fn this_thread() -> u32;
    /// The processor time of the process.
    fn work_ns() -> u64;
    /// Keeps signals from the calling thread, and answers what it kept from itself before.
    fn hold_signals() -> u64;
    /// Keeps no others from it than these.
    fn let_signals(before: u64);
}

/// The kernel's: futex(2).
impl Word for AtomicU32 {
    fn load(&self) -> u32 {
        self.load(Ordering::Relaxed)
    }

    fn replace(&self, from: u32, to: u32) -> bool {
        self.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    fn swap(&self, to: u32) -> u32 {
        self.swap(to, Ordering::AcqRel)
    }

    fn wait(&self, number: u32) -> bool {
        sys::futex_wait_for(self, number, TURN_NS) == Err(libc::ETIMEDOUT)
    }

    fn wake_one(&self) {
        sys::futex_wake(self, 1);
    }

    fn wake_all(&self) {
        sys::futex_wake(self, i32::MAX);
    }

    fn this_thread() -> u32 {
        // Thread descriptors are aligned to 64 bytes, and lie within 64 GiB of each other but for collisions.
        ((sys::this_thread() >> 6 << 2) as u32).max(ONE_FORK)
    }

    fn work_ns() -> u64 {
        sys::process_ns()
    }

    fn hold_signals() -> u64 {
        sys::set_signal_mask(ALL_BUT_FAULTS)
    }

    fn let_signals(before: u64) {
        sys::set_signal_mask(before);
    }
}

/// A value behind the lock.
#[derive(Debug)]
pub struct Lock<T, W: Word = AtomicU32> {
    state: W,
    /// The program has stopped a thread inside, as far as can be told.
    holds_signals: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only through a guard, and only one guard exists at a time.
unsafe impl<T: Send, W: Word + Sync> Sync for Lock<T, W> {}

impl<T> Lock<T> {
    /// The lock of a value.
    pub const fn new(value: T) -> Self {
        Lock {
            state: AtomicU32::new(FREE),
            holds_signals: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }
}

impl<T, W: Word> Lock<T, W> {
    /// Waits for the lock; `None`, at once, while it is closed or left, or if this thread holds it.
    pub fn enter(&self) -> Option<Guard<'_, T, W>> {
        self.acquire(Patience::SHORT)
    }

    /// Waits for the lock, also for forks to end, and for a holder that was stopped; `None` if this thread holds it. For those that
    /// nobody waits for.
    pub fn wait(&self) -> Option<Guard<'_, T, W>> {
        self.acquire(Patience::ENDLESS)
    }

    /// Waits for the lock as long as patience lasts; `None`, at once, if this thread holds it.
    pub(crate) fn acquire(&self, patience: Patience) -> Option<Guard<'_, T, W>> {
        let signals = self.holds_signals.load(Ordering::Relaxed).then(W::hold_signals);
        if self.take(patience) {
            return Some(Guard { lock: self, signals });
        }
        if let Some(before) = signals {
            W::let_signals(before);
        }
        None
    }

    fn take(&self, patience: Patience) -> bool {
        let own = W::this_thread();
        if self.state.replace(FREE, own | HELD) {
            return true;
        }
        if patience == Patience::NONE {
            return false;
        }
        let mut turns = Turns::new(patience);
        loop {
            let now = self.state.load();
            if now == FREE {
                // Others may wait as well: who releases it wakes one.
                if self.state.replace(FREE, own | CONTENDED) {
                    return true;
                }
            } else if is_held_by(now, own) {
                return false;
            } else if [CLOSED, LEFT].contains(&(now & HOW)) {
                if !self.wait_while_shut(now, &mut turns) {
                    return false;
                }
            } else {
                // Who is given up may be back in the next turn.
                let _ = self.wait_for_holder(now, &mut turns);
            }
        }
    }

    /// Waits a turn for a lock that turns everybody away; false, at once, where patience has ended.
    fn wait_while_shut(&self, now: u32, turns: &mut Turns) -> bool {
        turns.wait_for_shut(sys::now_ns, || {
            self.state.wait(now);
            self.state.load() == now
        })
    }

    /// Waits a turn for a holder, and gives it up where patience ends: then false.
    fn wait_for_holder(&self, now: u32, turns: &mut Turns) -> bool {
        let contended = now & !HOW | CONTENDED;
        let waits = now == contended || self.state.replace(now, contended);
        if !waits || !self.state.wait(contended) || turns.go_on(contended, W::work_ns) {
            return true;
        }
        if self.state.replace(contended, now & !HOW | LEFT) {
            self.holds_signals.fetch_or(turns.saw_idle(), Ordering::Relaxed);
            // The others who wait are turned away as well.
            self.state.wake_all();
        }
        false
    }

    /// From now on signals come to whoever holds the lock: the kernel is not to be asked to hold them off.
    pub(crate) fn hold_no_signals(&self) {
        self.holds_signals.store(false, Ordering::Relaxed);
    }

    /// Takes the lock if it comes free within about `tries` looks; for the way out of a process, where the
    /// holder may be a thread that will never run again. `None`, at once, if this thread holds it.
    pub fn try_lock(&self, tries: u32) -> Option<Guard<'_, T, W>> {
        let own = W::this_thread();
        for _ in 0..tries {
            if self.state.replace(FREE, own | HELD) {
                return Some(Guard { lock: self, signals: None });
            }
            if is_held_by(self.state.load(), own) {
                return None;
            }
            core::hint::spin_loop();
        }
        None
    }

    /// Before a fork: waits for the holder, also where others have given it up, and closes the lock; once more if it is closed already.
    /// False if this thread holds it: a handler of a signal forks, and the lock stays as it is; and if another thread was stopped
    /// inside, or stays there for long: then the child must not rely on the value being whole.
    pub(crate) fn close(&self, patience: Patience) -> bool {
        let own = W::this_thread();
        let mut turns = Turns::new(patience);
        loop {
            let now = self.state.load();
            if self.may_close(now) {
                if self.close_from(now) {
                    return true;
                }
            } else if is_held_by(now, own) {
                return false;
            } else {
                let waits = if now & HOW == LEFT {
                    self.wait_while_shut(now, &mut turns)
                } else {
                    self.wait_for_holder(now, &mut turns)
                };
                if !waits {
                    return false;
                }
            }
        }
    }

    /// The same, but does not wait: false also if another thread holds it. Its child must not rely on the value being whole.
    pub fn close_if_free(&self) -> bool {
        loop {
            let now = self.state.load();
            if !self.may_close(now) {
                return false;
            }
            if self.close_from(now) {
                return true;
            }
        }
    }

    fn may_close(&self, now: u32) -> bool {
        now == FREE || now & HOW == CLOSED
    }

    fn close_from(&self, now: u32) -> bool {
        let closed = self.state.replace(now, if now == FREE { ONE_FORK | CLOSED } else { now + ONE_FORK });
        if closed {
            // Whoever waits for a holder, who is gone, is turned away now: the fork may wait for them.
            self.state.wake_all();
        }
        closed
    }

    /// After a fork, in the parent: opens what was closed for it. The last of several forks that overlap gets the
    /// lock.
    pub fn open(&self) -> Option<Guard<'_, T, W>> {
        loop {
            let now = self.state.load();
            if now & HOW != CLOSED {
                // This thread held it before, or a child has opened it for itself.
                return None;
            }
            if now == ONE_FORK | CLOSED {
                // Whoever waits for the end of forks is woken by the release.
                if self.state.replace(now, W::this_thread() | CONTENDED) {
                    return Some(Guard { lock: self, signals: None });
                }
            } else if self.state.replace(now, now - ONE_FORK) {
                return None;
            }
        }
    }

    /// Whether another thread holds it; in a copy of a process that was made without [`Lock::close`], one that is not there.
    pub(crate) fn is_held_by_another(&self) -> bool {
        let now = self.state.load();
        now != FREE && now & HOW != CLOSED && now & !HOW != W::this_thread()
    }

    /// After a fork, in the child, which has one thread: takes the lock, whether it was closed, by however many forks, or
    /// another thread held it, which is not here. `None` if this thread held it before.
    pub fn open_in_child(&self) -> Option<Guard<'_, T, W>> {
        if is_held_by(self.state.load(), W::this_thread()) {
            return None;
        }
        self.state.swap(W::this_thread() | HELD);
        Some(Guard { lock: self, signals: None })
    }

    /// The value, to be read while the lock is closed.
    ///
    /// # Safety
    /// The calling thread has closed the lock and not opened it since, or whoever holds it changes nothing meanwhile.
    pub(crate) unsafe fn closed(&self) -> &T {
        // SAFETY: while it is closed nobody gets a guard.
        unsafe { &*self.value.get() }
    }
}

/// Whether a thread holds the lock of that word.
fn is_held_by(word: u32, thread: u32) -> bool {
    word & HOW != CLOSED && word & !HOW == thread
}

/// Access to the value while the lock is held.
#[derive(Debug)]
pub struct Guard<'a, T, W: Word = AtomicU32> {
    lock: &'a Lock<T, W>,
    /// What was kept from the thread before signals were held off for it.
    signals: Option<u64>,
}

impl<T, W: Word> Deref for Guard<'_, T, W> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: this guard is the only one.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T, W: Word> DerefMut for Guard<'_, T, W> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard is the only one.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T, W: Word> Drop for Guard<'_, T, W> {
    fn drop(&mut self) {
        match self.lock.state.swap(FREE) & HOW {
            CONTENDED => self.lock.state.wake_one(),
            LEFT => self.lock.state.wake_all(),
            _ => {}
        }
        if let Some(before) = self.signals {
            W::let_signals(before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FREE, Lock, Word};
    use crate::patience::Patience;
    use core::cell::UnsafeCell;
    use core::sync::atomic::{AtomicBool, AtomicU32};
    use std::sync::mpsc::channel;
    use std::thread;

    /// The word of a process that is idle, as this one is not while other tests run.
    struct Idle(AtomicU32);

    impl Word for Idle {
        fn load(&self) -> u32 {
            Word::load(&self.0)
        }
        fn replace(&self, from: u32, to: u32) -> bool {
            self.0.replace(from, to)
        }
        fn swap(&self, to: u32) -> u32 {
            Word::swap(&self.0, to)
        }
        fn wait(&self, number: u32) -> bool {
            self.0.wait(number)
        }
        fn wake_one(&self) {
            self.0.wake_one();
        }
        fn wake_all(&self) {
            self.0.wake_all();
        }
        fn this_thread() -> u32 {
            AtomicU32::this_thread()
        }
        fn work_ns() -> u64 {
            0
        }
        fn hold_signals() -> u64 {
            AtomicU32::hold_signals()
        }
        fn let_signals(before: u64) {
            AtomicU32::let_signals(before);
        }
    }

    #[test]
    fn counts_of_many_threads_add_up() {
        let count = Lock::new(0_u32);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| *count.enter().unwrap() += 1));
            }
        });
        assert_eq!(*count.enter().unwrap(), 40_000);
        let guard = count.enter().unwrap();
        // The way out of who interrupted itself here is not to take minutes.
        assert!(count.try_lock(u32::MAX).is_none());
        thread::scope(|scope| assert!(scope.spawn(|| count.try_lock(3).is_none()).join().unwrap()));
        drop(guard);
        assert!(count.try_lock(1).is_some());
    }

    #[test]
    fn forks_and_others_take_turns() {
        let lock = Lock::new((0_u32, 0_u32));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..30_000 {
                        if let Some(mut both) = lock.enter() {
                            both.0 += 1;
                            both.1 += 1;
                        }
                    }
                });
            }
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..10_000 {
                        assert!(lock.close(Patience::OF_FORKS));
                        // SAFETY: closed by this thread.
                        let both = unsafe { lock.closed() };
                        assert_eq!(both.0, both.1);
                        drop(lock.open());
                    }
                });
            }
        });
        assert!(lock.enter().is_some());
    }

    #[test]
    fn a_thread_never_waits_for_itself() {
        let lock = Lock::new(());
        let guard = lock.enter().unwrap();
        assert!(lock.enter().is_none() && lock.wait().is_none());
        // A handler of a signal forks: the lock is as it was on both sides.
        assert!(!lock.close(Patience::OF_FORKS));
        assert!(lock.open().is_none() && lock.open_in_child().is_none());
        drop(guard);
        assert!(lock.enter().is_some());
    }

    #[test]
    fn a_holder_that_does_not_come_back_is_left() {
        let lock = Lock {
            state: Idle(AtomicU32::new(FREE)),
            holds_signals: AtomicBool::new(false),
            value: UnsafeCell::new(()),
        };
        let guard = lock.enter().unwrap();
        let elsewhere = |act: fn(&Lock<(), Idle>) -> bool| {
            thread::scope(|scope| scope.spawn(|| act(&lock)).join().unwrap())
        };
        // Whoever forks goes on, and then nobody waits any more.
        assert!(elsewhere(|lock| !lock.close(Patience::SHORT)
            && lock.enter().is_none()
            && !lock.close_if_free()));
        assert!(!lock.is_held_by_another() && elsewhere(|lock| lock.is_held_by_another()));
        assert!(lock.enter().is_none() && lock.open().is_none());
        // Who has more patience finds that it comes back.
        thread::scope(|scope| {
            let fork = scope.spawn(|| lock.close(Patience::ENDLESS));
            drop(guard);
            assert!(fork.join().unwrap());
        });
        drop(lock.open().unwrap());
        assert!(elsewhere(|lock| lock.enter().is_some_and(|guard| guard.signals.is_some())
            && lock.close(Patience::OF_FORKS)));
        drop(lock.open().unwrap());
    }

    #[test]
    fn a_closed_lock_turns_all_away_until_the_last_fork_has_ended() {
        let lock = Lock::new(0);
        assert!(lock.close(Patience::OF_FORKS));
        thread::scope(|scope| {
            let other = || lock.enter().is_none() && lock.close(Patience::OF_FORKS) && lock.enter().is_none();
            assert!(scope.spawn(other).join().unwrap());
        });
        assert!(lock.enter().is_none() && lock.open().is_none() && lock.enter().is_none());
        // SAFETY: closed by this thread.
        assert_eq!(*unsafe { lock.closed() }, 0);
        thread::scope(|scope| {
            let (tell, told) = channel();
            let lock = &lock;
            let waiter = scope.spawn(move || {
                tell.send(()).unwrap();
                *lock.wait().unwrap() += 1;
            });
            told.recv().unwrap();
            drop(lock.open().unwrap());
            waiter.join().unwrap();
        });
        assert_eq!(*lock.enter().unwrap(), 1);
        assert!(lock.close(Patience::OF_FORKS) && lock.close(Patience::OF_FORKS));
        drop(lock.open_in_child().unwrap());
        assert!(lock.enter().is_some());
        assert!(lock.close_if_free());
        drop(lock.open().unwrap());
        let guard = lock.enter();
        assert!(!lock.close_if_free());
        drop(guard);
        assert!(lock.open().is_none(), "a fork whose child has forked in a handler ends twice");
        assert!(lock.enter().is_some());
    }
}
