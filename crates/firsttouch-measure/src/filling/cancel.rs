//! How long a fill that is cancelled goes on.

use firsttouch_fill::{Buffer, Filler, Next};
use firsttouch_machine::{FillCancel, FillState};
use firsttouch_memory::{Pages, Region, RegionError};
use std::time::{Duration, Instant};

/// Fills that are cancelled, of memory that is there and of new memory each.
const TIMES: usize = 32;
const BETWEEN_LOOKS: Duration = Duration::from_micros(50);

/// Cancels fills of a region at points from its beginning to its end, and answers what that took, on memory that is there
/// and on new memory.
pub(super) fn cancels(filler: &Filler, bytes: usize) -> Result<Vec<FillCancel>, RegionError> {
    let mut region = Region::map(bytes, Pages::Transparent, None)?;
    region.prefault()?;
    let mut buffers = vec![region];
    let mut in_place = Vec::new();
    for turn in 0..TIMES {
        let seconds;
        (buffers, seconds) = cancel_at(filler, buffers, bytes / TIMES * turn);
        in_place.extend(seconds);
    }
    let mut new = Vec::new();
    for turn in 0..TIMES {
        // The old one goes right before: what its pages lay on is warm, also where the machine is a guest.
        drop(buffers);
        buffers = vec![Region::map(bytes, Pages::Transparent, None)?];
        let seconds;
        (buffers, seconds) = cancel_at(filler, buffers, bytes / TIMES * turn);
        new.extend(seconds);
    }
    let found = |state, mut seconds: Vec<f64>| {
        seconds.sort_unstable_by(f64::total_cmp);
        let worst = *seconds.last()?;
        Some(FillCancel { state, median_us: seconds[seconds.len() / 2] * 1e6, worst_us: worst * 1e6 })
    };
    Ok([found(FillState::InPlace, in_place), found(FillState::New, new)].into_iter().flatten().collect())
}

/// Hands the buffers back, with the seconds that the cancel took; none if the fill was faster.
fn cancel_at<B: Buffer>(filler: &Filler, buffers: Vec<B>, filled_bytes: usize) -> (Vec<B>, Option<f64>) {
    let fill = filler.fill(buffers, 0, Next::Leave);
    while fill.progress().filled_bytes < filled_bytes {
        // Whoever span would take a processor from those who fill.
        fill.wait_for(BETWEEN_LOOKS);
    }
    if fill.is_done() {
        return (fill.wait().buffers, None);
    }
    let begun = Instant::now();
    let filled = fill.cancel();
    (filled.buffers, Some(begun.elapsed().as_secs_f64()))
}
