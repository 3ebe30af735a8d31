//! What was measured elsewhere, decided, in the terminal.

use super::page::Page;
use super::tone_of;
use crate::decision::{headlines, sheets, warnings};
use crate::sentence::Sentence;
use crate::style::{Style, Tone};
use firsttouch_documents::DecisionReport;

/// A sentence for each configuration, a table over sessions and one for each session, warnings and notes.
pub fn decision(report: &DecisionReport, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    for headline in headlines(report) {
        page.paragraph("", &headline.sentence.plain(), tone_of(headline.outcome));
    }
    page.blank();
    for sheet in sheets(report) {
        page.sheet(&sheet);
    }
    let warnings: Vec<String> = warnings(report).iter().map(Sentence::plain).collect();
    page.list("warnings", &warnings, "!", Some(Tone::Caution));
    page.list("notes", &report.comparison.notes, "-", None);
    let files: Vec<String> =
        report.sources.iter().map(|source| format!("{} ({})", source.file, source.format)).collect();
    page.paragraph("", &files.join(", "), Some(Tone::Faint));
    page.text
}
