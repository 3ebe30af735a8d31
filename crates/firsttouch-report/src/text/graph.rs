//! Graphs and the memory they take, in the terminal.

use crate::visible::visible;
use firsttouch_documents::{Description, GraphReceipt, GraphReport, MemoryEstimateReport};
use firsttouch_placement::{Shortfall, format_bytes};
use std::fmt::Write as _;

/// A graph in a few numbers, how it was read, and what its memory obtained.
pub fn graph(report: &GraphReport) -> String {
    let mut text = String::new();
    describe(&mut text, &report.graph);
    if let Some(seconds) = report.parse_s {
        let speed = report.file_bytes.map_or(String::new(), |bytes| {
            format!(" ({} of file, {:.0} MB/s)", format_bytes(bytes), bytes as f64 / 1e6 / seconds.max(1e-9))
        });
        let _ = writeln!(text, "read in     {:.1} ms by {} threads{speed}", seconds * 1e3, report.threads);
    }
    if let Some(receipt) = &report.receipt {
        memory(&mut text, receipt);
    }
    text
}

fn describe(text: &mut String, graph: &Description) {
    let loops = if graph.loops == 1 { "1 loop".to_owned() } else { format!("{} loops", graph.loops) };
    let numbers = graph.first_id.map_or("with gaps".to_owned(), |first| format!("from {first} on"));
    let order = if graph.is_reordered { ", in another order inside" } else { "" };
    let coordinates = if graph.has_coordinates { ", with coordinates" } else { "" };
    let lines = [
        ("format", visible(&graph.format).into_owned()),
        ("nodes", format!("{}, of which {} have no arcs", graph.nodes, graph.nodes_without_arcs)),
        ("arcs", format!("{}, at most {} of one node, {loops}", graph.arcs, graph.max_degree)),
        ("weights", format!("{} to {}", graph.min_weight, graph.max_weight)),
        ("distances", format!("at most {}: {} bits", graph.distance_bound, graph.distance_bits)),
        ("numbers", format!("{numbers}{order}{coordinates}")),
        ("memory", format_bytes(graph.bytes)),
    ];
    for (label, value) in lines {
        let _ = writeln!(text, "{label:<12}{value}");
    }
    notes(text, &graph.notes);
}

fn memory(text: &mut String, receipt: &GraphReceipt) {
    let copies = if receipt.copies == 1 { String::new() } else { format!(", {} copies", receipt.copies) };
    let _ = writeln!(text, "asked       pages {}{copies}", visible(&receipt.asked.pages));
    if let Some(obtained) = &receipt.obtained {
        let mut words: Vec<String> = Vec::new();
        for (page_bytes, bytes) in obtained.bytes_by_page_size.iter().rev() {
            words.push(format!("{} on pages of {}", format_bytes(*bytes), format_bytes(*page_bytes)));
        }
        for (node, bytes) in obtained.bytes_by_node.iter().flatten() {
            words.push(format!("{} on node {node}", format_bytes(*bytes)));
        }
        let _ = writeln!(text, "obtained    {}", words.join(", "));
    }
    for Shortfall { reason, bytes, remedy } in &receipt.shortfalls {
        let _ =
            writeln!(text, "shortfall   {}: {}; {}", reason.word(), format_bytes(*bytes), visible(remedy));
    }
    notes(text, &receipt.notes);
}

fn notes(text: &mut String, notes: &[String]) {
    for note in notes {
        let _ = writeln!(text, "note        {}", visible(note));
    }
}

/// Memory that a search would take, and whether it is there.
pub fn memory_estimate(report: &MemoryEstimateReport) -> String {
    let need = &report.need;
    let times = |count: u64| if count == 1 { String::new() } else { format!(" x {count}") };
    let verdict = match report.available_bytes {
        Some(available) if available >= need.bytes => format!("{}: enough", format_bytes(available)),
        Some(available) => format!("{}: not enough", format_bytes(available)),
        None => "unknown".to_owned(),
    };
    format!(
        "graph       {} nodes, {} arcs\nits memory  {}{}\n\
         a search    {}{}, twice as much where distances leave 32 bits\n\
         together    {}\navailable   {verdict}\n",
        need.graph.nodes,
        need.graph.arcs,
        format_bytes(need.graph_bytes),
        times(need.copies),
        format_bytes(need.search_bytes),
        times(need.searches),
        format_bytes(need.bytes),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_documents::{GraphSize, MemoryEstimate};

    #[test]
    fn an_estimate_says_whether_there_is_room() {
        let need = MemoryEstimate {
            graph: GraphSize { nodes: 1 << 30, arcs: 1 << 31 },
            graph_bytes: 24 << 30,
            copies: 1,
            search_bytes: 8 << 30,
            searches: 2,
            bytes: 40 << 30,
        };
        assert_eq!(
            memory_estimate(&MemoryEstimateReport { need, available_bytes: Some(1 << 30) }),
            "graph       1073741824 nodes, 2147483648 arcs\n\
             its memory  24 GiB\n\
             a search    8 GiB x 2, twice as much where distances leave 32 bits\n\
             together    40 GiB\n\
             available   1 GiB: not enough\n"
        );
    }
}
