//! The untimed run of each configuration.

use super::variants::Variant;
use super::{Stage, TuneError, TuneObserver, warnings};
use crate::combination::Combination;
use crate::metric::Meter;
use crate::preparation::Preparation;
use crate::probe::{Probe, probe};
use crate::run::RunError;
use crate::session::Interruption;
use crate::warm::bytes_for;
use crate::worker::{WorkerAdvice, reaches_one_program, worker_advice};
use firsttouch_placement::{Placement, Receipt, SkippedConfiguration};
use firsttouch_process::Environment;
use std::path::Path;
use std::time::{Duration, Instant};

/// Untimed runs take no more than this share of the budget: they prove nothing.
const MOST_UNTIMED: u32 = 4;
/// So many configurations are looked at however short the budget, the baseline among them.
const FEWEST_LOOKS: usize = 4;

/// A configuration and what its untimed run showed; `None` if the session was interrupted before.
pub(super) struct Probed {
    pub(super) variant: Variant,
    pub(super) probe: Option<Probe>,
}

impl Probed {
    pub(super) fn receipt(&self) -> Option<Receipt> {
        // Without a placement nothing was asked, so there is nothing to hold against it.
        self.variant.configuration.placement()?;
        let probe = self.probe.as_ref()?;
        let mut receipt = probe.receipt.clone();
        receipt
            .notes
            .extend(probe.openblas_core.iter().map(|core| format!("OpenBLAS runs its code for {core}")));
        Some(receipt)
    }
}

/// What all looks need.
pub(super) struct Looks<'a> {
    pub(super) interruption: &'a dyn Interruption,
    pub(super) environment: &'a Environment,
    pub(super) combinations: &'a [Combination],
    /// What reads what is judged, of each combination.
    pub(super) meters: &'a [Meter],
    /// What the program says lies there meanwhile.
    pub(super) folder: &'a Path,
    pub(super) thp_mode: Option<&'a str>,
    /// The program starts others that are placed one by one.
    pub(super) of_job: bool,
    pub(super) time: UntimedTime,
    /// So many, the first ones, somebody named: these are looked at in any case.
    pub(super) named: usize,
}

impl Looks<'_> {
    /// Runs every configuration once, all but the first on memory as warm as it will be. A baseline that fails ends the session; another configuration is
    /// left out.
    pub(super) fn at_all(
        &self,
        variants: Vec<Variant>,
        preparation: &mut Preparation,
        skipped: &mut Vec<SkippedConfiguration>,
        warnings: &mut Vec<String>,
        observer: &mut dyn TuneObserver,
    ) -> Result<Vec<Probed>, TuneError> {
        let mut probed: Vec<Probed> = Vec::new();
        // Of each combination, once it was seen: whether the agent has to follow.
        let mut follows: Vec<Option<bool>> = vec![None; self.combinations.len()];
        // Where every placement reaches other programs already, nothing is to be said of them.
        let reaches_one =
            |variant: &&Variant| variant.configuration.placement().is_some_and(reaches_one_program);
        let short = variants.iter().filter(|_| !self.of_job);
        let short: Vec<usize> = short.filter(reaches_one).map(|it| it.combination).collect();
        let places = variants.iter().any(|variant| variant.configuration.placement().is_some());
        let mut is_told = false;
        for (number, mut variant) in variants.into_iter().enumerate() {
            let Combination { conditions, .. } = &self.combinations[variant.combination];
            let meter = &self.meters[variant.combination];
            if follows[variant.combination] == Some(true) {
                variant.configuration.follow();
                variant.start.follow();
            }
            let name = variant.configuration.name.clone();
            if number >= self.named.max(FEWEST_LOOKS) && !self.time.suffices_after(probed.len()) {
                skipped.push(SkippedConfiguration {
                    name,
                    reason: "the budget is short: a look at each would take more than a quarter of it"
                        .to_owned(),
                    remedy: Some("raise --budget, or name what to compare with --configs".to_owned()),
                });
                continue;
            }
            if self.interruption.asked() {
                probed.push(Probed { variant, probe: None });
                continue;
            }
            observer.stage(&Stage::LookingAt { name: &name });
            let probing = conditions.around(self.environment, || {
                let warmth = preparation.prepare(&|| self.interruption.asked());
                let stop = self.interruption.kill();
                probe(&variant.start, conditions, meter, self.folder, stop, warmth.as_ref())
            });
            match probing {
                Ok(probe) => {
                    preparation.warm_at_least(bytes_for(probe.memory_bytes));
                    if probed.is_empty() && places {
                        warnings.extend(warnings::of_baseline(&variant.configuration, &probe, self.thp_mode));
                    }
                    if follows[variant.combination].is_none() {
                        let is_short = short.contains(&variant.combination);
                        let advice = about_the_worker(&probe).filter(|_| is_short);
                        follows[variant.combination] = Some(advice.as_ref().is_some_and(|it| it.follow));
                        // What is said of one combination holds for those that are like it.
                        if let Some(advice) = advice.filter(|_| !is_told) {
                            is_told = true;
                            warnings.push(match advice.follow {
                                true => format!("{}: the agent was told to follow (--follow)", advice.what),
                                false => format!("{}: {}", advice.what, advice.remedy),
                            });
                        }
                    }
                    probed.push(Probed { variant, probe: Some(probe) });
                }
                Err(_) if self.interruption.asked() => probed.push(Probed { variant, probe: None }),
                Err(error) if probed.is_empty() || matches!(error, RunError::Line { .. }) => {
                    return Err(TuneError::run(&name, error));
                }
                Err(error) => {
                    warnings.push(format!("{name} is left out: {error}"));
                    let reason = match error {
                        RunError::Metric(_) => "its untimed run had nothing to judge".to_owned(),
                        _ => "the program failed in its untimed run".to_owned(),
                    };
                    skipped.push(SkippedConfiguration { name, reason, remedy: None });
                }
            }
        }
        let core = probed.iter().find_map(|probed| probed.probe.as_ref()?.openblas_core.as_ref());
        if let Some(core) = core {
            observer.stage(&Stage::OpenBlas { core });
        }
        Ok(probed)
    }
}

/// What untimed runs may take.
#[derive(Clone, Copy)]
pub(super) struct UntimedTime {
    /// When the session began, and how long it may last.
    pub(super) began: Instant,
    pub(super) budget: Option<Duration>,
}

impl UntimedTime {
    /// Whether there is time for one more after so many runs, or rounds of them, if it takes as long as they did in the mean.
    pub(super) fn suffices_after(self, done: usize) -> bool {
        let spent = self.began.elapsed();
        self.budget.is_none_or(|budget| spent + spent / done.max(1) as u32 <= budget / MOST_UNTIMED)
    }
}

/// Whether the work is left to other programs, by what was seen of the baseline.
fn about_the_worker(probe: &Probe) -> Option<WorkerAdvice> {
    worker_advice(&Placement::default(), probe.receipt.tree.as_ref()?)
}
