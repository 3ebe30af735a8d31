//! A process as it runs, in the terminal: a frame that is drawn again with every sample, or a line for each.

use crate::account::fine_percent;
use crate::number::{bytes, count, percent, seconds, significant, span};
use crate::series::sparkline;
use crate::shell;
use crate::style::{Style, Tone};
use crate::visible::{columns, shortened, visible};
use firsttouch_documents::{WatchHeader, WatchSample, WatchedMachine, WatchedMemory, WatchedThreads};
use firsttouch_placement::format_bytes;
use firsttouch_sorted::{SortedSet, sort_by_key};

/// What is remembered for the courses at the right.
const REMEMBERED: usize = 60;
/// Where values begin, after their names.
const NAME: usize = 10;
const BAR: usize = 24;
/// Processes of a family that are listed.
const MOST_PROCESSES: usize = 6;

/// The newest of everything that samples told.
#[derive(Clone, Debug)]
pub struct Live {
    title: String,
    budget: f64,
    nodes: Vec<u32>,
    latest: WatchSample,
    /// The newest of each, and when it was read.
    memory: Option<(f64, WatchedMemory)>,
    threads: Option<(f64, WatchedThreads)>,
    machine: Option<(f64, WatchedMachine)>,
    coverage: Vec<f64>,
    faults: Vec<f64>,
    /// What could not be read when memory was last asked for.
    unreadable: Vec<String>,
}

/// A row of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its text, painted.
    pub text: String,
    /// The columns it takes.
    pub columns: usize,
}

/// A line that grows; its width is known before it is painted.
#[derive(Debug, Default)]
struct Line(Vec<(Option<Tone>, String)>);

impl Line {
    fn named(name: &str) -> Line {
        Line::default().toned(Tone::Faint, format!("{name:NAME$}"))
    }

    fn words(mut self, words: impl AsRef<str>) -> Line {
        self.0.push((None, visible(words.as_ref()).into_owned()));
        self
    }

    fn toned(mut self, tone: Tone, words: impl AsRef<str>) -> Line {
        self.0.push((Some(tone), visible(words.as_ref()).into_owned()));
        self
    }

    fn columns(&self) -> usize {
        self.0.iter().map(|(_, words)| columns(words)).sum()
    }

    /// Words at the right end, where there is room for them.
    fn right(self, tone: Tone, words: &str, width: usize) -> Line {
        let used = self.columns() + columns(words);
        if used + 1 > width { self } else { self.words(" ".repeat(width - used)).toned(tone, words) }
    }

    /// Cut to the width and painted.
    fn print(&self, width: usize, style: Style) -> Row {
        let mut left = width;
        let mut text = String::new();
        for (tone, words) in &self.0 {
            let cut = if columns(words) > left { shortened(words, left) } else { words.into() };
            left -= columns(&cut).min(left);
            match tone {
                Some(tone) => text.push_str(&style.paint(*tone, &cut)),
                None => text.push_str(&cut),
            }
            if left == 0 {
                break;
            }
        }
        Row { text, columns: width - left }
    }
}

impl Live {
    /// Before the first sample.
    pub fn new(header: &WatchHeader) -> Live {
        let family = if header.tree { " and its descendants" } else { "" };
        let command = shortened(&shell::command(&header.command), 60).into_owned();
        Live {
            title: format!("process {}{family}: {command}", header.pid),
            budget: header.budget,
            nodes: header.nodes.iter().map(|node| node.id).collect(),
            latest: WatchSample::default(),
            memory: None,
            threads: None,
            machine: None,
            coverage: Vec::new(),
            faults: Vec::new(),
            unreadable: Vec::new(),
        }
    }

    /// Takes a sample in.
    pub fn take(&mut self, sample: &WatchSample) {
        let t_s = sample.t_s;
        if let Some(memory) = &sample.memory {
            remember(&mut self.coverage, memory.huge_share.unwrap_or(0.0));
            self.memory = Some((t_s, memory.clone()));
            self.unreadable.clear();
        }
        if !sample.unreadable.is_empty() {
            self.unreadable.clone_from(&sample.unreadable);
        }
        if let Some(threads) = &sample.threads {
            self.threads = Some((t_s, threads.clone()));
        }
        if let Some(machine) = &sample.machine {
            self.machine = Some((t_s, machine.clone()));
        }
        if let Some(rate) = sample.faults.minor_per_s {
            remember(&mut self.faults, rate);
        }
        self.latest = sample.clone();
    }

    /// The lines of a frame for a terminal of so many columns and rows; none is wider, and one row is left for the cursor.
    pub fn frame(&self, width: usize, rows: usize, style: Style) -> Vec<Row> {
        // A terminal that is filled to its last column may begin a new line.
        let width = width.saturating_sub(1).max(20);
        let mut lines = vec![
            Line::default().toned(Tone::Strong, &self.title).right(
                Tone::Faint,
                &span(self.latest.t_s),
                width,
            ),
            self.resident(width),
        ];
        self.pages(&mut lines, width);
        self.nodes(&mut lines);
        self.activity(&mut lines, width);
        self.machine(&mut lines);
        self.processes(&mut lines);
        for note in &self.unreadable {
            lines.push(Line::named("not read").toned(Tone::Caution, note));
        }
        lines.push(self.cost());
        lines.iter().take(rows.saturating_sub(1).max(2)).map(|line| line.print(width, style)).collect()
    }

    /// One line for the newest sample. `~` marks what was read earlier.
    pub fn line(&self) -> String {
        let latest = &self.latest;
        let mut text =
            format!("{:>8} {:>9}", format!("{:.1} s", latest.t_s), bytes(latest.resident_bytes as f64));
        if let Some((read_s, memory)) = &self.memory {
            let mark = if *read_s < latest.t_s { "~" } else { "" };
            if let Some(share) = memory.huge_share {
                text += &format!("  {:>5} huge", format!("{mark}{}", percent(share)));
            }
            for (node, there) in memory.bytes_by_node.iter().flatten().filter(|_| self.nodes.len() > 1) {
                text += &format!("  {mark}node {node} {}", bytes(*there as f64));
            }
        }
        if let Some(rate) = latest.faults.minor_per_s {
            let major = latest.faults.major_per_s.filter(|rate| *rate > 0.0);
            let major = major.map_or_else(String::new, |rate| format!(" + {} major", count(rate)));
            text += &format!("  {:>5}{major} faults/s", count(rate));
        }
        if let Some(cores) = latest.cores {
            text += &format!("  {} cores", significant(cores, 3));
        }
        if let Some((_, threads)) = &self.threads {
            text += &format!("  {} threads", threads.count);
            if threads.by_node.len() > 1 {
                text += &format!(" (by node {})", pairs(&threads.by_node));
            }
            if let Some(moves) = threads.migrations_per_s {
                text += &format!("  {} moves/s", count(moves));
            }
        }
        if let Some(share) = latest.cost.core_share {
            text += &format!("  watching {}", fine_percent(share));
        }
        visible(&text).into_owned() + "\n"
    }

    fn resident(&self, width: usize) -> Line {
        let latest = &self.latest;
        let mut words = format!("{} resident", bytes(latest.resident_bytes as f64));
        if let Some(peak) = latest.peak_bytes {
            words += &format!(", most {}", bytes(peak as f64));
        }
        if let Some(swap) = latest.swap_bytes.filter(|swap| *swap > 0) {
            words += &format!(", {} swapped out", bytes(swap as f64));
        }
        let walked = match &self.memory {
            Some((read_s, memory)) if *read_s < latest.t_s => {
                format!("walked {} ago in {}", span(latest.t_s - read_s), seconds(memory.took_s))
            }
            Some((_, memory)) => format!("walked in {}", seconds(memory.took_s)),
            None => "not walked".to_owned(),
        };
        Line::named("memory").words(words).right(Tone::Faint, &walked, width)
    }

    fn pages(&self, lines: &mut Vec<Line>, width: usize) {
        let Some((_, memory)) = &self.memory else { return };
        let all: u64 = memory.bytes_by_page_size.values().sum();
        for (page, there) in &memory.bytes_by_page_size {
            let share = *there as f64 / all.max(1) as f64;
            let tone = if *page > 4096 { Tone::Good } else { Tone::Faint };
            lines.push(
                Line::named(&format!("  {}", format_bytes(*page)))
                    .words(format!("{:>9} {:>6}  ", bytes(*there as f64), percent(share)))
                    .toned(tone, bar(share)),
            );
        }
        if let (Some(share), Some(anonymous)) = (memory.huge_share, self.latest.anonymous_bytes) {
            let of = format!("of {} anonymous memory", bytes(anonymous as f64));
            lines.push(
                Line::named("  huge")
                    .words(format!("{:>9} ", ""))
                    .toned(Tone::Strong, format!("{:>6}", percent(share)))
                    .words(format!("  {of}"))
                    .right(Tone::Good, &sparkline(&self.coverage, (0.0, 1.0), BAR), width),
            );
        }
    }

    /// A table of nodes, where there are several.
    fn nodes(&self, lines: &mut Vec<Line>) {
        let memory = self.memory.as_ref().and_then(|(_, memory)| memory.bytes_by_node.as_ref());
        let threads = self.threads.as_ref().map(|(_, threads)| threads);
        let free = self.machine.as_ref().map(|(_, machine)| &machine.free_bytes_by_node);
        if self.nodes.len() < 2 {
            return;
        }
        let of_memory = memory.into_iter().flat_map(|nodes| nodes.keys());
        let shown: SortedSet<u32> = self.nodes.iter().chain(of_memory).copied().collect();
        let titles = format!("{:>9} {:>6}  {:>8} {:>8} {:>10}", "memory", "", "threads", "cores", "free");
        let sampled = self.memory.as_ref().and_then(|(_, memory)| memory.sampled_pages);
        let sampled =
            sampled.map_or_else(String::new, |pages| format!("  (by {} pages)", count(pages as f64)));
        lines.push(Line::named("nodes").toned(Tone::Faint, titles + &sampled));
        let all: u64 = memory.map_or(0, |nodes| nodes.values().sum());
        let cell = |value: Option<String>| value.unwrap_or_else(|| crate::number::UNKNOWN.to_owned());
        for node in shown {
            let there = memory.map(|nodes| nodes.get(&node).copied().unwrap_or(0));
            let on = threads.map(|threads| threads.by_node.get(&node).copied().unwrap_or(0).to_string());
            let cores = threads.and_then(|threads| threads.cores_by_node.as_ref());
            let cores = cores.map(|cores| format!("{:.2}", cores.get(&node).copied().unwrap_or(0.0)));
            let free = free.and_then(|free| free.get(&node)).map(|free| bytes(*free as f64));
            let share = there.filter(|_| all > 0).map(|there| there as f64 / all as f64);
            lines.push(
                Line::named(&format!("  {node}"))
                    .words(format!(
                        "{:>9} {:>6}  {:>8} {:>8} {:>10}  ",
                        cell(there.map(|there| bytes(there as f64))),
                        cell(share.map(percent)),
                        cell(on),
                        cell(cores),
                        cell(free),
                    ))
                    .toned(Tone::Good, bar(share.unwrap_or(0.0))),
            );
        }
    }

    fn activity(&self, lines: &mut Vec<Line>, width: usize) {
        let faults = &self.latest.faults;
        if let (Some(minor), Some(major)) = (faults.minor_per_s, faults.major_per_s) {
            let most = self.faults.iter().copied().fold(0.0, f64::max);
            lines.push(
                Line::named("faults")
                    .words(format!("{} /s minor, {} /s major", count(minor), count(major)))
                    .right(Tone::Good, &sparkline(&self.faults, (0.0, most), BAR), width),
            );
        }
        let Some((_, threads)) = &self.threads else { return };
        let mut words = format!("{}, {} running", threads.count, threads.running);
        if let Some(cores) = self.latest.cores {
            words += &format!(", {} cores busy", significant(cores, 3));
        }
        if let Some(moves) = threads.migrations_per_s {
            words += &format!(", {} moves/s", count(moves));
        }
        lines.push(Line::named("threads").words(words));
        lines.push(Line::named("  by CPU").words(pairs(&threads.by_cpu)));
    }

    fn machine(&self, lines: &mut Vec<Line>) {
        let Some((_, machine)) = &self.machine else { return };
        let rate = |name: &str| machine.rates_per_s.get(name).copied().unwrap_or(0.0);
        if !machine.rates_per_s.is_empty() {
            lines.push(Line::named("machine").words(format!(
                "pages moved {} /s; huge pages made {} /s, missed {} /s, split {} /s",
                count(rate("pgmigrate_success")),
                count(rate("thp_fault_alloc") + rate("thp_collapse_alloc")),
                count(rate("thp_fault_fallback")),
                count(rate("thp_split_pmd")),
            )));
        }
        let pools = machine.pools.iter().filter(|pool| pool.pages.is_some_and(|pages| pages > 0));
        let pools: Vec<String> = pools
            .map(|pool| {
                let number = |value: Option<u64>| value.map_or("?".to_owned(), |value| value.to_string());
                let promised = pool.reserved.filter(|reserved| *reserved > 0);
                let promised = promised.map_or_else(String::new, |pages| format!(" ({pages} promised)"));
                let (free, pages) = (number(pool.free), number(pool.pages));
                format!("{}: {free} of {pages} free{promised}", format_bytes(pool.page_bytes))
            })
            .collect();
        if !pools.is_empty() {
            lines.push(Line::named("pools").words(pools.join("; ")));
        }
    }

    /// The largest processes, where there are several.
    fn processes(&self, lines: &mut Vec<Line>) {
        let processes = &self.latest.processes;
        if processes.len() < 2 {
            return;
        }
        lines.push(Line::named("processes").words(processes.len().to_string()));
        let mut largest: Vec<_> = processes.iter().collect();
        sort_by_key(&mut largest, |process| std::cmp::Reverse(process.resident_bytes));
        for process in largest.iter().take(MOST_PROCESSES) {
            lines.push(Line::named(&format!("  {}", process.pid)).words(format!(
                "{:>9}  {} {}",
                bytes(process.resident_bytes as f64),
                process.state,
                process.command,
            )));
        }
    }

    fn cost(&self) -> Line {
        let words = match self.latest.cost.core_share {
            Some(share) => {
                format!(
                    "takes {} of a core, of {} that it may",
                    fine_percent(share),
                    fine_percent(self.budget)
                )
            }
            None => format!("may take {} of a core", fine_percent(self.budget)),
        };
        Line::named("watching").toned(Tone::Faint, words)
    }
}

fn remember(values: &mut Vec<f64>, value: f64) {
    if values.len() >= REMEMBERED {
        values.remove(0);
    }
    values.push(value);
}

fn bar(share: f64) -> String {
    "█".repeat((share.clamp(0.0, 1.0) * BAR as f64).round() as usize)
}

/// `0:2 1:1`.
fn pairs(counts: &std::collections::BTreeMap<u32, u32>) -> String {
    counts.iter().map(|(key, count)| format!("{key}:{count}")).collect::<Vec<_>>().join(" ")
}
