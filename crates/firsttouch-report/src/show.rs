//! Any document in any format that it has.

use crate::{Style, csv, html, json, markdown, plots, text};
use firsttouch_documents::AnyDocument;
use firsttouch_placement::TuneReport;
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

/// Makes a document's text in a format.
type Render<'a> = Box<dyn Fn() -> String + 'a>;

/// What a document has besides text and JSON, which all have.
fn exports(document: &AnyDocument) -> Vec<(Format, Render<'_>)> {
    match document {
        AnyDocument::Tune(report) => of_session(report),
        AnyDocument::Bench(report) => vec![
            (Format::Csv, Box::new(|| csv::bench(report))),
            (Format::Markdown, Box::new(|| markdown::bench(report))),
            (Format::Html, Box::new(|| html::bench(report))),
        ],
        AnyDocument::Decision(report) => vec![
            (Format::Csv, Box::new(|| csv::decision(report))),
            (Format::Markdown, Box::new(|| markdown::decision(report))),
            (Format::Html, Box::new(|| html::decision(report))),
        ],
        AnyDocument::Doctor(report) => vec![
            (Format::Markdown, Box::new(|| markdown::doctor(report))),
            (Format::Html, Box::new(|| html::doctor(report))),
        ],
        AnyDocument::Recording(recording) => vec![
            (Format::Csv, Box::new(|| csv::recording(recording))),
            (Format::Html, Box::new(|| html::recording(recording))),
            (Format::Svg, Box::new(|| plots::timeline::figure(recording))),
        ],
        AnyDocument::Measurement(measurement) => {
            vec![(Format::Html, Box::new(|| html::measurement(measurement)))]
        }
        AnyDocument::Runtime(account) => {
            vec![(Format::Svg, Box::new(|| plots::workers::figure(account, "Workers over time")))]
        }
        _ => Vec::new(),
    }
}

fn of_session(report: &TuneReport) -> Vec<(Format, Render<'_>)> {
    vec![
        (Format::Csv, Box::new(|| csv::tune(report))),
        (Format::Markdown, Box::new(|| markdown::tune(report))),
        (Format::Html, Box::new(|| html::tune(report))),
    ]
}

/// The formats that a document has besides text and JSON, which all have.
pub fn formats(document: &AnyDocument) -> Vec<Format> {
    exports(document).into_iter().map(|(format, _)| format).collect()
}

/// A document in a format; `None` where it has no such ([`formats`]).
pub fn show(document: &AnyDocument, format: Format) -> Option<String> {
    match (format, document) {
        (Format::Text { width, style }, _) => Some(as_text(document, width, style)),
        (Format::Json, AnyDocument::Tune(report)) => Some(json::tune(report)),
        (Format::Json, AnyDocument::Bench(report)) => Some(json::bench(report)),
        (Format::Json, _) => Some(document.to_json()),
        _ => exports(document).into_iter().find(|(one, _)| *one == format).map(|(_, render)| render()),
    }
}

fn as_text(document: &AnyDocument, width: usize, style: Style) -> String {
    match document {
        AnyDocument::Receipt(receipt) => text::receipt(receipt, width, style),
        AnyDocument::Job(report) => text::job(report, width, style),
        AnyDocument::Tune(report) => text::tune(report, width, style),
        AnyDocument::Bench(report) => text::bench(report, width, style),
        AnyDocument::CaseList(list) => text::case_list(list, width, style),
        AnyDocument::Decision(report) => text::decision(report, width, style),
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
        AnyDocument::Doctor(report) => text::doctor(report, width, style),
        AnyDocument::Setup(report) => text::setup(report, width, style),
        AnyDocument::Lab(report) => text::lab(report, width, style),
        AnyDocument::LabList(list) => text::lab_list(list),
        AnyDocument::Graph(report) => text::graph(report),
        AnyDocument::MemoryEstimate(report) => text::memory_estimate(report),
        AnyDocument::ShortestPaths(report) => text::search(report, width, style),
        AnyDocument::ShortestPathsMerge(report) => text::merge(report, width, style),
        AnyDocument::Balance(report) => text::balance(report, width, style),
        AnyDocument::BalanceTrial(report) => text::balance_trials(report, width, style),
        AnyDocument::Runtime(account) => text::runtime(account, width, style),
        AnyDocument::Region(receipt) => text::region(receipt, width, style),
    }
}
