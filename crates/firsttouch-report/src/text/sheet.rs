//! Tables in the terminal.

use super::page::Page;
use super::table::{Align, Cell, Column, Table};
use crate::sheet::{Sheet, SheetRow};
use crate::style::Tone;
use firsttouch_experiment::Verdict;

impl Page {
    /// A table under its caption, and a blank line.
    pub(super) fn sheet(&mut self, sheet: &Sheet) {
        if let Some(caption) = &sheet.caption {
            self.heading(&caption.plain());
        }
        self.table(&table(sheet));
    }
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
        let indent = if row.is_below { "  " } else { "" };
        let name = format!("{indent}{}", row.name.bare());
        table.row([Cell::new(&name)].into_iter().chain(cells).collect());
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
