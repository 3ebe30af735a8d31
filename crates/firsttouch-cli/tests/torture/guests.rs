//! Runs in a guest of the lab, which is booted once for several.

use crate::here::{Failure, judge};
use crate::plan::Plan;
use crate::program::{Program, linked_library};
use crate::runner::Skip;
use crate::setting::{self, Setting};
use firsttouch_lab::{Collected, Command, Ending};

/// Other addresses at each start, as people have them: by itself an emulated guest has the same ones.
const RANDOM_ADDRESSES: [&str; 3] = ["sh", "-c", "echo 2 > /proc/sys/kernel/randomize_va_space"];

/// Runs plans one after the other.
pub(crate) fn run(setting: &Setting, plans: &[Plan], program: &Program) -> Result<Vec<Failure>, Skip> {
    let (_, lab) = setting::ready(setting)?;
    let plans = plans.iter().map(|plan| Command::new(plan.command("firsttouch", program)));
    let commands: Vec<Command> = [Command::new(RANDOM_ADDRESSES)].into_iter().chain(plans).collect();
    let collected = lab.copy_in(linked_library(program)).collect(&commands);
    let collected = collected.unwrap_or_else(|error| {
        panic!("{setting}: {error}\n{}", error.console().unwrap_or_default());
    });
    let (prepared, runs) = collected.split_first().expect("it was booted for several commands");
    assert_eq!(prepared.finished.ending, Ending::Exited(0), "{}", prepared.stderr);
    Ok(runs.iter().map(failure).collect())
}

fn failure(collected: &Collected) -> Failure {
    let ending = match &collected.finished.ending {
        Ending::Exited(0) => String::new(),
        ending => format!("{ending:?}"),
    };
    judge(&ending, &collected.stdout, &collected.stderr)
}
