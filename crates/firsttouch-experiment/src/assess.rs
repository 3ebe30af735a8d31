//! What the runs of a phase say so far, configuration by configuration.

use crate::history::History;
use crate::statistics::holm::holm;
use crate::statistics::ratio::{judge, more_pairs_needed, ratio_interval};
use crate::statistics::student::{MeanInterval, two_sided_p};
use crate::{Ratio, Verdict};

/// Risk of every interval and of every family of verdicts.
pub(crate) const ALPHA: f64 = 0.05;

/// The baseline's place in every plan.
pub(crate) const BASELINE: usize = 0;

/// One configuration against the baseline.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comparison {
    /// Per-block logarithms of the ratio.
    pub(crate) log_ratios: Vec<f64>,
    /// Probability of such ratios if there were no difference.
    pub(crate) p: Option<f64>,
    /// The level of its interval, by Holm's procedure.
    pub(crate) level: f64,
    /// The ratio with that interval.
    pub(crate) ratio: Option<Ratio>,
    /// What the interval says.
    pub(crate) verdict: Verdict,
    /// Blocks that would settle an undecided one.
    pub(crate) more_runs: Option<u32>,
}

/// One configuration.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Assessment {
    pub(crate) configuration: usize,
    pub(crate) runs: u32,
    pub(crate) mean: Option<MeanInterval>,
    /// `None` for the baseline.
    pub(crate) comparison: Option<Comparison>,
}

impl Assessment {
    pub(crate) fn relative_error(&self) -> Option<f64> {
        self.mean.and_then(|mean| mean.relative_error())
    }

    pub(crate) fn verdict(&self) -> Option<Verdict> {
        self.comparison.as_ref().map(|comparison| comparison.verdict)
    }

    pub(crate) fn ratio(&self) -> Option<Ratio> {
        self.comparison.as_ref().and_then(|comparison| comparison.ratio)
    }
}

/// Assesses every configuration of the phase; the Holm family is all of them but the baseline, dropped ones included.
pub(crate) fn assess(history: &History, same_band: f64) -> Vec<Assessment> {
    let alternatives: Vec<usize> =
        history.participants.iter().copied().filter(|&index| index != BASELINE).collect();
    let log_ratios: Vec<Vec<f64>> =
        alternatives.iter().map(|&index| history.log_ratios(BASELINE, index)).collect();
    let p_values: Vec<Option<f64>> = log_ratios.iter().map(|logs| two_sided_p(logs)).collect();
    let mut comparisons =
        log_ratios.into_iter().zip(p_values.iter().copied()).zip(holm(&p_values, ALPHA)).map(
            |((log_ratios, p), decision)| {
                let ratio = ratio_interval(&log_ratios, decision.level);
                let verdict = ratio.map_or(Verdict::Undecided, |ratio| judge(ratio, same_band));
                let more_runs = (verdict == Verdict::Undecided)
                    .then(|| more_pairs_needed(&log_ratios, decision.level, same_band))
                    .flatten();
                Comparison { log_ratios, p, level: decision.level, ratio, verdict, more_runs }
            },
        );
    history
        .participants
        .iter()
        .map(|&configuration| Assessment {
            configuration,
            runs: history.runs[configuration].len() as u32,
            mean: MeanInterval::of(&history.wall_s(configuration), ALPHA),
            comparison: if configuration == BASELINE { None } else { comparisons.next() },
        })
        .collect()
}
