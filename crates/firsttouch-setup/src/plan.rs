//! What is to be changed, as data: made of words and of a machine, and nothing is changed.

use crate::draft::Draft;
use crate::{Asked, SetupError, Site, Topic, boot, limits, needs, pages, thp};
use firsttouch_documents::{SetupAction, SetupReport};
use firsttouch_machine::Machine;

/// What has to be changed for what is asked.
pub fn plan(site: &Site, topic: Topic, asked: &Asked) -> Result<SetupReport, SetupError> {
    for (given, option, topics) in [
        (!asked.nodes.is_empty(), "--node", &[Topic::Pages, Topic::Boot][..]),
        (asked.rest_bytes.is_some(), "--rest", &[Topic::Pages, Topic::For]),
        (asked.memory_bytes.is_some(), "--memory", &[Topic::For]),
        (!asked.users.is_empty(), "--user", &[Topic::Limits]),
        (!asked.groups.is_empty(), "--group", &[Topic::Limits]),
        (!asked.services.is_empty(), "--service", &[Topic::Limits]),
        (asked.pid.is_some(), "--pid", &[Topic::Limits]),
    ] {
        if given && !topics.contains(&topic) {
            let what = format!("{option} says nothing about what is set up here");
            return Err(SetupError::words(what, "firsttouch setup --help tells what it belongs to"));
        }
    }
    let machine = Machine::examine(site.root())?;
    let mut plan = Draft { site, machine: &machine, asked, report: SetupReport::default() };
    plan.report.action = SetupAction::DryRun;
    match topic {
        Topic::Pages => pages::plan(&mut plan, &asked.words, &asked.nodes, false)?,
        Topic::Thp => thp::plan(&mut plan, &asked.words)?,
        Topic::Limits => limits::plan(&mut plan)?,
        Topic::Boot => boot::plan(&mut plan)?,
        Topic::For => needs::plan(&mut plan)?,
    }
    Ok(plan.report)
}
