//! What was measured elsewhere, decided, as one HTML file with its document inside.

use super::page::{closed, items, list, opened, section, written};
use super::sheet::table;
use crate::decision::{headlines, sheets, warnings};
use crate::json;
use firsttouch_documents::DecisionReport;
use firsttouch_experiment::Verdict;
use std::fmt::Write as _;

/// A decision as one HTML file.
pub fn decision(report: &DecisionReport) -> String {
    let mut page = opened("firsttouch report --decide", "firsttouch report --decide");
    for headline in headlines(report) {
        let class = match headline.outcome {
            Some(Verdict::Faster) => " faster",
            Some(Verdict::Slower) => " slower",
            None => " undecided",
            Some(Verdict::Same) => "",
        };
        let _ = writeln!(
            page,
            "<p class=\"verdict{class}\"><strong>{}</strong></p>",
            written(&headline.sentence)
        );
    }
    page.push_str("</header>\n<main>\n");
    list(&mut page, "Warnings", " class=\"warnings\"", &warnings(report));
    for sheet in sheets(report) {
        let heading = sheet.caption.as_ref().map_or("Configurations".to_owned(), written);
        section(&mut page, &heading, &table(&sheet));
    }
    items(&mut page, "Notes", "", &report.comparison.notes);
    let files: Vec<String> =
        report.sources.iter().map(|source| format!("{} ({})", source.file, source.format)).collect();
    items(&mut page, "Files", "", &files);
    closed(&mut page, &json::block(report));
    page
}
