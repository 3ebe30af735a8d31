//! What a program and the programs that it started had resident: a receipt's tables.

use super::page::Page;
use super::table::{Align, Cell, Column, Table};
use crate::number::{UNKNOWN, bytes, percent, plural};
use firsttouch_placement::{ProcessTree, Resident};

/// Processes listed; the JSON has up to 64.
const PROCESSES_SHOWN: usize = 16;

/// Adds the memory of all processes together by kind, and, where there are several, each by itself.
pub(super) fn add(page: &mut Page, tree: &ProcessTree) {
    let processes = tree.processes.len() as u64 + tree.unlisted;
    page.heading(&match processes {
        0 | 1 => "memory at its peak".to_owned(),
        count => format!("memory of {count} processes at its peak, what they share counted once"),
    });
    page.table(&sums(tree));
    if processes < 2 {
        return;
    }
    page.heading("processes, each at its own peak");
    page.rows(&each(tree));
    let listed = tree.processes.len().min(PROCESSES_SHOWN);
    page.left_out("", tree.processes.len() - listed);
    if tree.unlisted > 0 {
        page.line(
            "",
            &format!(
                "and {}, smaller or too short-lived to be looked at",
                plural(tree.unlisted as usize, "other")
            ),
        );
    }
    page.blank();
}

fn sums(tree: &ProcessTree) -> Table {
    let mut table = Table::of([
        ("resident", Align::Left),
        ("bytes", Align::Right),
        ("on huge pages", Align::Right),
        ("share", Align::Right),
    ]);
    let memory = &tree.at_peak;
    for (label, resident) in [
        ("all but files", memory.of_no_file()),
        ("  private, placed by the agent", memory.placed),
        ("  private, not placed", memory.private),
        ("  shared", memory.shared),
        ("files", memory.files),
    ] {
        table.row(vec![
            Cell::new(label),
            Cell::new(bytes(resident.bytes as f64)),
            Cell::new(bytes(resident.huge_bytes as f64)),
            Cell::new(share(resident)),
        ]);
    }
    table
}

fn each(tree: &ProcessTree) -> Table {
    let mut table = Table::new(vec![
        Column::new("", "process", Align::Right),
        Column::new("kinds", "program", Align::Left),
        Column::new("kinds", "placed", Align::Right),
        Column::new("kinds", "private", Align::Right),
        Column::new("kinds", "shared", Align::Right),
        Column::new("", "files", Align::Right),
        Column::new("", "huge", Align::Right),
    ]);
    for process in tree.processes.iter().take(PROCESSES_SHOWN) {
        let memory = &process.memory;
        let name = process.program.rsplit('/').next().unwrap_or_default();
        let kinds = [memory.placed, memory.private, memory.shared, memory.files];
        let mut row = vec![Cell::new(process.pid.to_string()), Cell::new(name)];
        row.extend(kinds.map(|resident| Cell::new(bytes(resident.bytes as f64))));
        row.push(Cell::new(share(memory.of_no_file())));
        table.row(row);
    }
    table
}

fn share(resident: Resident) -> String {
    resident.huge_share().map_or(UNKNOWN.to_owned(), percent)
}
