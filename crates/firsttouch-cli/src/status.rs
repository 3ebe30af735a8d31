//! `firsttouch status`: finds the machine, and shows it in the form that was asked for.

use crate::args;
use crate::export;
use crate::output::{self, Failure, Outcome};
use firsttouch_documents::to_json;
use firsttouch_explain::{MachineEvidence, Profile, diagnose};
use firsttouch_machine::{Machine, Root, Source, StatusReport};
use firsttouch_report::{picture, text};
use std::path::Path;

pub(crate) fn run(status: &args::Status) -> Outcome {
    let source = source(status.machine.as_deref(), &status.root)?;
    let mut machine = source.machine().map_err(Failure::hinted)?;
    if status.apic {
        machine.ask_apic_ids().map_err(|error| {
            Failure::new(anyhow::Error::new(error).context("the processor cannot be asked for its APIC ids"))
        })?;
    }
    if let Some(file) = &status.picture {
        return draw(&machine, file.as_deref());
    }
    let report = StatusReport::of(machine);
    let text = if status.json { to_json(&report) } else { shown(report, &source) };
    output::data(&text)?;
    Ok(0)
}

/// The report, and what `doctor` would tell of the machine.
fn shown(report: StatusReport, source: &Source) -> String {
    let width = output::width();
    let text = text::status(&report, width);
    let root = if let Source::Files(root) = source { Some(root) } else { None };
    let evidence = MachineEvidence::of(report.machine, root);
    text + &text::findings_in_brief(&diagnose(&evidence, &Profile::default(), ""), width)
}

/// Where the machine comes from that `--machine` or `--root` names.
pub(crate) fn source(machine: Option<&str>, root: &Path) -> Outcome<Source> {
    match machine {
        Some(named) => Source::named(named).map_err(Failure::hinted),
        None if root == Path::new("/") => Ok(Source::Files(Root::live())),
        None => Ok(Source::Files(Root::at(root))),
    }
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
