//! What was measured elsewhere, decided, in the terminal.

use super::table::{Align, Cell, Column, Table};
use super::{NARROWEST, Page, tone_of};
use crate::decision::{Sheet, SheetRow, headlines, sheets, warnings};
use crate::sentence::Sentence;
use crate::style::{Style, Tone};
use firsttouch_documents::DecisionReport;
use firsttouch_experiment::Verdict;

/// A sentence for each configuration, a table over sessions and one for each session, warnings and notes.
pub fn decision(report: &DecisionReport, width: usize, style: Style) -> String {
    let mut page = Page { text: String::new(), width: width.max(NARROWEST), style };
    for headline in headlines(report) {
        page.paragraph("", &headline.sentence.plain(), tone_of(headline.outcome));
    }
    page.blank();
    for sheet in sheets(report) {
        if let Some(caption) = &sheet.caption {
            page.heading(&caption.plain());
        }
        let table = table(&sheet).print(page.width, style);
        page.text.push_str(&table);
        page.blank();
    }
    let warnings: Vec<String> = warnings(report).iter().map(Sentence::plain).collect();
    page.list("warnings", &warnings, "!", Some(Tone::Caution));
    page.list("notes", &report.comparison.notes, "-", None);
    let files: Vec<String> =
        report.sources.iter().map(|source| format!("{} ({})", source.file, source.format)).collect();
    page.paragraph("", &files.join(", "), Some(Tone::Faint));
    page.text
}

fn table(sheet: &Sheet) -> Table {
    let align = |numeric| if numeric { Align::Right } else { Align::Left };
    let columns = sheet.columns.iter();
    let mut table = Table::new(
        columns.map(|column| Column::new(column.group, column.title, align(column.numeric))).collect(),
    );
    for row in &sheet.rows {
        let verdict = sheet.columns.iter().position(|column| column.title == "verdict");
        let cell = |(place, text): (usize, &String)| match tone(row).filter(|_| Some(place + 1) == verdict) {
            Some(tone) => Cell::toned(text, tone),
            None => Cell::new(text),
        };
        let cells = row.cells.iter().enumerate().map(cell);
        table.row([Cell::new(&row.name)].into_iter().chain(cells).collect());
    }
    table
}

fn tone(row: &SheetRow) -> Option<Tone> {
    match row.verdict {
        Some(Verdict::Faster) => Some(Tone::Good),
        Some(Verdict::Slower) => Some(Tone::Bad),
        Some(Verdict::Same) => None,
        None if row.is_baseline => Some(Tone::Faint),
        None => Some(Tone::Caution),
    }
}
