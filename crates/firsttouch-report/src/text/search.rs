//! A search for shortest paths, in the terminal.

use super::{NARROWEST, Page};
use crate::number::{UNKNOWN, bytes, count, plural, seconds};
use crate::style::{Style, Tone};
use firsttouch_graph::{GraphReceipt, SearchReport};

/// What was searched, how fast, and where the graph lay.
pub fn search(report: &SearchReport, width: usize, style: Style) -> String {
    let mut page = Page { text: String::new(), width: width.max(NARROWEST), style };
    let (graph, totals) = (&report.graph, &report.totals);
    let each_ms = report.search_s / report.searched.max(1) as f64 * 1e3;
    let lines = [
        (
            "graph      ",
            format!("{} nodes, {} arcs, {}", graph.nodes, graph.arcs, bytes(graph.bytes as f64)),
            None,
        ),
        (
            "read       ",
            format!("{}, prepared {}", seconds(report.parse_s), seconds(report.preprocessing_s)),
            None,
        ),
        ("algorithm  ", format!("{}: {}", report.algorithm, report.reason), None),
        (
            "searched   ",
            format!(
                "{} of {} by {} in {}: {each_ms:.2} ms each, {} edges/s",
                report.searched,
                plural(report.sources, "source"),
                plural(report.threads, "thread"),
                seconds(report.search_s),
                count(report.edges_per_s)
            ),
            Some(Tone::Strong),
        ),
        (
            "found      ",
            format!(
                "{} paths, the longest {}, all together {}",
                totals.reached, totals.farthest, totals.checksum
            ),
            None,
        ),
        ("memory     ", memory(&report.receipt), None),
    ];
    for (name, words, tone) in lines {
        page.paragraph(name, &words, tone);
    }
    for shortfall in &report.receipt.shortfalls {
        page.paragraph(
            "  ",
            &format!("{}: {}", shortfall.reason.word(), bytes(shortfall.bytes as f64)),
            None,
        );
        page.line("    ", &shortfall.remedy);
    }
    let notes: Vec<String> = report.notes.iter().chain(&report.receipt.notes).cloned().collect();
    page.list("remarks", &notes, "-", None);
    page.text
}

fn memory(receipt: &GraphReceipt) -> String {
    let obtained = receipt.obtained.as_ref().map_or(UNKNOWN.to_owned(), |obtained| {
        let sizes = obtained.bytes_by_page_size.iter().rev();
        let sizes =
            sizes.map(|(page, all)| format!("{} on pages of {}", bytes(*all as f64), bytes(*page as f64)));
        sizes.collect::<Vec<_>>().join(", ")
    });
    format!("{} asked, obtained {obtained}; {}", receipt.asked.pages, plural_copies(receipt.copies))
}

fn plural_copies(copies: usize) -> String {
    if copies == 1 { "one copy".to_owned() } else { format!("{copies} copies") }
}
