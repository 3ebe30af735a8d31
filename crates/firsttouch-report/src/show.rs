//! Any document in any format that it has.

use crate::{Style, csv, html, markdown, plots, text};
use firsttouch_documents::{AnyDocument, Kind};
use std::fmt;

/// A form in which a document can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For the terminal, in so many columns.
    Text {
        /// The columns.
        width: usize,
        /// With or without colour.
        style: Style,
    },
    /// The document itself.
    Json,
    /// Comma-separated values.
    Csv,
    /// Markdown.
    Markdown,
    /// One page that holds the document, too.
    Html,
    /// A figure alone.
    Svg,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Text { .. } => "text",
            Format::Json => "JSON",
            Format::Csv => "CSV",
            Format::Markdown => "Markdown",
            Format::Html => "HTML",
            Format::Svg => "SVG",
        })
    }
}

/// The formats that documents of a kind have besides text and JSON, which all have.
pub fn formats(kind: Kind) -> &'static [Format] {
    match kind {
        Kind::Tune | Kind::ShortestPathsBench => &[Format::Csv, Format::Markdown, Format::Html],
        Kind::Recording => &[Format::Csv, Format::Html, Format::Svg],
        Kind::Measurement => &[Format::Html],
        Kind::Runtime => &[Format::Svg],
        _ => &[],
    }
}

/// A document in a format; `None` where its kind has no such ([`formats`]).
pub fn show(document: &AnyDocument, format: Format) -> Option<String> {
    match (format, document) {
        (Format::Text { width, style }, _) => Some(as_text(document, width, style)),
        (Format::Json, _) => Some(document.to_json()),
        (Format::Csv, AnyDocument::Tune(report)) => Some(csv::tune(report)),
        (Format::Csv, AnyDocument::ShortestPathsBench(report)) => Some(csv::tune(&report.session)),
        (Format::Csv, AnyDocument::Recording(recording)) => Some(csv::recording(recording)),
        (Format::Markdown, AnyDocument::Tune(report)) => Some(markdown::tune(report)),
        (Format::Markdown, AnyDocument::ShortestPathsBench(report)) => Some(markdown::tune(&report.session)),
        (Format::Html, AnyDocument::Tune(report)) => Some(html::tune(report)),
        (Format::Html, AnyDocument::ShortestPathsBench(report)) => Some(html::tune(&report.session)),
        (Format::Html, AnyDocument::Recording(recording)) => Some(html::recording(recording)),
        (Format::Html, AnyDocument::Measurement(measurement)) => Some(html::measurement(measurement)),
        (Format::Svg, AnyDocument::Recording(recording)) => {
            let label = format!("Process {} over time", recording.header.pid);
            Some(plots::timeline::figure(recording, &label))
        }
        (Format::Svg, AnyDocument::Runtime(account)) => {
            Some(plots::workers::figure(account, "Workers over time"))
        }
        _ => None,
    }
}

fn as_text(document: &AnyDocument, width: usize, style: Style) -> String {
    match document {
        AnyDocument::Receipt(receipt) => text::receipt(receipt, width, style),
        AnyDocument::Tune(report) => text::tune(report, width, style),
        AnyDocument::Attach(report) => text::attach(report, width, style),
        AnyDocument::AttachList(list) => text::attached(&list.journals),
        AnyDocument::AttachForgotten(forgotten) => text::attach_forgotten(forgotten),
        AnyDocument::Observation(report) => text::observed(report, width, style),
        AnyDocument::Recording(recording) => text::recording(recording, width, style),
        AnyDocument::Measurement(measurement) => text::measurement(measurement, width, style),
        AnyDocument::Measurements(kept) => {
            let texts = kept.measurements.iter().map(|one| text::measurement(one, width, style));
            texts.collect::<Vec<_>>().join("\n")
        }
        AnyDocument::Fill(report) => text::filling(report, width, style),
        AnyDocument::Status(report) => text::status(report, width),
        AnyDocument::Explain(explanation) => text::explanation(&explanation.findings, width, style),
        AnyDocument::Lab(report) => text::lab(report, width, style),
        AnyDocument::LabList(list) => text::lab_list(list),
        AnyDocument::Graph(report) => text::graph(report),
        AnyDocument::MemoryEstimate(report) => text::memory_estimate(report),
        AnyDocument::ShortestPaths(report) => text::search(report, width, style),
        AnyDocument::ShortestPathsMerge(report) => text::merge(report, width, style),
        AnyDocument::ShortestPathsBench(report) => text::search_bench(report, width, style),
        AnyDocument::Balance(report) => text::balance(report, width, style),
        AnyDocument::BalanceTrial(report) => text::balance_trials(report, width, style),
        AnyDocument::Runtime(account) => text::runtime(account, width, style),
        AnyDocument::Region(receipt) => text::region(receipt, width, style),
    }
}
