//! Free memory, made ready for a collapse before that begins.
//!
//! In a virtual machine memory that is free may be the host's until somebody touches it: then the processor stands still until
//! the host has found some, for milliseconds a block. In a collapse this happens while the process waits. Therefore a thread
//! of ours takes huge pages and touches them while the call before is made; they are given back just before the next call,
//! which finds them first. Where free memory is quick, which is measured, this is done now and then only.

use firsttouch_linux::smaps::PMD_BYTES;
use firsttouch_memory::{Pages, Region};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Memory that is made ready at a time. What it takes is taken from others for a moment.
const MOST_BYTES: u64 = 16 << 20;
/// Clearing a block takes less where no host has to find it first.
const QUICK: Duration = Duration::from_millis(1);
/// So often in a row free memory was quick: then it is tried once in so many calls.
const ENOUGH: u32 = 4;
const SELDOM: u32 = 16;
/// A thread that gets no processor makes nothing ready.
const PATIENCE: Duration = Duration::from_millis(100);

/// Memory made ready.
struct Batch {
    region: Option<Region>,
    blocks: u32,
    took: Duration,
}

/// A thread that makes memory ready.
#[derive(Debug)]
pub(crate) struct Fresh {
    /// Taken away to end the thread.
    orders: Option<Sender<u64>>,
    batches: Receiver<Batch>,
    thread: Option<JoinHandle<()>>,
    open: bool,
    habit: Habit,
}

impl Fresh {
    /// Starts the thread; `None` if there can be none.
    pub(crate) fn begin() -> Option<Fresh> {
        let (orders, ordered) = channel::<u64>();
        let (sender, batches) = channel();
        let work = move || {
            for bytes in ordered {
                if sender.send(make_ready(bytes)).is_err() {
                    break;
                }
            }
        };
        let thread = Builder::new().spawn(work).ok()?;
        let habit = Habit::default();
        Some(Fresh { orders: Some(orders), batches, thread: Some(thread), open: false, habit })
    }

    /// Has memory made ready for a call of so many bytes, unless that is not worth it.
    pub(crate) fn order(&mut self, bytes: u64) {
        if !self.open && self.habit.is_due() {
            let orders = self.orders.as_ref();
            self.open = orders.is_some_and(|orders| orders.send(bytes.min(MOST_BYTES)).is_ok());
        }
    }

    /// Gives what was made ready back, for the next call to find.
    pub(crate) fn give_back(&mut self) {
        if self.open
            && let Ok(batch) = self.batches.recv_timeout(PATIENCE)
        {
            self.open = false;
            self.habit.took(batch.took, batch.blocks);
            drop(batch.region);
        }
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            // It has nothing to tell.
            let _ = thread.join();
        }
    }
}

/// Takes huge pages. One byte of each block is touched: where there is no huge page, no more than one small page is taken,
/// and nobody has to make room.
fn make_ready(bytes: u64) -> Batch {
    let begun = Instant::now();
    let mut region = Region::map(bytes as usize, Pages::Transparent, None).ok();
    let memory = region.as_mut().map(Region::as_mut_slice).unwrap_or_default();
    let mut blocks = 0;
    for byte in memory.iter_mut().step_by(PMD_BYTES as usize) {
        *byte = 1;
        blocks += 1;
    }
    Batch { region, blocks, took: begun.elapsed() }
}

/// Whether it is worth it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Habit {
    quick: u32,
    rest: u32,
}

impl Habit {
    fn is_due(&mut self) -> bool {
        let due = self.rest == 0;
        self.rest = self.rest.saturating_sub(1);
        due
    }

    fn took(&mut self, took: Duration, blocks: u32) {
        self.quick = if took < QUICK * blocks { self.quick + 1 } else { 0 };
        if self.quick >= ENOUGH {
            self.rest = SELDOM;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_made_ready_and_given_back() {
        let mut fresh = Fresh::begin().unwrap();
        fresh.give_back();
        for _ in 0..3 {
            fresh.order(3 * PMD_BYTES);
            assert!(fresh.open);
            while fresh.open {
                fresh.give_back();
            }
        }
        fresh.order(PMD_BYTES);
        drop(fresh);
        let batch = make_ready(3 * PMD_BYTES);
        assert_eq!(
            (batch.blocks, batch.region.map(|region| region.as_slice()[PMD_BYTES as usize])),
            (3, Some(1))
        );
    }

    #[test]
    fn where_free_memory_is_quick_it_is_tried_now_and_then() {
        let ms = Duration::from_millis;
        let mut habit = Habit::default();
        let count = |habit: &mut Habit, took: Duration| {
            let mut due = 0;
            for _ in 0..100 {
                if habit.is_due() {
                    due += 1;
                    habit.took(took, 4);
                }
            }
            due
        };
        assert_eq!(count(&mut habit, ms(5)), 100);
        assert!(count(&mut habit, ms(1)) < 12);
        assert!(count(&mut habit, ms(5)) > 80, "it notices when that ends");
    }
}
