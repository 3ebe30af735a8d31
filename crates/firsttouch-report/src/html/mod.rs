//! One HTML file: verdict, tables, plots, the machine and the document itself.
//!
//! It needs no network and runs no script, reads without its style sheet, in light and dark and on paper. The data
//! block at its end is the whole document, so the file can be opened again.

mod bench;
mod decision;
mod doctor;
mod machine;
mod measurement;
mod page;
mod recording;
mod sheet;
mod tables;

pub use bench::bench;
pub use decision::decision;
pub use doctor::doctor;
pub use measurement::measurement;
pub use recording::recording;

use crate::cells::shortfalls;
use crate::escape::escape;
use crate::remarks::{method, remarks};
use crate::sentence::Sentence;
use crate::verdict::{self, Advice};
use crate::{OpenError, json, plots, shell};
use firsttouch_experiment::Verdict;
use firsttouch_placement::TuneReport;
use page::{DATA_CLOSES, DATA_OPENS, closed, list, opened, section, section_of, written};
use std::fmt::Write as _;

/// A session as one HTML file.
pub fn tune(report: &TuneReport) -> String {
    let headline = verdict::headline(report);
    let program = shell::command(&report.command);
    let title = format!("firsttouch tune: {}", crate::visible::shortened(&program, 80));
    let mut page = opened(&title, "firsttouch tune");
    let _ = writeln!(page, "<pre><code>{}</code></pre>", escape(&program));
    let class = match headline.outcome {
        Some(Verdict::Faster) => " faster",
        Some(Verdict::Slower) => " slower",
        None => " undecided",
        Some(Verdict::Same) => "",
    };
    let _ =
        writeln!(page, "<p class=\"verdict{class}\"><strong>{}</strong></p>", written(&headline.sentence));
    advice(&mut page, report);
    page.push_str("</header>\n<main>\n");
    list(
        &mut page,
        "Warnings",
        " class=\"warnings\"",
        &report.warnings.iter().map(Sentence::from).collect::<Vec<_>>(),
    );
    if !report.configurations.is_empty() {
        section(
            &mut page,
            "Configurations",
            &(tables::summary(report) + "<h3>Cost per run</h3>\n" + &tables::cost(report)),
        );
    }
    for plot in plots::all(report) {
        let figure =
            format!("<figure>\n{}<figcaption>{}</figcaption>\n</figure>\n", plot.svg, escape(&plot.caption));
        section(&mut page, plot.title, &figure);
    }
    section_of(&mut page, "Asked, but not obtained", tables::shortfalls(&shortfalls(report)));
    section_of(&mut page, "Skipped", tables::skipped(&report.skipped));
    list(&mut page, "Remarks", "", &remarks(report));
    section(&mut page, "Method", &format!("<p>{}</p>\n", written(&method(report))));
    section_of(&mut page, "Machine", machine::sheet(&report.machine));
    section_of(&mut page, "Raw runs", tables::raw_runs(report));
    closed(&mut page, &json::tune_block(report));
    page
}

/// The document in a page of ours, as JSON.
pub(crate) fn block(html: &str) -> Result<&str, OpenError> {
    let (_, rest) = html.split_once(DATA_OPENS).ok_or(OpenError::NoData)?;
    let document = rest.split_once(DATA_CLOSES).map(|(text, _)| text);
    document.ok_or_else(|| OpenError::Truncated { line: html.lines().count() })
}

fn advice(page: &mut String, report: &TuneReport) {
    let (words, command) = match verdict::advice(report) {
        Advice::Use(command) => ("From now on:", command),
        Advice::AsItIs(command) => ("From now on, as it is:", command),
        Advice::Open => return,
    };
    let _ = writeln!(page, "<p>{words}</p>\n<pre><code>{}</code></pre>", escape(&command));
}
