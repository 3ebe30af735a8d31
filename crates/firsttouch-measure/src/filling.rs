//! What creating, clearing and handing out memory costs on this machine.
//!
//! Every variant gets the same amount of memory, some rounds each; the median counts. All bytes are read back.

mod asked;
mod cancel;
mod crew;
mod devices;
mod survey;
mod variants;

pub use asked::{Engine, FillOptions, FillingError};

use crate::series::Series;
use crew::{dirty, in_parallel};
use firsttouch_fill::{Next, Pool, Stock, store};
use firsttouch_linux::numa;
use firsttouch_machine::{FillCold, FillCrossovers, FillReport, FillRow, FillState, Machine};
use firsttouch_memory::{Pages, Region};
use firsttouch_threads::compact;
use std::io;
#[cfg(feature = "dsa")]
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use survey::Survey;

/// Sizes at which stores past the caches are compared with the C library's; 16 of them are larger than any cache.
const COLD_SIZES: [usize; 4] = [256 << 10, 1 << 20, 4 << 20, 16 << 20];
const COLD_TRIALS: usize = 512;
/// For work that takes seconds at most.
const LONG: Duration = Duration::from_secs(600);

/// Tries everything. Calls `progress` with the step, how many there are, and what it is.
pub fn measure_filling(
    machine: &Machine,
    options: &FillOptions,
    date: String,
    progress: &mut dyn FnMut(usize, usize, &str),
) -> Result<FillReport, FillingError> {
    if let Some(pages) = options.pages.iter().copied().max_by_key(|pages| pages.bytes())
        && options.size_bytes < pages.bytes() as u64
    {
        return Err(FillingError::TooSmall { size: options.size_bytes, pages });
    }
    // A region, and in a pool or for the warm-up a second one.
    let needed = options.size_bytes.saturating_mul(2);
    if let Some(available) = machine.memory_for_us_bytes().filter(|available| *available < needed) {
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
        devices: survey.devices.found,
        verified: survey.verified,
        notes: survey.notes,
    })
}

impl Survey<'_> {
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
                    let seconds = in_parallel(&mut crew.team, &mut region, |part| store(*means, part, 0));
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
            #[cfg(feature = "dsa")]
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

    #[cfg(feature = "dsa")]
    fn device(&mut self, pages: Pages) -> Result<(), FillingError> {
        let Some(mut queue) = self.devices.queue.take() else { return Ok(()) };
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
        self.devices.queue = Some(queue);
        Ok(())
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
