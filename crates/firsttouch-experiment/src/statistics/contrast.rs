//! One configuration against another in a layout of blocks, looked at as often as one likes.
//!
//! The logarithms of what was measured are a two-way layout: a block (when it was) plus a configuration (what it was) plus
//! noise. The noise is pooled over the whole layout, so that few blocks of many configurations tell as much as many blocks of two.
//!
//! A t test may be read once. Who reads it after every block and stops when it pleases is wrong far more often than one time in
//! twenty. The *e-value* here may be read after every block: if there is no difference, the probability that it **ever** reaches 20 is
//! at most 5 % (J. Ville 1939). It is the likelihood ratio of the t statistic between no difference and differences drawn from one of two
//! normal distributions, in units of the noise (a normal mixture). That this ratio stays valid although neither the noise nor the speeds of
//! the blocks are known is shown for groups of transformations by M. Pérez-Ortiz, T. Lardy, R. de Heide and P. Grünwald,
//! "E-statistics, group invariance and anytime-valid testing", *Annals of Statistics* 52 (2024); for linear models see M. Lindon,
//! D. Ham, M. Tingley and I. Bojinov, "Anytime-valid linear models and regression adjusted causal inference in randomized
//! experiments" (2022); for the intervals, S. Howard, A. Ramdas, J. McAuliffe and J. Sekhon, "Time-uniform, nonparametric,
//! nonasymptotic confidence sequences", *Annals of Statistics* 49 (2021).

use super::layout::{Block, Layout, layouts};
use super::sample::{mean, standard_deviation};
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

/// The differences that are expected have so many standard deviations of a single run, in this share of all cases (a mixture of two
/// mixtures). Of larger ones fewer blocks tell, of smaller ones more than a mixture of their own size would need. The second is for
/// what is seen at a glance: without it two configurations need six blocks, however far apart they are.
const EXPECTED: [Expected; 2] = [Expected { effect: 1.0, share: 0.7 }, Expected { effect: 4.0, share: 0.3 }];

#[derive(Clone, Copy, Debug)]
struct Expected {
    effect: f64,
    share: f64,
}

/// From this level of the F tests on, noise that looks larger than the pooled one is taken for chance. Found by simulation: a baseline with
/// five times the noise of seven others then leads to four false verdicts in a hundred sessions, and 25 % at 3 % noise are still
/// decided after three blocks.
const TRUSTED_FROM: f64 = 0.7;

/// Natural logarithms of e-values are cut off here, where nobody doubts any more, so that sums of them stay finite.
const LARGEST_LOG_E: f64 = 600.0;

/// What the blocks say of one configuration against the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// Logarithm of how many times less was measured than of the reference, as a mean over the blocks with both.
    pub log_ratio: f64,
    /// The standard error of that.
    pub standard_error: f64,
    /// Degrees of freedom that the noise is known with.
    pub freedom: f64,
    /// Blocks in which both ran.
    pub blocks: u32,
}

impl Contrast {
    /// Natural logarithm of the e-value against no difference.
    pub fn log_e(&self) -> f64 {
        self.log_e_of(if self.log_ratio == 0.0 { 0.0 } else { self.log_ratio / self.standard_error })
    }

    /// The same of a difference of so many standard errors.
    fn log_e_of(&self, t: f64) -> f64 {
        let [one, other] = self.parts(t);
        let (less, more) = (one.min(other), one.max(other));
        (more + (less - more).exp().ln_1p()).min(LARGEST_LOG_E)
    }

    /// The logarithms of what each of the two mixtures adds to the e-value.
    fn parts(&self, t: f64) -> [f64; 2] {
        let surprise = t.powi(2) / self.freedom;
        EXPECTED.map(|expected| {
            let shrunk = self.shrinkage(expected.effect);
            let ratio =
                if surprise.is_finite() { (1.0 + shrunk * surprise) / (1.0 + surprise) } else { shrunk };
            expected.share.ln() + 0.5 * shrunk.ln() - 0.5 * (self.freedom + 1.0) * ratio.ln()
        })
    }

    /// How fast the logarithm of the e-value grows with the number of standard errors.
    fn slope(&self, t: f64) -> f64 {
        let surprise = t.powi(2) / self.freedom;
        let slopes = EXPECTED.map(|expected| {
            let shrunk = self.shrinkage(expected.effect);
            (1.0 - shrunk) / ((1.0 + surprise) * (1.0 + shrunk * surprise))
        });
        let [one, other] = self.parts(t);
        let share = 1.0 / (1.0 + (other - one).exp());
        (self.freedom + 1.0) * t / self.freedom * (share * slopes[0] + (1.0 - share) * slopes[1])
    }

    /// Whether the e-value against this logarithm of a ratio reaches 1/`alpha`.
    pub(crate) fn excludes(&self, log_ratio: f64, alpha: f64) -> bool {
        let distance = self.log_ratio - log_ratio;
        let t = if distance == 0.0 { 0.0 } else { distance / self.standard_error };
        self.log_e_of(t) >= -alpha.ln()
    }

    /// Whether there is an interval: a difference so large that it is excluded.
    pub(crate) fn has_interval(&self, alpha: f64) -> bool {
        self.log_e_of(f64::INFINITY) >= -alpha.ln()
    }

    /// Half the width of the interval that, over all looks together, ever misses with a probability of at most `alpha`: what
    /// lies inside has an e-value below 1/`alpha`. `None` while nothing can be excluded.
    pub fn half_width(&self, alpha: f64) -> Option<f64> {
        let above = |t: f64| self.log_e_of(t) + alpha.ln();
        self.has_interval(alpha).then_some(())?;
        let (mut inside, mut outside) = (0.0, 1.0);
        while above(outside) < 0.0 {
            (inside, outside) = (outside, 2.0 * outside);
        }
        // Newton's steps, of bisection where they leave what is known: forecasts ask for thousands of intervals.
        let (mut t, mut step) = (outside, outside);
        while step.abs() > 1e-12 * t {
            let value = above(t);
            *if value < 0.0 { &mut inside } else { &mut outside } = t;
            let next = t - value / self.slope(t);
            let next = if (inside..=outside).contains(&next) { next } else { 0.5 * (inside + outside) };
            (t, step) = (next, next - t);
        }
        Some(t * self.standard_error)
    }

    /// How much of a squared t statistic is left when the variance of the differences that are expected is added to that of the mean.
    fn shrinkage(&self, effect: f64) -> f64 {
        // A difference of two runs has twice the variance of one.
        let precision = 0.5 * f64::from(self.blocks) * effect.powi(2);
        1.0 / (1.0 + precision)
    }
}

/// Every configuration against the reference, in the order of the blocks' entries; `None` for the reference itself, and where
/// fewer than two blocks have both.
///
/// **The guard of the pooling.** Pooled noise is right where all configurations are equally noisy. One that is noisier than the others
/// would look more certain than it is. So its own noise (of its differences to the reference) takes the place of the pooled one where
/// it is the larger, and so does the noise of the reference plus that of an average other one; and the more it, or the reference, looks noisier than chance makes one of equals (two F tests), the fewer degrees of freedom
/// the noise is known with: from those of the pooled noise down to those of its own. Both only ever lower an e-value: with equal noise the
/// guarantee stays what it was. With unequal noise it is no theorem any more; the example `operating` shows the rates.
pub fn contrasts(blocks: &[Block], reference: usize) -> Vec<Option<Contrast>> {
    contrasts_after(&[], blocks, reference)
}

/// The same, where `earlier` blocks of these configurations, and of others in further entries, tell of the noise as well, and of nothing
/// else: means may have changed since. Residuals do not depend on means, so that who was chosen for its mean is not flattered by them.
pub fn contrasts_after(earlier: &[Block], blocks: &[Block], reference: usize) -> Vec<Option<Contrast>> {
    let configurations = blocks.iter().map(Vec::len).max().unwrap_or(0);
    let noise = Noise::of(layouts(earlier).into_iter().chain(layouts(blocks)), reference);
    let contrast = |configuration: usize| {
        let at = |block: &Block, index: usize| block.get(index).copied().flatten();
        let differences = |blocks: &[Block]| -> Vec<f64> {
            let difference = |block| Some(at(block, reference)? - at(block, configuration)?);
            blocks.iter().filter_map(difference).collect()
        };
        let (before, now) = (differences(earlier), differences(blocks));
        // One block tells of no noise, which may have grown since.
        (now.len() > 1).then_some(())?;
        let [all, since] = [&[&before[..], &now][..], &[&now]].map(own_noise);
        let all = noise.of_differences(all)?;
        let since = noise.of_differences(since).unwrap_or(all);
        let (variance, freedom) = (all.0.max(since.0), all.1.min(since.1));
        Some(Contrast {
            log_ratio: mean(&now)?,
            standard_error: (variance / now.len() as f64).sqrt(),
            freedom,
            blocks: now.len() as u32,
        })
    };
    (0..configurations).map(|index| contrast(index).filter(|_| index != reference)).collect()
}

/// What the residuals of all layouts say of the noise of one run.
#[derive(Clone, Copy, Debug)]
struct Noise {
    /// Its variance, as a mean over the configurations.
    pooled: f64,
    /// The degrees of freedom of that.
    freedom: f64,
    /// The variance of the reference plus that of an average other configuration; 0 where nobody can say.
    beside_reference: f64,
    /// How likely the reference would look as noisy as it does if it were no noisier than the others.
    reference_p: f64,
}

impl Noise {
    fn of(all: impl Iterator<Item = Layout>, reference: usize) -> Noise {
        let (mut squares, mut freedom) = (0.0, 0.0);
        // The reference against the mean of the others has the variance s² + o²/(k − 1), with s² its own and o² the mean of the
        // others' variances; the pooled one is (s² + (k − 1) o²)/k. Solved for s², and added up over the layouts. Of two
        // configurations nobody can say which is noisier.
        let (mut apart, mut apart_freedom, mut weight, mut share, mut width) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for layout in all {
            let (height, count) = (layout.residuals.len() as f64 - 1.0, layout.present.len() as f64);
            squares += layout.residuals.iter().flatten().map(|residual| residual * residual).sum::<f64>();
            freedom += height * (count - 1.0);
            let Some(column) = layout.present.iter().position(|&entry| entry == reference) else { continue };
            if count > 2.0 {
                let own = layout.residuals.iter().map(|row| row[column] * row[column]).sum::<f64>();
                apart += own * (count / (count - 1.0)).powi(2);
                apart_freedom += height;
                weight += height * (1.0 - (count - 1.0).powi(-2));
                share += height * count * (count - 1.0).powi(-2);
                width += height * count;
            }
        }
        let pooled = if freedom > 0.0 { squares / freedom } else { 0.0 };
        if apart_freedom == 0.0 {
            return Noise { pooled, freedom, beside_reference: 0.0, reference_p: 1.0 };
        }
        let own = ((apart - share * pooled) / weight).max(0.0);
        let count = width / apart_freedom;
        let others = ((count * pooled - own) / (count - 1.0)).max(0.0);
        let reference_p = exceeds(own / others, apart_freedom, freedom - apart_freedom);
        Noise { pooled, freedom, beside_reference: own + others, reference_p }
    }

    /// The variance of a difference to the reference, and its degrees of freedom, from its own squares and theirs; `None` where these are
    /// none.
    fn of_differences(&self, (squares, own_freedom): (f64, f64)) -> Option<(f64, f64)> {
        let own = (own_freedom > 0.0).then(|| squares / own_freedom)?;
        if self.freedom <= own_freedom {
            return Some((own, own_freedom));
        }
        let p = exceeds(own / (2.0 * self.pooled), own_freedom, self.freedom - own_freedom);
        // Of two blocks nobody can say whose noise it is.
        let trust = if own_freedom < 2.0 { 0.0 } else { (p.min(self.reference_p) / TRUSTED_FROM).min(1.0) };
        Some((
            (2.0 * self.pooled).max(own).max(self.beside_reference),
            own_freedom + trust * (self.freedom - own_freedom),
        ))
    }
}

/// The squares of the deviations of each part from its own mean, added up, and their degrees of freedom.
fn own_noise(parts: &[&[f64]]) -> (f64, f64) {
    let noise = |part: &&[f64]| {
        let freedom = part.len() as f64 - 1.0;
        Some((standard_deviation(part)?.powi(2) * freedom, freedom))
    };
    let add = |sum: (f64, f64), part: (f64, f64)| (sum.0 + part.0, sum.1 + part.1);
    parts.iter().filter_map(noise).fold((0.0, 0.0), add)
}

/// Probability that a ratio of variances exceeds this one if both are of the same noise: F with so many degrees of freedom. None is that of a
/// noise beside which there is nothing.
fn exceeds(ratio: f64, above: f64, below: f64) -> f64 {
    match FisherSnedecor::new(above, below.max(1.0)) {
        Ok(chance) if ratio.is_finite() => chance.sf(ratio),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use statrs::distribution::{Continuous, StudentsT};

    fn contrast(log_ratio: f64, freedom: f64, blocks: u32) -> Contrast {
        Contrast { log_ratio, standard_error: 1.0, freedom, blocks }
    }

    fn full(rows: &[&[f64]]) -> Vec<Block> {
        rows.iter().map(|row| row.iter().copied().map(Some).collect()).collect()
    }

    #[test]
    fn an_e_value_is_a_likelihood_ratio() {
        // So its mean is 1 where there is no difference: the integral over the t distribution.
        for (freedom, blocks) in [(7.0, 8), (14.0, 3), (2.0, 3)] {
            let density = StudentsT::new(0.0, 1.0, freedom).unwrap();
            let step = 0.002;
            let integral: f64 = (-2_000_000..=2_000_000)
                .map(|at| f64::from(at) * step)
                .map(|t| contrast(t, freedom, blocks).log_e().exp() * density.pdf(t) * step)
                .sum();
            assert!((integral - 1.0).abs() < 0.01, "{freedom} {integral}");
        }
    }

    #[test]
    fn the_interval_ends_where_the_e_value_is_one_over_alpha() {
        for alpha in [0.05, 0.01, 0.5] {
            for (freedom, blocks) in [(9.0, 10), (30.0, 4), (200.0, 201), (6.0, 60), (2000.0, 2)] {
                let half_width = contrast(0.0, freedom, blocks).half_width(alpha).unwrap();
                let log_e = contrast(half_width, freedom, blocks).log_e();
                assert!((log_e + alpha.ln()).abs() < 1e-9, "{alpha} {freedom}");
            }
        }
        assert_eq!(contrast(0.0, 1.0, 2).half_width(0.05), None, "two blocks of two exclude nothing");
    }

    #[test]
    fn two_configurations_are_a_paired_test() {
        // Differences 1, 2, 3: mean 2, variance 1.
        let seen = contrasts(&full(&[&[5.0, 4.0], &[9.0, 7.0], &[4.0, 1.0]]), 0);
        assert_eq!(seen[0], None);
        let seen = seen[1].unwrap();
        assert_eq!((seen.log_ratio, seen.freedom, seen.blocks), (2.0, 2.0, 3));
        assert!((seen.standard_error - (1.0f64 / 3.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn the_noise_is_pooled_but_for_those_that_are_noisier() {
        // Residuals of the layout by hand: configurations 0 to 2 agree to 0.01, the last jumps by 1.
        let rows: [&[f64]; 4] = [
            &[0.00, 0.01, 0.00, 0.5],
            &[0.01, 0.00, 0.01, -0.5],
            &[0.00, 0.00, 0.01, 0.5],
            &[0.01, 0.01, 0.00, -0.5],
        ];
        let seen = contrasts(&full(&rows), 0);
        let [quiet, noisy] = [1, 3].map(|index| seen[index].unwrap());
        assert!(quiet.freedom > 8.9 && (3.0..5.0).contains(&noisy.freedom), "{quiet:?} {noisy:?}");
        let own = standard_deviation(&[-0.5, 0.51, -0.5, 0.51]).unwrap() / 2.0;
        assert!((noisy.standard_error - own).abs() < 1e-12);
        assert!(quiet.standard_error < noisy.standard_error);
        assert!(quiet.standard_error > 0.01, "the pooled noise is more than its own");
    }

    #[test]
    fn noise_that_is_no_chance_is_known_with_less_freedom() {
        // Eight that agree to 0.01, but for one that jumps by 1.
        let wobble = |row: usize, entry: usize| 0.01 * (((row + 3) * (entry + 5)) % 3) as f64;
        let jump = |row: usize| if row.is_multiple_of(2) { 0.5 } else { -0.5 };
        let noisy = |loud: usize| -> Vec<Option<Contrast>> {
            let entry = |row, entry| wobble(row, entry) + if entry == loud { jump(row) } else { 0.0 };
            let blocks: Vec<Block> =
                (0..6).map(|row| (0..8).map(|column| Some(entry(row, column))).collect()).collect();
            contrasts(&blocks, 0)
        };
        let freedom = |contrasts: &[Option<Contrast>], index: usize| contrasts[index].unwrap().freedom;
        let alternative = noisy(7);
        assert_eq!(freedom(&alternative, 1), 35.0);
        assert!((5.0..7.0).contains(&freedom(&alternative, 7)), "{:?}", alternative[7]);
        let baseline = noisy(0);
        assert!((1..8).all(|index| (5.0..7.0).contains(&freedom(&baseline, index))), "{baseline:?}");
        let jumps: Vec<f64> = (0..6).map(jump).collect();
        let expected = standard_deviation(&jumps).unwrap() / 6f64.sqrt();
        assert!((baseline[1].unwrap().standard_error / expected - 1.0).abs() < 0.05, "{baseline:?}");
    }

    #[test]
    fn what_left_tells_by_the_blocks_it_ran_in() {
        let mut blocks = full(&[&[1.0, 0.9, 0.5], &[1.1, 1.0, 0.6], &[1.0, 0.8, 0.5], &[1.2, 1.1, 0.7]]);
        for block in &mut blocks[2..] {
            block[2] = None;
        }
        let seen = contrasts(&blocks, 0);
        assert_eq!(seen[2].unwrap().blocks, 2);
        assert!((seen[2].unwrap().log_ratio - 0.5).abs() < 1e-12);
        // Two layouts: (2 - 1)(3 - 1) and (2 - 1)(2 - 1).
        assert_eq!((seen[1].unwrap().blocks, seen[1].unwrap().freedom), (4, 3.0));
        assert!(contrasts(&blocks[3..], 0).iter().all(Option::is_none), "one block tells nothing");
        assert!(contrasts(&[], 0).is_empty());
    }

    #[test]
    fn measurements_without_any_noise_are_certain() {
        let same = contrasts(&full(&[&[1.0, 1.0], &[1.0, 1.0], &[1.0, 1.0]]), 0)[1].unwrap();
        assert!(same.log_e() < 0.0);
        let less = contrasts(&full(&[&[1.0, 0.5][..]; 9]), 0)[1].unwrap();
        assert!(less.log_e() > 20f64.ln() && less.log_e().is_finite());
        assert!(contrast(1e200, 1e6, 1_000_000).log_e() <= LARGEST_LOG_E);
    }

    fn layouts() -> impl Strategy<Value = Vec<Block>> {
        (2usize..5, 2usize..7).prop_flat_map(|(configurations, blocks)| {
            let entry = proptest::option::weighted(0.9, -1.0f64..1.0);
            proptest::collection::vec(proptest::collection::vec(entry, configurations), blocks)
        })
    }

    proptest! {
        /// Neither the unit of the measurements nor the speed of a block is known, and neither is asked for.
        #[test]
        fn units_and_the_speed_of_blocks_do_not_matter(
            blocks in layouts(), speed in proptest::collection::vec(-5.0f64..5.0, 7), unit in 0.1f64..10.0
        ) {
            let other: Vec<Block> = blocks
                .iter()
                .zip(&speed)
                .map(|(block, speed)| block.iter().map(|value| value.map(|value| unit * value + speed)).collect())
                .collect();
            for (one, other) in contrasts(&blocks, 0).into_iter().zip(contrasts(&other, 0)) {
                prop_assert_eq!(one.is_some(), other.is_some());
                let (Some(one), Some(other)) = (one, other) else { continue };
                prop_assert!((unit * one.log_ratio - other.log_ratio).abs() < 1e-9);
                prop_assert!((one.log_e() - other.log_e()).abs() < 1e-5 || one.standard_error < 1e-9);
            }
        }
    }
}
