//! Ways to search, compared, in the terminal.

use super::table::{Align, Cell, Column, Table};
use super::{NARROWEST, Page};
use crate::number::{UNKNOWN, bytes, count, mean_seconds, percent, plural, ratio};
use crate::style::{Style, Tone};
use crate::verdict;
use firsttouch_documents::{GraphReceipt, SearchBench, SearchVariant};
use firsttouch_placement::format_bytes;

/// One line for each variant: time of all queries, edges per second, ratio to the first and verdict.
pub fn search_bench(report: &SearchBench, width: usize, style: Style) -> String {
    let mut page = Page { text: String::new(), width: width.max(NARROWEST), style };
    let graph = &report.graph;
    let what = format!(
        "{}: {} nodes, {} arcs, {}; {} each run",
        report.name,
        graph.nodes,
        graph.arcs,
        bytes(graph.bytes as f64),
        plural(report.queries, "source")
    );
    page.paragraph("", &what, Some(Tone::Strong));
    page.blank();
    let mut table = Table::new(vec![
        Column::new("", "variant", Align::Left),
        Column::new("", "threads", Align::Right),
        Column::new("time", "time", Align::Right),
        Column::new("time", "edges/s", Align::Right),
        Column::new("", "obtained", Align::Left),
        Column::new("proved", "times as fast", Align::Right),
        Column::new("proved", "verdict", Align::Left),
        Column::new("proved", "runs", Align::Right),
    ]);
    let proved = report.session.configurations.iter().map(|one| &one.proved);
    for (index, (variant, proved)) in report.variants.iter().zip(proved).enumerate() {
        let or_unknown = |text: Option<String>| text.unwrap_or_else(|| UNKNOWN.to_owned());
        table.row(vec![
            Cell::new(&variant.name),
            Cell::new(variant.threads.to_string()),
            Cell::new(or_unknown(
                (!proved.runs.is_empty()).then(|| mean_seconds(proved.mean_wall_s, proved.deviation_wall_s)),
            )),
            Cell::new(or_unknown(variant.teps.map(count))),
            Cell::new(or_unknown(variant.receipt.as_ref().and_then(obtained))),
            Cell::new(proved.ratio.as_ref().map_or_else(String::new, ratio)),
            Cell::new(if index == 0 {
                "what others are compared with".to_owned()
            } else {
                verdict::word(&report.session, proved.verdict(), false).to_owned()
            }),
            Cell::new(proved.runs.len().to_string()),
        ]);
    }
    page.text.push_str(&table.print(page.width, style));
    let short: Vec<String> = report.variants.iter().flat_map(shortfalls).collect();
    if !short.is_empty() {
        page.blank();
        page.list("not obtained", &short, "!", Some(Tone::Caution));
    }
    let skipped: Vec<String> = report
        .session
        .skipped
        .iter()
        .map(|skipped| {
            let remedy = skipped.remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
            format!("{}: {}{remedy}", skipped.name, skipped.reason)
        })
        .collect();
    if !skipped.is_empty() {
        page.blank();
        page.list("not possible here", &skipped, "-", None);
    }
    if !report.session.warnings.is_empty() {
        page.blank();
        page.list("to be known", &report.session.warnings, "-", None);
    }
    page.text
}

/// The sizes of the pages that were obtained, the most bytes first, with their shares where there are several.
fn obtained(receipt: &GraphReceipt) -> Option<String> {
    let by_size = &receipt.obtained.as_ref()?.bytes_by_page_size;
    let all: u64 = by_size.values().sum();
    let mut sizes: Vec<(u64, u64)> = by_size.iter().map(|(size, bytes)| (*bytes, *size)).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let words = sizes.iter().map(|(bytes, size)| match bytes {
        bytes if *bytes == all => format_bytes(*size),
        _ => format!("{} {}", percent(*bytes as f64 / all as f64), format_bytes(*size)),
    });
    Some(words.collect::<Vec<_>>().join(", "))
}

/// A line for each reason why a variant did not get what it asked for.
fn shortfalls(variant: &SearchVariant) -> Vec<String> {
    let Some(receipt) = &variant.receipt else { return Vec::new() };
    let line = |short: &firsttouch_placement::Shortfall| {
        format!(
            "{}: {}, {} asked for on {}; {}",
            variant.name,
            short.reason.word(),
            format_bytes(short.bytes),
            receipt.asked.pages,
            short.remedy
        )
    };
    receipt.shortfalls.iter().map(line).collect()
}
