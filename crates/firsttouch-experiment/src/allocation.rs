//! Who runs in the next block where the time does not suffice for all.
//!
//! Which configurations run depends on nothing but earlier runs, so that e-values stay what they are (A. Ramdas and others,
//! "Game-theoretic statistics and safe anytime-valid inference", *Statistical Science* 38, 2023).

use firsttouch_sorted::sort_by;
use std::time::Duration;

/// What has hardly begun is given as many blocks: so many decide a gain of four times the noise among a few configurations, as the test
/// of many gains in a short budget has it. With less for each, a short budget decides fewer; with more, too.
pub(crate) const FEWEST_BLOCKS: u32 = 7;

/// A configuration about which something is left to decide.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    /// Its place in the blocks.
    pub(crate) place: usize,
    /// So many more blocks decide it, probably.
    pub(crate) blocks: u32,
    /// What a run of it takes.
    pub(crate) cost: Duration,
    /// The logarithm of how many times better than the baseline it looks.
    pub(crate) gain: f64,
}

/// Who runs on, beside the baseline, where there is this much time: all, if all can be decided in it; otherwise those that can, the
/// soonest decided first and, of those as soon, the most promising.
pub(crate) fn decidable(candidates: &[Candidate], baseline: Duration, time: Duration) -> Vec<usize> {
    taken(candidates, baseline, time, |candidate| candidate.blocks)
}

/// In the same order, as many as there is time for one block of.
pub(crate) fn one_block(candidates: &[Candidate], baseline: Duration, time: Duration) -> Vec<usize> {
    taken(candidates, baseline, time, |_| 1)
}

fn taken(
    candidates: &[Candidate],
    baseline: Duration,
    time: Duration,
    blocks_of: impl Fn(&Candidate) -> u32,
) -> Vec<usize> {
    let mut order: Vec<&Candidate> = candidates.iter().collect();
    sort_by(&mut order, |left, right| left.blocks.cmp(&right.blocks).then(right.gain.total_cmp(&left.gain)));
    let (mut own, mut longest) = (Duration::ZERO, 0);
    let mut places = Vec::new();
    for candidate in order {
        let blocks = blocks_of(candidate);
        let with_it = own.saturating_add(candidate.cost.saturating_mul(blocks));
        let most = longest.max(blocks);
        if with_it.saturating_add(baseline.saturating_mul(most)) <= time {
            (own, longest) = (with_it, most);
            places.push(candidate.place);
        }
    }
    places.sort_unstable();
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASELINE: Duration = Duration::from_secs(10);

    /// Of so many more blocks, so many seconds a run, and a gain.
    fn candidates(of: &[(u32, u64, f64)]) -> Vec<Candidate> {
        let candidate = |(at, &(blocks, cost_s, gain)): (usize, &(u32, u64, f64))| Candidate {
            place: at + 1,
            blocks,
            cost: Duration::from_secs(cost_s),
            gain,
        };
        of.iter().enumerate().map(candidate).collect()
    }

    fn decided(of: &[(u32, u64, f64)], time_s: u64) -> Vec<usize> {
        decidable(&candidates(of), BASELINE, Duration::from_secs(time_s))
    }

    #[test]
    fn all_run_where_all_can_be_decided() {
        // Five blocks of the baseline, three and five of the others.
        assert_eq!(decided(&[(3, 10, 0.0), (5, 10, 0.0)], 130), [1, 2]);
    }

    #[test]
    fn the_time_goes_to_what_is_decided_soonest() {
        assert_eq!(decided(&[(300, 10, 0.0), (5, 10, 0.0), (3, 10, 0.0)], 130), [2, 3]);
        assert_eq!(decided(&[(5, 10, 0.0), (3, 10, 0.0)], 129), [2]);
        // A slow one may leave room for a fast one that takes more blocks.
        assert_eq!(decided(&[(4, 100, 0.0), (6, 10, 0.0)], 120), [2]);
        assert_eq!(decided(&[], 1000), [0; 0]);
    }

    #[test]
    fn of_those_as_soon_it_goes_to_the_most_promising() {
        assert_eq!(decided(&[(4, 10, 0.1), (4, 10, 0.3), (4, 10, -0.2), (4, 10, 0.2)], 120), [2, 4]);
    }

    #[test]
    fn what_decides_nothing_still_narrows_intervals() {
        let of = [(300, 10, 0.0), (200, 10, 0.0), (400, 10, 0.0)];
        assert_eq!(decided(&of, 30), [0; 0]);
        let block = |time_s| one_block(&candidates(&of), BASELINE, Duration::from_secs(time_s));
        assert_eq!((block(30), block(19)), (vec![1, 2], vec![]));
    }
}
