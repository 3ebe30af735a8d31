//! How many threads are worth using, learnt once and then again and again: a machine changes by the minute, and one look at
//! it while somebody else was at work would be believed for ever.
//!
//! A [`Trial`] takes place within a large fill, so that nothing is done for its sake alone and both numbers of threads work on
//! the same memory: some pieces are filled by as many threads as are used now, some by half or twice as many, and the
//! rest by the better number. What it finds holds from the second time on that it is found in a row: a host that takes a
//! processor away for some milliseconds decides one trial, and hardly two.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Twice as many threads have to fill so much faster to be used.
pub(crate) const WORTHWHILE: f64 = 1.2;
/// Trials that find what was known become rarer, down to one in so many large fills.
const RAREST: u32 = 32;
/// Pieces that are filled by each number of threads.
const EACH: usize = 16;
/// Pieces before each look at the clock: until all have begun, and until others have come or gone.
const START: usize = 4;
const CHANGE: usize = 8;
/// Pieces of a fill that has room for a trial.
pub(crate) const PIECES_OF_TRIAL: usize = START + 2 * EACH + CHANGE;

/// What is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Known {
    /// Threads of each node after which twice as many add too little.
    pub(crate) threads: usize,
    /// With so many, in bytes per second.
    pub(crate) bytes_per_s: f64,
}

/// The number of threads that are used for one kind of memory.
#[derive(Debug)]
pub(crate) struct Scaling {
    /// Threads that each node has at most.
    most: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    known: Known,
    /// Large fills up to the next trial, and what this begins with after a trial.
    left: u32,
    interval: u32,
    /// The next trial is with more threads than are used.
    upwards: bool,
    /// The last trial found this instead of what is known.
    doubted: Option<usize>,
}

impl Scaling {
    pub(crate) fn new(known: Known, most: usize) -> Scaling {
        let state = State { known, left: 1, interval: 1, upwards: true, doubted: None };
        Scaling { most: most.max(known.threads), state: Mutex::new(state) }
    }

    pub(crate) fn known(&self) -> Known {
        self.lock().known
    }

    /// A large fill begins: the number of threads to compare with the one that is used, if it is time for that.
    pub(crate) fn other(&self) -> Option<usize> {
        let mut state = self.lock();
        let used = state.known.threads;
        if self.most < 2 {
            return None;
        }
        state.left = state.left.saturating_sub(1);
        if state.left > 0 {
            return None;
        }
        state.left = state.interval;
        let (more, fewer) = ((used * 2).min(self.most), used.div_ceil(2));
        let upwards = fewer == used || (more > used && state.upwards);
        Some(state.doubted.unwrap_or(if upwards { more } else { fewer }))
    }

    /// What a trial found.
    fn found(&self, found: Known) {
        let mut state = self.lock();
        if found.threads == state.known.threads {
            state.known = found;
            state.interval = (2 * state.interval).min(RAREST);
            state.doubted = None;
            state.upwards = !state.upwards;
        } else if state.doubted == Some(found.threads) {
            *state = State {
                known: found,
                left: 1,
                interval: 1,
                upwards: found.threads > state.known.threads,
                doubted: None,
            };
            return;
        } else {
            state.doubted = Some(found.threads);
            state.interval = 1;
        }
        state.left = state.interval;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Two numbers of threads compared within one fill.
#[derive(Debug)]
pub(crate) struct Trial {
    scaling: Arc<Scaling>,
    nodes: usize,
    /// Threads of each node: those that are used, and others.
    numbers: [usize; 2],
    pieces: AtomicUsize,
    looks: Mutex<Looks>,
}

/// When so many pieces were filled, and how many bytes.
type Looks = [Option<(Instant, usize)>; 4];

impl Trial {
    pub(crate) fn new(scaling: Arc<Scaling>, nodes: usize, used: usize, other: usize) -> Trial {
        let looks = Mutex::new(Looks::default());
        Trial { scaling, nodes, numbers: [used, other], pieces: AtomicUsize::new(0), looks }
    }

    /// Threads that the fill has at most at any time.
    pub(crate) fn most(&self) -> usize {
        self.numbers[0].max(self.numbers[1]) * self.nodes
    }

    /// A piece more is filled, `filled_bytes` in all: how many threads shall fill from now on, if that changes.
    pub(crate) fn piece_filled(&self, now: Instant, filled_bytes: usize) -> Option<usize> {
        const LOOKS: [usize; 4] = [START, START + EACH, START + EACH + CHANGE, START + 2 * EACH + CHANGE];
        let pieces = 1 + self.pieces.fetch_add(1, Ordering::Relaxed);
        let look = LOOKS.iter().position(|at| *at == pieces)?;
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        looks[look] = Some((now, filled_bytes));
        match look {
            1 => Some(self.numbers[1] * self.nodes),
            3 => Some(self.decide(&looks)? * self.nodes),
            _ => None,
        }
    }

    /// Threads of each node that the rest is filled with; `None` where the clock stood still.
    fn decide(&self, looks: &Looks) -> Option<usize> {
        let rate = |from: usize| {
            let ((begun, before), (ended, after)) = (looks[from]?, looks[from + 1]?);
            let seconds = ended.checked_duration_since(begun)?.as_secs_f64();
            (seconds > 0.0 && after > before).then(|| (after - before) as f64 / seconds)
        };
        let mut known = [(self.numbers[0], rate(0)?), (self.numbers[1], rate(2)?)]
            .map(|(threads, bytes_per_s)| Known { threads, bytes_per_s });
        known.sort_by_key(|known| known.threads);
        let [fewer, more] = known;
        let better = if more.bytes_per_s >= WORTHWHILE * fewer.bytes_per_s { more } else { fewer };
        self.scaling.found(better);
        Some(better.threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Large fills on a machine where `rate` tells what so many threads do.
    fn fills(scaling: &Arc<Scaling>, count: usize, rate: impl Fn(usize) -> f64) -> usize {
        let mut trials = 0;
        for _ in 0..count {
            let used = scaling.known().threads;
            let Some(other) = scaling.other() else { continue };
            trials += 1;
            let trial = Trial::new(Arc::clone(scaling), 1, used, other);
            let (mut threads, mut now) = (used, Instant::now());
            for piece in 1..=PIECES_OF_TRIAL {
                now += Duration::from_secs_f64(1e6 / rate(threads));
                threads = trial.piece_filled(now, piece * 1_000_000).unwrap_or(threads);
            }
            assert!(threads == used || threads == other);
        }
        trials
    }

    fn scaling(threads: usize, most: usize) -> Arc<Scaling> {
        Arc::new(Scaling::new(Known { threads, bytes_per_s: 1e9 }, most))
    }

    #[test]
    fn what_was_learnt_wrongly_is_put_right_and_followed() {
        let scaling = scaling(1, 8);
        fills(&scaling, 10, |threads| threads.min(4) as f64 * 1e9);
        assert_eq!(scaling.known(), Known { threads: 4, bytes_per_s: scaling.known().bytes_per_s });
        assert!((scaling.known().bytes_per_s / 4e9 - 1.0).abs() < 0.01);
        // Somebody else takes all the memory can do.
        fills(&scaling, 200, |_| 1e9);
        assert_eq!(scaling.known().threads, 1);
    }

    #[test]
    fn trials_become_rare_where_they_find_nothing() {
        let scaling = scaling(2, 2);
        let trials = fills(&scaling, 640, |threads| threads as f64 * 1e9);
        assert!((640 / RAREST as usize..640 / RAREST as usize + 10).contains(&trials), "{trials}");
        assert_eq!(scaling.known().threads, 2);
    }

    #[test]
    fn one_disturbed_trial_changes_nothing() {
        let scaling = scaling(2, 2);
        fills(&scaling, 1, |_| 1e9);
        assert_eq!(scaling.known().threads, 2);
        fills(&scaling, 1, |threads| threads as f64 * 1e9);
        fills(&scaling, 1, |_| 1e9);
        assert_eq!(scaling.known().threads, 2);
    }

    #[test]
    fn one_thread_has_nothing_to_be_compared_with() {
        let scaling = scaling(1, 1);
        assert_eq!(fills(&scaling, 100, |_| 1e9), 0);
    }

    #[test]
    fn a_number_that_is_no_power_of_two_is_reached_and_left() {
        let scaling = scaling(1, 6);
        fills(&scaling, 20, |threads| threads as f64 * 1e9);
        assert_eq!(scaling.known().threads, 6);
        fills(&scaling, 200, |threads| threads.min(3) as f64 * 1e9);
        assert_eq!(scaling.known().threads, 3);
    }
}
