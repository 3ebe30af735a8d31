//! A search for shortest paths, in the terminal.

use super::page::Page;
use crate::number::{UNKNOWN, bytes, count, plural, seconds};
use crate::style::{Style, Tone};
use firsttouch_documents::{Figures, GraphFigures, GraphReceipt, MergeReport, SearchReport, Spread, Totals};

/// What was searched, how fast, and where the graph lay.
pub fn search(report: &SearchReport, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    let (graph, totals) = (&report.graph, &report.totals);
    let searched_now = report.searched - report.resumed.min(report.searched);
    let each_ms = report.search_s / searched_now.max(1) as f64 * 1e3;
    let resumed = match report.resumed {
        0 => String::new(),
        resumed => format!(", {resumed} of them before"),
    };
    let ranks = report.ranks.map_or(String::new(), |ranks| format!(" in each of {}", plural(ranks, "rank")));
    let lines = [
        ("graph      ", format!("{}, {}", size(graph), bytes(graph.bytes as f64)), None),
        (
            "read       ",
            format!("{}, prepared {}", seconds(report.parse_s), seconds(report.preprocessing_s)),
            None,
        ),
        ("algorithm  ", format!("{}: {}", report.algorithm, report.reason), None),
        (
            "searched   ",
            format!(
                "{} of {}{resumed} by {}{ranks} in {}: {each_ms:.2} ms each, {} edges/s",
                report.searched,
                plural(report.sources, "source"),
                plural(report.threads, "thread"),
                seconds(report.search_s),
                count(report.edges_per_s)
            ),
            Some(Tone::Strong),
        ),
        ("found      ", found(totals), None),
        ("memory     ", memory(&report.receipt), None),
    ];
    for (name, words, tone) in lines {
        page.paragraph(name, &words, tone);
    }
    for (name, words) in figures(&report.figures) {
        page.paragraph(name, &words, None);
    }
    page.missed(&report.receipt.shortfalls);
    let notes: Vec<String> = report.notes.iter().chain(&report.receipt.notes).cloned().collect();
    page.list("remarks", &notes, "-", None);
    page.text
}

/// What the processes of a shared run have found, and what is missing.
pub fn merge(report: &MergeReport, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    let (graph, totals) = (&report.graph, &report.totals);
    page.paragraph("graph      ", &size(graph), None);
    let done = format!("{} of {}", report.searched, plural(report.sources, "source"));
    page.paragraph("searched   ", &done, Some(Tone::Strong));
    page.paragraph("found      ", &found(totals), None);
    for (name, words) in figures(&report.figures) {
        page.paragraph(name, &words, None);
    }
    let missing: Vec<String> = report
        .missing
        .iter()
        .map(|[first, last]| format!("sources {first} to {last}, counted from 0"))
        .collect();
    page.list("missing", &missing, "-", None);
    page.text
}

fn size(graph: &GraphFigures) -> String {
    format!("{}, {}", plural(graph.nodes, "node"), plural(graph.arcs, "arc"))
}

fn found(totals: &Totals) -> String {
    let paths = plural(totals.reached as usize, "path");
    format!("{paths}, the longest {}, all together {}", totals.farthest, totals.checksum)
}

/// A line for each figure that was asked for.
fn figures(figures: &Figures) -> Vec<(&'static str, String)> {
    fn spread<T: Copy>(spread: &Spread<T>, word: fn(T) -> String, mean: fn(f64) -> String) -> String {
        format!("{} to {}, {} on average", word(spread.least), word(spread.most), mean(spread.mean))
    }
    let (whole, mean) = (|number: u64| number.to_string(), |number: f64| format!("{number:.6}"));
    // It may be a millionth, and is nothing where no other node is reached.
    let close = |number: f64| if number == 0.0 { "0".to_owned() } else { format!("{number:.6e}") };
    let mut lines = Vec::new();
    lines.extend(figures.diameter.map(|diameter| ("diameter   ", diameter.to_string())));
    lines.extend(figures.radius.map(|radius| ("radius     ", radius.to_string())));
    lines.extend(figures.eccentricity.map(|all| ("eccentric. ", spread(&all, whole, mean))));
    lines.extend(figures.closeness.map(|all| ("closeness  ", spread(&all, close, close))));
    lines.extend(figures.reach.map(|all| ("reach      ", spread(&all, whole, mean))));
    lines.extend(figures.histogram.as_ref().map(|histogram| {
        let most = histogram.counts.iter().max().copied().unwrap_or(0);
        let at = histogram.counts.iter().position(|count| *count == most).unwrap_or(0) as u64;
        let from = at * histogram.width;
        let words = format!("classes {} wide; most distances from {from} on: {most}", histogram.width);
        ("histogram  ", words)
    }));
    lines
}

fn memory(receipt: &GraphReceipt) -> String {
    let obtained = receipt.obtained.as_ref().map_or(UNKNOWN.to_owned(), |obtained| {
        let sizes = obtained.bytes_by_page_size.iter().rev();
        let sizes =
            sizes.map(|(page, all)| format!("{} on pages of {}", bytes(*all as f64), bytes(*page as f64)));
        let sizes = sizes.collect::<Vec<_>>().join(", ");
        if sizes.is_empty() { "none".to_owned() } else { sizes }
    });
    format!("{} asked, obtained {obtained}; {}", receipt.asked.pages, plural_copies(receipt.copies))
}

fn plural_copies(copies: usize) -> String {
    if copies == 1 { "one copy".to_owned() } else { format!("{copies} copies") }
}
