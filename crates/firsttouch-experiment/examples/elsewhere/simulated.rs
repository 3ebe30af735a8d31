//! Simulated values, measured elsewhere: one configuration after the other, and in several sessions.

use crate::random::Random;
use firsttouch_experiment::statistics::forecast::{Question, sessions_to_decide};
use firsttouch_experiment::statistics::sessions::Sessions;
use firsttouch_experiment::statistics::unpaired::unpaired_contrasts;
use firsttouch_experiment::{
    Comparison, ComparisonRules, Decider, MeasuredConfiguration, MeasuredRun, MeasuredSession, Verdict,
    compare,
};

/// The risk and the band of `report --decide`.
const ALPHA: f64 = 0.05;
const SAME_BAND: f64 = 0.02;

/// Two configurations, in sessions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scenario {
    /// By how much the second is faster, as a logarithm.
    pub(crate) gain: f64,
    /// How many sessions.
    pub(crate) sessions: usize,
    /// How many runs the baseline and the other have in each; every other session has this many times fewer.
    pub(crate) runs: [usize; 2],
    pub(crate) fewer: usize,
    /// Standard deviation of one run of each.
    pub(crate) noise: [f64; 2],
    /// Standard deviation of what a session adds to the gain.
    pub(crate) between: f64,
}

/// What became of many simulations, as shares of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rates {
    /// A false verdict.
    pub(crate) wrong: f64,
    /// A verdict of any kind.
    pub(crate) decided: f64,
    /// Intervals that hold the truth; one that is not there excludes nothing.
    pub(crate) coverage: f64,
    /// Intervals for the next session that hold what it found.
    pub(crate) next: f64,
    /// The median of how much of the variance lies between sessions.
    pub(crate) share: f64,
}

impl Scenario {
    /// Ten runs of each in every session, which add nothing.
    pub(crate) fn new(gain: f64, sessions: usize) -> Scenario {
        let noise = 0.03;
        Scenario { gain, sessions, runs: [10; 2], fewer: 1, noise: [noise; 2], between: 0.0 }
    }

    fn measure(&self, random: &mut Random, number: usize) -> MeasuredSession {
        let fewer = if number % 2 == 1 { self.fewer } else { 1 };
        let gain = self.gain + self.between * random.normal();
        let mut configuration = |which: usize| MeasuredConfiguration {
            name: ["old", "new"][which].to_owned(),
            runs: (0..self.runs[which] / fewer)
                .map(|_| MeasuredRun {
                    value: (self.noise[which] * random.normal() - which as f64 * gain).exp(),
                    ..MeasuredRun::default()
                })
                .collect(),
        };
        let configurations = vec![configuration(0), configuration(1)];
        MeasuredSession { name: number.to_string(), configurations }
    }

    fn is_wrong(&self, verdict: Option<Verdict>) -> bool {
        match verdict {
            None => false,
            Some(Verdict::Same) => self.gain.abs() > SAME_BAND.ln_1p(),
            Some(Verdict::Faster) => self.gain <= 0.0,
            Some(Verdict::Slower) => self.gain >= 0.0,
        }
    }

    /// What many times so many sessions say together.
    pub(crate) fn together(&self, times: u32, seed: u64) -> Rates {
        let (mut wrong, mut decided, mut covered, mut next) = (0, 0, 0, 0);
        let mut shares = Vec::new();
        for time in 0..times {
            let mut random = Random::new(seed, u64::from(time));
            let sessions: Vec<_> =
                (0..self.sessions).map(|number| self.measure(&mut random, number)).collect();
            let comparison = decide(&sessions);
            let together = &comparison.across[0];
            wrong += u32::from(self.is_wrong(together.verdict));
            decided += u32::from(together.verdict.is_some());
            let truth = self.gain.exp();
            covered += u32::from(together.ratio.low <= truth && truth <= together.ratio.high);
            let found = mean_of(&self.measure(&mut random, 0));
            next += u32::from(together.next_session.low <= found && found <= together.next_session.high);
            shares.extend(together.between_share);
        }
        shares.sort_by(f64::total_cmp);
        let share = |count: u32| f64::from(count) / f64::from(times);
        Rates {
            wrong: share(wrong),
            decided: share(decided),
            coverage: share(covered),
            next: share(next),
            share: shares.get(shares.len() / 2).copied().unwrap_or(0.0),
        }
    }

    /// How often there is ever a false difference when somebody looks after each session from the second on: by the interval, and by the
    /// e-value.
    pub(crate) fn looked_at(&self, times: u32, seed: u64) -> [f64; 2] {
        let mut wrong = [0, 0];
        for time in 0..times {
            let found = self.log_ratios(&mut Random::new(seed, u64::from(time)), self.sessions);
            let looks = (2..=self.sessions).filter_map(|count| Sessions::of(&found[..count]));
            let mut ever = [false, false];
            for sessions in looks {
                ever[0] |= sessions.p() < ALPHA;
                ever[1] |= sessions.contrast().log_e() >= -ALPHA.ln();
            }
            wrong.iter_mut().zip(ever).for_each(|(wrong, ever)| *wrong += u32::from(ever));
        }
        wrong.map(|wrong| f64::from(wrong) / f64::from(times))
    }

    /// How often a forecast of sessions comes true, and how many there are: of what is undecided after so many sessions.
    pub(crate) fn forecasts(&self, times: u32, seed: u64, most: u32) -> (f64, u32) {
        let question = Question { alpha: ALPHA, same_band: SAME_BAND };
        let is_decided = |sessions: &Sessions| {
            let (one_sided, half_width) = (sessions.half_width(2.0 * ALPHA), sessions.half_width(ALPHA));
            sessions.log_ratio.abs() > half_width || sessions.log_ratio.abs() + one_sided <= SAME_BAND.ln_1p()
        };
        let (mut forecasts, mut right) = (0, 0);
        for time in 0..times {
            let mut random = Random::new(seed, u64::from(time));
            let mut found = self.log_ratios(&mut random, self.sessions);
            let Some(sessions) = Sessions::of(&found).filter(|sessions| !is_decided(sessions)) else {
                continue;
            };
            let Some(all) = sessions_to_decide(&sessions, &question) else { continue };
            if all <= sessions.sessions + most {
                found.extend(self.log_ratios(&mut random, all as usize - found.len()));
                forecasts += 1;
                right += u32::from(Sessions::of(&found).is_some_and(|sessions| is_decided(&sessions)));
            }
        }
        (f64::from(right) / f64::from(forecasts.max(1)), forecasts)
    }

    fn log_ratios(&self, random: &mut Random, sessions: usize) -> Vec<f64> {
        (0..sessions).map(|number| mean_of(&self.measure(random, number)).ln()).collect()
    }

    /// One session without blocks, looked at after every run from the second on, until there are [`Scenario::runs`] of them (the
    /// one that has fewer grows in proportion): how often there is ever a false verdict, and how often the interval ever misses the truth.
    pub(crate) fn unpaired(&self, times: u32, seed: u64) -> [f64; 2] {
        let mut wrong = [0, 0];
        for time in 0..times {
            let whole = self.measure(&mut Random::new(seed, u64::from(time)), 0);
            let longest = self.runs[0].max(self.runs[1]);
            let mut ever = [false, false];
            for length in 2..=longest {
                let part = whole.configurations.iter().zip(self.runs).map(|(configuration, all)| {
                    let runs = configuration.runs.iter().take((length * all / longest).max(2));
                    runs.map(|run| run.value.ln()).collect()
                });
                let contrasts = unpaired_contrasts(&part.collect::<Vec<Vec<f64>>>(), 0);
                let mut decider = Decider::new(1, ALPHA, SAME_BAND);
                decider.judge(&contrasts[1..], length as u32);
                ever[0] |= self.is_wrong(decider.decisions()[0].map(|decision| decision.verdict));
                ever[1] |= contrasts[1].is_some_and(|contrast| {
                    let off = (contrast.log_ratio - self.gain).abs();
                    contrast.half_width(ALPHA).is_some_and(|half_width| off > half_width)
                });
            }
            wrong.iter_mut().zip(ever).for_each(|(wrong, ever)| *wrong += u32::from(ever));
        }
        wrong.map(|wrong| f64::from(wrong) / f64::from(times))
    }
}

/// The ratio that a session finds.
fn mean_of(session: &MeasuredSession) -> f64 {
    let mean = |which: usize| {
        let runs = &session.configurations[which].runs;
        runs.iter().map(|run| run.value.ln()).sum::<f64>() / runs.len() as f64
    };
    (mean(0) - mean(1)).exp()
}

fn decide(sessions: &[MeasuredSession]) -> Comparison {
    let baseline = "old".to_owned();
    let rules = ComparisonRules { baseline, metric: None, higher_is_better: false, same_band: SAME_BAND };
    compare(sessions, rules)
}
