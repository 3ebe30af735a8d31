//! One configuration against another in a layout of blocks, looked at as often as one likes.
//!
//! The logarithms of what was measured are a two-way layout: a block (when it was) plus a configuration (what it was) plus
//! noise. The noise is pooled over the whole layout, so that few blocks of many configurations tell as much as many blocks of two.
//!
//! A t test may be read once. Who reads it after every block and stops when it pleases is wrong far more often than one time in
//! twenty. The *e-value* here may be read after every block: if there is no difference, the probability that it **ever** reaches 20 is
//! at most 5 % (J. Ville 1939). It is the likelihood ratio of the t statistic between no difference and differences drawn from a
//! normal distribution, in units of the noise (a normal mixture). That this ratio stays valid although neither the noise nor the speeds of
//! the blocks are known is shown for groups of transformations by M. Pérez-Ortiz, T. Lardy, R. de Heide and P. Grünwald,
//! "E-statistics, group invariance and anytime-valid testing", *Annals of Statistics* 52 (2024); for linear models see M. Lindon,
//! D. Ham, M. Tingley and I. Bojinov, "Anytime-valid linear models and regression adjusted causal inference in randomized
//! experiments" (2022); for the intervals, S. Howard, A. Ramdas, J. McAuliffe and J. Sekhon, "Time-uniform, nonparametric,
//! nonasymptotic confidence sequences", *Annals of Statistics* 49 (2021).

use super::sample::{mean, standard_deviation};
use std::collections::BTreeMap;

/// The differences that the mixture expects have this many standard deviations of a single run. Of larger ones fewer blocks
/// tell; of smaller ones more than a mixture of their own size would need.
const EXPECTED_EFFECT: f64 = 1.0;

/// Natural logarithms of e-values are cut off here, where nobody doubts any more, so that sums of them stay finite.
const LARGEST_LOG_E: f64 = 600.0;

/// A block: the logarithm of what was measured of each configuration, or `None` where one did not run.
pub type Block = Vec<Option<f64>>;

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
        let shrunk = self.shrinkage();
        let surprise = if self.log_ratio == 0.0 {
            0.0
        } else {
            (self.log_ratio / self.standard_error).powi(2) / self.freedom
        };
        let ratio = if surprise.is_finite() { (1.0 + shrunk * surprise) / (1.0 + surprise) } else { shrunk };
        (0.5 * shrunk.ln() - 0.5 * (self.freedom + 1.0) * ratio.ln()).min(LARGEST_LOG_E)
    }

    /// Half the width of the interval that, over all looks together, ever misses with a probability of at most `alpha`: what
    /// lies inside has an e-value below 1/`alpha`. `None` while nothing can be excluded.
    pub fn half_width(&self, alpha: f64) -> Option<f64> {
        let shrunk = self.shrinkage();
        let factor = (2.0 * (-alpha.ln() - 0.5 * shrunk.ln()) / (self.freedom + 1.0)).exp();
        let room = 1.0 - factor * shrunk;
        (room > 0.0).then(|| (self.freedom * (factor - 1.0).max(0.0) / room).sqrt() * self.standard_error)
    }

    /// How much of a squared t statistic is left when the mixture's own variance is added to that of the mean.
    fn shrinkage(&self) -> f64 {
        // A difference of two runs has twice the variance of one.
        let precision = 0.5 * f64::from(self.blocks) * EXPECTED_EFFECT.powi(2);
        1.0 / (1.0 + precision)
    }
}

/// Every configuration against the reference, in the order of the blocks' entries; `None` for the reference itself, and where
/// fewer than two blocks have both.
///
/// **The guard of the pooling.** Pooled noise is right where all configurations are equally noisy. One that is noisier than the others
/// would look more certain than it is. So its own noise (of its differences to the reference) takes the place of the pooled one where it is the
/// larger. That only ever lowers an e-value: with equal noise the guarantee stays what it was. With unequal noise it is
/// no theorem any more; the example `operating` shows the rates.
pub fn contrasts(blocks: &[Block], reference: usize) -> Vec<Option<Contrast>> {
    let configurations = blocks.iter().map(Vec::len).max().unwrap_or(0);
    let (pooled, freedom) = pooled_variance(blocks);
    let contrast = |configuration: usize| {
        let at = |block: &Block, index: usize| block.get(index).copied().flatten();
        let differences: Vec<f64> = blocks
            .iter()
            .filter_map(|block| Some(at(block, reference)? - at(block, configuration)?))
            .collect();
        let own = standard_deviation(&differences)?.powi(2);
        let count = differences.len() as f64;
        let (variance, freedom) =
            if freedom > count - 1.0 { ((2.0 * pooled).max(own), freedom) } else { (own, count - 1.0) };
        Some(Contrast {
            log_ratio: mean(&differences)?,
            standard_error: (variance / count).sqrt(),
            freedom,
            blocks: differences.len() as u32,
        })
    };
    (0..configurations).map(|index| contrast(index).filter(|_| index != reference)).collect()
}

/// The variance of one run about its block and its configuration, and its degrees of freedom. Blocks of the same configurations
/// are a layout of their own: where one has left, the residuals of before and after are added up, and nothing has to be
/// estimated across.
fn pooled_variance(blocks: &[Block]) -> (f64, f64) {
    let mut layouts: BTreeMap<Vec<usize>, Vec<Vec<f64>>> = BTreeMap::new();
    for block in blocks {
        let (present, values) =
            block.iter().enumerate().filter_map(|(index, value)| Some((index, (*value)?))).unzip();
        layouts.entry(present).or_default().push(values);
    }
    let (mut squares, mut freedom) = (0.0, 0.0);
    for rows in layouts.values() {
        let (height, width) = (rows.len(), rows[0].len());
        if height < 2 || width < 2 {
            continue;
        }
        let row_means: Vec<f64> = rows.iter().filter_map(|row| mean(row)).collect();
        let grand = mean(&row_means).unwrap_or(0.0);
        for column in 0..width {
            let column_mean = rows.iter().map(|row| row[column]).sum::<f64>() / height as f64;
            squares += rows
                .iter()
                .zip(&row_means)
                .map(|(row, row_mean)| (row[column] - row_mean - column_mean + grand).powi(2))
                .sum::<f64>();
        }
        freedom += ((height - 1) * (width - 1)) as f64;
    }
    (if freedom > 0.0 { squares / freedom } else { 0.0 }, freedom)
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
            for (freedom, blocks) in [(9.0, 10), (30.0, 4), (200.0, 201)] {
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
        assert_eq!((quiet.freedom, noisy.freedom), (9.0, 9.0));
        let own = standard_deviation(&[-0.5, 0.51, -0.5, 0.51]).unwrap() / 2.0;
        assert!((noisy.standard_error - own).abs() < 1e-12);
        assert!(quiet.standard_error < noisy.standard_error);
        assert!(quiet.standard_error > 0.01, "the pooled noise is more than its own");
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
