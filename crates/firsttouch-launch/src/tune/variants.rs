//! Which configurations a session compares, and the program made ready under each.

use super::{TuneError, TuneRequest};
use crate::configurations::{self, Choice, Configuration};
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
    pub(super) start: Start,
}

pub(super) fn choose(request: &TuneRequest<'_>, here: &Here) -> Result<Choice, TuneError> {
    let mut abilities = abilities(request.status, here.is_measured());
    let beyond = request.subject.beyond(&Placement::default());
    abilities.unreachable = beyond.map(|(reason, explanation)| Obstacle {
        reason: explanation,
        remedy: Some(reason.remedy().to_owned()),
    });
    abilities.jvm = request.subject.is_jvm();
    Ok(configurations::choose(request.baseline, request.configurations, request.alternatives, &abilities)?)
}

/// Makes the configurations ready; those whose allocator is not installed, or whose means cannot reach the program,
/// are skipped.
pub(super) fn prepare(
    choice: &mut Choice,
    subject: &Subject,
    environment: &Environment,
    here: &Here,
) -> Result<Vec<Variant>, TuneError> {
    let mut variants = Vec::new();
    for configuration in std::mem::take(&mut choice.configurations) {
        let name = configuration.name.clone();
        let beyond = configuration.placement().and_then(|placement| subject.beyond(placement));
        let (reason, remedy) = match beyond {
            Some((reason, explanation)) => (explanation, reason.remedy().to_owned()),
            None => match Start::configured(&configuration, subject, environment, here) {
                Ok(start) => {
                    variants.push(Variant { configuration, start });
                    continue;
                }
                Err(NotReady::Agent(error)) => return Err(error.into()),
                Err(missing) => (missing.to_string(), missing.hint()),
            },
        };
        if variants.is_empty() {
            return Err(TuneError::Baseline { reason, remedy });
        }
        choice.skipped.push(SkippedConfiguration { name, reason, remedy: Some(remedy) });
    }
    if variants.len() < 2 {
        return Err(TuneError::NothingLeft { skipped: std::mem::take(&mut choice.skipped) });
    }
    Ok(variants)
}
