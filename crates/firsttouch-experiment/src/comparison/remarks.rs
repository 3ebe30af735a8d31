//! What has to be known to read the verdicts.

use super::across::AcrossSessions;
use super::session::ComparedSession;

pub(super) fn notes(sessions: &[ComparedSession], across: &[AcrossSessions]) -> Vec<String> {
    let unpaired = sessions.iter().any(|session| !session.paired).then(|| {
        "runs without blocks count as made one configuration after the other: what drifted meanwhile looks like a difference; let \
         them take turns (firsttouch tune, or a column `block`)"
            .to_owned()
    });
    let extent = if across.is_empty() {
        "a verdict of one session holds for that session: after a reboot memory lies elsewhere, and the ratio may be another; measure \
         again in other sessions (boots, machines, days), and name all their files"
            .to_owned()
    } else {
        "the interval over sessions is read once, after as many sessions as were decided on beforehand; who adds sessions until there is a \
         verdict goes by the e-value: from 20 on it holds, however often somebody looked"
            .to_owned()
    };
    unpaired.into_iter().chain([extent]).collect()
}
