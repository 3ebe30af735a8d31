//! Queues of devices that clear memory: with the feature `dsa`, which never ran on hardware; without it there are none.

#[cfg(feature = "dsa")]
use firsttouch_fill::dsa::{self, DeviceQueue, Submission};
use firsttouch_fill::{Filler, FillerError, Threads};
use firsttouch_machine::FillDevice;

/// The queues of this machine.
#[derive(Debug, Default)]
pub(super) struct Devices {
    /// Every queue that was found.
    pub(super) found: Vec<FillDevice>,
    /// The first that could be opened: it is measured by itself.
    #[cfg(feature = "dsa")]
    pub(super) queue: Option<DeviceQueue>,
    /// The others: they are the largest filler's.
    #[cfg(feature = "dsa")]
    others: Vec<DeviceQueue>,
}

#[cfg(feature = "dsa")]
impl Devices {
    /// Looks for queues and opens those that it may.
    pub(super) fn open() -> Devices {
        let mut queues = Vec::new();
        let opened = |info: dsa::QueueInfo| {
            let (queue, device, node) = (info.name.clone(), info.device.clone(), info.node);
            let obstacle = match DeviceQueue::open(info, Submission::Either) {
                Ok(open) => {
                    queues.push(open);
                    None
                }
                Err(error) => Some(format!("{error}; {}", error.hint())),
            };
            FillDevice { queue, device, node, obstacle, verified_on_hardware: false }
        };
        let found = dsa::find_queues(&firsttouch_linux::root::Root::live()).into_iter().map(opened).collect();
        let mut queues = queues.into_iter();
        Devices { found, queue: queues.next(), others: queues.collect() }
    }

    /// What is to be said of them; `asked` if they were asked for by name.
    pub(super) fn note(&self, asked: bool) -> Option<String> {
        if self.queue.is_some() {
            Some(dsa::NOT_VERIFIED.to_owned())
        } else {
            (asked && self.found.is_empty()).then(|| "no Intel DSA: /sys/bus/dsa has no queue".to_owned())
        }
    }

    /// A filler with these threads, and the queues that nobody has yet.
    pub(super) fn filler(&mut self, threads: &Threads) -> Result<Filler, FillerError> {
        Filler::with_devices(threads, std::mem::take(&mut self.others))
    }
}

#[cfg(not(feature = "dsa"))]
impl Devices {
    /// None: this build knows no device.
    pub(super) fn open() -> Devices {
        Devices::default()
    }

    /// What is to be said of that; `asked` if devices were asked for by name.
    pub(super) fn note(&self, asked: bool) -> Option<String> {
        asked.then(|| "no Intel DSA: built without the feature `dsa`, which never ran on hardware".to_owned())
    }

    /// A filler with these threads.
    pub(super) fn filler(&mut self, threads: &Threads) -> Result<Filler, FillerError> {
        Filler::new(threads)
    }
}
