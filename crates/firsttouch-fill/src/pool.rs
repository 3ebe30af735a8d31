//! Memory that is ready: regions created and cleared ahead of time, when nobody else needs the processor.
//!
//! Clearing is nearly all that new memory costs. Done before, taking a gigabyte takes microseconds. A pool has regions of
//! one size, kind of pages and node; those that are given back are cleared in the background and used again, which also
//! keeps them from going back to a virtual machine's host, from where they return at a fraction of the speed.

use firsttouch_linux::sys;
use firsttouch_memory::{Means, Pages, Region, RegionError};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// What a pool holds, and how much of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stock {
    /// Bytes of each region, rounded up to whole pages.
    pub region_bytes: usize,
    /// The pages wanted; where they cannot be had, a region says what it has instead.
    pub pages: Pages,
    /// The node to take memory from; `None` is anywhere.
    pub node: Option<u32>,
    /// Regions that are kept ready.
    pub ready: usize,
    /// Regions that are kept at most, ready or waiting to be cleared; others that are given back are unmapped.
    pub most: usize,
    /// Regions beyond `ready` are unmapped when none was taken for so long; `None` keeps them, as befits a virtual machine
    /// whose host takes freed memory back (`status` tells: free page reporting).
    pub keep: Option<Duration>,
}

/// A region of a pool. It is all zero.
#[derive(Debug)]
pub struct Taken {
    /// The memory.
    pub region: Region,
    /// It was cleared before; otherwise none was ready, and the region was mapped now, its pages to be created at first
    /// touch.
    pub was_ready: bool,
}

/// What a pool has now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// Regions that can be taken at once.
    pub ready: usize,
    /// Regions that were given back and are not cleared yet.
    pub dirty: usize,
}

/// Ready memory, with a thread of idle priority that sees to it.
///
/// ```
/// use firsttouch_fill::{Pool, Stock};
/// use firsttouch_memory::Pages;
///
/// let stock = Stock { region_bytes: 4 << 20, pages: Pages::Transparent, node: None, ready: 1, most: 2, keep: None };
/// let pool = Pool::new(stock, None)?;
/// let mut taken = pool.take()?;
/// taken.region.as_mut_slice()[7] = 1;
/// pool.give(taken.region);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Pool {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    stock: Stock,
    means: Means,
    state: Mutex<State>,
    /// Something is to be done.
    work: Condvar,
    /// Something was done.
    done: Condvar,
}

#[derive(Debug)]
struct State {
    ready: Vec<Region>,
    dirty: VecDeque<Region>,
    /// The thread has one in hand.
    at_work: bool,
    /// No memory was to be had: the next try is for whoever asks.
    starved: bool,
    last_taken: Instant,
    leave: bool,
}

/// What the thread does next.
enum Task {
    Make,
    Clear(Region),
    Drop(Region),
    Sleep(Option<Duration>),
    Leave,
}

/// Bytes cleared between two looks whether the pool is to end.
const PIECE: usize = 2 << 20;
/// Looks at a lock that is held for fractions of a microsecond.
const LOOKS: u32 = 1000;

impl Pool {
    /// A pool that begins to fill. `means` is how regions are cleared ([`crate::Crossovers`] knows the fastest past the
    /// caches); `None` is what every processor has.
    pub fn new(stock: Stock, means: Option<Means>) -> std::io::Result<Pool> {
        let state = State {
            ready: Vec::new(),
            dirty: VecDeque::new(),
            at_work: false,
            starved: false,
            last_taken: Instant::now(),
            leave: false,
        };
        let shared = Arc::new(Shared {
            stock,
            means: means.unwrap_or(Means::String),
            state: Mutex::new(state),
            work: Condvar::new(),
            done: Condvar::new(),
        });
        let worker = Arc::clone(&shared);
        let thread = thread::Builder::new().name("pool".to_owned()).spawn(move || worker.serve())?;
        Ok(Pool { shared, thread: Some(thread) })
    }

    /// A region that is all zero: a ready one at once, else a new one.
    pub fn take(&self) -> Result<Taken, RegionError> {
        let ready = self.shared.lock_soon().and_then(|mut state| {
            state.last_taken = Instant::now();
            state.starved = false;
            state.ready.pop()
        });
        self.shared.work.notify_one();
        match ready {
            Some(region) => Ok(Taken { region, was_ready: true }),
            None => self.shared.stock.map().map(|region| Taken { region, was_ready: false }),
        }
    }

    /// Gives a region back. One of another size than the pool's, or one too many, is unmapped; the others are cleared
    /// before anybody gets them.
    pub fn give(&self, region: Region) {
        let Some(mut state) = self.shared.lock_soon() else { return };
        let count = state.ready.len() + state.dirty.len() + usize::from(state.at_work);
        if count < self.shared.stock.most && self.shared.stock.fits(&region) {
            state.dirty.push_back(region);
            drop(state);
            self.shared.work.notify_one();
        }
    }

    /// What there is now.
    pub fn level(&self) -> Level {
        let state = self.shared.lock();
        Level { ready: state.ready.len(), dirty: state.dirty.len() + usize::from(state.at_work) }
    }

    /// Waits until so many regions are ready, at most so long; true if they are.
    pub fn wait_ready(&self, regions: usize, time: Duration) -> bool {
        let state = self.shared.lock();
        let waited = self.shared.done.wait_timeout_while(state, time, |state| state.ready.len() < regions);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.ready.len() >= regions
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.lock().leave = true;
        self.shared.work.notify_one();
        if let Some(thread) = self.thread.take() {
            // It runs no code of others.
            let _ = thread.join();
        }
    }
}

impl Stock {
    /// How long unused regions should be kept, by whether freed memory of this machine goes to a host
    /// (`Machine::free_page_reporting`): for good if it does, because from there it comes back at a fraction of the speed;
    /// for some seconds if it does not, or nobody knows.
    pub fn advised_keep(free_page_reporting: Option<bool>) -> Option<Duration> {
        (free_page_reporting != Some(true)).then_some(Duration::from_secs(10))
    }

    fn map(&self) -> Result<Region, RegionError> {
        Region::map(self.region_bytes, self.pages, self.node)
    }

    fn fits(&self, region: &Region) -> bool {
        let bytes = region.as_slice().len();
        // Rounded up to what pages it has, by whomever it was made.
        bytes >= self.region_bytes
            && bytes < self.region_bytes.saturating_add(region.pages().bytes().max(PIECE))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lock, unless its holder does not let go of it: the pool's thread may have been stopped just there, for as long
    /// as others want the processor, and nobody is to wait for idle work.
    fn lock_soon(&self) -> Option<MutexGuard<'_, State>> {
        for _ in 0..LOOKS {
            match self.state.try_lock() {
                Ok(state) => return Some(state),
                Err(TryLockError::Poisoned(state)) => return Some(state.into_inner()),
                Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
            }
        }
        None
    }

    /// The life of the pool's thread.
    fn serve(&self) {
        // Otherwise it competes as any thread does, which is right but slower for others.
        let _ = sys::set_idle_priority();
        loop {
            let task = self.next_task();
            let made = match task {
                Task::Leave => return,
                Task::Sleep(time) => {
                    self.sleep(time);
                    continue;
                }
                Task::Drop(region) => {
                    drop(region);
                    None
                }
                Task::Clear(mut region) => self.clear(&mut region).then_some(region),
                Task::Make => {
                    self.stock.map().ok().and_then(|mut region| region.prefault().is_ok().then_some(region))
                }
            };
            let mut state = self.lock();
            state.at_work = false;
            match made {
                Some(region) => state.ready.push(region),
                // Only memory that cannot be had ends a making with nothing.
                None => state.starved |= state.ready.len() < self.stock.ready,
            }
            drop(state);
            self.done.notify_all();
        }
    }

    fn next_task(&self) -> Task {
        let mut state = self.lock();
        if state.leave {
            return Task::Leave;
        }
        if let Some(region) = state.dirty.pop_front() {
            state.at_work = true;
            return Task::Clear(region);
        }
        if state.ready.len() < self.stock.ready && !state.starved {
            state.at_work = true;
            return Task::Make;
        }
        let Some(keep) = self.stock.keep.filter(|_| state.ready.len() > self.stock.ready) else {
            return Task::Sleep(None);
        };
        let left = keep.saturating_sub(state.last_taken.elapsed());
        match state.ready.pop() {
            Some(region) if left.is_zero() => Task::Drop(region),
            // Not yet.
            region => {
                state.ready.extend(region);
                Task::Sleep(Some(left))
            }
        }
    }

    /// Waits for something to do. What came between the last look and this has left a trace that is looked for.
    fn sleep(&self, time: Option<Duration>) {
        let state = self.lock();
        let idle = !state.leave
            && state.dirty.is_empty()
            && (state.ready.len() >= self.stock.ready || state.starved);
        if !idle {
            return;
        }
        match time {
            None => drop(self.work.wait(state)),
            Some(time) => drop(self.work.wait_timeout(state, time)),
        }
    }

    /// Clears a region piece by piece; false if the pool ended meanwhile.
    fn clear(&self, region: &mut Region) -> bool {
        for piece in region.as_mut_slice().chunks_mut(PIECE) {
            // SAFETY: the piece is borrowed; the means was found on this processor, or is the one that all have.
            unsafe { self.means.fill(piece.as_mut_ptr(), piece.len(), 0) };
            if self.lock().leave {
                return false;
            }
        }
        true
    }
}
