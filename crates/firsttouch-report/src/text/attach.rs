//! What was done to a running process: before, after, what stood in the way, and the way back.

use super::page::Page;
use super::table::{Align, Cell, Table};
use crate::number::{UNKNOWN, percent, plural, seconds, significant};
use crate::style::{Style, Tone};
use firsttouch_machine::OwnDevices;
use firsttouch_placement::{
    AttachAction, AttachAsked, AttachEnded, AttachReport, MemoryPolicy, Obtained, ProcessTree, Resident,
    ResidentMemory, ThreadPlacement, format_bytes, format_order,
};
use std::collections::BTreeMap;

/// Threads listed; the JSON has up to 256.
const THREADS_SHOWN: usize = 16;
/// Uses of one device listed; the JSON has all.
const USES_SHOWN: usize = 3;

/// A report, and after it those of the descendants.
pub fn attach(report: &AttachReport, width: usize, style: Style) -> String {
    let mut page = Page::new(width, style);
    one(&mut page, report);
    for child in &report.children {
        page.blank();
        one(&mut page, child);
    }
    page.finish()
}

fn one(page: &mut Page, report: &AttachReport) {
    page.paragraph("process   ", &format!("{} {}", report.pid, report.before.program), None);
    if report.action != AttachAction::Undo {
        page.paragraph("asked     ", &asked(&report.asked), None);
    }
    let (words, tone) = outcome(report);
    page.paragraph("outcome   ", &words, Some(tone));
    page.blank();
    page.table(&table(report));
    threads(page, report);
    if let Some(own) = &report.own_devices {
        devices(page, own);
    }
    if !report.shortfalls.is_empty() {
        page.heading("asked, but not obtained");
        page.missed(&report.shortfalls);
        page.blank();
    }
    page.list("remarks", &report.notes, "-", None);
    let is_open = report.ended != AttachEnded::Done && report.ended.may_be_undone();
    let (back, on) = (report.undo_steps > 0, report.journal.is_some() && is_open);
    match (back, on) {
        (true, true) => page.heading("the way back, and the way on"),
        (true, false) => page.heading("the way back"),
        (false, true) => page.heading("the way on"),
        (false, false) => {}
    }
    if back {
        page.line("  ", &format!("firsttouch attach --undo {}", report.pid));
    }
    if on {
        page.line("  ", &format!("firsttouch attach {} …", report.pid));
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
    if let Some(strategy) = &asked.strategy {
        words.push(format!("threads by {strategy}"));
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
    let mut words = match parts.as_slice() {
        [] if report.action == AttachAction::Undo => "nothing was taken back".to_owned(),
        [] => "nothing was changed".to_owned(),
        parts => format!("{} in {}", parts.join(", "), seconds(report.wall_s)),
    };
    if report.worst_pause_ms > 0.0 {
        words.push_str(&format!(
            "; longest pause {} ms of {} ms allowed",
            significant(report.worst_pause_ms, 2),
            significant(report.stall_limit_ms, 2)
        ));
        if let Some(cpu_ms) = report.worst_pause_cpu_ms
            && report.worst_pause_ms > report.stall_limit_ms
            && cpu_ms < report.stall_limit_ms
        {
            words.push_str(&format!(
                ", of which the call ran for {} ms: the machine had no processor for it, or its host had taken that",
                significant(cpu_ms, 2)
            ));
        }
    }
    if report.ended != AttachEnded::Done {
        words.push_str(&format!("; {}", report.ended.sentence()));
    }
    (words, if report.ended == AttachEnded::Done { Tone::Good } else { Tone::Caution })
}

fn table(report: &AttachReport) -> Table {
    let mut table =
        Table::of([("resident bytes", Align::Left), ("before", Align::Right), ("after", Align::Right)]);
    let after = report.after.obtained.as_ref().filter(|_| report.action != AttachAction::DryRun);
    let both = [report.before.obtained.as_ref(), after];
    let trees = [report.before.tree.as_ref(), report.after.tree.as_ref().filter(|_| after.is_some())];
    let share_row = |label: &str, of: fn(&ResidentMemory) -> Resident| {
        let share = |tree: &ProcessTree| of(&tree.at_peak).huge_share().map(percent);
        let cell = |tree: Option<&ProcessTree>| Cell::new(tree.and_then(share).unwrap_or(UNKNOWN.to_owned()));
        vec![Cell::new(label), cell(trees[0]), cell(trees[1])]
    };
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
    table.row(share_row("on huge pages, but for files", ResidentMemory::of_no_file));
    if report.asked.files {
        table.row(share_row("of files", |memory| memory.files));
    }
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
    let mut table = Table::of([
        ("thread", Align::Right),
        ("name", Align::Left),
        ("CPUs before", Align::Right),
        ("after", Align::Right),
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
    page.rows(&table);
    page.left_out("", changed.len().saturating_sub(THREADS_SHOWN));
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
        page.line("  ", &format!("{}: {place}", device.layers.join(" -> ")));
        for how in device.how.iter().take(USES_SHOWN) {
            page.paragraph("    ", how, None);
        }
        page.left_out("    ", device.how.len().saturating_sub(USES_SHOWN));
    }
    for unknown in &own.unknown {
        page.paragraph("  ", unknown, None);
    }
    page.blank();
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_placement::{
        AttachPlan, ExecutorKind, Placement, Reason, Receipt, Shortfall, ThreadReport, Via,
    };

    const HUGE: u64 = 2 << 20;

    fn receipt(huge: u64, cpus: &[u32]) -> Receipt {
        let thread = ThreadReport {
            number: 0,
            name: Some("x".to_owned()),
            cpu_asked: None,
            cpus_obtained: Some(cpus.to_vec()),
        };
        Receipt {
            program: "/bin/x\u{1b}[2J".to_owned(),
            asked: Placement::default(),
            obtained: Some(Obtained {
                bytes_by_page_size: BTreeMap::from([(4096, 8 * HUGE - huge), (HUGE, huge)]),
                bytes_by_node: Some(BTreeMap::from([(0, 8 * HUGE)])),
                threads: vec![thread],
                ..Obtained::default()
            }),
            cpus_obtained: None,
            tree: Some(ProcessTree {
                at_peak: ResidentMemory {
                    private: Resident { bytes: 8 * HUGE, huge_bytes: huge },
                    ..ResidentMemory::default()
                },
                ..ProcessTree::default()
            }),
            shortfalls: Vec::new(),
            via: Via::Supervise,
            blocks: Vec::new(),
            complete: true,
            ending: None,
            notes: Vec::new(),
        }
    }

    fn report() -> AttachReport {
        AttachReport {
            pid: 7,
            action: AttachAction::Attach,
            asked: AttachAsked { huge_pages: true, node: Some(1), ..AttachAsked::default() },
            planned: AttachPlan { collapse_bytes: 8 * HUGE, move_bytes: 0, threads: 1 },
            before: receipt(0, &[0, 1]),
            after: receipt(6 * HUGE, &[1]),
            moved_bytes: 0,
            collapsed_bytes: 6 * HUGE,
            bound_threads: 1,
            worst_pause_ms: 3.25,
            worst_pause_cpu_ms: Some(3.0),
            stall_limit_ms: 20.0,
            wall_s: 0.5,
            shortfalls: vec![Shortfall::new(Reason::BusyPages, 2 * HUGE)],
            journal: Some("/state/7-1.jsonl".to_owned()),
            undo_steps: 1,
            executor: ExecutorKind::Remote,
            ended: AttachEnded::Done,
            own_devices: None,
            notes: vec!["so".to_owned()],
            children: Vec::new(),
        }
    }

    #[test]
    fn a_report_tells_before_after_what_is_missing_and_the_way_back() {
        let text = attach(&report(), 100, Style::Plain);
        for part in [
            "asked     pages thp, node 1",
            "12 MiB collapsed, 1 thread bound in 500 ms; longest pause 3.2 ms of 20 ms allowed",
            "on huge pages",
            "75 %",
            "busy-pages: 4 MiB",
            "- so",
            "firsttouch attach --undo 7",
        ] {
            assert!(text.contains(part), "`{part}` is missing in\n{text}");
        }
        // The name of a program is a stranger's.
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }

    #[test]
    fn what_was_cut_off_shows_the_way_on_and_a_dry_run_changes_nothing() {
        let cut = AttachReport { ended: AttachEnded::Interrupted, ..report() };
        let text = attach(&cut, 200, Style::Plain);
        assert!(
            text.contains("the way back, and the way on") && text.contains("stopped on request"),
            "{text}"
        );
        // What was collapsed stays huge: there is no way back to offer.
        let text = attach(&AttachReport { undo_steps: 0, ..cut.clone() }, 200, Style::Plain);
        assert!(text.contains("the way on") && !text.contains("--undo"), "{text}");
        let ended = AttachReport { undo_steps: 0, ended: AttachEnded::TargetEnded, ..cut };
        let text = attach(&ended, 200, Style::Plain);
        assert!(text.contains("ended meanwhile") && !text.contains("the way"), "{text}");
        let text = attach(&AttachReport { undo_steps: 0, ..report() }, 200, Style::Plain);
        assert!(!text.contains("the way"), "{text}");
        let dry = AttachReport { action: AttachAction::DryRun, journal: None, undo_steps: 0, ..report() };
        let text = attach(&dry, 200, Style::Plain);
        assert!(
            text.contains(
                "nothing was changed; to change: 16 MiB to collapse, 0 B to move, 1 thread to bind"
            ),
            "{text}"
        );
        assert!(!text.contains("--undo"), "{text}");
        let family = AttachReport { children: vec![report()], ..report() };
        assert_eq!(attach(&family, 100, Style::Plain).matches("process   7").count(), 2);
    }
}
