//! Which configurations a session compares, and the program made ready under each.

use super::{TuneError, TuneRequest};
use crate::combination::Combination;
use crate::configurations::{self, Abilities, Choice, ChoiceError, Configuration};
use crate::here::Here;
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
#[derive(Default)]
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
        let mut compared = Compared::default();
        let mut abilities = abilities(request.status, here.is_measured(), environment);
        for (index, combination) in combinations.iter().enumerate() {
            let beyond = combination.subject.beyond(&Placement::default());
            abilities.unreachable = beyond.map(|(reason, explanation)| Obstacle {
                reason: explanation,
                remedy: Some(reason.remedy().to_owned()),
            });
            abilities.jvm = combination.subject.is_jvm();
            let mut choice = choose(request, combination, &abilities)?;
            for (at, configuration) in choice.configurations.iter_mut().enumerate() {
                configuration.name = combination.name(&configuration.name, index == 0 && at == 0);
            }
            for skipped in &mut choice.skipped {
                skipped.name = combination.name(&skipped.name, false);
            }
            compared.skipped.append(&mut choice.skipped);
            compared.prepare(choice, index, &combination.subject, environment, here)?;
        }
        match compared.variants.len() {
            0 | 1 => Err(TuneError::NothingLeft { skipped: compared.skipped }),
            _ => Ok(compared),
        }
    }

    /// Makes configurations ready; those whose allocator is not installed, or whose means cannot reach the program, are skipped.
    fn prepare(
        &mut self,
        choice: Choice,
        combination: usize,
        subject: &Subject,
        environment: &Environment,
        here: &Here,
    ) -> Result<(), TuneError> {
        for configuration in choice.configurations {
            let name = configuration.name.clone();
            let beyond = configuration.placement().and_then(|placement| subject.beyond(placement));
            let (reason, remedy) = match beyond {
                Some((reason, explanation)) => (explanation, reason.remedy().to_owned()),
                None => match Start::configured(&configuration, subject, environment, here) {
                    Ok(start) => {
                        self.variants.push(Variant { configuration, combination, start });
                        continue;
                    }
                    Err(NotReady::Agent(error)) => return Err(error.into()),
                    Err(missing) => (missing.to_string(), missing.hint()),
                },
            };
            if self.variants.is_empty() {
                return Err(TuneError::Baseline { reason, remedy });
            }
            self.skipped.push(SkippedConfiguration { name, reason, remedy: Some(remedy) });
        }
        Ok(())
    }
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
