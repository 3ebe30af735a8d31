//! A recording in the terminal: every value at first, at last, at its least and its most, and its course.

use super::page::Page;
use super::table::{Align, Cell, Column, Table};
use crate::account::Account;
use crate::series::{panels, sparkline};
use crate::shell;
use crate::style::{Style, Tone};
use crate::visible::visible;
use firsttouch_documents::Recording;

/// Columns of a value's course.
const COURSE: usize = 24;

/// What was seen over time.
pub fn recording(recording: &Recording, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    page.heading(&visible(&shell::command(&recording.header.command)));
    let account = Account::of(recording);
    page.paragraph("", &account.headline, None);
    page.blank();
    let panels = panels(recording);
    if !panels.is_empty() {
        let mut table = Table::new(vec![
            Column::new("", "", Align::Left),
            Column::new("ends", "first", Align::Right),
            Column::new("ends", "last", Align::Right),
            Column::new("extremes", "least", Align::Right),
            Column::new("extremes", "most", Align::Right),
            Column::new("course", "over time", Align::Left),
        ]);
        for panel in &panels {
            for series in &panel.series {
                let ends = series.ends();
                let mut cells = vec![Cell::new(series.name_in(panel))];
                cells.extend(ends.map(|value| Cell::new(panel.unit.words(value))));
                let values: Vec<f64> = series.points.iter().map(|point| point.value).collect();
                cells.push(Cell::toned(sparkline(&values, (ends[2].min(0.0), ends[3]), COURSE), Tone::Good));
                table.row(cells);
            }
        }
        page.table(&table);
    }
    page.list("notes", &account.notes, "!", Some(Tone::Caution));
    page.paragraph("", &account.footer, Some(Tone::Faint));
    page.text
}
