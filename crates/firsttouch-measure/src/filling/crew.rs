//! Some CPUs, and what their threads do with memory together.

use firsttouch_fill::Filler;
use firsttouch_memory::{FillMeans, HUGE, Region};
use firsttouch_threads::Team;
use std::sync::Mutex;
use std::time::Instant;

/// Some CPUs: a thread on each, and a filler that chooses how many of them it uses.
#[derive(Debug)]
pub(super) struct Crew {
    pub(super) team: Team,
    pub(super) filler: Filler,
    pub(super) nodes: usize,
    /// What its threads fill memory with the fastest that is there.
    pub(super) fastest: FillMeans,
}

/// Gives every member of a team its part of a region, and answers the seconds until the last is done.
pub(super) fn in_parallel(team: &mut Team, region: &mut Region, work: impl Fn(&mut [u8]) + Sync) -> f64 {
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

pub(super) fn dirty(part: &mut [u8]) {
    part.fill(0xff);
}
