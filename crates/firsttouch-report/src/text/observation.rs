//! The threads of a process as they were seen, and the CPUs that were chosen for them, in the terminal.

use super::table::{Align, Cell, Column, Table};
use super::{NARROWEST, Page};
use crate::number::{UNKNOWN, percent, plural, seconds, significant};
use crate::style::{Style, Tone};
use firsttouch_placement::Observation;
use std::time::Duration;

/// Threads listed; the JSON has all.
const THREADS_SHOWN: usize = 32;

/// What threads did in an interval, and where a strategy puts them.
pub fn observation(observed: &Observation, interval: Duration, width: usize, style: Style) -> String {
    let mut page = Page { text: String::new(), width: width.max(NARROWEST), style };
    let what = format!(
        "{} of {} busy in {}; {} moves {}: the busiest CPU is asked for {} of its time, then {}; imbalance {}, then {}",
        observed.busy,
        plural(observed.threads.len(), "thread"),
        seconds(interval.as_secs_f64()),
        observed.strategy,
        observed.moved,
        percent(observed.busiest_before),
        percent(observed.busiest_after),
        significant(observed.imbalance_before, 3),
        significant(observed.imbalance_after, 3),
    );
    page.paragraph("", &what, Some(Tone::Strong));
    page.blank();
    let mut table = Table::new(vec![
        Column::new("", "thread", Align::Right),
        Column::new("", "name", Align::Left),
        Column::new("", "ran", Align::Right),
        Column::new("", "waited", Align::Right),
        Column::new("", "CPU", Align::Right),
        Column::new("", "chosen", Align::Right),
    ]);
    for thread in observed.threads.iter().take(observed.busy.min(THREADS_SHOWN)) {
        let number = |value: Option<u32>| Cell::new(value.map_or(UNKNOWN.to_owned(), |cpu| cpu.to_string()));
        table.row(vec![
            Cell::new(thread.thread.to_string()),
            Cell::new(&thread.name),
            Cell::new(percent(thread.ran)),
            Cell::new(thread.waited.map_or(UNKNOWN.to_owned(), percent)),
            number(thread.cpu),
            number(thread.chosen.or(thread.cpu)),
        ]);
    }
    if observed.busy > 0 {
        page.text.push_str(&table.print(page.width, style));
    }
    if observed.busy > THREADS_SHOWN {
        page.line("", &format!("and {} more in the JSON", observed.busy - THREADS_SHOWN));
    }
    page.text
}
