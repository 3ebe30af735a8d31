//! The processes that are attached to.

use crate::number::plural;
use crate::visible::visible;
use firsttouch_documents::AttachForgotten;
use firsttouch_placement::AttachedProcess;

/// A line for each journal: the process, whether it lives, since when, the steps that can be taken back, its words.
pub fn attached(all: &[AttachedProcess]) -> String {
    all.iter().map(line).collect()
}

/// How many journals were removed.
pub fn attach_forgotten(forgotten: &AttachForgotten) -> String {
    format!("{} of processes that are gone removed\n", plural(forgotten.removed.len(), "journal"))
}

fn line(attached: &AttachedProcess) -> String {
    let AttachedProcess { pid: Some(pid), command: Some(command), began: Some(began), .. } = attached else {
        return format!("{}: does not read\n", visible(&attached.journal));
    };
    let state = match (attached.alive, attached.cut_off) {
        (false, _) => "gone",
        (true, true) => "alive, cut off",
        (true, false) => "alive",
    };
    format!("{pid}  {state}  {}  {} steps  {}\n", visible(began), attached.steps, visible(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_a_line() {
        let mut process = AttachedProcess {
            journal: "/state/7.journal".to_owned(),
            pid: Some(7),
            command: Some("sleep\n9".to_owned()),
            began: Some("2026-01-02T03:04:05Z".to_owned()),
            alive: true,
            cut_off: false,
            steps: 3,
        };
        assert_eq!(attached(&[process.clone()]), "7  alive  2026-01-02T03:04:05Z  3 steps  sleep\\n9\n");
        process.pid = None;
        assert_eq!(attached(&[process]), "/state/7.journal: does not read\n");
    }
}
