//! The rule that decides, block by block, which configurations differ from the baseline and which do not.

use crate::Verdict;
use crate::statistics::closure::weighed_log_e;
use crate::statistics::contrast::{Contrast, contrasts};
use crate::statistics::layout::Block;

/// What is decided about a configuration, by all of its blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Faster, slower or the same.
    pub verdict: Verdict,
    /// Blocks that had been run when this was decided; it has held since.
    pub blocks: u32,
    /// What its blocks say, those since then included.
    pub contrast: Contrast,
    /// Natural logarithm of the e-value against no difference, with all alternatives counted.
    pub log_e: f64,
}

/// Looks at the blocks after each of them. A configuration that is decided may leave: what was decided about it stands. Of one that goes on
/// all blocks are judged, those since the decision too, so that verdict and interval are of the same blocks.
///
/// *Different* (faster or slower): the e-value against no difference, with all alternatives counted, reaches 1/`alpha`. *The same*: the interval
/// lies within `same_band`; each of its ends is a test of its own (two one-sided tests, D. Schuirmann 1987) at `alpha`, shared among all
/// alternatives that were not called the same before (Holm). With normal noise that is the same in
/// all, the probability of calling any alternative different that is not is at most `alpha` over the whole session, and so is that of
/// calling any the same that is further away than `same_band`. That is so of the verdicts that ever stood, hence of those that stand at the
/// end. How far other noise is from that the example `operating` shows. Alternatives may weigh differently in both: what weighs little is
/// asked more, and the others less.
#[derive(Clone, Debug)]
pub struct Decider {
    alpha: f64,
    same_band: f64,
    weights: Vec<f64>,
    decisions: Vec<Option<Decision>>,
}

impl Decider {
    /// A rule for this many alternatives to the baseline.
    pub fn new(alternatives: usize, alpha: f64, same_band: f64) -> Decider {
        Decider::weighing(vec![1.0; alternatives], alpha, same_band)
    }

    /// The same with a weight for each, positive numbers, which nothing that will be looked at may have decided.
    pub(crate) fn weighing(weights: Vec<f64>, alpha: f64, same_band: f64) -> Decider {
        Decider { alpha, same_band, decisions: vec![None; weights.len()], weights }
    }

    /// An alternative's share of the risk among itself and all about which this answers true.
    pub(crate) fn share(&self, alternative: usize, counts: impl Fn(&Option<Decision>) -> bool) -> f64 {
        let all = self.decisions.iter().zip(&self.weights).enumerate();
        let counted = all.filter(|(at, (decision, _))| *at == alternative || counts(decision));
        self.weights[alternative] / counted.map(|(_, (_, weight))| weight).sum::<f64>()
    }

    /// What is decided about each alternative, in the order of the blocks' entries after the baseline's.
    pub fn decisions(&self) -> &[Option<Decision>] {
        &self.decisions
    }

    /// Looks at all blocks so far: in each, the baseline's entry is the first. Entries of alternatives that have left are missing.
    pub fn look(&mut self, blocks: &[Block]) {
        let now: Vec<Option<Contrast>> = contrasts(blocks, 0).into_iter().skip(1).collect();
        self.judge(&now, blocks.len() as u32);
    }

    /// Looks at what is known of each alternative after so many blocks; those that are missing at the end are not known.
    pub fn judge(&mut self, now: &[Option<Contrast>], blocks: u32) {
        let now = now.iter().copied().chain(std::iter::repeat(None));
        let seen: Vec<Option<Contrast>> = self
            .decisions
            .iter()
            .zip(now)
            .map(|(decision, now)| {
                let decided = decision.map(|decision| decision.contrast);
                // One that left has no further blocks.
                now.filter(|now| decided.is_none_or(|decided| decided.blocks < now.blocks)).or(decided)
            })
            .collect();
        // An alternative of which nothing is known yet counts as one without evidence.
        let log_e: Vec<f64> =
            seen.iter().map(|contrast| contrast.as_ref().map_or(0.0, Contrast::log_e)).collect();
        let adjusted = weighed_log_e(&log_e, &self.weights);
        let may_differ = |decision: &Option<Decision>| decision.is_none_or(|it| it.verdict != Verdict::Same);
        let shares: Vec<f64> = (0..self.decisions.len()).map(|at| self.share(at, may_differ)).collect();
        let asked = self.decisions.iter_mut().zip(seen).zip(adjusted).zip(shares);
        for (((decision, contrast), adjusted), share) in asked {
            let goes_on =
                |contrast: &Contrast| decision.is_none_or(|it| it.contrast.blocks < contrast.blocks);
            let Some(contrast) = contrast.filter(goes_on) else { continue };
            // One-sided tests can be narrower than an interval that nothing limits yet; what is decided has an interval to show.
            let has_interval = contrast.has_interval(self.alpha);
            let verdict = if has_interval && is_within(&contrast, self.same_band, self.alpha * share) {
                Some(Verdict::Same)
            } else if adjusted < -self.alpha.ln() {
                None
            } else if contrast.log_ratio > 0.0 {
                Some(Verdict::Faster)
            } else {
                Some(Verdict::Slower)
            };
            let before = decision.take();
            *decision = verdict.map(|verdict| {
                let held = before.filter(|before| before.verdict == verdict);
                let blocks = held.map_or(blocks, |before| before.blocks);
                Decision { verdict, blocks, contrast, log_e: adjusted }
            });
        }
    }
}

/// Whether both one-sided tests exclude ratios outside the band.
fn is_within(contrast: &Contrast, same_band: f64, alpha: f64) -> bool {
    let ends = [(-same_band).ln_1p(), same_band.ln_1p()];
    (ends[0]..=ends[1]).contains(&contrast.log_ratio)
        && ends.iter().all(|&end| contrast.excludes(end, (2.0 * alpha).min(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise of one percent without chance, which has the same mean for all over five blocks.
    fn block(number: usize, times: &[f64]) -> Block {
        let wobble = |index: usize| 0.01 * ((index + 1) * number % 5) as f64;
        times.iter().enumerate().map(|(index, time)| Some(time.ln() + wobble(index))).collect()
    }

    fn decide(times: &[f64], blocks: usize) -> Decider {
        let mut decider = Decider::new(times.len() - 1, 0.05, 0.02);
        let mut seen = Vec::new();
        for number in 0..blocks {
            let mut block = block(number, times);
            for (entry, decision) in block[1..].iter_mut().zip(decider.decisions()) {
                *entry = entry.filter(|_| decision.is_none());
            }
            seen.push(block);
            decider.look(&seen);
        }
        decider
    }

    fn verdicts(decider: &Decider) -> Vec<Option<Verdict>> {
        decider.decisions().iter().map(|decision| decision.map(|decision| decision.verdict)).collect()
    }

    #[test]
    fn gains_losses_and_nothing_are_told_apart() {
        let decider = decide(&[1.0, 0.7, 1.3, 1.0], 60);
        assert_eq!(verdicts(&decider), [Some(Verdict::Faster), Some(Verdict::Slower), Some(Verdict::Same)]);
        let blocks: Vec<u32> = decider.decisions().iter().map(|decision| decision.unwrap().blocks).collect();
        assert!(blocks[0] <= 5 && blocks[1] <= 5 && blocks[2] > 5, "{blocks:?}");
        let ratio = decider.decisions()[0].unwrap().contrast.log_ratio.exp();
        assert!((ratio - 1.0 / 0.7).abs() < 0.05, "{ratio}");
    }

    #[test]
    fn few_blocks_decide_nothing() {
        assert_eq!(verdicts(&decide(&[1.0, 0.5], 1)), [None]);
        assert_eq!(verdicts(&decide(&[1.0, 0.99], 3)), [None]);
        assert_eq!(verdicts(&decide(&[1.0], 3)), []);
    }

    #[test]
    fn a_certain_difference_too_small_to_matter_is_the_same() {
        assert_eq!(verdicts(&decide(&[1.0, 0.994], 200)), [Some(Verdict::Same)]);
    }

    #[test]
    fn what_is_decided_has_an_interval() {
        // Two quiet ones that differ by nothing: the one-sided tests would be passed after four blocks, of which the interval of
        // 98.75 % is still without end.
        let noise = |number: usize, index: usize| 1e-4 * ((index + 2) * (number + 1) % 5) as f64;
        let mut decider = Decider::new(1, 0.0125, 0.02);
        let mut blocks = Vec::new();
        while decider.decisions()[0].is_none() {
            let number = blocks.len();
            blocks.push(vec![Some(noise(number, 0)), Some(noise(number, 1))]);
            decider.look(&blocks);
        }
        let decision = decider.decisions()[0].unwrap();
        assert_eq!((decision.verdict, decision.blocks), (Verdict::Same, 5));
        assert!(decision.contrast.half_width(0.0125).is_some());
        assert!(is_within(&contrasts(&blocks[..4], 0)[1].unwrap(), 0.02, 0.0125));
    }

    #[test]
    fn a_decision_stands_where_its_configuration_left() {
        let mut blocks: Vec<Block> = (0..8).map(|number| block(number, &[1.0, 0.7, 1.0])).collect();
        let mut decider = Decider::new(2, 0.05, 0.02);
        decider.look(&blocks);
        let before = decider.decisions()[0];
        assert_eq!(before.map(|before| before.verdict), Some(Verdict::Faster));
        // The noise of what comes after is not its own.
        blocks.extend((8..30).map(|number| {
            let noise = 0.5 * (number % 3) as f64;
            vec![Some(noise), None, Some(-noise)]
        }));
        (9..=blocks.len()).for_each(|seen| decider.look(&blocks[..seen]));
        assert_eq!(decider.decisions()[0], before);
    }

    #[test]
    fn a_verdict_is_that_of_all_blocks() {
        let mut blocks: Vec<Block> = (0..6).map(|number| block(number, &[1.0, 0.9])).collect();
        let mut decider = Decider::new(1, 0.05, 0.02);
        let mut since = None;
        for number in 6..80 {
            decider.look(&blocks);
            let verdict = verdicts(&decider)[0];
            if since.is_none_or(|(before, _)| before != verdict) {
                since = Some((verdict, blocks.len() as u32));
            }
            blocks.push(block(number, &[1.0, 1.12]));
        }
        let decision = decider.decisions()[0].unwrap();
        assert_eq!(since, Some((Some(Verdict::Slower), decision.blocks)), "faster, then open, then slower");
        assert_eq!(Some(decision.contrast), contrasts(&blocks[..79], 0)[1]);
        let half_width = decision.contrast.half_width(0.05).unwrap();
        assert!(decision.contrast.log_ratio + half_width < 0.0);
    }

    #[test]
    fn what_is_the_same_goes_on_being_asked_for_its_own_share() {
        let mut decider = Decider::new(1, 0.05, 0.02);
        let quiet: Vec<Block> = (0..60).map(|number| block(number, &[1.0, 1.0])).collect();
        decider.look(&quiet);
        assert_eq!(verdicts(&decider), [Some(Verdict::Same)]);
        let noise = |number: usize| if number.is_multiple_of(2) { 0.2 } else { -0.2 };
        let loud = (0..8).map(|number| vec![Some(noise(number)), Some(-noise(number))]);
        decider.look(&quiet.iter().cloned().chain(loud).collect::<Vec<Block>>());
        assert_eq!(verdicts(&decider), [None]);
    }
}
