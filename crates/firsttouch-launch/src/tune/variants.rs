//! Which configurations a session compares, and the program made ready under each.

use super::{TuneError, TuneRequest};
use crate::combination::Combination;
use crate::configurations::{self, Abilities, Choice, ChoiceError, Configuration};
use crate::here::Here;
use crate::nodes::Candidate;
use crate::obstacle::Obstacle;
use crate::start::{NotReady, Start};
use crate::subject::Subject;
use crate::surroundings::abilities;
use firsttouch_placement::{Placement, SkippedConfiguration};
use firsttouch_process::Environment;

/// A configuration, ready to be started.
pub(super) struct Variant {
    pub(super) configuration: Configuration,
    /// The number of the program's combination of values.
    pub(super) combination: usize,
    pub(super) start: Start,
}

/// Everything that a session compares: each combination of values under each placement, the baseline first.
pub(super) struct Compared {
    pub(super) variants: Vec<Variant>,
    pub(super) skipped: Vec<SkippedConfiguration>,
}

impl Compared {
    /// Chooses, and makes ready what can be had here.
    pub(super) fn new(
        request: &TuneRequest<'_>,
        combinations: &[Combination],
        here: &Here,
        environment: &Environment,
    ) -> Result<Compared, TuneError> {
        let mut abilities = abilities(request.status, here.is_measured());
        let (mut variants, mut left_out) = (Vec::new(), Vec::new());
        for (index, combination) in combinations.iter().enumerate() {
            let beyond = combination.subject.beyond(&Placement::default());
            abilities.unreachable = beyond.map(|(reason, explanation)| Obstacle {
                reason: explanation,
                remedy: Some(reason.remedy().to_owned()),
            });
            abilities.jvm = combination.subject.is_jvm();
            if request.job.is_some() {
                // What is started here is the launcher, and what suits one process of a machine suits no rank.
                (abilities.unreachable, abilities.jvm) = (None, false);
                let apart = Candidate {
                    name: "ranks".to_owned(),
                    placement: "plain,cpus=all".to_owned(),
                    obstacle: None,
                };
                abilities.over_nodes = vec![apart];
            }
            let mut choice = choose(request, combination, &abilities)?;
            let made = |configuration: &Configuration| match request.job {
                Some(job) => Start::of_job(&combination.subject, environment, job, configuration.placement())
                    .map_err(|error| Unready::Skipped(error.to_string(), error.hint().to_owned())),
                None => ready(configuration, &combination.subject, environment, here),
            };
            let ready = prepare(&mut choice, made, index == 0)?;
            for (mut configuration, start) in ready {
                configuration.name = combination.name(&configuration.name, variants.is_empty());
                variants.push(Variant { configuration, combination: index, start });
            }
            left_out.extend(choice.skipped.into_iter().map(|skipped| (combination, skipped)));
        }
        let skipped = told(&left_out, combinations.len());
        match variants.len() {
            0 | 1 => Err(TuneError::NothingLeft { skipped }),
            _ => Ok(Compared { variants, skipped }),
        }
    }
}

/// Why a configuration is not ready.
enum Unready {
    /// Why, and what would mend it: it is left out.
    Skipped(String, String),
    /// Why no other can be, either.
    Failed(TuneError),
}

/// The program under a configuration of this machine.
fn ready(
    configuration: &Configuration,
    subject: &Subject,
    environment: &Environment,
    here: &Here,
) -> Result<Start, Unready> {
    let beyond = configuration.placement().and_then(|placement| subject.beyond(placement));
    if let Some((reason, explanation)) = beyond {
        return Err(Unready::Skipped(explanation, reason.remedy().to_owned()));
    }
    Start::configured(configuration, subject, environment, here).map_err(|error| match error {
        NotReady::Agent(error) => Unready::Failed(error.into()),
        missing => Unready::Skipped(missing.to_string(), missing.hint()),
    })
}

/// Makes configurations ready; those whose allocator is not installed, or whose means cannot reach the program, are skipped,
/// but for the first where that is the `baseline`.
fn prepare(
    choice: &mut Choice,
    made: impl Fn(&Configuration) -> Result<Start, Unready>,
    holds_baseline: bool,
) -> Result<Vec<(Configuration, Start)>, TuneError> {
    let mut ready = Vec::new();
    for configuration in std::mem::take(&mut choice.configurations) {
        let (reason, remedy) = match made(&configuration) {
            Ok(start) => {
                ready.push((configuration, start));
                continue;
            }
            Err(Unready::Failed(error)) => return Err(error),
            Err(Unready::Skipped(reason, remedy)) => (reason, remedy),
        };
        if holds_baseline && ready.is_empty() {
            return Err(TuneError::Baseline { reason, remedy });
        }
        let name = configuration.name;
        choice.skipped.push(SkippedConfiguration { name, reason, remedy: Some(remedy) });
    }
    Ok(ready)
}

/// What is left out, by its names. What no combination can have, for one reason, is told once and by its placement alone.
fn told(left_out: &[(&Combination, SkippedConfiguration)], combinations: usize) -> Vec<SkippedConfiguration> {
    let mut told: Vec<SkippedConfiguration> = Vec::new();
    for (combination, one) in left_out {
        let alike = left_out.iter().filter(|(_, other)| other == one).count();
        let name = if alike == combinations { one.name.clone() } else { combination.name(&one.name, false) };
        let one = SkippedConfiguration { name, ..one.clone() };
        if !told.contains(&one) {
            told.push(one);
        }
    }
    told
}

/// The placements that a combination is run under. Where values are varied, none come by themselves: the product would be large.
fn choose(
    request: &TuneRequest<'_>,
    combination: &Combination,
    abilities: &Abilities,
) -> Result<Choice, ChoiceError> {
    let TuneRequest { baseline, configurations: lists, alternatives, .. } = *request;
    if combination.values.is_empty() {
        return configurations::choose(baseline, lists, alternatives, abilities);
    }
    let mut choice = configurations::asked(baseline, lists)?;
    if alternatives {
        choice.alternatives(abilities);
    }
    Ok(choice)
}
