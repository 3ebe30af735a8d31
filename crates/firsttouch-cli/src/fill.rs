//! `fill`: what creating, clearing and handing out memory costs here.

use crate::args::Fill;
use crate::clock;
use crate::output::{self, Failure, Outcome};
use crate::progress_lines::ProgressLines;
use firsttouch_documents::to_json;
use firsttouch_machine::{Machine, Root};
use firsttouch_measure::{FillOptions, FillingError, measure_filling};
use firsttouch_report::{Style, text};

pub(crate) fn run(args: &Fill) -> Outcome {
    let machine = Machine::read(&Root::live())?;
    let options = FillOptions {
        size_bytes: args.size,
        pages: args.pages.clone(),
        engines: args.engines.clone(),
        quick: args.quick,
    };
    let progress = ProgressLines::new();
    let mut tell = |step: usize, of: usize, what: &str| progress.show(&format!("{step} of {of}: {what}"));
    let measured = measure_filling(&machine, &options, clock::now(), &mut tell);
    progress.clear();
    let report = measured.map_err(|error| {
        let is_usage = matches!(error, FillingError::TooSmall { .. });
        Failure::hinted(error).usage_if(is_usage)
    })?;
    output::data(&if args.json {
        to_json(&report)
    } else {
        text::filling(&report, output::width(), Style::Ansi)
    })?;
    Ok(0)
}
