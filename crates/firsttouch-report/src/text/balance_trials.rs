//! The document's benchmarks, balanced by every strategy, in the terminal.

use super::page::Page;
use super::table::{Align, Cell, Column, Table};
use crate::number::{UNKNOWN, percent, plural, seconds, significant, span};
use crate::style::{Style, Tone};
use firsttouch_balance::trial::{SIZES, TrialReport, TrialRow};

/// A table for each benchmark and machine: times with intervals, the document's beside them, and what moved. Then how
/// long migrations take.
pub fn balance_trials(report: &TrialReport, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    let mut rows = &report.rows[..];
    while let Some(first) = rows.first() {
        let key = (&first.benchmark, &first.machine);
        let count = rows.iter().take_while(|row| (&row.benchmark, &row.machine) == key).count();
        let (these, rest) = rows.split_at(count);
        page.paragraph("", &format!("{} on {}", first.benchmark, first.machine), Some(Tone::Strong));
        page.table(&times(these));
        rows = rest;
    }
    page.paragraph("", "Migration, by the size of a task", Some(Tone::Strong));
    page.table(&migrations(&report.rows));
    let mut facts = vec![format!(
        "simulated: {} of each{}, {} intervals of the mean; loads differ from one to the next",
        plural(report.seeds as usize, "execution"),
        match report.rows.iter().map(|row| row.executions).max() {
            Some(most) if most > report.seeds => format!(" or more (up to {most})"),
            _ => String::new(),
        },
        percent(report.confidence)
    )];
    facts
        .push("the document's times are of other programs on real machines: compare the speedups".to_owned());
    page.list("", &facts, "-", None);
    page.list("left out", &report.missing, "!", Some(Tone::Caution));
    page.list("failed", &report.failed, "!", Some(Tone::Caution));
    page.text
}

fn times(rows: &[TrialRow]) -> Table {
    let mut table = Table::new(vec![
        Column::new("", "", Align::Left),
        Column::new("iteration", "iteration", Align::Right),
        Column::new("iteration", "+-", Align::Right),
        Column::new("iteration", "speedup", Align::Right),
        Column::new("moved", "moved", Align::Right),
        Column::new("moved", "strategy", Align::Right),
        Column::new("document", "document", Align::Right),
        Column::new("document", "speedup", Align::Right),
        Column::new("document", "moved", Align::Right),
    ]);
    let none = |row: &&TrialRow| row.strategy == "none";
    let published = rows.iter().find(none).and_then(|row| row.published_value);
    for row in rows {
        let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        let speedup = row.published_value.zip(published).map(|(time, none)| significant(none / time, 3));
        table.row(vec![
            Cell::new(&row.strategy),
            Cell::new(seconds(row.iteration_s)),
            Cell::new(
                row.ci95.map_or(UNKNOWN.to_owned(), |[_, high]| {
                    percent((high - row.iteration_s) / row.iteration_s)
                }),
            ),
            Cell::new(row.speedup.map_or("-".to_owned(), |speedup| significant(speedup, 3))),
            Cell::new(percent(row.migrated_fraction)),
            Cell::new(span(row.strategy_ms / 1e3)),
            Cell::new(or_dash(row.published_value.map(seconds))),
            Cell::new(or_dash(speedup)),
            Cell::new(or_dash(row.published_migrated_fraction.map(percent))),
        ]);
    }
    table
}

fn migrations(rows: &[TrialRow]) -> Table {
    let mut columns = vec![Column::new("", "", Align::Left)];
    columns.extend(SIZES.iter().map(|(name, _)| Column::new("size", *name, Align::Right)));
    let mut table = Table::new(columns);
    for row in rows.iter().filter(|row| row.strategy != "none") {
        let mut cells = vec![Cell::new(format!("{} {} {}", row.benchmark, row.machine, row.strategy))];
        cells.extend(SIZES.iter().map(|(name, _)| {
            Cell::new(row.migration_s.get(*name).map_or("-".to_owned(), |time| seconds(*time)))
        }));
        table.row(cells);
    }
    table
}
