//! `run`: a program with its memory placed, and otherwise as if we were not there.

use crate::args::{PlacementArgs, Run};
use crate::output::{self, Failure, Outcome};
use crate::outside::Visitor;
use crate::program::{self, Subject};
use crate::receipt::{self, RecordPlace};
use crate::{agent, environment, export, rivals};
use anyhow::Context;
use firsttouch_machine::{Root, StatusReport};
use firsttouch_placement::{Placement, Profile, Reason, Receipt, Via};
use firsttouch_process::{Ending, Environment, Finished, Launch, run_and_wait};
use firsttouch_report::json;
use std::path::Path;

pub(crate) fn run(run: &Run) -> Outcome {
    let asked = placement(&run.placement)?;
    let own = environment::own();
    let subject = Subject::find(&run.program, &own).map_err(program::not_runnable)?;
    let shortfall = reach(&subject, asked.via, run.strict)?;
    warn_of_ignored_sizes(&asked);

    let Some(file) = &run.receipt else {
        if shortfall.is_some() {
            return Err(become_it(&subject.launch(own)));
        }
        if asked.via == Via::Supervise {
            let (finished, _) = visited(&subject.launch(own), Visitor::supervising(&asked, false))?;
            return Ok(finished.ending.plan().carry_out());
        }
        return Err(become_it(&subject.launch(placed(own, &asked, None)?)));
    };

    let record = RecordPlace::new().context("cannot make a folder for the agent's record")?;
    let (finished, receipt) = if let Some(reason) = shortfall {
        let note = "the program ran as it is".to_owned();
        let receipt = receipt::without_reading(&asked, subject.image(), Some(reason), vec![note]);
        (visited(&subject.launch(own), Visitor::default())?.0, receipt)
    } else if asked.via == Via::Agent {
        let launch = subject.launch(placed(own, &asked, Some(&record.path()))?);
        let (finished, _) = visited(&launch, Visitor::default())?;
        (finished, receipt::of_record(&record.path(), &asked, subject.image()))
    } else {
        let (launch, visitor) = match asked.via {
            Via::Supervise => (subject.launch(own), Visitor::supervising(&asked, true)),
            _ => (subject.launch(placed(own, &asked, None)?), Visitor::looking()),
        };
        let (finished, visitor) = visited(&launch, visitor)?;
        let killed = matches!(finished.ending, Ending::Signaled(_));
        (finished, visitor.into_receipt(&asked, subject.image(), killed))
    };
    hand_over(&receipt, file)?;
    // What the record lay in must go before a signal can end us.
    drop(record);
    Ok(finished.ending.plan().carry_out())
}

/// The placement asked for: the profile's, or the default, with the options over it.
pub(crate) fn placement(args: &PlacementArgs) -> Outcome<Placement> {
    let start = match &args.profile {
        None => Placement::default(),
        Some(file) => {
            let shown = file.display();
            let bytes = std::fs::read(file).with_context(|| format!("cannot read the profile {shown}"))?;
            let text = String::from_utf8(bytes).with_context(|| format!("{shown} is not text"))?;
            Profile::parse(&text)
                .with_context(|| format!("cannot use {shown}"))
                .map_err(|error| {
                    Failure::new(error).hint("firsttouch tune --save FILE -- PROGRAM writes a profile")
                })?
                .placement
        }
    };
    let placement = args.over(&start);
    placement
        .check()
        .map_err(|error| Failure::new(error).hint("firsttouch run --help lists the means and their pages"))?;
    Ok(placement)
}

/// Whether the means reaches the program; with `strict` it must.
fn reach(subject: &Subject, via: Via, strict: bool) -> Outcome<Option<Reason>> {
    if strict && via == Via::Supervise {
        let status = StatusReport::examine(&Root::live())?;
        if let Some(ability) = status.can("supervise").filter(|ability| ability.possible == Some(false)) {
            let failure =
                Failure::message(format!("pages cannot be collapsed from outside: {}", ability.why));
            return Err(match &ability.command {
                Some(command) => failure.hint(command),
                None => failure,
            });
        }
    }
    let Some((reason, explanation)) = subject.beyond(via) else { return Ok(None) };
    if strict {
        return Err(
            Failure::message(format!("{explanation}: the placement cannot reach it")).hint(reason.remedy())
        );
    }
    output::warning(&format!("{explanation}: it runs without the placement"), Some(reason.remedy()));
    Ok(Some(reason))
}

fn warn_of_ignored_sizes(placement: &Placement) {
    let default = Placement::default();
    let ranged = placement.min_size != default.min_size || placement.max_size.is_some();
    if ranged && !matches!(placement.via, Via::Agent | Via::Supervise) {
        output::warning(
            &format!("--via {} knows no range of sizes: it places every allocation", placement.via),
            None,
        );
    }
}

/// The environment with the placement in it.
fn placed(mut environment: Environment, asked: &Placement, record: Option<&Path>) -> Outcome<Environment> {
    match asked.via {
        Via::Agent => environment::set_up_agent(&mut environment, &agent::install()?, asked, record),
        _ => {
            let variables = rivals::variables(asked, &rivals::library_directories());
            environment::set_up_rival(&mut environment, variables).map_err(|missing| {
                let remedy = missing.remedy();
                Failure::new(missing).hint(remedy)
            })?;
        }
    }
    Ok(environment)
}

/// Becomes the program; what comes back is why that failed.
fn become_it(launch: &Launch) -> Failure {
    program::not_started(launch.exec())
}

/// Stands in for the program while `visitor` visits it.
fn visited(launch: &Launch, mut visitor: Visitor) -> Outcome<(Finished, Visitor)> {
    let finished = run_and_wait(launch, |pid| visitor.visit(pid)).map_err(program::not_started)?;
    if let Some((reason, explanation)) = visitor.refusal() {
        output::warning(&format!("{explanation}: the program ran as it is"), Some(reason.remedy()));
    }
    Ok((finished, visitor))
}

fn hand_over(receipt: &Receipt, file: &Path) -> Outcome<()> {
    let text = json::receipt(receipt);
    if file == Path::new("-") { output::data(&text) } else { Ok(export::write(file, &text)?) }
}
