//! What a pool has, what is to be done about it, and who waits for whom: all of a pool but the memory.

use crate::sync::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::{PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// What a pool has now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// Regions that can be taken at once.
    pub ready: usize,
    /// Regions that were given back and are not cleared yet.
    pub dirty: usize,
}

/// Things of one kind, some ready, some to be cleared first.
#[derive(Debug)]
pub(super) struct Inventory<T> {
    /// So many are kept ready.
    ready: usize,
    /// So many are kept at most.
    most: usize,
    /// Those beyond `ready` are dropped when none was taken for so long.
    keep: Option<Duration>,
    state: Mutex<State<T>>,
    /// Something is to be done.
    work: Condvar,
    /// Something was done.
    done: Condvar,
}

#[derive(Debug)]
struct State<T> {
    ready: Vec<T>,
    dirty: VecDeque<T>,
    /// What [`Inventory::serve`] has in progress.
    in_progress: InProgress,
    /// None could be made: the next try is for whoever asks.
    starved: bool,
    last_taken: Instant,
    leave: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InProgress {
    Nothing,
    Making,
    Clearing,
}

/// What is to be done next.
enum Task<T> {
    Make,
    Clear(T),
    Drop(T),
    Leave,
}

/// Looks at a lock that is held for fractions of a microsecond.
const LOOKS: u32 = if cfg!(loom) { 1 } else { 1000 };

impl<T> State<T> {
    fn held(&self) -> usize {
        self.ready.len() + self.dirty.len() + usize::from(self.in_progress != InProgress::Nothing)
    }
}

impl<T> Inventory<T> {
    pub(super) fn new(ready: usize, most: usize, keep: Option<Duration>) -> Inventory<T> {
        let state = State {
            ready: Vec::new(),
            dirty: VecDeque::new(),
            in_progress: InProgress::Nothing,
            starved: false,
            last_taken: Instant::now(),
            leave: false,
        };
        Inventory { ready, most, keep, state: Mutex::new(state), work: Condvar::new(), done: Condvar::new() }
    }

    /// One that is ready, if there is one.
    pub(super) fn take(&self) -> Option<T> {
        let mut state = self.lock_soon()?;
        state.last_taken = Instant::now();
        state.starved = false;
        let taken = state.ready.pop();
        drop(state);
        self.work.notify_one();
        taken
    }

    /// One that is to be cleared, unless there are enough.
    pub(super) fn give(&self, given: T) {
        let Some(mut state) = self.lock_soon() else { return };
        if state.held() < self.most {
            state.dirty.push_back(given);
            drop(state);
            self.work.notify_one();
        }
    }

    pub(super) fn level(&self) -> Level {
        let state = self.lock();
        let clearing = usize::from(state.in_progress == InProgress::Clearing);
        Level { ready: state.ready.len(), dirty: state.dirty.len() + clearing }
    }

    /// Waits until so many are ready, at most so long; true if they are.
    pub(super) fn wait_ready(&self, count: usize, time: Duration) -> bool {
        // A time that no clock counts is for ever.
        let deadline = Instant::now().checked_add(time);
        let mut state = self.lock();
        while state.ready.len() < count {
            let Some(deadline) = deadline else {
                state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left == Duration::ZERO {
                return false;
            }
            (state, _) = self.done.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
        }
        true
    }

    /// Lets [`Inventory::serve`] come back.
    pub(super) fn leave(&self) {
        self.lock().leave = true;
        self.work.notify_one();
    }

    pub(super) fn is_left(&self) -> bool {
        self.lock().leave
    }

    /// Does what is to be done until the inventory is left, by one thread: `make` makes a thing, if it can be had; `clear` clears
    /// one, and answers whether it did.
    pub(super) fn serve(&self, make: impl Fn() -> Option<T>, clear: impl Fn(&mut T) -> bool) {
        loop {
            let (made, starved) = match self.next() {
                Task::Leave => return,
                Task::Drop(thing) => {
                    drop(thing);
                    continue;
                }
                Task::Clear(mut thing) => (clear(&mut thing).then_some(thing), false),
                Task::Make => {
                    let made = make();
                    let starved = made.is_none();
                    (made, starved)
                }
            };
            let mut state = self.lock();
            state.in_progress = InProgress::Nothing;
            state.starved |= starved;
            state.ready.extend(made);
            drop(state);
            self.done.notify_all();
        }
    }

    /// Waits for something to do.
    fn next(&self) -> Task<T> {
        let mut state = self.lock();
        loop {
            if state.leave {
                return Task::Leave;
            }
            if let Some(thing) = state.dirty.pop_front() {
                state.in_progress = InProgress::Clearing;
                return Task::Clear(thing);
            }
            if state.ready.len() < self.ready && !state.starved {
                state.in_progress = InProgress::Making;
                return Task::Make;
            }
            state = match self.keep.filter(|_| state.ready.len() > self.ready) {
                None => self.work.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(keep) => {
                    let left = keep.saturating_sub(state.last_taken.elapsed());
                    if left.is_zero()
                        && let Some(thing) = state.ready.pop()
                    {
                        return Task::Drop(thing);
                    }
                    self.work.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lock, unless its holder does not let go of it: the pool's thread may have been stopped just there, for as long
    /// as others want the processor, and nobody is to wait for idle work.
    fn lock_soon(&self) -> Option<MutexGuard<'_, State<T>>> {
        for _ in 0..LOOKS {
            match self.state.try_lock() {
                Ok(state) => return Some(state),
                Err(TryLockError::Poisoned(state)) => return Some(state.into_inner()),
                Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
            }
        }
        None
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicUsize, Ordering};
    use loom::thread::{self, JoinHandle};

    const LONG: Duration = Duration::from_secs(3600);

    /// Orders in which a thread is interrupted more often are too many to try, and find nothing that these do not.
    fn model(play: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(2);
        builder.check(play);
    }

    /// A thing that counts how many of it there are.
    #[derive(Debug)]
    struct Sheet {
        is_clean: bool,
        live: Arc<AtomicUsize>,
    }

    impl Sheet {
        fn new(live: &Arc<AtomicUsize>) -> Sheet {
            live.fetch_add(1, Ordering::Relaxed);
            Sheet { is_clean: true, live: Arc::clone(live) }
        }
    }

    impl Drop for Sheet {
        fn drop(&mut self) {
            self.live.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn serving(inventory: &Arc<Inventory<Sheet>>, live: &Arc<AtomicUsize>) -> JoinHandle<()> {
        let (inventory, live) = (Arc::clone(inventory), Arc::clone(live));
        thread::spawn(move || {
            inventory.serve(
                || Some(Sheet::new(&live)),
                |sheet| {
                    sheet.is_clean = true;
                    !inventory.is_left()
                },
            );
        })
    }

    /// Takes a sheet, or makes one where none is ready, soils it and gives it back.
    fn use_one(inventory: &Inventory<Sheet>, live: &Arc<AtomicUsize>) {
        let mut sheet = inventory.take().unwrap_or_else(|| Sheet::new(live));
        assert!(sheet.is_clean);
        sheet.is_clean = false;
        inventory.give(sheet);
    }

    fn end(inventory: Arc<Inventory<Sheet>>, server: JoinHandle<()>, live: &AtomicUsize, most: usize) {
        inventory.leave();
        server.join().unwrap();
        assert!(live.load(Ordering::Relaxed) <= most);
        drop(inventory);
        assert_eq!(live.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn whoever_waits_for_a_ready_one_gets_it() {
        model(|| {
            let live = Arc::new(AtomicUsize::new(0));
            let inventory = Arc::new(Inventory::new(1, 1, None));
            let server = serving(&inventory, &live);
            assert!(inventory.wait_ready(1, LONG));
            use_one(&inventory, &live);
            // One was cleared, or, where it could not be given back, made.
            assert!(inventory.wait_ready(1, LONG));
            end(inventory, server, &live, 1);
        });
    }

    #[test]
    fn what_is_taken_is_clean_whoever_gives() {
        model(|| {
            let live = Arc::new(AtomicUsize::new(0));
            let inventory = Arc::new(Inventory::new(0, 1, None));
            let server = serving(&inventory, &live);
            let other = {
                let (inventory, live) = (Arc::clone(&inventory), Arc::clone(&live));
                thread::spawn(move || use_one(&inventory, &live))
            };
            use_one(&inventory, &live);
            other.join().unwrap();
            end(inventory, server, &live, 1);
        });
    }
}
