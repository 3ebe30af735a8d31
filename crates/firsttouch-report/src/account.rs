//! A recording in sentences.

use crate::number::{count, percent, plural, seconds, significant, span};
use firsttouch_documents::{Recording, WatchEnding};

/// What is said of a recording beside its table and figures.
#[derive(Debug)]
pub(crate) struct Account {
    /// Who was watched, for how long, and what became of its memory.
    pub(crate) headline: String,
    /// What could not be seen.
    pub(crate) notes: Vec<String>,
    /// What it cost, when and where it was.
    pub(crate) footer: String,
}

impl Account {
    pub(crate) fn of(recording: &Recording) -> Account {
        Account { headline: headline(recording), notes: notes(recording), footer: footer(recording) }
    }
}

fn headline(recording: &Recording) -> String {
    let header = &recording.header;
    let family = if header.tree { " and its descendants" } else { "" };
    let ended = match recording.end.map(|end| end.ended) {
        Some(WatchEnding::TargetEnded) => ", until it ended",
        Some(WatchEnding::Limit) => "",
        Some(WatchEnding::Interrupted) => ", until interrupted",
        None => ", then the recording was cut short",
    };
    let mut text = format!(
        "Process {}{family}, watched for {} in {}{ended}.",
        header.pid,
        span(recording.seconds()),
        plural(recording.samples.len(), "sample"),
    );
    let shares: Vec<f64> =
        recording.samples.iter().filter_map(|sample| sample.memory.as_ref()?.huge_share).collect();
    if let [first, .., last] = shares[..] {
        text += &format!(" On huge pages: {} at first, {} at last.", percent(first), percent(last));
    } else if let [only] = shares[..] {
        text += &format!(" On huge pages: {}.", percent(only));
    }
    text
}

fn notes(recording: &Recording) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for note in recording.samples.iter().flat_map(|sample| &sample.unreadable) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    notes
}

fn footer(recording: &Recording) -> String {
    let header = &recording.header;
    let last = recording.samples.iter().rev().find_map(|sample| sample.cost.core_share);
    let mut text = match recording.end.and_then(|end| end.core_share).or(last) {
        Some(share) => format!("watching took {} of a core", fine_percent(share)),
        None => "what watching took is not known".to_owned(),
    };
    text += &format!(" (budget {})", fine_percent(header.budget));
    let walks = || recording.samples.iter().filter_map(|sample| sample.memory.as_ref());
    let longest = |of: fn(&firsttouch_documents::WatchedMemory) -> f64| walks().map(of).fold(0.0, f64::max);
    if walks().next().is_some() {
        text += &format!(
            "; {} of the page tables, the longest {}, its longest call {}",
            plural(walks().count(), "walk"),
            seconds(longest(|walk| walk.took_s)),
            seconds(longest(|walk| walk.longest_call_s)),
        );
    }
    if let Some(fewest) = walks().filter_map(|walk| walk.sampled_pages).min() {
        text += &format!("; bytes by node are estimates from {} small pages or more", count(fewest as f64));
    }
    let machine = [header.machine.cpu_model.as_deref(), header.machine.kernel.as_deref()];
    let machine: Vec<&str> = machine.into_iter().flatten().collect();
    text += &format!("; started {}", header.started);
    if !machine.is_empty() {
        text += &format!(" on {}", machine.join(", Linux "));
    }
    text
}

/// A share with two digits, however small: `0.21 %`.
pub(crate) fn fine_percent(share: f64) -> String {
    format!("{} %", significant(share * 100.0, 2))
}
