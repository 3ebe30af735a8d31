//! What a device does of a fill.

use super::{EngineLocation, Job, PATIENCE, PIECE, Piece, Queue, Tools, create};
use crate::dsa::{DEPTH, DeviceQueue};
use firsttouch_memory::FillMeans;
use std::sync::atomic::Ordering;

impl Job {
    /// Whether a device can help: memory is there, and some of it is left.
    pub(crate) fn is_for_devices(&self) -> bool {
        self.is_for_devices && !self.is_handed_out()
    }

    /// Lets a device fill pieces of its node, some at a time, as long as it is predicted to be done with them before the
    /// threads are with all that is left; false if there is nothing for it. `location` tells its place among the devices.
    pub(crate) fn work_by_device(
        &self,
        location: EngineLocation,
        queue: &mut DeviceQueue,
        tools: &Tools,
    ) -> bool {
        let [of_node, of_all] = self.sharers;
        let location = EngineLocation {
            node: location.node,
            of_node: of_node + location.of_node,
            of_all: of_all + location.of_all,
        };
        self.devices.fetch_add(1, Ordering::SeqCst);
        let mut has_worked = false;
        while !self.stop.load(Ordering::SeqCst) && queue.is_alive() && self.is_worthwhile_for(queue, tools) {
            let mut pieces: Vec<Piece> = Vec::with_capacity(DEPTH);
            while pieces.len() < DEPTH
                && let Some(piece) = self.take(Some(location))
            {
                pieces.push(piece);
            }
            if pieces.is_empty() {
                break;
            }
            let mut ranges = Vec::new();
            for piece in &pieces {
                for (part, span) in self.queues[piece.queue].parts(piece.number) {
                    // To the device pages that are not there are faults, whatever is to be stored.
                    tools.residency.runs(part, |run, is_there| match is_there {
                        true => ranges.push(run),
                        false if self.value == 0 && span.is_anonymous => create(run),
                        // SAFETY: as below; every processor has the means.
                        false => unsafe {
                            FillMeans::String.fill(run.start as *mut u8, run.len(), self.value);
                        },
                    });
                }
            }
            // SAFETY: the ranges lie in buffers that were handed over for this fill, and every piece is taken once.
            unsafe { queue.fill_ranges(&ranges, self.value) };
            pieces.iter().for_each(|piece| self.is_filled(*piece, self.bytes_of(*piece)));
            has_worked = true;
        }
        self.devices.fetch_sub(1, Ordering::SeqCst);
        let _waiting = self.lock();
        self.changed.notify_all();
        has_worked
    }

    /// What a device does not know yet it may try.
    fn is_worthwhile_for(&self, queue: &DeviceQueue, tools: &Tools) -> bool {
        let left: usize = self.queues.iter().map(Queue::left).sum();
        let own = queue.cost().predict_ns((DEPTH * PIECE).min(left * PIECE));
        let threads = tools.costs.store.predict_ns(left * PIECE).map(|ns| ns / self.threads().max(1) as f64);
        own.zip(threads).is_none_or(|(own, threads)| own <= threads)
    }

    /// Waits until somebody stops working on it, but not for long.
    pub(crate) fn wait_for_a_change(&self) {
        let waiting = self.lock();
        if !self.is_handed_out() {
            drop(self.changed.wait_timeout(waiting, PATIENCE));
        }
    }
}
