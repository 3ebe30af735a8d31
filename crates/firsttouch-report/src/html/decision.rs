//! What was measured elsewhere, decided, as one HTML file with its document inside.

use super::page::{DATA_CLOSES, DATA_OPENS, STYLE, items, list, section, written};
use crate::decision::{Sheet, headlines, sheets, warnings};
use crate::escape::escape;
use crate::json;
use firsttouch_documents::DecisionReport;
use firsttouch_experiment::Verdict;
use std::fmt::Write as _;

/// A decision as one HTML file.
pub fn decision(report: &DecisionReport) -> String {
    let mut page = String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
    let _ = writeln!(
        page,
        "<title>firsttouch report --decide</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>firsttouch report --decide</h1>"
    );
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
    // No string of the document can end the block: `<` stands in JSON strings only.
    let data = json::block(report);
    let _ = writeln!(page, "</main>\n{DATA_OPENS}{data}{DATA_CLOSES}\n</body>\n</html>");
    page
}

fn table(sheet: &Sheet) -> String {
    let class = |numeric: bool| if numeric { " class=\"n\"" } else { "" };
    let titles: String = sheet
        .columns
        .iter()
        .map(|column| format!("<th scope=\"col\"{}>{}</th>", class(column.numeric), escape(column.title)))
        .collect();
    let mut table = format!("<div class=\"scroll\"><table>\n<thead><tr>{titles}</tr></thead>\n<tbody>\n");
    for row in &sheet.rows {
        let cells: String = sheet
            .columns
            .iter()
            .skip(1)
            .zip(&row.cells)
            .map(|(column, cell)| format!("<td{}>{}</td>", class(column.numeric), escape(cell)))
            .collect();
        let _ = writeln!(table, "<tr><th scope=\"row\"><code>{}</code></th>{cells}</tr>", escape(&row.name));
    }
    table.push_str("</tbody>\n</table></div>\n");
    table
}
