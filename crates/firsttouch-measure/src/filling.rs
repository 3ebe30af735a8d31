//! What creating, clearing and handing out memory costs on this machine.
//!
//! Every way gets the same amount of memory, some rounds each; the median counts. All bytes are read back.

mod cancel;
mod ways;

use crate::series::Series;
use firsttouch_fill::dsa::{self, DeviceQueue, Submission};
use firsttouch_fill::{Filler, FillerError, Next, Pool, Stock, Threads, store};
use firsttouch_linux::numa;
use firsttouch_linux::root::Root;
use firsttouch_machine::{
    FillCold, FillCrossovers, FillDevice, FillReport, FillRow, FillState, MEASUREMENT_VERSION, Machine,
};
use firsttouch_memory::{Means, Pages, Region, RegionError};
use firsttouch_threads::{Team, TeamError, compact};
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use ways::{Crew, dirty, together};

/// What is tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FillOptions {
    /// Bytes of memory of every trial.
    pub size_bytes: u64,
    /// The kinds of pages.
    pub pages: Vec<Pages>,
    /// The engines; empty is all.
    pub engines: Vec<Engine>,
    /// One round in place of five.
    pub quick: bool,
}

/// A way of getting zeroed memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Writing to every page, as programs do.
    Touch,
    /// `MADV_POPULATE_WRITE`, Linux 5.14.
    Populate,
    /// Storing into memory that is there, by one means.
    Store(Means),
    /// [`Filler`], on new memory and on memory that is there.
    Filler,
    /// [`Pool`].
    Pool,
    /// A queue of Intel's DSA, on memory that is there ([`dsa`]; not verified on hardware).
    Dsa,
}

impl Engine {
    /// Every engine.
    pub const ALL: [Engine; 9] = [
        Engine::Touch,
        Engine::Populate,
        Engine::Store(Means::String),
        Engine::Store(Means::Streaming),
        Engine::Store(Means::Clzero),
        Engine::Store(Means::Vector),
        Engine::Filler,
        Engine::Pool,
        Engine::Dsa,
    ];

    /// The word of the command line and of documents.
    pub fn word(self) -> &'static str {
        match self {
            Engine::Touch => "touch",
            Engine::Populate => "populate",
            Engine::Store(Means::String) => "string",
            Engine::Store(Means::Streaming) => "streaming",
            Engine::Store(Means::Clzero) => "clzero",
            Engine::Store(Means::Vector) => "vector",
            Engine::Filler => "filler",
            Engine::Pool => "pool",
            Engine::Dsa => "dsa",
        }
    }
}

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum FillingError {
    /// There is less memory than asked for.
    #[error("there is no room for {what}: {available} bytes are available, {needed} are needed")]
    NoRoom {
        /// What was to be made.
        what: &'static str,
        /// Bytes that are there.
        available: u64,
        /// Bytes that it takes.
        needed: u64,
    },
    /// Memory cannot be had.
    #[error(transparent)]
    Memory(#[from] RegionError),
    /// Threads cannot be had.
    #[error(transparent)]
    Team(#[from] TeamError),
    /// The filler cannot be had.
    #[error(transparent)]
    Filler(#[from] FillerError),
    /// The pool's thread cannot be had.
    #[error("the pool's thread cannot be started")]
    Pool(#[source] io::Error),
    /// The kernel does not tell where we may run.
    #[error("the kernel does not tell which CPUs may be used")]
    Affinity(#[source] io::Error),
}

impl FillingError {
    /// What would mend it.
    pub fn hint(&self) -> &'static str {
        match self {
            FillingError::NoRoom { .. } => "firsttouch fill --size 256M",
            FillingError::Memory(error) => error.hint(),
            FillingError::Team(error) => error.hint(),
            FillingError::Filler(error) => error.hint(),
            FillingError::Pool(_) | FillingError::Affinity(_) => {
                "firsttouch status shows the limits of this process"
            }
        }
    }
}

const ROUNDS: usize = 5;
/// Sizes at which stores past the caches are compared with the C library's; 16 of them are larger than any cache.
const COLD_SIZES: [usize; 4] = [256 << 10, 1 << 20, 4 << 20, 16 << 20];
const COLD_TRIALS: usize = 512;
const PAGE: usize = 4096;
/// For work that takes seconds at most.
const LONG: Duration = Duration::from_secs(600);

/// Tries everything. `progress` is told the step, how many there are, and what it is.
pub fn measure_filling(
    machine: &Machine,
    options: &FillOptions,
    date: String,
    progress: &mut dyn FnMut(usize, usize, &str),
) -> Result<FillReport, FillingError> {
    // A region, and in a pool or for the warm-up a second one.
    let needed = options.size_bytes.saturating_mul(2);
    if let Some(available) = machine.memory_available_bytes.filter(|available| *available < needed) {
        return Err(FillingError::NoRoom { what: "two regions of that size", available, needed });
    }
    let allowed: Vec<u32> = numa::affinity(0)
        .map_err(|errno| FillingError::Affinity(io::Error::from_raw_os_error(errno)))?
        .iter()
        .collect();
    let cpus = compact(machine, &allowed);
    let cpus = if cpus.is_empty() { allowed } else { cpus };
    let mut survey = Survey::new(machine, options, &cpus)?;
    let cold = survey.store_bandwidth(progress)?;
    for pages in &options.pages {
        survey.kind(*pages, progress)?;
    }
    let cancels = match survey.wants(Engine::Filler) {
        true => cancel::cancels(survey.filler(), survey.bytes)?,
        false => Vec::new(),
    };
    let known = survey.filler().knowledge();
    Ok(FillReport {
        schema_version: MEASUREMENT_VERSION,
        date,
        size_bytes: options.size_bytes,
        store_bandwidth_gbps: survey.bandwidth_gbps,
        rows: survey.rows,
        crossovers: FillCrossovers {
            past_caches: Engine::Store(known.crossovers.past_caches).word().to_owned(),
            left_from_bytes: known.crossovers.left_from_bytes.map(|bytes| bytes as u64),
            read_from_bytes: known.crossovers.read_from_bytes.map(|bytes| bytes as u64),
            vector_to_bytes: known.crossovers.vector_to_bytes.map(|bytes| bytes as u64),
        },
        cold,
        filler_threads: [known.threads_in_place as u32, known.threads_new as u32],
        wake_us: known.wake_s * 1e6,
        cancels,
        devices: survey.devices,
        verified: survey.verified,
        notes: survey.notes,
    })
}

struct Survey<'a> {
    options: &'a FillOptions,
    bytes: usize,
    rounds: usize,
    means: Vec<Means>,
    /// Of one CPU, and of all.
    crews: Vec<Crew>,
    /// By threads from 1 on.
    bandwidth_gbps: Vec<f64>,
    /// Every queue that was found, and the first that could be opened.
    devices: Vec<FillDevice>,
    queue: Option<DeviceQueue>,
    rows: Vec<FillRow>,
    notes: Vec<String>,
    verified: bool,
    step: usize,
}

impl<'a> Survey<'a> {
    fn new(machine: &Machine, options: &'a FillOptions, cpus: &[u32]) -> Result<Survey<'a>, FillingError> {
        let wants_devices = options.engines.is_empty() || options.engines.contains(&Engine::Dsa);
        let (devices, mut queues) = if wants_devices { open_devices() } else { Default::default() };
        let queue = if queues.is_empty() { None } else { Some(queues.remove(0)) };
        let mut notes = Vec::new();
        if queue.is_some() {
            notes.push(dsa::NOT_VERIFIED.to_owned());
        } else if options.engines.contains(&Engine::Dsa) && devices.is_empty() {
            notes.push("no Intel DSA: /sys/bus/dsa has no queue".to_owned());
        }
        let mut sizes = vec![1, cpus.len()];
        sizes.dedup();
        let mut crews = Vec::new();
        for size in &sizes {
            let cpus = &cpus[..*size];
            let mut by_node: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            for cpu in cpus {
                let node =
                    machine.nodes.iter().find(|node| node.cpus.contains(cpu)).map_or(0, |node| node.id);
                by_node.entry(node).or_default().push(*cpu);
            }
            // The devices' other queues are the largest filler's.
            let queues =
                if crews.len() + 1 == sizes.len() { std::mem::take(&mut queues) } else { Vec::new() };
            crews.push(Crew {
                team: Team::new(&[cpus.to_vec()])?,
                nodes: by_node.len(),
                filler: Filler::with_devices(&Threads { by_node }, queues)?,
                fastest: Means::String,
            });
        }
        Ok(Survey {
            options,
            bytes: options.size_bytes as usize,
            rounds: if options.quick { 1 } else { ROUNDS },
            means: Means::ALL.into_iter().filter(|means| means.is_available()).collect(),
            crews,
            bandwidth_gbps: Vec::new(),
            devices,
            queue,
            rows: Vec::new(),
            notes,
            verified: true,
            step: 0,
        })
    }

    fn wants(&self, engine: Engine) -> bool {
        self.options.engines.is_empty() || self.options.engines.contains(&engine)
    }

    /// The filler of all CPUs.
    fn filler(&self) -> &Filler {
        &self.crews[self.crews.len() - 1].filler
    }

    /// The store bandwidth, and for each kind of pages both kinds of rounds, the pool and the device.
    fn steps(&self) -> usize {
        1 + self.options.pages.len() * self.steps_of_kind()
    }

    fn steps_of_kind(&self) -> usize {
        2 * self.rounds + 2
    }

    fn tell(&mut self, what: &str, progress: &mut dyn FnMut(usize, usize, &str)) {
        progress(self.step, self.steps(), what);
        self.step += 1;
    }

    /// Finds how fast memory that is there can be filled, by which means, by one thread and by all.
    fn store_bandwidth(
        &mut self,
        progress: &mut dyn FnMut(usize, usize, &str),
    ) -> Result<Vec<FillCold>, FillingError> {
        self.tell("store bandwidth", progress);
        let mut region = self.existing(Pages::Transparent)?;
        let mut bandwidth = Vec::new();
        for crew in &mut self.crews {
            let mut fastest = 0_f64;
            for means in &self.means {
                for _ in 0..self.rounds {
                    let seconds = together(&mut crew.team, &mut region, |part| store(*means, part, 0));
                    let gbps = self.bytes as f64 / seconds / 1e9;
                    if gbps > fastest {
                        (fastest, crew.fastest) = (gbps, *means);
                    }
                }
            }
            bandwidth.push((crew.team.size(), fastest));
        }
        // Between one and all, what was measured of fewer holds.
        let all = bandwidth.last().map_or(1, |(size, _)| *size);
        let at = |threads: usize| {
            bandwidth.iter().rev().find(|(size, _)| *size <= threads).map_or(0.0, |(_, rate)| *rate)
        };
        self.bandwidth_gbps = (1..=all).map(at).collect();
        Ok(self.cold(&mut region))
    }

    /// Sizes filled in turn by the C library and by what a filler takes, one part of the region after the other.
    fn cold(&self, region: &mut Region) -> Vec<FillCold> {
        let crossovers = self.filler().knowledge().crossovers;
        let most = region.as_slice().len() / 16;
        let sizes = COLD_SIZES.into_iter().filter(|bytes| *bytes <= most);
        let compared = |bytes: usize| {
            let means = crossovers.means(bytes, Next::Leave);
            let mut seconds = [Series::default(), Series::default()];
            for (turn, part) in region.as_mut_slice().chunks_exact_mut(bytes).take(COLD_TRIALS).enumerate() {
                let begun = Instant::now();
                if turn % 2 == 0 {
                    part.fill(0)
                } else {
                    store(means, part, 0)
                }
                seconds[turn % 2].add(begun.elapsed().as_secs_f64());
            }
            let [memset_gbps, gbps] =
                seconds.map(|seconds| seconds.median().map_or(0.0, |seconds| bytes as f64 / seconds / 1e9));
            FillCold { bytes: bytes as u64, memset_gbps, means: Engine::Store(means).word().to_owned(), gbps }
        };
        sizes.map(compared).collect()
    }

    /// Everything on one kind of pages.
    fn kind(
        &mut self,
        pages: Pages,
        progress: &mut dyn FnMut(usize, usize, &str),
    ) -> Result<(), FillingError> {
        let probe = Region::map(self.bytes, pages, None)?;
        if let Some(reason) = probe.shortfall().filter(|_| probe.pages() != pages && pages != Pages::Auto) {
            self.notes.push(format!("no {pages} pages ({}): {}", reason.word(), reason.remedy()));
            drop(probe);
            self.step += self.steps_of_kind();
            return Ok(());
        }
        drop(probe);
        self.new_memory(pages, progress)?;
        self.in_place(pages, progress)?;
        self.tell(&format!("pool of {pages} pages"), progress);
        if self.wants(Engine::Pool) {
            self.pool(pages)?;
        }
        self.tell(&format!("devices on {pages} pages"), progress);
        if self.wants(Engine::Dsa) {
            self.device(pages)?;
        }
        Ok(())
    }

    fn pool(&mut self, pages: Pages) -> Result<(), FillingError> {
        let stock = Stock { region_bytes: self.bytes, pages, node: None, ready: 0, most: 1, keep: None };
        let past_caches = self.filler().knowledge().crossovers.past_caches;
        let pool = Pool::new(stock, Some(past_caches)).map_err(FillingError::Pool)?;
        let mut region = self.existing(pages)?;
        let (mut pooled, mut handed_out) = (Series::default(), Series::default());
        for _ in 0..self.rounds {
            dirty(region.as_mut_slice());
            let begun = Instant::now();
            pool.give(region);
            pool.wait_ready(1, LONG);
            pooled.add(begun.elapsed().as_secs_f64());
            let begun = Instant::now();
            region = pool.take()?.region;
            handed_out.add(begun.elapsed().as_secs_f64());
        }
        let page_size = self.seen(&region);
        self.row(Engine::Pool, pages, page_size, FillState::Pooled, &pooled);
        self.row(Engine::Pool, pages, page_size, FillState::HandedOut, &handed_out);
        Ok(())
    }

    fn device(&mut self, pages: Pages) -> Result<(), FillingError> {
        let Some(mut queue) = self.queue.take() else { return Ok(()) };
        let mut region = self.existing(pages)?;
        let mut seconds = Series::default();
        for _ in 0..self.rounds {
            dirty(region.as_mut_slice());
            let begun = Instant::now();
            queue.fill(region.as_mut_slice(), 0);
            seconds.add(begun.elapsed().as_secs_f64());
        }
        let page_size = self.seen(&region);
        self.row(Engine::Dsa, pages, page_size, FillState::InPlace, &seconds);
        let totals = queue.totals();
        let [by_processor, faults] =
            [&totals.processor_bytes, &totals.faults].map(|total| total.load(Ordering::Relaxed));
        if by_processor > 0 {
            self.notes.push(format!(
                "dsa on {pages} pages: the processor wrote {by_processor} bytes in the device's place ({faults} faults)"
            ));
        }
        self.queue = Some(queue);
        Ok(())
    }

    fn existing(&self, pages: Pages) -> Result<Region, FillingError> {
        let mut region = Region::map(self.bytes, pages, None)?;
        region.prefault()?;
        Ok(region)
    }

    /// Creates as much memory as is needed next, and gives it back: half as much again, because the kernel does not hand out
    /// just the pages that came back last. Reserved pages stay with the machine.
    fn warm(&self, pages: Pages) -> Result<(), FillingError> {
        let is_reserved = matches!(pages, Pages::Huge2M | Pages::Huge1G);
        let bytes = if is_reserved { self.bytes } else { self.bytes / 2 * 3 };
        let mut region = Region::map(bytes, pages, None)?;
        region.prefault()?;
        Ok(())
    }

    /// Reads a region back: whether all of it is zero, and the size of its pages.
    fn seen(&mut self, region: &Region) -> u64 {
        let (words, rest) = region.as_slice().as_chunks::<64>();
        let bits = words.iter().fold([0_u8; 64], |bits, line| std::array::from_fn(|at| bits[at] | line[at]));
        self.verified &= bits.iter().chain(rest).all(|byte| *byte == 0);
        let small = region.coverage().is_some_and(|seen| seen.small > seen.huge);
        if small && region.pages() == Pages::Transparent {
            PAGE as u64
        } else {
            region.pages().bytes() as u64
        }
    }

    /// A row of one thread that was in no comparison.
    fn row(&mut self, engine: Engine, pages: Pages, page_size: u64, state: FillState, seconds: &Series) {
        let bandwidth_gbps = self.bandwidth_gbps.first().copied().unwrap_or(f64::INFINITY);
        // A clock that stood still has measured nothing.
        let Some(seconds) = seconds.median() else { return };
        let gbps = self.bytes as f64 / seconds / 1e9;
        self.rows.push(FillRow {
            method: engine.word().to_owned(),
            pages: pages.to_string(),
            page_size,
            threads: 1,
            cpus: 1,
            state,
            gbps,
            ns_per_page: seconds * 1e9 / (self.bytes as f64 / page_size as f64),
            share_of_store_bandwidth: gbps / bandwidth_gbps,
            share_of_kernels_best: None,
        });
    }
}

/// Every queue of a device there is, and those that could be opened.
fn open_devices() -> (Vec<FillDevice>, Vec<DeviceQueue>) {
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
    let devices = dsa::find_queues(&Root::live()).into_iter().map(opened).collect();
    (devices, queues)
}
