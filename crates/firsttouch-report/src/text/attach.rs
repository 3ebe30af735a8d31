//! What was done to a running process: before, after, what stood in the way, and the way back.

use super::table::{Align, Cell, Column, Table};
use super::{NARROWEST, Page};
use crate::cells::shortfall_bytes;
use crate::number::{UNKNOWN, percent, plural, seconds, significant};
use crate::style::{Style, Tone};
use firsttouch_machine::OwnDevices;
use firsttouch_placement::{
    AttachAction, AttachAsked, AttachEnded, AttachReport, MemoryPolicy, Obtained, ThreadPlacement,
    format_bytes, format_order,
};
use std::collections::BTreeMap;

const HUGE: u64 = 2 << 20;
/// Threads listed; the JSON has up to 256.
const THREADS_SHOWN: usize = 16;
/// Uses of one device listed; the JSON has all.
const USES_SHOWN: usize = 3;

/// A report, and after it those of the descendants.
pub fn attach(report: &AttachReport, width: usize, style: Style) -> String {
    let mut page = Page { text: String::new(), width: width.max(NARROWEST), style };
    one(&mut page, report);
    for child in &report.children {
        page.blank();
        one(&mut page, child);
    }
    page.text.truncate(page.text.trim_end().len());
    page.text.push('\n');
    page.text
}

fn one(page: &mut Page, report: &AttachReport) {
    page.paragraph("process   ", &format!("{} {}", report.pid, report.before.program), None);
    if report.action != AttachAction::Undo {
        page.paragraph("asked     ", &asked(&report.asked), None);
    }
    let (words, tone) = outcome(report);
    page.paragraph("outcome   ", &words, Some(tone));
    page.blank();
    page.text.push_str(&table(report).print(page.width, page.style));
    page.blank();
    threads(page, report);
    if let Some(own) = &report.own_devices {
        devices(page, own);
    }
    if !report.shortfalls.is_empty() {
        page.heading("asked, but not obtained");
        for shortfall in &report.shortfalls {
            let bytes = shortfall_bytes(shortfall.bytes);
            page.paragraph("  ", &format!("{}: {bytes}", shortfall.reason.word()), None);
            page.line("    ", &shortfall.remedy);
        }
        page.blank();
    }
    page.list("remarks", &report.notes, "-", None);
    if report.journal.is_some() {
        let (words, again) = match report.ended {
            AttachEnded::Done => ("the way back", None),
            _ => ("the way back, and the way on", Some(format!("firsttouch attach {} …", report.pid))),
        };
        page.heading(words);
        page.line("  ", &format!("firsttouch attach --undo {}", report.pid));
        if let Some(again) = again {
            page.line("  ", &again);
        }
    }
}

/// What was asked, in the words of the command line.
fn asked(asked: &AttachAsked) -> String {
    let mut words = Vec::new();
    if asked.huge_pages {
        words.push("pages thp".to_owned());
    }
    if let Some(node) = asked.node {
        words.push(format!("node {node}"));
    } else if asked.memory != MemoryPolicy::None {
        words.push(format!("memory {}", asked.memory));
    }
    if asked.threads != ThreadPlacement::None {
        words.push(format!("threads {}", asked.threads));
    }
    if !asked.near.is_empty() {
        words.push(format!("near {}", asked.near.join(", ")));
    }
    if asked.files {
        words.push("files too".to_owned());
    }
    words.join(", ")
}

fn outcome(report: &AttachReport) -> (String, Tone) {
    if report.action == AttachAction::DryRun {
        let planned = &report.planned;
        let words = format!(
            "nothing was changed; to change: {} to collapse, {} to move, {} to bind",
            format_bytes(planned.collapse_bytes),
            format_bytes(planned.move_bytes),
            plural(planned.threads as usize, "thread"),
        );
        return (words, Tone::Strong);
    }
    let mut parts = Vec::new();
    if report.collapsed_bytes > 0 {
        parts.push(format!("{} collapsed", format_bytes(report.collapsed_bytes)));
    }
    if report.moved_bytes > 0 {
        let back = if report.action == AttachAction::Undo { " back" } else { "" };
        parts.push(format!("{} moved{back}", format_bytes(report.moved_bytes)));
    }
    if report.bound_threads > 0 {
        let what = if report.action == AttachAction::Undo { "given their CPUs back" } else { "bound" };
        parts.push(format!("{} {what}", plural(report.bound_threads as usize, "thread")));
    }
    if parts.is_empty() {
        parts.push("nothing was changed".to_owned());
    }
    let mut words = format!("{} in {}", parts.join(", "), seconds(report.wall_s));
    if report.worst_pause_ms > 0.0 {
        words.push_str(&format!(
            "; longest pause {} ms of {} ms allowed",
            significant(report.worst_pause_ms, 2),
            significant(report.stall_limit_ms, 2)
        ));
    }
    if report.ended != AttachEnded::Done {
        words.push_str(&format!("; {}", report.ended.sentence()));
    }
    (words, if report.ended == AttachEnded::Done { Tone::Good } else { Tone::Caution })
}

fn table(report: &AttachReport) -> Table {
    let mut table = Table::new(vec![
        Column::new("", "resident bytes", Align::Left),
        Column::new("", "before", Align::Right),
        Column::new("", "after", Align::Right),
    ]);
    let after = report.after.obtained.as_ref().filter(|_| report.action != AttachAction::DryRun);
    let both = [report.before.obtained.as_ref(), after];
    let row = |label: String, value: &dyn Fn(&Obtained) -> Option<String>| {
        let cell =
            |obtained: Option<&Obtained>| Cell::new(obtained.and_then(value).unwrap_or(UNKNOWN.to_owned()));
        vec![Cell::new(label), cell(both[0]), cell(both[1])]
    };
    let shown = |bytes: Option<&u64>| Some(format_bytes(bytes.copied().unwrap_or(0)));
    let keys = |of: fn(&Obtained) -> Vec<u64>| {
        let mut keys: Vec<u64> = both.iter().flatten().flat_map(|obtained| of(obtained)).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    };
    for size in keys(|obtained| obtained.bytes_by_page_size.keys().copied().collect()).into_iter().rev() {
        let label = format!("on {} pages", format_bytes(size));
        table.row(row(label, &|obtained| shown(obtained.bytes_by_page_size.get(&size))));
    }
    table.row(row("on huge pages".to_owned(), &|obtained| obtained.share_on_pages_of(HUGE).map(percent)));
    let by_node = |obtained: &Obtained| {
        let nodes = obtained.bytes_by_node.iter().flat_map(BTreeMap::keys);
        nodes.map(|node| u64::from(*node)).collect()
    };
    for node in keys(by_node) {
        let node = node as u32;
        let bytes =
            |obtained: &Obtained| obtained.bytes_by_node.as_ref().and_then(|nodes| shown(nodes.get(&node)));
        table.row(row(format!("on node {node}"), &bytes));
    }
    table
}

/// The threads whose CPUs changed.
fn threads(page: &mut Page, report: &AttachReport) {
    let (Some(before), Some(after)) = (&report.before.obtained, &report.after.obtained) else { return };
    let changed: Vec<_> = after
        .threads
        .iter()
        .filter_map(|now| {
            let then =
                before.threads.iter().find(|then| then.number == now.number && then.name == now.name)?;
            (then.cpus_obtained != now.cpus_obtained).then_some((then, now))
        })
        .collect();
    if changed.is_empty() {
        return;
    }
    let mut table = Table::new(vec![
        Column::new("", "thread", Align::Right),
        Column::new("", "name", Align::Left),
        Column::new("", "CPUs before", Align::Right),
        Column::new("", "after", Align::Right),
    ]);
    let cpus = |cpus: &Option<Vec<u32>>| {
        Cell::new(cpus.as_ref().map_or(UNKNOWN.to_owned(), |cpus| format_order(cpus)))
    };
    for (then, now) in changed.iter().take(THREADS_SHOWN) {
        let name = Cell::new(now.name.as_deref().unwrap_or(UNKNOWN));
        table.row(vec![
            Cell::new(now.number.to_string()),
            name,
            cpus(&then.cpus_obtained),
            cpus(&now.cpus_obtained),
        ]);
    }
    page.text.push_str(&table.print(page.width, page.style));
    if changed.len() > THREADS_SHOWN {
        page.line("", &format!("and {} more in the JSON", changed.len() - THREADS_SHOWN));
    }
    page.blank();
}

/// The devices that the process uses: where they are, and by what it uses them.
fn devices(page: &mut Page, own: &OwnDevices) {
    page.heading("devices in use");
    for device in &own.devices {
        let place = match (device.nodes.as_slice(), &device.unplaced) {
            ([], why) => why.clone().unwrap_or(UNKNOWN.to_owned()),
            (nodes, _) => format!("node {}", format_order(nodes)),
        };
        page.line("  ", &format!("{}: {place}", device.via.join(" -> ")));
        for how in device.how.iter().take(USES_SHOWN) {
            page.paragraph("    ", how, None);
        }
        if device.how.len() > USES_SHOWN {
            page.line("    ", &format!("and {} more in the JSON", device.how.len() - USES_SHOWN));
        }
    }
    for unknown in &own.unknown {
        page.paragraph("  ", unknown, None);
    }
    page.blank();
}
