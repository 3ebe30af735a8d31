//! `run`: a program with its memory placed, and otherwise as if we were not there.

use crate::args::{PlacementArgs, Run};
use crate::mark::without_mark;
use crate::output::{self, Failure, Outcome};
use crate::outside::Visitor;
use crate::program::{self, Subject};
use crate::receipt::{self, RecordPlace};
use crate::{agent, environment, export, here, rivals, worker};
use anyhow::Context;
use firsttouch_machine::{Root, StatusReport};
use firsttouch_placement::{Pages, Placement, Profile, Reason, Receipt, Resolved, Via};
use firsttouch_process::{Environment, Finished, Launch, run_and_wait};
use firsttouch_report::json;
use std::path::Path;

pub(crate) fn run(run: &Run) -> Outcome {
    let asked = placement(&run.placement)?;
    let own = environment::own();
    let subject = Subject::find(&run.program, &own).map_err(program::not_runnable)?;
    let resolved = here::resolve(&asked).map_err(|error| {
        let hint = error.hint();
        Failure::new(error).hint(hint)
    })?;
    if run.attachable && asked.via == Via::Supervise {
        return Err(Failure::message(
            "--attachable needs the agent, which --via supervise keeps out of the program",
        )
        .hint("attach needs no preparation where pages can be collapsed from outside"));
    }
    let shortfall = reach(&subject, &asked, run)?;
    if shortfall.is_none() {
        look_for_pages(&asked, &resolved, run)?;
    }
    if !run.quiet {
        warn_of_ignored_sizes(&asked);
        warn_of_java(&subject, &asked);
    }
    let launch = |environment: Environment| {
        let mut launch = subject.launch(environment);
        launch.inheritance = here::inheritance(&resolved);
        launch
    };

    let Some(file) = &run.receipt else {
        if shortfall.is_some() {
            return Err(become_it(&launch(own)));
        }
        if asked.via == Via::Supervise {
            let (finished, _) = visited(&launch(own), Visitor::supervising(&asked, false))?;
            return Ok(finished.ending.plan().carry_out());
        }
        return Err(become_it(&launch(placed(own, &asked, &resolved, None, run.attachable)?)));
    };

    let records = RecordPlace::new().context("cannot make a folder for the agent's records")?;
    let environment = match (shortfall, asked.via) {
        (Some(_), _) | (None, Via::Supervise) => own,
        (None, _) => placed(own, &asked, &resolved, Some(&records.path()), run.attachable)?,
    };
    let visitor = match (shortfall, asked.via) {
        (None, Via::Supervise) => Visitor::supervising(&asked, true),
        _ => Visitor::looking(),
    };
    let (finished, visitor) = visited(&launch(environment), visitor)?;
    let ended = receipt::Run {
        asked: &asked,
        image: subject.image(),
        ending: finished.ending,
        records: &records,
        by_agent: asked.is_placed_by_agent(),
    };
    let mut receipt = match shortfall {
        Some(reason) => ended.receipt_of_unreached(visitor, reason),
        None => ended.receipt(visitor),
    };
    receipt.hold_against(&resolved);
    let advice =
        receipt.tree.as_ref().filter(|_| shortfall.is_none()).and_then(|tree| worker::advice(&asked, tree));
    if let Some(advice) = advice {
        receipt.notes.push(format!("{}: {}", advice.what, advice.mend));
        if !run.quiet {
            output::warning(&advice.what, Some(&advice.mend));
        }
    }
    hand_over(&receipt, file)?;
    // What the record lay in must go before a signal can end us.
    drop(records);
    Ok(finished.ending.plan().carry_out())
}

/// The placement asked for: the profile's, or the default, with the options over it.
pub(crate) fn placement(args: &PlacementArgs) -> Outcome<Placement> {
    let start = match &args.profile {
        None => Placement::default(),
        Some(file) => {
            let shown = file.display();
            let read = std::fs::read(file).with_context(|| format!("cannot read the profile {shown}"))?;
            let bytes = without_mark(read);
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

/// Whether the means reaches the program; with `--strict` it must.
fn reach(subject: &Subject, asked: &Placement, run: &Run) -> Outcome<Option<Reason>> {
    if run.strict && asked.via == Via::Supervise {
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
    let beyond = subject.beyond(asked);
    let beyond = if run.attachable { beyond.or_else(|| subject.beyond_agent()) } else { beyond };
    let Some((reason, explanation)) = beyond else { return Ok(None) };
    if run.strict {
        return Err(
            Failure::message(format!("{explanation}: the placement cannot reach it")).hint(reason.remedy())
        );
    }
    let inherited =
        if asked.needs_resolving() { ", but for memory policy and CPUs of the whole program" } else { "" };
    let channel = if run.attachable { ", and without a control channel" } else { "" };
    if !run.quiet {
        output::warning(
            &format!("{explanation}: it runs without the placement{inherited}{channel}"),
            Some(reason.remedy()),
        );
    }
    Ok(Some(reason))
}

/// Says where the machine has no pages of the kind at this moment; with `--strict` it must have some.
fn look_for_pages(asked: &Placement, resolved: &Resolved, run: &Run) -> Outcome<()> {
    // From outside pages are collapsed, which heeds no settings.
    if asked.via == Via::Supervise {
        return Ok(());
    }
    let ability = firsttouch_machine::pages_ability(&asked.pages.to_string(), &resolved.nodes);
    let Some(ability) = ability.filter(|ability| ability.possible == Some(false)) else { return Ok(()) };
    let what = format!("there are no {} pages: {}", ability.what, ability.why);
    if run.strict {
        let failure = Failure::message(what);
        return Err(match ability.command {
            Some(command) => failure.hint(command),
            None => failure,
        });
    }
    if !run.quiet {
        let instead = match asked.pages {
            _ if !asked.is_placed_by_agent() => "",
            Pages::Huge1G => "; pages of 2 MiB are asked for instead",
            Pages::Huge2M => "; transparent huge pages are asked for instead",
            _ => "",
        };
        output::warning(&format!("{what}{instead}"), ability.command.as_deref());
    }
    Ok(())
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

fn warn_of_java(subject: &Subject, asked: &Placement) {
    if subject.is_jvm() && asked.is_placed_by_agent() {
        output::warning(
            "Java maps its heap itself: the agent places only what is allocated beside it",
            Some("firsttouch run --via jvm"),
        );
    }
}

/// The environment with the placement in it.
fn placed(
    mut environment: Environment,
    asked: &Placement,
    resolved: &Resolved,
    record: Option<&Path>,
    attachable: bool,
) -> Outcome<Environment> {
    let variables = rivals::variables(asked, &rivals::library_directories());
    environment::set_up_rival(&mut environment, variables).map_err(|missing| {
        let remedy = missing.remedy();
        Failure::new(missing).hint(remedy)
    })?;
    if asked.needs_agent() || attachable {
        environment::set_up_agent(&mut environment, &agent::install()?, asked, resolved, record);
    }
    if attachable {
        environment::make_attachable(&mut environment);
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
    export::write(file, &text)
}
