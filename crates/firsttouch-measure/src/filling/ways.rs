//! Ways that are compared: every round tries all of them, one right after the other, and compares within the round.
//!
//! What came before another round says little: a virtual machine's processors and memory change their speed by the minute.
//! And its host takes freed memory away, and what it gives again is slow: before every single trial on new memory more of the
//! same kind is created and given back.

use super::{Engine, FillingError, PAGE, Survey};
use crate::series::Series;
use firsttouch_fill::{Filler, Next, store};
use firsttouch_machine::{FillRow, FillState};
use firsttouch_memory::{HUGE, Means, Pages, Region};
use firsttouch_threads::Team;
use std::hint::black_box;
use std::sync::Mutex;
use std::time::Instant;

/// Some CPUs: a thread on each, and a filler that chooses how many of them it uses.
#[derive(Debug)]
pub(super) struct Crew {
    pub(super) team: Team,
    pub(super) filler: Filler,
    pub(super) nodes: usize,
    /// What its threads fill memory with the fastest that is there.
    pub(super) fastest: Means,
}

/// An engine with a crew, the seconds that it took, and its part of what it is compared with, by round.
#[derive(Debug)]
struct Way {
    engine: Engine,
    crew: usize,
    page_size: u64,
    seconds: Series,
    of_kernels_best: Series,
    of_bandwidth: Series,
}

impl Way {
    fn new(engine: Engine, crew: usize) -> Way {
        let none = Series::default;
        Way { engine, crew, page_size: 0, seconds: none(), of_kernels_best: none(), of_bandwidth: none() }
    }
}

impl Survey<'_> {
    /// The engines that are wanted, each with every crew.
    fn ways(&self, engines: impl IntoIterator<Item = Engine>) -> Vec<Way> {
        let wanted = engines.into_iter().filter(|engine| self.wants(*engine));
        wanted.flat_map(|engine| (0..self.crews.len()).map(move |crew| Way::new(engine, crew))).collect()
    }

    /// Memory that the kernel creates.
    pub(super) fn new_memory(
        &mut self,
        pages: Pages,
        progress: &mut dyn FnMut(usize, usize, &str),
    ) -> Result<(), FillingError> {
        let mut ways = self.ways([Engine::Touch, Engine::Populate, Engine::Filler]);
        if ways.is_empty() {
            self.step += self.rounds;
            return Ok(());
        }
        let mut crews = std::mem::take(&mut self.crews);
        for round in 0..self.rounds {
            self.tell(&format!("new memory of {pages} pages, round {}", round + 1), progress);
            let mut taken = vec![0.0; ways.len()];
            for index in order(ways.len(), round) {
                let way = &mut ways[index];
                self.warm(pages)?;
                let (seconds, region) = self.create(pages, way.engine, &mut crews[way.crew])?;
                way.page_size = self.seen(&region);
                way.seconds.add(seconds);
                taken[index] = seconds;
            }
            // The kernel's best with no more CPUs.
            let best: Vec<f64> = (0..crews.len())
                .map(|crew| {
                    let kernels = ways
                        .iter()
                        .zip(&taken)
                        .filter(|(way, _)| way.engine != Engine::Filler && way.crew <= crew);
                    kernels.map(|(_, seconds)| *seconds).fold(f64::INFINITY, f64::min)
                })
                .collect();
            for (way, seconds) in ways.iter_mut().zip(taken) {
                way.of_kernels_best.add(best[way.crew] / seconds);
            }
        }
        self.rows_of(pages, FillState::New, &ways, &crews);
        self.crews = crews;
        Ok(())
    }

    /// A region of new memory, and the seconds until all of it exists.
    fn create(&self, pages: Pages, engine: Engine, crew: &mut Crew) -> Result<(f64, Region), FillingError> {
        let begun = Instant::now();
        // Reserved pages are created by mapping them already.
        let mut region = Region::map(self.bytes, pages, None)?;
        match engine {
            Engine::Filler => {
                let mut filled = crew.filler.fill(vec![region], 0, Next::Leave).wait();
                region = filled.buffers.remove(0);
            }
            Engine::Populate => {
                together(&mut crew.team, &mut region, populate);
            }
            _ => {
                together(&mut crew.team, &mut region, touch);
            }
        }
        Ok((begun.elapsed().as_secs_f64(), region))
    }

    /// Memory that is there.
    pub(super) fn in_place(
        &mut self,
        pages: Pages,
        progress: &mut dyn FnMut(usize, usize, &str),
    ) -> Result<(), FillingError> {
        let means = self.means.clone();
        let mut ways = self.ways(means.into_iter().map(Engine::Store).chain([Engine::Filler]));
        if ways.is_empty() {
            self.step += self.rounds;
            return Ok(());
        }
        let mut crews = std::mem::take(&mut self.crews);
        let mut region = self.existing(pages)?;
        let mut yardstick = self.existing(Pages::Transparent)?;
        for round in 0..self.rounds {
            self.tell(&format!("{pages} pages in place, round {}", round + 1), progress);
            let mut least = f64::INFINITY;
            // Seconds at the store bandwidth of as many CPUs.
            let mut bandwidth = Vec::new();
            for Crew { team, fastest, .. } in &mut crews {
                for _ in 0..YARDSTICKS {
                    least = least.min(together(team, &mut yardstick, |part| store(*fastest, part, 0)));
                }
                bandwidth.push(least);
            }
            for index in order(ways.len(), round) {
                let way = &mut ways[index];
                let crew = &mut crews[way.crew];
                together(&mut crew.team, &mut region, dirty);
                let begun = Instant::now();
                match way.engine {
                    Engine::Store(means) => {
                        together(&mut crew.team, &mut region, |part| store(means, part, 0));
                    }
                    _ => region = crew.filler.fill(vec![region], 0, Next::Leave).wait().buffers.remove(0),
                }
                let seconds = begun.elapsed().as_secs_f64();
                way.page_size = self.seen(&region);
                way.seconds.add(seconds);
                way.of_bandwidth.add(bandwidth[way.crew] / seconds);
            }
        }
        self.rows_of(pages, FillState::InPlace, &ways, &crews);
        self.crews = crews;
        Ok(())
    }

    fn rows_of(&mut self, pages: Pages, state: FillState, ways: &[Way], crews: &[Crew]) {
        for way in ways {
            let crew = &crews[way.crew];
            let known = crew.filler.knowledge();
            let threads = match (way.engine, state) {
                (Engine::Filler, FillState::New) => known.threads_new * crew.nodes,
                (Engine::Filler, _) => known.threads_in_place * crew.nodes,
                _ => crew.team.size(),
            };
            // A clock that stood still has measured nothing.
            let Some(seconds) = way.seconds.median() else { continue };
            let gbps = self.bytes as f64 / seconds / 1e9;
            let bandwidth_gbps = self.bandwidth_gbps[..crew.team.size()].iter().copied().fold(0.0, f64::max);
            self.rows.push(FillRow {
                method: way.engine.word().to_owned(),
                pages: pages.to_string(),
                page_size: way.page_size,
                threads: threads as u32,
                cpus: crew.team.size() as u32,
                state,
                gbps,
                ns_per_page: seconds * 1e9 / (self.bytes as f64 / way.page_size as f64),
                share_of_store_bandwidth: way.of_bandwidth.median().unwrap_or(gbps / bandwidth_gbps),
                share_of_kernels_best: way.of_kernels_best.median(),
            });
        }
    }
}

/// The store bandwidth of a round is the best of so many trials: it is what others are held to.
const YARDSTICKS: usize = 2;

/// The order of a round: each begins with another way, and every other one goes backwards.
fn order(ways: usize, round: usize) -> Vec<usize> {
    let forwards = |place: usize| (round + place) % ways;
    let backwards = |place: usize| (round % ways + ways - place) % ways;
    (0..ways).map(|place| if round.is_multiple_of(2) { forwards(place) } else { backwards(place) }).collect()
}

/// Gives every member of a team its part of a region, and answers the seconds until the last is done.
pub(super) fn together(team: &mut Team, region: &mut Region, work: impl Fn(&mut [u8]) + Sync) -> f64 {
    // Parts of whole huge pages, so that no two threads create the same one.
    let part = region.as_slice().len().div_ceil(team.size()).next_multiple_of(HUGE);
    let parts: Vec<Mutex<Option<&mut [u8]>>> =
        region.as_mut_slice().chunks_mut(part).map(|part| Mutex::new(Some(part))).collect();
    let begun = Instant::now();
    team.run(|member| {
        let part = parts.get(member.index()).and_then(|part| part.lock().ok()?.take());
        if let Some(part) = part {
            work(part);
        }
    });
    begun.elapsed().as_secs_f64()
}

fn touch(part: &mut [u8]) {
    for byte in part.iter_mut().step_by(PAGE) {
        *black_box(byte) = 0;
    }
}

fn populate(part: &mut [u8]) {
    if firsttouch_fill::populate(part).is_err() {
        touch(part);
    }
}

pub(super) fn dirty(part: &mut [u8]) {
    part.fill(0xff);
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn every_round_tries_every_way_and_begins_with_another() {
        let rounds: Vec<Vec<usize>> = (0..6).map(|round| order(6, round)).collect();
        for round in &rounds {
            let mut sorted = round.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..6), "{round:?}");
        }
        let mut first: Vec<usize> = rounds.iter().map(|round| round[0]).collect();
        first.sort_unstable();
        first.dedup();
        assert_eq!(first.len(), 6, "{rounds:?}");
        assert!(order(0, 1).is_empty());
    }
}
