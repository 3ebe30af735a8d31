//! Memory that is ready: regions created and cleared ahead of time, when nobody else needs the processor.
//!
//! Clearing is nearly all that new memory costs. Done before, taking a gigabyte takes microseconds. A pool has regions of
//! one size, kind of pages and node; those that are given back are cleared in the background and used again, which also
//! keeps them from going back to a virtual machine's host, from where they return at a fraction of the speed.

mod inventory;

pub use inventory::Level;

use firsttouch_linux::sys;
use firsttouch_memory::{Builder, FillMeans, Pages, Region, RegionError};
use inventory::Inventory;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

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
    means: FillMeans,
    inventory: Inventory<Region>,
}

/// Bytes cleared between two looks whether the pool is to end.
const PIECE: usize = 2 << 20;

impl Pool {
    /// A pool that begins to fill. `means` is how regions are cleared ([`crate::Crossovers`] knows the fastest past the
    /// caches); `None` is what every processor has.
    pub fn new(stock: Stock, means: Option<FillMeans>) -> std::io::Result<Pool> {
        let inventory = Inventory::new(stock.ready, stock.most, stock.keep);
        let shared = Arc::new(Shared { stock, means: means.unwrap_or(FillMeans::String), inventory });
        let worker = Arc::clone(&shared);
        let thread = thread::Builder::new().name("pool".to_owned()).spawn(move || worker.serve())?;
        Ok(Pool { shared, thread: Some(thread) })
    }

    /// A region that is all zero: a ready one at once, else a new one.
    pub fn take(&self) -> Result<Taken, RegionError> {
        match self.shared.inventory.take() {
            Some(region) => Ok(Taken { region, was_ready: true }),
            None => self.shared.stock.described().map().map(|region| Taken { region, was_ready: false }),
        }
    }

    /// Gives a region back. One of another size than the pool's, of other pages or from elsewhere, and one too many, is unmapped; the
    /// others are cleared before anybody gets them.
    pub fn give(&self, region: Region) {
        if self.shared.stock.fits(&region) {
            self.shared.inventory.give(region);
        }
    }

    /// What there is now.
    pub fn level(&self) -> Level {
        self.shared.inventory.level()
    }

    /// Waits until so many regions are ready, at most so long; true if they are.
    pub fn wait_ready(&self, regions: usize, time: Duration) -> bool {
        self.shared.inventory.wait_ready(regions, time)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.inventory.leave();
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

    fn described(&self) -> Builder {
        let region = Region::of(self.region_bytes).pages(self.pages);
        match self.node {
            Some(node) => region.bind(&[node]),
            None => region,
        }
    }

    fn fits(&self, region: &Region) -> bool {
        let bytes = region.len();
        // Rounded up to what pages it has, by whomever it was made.
        region.is_as(&self.described())
            && bytes >= self.region_bytes
            && bytes < self.region_bytes.saturating_add(region.pages().bytes().max(PIECE))
    }
}

impl Shared {
    /// The life of the pool's thread.
    fn serve(&self) {
        // Otherwise it competes as any thread does, which is right but slower for others.
        let _ = sys::set_idle_priority();
        let make = || {
            let mut region = self.stock.described().map().ok()?;
            region.prefault().is_ok().then_some(region)
        };
        self.inventory.serve(make, |region| self.clear(region));
    }

    /// Clears a region piece by piece; false if the pool ended meanwhile.
    fn clear(&self, region: &mut Region) -> bool {
        for piece in region.as_mut_slice().chunks_mut(PIECE) {
            // SAFETY: the piece is borrowed; the means was found on this processor, or is the one that all have.
            unsafe { self.means.fill(piece.as_mut_ptr(), piece.len(), 0) };
            if self.inventory.is_left() {
                return false;
            }
        }
        true
    }
}
