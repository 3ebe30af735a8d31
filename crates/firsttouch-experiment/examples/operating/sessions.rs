//! Simulated sessions: how often the rule is right, and after how many blocks.

use crate::random::Random;
use firsttouch_experiment::{Decider, Decision, Verdict};

/// The risk and the band of `tune`.
const ALPHA: f64 = 0.05;
const SAME_BAND: f64 = 0.02;

/// What the logarithms of the times are made of.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    /// By how much each configuration is faster, as a logarithm; the first is the baseline.
    pub(crate) gains: Vec<f64>,
    /// Standard deviation of one run of each.
    pub(crate) noise: Vec<f64>,
    /// Standard deviation of a drift of the machine that keeps 95 % of itself from run to run.
    pub(crate) drift: f64,
    /// How often a run takes three times as long, for each.
    pub(crate) slow_runs: Vec<f64>,
    /// By how much a run is slower after a run of the last configuration.
    pub(crate) carry_over: f64,
    /// After these a session ends.
    pub(crate) most_blocks: u32,
}

impl Scenario {
    /// Gains with the same noise in all, and nothing else.
    pub(crate) fn new(gains: &[f64], noise: f64, most_blocks: u32) -> Scenario {
        let configurations = gains.len();
        Scenario {
            gains: gains.iter().map(|gain| gain.ln_1p()).collect(),
            noise: vec![noise; configurations],
            drift: 0.0,
            slow_runs: vec![0.0; configurations],
            carry_over: 0.0,
            most_blocks,
        }
    }

    /// The true logarithm of the ratio of geometric means.
    fn truth(&self, configuration: usize) -> f64 {
        let slowed = |index: usize| self.slow_runs[index] * 3f64.ln();
        self.gains[configuration] - self.gains[0] - slowed(configuration) + slowed(0)
    }

    /// One session; what was decided about each alternative.
    fn session(&self, random: &mut Random) -> Vec<Option<Decision>> {
        let configurations = self.gains.len();
        let mut decider = Decider::new(configurations - 1, ALPHA, SAME_BAND);
        let mut blocks = Vec::new();
        let (mut drift, mut previous) = (self.drift * random.normal(), 0);
        while blocks.len() < self.most_blocks as usize && decider.decisions().contains(&None) {
            let mut order: Vec<usize> = (0..configurations)
                .filter(|&index| index == 0 || decider.decisions()[index - 1].is_none())
                .collect();
            for last in (1..order.len()).rev() {
                order.swap(last, (random.uniform() * (last + 1) as f64) as usize);
            }
            let mut block = vec![None; configurations];
            for index in order {
                drift = 0.95 * drift + self.drift * (1.0 - 0.95f64 * 0.95).sqrt() * random.normal();
                let slow = if random.uniform() < self.slow_runs[index] { 3f64.ln() } else { 0.0 };
                let carried = if previous == configurations - 1 { self.carry_over } else { 0.0 };
                let noise = self.noise[index] * random.normal();
                block[index] = Some(noise + drift + slow + carried - self.gains[index]);
                previous = index;
            }
            blocks.push(block);
            decider.look(&blocks);
        }
        decider.decisions().to_vec()
    }

    /// Many sessions, each with draws of its own.
    pub(crate) fn operate(&self, sessions: u32, seed: u64) -> Rates {
        let alternatives = 1..self.gains.len();
        let (mut false_sessions, mut missed, mut decided) = (0, 0, 0);
        // Those about the first alternative, whose gain a row is about.
        let mut first: Vec<Decision> = Vec::new();
        for session in 0..sessions {
            let decisions = self.session(&mut Random::new(seed, u64::from(session)));
            let wrong = |index: usize| {
                let truth = self.truth(index);
                decisions[index - 1].is_some_and(|decision| match decision.verdict {
                    Verdict::Same => truth.abs() > SAME_BAND.ln_1p(),
                    Verdict::Faster => truth <= 0.0,
                    Verdict::Slower => truth >= 0.0,
                })
            };
            false_sessions += u32::from(alternatives.clone().any(wrong));
            for (index, decision) in alternatives.clone().zip(&decisions) {
                let Some(decision) = decision else { continue };
                let off = (decision.contrast.log_ratio - self.truth(index)).abs();
                missed +=
                    u32::from(decision.contrast.half_width(ALPHA).is_none_or(|half_width| off > half_width));
                decided += 1;
            }
            first.extend(decisions[0]);
        }
        first.sort_unstable_by_key(|decision| decision.blocks);
        let share = |count: u32, of: u32| f64::from(count) / f64::from(of.max(1));
        let called = |verdict: Verdict| {
            share(first.iter().filter(|decision| decision.verdict == verdict).count() as u32, sessions)
        };
        Rates {
            false_verdicts: share(false_sessions, sessions),
            faster: called(Verdict::Faster),
            slower: called(Verdict::Slower),
            same: called(Verdict::Same),
            median_blocks: first.get(first.len() / 2).map(|decision| decision.blocks),
            coverage: 1.0 - share(missed, decided),
        }
    }
}

/// What became of many sessions, as shares of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rates {
    /// Sessions with a false verdict about any alternative.
    pub(crate) false_verdicts: f64,
    /// Those that called the first alternative faster.
    pub(crate) faster: f64,
    /// Slower.
    pub(crate) slower: f64,
    /// The same.
    pub(crate) same: f64,
    /// Blocks until it was decided, where it was.
    pub(crate) median_blocks: Option<u32>,
    /// Of the decided alternatives of all sessions, those whose interval holds the truth at the time of the decision.
    pub(crate) coverage: f64,
}
