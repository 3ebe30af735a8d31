//! The threads that fill.

#[cfg(feature = "dsa")]
mod devices;

use crate::buffer::Buffer;
use crate::crossovers::{Crossovers, Next};
#[cfg(feature = "dsa")]
use crate::device_use::Device;
use crate::fill::Fill;
use crate::job::{Costs, EngineLocation, Job, PIECE, Span, Tools, Work};
use crate::residency::Residency;
use crate::scaling::{Known, PIECES_OF_TRIAL, Scaling, Trial, WORTHWHILE};
use firsttouch_linux::numa;
use firsttouch_memory::{Pages, Region, RegionError};
use firsttouch_sorted::SortedMap;
use firsttouch_threads::bind_this_thread;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// The CPUs that may fill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Threads {
    /// CPUs of each node, the first ones to be used first.
    pub by_node: BTreeMap<u32, Vec<u32>>,
}

/// A filler that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum FillerError {
    /// There is no CPU.
    #[error("a filler needs at least one CPU")]
    NoCpu,
    /// A thread cannot be started.
    #[error("a thread for CPU {cpu} cannot be started")]
    Start {
        /// The CPU.
        cpu: u32,
        /// What the kernel answered.
        source: io::Error,
    },
    /// The thread of a device cannot be started.
    #[error("a thread for the queue {name} cannot be started")]
    StartDevice {
        /// The queue.
        name: String,
        /// What the kernel answered.
        source: io::Error,
    },
    /// There is no memory to measure on.
    #[error("there is no memory to measure on")]
    Memory(#[from] RegionError),
}

impl FillerError {
    /// What would mend it.
    pub fn hint(&self) -> &'static str {
        match self {
            FillerError::NoCpu => "firsttouch status lists the CPUs that may be used",
            FillerError::Start { .. } | FillerError::StartDevice { .. } => firsttouch_threads::MORE_THREADS,
            FillerError::Memory(error) => error.hint(),
        }
    }
}

/// What a filler knows of the machine. Threads and their rates are learnt anew from large fills.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knowledge {
    /// Which means is fastest for which size.
    pub crossovers: Crossovers,
    /// Threads of each node that are used for memory that exists: one more would add less than a fifth.
    pub threads_in_place: usize,
    /// The same for memory whose pages have to be created, which is the kernel's work.
    pub threads_new: usize,
    /// Rate with so many threads on memory that exists, in bytes per second.
    pub in_place_bytes_per_s: f64,
    /// The same on new memory, on huge pages where they can be had.
    pub new_bytes_per_s: f64,
    /// Seconds from handing work over to a thread that sleeps until it is done, beyond the work itself.
    pub wake_s: f64,
}

/// Threads that fill memory for everybody in the process.
///
/// ```
/// use firsttouch_fill::{Filler, Next, Threads};
/// use std::collections::BTreeMap;
///
/// let filler = Filler::new(&Threads { by_node: BTreeMap::from([(0, vec![0])]) })?;
/// let fill = filler.fill(vec![vec![1_u8; 5 << 20]], 0, Next::Unknown);
/// // Something else happens here.
/// let filled = fill.wait();
/// assert!(filled.buffers[0].iter().all(|byte| *byte == 0));
/// # Ok::<(), firsttouch_fill::FillerError>(())
/// ```
#[derive(Debug)]
pub struct Filler {
    shared: Arc<Shared>,
    crossovers: Crossovers,
    wake_s: f64,
    in_place: Arc<Scaling>,
    new: Arc<Scaling>,
    costs: Arc<Costs>,
    nodes: usize,
    /// With the node of each.
    #[cfg(feature = "dsa")]
    devices: Vec<(u32, Arc<Device>)>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct State {
    jobs: VecDeque<Arc<Job>>,
    leave: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, job: &Arc<Job>) {
        self.lock().jobs.push_back(Arc::clone(job));
        self.arrived.notify_all();
    }

    /// The first job that one may take part in; waits for one. `None` when it is to leave.
    fn next(&self, wanted: impl Fn(&Job) -> bool) -> Option<Arc<Job>> {
        let mut state = self.lock();
        loop {
            if state.leave {
                return None;
            }
            state.jobs.retain(|job| !job.is_handed_out());
            if let Some(job) = state.jobs.iter().find(|job| wanted(job)) {
                return Some(Arc::clone(job));
            }
            state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// So many buffers are looked at before those are filled.
const PORTION: usize = 1024;
/// Memory that is filled in a trial, and by each thread at the least. The same for any number of threads, and more than
/// caches hold: where one thread has memory in the caches, and two together have not, one looks as good as two.
const TRIAL: usize = 128 << 20;
const LEAST_OF_THREAD: usize = 8 << 20;
const TRIALS: usize = 3;

impl Filler {
    /// Starts the threads, and measures for some tenths of a second how fast they are. A CPU that a thread cannot be bound
    /// to is shared by its thread with others.
    pub fn new(threads: &Threads) -> Result<Filler, FillerError> {
        if threads.by_node.values().all(Vec::is_empty) {
            return Err(FillerError::NoCpu);
        }
        let crossovers = Crossovers::measure()?;
        let known = Known { threads: 1, bytes_per_s: crossovers.store_bytes_per_s };
        let mut filler = Filler {
            shared: Arc::default(),
            crossovers,
            wake_s: 0.0,
            in_place: Arc::new(Scaling::new(known, 1)),
            new: Arc::new(Scaling::new(known, 1)),
            costs: Arc::default(),
            nodes: threads.by_node.len(),
            #[cfg(feature = "dsa")]
            devices: Vec::new(),
            threads: Vec::new(),
        };
        let most = threads.by_node.values().map(Vec::len).max().unwrap_or(1);
        for (index, (node, cpus)) in threads.by_node.iter().enumerate() {
            for (place, cpu) in cpus.iter().copied().enumerate() {
                let location =
                    EngineLocation { node: *node, of_node: place, of_all: place * filler.nodes + index };
                filler.start(cpu, location)?;
            }
        }
        filler.learn(most)?;
        Ok(filler)
    }

    fn start(&mut self, cpu: u32, location: EngineLocation) -> Result<(), FillerError> {
        let (shared, tools, nodes) = (Arc::clone(&self.shared), self.tools(), self.nodes);
        let life = move || {
            // Unbound it fills all the same, from wherever it runs.
            let _ = bind_this_thread(cpu);
            while let Some(job) = shared.next(|job| location.of_node * nodes < job.most_threads()) {
                if !job.work(Some(location), &tools) {
                    job.wait_for_a_place();
                }
            }
        };
        let thread = thread::Builder::new().name(format!("fill {cpu}")).spawn(life);
        self.threads.push(thread.map_err(|source| FillerError::Start { cpu, source })?);
        Ok(())
    }

    fn tools(&self) -> Tools {
        Tools { residency: Residency::open(), crossovers: self.crossovers, costs: Arc::clone(&self.costs) }
    }

    /// What is known by now.
    pub fn knowledge(&self) -> Knowledge {
        let (in_place, new) = (self.in_place.known(), self.new.known());
        Knowledge {
            crossovers: self.crossovers,
            threads_in_place: in_place.threads,
            threads_new: new.threads,
            in_place_bytes_per_s: in_place.bytes_per_s,
            new_bytes_per_s: new.bytes_per_s,
            wake_s: self.wake_s,
        }
    }

    /// Fills buffers with a byte, in the background; small ones at once, by the calling thread, where waking another would
    /// take longer. Of many buffers the first are being filled while the others are looked at.
    pub fn fill<B: Buffer>(&self, mut buffers: Vec<B>, value: u8, next: Next) -> Fill<B> {
        let spans = spans(&mut buffers);
        let is_new = value == 0 && B::IS_ANONYMOUS && mostly_absent(&spans);
        let (scaling, cost) = match is_new {
            true => (&self.new, &self.costs.create),
            false => (&self.in_place, &self.costs.store),
        };
        let Known { threads, bytes_per_s: rate } = scaling.known();
        let bytes: usize = spans.iter().map(|span| span.memory.len()).sum();
        let seconds = cost.predict_ns(bytes).map_or(bytes as f64 / rate, |ns| ns / 1e9 / threads as f64);
        let alone = seconds < self.wake_s;
        let thread_rate = cost.bytes_per_s().unwrap_or(rate / threads as f64);
        let work = Work {
            value,
            next,
            threads,
            nodes: self.nodes,
            thread_rate,
            #[cfg(feature = "dsa")]
            devices: if is_new { Vec::new() } else { self.device_rates() },
            #[cfg(not(feature = "dsa"))]
            devices: Vec::new(),
        };
        let tools = self.tools();
        let mut jobs = Vec::new();
        for portion in spans.chunks(PORTION) {
            let bytes: usize = portion.iter().map(|span| span.memory.len()).sum();
            // What devices do would be taken for the threads' work.
            let has_room = bytes >= PIECES_OF_TRIAL * PIECE && !alone && work.devices.is_empty();
            let other = has_room.then(|| scaling.other()).flatten();
            let trial = other.map(|other| Trial::new(Arc::clone(scaling), self.nodes, threads, other));
            let job = Arc::new(Job::new(by_node(portion.to_vec(), self.nodes), &work, trial));
            if alone {
                job.work(None, &tools);
            } else {
                self.shared.add(&job);
            }
            jobs.push(job);
        }
        Fill::new(jobs, tools, buffers)
    }

    fn learn(&mut self, most: usize) -> Result<(), FillerError> {
        let bytes = TRIAL.max(most * self.nodes * LEAST_OF_THREAD);
        let mut there = Region::map(bytes, Pages::Transparent, None)?;
        there.prefault()?;
        let in_place = self.best(most, bytes, |filler, threads| Ok(filler.seconds(&mut there, threads)))?;
        // Given back right before as much is created: a host has not taken it away yet.
        drop(there);
        let new = self.best(most, bytes, |filler, threads| {
            Ok(filler.seconds(&mut Region::map(bytes, Pages::Transparent, None)?, threads))
        })?;
        let mut wake_s = f64::INFINITY;
        for _ in 0..TRIALS * TRIALS {
            // One page: less time than the wake-up by far.
            wake_s = wake_s.min(self.seconds(&mut Region::map(4096, Pages::Base, None)?, self.nodes));
        }
        (self.in_place, self.new) = (Scaling::new(in_place, most).into(), Scaling::new(new, most).into());
        self.wake_s = wake_s;
        Ok(())
    }

    /// The number of threads of each node after which more add too little, to begin with. Two numbers that are compared take
    /// turns: a machine changes its speed at any moment.
    fn best(
        &self,
        most: usize,
        bytes: usize,
        mut seconds: impl FnMut(&Filler, usize) -> Result<f64, FillerError>,
    ) -> Result<Known, FillerError> {
        // What the chosen number took beside fewer.
        let (mut chosen, mut known_s) = (1, None);
        loop {
            let more = (chosen * 2).min(most);
            let known = |seconds| Known { threads: chosen, bytes_per_s: bytes as f64 / seconds };
            // The largest number has none to be compared with.
            if let Some(known_s) = known_s.filter(|_| more == chosen) {
                return Ok(known(known_s));
            }
            let (mut chosen_s, mut more_s) = (f64::INFINITY, f64::INFINITY);
            for _ in 0..TRIALS {
                chosen_s = chosen_s.min(seconds(self, chosen * self.nodes)?);
                if more > chosen {
                    more_s = more_s.min(seconds(self, more * self.nodes)?);
                }
            }
            if more == chosen || chosen_s < WORTHWHILE * more_s {
                return Ok(known(chosen_s));
            }
            (chosen, known_s) = (more, Some(more_s));
        }
    }

    /// Seconds until the filler's threads, so many of them, have cleared a region.
    fn seconds(&self, region: &mut Region, threads: usize) -> f64 {
        let work = Work {
            value: 0,
            next: Next::Leave,
            threads: threads / self.nodes,
            nodes: self.nodes,
            thread_rate: 1.0,
            devices: Vec::new(),
        };
        let job = Arc::new(Job::new(by_node(spans(std::slice::from_mut(region)), self.nodes), &work, None));
        let begun = Instant::now();
        self.shared.add(&job);
        job.wait(None);
        let seconds = begun.elapsed().as_secs_f64();
        job.cancel();
        seconds
    }
}

impl Drop for Filler {
    /// Fills that are under way are finished by their owners when they wait for them.
    fn drop(&mut self) {
        self.shared.lock().leave = true;
        self.shared.arrived.notify_all();
        for thread in self.threads.drain(..) {
            // They run no code of others.
            let _ = thread.join();
        }
    }
}

fn spans<B: Buffer>(buffers: &mut [B]) -> Vec<Span> {
    let span = |(buffer, memory): (usize, &mut B)| {
        let (address, bytes) = memory.memory();
        Span { memory: address as usize..address as usize + bytes, buffer, is_anonymous: B::IS_ANONYMOUS }
    };
    buffers.iter_mut().enumerate().map(span).filter(|span| !span.memory.is_empty()).collect()
}

/// The spans of each node, by where the first page of each lies; those that have none yet, or where the kernel does not
/// tell, are for anybody. With one node nobody asks.
fn by_node(spans: Vec<Span>, nodes: usize) -> Vec<(Option<u32>, Vec<Span>)> {
    if nodes < 2 {
        return vec![(None, spans)];
    }
    let addresses: Vec<usize> = spans.iter().map(|span| span.memory.start).collect();
    let mut found = vec![-1; spans.len()];
    // On an error all stay unknown.
    let _ = numa::nodes_of(&addresses, &mut found);
    let mut by_node: SortedMap<Option<u32>, Vec<Span>> = SortedMap::new();
    for (span, node) in spans.into_iter().zip(found) {
        by_node.entry(u32::try_from(node).ok()).or_default().push(span);
    }
    by_node.into_iter().collect()
}

/// Whether most of the memory has no pages yet, by a look at some of it.
fn mostly_absent(spans: &[Span]) -> bool {
    const LOOKS: usize = 16;
    let residency = Residency::open();
    let (mut there_bytes, mut absent_bytes) = (0, 0);
    for span in spans.iter().step_by(spans.len().div_ceil(LOOKS).max(1)) {
        let middle = span.memory.start + span.memory.len() / 2;
        let end = span.memory.end.min(middle + PIECE);
        residency.runs(middle..end, |run, is_there| match is_there {
            true => there_bytes += run.len(),
            false => absent_bytes += run.len(),
        });
    }
    absent_bytes > there_bytes
}
