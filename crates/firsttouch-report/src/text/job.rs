//! The ranks of a job in the terminal.

use super::page::Page;
use super::table::{Align, Cell, Table};
use crate::cells::total;
use crate::number::{UNKNOWN, percent, plural, significant};
use crate::style::{Style, Tone};
use firsttouch_documents::{JobRank, JobReport};
use firsttouch_placement::format_order;

/// A line for each rank: threads, seconds and CPUs, where its pages lie, what it did not obtain; then who differs, and who is missing.
pub fn job(report: &JobReport, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    let launcher = report.launcher.as_deref().unwrap_or("no launcher");
    let left = report.ranks.len();
    let summary =
        format!("{left} of {} by {launcher}, job {}", plural(report.size as usize, "rank"), report.job);
    page.paragraph("", &summary, Some(Tone::Strong));
    page.blank();
    let mut table = Table::of([
        ("rank", Align::Right),
        ("host", Align::Left),
        ("threads", Align::Right),
        ("seconds", Align::Right),
        ("busy CPUs", Align::Right),
        ("on CPUs", Align::Left),
        ("by node", Align::Left),
        ("by page", Align::Left),
        ("not obtained", Align::Left),
    ]);
    report.ranks.iter().for_each(|rank| table.row(row(rank)));
    if !report.ranks.is_empty() {
        page.table(&table);
    }
    page.list("who differs", &report.differs, "-", None);
    if !report.missing.is_empty() {
        let missing = format_order(&report.missing);
        let what = format!("rank {missing} left no receipt: it was killed before it could, or has not ended");
        page.paragraph("! ", &what, Some(Tone::Caution));
    }
    page.finish()
}

fn row(rank: &JobRank) -> Vec<Cell> {
    let unknown = || UNKNOWN.to_owned();
    let obtained = rank.receipt.obtained.as_ref();
    let nodes = obtained.and_then(|obtained| obtained.bytes_by_node.as_ref());
    let nodes = nodes.map(|nodes| {
        let all = total(nodes);
        shares(nodes.iter().map(|(node, bytes)| (format!("node {node}"), *bytes)), all)
    });
    let pages = obtained.map(|obtained| &obtained.bytes_by_page_size);
    let pages = pages.map(|pages| {
        let size = |(size, bytes): (&u64, &u64)| (firsttouch_placement::format_bytes(*size), *bytes);
        shares(pages.iter().rev().map(size), total(pages))
    });
    vec![
        Cell::new(rank.rank.to_string()),
        Cell::new(&rank.host),
        Cell::new(rank.threads().map_or_else(unknown, |threads| threads.to_string())),
        Cell::new(significant(rank.seconds, 3)),
        Cell::new(if rank.seconds > 0.0 { significant(rank.cpu_s / rank.seconds, 2) } else { unknown() }),
        Cell::new(rank.cpus().map_or_else(unknown, |cpus| format_order(&cpus))),
        Cell::new(nodes.unwrap_or_else(unknown)),
        Cell::new(pages.unwrap_or_else(unknown)),
        Cell::new(rank.reasons().join(", ")),
    ]
}

/// What has more than a hundredth of it.
fn shares(parts: impl Iterator<Item = (String, u64)>, all: f64) -> String {
    let shares = parts.filter(|(_, bytes)| *bytes as f64 > all / 100.0);
    let shares: Vec<String> =
        shares.map(|(name, bytes)| format!("{name} {}", percent(bytes as f64 / all))).collect();
    if shares.is_empty() { UNKNOWN.to_owned() } else { shares.join(", ") }
}
