//! What a mapping of tasks is worth, in the terminal.

use super::page::Page;
use super::table::{Align, Cell, Column, Table};
use crate::number::{bytes, count, percent, plural, seconds, significant, span};
use crate::style::{Style, Tone};
use firsttouch_balance::{BalanceReport, Metrics};

/// Makespan, traffic and migrations of a mapping, beside those of the start where a strategy made it.
pub fn balance(report: &BalanceReport, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    let what = format!(
        "{} on {} of {}, {} talk",
        plural(report.tasks, "task"),
        plural(report.cores, "core"),
        report.machine,
        plural(report.pairs, "pair")
    );
    page.paragraph("", &what, Some(Tone::Strong));
    page.blank();
    page.table(&table(report));
    let mut facts = Vec::new();
    if let (Some(strategy), Some(time)) = (&report.strategy, report.strategy_s) {
        let migrations = &report.after.migrations;
        facts.push(format!(
            "{strategy} moved {} ({}, {}) in {}",
            plural(migrations.tasks, "task"),
            percent(migrations.fraction),
            bytes(migrations.bytes as f64),
            span(time)
        ));
    }
    if let Some(alpha) = &report.alpha {
        facts.push(format!("alpha: {:e} seconds for a {}", alpha.seconds, alpha.per));
    }
    if report.rounds > 0 {
        facts.push(format!("{} after the first answer", plural(report.rounds as usize, "round")));
    }
    if report.cut_short {
        facts.push("the time limit ended the search: another run may find another mapping".to_owned());
    }
    if report.after.memory_over > 0 {
        facts.push(format!(
            "{} do not fit into the memory of their nodes",
            bytes(report.after.memory_over as f64)
        ));
    }
    page.list("strategy", &facts, "-", None);
    if !report.front.is_empty() {
        page.blank();
        page.rows(&front(report));
    }
    page.text
}

fn table(report: &BalanceReport) -> Table {
    let solved = report.strategy.is_some();
    let mut columns = vec![Column::new("", "", Align::Left)];
    if solved {
        columns.push(Column::new("", "before", Align::Right));
    }
    columns.push(Column::new("", if solved { "after" } else { "value" }, Align::Right));
    let mut table = Table::new(columns);
    let mut row = |name: String, value: &dyn Fn(&Metrics) -> String| {
        let mut cells = vec![Cell::new(name)];
        if solved {
            cells.push(Cell::new(value(&report.before)));
        }
        cells.push(Cell::new(value(&report.after)));
        table.row(cells);
    };
    row("makespan".to_owned(), &|metrics| seconds(metrics.makespan_s));
    row("lower bound".to_owned(), &|metrics| seconds(metrics.lower_bound_s));
    row("imbalance".to_owned(), &|metrics| significant(metrics.imbalance, 6));
    row("sum of work".to_owned(), &|metrics| seconds(metrics.total_s));
    if report.pairs > 0 {
        row("bytes times distance".to_owned(), &|metrics| count(metrics.cost));
        row("per byte".to_owned(), &|metrics| {
            metrics.cost_per_byte.map_or("-".to_owned(), |cost| significant(cost, 4))
        });
        for (place, level) in report.after.levels.iter().enumerate() {
            let traffic = move |metrics: &Metrics| {
                let level = &metrics.levels[place];
                format!("{} in {}", bytes(level.bytes), count(level.messages))
            };
            row(format!("{}: bytes in messages", level.level), &traffic);
        }
    }
    table
}

fn front(report: &BalanceReport) -> Table {
    let mut table = Table::new(vec![
        Column::new("trade-offs", "makespan", Align::Right),
        Column::new("trade-offs", "bytes times distance", Align::Right),
        Column::new("trade-offs", "migrations", Align::Right),
    ]);
    for point in &report.front {
        table.row(vec![
            Cell::new(seconds(point.makespan_s)),
            Cell::new(count(point.cost)),
            Cell::new(point.migrations.to_string()),
        ]);
    }
    table
}
