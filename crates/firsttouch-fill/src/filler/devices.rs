//! Devices beside a filler's threads.

use super::{Filler, FillerError, Threads};
use crate::device_use::{Device, DeviceUse};
use crate::dsa::DeviceQueue;
use crate::job::{EngineLocation, Job};
use std::sync::Arc;
use std::thread;

impl Filler {
    /// [`Filler::new`], with devices that clear memory which is there ([`crate::dsa`]; **not verified on hardware**).
    pub fn with_devices(threads: &Threads, devices: Vec<DeviceQueue>) -> Result<Filler, FillerError> {
        // The filler has measured its threads by now, without devices.
        let mut filler = Filler::new(threads)?;
        let first_node = threads.by_node.keys().next().copied().unwrap_or(0);
        for queue in devices {
            let node = queue.info().node.filter(|node| threads.by_node.contains_key(node));
            filler.start_device(queue, node.unwrap_or(first_node))?;
        }
        Ok(filler)
    }

    fn start_device(&mut self, mut queue: DeviceQueue, node: u32) -> Result<(), FillerError> {
        let name = queue.info().name.clone();
        let number = self.devices.iter().filter(|(of, _)| *of == node).count();
        let location = EngineLocation { node, of_node: number, of_all: self.devices.len() };
        let device = Arc::new(Device::new(name.clone()));
        self.devices.push((node, Arc::clone(&device)));
        let (shared, tools) = (Arc::clone(&self.shared), self.tools());
        let life = move || {
            while queue.is_alive()
                && let Some(job) = shared.next(Job::is_for_devices)
            {
                let has_worked = job.work_by_device(location, &mut queue, &tools);
                device.note(&queue);
                if !has_worked {
                    // The threads will be faster: for what comes next.
                    job.wait_for_a_change();
                }
            }
        };
        let thread = thread::Builder::new().name(name.clone()).spawn(life);
        self.threads.push(thread.map_err(|source| FillerError::StartDevice { name, source })?);
        Ok(())
    }

    /// What the devices did so far.
    pub fn devices(&self) -> Vec<DeviceUse> {
        self.devices.iter().map(|(_, device)| device.so_far()).collect()
    }

    /// The devices with what each is known to do; one that has done nothing yet gets its share by taking others'.
    pub(super) fn device_rates(&self) -> Vec<(u32, f64)> {
        self.devices
            .iter()
            .map(|(node, device)| (*node, device.so_far().bytes_per_s.unwrap_or(0.0)))
            .collect()
    }
}
