//! `fill`: what creating, clearing and handing out memory costs here.

use crate::args::Fill;
use crate::clock;
use crate::output::{self, Failure, Outcome};
use firsttouch_machine::{Machine, Root};
use firsttouch_measure::{FillOptions, measure_filling};
use firsttouch_report::{Style, json, text};

pub(crate) fn run(args: &Fill) -> Outcome {
    let machine = Machine::read(&Root::live())?;
    let options = FillOptions {
        size_bytes: args.size,
        pages: args.pages.clone(),
        engines: args.engines.clone(),
        quick: args.quick,
    };
    let redraws = output::terminal().is_some();
    let mut tell = |step: usize, of: usize, what: &str| {
        let words = format!("{step} of {of}: {what}");
        output::message(&if redraws { format!("\r\u{1b}[K{words}") } else { format!("{words}\n") });
    };
    let measured = measure_filling(&machine, &options, clock::now(), &mut tell);
    if redraws {
        output::message("\r\u{1b}[K");
    }
    let report = measured.map_err(|error| {
        let hint = error.hint();
        Failure::new(error).hint(hint)
    })?;
    output::data(&if args.json {
        json::filling(&report)
    } else {
        text::filling(&report, output::width(), Style::Ansi)
    })?;
    Ok(0)
}
