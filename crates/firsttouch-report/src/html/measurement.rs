//! A measurement as one HTML file, its document inside.

use super::page::{closed, items, opened, section};
use crate::escape::escape;
use crate::heat::{self, Axis};
use crate::json;
use crate::number::plural;
use crate::plots::Plot;
use crate::plots::matrix;
use firsttouch_machine::Measurement;
use std::fmt::Write as _;

fn figure(page: &mut String, plot: &Plot) {
    let figure =
        format!("<figure>\n{}<figcaption>{}</figcaption>\n</figure>\n", plot.svg, escape(&plot.caption));
    section(page, plot.title, &figure);
}

/// A measurement as one HTML file: a heat map for each kind of value.
pub fn measurement(measurement: &Measurement) -> String {
    let processor = measurement.machine.cpu_model.as_deref().unwrap_or("unknown processor");
    let mut page = opened(&format!("firsttouch measure: {}", processor), "firsttouch measure");
    let nodes = plural(measurement.nodes.len(), "node");
    let _ = writeln!(
        page,
        "<p class=\"verdict\"><strong>{}, {nodes}</strong></p>\n</header>\n<main>",
        escape(processor)
    );
    items(
        &mut page,
        "Disagreements with the firmware",
        " class=\"warnings\"",
        &heat::disagreements(measurement),
    );
    for sheet in heat::sheets(measurement) {
        figure(&mut page, &matrix::plot(&Axis::Nodes(&measurement.nodes), &sheet));
    }
    if let Some(cores) = &measurement.cores {
        items(&mut page, "Core to core, a cache line one way", "", &heat::core_classes(cores));
        if let Some(values) = heat::core_matrix(cores) {
            figure(&mut page, &matrix::plot(&Axis::Cpus(&cores.cpus), &heat::core_sheet(&values)));
        }
    }
    if let Some(latency) = &measurement.page_latency {
        let words = format!(
            "<p>Over {}: {:.1} ns on 4 KiB pages, {:.1} ns on {}.</p>\n",
            firsttouch_placement::format_bytes(latency.size_bytes),
            latency.small_ns,
            latency.huge_ns,
            escape(&heat::kinds(&measurement.pages)),
        );
        section(&mut page, "Page sizes", &words);
    }
    items(&mut page, "Notes", "", &measurement.notes);
    let method = format!("<p>{}; {}.</p>\n", escape(&heat::basis(measurement)), escape(&measurement.date));
    section(&mut page, "Method", &method);
    // No string of the document can end the block: `<` stands in JSON strings only.
    let data = json::block(measurement);
    closed(&mut page, &data);
    page
}
