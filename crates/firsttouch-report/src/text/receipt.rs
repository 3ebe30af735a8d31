//! One receipt on the terminal: asked, obtained, and the reason for the difference.

use super::page::Page;
use super::table::{Align, Cell, Table};
use super::tree;
use crate::cells::{asked, other_means, receipt_words, total};
use crate::number::{UNKNOWN, percent, plural};
use crate::style::{Style, Tone};
use firsttouch_placement::{Obtained, Receipt, ThreadReport, format_bytes, format_order};

/// Blocks listed; the JSON has up to 64.
const BLOCKS_SHOWN: usize = 10;
/// Threads listed; the JSON has up to 256.
const THREADS_SHOWN: usize = 32;

/// A receipt: asked, obtained by page size and node, shortfalls with their remedies, the largest blocks.
pub fn receipt(receipt: &Receipt, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    page.paragraph("program   ", &receipt.program, None);
    page.paragraph("asked     ", &asked(Some(&receipt.asked)), None);
    page.paragraph(
        "obtained  ",
        &receipt_words(receipt),
        Some(if receipt.shortfalls.is_empty() { Tone::Good } else { Tone::Strong }),
    );
    if let Some(cpus) = &receipt.cpus_obtained {
        page.paragraph("on CPUs   ", &format_order(cpus), None);
    }
    page.paragraph("via       ", receipt.via.word(), None);
    if let Some(ending) = &receipt.ending {
        page.paragraph("ended     ", ending, None);
    }
    page.blank();
    if let Some(tree) = &receipt.tree {
        tree::add(&mut page, tree);
    }
    if let Some(obtained) = &receipt.obtained {
        page.heading("placed memory at its peak");
        page.table(&obtained_table(obtained));
        // Seen from outside only, nobody counted them.
        if obtained.placed_blocks > 0 {
            page.paragraph("", &served(obtained), Some(Tone::Faint));
            page.blank();
        }
    }
    if let Some(threads) =
        receipt.obtained.as_ref().map(|obtained| &obtained.threads).filter(|t| !t.is_empty())
    {
        page.heading("threads");
        page.rows(&threads_table(threads));
        page.left_out("", threads.len().saturating_sub(THREADS_SHOWN));
        page.blank();
    }
    if !receipt.shortfalls.is_empty() {
        page.heading("asked, but not obtained");
        page.missed(&receipt.shortfalls);
        page.blank();
    }
    let means = other_means(receipt, Some(&receipt.asked));
    let notes: Vec<String> = means.into_iter().chain(receipt.notes.iter().cloned()).collect();
    page.list("remarks", &notes, "-", None);
    if !receipt.blocks.is_empty() {
        page.heading("largest blocks");
        page.rows(&blocks_table(receipt));
        page.left_out("", receipt.blocks.len().saturating_sub(BLOCKS_SHOWN));
        page.blank();
    }
    if !receipt.complete {
        page.paragraph("! ", incomplete(receipt), Some(Tone::Caution));
    }
    page.finish()
}

/// What a receipt is worth whose program did not end by itself.
fn incomplete(receipt: &Receipt) -> &'static str {
    if receipt.obtained.is_some() || receipt.tree.is_some() {
        "The program did not end by itself: this is the last reading before."
    } else {
        "The program did not end by itself, and nothing could be read before."
    }
}

/// What the agent counted over the life of the program.
fn served(obtained: &Obtained) -> String {
    format!(
        "{} placed in {} at the peak of {}; {} held for reuse at most, which served {} with {}",
        format_bytes(obtained.placed_bytes),
        plural(obtained.placed_blocks as usize, "allocation"),
        format_bytes(obtained.peak_bytes),
        format_bytes(obtained.held_bytes),
        plural(obtained.recycled_blocks as usize, "allocation"),
        format_bytes(obtained.recycled_bytes),
    )
}

fn obtained_table(obtained: &Obtained) -> Table {
    let mut table =
        Table::of([("resident bytes", Align::Left), ("placed", Align::Right), ("share", Align::Right)]);
    let placed = &obtained.bytes_by_page_size;
    for (size, bytes) in placed.iter().rev() {
        table.row(share_row(&format!("on {} pages", format_bytes(*size)), *bytes, total(placed)));
    }
    match &obtained.bytes_by_node {
        Some(nodes) => {
            for (node, bytes) in nodes {
                table.row(share_row(&format!("on node {node}"), *bytes, total(nodes)));
            }
        }
        None => table.row(vec![Cell::new("by node"), Cell::new("unknown"), Cell::new(UNKNOWN)]),
    }
    table
}

fn share_row(label: &str, bytes: u64, all: f64) -> Vec<Cell> {
    vec![
        Cell::new(label),
        Cell::new(format_bytes(bytes)),
        Cell::new(if all > 0.0 { percent(bytes as f64 / all) } else { UNKNOWN.to_owned() }),
    ]
}

fn threads_table(threads: &[ThreadReport]) -> Table {
    let mut table = Table::of([
        ("thread", Align::Right),
        ("name", Align::Left),
        ("CPU asked", Align::Right),
        ("CPUs obtained", Align::Right),
    ]);
    for thread in threads.iter().take(THREADS_SHOWN) {
        let obtained = thread.cpus_obtained.as_ref().map_or(UNKNOWN.to_owned(), |cpus| format_order(cpus));
        table.row(vec![
            Cell::new(thread.number.to_string()),
            Cell::new(thread.name.as_deref().unwrap_or("(ended; as it was bound)")),
            Cell::new(thread.cpu_asked.map_or(UNKNOWN.to_owned(), |cpu| cpu.to_string())),
            Cell::new(obtained),
        ]);
    }
    table
}

fn blocks_table(receipt: &Receipt) -> Table {
    let mut table = Table::of([
        ("block", Align::Right),
        ("address", Align::Left),
        ("bytes", Align::Right),
        ("on huge pages", Align::Right),
    ]);
    for block in receipt.blocks.iter().take(BLOCKS_SHOWN) {
        let share = match block.huge_bytes.filter(|_| block.bytes > 0) {
            Some(huge_bytes) => percent(huge_bytes as f64 / block.bytes as f64),
            None => UNKNOWN.to_owned(),
        };
        table.row(vec![
            Cell::new(block.id.to_string()),
            Cell::new(&block.address),
            Cell::new(format_bytes(block.bytes)),
            Cell::new(share),
        ]);
    }
    table
}
