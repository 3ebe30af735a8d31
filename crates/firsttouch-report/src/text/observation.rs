//! The threads of a process as they were seen, and the CPUs that were chosen for them, in the terminal.

use super::page::Page;
use super::table::{Align, Cell, Table};
use crate::number::{UNKNOWN, percent, plural, seconds, significant};
use crate::style::{Style, Tone};
use firsttouch_documents::ObservationReport;
use firsttouch_placement::Observation;

/// Threads listed; the JSON has all.
const THREADS_SHOWN: usize = 32;

/// What threads did in an interval, where a strategy puts them, and what was done about it.
pub fn observed(report: &ObservationReport, width: usize, style: Style) -> String {
    let seen = observation(&report.observed, report.interval_s, width, style);
    format!("{seen}\n{}", super::attach(&report.attach, width, style))
}

/// What threads did in an interval, and where a strategy puts them.
fn observation(observed: &Observation, interval_s: f64, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    let what = format!(
        "{} of {} busy in {}; {} moves {}: the busiest CPU is asked for {} times what it has, then {}; imbalance {}, then {}",
        observed.busy,
        plural(observed.threads.len(), "thread"),
        seconds(interval_s),
        observed.strategy,
        observed.moved,
        significant(observed.busiest_before, 3),
        significant(observed.busiest_after, 3),
        significant(observed.imbalance_before, 3),
        significant(observed.imbalance_after, 3),
    );
    page.paragraph("", &what, Some(Tone::Strong));
    page.blank();
    let mut table = Table::of([
        ("thread", Align::Right),
        ("name", Align::Left),
        ("ran", Align::Right),
        ("waited", Align::Right),
        ("CPU", Align::Right),
        ("chosen", Align::Right),
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
        page.rows(&table);
    }
    page.left_out("", observed.busy.saturating_sub(THREADS_SHOWN));
    page.text
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_placement::ObservedThread;

    #[test]
    fn threads_are_shown_with_what_they_did_and_where_they_go() {
        let thread = |thread, ran, waited, chosen| ObservedThread {
            thread,
            name: "w\u{1b}[31m".to_owned(),
            start_ticks: 7,
            ran,
            waited,
            cpu: Some(0),
            cpus: vec![0, 1],
            chosen,
        };
        let observed = Observation {
            strategy: "best".to_owned(),
            machine: "m".to_owned(),
            busy: 2,
            moved: 1,
            busiest_before: 2.0,
            busiest_after: 1.0,
            imbalance_before: 1.0,
            imbalance_after: 0.0,
            threads: vec![
                thread(11, 0.5, Some(0.5), Some(1)),
                thread(12, 0.5, None, Some(0)),
                thread(13, 0.0, None, None),
            ],
        };
        let text = observation(&observed, 1.0, 100, Style::Plain);
        assert!(text.starts_with("2 of 3 threads busy in 1.00 s; best moves 1: the busiest CPU"), "{text}");
        let rows: Vec<Vec<&str>> =
            text.lines().rev().take(2).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!((rows[1][0], rows[1][rows[1].len() - 2..].to_vec()), ("11", vec!["0", "1"]), "{text}");
        assert_eq!(rows[0][0], "12");
        assert!(text.contains(UNKNOWN) && !text.contains('\u{1b}') && !text.contains(" 13 "), "{text}");
    }
}
