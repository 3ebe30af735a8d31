//! Ways that are compared: every round tries all of them, one right after the other, and compares within the round.
//!
//! What came before another round says little: a virtual machine's processors and memory change their speed by the minute.
//! And its host takes freed memory away, and what it gives again is slow: before every single trial on new memory more of the
//! same kind is created and given back.

use super::asked::{Engine, FillingError};
use super::crew::{Crew, dirty, in_parallel};
use super::survey::{PAGE, Survey};
use crate::series::Series;
use firsttouch_fill::{Next, store};
use firsttouch_machine::{FillRow, FillState};
use firsttouch_memory::{Pages, Region};
use std::hint::black_box;
use std::time::Instant;

/// An engine with a crew, the seconds that it took, and its part of what it is compared with, by round.
#[derive(Debug)]
struct Variant {
    engine: Engine,
    crew: usize,
    page_size: u64,
    seconds: Series,
    of_kernels_best: Series,
    of_bandwidth: Series,
}

impl Variant {
    fn new(engine: Engine, crew: usize) -> Variant {
        let none = Series::default;
        Variant { engine, crew, page_size: 0, seconds: none(), of_kernels_best: none(), of_bandwidth: none() }
    }
}

impl Survey<'_> {
    /// The engines that are wanted, each with every crew.
    fn variants(&self, engines: impl IntoIterator<Item = Engine>) -> Vec<Variant> {
        let wanted = engines.into_iter().filter(|engine| self.wants(*engine));
        wanted.flat_map(|engine| (0..self.crews.len()).map(move |crew| Variant::new(engine, crew))).collect()
    }

    /// Memory that the kernel creates.
    pub(super) fn new_memory(
        &mut self,
        pages: Pages,
        progress: &mut dyn FnMut(usize, usize, &str),
    ) -> Result<(), FillingError> {
        let mut variants = self.variants([Engine::Touch, Engine::Populate, Engine::Filler]);
        if variants.is_empty() {
            self.step += self.rounds;
            return Ok(());
        }
        let mut crews = std::mem::take(&mut self.crews);
        for round in 0..self.rounds {
            self.tell(&format!("new memory of {pages} pages, round {}", round + 1), progress);
            let mut taken = vec![0.0; variants.len()];
            for index in order(variants.len(), round) {
                let variant = &mut variants[index];
                self.warm(pages)?;
                let (seconds, region) = self.create(pages, variant.engine, &mut crews[variant.crew])?;
                variant.page_size = self.seen(&region);
                variant.seconds.add(seconds);
                taken[index] = seconds;
            }
            // The kernel's best with no more CPUs.
            let best: Vec<f64> = (0..crews.len())
                .map(|crew| {
                    let kernels = variants
                        .iter()
                        .zip(&taken)
                        .filter(|(variant, _)| variant.engine != Engine::Filler && variant.crew <= crew);
                    kernels.map(|(_, seconds)| *seconds).fold(f64::INFINITY, f64::min)
                })
                .collect();
            for (variant, seconds) in variants.iter_mut().zip(taken) {
                variant.of_kernels_best.add(best[variant.crew] / seconds);
            }
        }
        self.rows_of(pages, FillState::New, &variants, &crews);
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
                in_parallel(&mut crew.team, &mut region, populate);
            }
            _ => {
                in_parallel(&mut crew.team, &mut region, touch);
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
        let mut variants = self.variants(means.into_iter().map(Engine::Store).chain([Engine::Filler]));
        if variants.is_empty() {
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
                    least = least.min(in_parallel(team, &mut yardstick, |part| store(*fastest, part, 0)));
                }
                bandwidth.push(least);
            }
            for index in order(variants.len(), round) {
                let variant = &mut variants[index];
                let crew = &mut crews[variant.crew];
                in_parallel(&mut crew.team, &mut region, dirty);
                let begun = Instant::now();
                match variant.engine {
                    Engine::Store(means) => {
                        in_parallel(&mut crew.team, &mut region, |part| store(means, part, 0));
                    }
                    _ => region = crew.filler.fill(vec![region], 0, Next::Leave).wait().buffers.remove(0),
                }
                let seconds = begun.elapsed().as_secs_f64();
                variant.page_size = self.seen(&region);
                variant.seconds.add(seconds);
                variant.of_bandwidth.add(bandwidth[variant.crew] / seconds);
            }
        }
        self.rows_of(pages, FillState::InPlace, &variants, &crews);
        self.crews = crews;
        Ok(())
    }

    fn rows_of(&mut self, pages: Pages, state: FillState, variants: &[Variant], crews: &[Crew]) {
        for variant in variants {
            let crew = &crews[variant.crew];
            let known = crew.filler.knowledge();
            let threads = match (variant.engine, state) {
                (Engine::Filler, FillState::New) => known.threads_new * crew.nodes,
                (Engine::Filler, _) => known.threads_in_place * crew.nodes,
                _ => crew.team.size(),
            };
            // A clock that stood still has measured nothing.
            let Some(seconds) = variant.seconds.median() else { continue };
            let gbps = self.bytes as f64 / seconds / 1e9;
            let bandwidth_gbps = self.bandwidth_gbps[..crew.team.size()].iter().copied().fold(0.0, f64::max);
            self.rows.push(FillRow {
                method: variant.engine.word().to_owned(),
                pages: pages.to_string(),
                page_size: variant.page_size,
                threads: threads as u32,
                cpus: crew.team.size() as u32,
                state,
                gbps,
                ns_per_page: seconds * 1e9 / (self.bytes as f64 / variant.page_size as f64),
                share_of_store_bandwidth: variant.of_bandwidth.median().unwrap_or(gbps / bandwidth_gbps),
                share_of_kernels_best: variant.of_kernels_best.median(),
            });
        }
    }
}

/// The store bandwidth of a round is the best of so many trials: it is what others are held to.
const YARDSTICKS: usize = 2;

/// The order of a round: each begins with another variant, and every other one goes backwards.
fn order(variants: usize, round: usize) -> Vec<usize> {
    let forwards = |place: usize| (round + place) % variants;
    let backwards = |place: usize| (round % variants + variants - place) % variants;
    (0..variants)
        .map(|place| if round.is_multiple_of(2) { forwards(place) } else { backwards(place) })
        .collect()
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
