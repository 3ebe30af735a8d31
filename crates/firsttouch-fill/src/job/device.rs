//! What a device does of a fill.

use super::{EngineLocation, Job, PATIENCE, PIECE, Piece, Queue, Tools, create};
use crate::dsa::{Asked, DEPTH, DeviceQueue};
use firsttouch_memory::FillMeans;
use std::collections::VecDeque;
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
        let mut ranges = VecDeque::new();
        // What comes next is looked up, and pages are made that are not there, while the device works on what came before.
        let next = |queue: &DeviceQueue| {
            if ranges.is_empty()
                && !self.stop.load(Ordering::SeqCst)
                && queue.is_alive()
                && self.is_worthwhile_for(queue, tools)
                && let Some(piece) = self.take(Some(location))
            {
                self.prepare(piece, tools, &mut ranges);
            }
            ranges.pop_front()
        };
        let filled = |piece: Piece| {
            self.is_filled(piece, self.bytes_of(piece));
            has_worked = true;
        };
        // SAFETY: the ranges lie in buffers that were handed over for this fill, and every piece is taken once.
        unsafe { queue.fill_each(self.value, next, filled) };
        self.devices.fetch_sub(1, Ordering::SeqCst);
        let _waiting = self.lock();
        self.changed.notify_all();
        has_worked
    }

    /// The ranges of a piece that a device can fill, the last of which is told to be the piece's; the others are filled.
    fn prepare(&self, piece: Piece, tools: &Tools, ranges: &mut VecDeque<Asked<Piece>>) {
        for (part, span) in self.queues[piece.queue].parts(piece.number) {
            // To the device pages that are not there are faults, whatever is to be stored.
            tools.residency.runs(part, |run, is_there| match is_there {
                true => ranges.push_back((run, None)),
                false if self.value == 0 && span.is_anonymous => create(run),
                // SAFETY: in a buffer that was handed over for this fill, of a piece that was taken; every processor has the means.
                false => unsafe {
                    FillMeans::String.fill(run.start as *mut u8, run.len(), self.value);
                },
            });
        }
        match ranges.back_mut() {
            Some((_, of)) => *of = Some(piece),
            // Nothing of it was there.
            None => ranges.push_back((0..0, Some(piece))),
        }
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
