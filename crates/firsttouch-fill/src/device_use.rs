//! What a device does for a filler, while its thread uses it.

use crate::dsa::DeviceQueue;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A device's queue, and what is to be known of it while its thread uses it.
#[derive(Debug)]
pub(crate) struct Device {
    name: String,
    use_of: Mutex<DeviceUse>,
}

/// What a device did for a filler.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceUse {
    /// The queue: `wq0.1`.
    pub name: String,
    /// Bytes that the device wrote.
    pub device_bytes: u64,
    /// Bytes that the processor wrote in its place: after faults, refusals, and while the queue was full.
    pub processor_bytes: u64,
    /// Times that it met a page that was not there.
    pub faults: u64,
    /// Times that the queue was full.
    pub retries: u64,
    /// Its rate as learnt, in bytes per second; `None` before it did anything.
    pub bytes_per_s: Option<f64>,
}

impl Device {
    pub(crate) fn new(name: String) -> Device {
        Device { name, use_of: Mutex::default() }
    }

    pub(crate) fn note(&self, queue: &DeviceQueue) {
        let totals = queue.totals();
        let read = |total: &AtomicU64| total.load(Ordering::Relaxed);
        *self.use_of.lock().unwrap_or_else(PoisonError::into_inner) = DeviceUse {
            name: self.name.clone(),
            device_bytes: read(&totals.device_bytes),
            processor_bytes: read(&totals.processor_bytes),
            faults: read(&totals.faults),
            retries: read(&totals.retries),
            bytes_per_s: queue.cost().bytes_per_s(),
        };
    }

    pub(crate) fn so_far(&self) -> DeviceUse {
        let so_far = self.use_of.lock().unwrap_or_else(PoisonError::into_inner).clone();
        DeviceUse { name: self.name.clone(), ..so_far }
    }
}
