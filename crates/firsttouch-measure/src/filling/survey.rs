//! A survey: the crews that try, and what every trial does.

use super::asked::{Engine, FillOptions, FillingError};
use super::crew::Crew;
use super::devices::Devices;
use firsttouch_fill::{Filler, Threads};
use firsttouch_machine::{FillRow, Machine};
use firsttouch_memory::{FillMeans, Pages, Region};
use firsttouch_threads::Team;
use std::collections::BTreeMap;

const ROUNDS: usize = 5;
pub(super) const PAGE: usize = 4096;

/// What was found so far, and what it is found with.
pub(super) struct Survey<'a> {
    pub(super) options: &'a FillOptions,
    pub(super) bytes: usize,
    pub(super) rounds: usize,
    pub(super) means: Vec<FillMeans>,
    /// Of one CPU, and of all.
    pub(super) crews: Vec<Crew>,
    /// By threads from 1 on.
    pub(super) bandwidth_gbps: Vec<f64>,
    pub(super) devices: Devices,
    pub(super) rows: Vec<FillRow>,
    pub(super) notes: Vec<String>,
    pub(super) verified: bool,
    pub(super) step: usize,
}

impl<'a> Survey<'a> {
    pub(super) fn new(
        machine: &Machine,
        options: &'a FillOptions,
        cpus: &[u32],
    ) -> Result<Survey<'a>, FillingError> {
        let wants_devices = options.engines.is_empty() || options.engines.contains(&Engine::Dsa);
        let mut devices = if wants_devices { Devices::open() } else { Devices::default() };
        let notes = devices.note(options.engines.contains(&Engine::Dsa)).into_iter().collect();
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
            crews.push(Crew {
                team: Team::new(&[cpus.to_vec()])?,
                nodes: by_node.len(),
                filler: if crews.len() + 1 == sizes.len() {
                    devices.filler(&Threads { by_node })?
                } else {
                    Filler::new(&Threads { by_node })?
                },
                fastest: FillMeans::String,
            });
        }
        Ok(Survey {
            options,
            bytes: options.size_bytes as usize,
            rounds: if options.quick { 1 } else { ROUNDS },
            means: FillMeans::ALL.into_iter().filter(|means| means.is_available()).collect(),
            crews,
            bandwidth_gbps: Vec::new(),
            devices,
            rows: Vec::new(),
            notes,
            verified: true,
            step: 0,
        })
    }

    pub(super) fn wants(&self, engine: Engine) -> bool {
        self.options.engines.is_empty() || self.options.engines.contains(&engine)
    }

    /// The filler of all CPUs.
    pub(super) fn filler(&self) -> &Filler {
        &self.crews[self.crews.len() - 1].filler
    }

    /// The store bandwidth, and for each kind of pages both kinds of rounds, the pool and the device.
    pub(super) fn steps(&self) -> usize {
        1 + self.options.pages.len() * self.steps_of_kind()
    }

    pub(super) fn steps_of_kind(&self) -> usize {
        2 * self.rounds + 2
    }

    pub(super) fn tell(&mut self, what: &str, progress: &mut dyn FnMut(usize, usize, &str)) {
        progress(self.step, self.steps(), what);
        self.step += 1;
    }

    pub(super) fn existing(&self, pages: Pages) -> Result<Region, FillingError> {
        let mut region = Region::map(self.bytes, pages, None)?;
        region.prefault()?;
        Ok(region)
    }

    /// Creates as much memory as is needed next, and gives it back: half as much again, because the kernel does not hand out
    /// just the pages that came back last. Reserved pages stay with the machine.
    pub(super) fn warm(&self, pages: Pages) -> Result<(), FillingError> {
        let bytes = if pages.is_reserved() { self.bytes } else { self.bytes / 2 * 3 };
        let mut region = Region::map(bytes, pages, None)?;
        region.prefault()?;
        Ok(())
    }

    /// Reads a region back: whether all of it is zero, and the size of its pages.
    pub(super) fn seen(&mut self, region: &Region) -> u64 {
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
}
