//! What is to be changed, as data: made of words and of a machine, and nothing is changed.

use crate::draft::Draft;
use crate::{Asked, SetupError, Site, Topic, boot, limits, needs, pages, thp};
use firsttouch_documents::{SetupAction, SetupReport};
use firsttouch_machine::Machine;

/// What has to be changed for what is asked.
pub fn plan(site: &Site, topic: Topic, asked: &Asked) -> Result<SetupReport, SetupError> {
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
