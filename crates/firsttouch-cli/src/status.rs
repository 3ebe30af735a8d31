//! `firsttouch status`: finds the machine, and shows it in the form that was asked for.

use crate::args;
use crate::export;
use crate::output::{self, Failure, Outcome};
use firsttouch_documents::to_json;
use firsttouch_machine::{Machine, Root, Source, StatusReport};
use firsttouch_report::{picture, text};
use std::path::Path;

pub(crate) fn run(status: &args::Status) -> Outcome {
    let mut machine = machine(status)?;
    if status.apic {
        machine.ask_apic_ids().map_err(|error| {
            Failure::new(anyhow::Error::new(error).context("the processor cannot be asked for its APIC ids"))
        })?;
    }
    if let Some(file) = &status.picture {
        return draw(&machine, file.as_deref());
    }
    let report = StatusReport::of(machine);
    let text = if status.json { to_json(&report) } else { text::status(&report, output::width()) };
    output::data(&text)?;
    Ok(0)
}

fn machine(status: &args::Status) -> Outcome<Machine> {
    let source = match &status.machine {
        Some(named) => Source::named(named),
        None if status.root == Path::new("/") => Ok(Source::Files(Root::live())),
        None => Ok(Source::Files(Root::at(&status.root))),
    };
    source.and_then(|source| source.machine()).map_err(Failure::hinted)
}

fn draw(machine: &Machine, file: Option<&Path>) -> Outcome {
    let Some(file) = file else {
        output::data(&picture::text(machine, output::width()))?;
        return Ok(0);
    };
    let figure = file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg"));
    let text = if figure { picture::svg(machine) } else { picture::text(machine, output::width()) };
    export::write(file, &text)?;
    Ok(0)
}
