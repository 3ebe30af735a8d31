//! Runs in a guest of the lab, which is booted once for several.

use crate::here::{Failure, judge};
use crate::plan::Plan;
use crate::program::{Program, linked_library};
use crate::runner::Skip;
use crate::setting::{self, Setting};
use firsttouch_lab::{Collected, Command, Ending};

/// Runs plans one after the other.
pub(crate) fn run(setting: &Setting, plans: &[Plan], program: &Program) -> Result<Vec<Failure>, Skip> {
    let (_, lab) = setting::ready(setting)?;
    let commands: Vec<Command> =
        plans.iter().map(|plan| Command::new(plan.command("firsttouch", program))).collect();
    let collected = lab.copy_in(linked_library(program)).collect(&commands);
    let collected = collected.unwrap_or_else(|error| {
        panic!("{setting}: {error}\n{}", error.console().unwrap_or_default());
    });
    Ok(collected.iter().map(failure).collect())
}

fn failure(collected: &Collected) -> Failure {
    let ending = match &collected.finished.ending {
        Ending::Exited(0) => String::new(),
        ending => format!("{ending:?}"),
    };
    judge(&ending, &collected.stdout, &collected.stderr)
}
