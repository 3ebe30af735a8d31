//! What creating, clearing and handing out memory costs, in the terminal.

use super::page::Page;
use super::table::{Align, Cell, Column, Table};
use crate::number::plural;
use crate::style::{Style, Tone};
use firsttouch_machine::{FillCancel, FillCold, FillDevice, FillReport, FillRow, FillState};
use firsttouch_placement::format_bytes;

/// Every way of getting zeroed memory, against the store bandwidth of the machine.
pub fn filling(report: &FillReport, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    let bandwidth: Vec<String> = (1..)
        .zip(&report.store_bandwidth_gbps)
        .map(|(threads, gbps)| format!("{gbps:.1} GB/s with {}", plural(threads, "thread")))
        .collect();
    page.paragraph("", &format!("store bandwidth: {}", bandwidth.join(", ")), Some(Tone::Strong));
    page.blank();
    page.table(&table(&report.rows));
    let crossovers = &report.crossovers;
    let from = |bytes: Option<u64>| {
        bytes.map_or_else(|| "never".to_owned(), |bytes| format!("from {} on", format_bytes(bytes)))
    };
    let mut facts = vec![
        format!(
            "stores past the caches ({}) pay {} where the memory is not read next, and {} where it is",
            crossovers.past_caches,
            from(crossovers.left_from_bytes),
            from(crossovers.read_from_bytes)
        ),
        match crossovers.vector_to_bytes {
            Some(bytes) => format!(
                "vector stores through the caches pay up to {} where the memory is read next and in the caches",
                format_bytes(bytes)
            ),
            None => "vector stores through the caches never pay".to_owned(),
        },
        format!(
            "the filler uses {} on each node for memory that is there and {} for new memory: one more would add less \
             than a fifth",
            plural(report.filler_threads[0] as usize, "thread"),
            plural(report.filler_threads[1] as usize, "thread")
        ),
        format!("waking a thread up for a page takes {:.0} us", report.wake_us),
        match report.verified {
            true => "every byte of every row was read back as zero".to_owned(),
            false => "bytes were read back that are not zero: please report this error".to_owned(),
        },
    ];
    for cancel in &report.cancels {
        let memory = if cancel.state == FillState::New { "new memory" } else { "memory that is there" };
        let FillCancel { median_us, worst_us, .. } = cancel;
        facts.push(format!(
            "a fill of {memory} ends {median_us:.0} us after it is cancelled, at worst {worst_us:.0} us"
        ));
    }
    if !report.cold.is_empty() {
        facts.push(cold(report));
    }
    page.list("learnt", &facts, "-", None);
    let device = |device: &FillDevice| {
        let node = device.node.map_or_else(String::new, |node| format!(" at node {node}"));
        let state = device.obstacle.as_deref().unwrap_or("used, not verified on hardware");
        format!("{} of {}{node}: {state}", device.queue, device.device)
    };
    let devices: Vec<String> = report.devices.iter().map(device).collect();
    page.list("devices", &devices, "-", None);
    page.list("notes", &report.notes, "!", Some(Tone::Caution));
    let footer = format!("{} for every row; {}", format_bytes(report.size_bytes), report.date);
    page.paragraph("", &footer, Some(Tone::Faint));
    page.text
}

/// Against the C library, size by size.
fn cold(report: &FillReport) -> String {
    let one = |cold: &FillCold| {
        let ratio = cold.gbps / cold.memset_gbps;
        format!("{} {:.1} GB/s, {ratio:.2} times memset", format_bytes(cold.bytes), cold.gbps)
    };
    let all: Vec<String> = report.cold.iter().map(one).collect();
    format!("one thread on memory in no cache: {}", all.join("; "))
}

fn table(rows: &[FillRow]) -> Table {
    let mut table = Table::new(vec![
        Column::new("", "pages", Align::Left),
        Column::new("way", "memory", Align::Left),
        Column::new("way", "by", Align::Left),
        Column::new("way", "threads", Align::Right),
        Column::new("cost", "GB/s", Align::Right),
        Column::new("cost", "of store bandwidth", Align::Right),
        Column::new("cost", "of kernel's best", Align::Right),
        Column::new("cost", "per page", Align::Right),
    ]);
    for row in rows {
        let instant = row.state == FillState::HandedOut;
        table.row(vec![
            Cell::new(pages(row)),
            Cell::new(row.state.word().replace('_', " ")),
            Cell::new(&row.method),
            Cell::new(threads(row)),
            // Handed out as it is: nothing is stored, so that a bandwidth says nothing.
            Cell::new(if instant { "-".to_owned() } else { format!("{:.1}", row.gbps) }),
            Cell::new(if instant {
                "-".to_owned()
            } else {
                format!("{:.0} %", row.share_of_store_bandwidth * 100.0)
            }),
            Cell::new(
                row.share_of_kernels_best
                    .map_or_else(|| "-".to_owned(), |share| format!("{:.0} %", share * 100.0)),
            ),
            Cell::new(time(row.ns_per_page)),
        ]);
    }
    table
}

/// The kind asked for, and the size obtained where it is another.
fn pages(row: &FillRow) -> String {
    let is_as_asked = row.pages != "thp" || row.page_size > 4096;
    if is_as_asked { row.pages.clone() } else { format!("{} ({})", row.pages, format_bytes(row.page_size)) }
}

/// Those that worked, and how many there might have been where that is more.
fn threads(row: &FillRow) -> String {
    if row.threads < row.cpus { format!("{} of {}", row.threads, row.cpus) } else { row.threads.to_string() }
}

fn time(ns: f64) -> String {
    match ns {
        ns if ns < 10.0 => format!("{ns:.1} ns"),
        ns if ns < 10_000.0 => format!("{ns:.0} ns"),
        ns if ns < 10_000_000.0 => format!("{:.0} us", ns / 1e3),
        ns => format!("{:.0} ms", ns / 1e6),
    }
}
