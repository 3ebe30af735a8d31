//! Asked and obtained in the few words of a table cell, and the shortfalls of a session put together.

use crate::number::{UNKNOWN, bytes, percent};
use crate::sentence::Sentence;
use firsttouch_placement::{
    ConfigurationReport, Obtained, Pages, Placement, Reason, Receipt, Resident, TuneReport, Via,
};
use std::collections::BTreeMap;

/// The placement in the short form that `tune --configs` takes: `thp,min-size=4M,via=glibc`.
pub(crate) fn asked(placement: Option<&Placement>) -> String {
    placement.map_or(UNKNOWN.to_owned(), ToString::to_string)
}

/// `94 % of 405 MiB huge, 381 MiB placed`; for pages that are not huge `99 % on 64 KiB, 381 MiB placed`.
pub(crate) fn obtained(configuration: &ConfigurationReport) -> String {
    let Some(receipt) = &configuration.obtained else { return UNKNOWN.to_owned() };
    let asked = configuration.asked.as_ref().filter(|asked| asked.is_placed_by_agent());
    let placed = receipt.obtained.as_ref().filter(|_| asked.is_some());
    let pages = asked.map_or(Pages::Transparent, |asked| asked.pages);
    let mut words = match (all_but_files(receipt), placed) {
        (Some(all), None) => format!("{} huge", share_of(all)),
        (Some(all), Some(placed)) if pages.bytes() >= Pages::Huge2M.bytes() => {
            format!("{} huge, {} placed", share_of(all), bytes(placed.placed_bytes as f64))
        }
        (_, Some(placed)) => match share(&placed.bytes_by_page_size, pages) {
            Some(share) => format!(
                "{} on {}, {} placed",
                percent(share),
                bytes(pages.bytes() as f64),
                bytes(placed.placed_bytes as f64)
            ),
            None => placed_words(placed, pages),
        },
        (None, None) => "could not be read".to_owned(),
    };
    if !receipt.complete {
        words.push_str(", before its end");
    }
    words
}

/// `94 % of 405 MiB on huge pages; 381 MiB placed, 99 % of it on 2 MiB`.
pub(crate) fn receipt_words(receipt: &Receipt) -> String {
    let whole = all_but_files(receipt).map(|all| format!("{} on huge pages", share_of(all)));
    let placed = receipt.obtained.as_ref().map(|obtained| placed_words(obtained, receipt.asked.pages));
    let mut words = match (whole, placed) {
        (Some(whole), Some(placed)) if receipt.asked.is_placed_by_agent() => format!("{whole}; {placed}"),
        (Some(whole), _) => whole,
        (None, Some(placed)) => placed,
        (None, None) => return "could not be read".to_owned(),
    };
    if !receipt.complete {
        words.push_str(", before its end");
    }
    words
}

/// What the share on huge pages is reckoned of; `None` where nothing was seen.
fn all_but_files(receipt: &Receipt) -> Option<Resident> {
    let tree = receipt.tree.as_ref()?;
    Some(tree.at_peak.of_no_file()).filter(|all| all.bytes > 0)
}

/// `94 % of 405 MiB`.
fn share_of(all: Resident) -> String {
    format!("{} of {}", percent(all.huge_share().unwrap_or(0.0)), bytes(all.bytes as f64))
}

fn placed_words(obtained: &Obtained, pages: Pages) -> String {
    let pages = if pages == Pages::Plain { Pages::Transparent } else { pages };
    if obtained.placed_bytes == 0 && total(&obtained.bytes_by_page_size) == 0.0 {
        return "nothing placed".to_owned();
    }
    let placed = format!("{} placed", bytes(obtained.placed_bytes as f64));
    match share(&obtained.bytes_by_page_size, pages) {
        Some(share) => format!("{placed}, {} of it on {}", percent(share), bytes(pages.bytes() as f64)),
        None => format!("{placed}, none resident"),
    }
}

/// Share of resident bytes on pages as large as asked; base pages, asked for by name, must not be larger either.
fn share(by_page_size: &BTreeMap<u64, u64>, pages: Pages) -> Option<f64> {
    let size = pages.bytes() as u64;
    let there = by_page_size
        .iter()
        .filter(|(page, _)| if pages == Pages::Base { **page == size } else { **page >= size })
        .map(|(_, bytes)| *bytes as f64)
        .sum::<f64>();
    let all = total(by_page_size);
    (all > 0.0).then(|| there / all)
}

/// The sum in floating point: a document from elsewhere must not overflow us.
pub(crate) fn total<K>(map: &BTreeMap<K, u64>) -> f64 {
    map.values().map(|bytes| *bytes as f64).sum()
}

/// One reason with every configuration it struck.
#[derive(Debug)]
pub(crate) struct SharedShortfall<'a> {
    pub(crate) reason: Reason,
    pub(crate) remedy: &'a str,
    /// Configuration and bytes; 0 bytes where the whole program is concerned.
    pub(crate) struck: Vec<(&'a str, u64)>,
}

impl SharedShortfall<'_> {
    /// `thp` 2 MiB, `glibc-2m` (whole program).
    pub(crate) fn struck_words(&self) -> Sentence {
        let mut sentence = Sentence::new();
        for (index, (name, bytes)) in self.struck.iter().enumerate() {
            sentence = sentence
                .words(if index == 0 { "" } else { ", " })
                .name(name)
                .words(format!(" {}", shortfall_bytes(*bytes)));
        }
        sentence
    }
}

/// The bytes of a shortfall in words.
pub(crate) fn shortfall_bytes(missing: u64) -> String {
    if missing == 0 { "(whole program)".to_owned() } else { bytes(missing as f64) }
}

/// The shortfalls of all configurations, each reason and remedy once, in the order they first appear.
pub(crate) fn shortfalls(report: &TuneReport) -> Vec<SharedShortfall<'_>> {
    let mut shared: Vec<SharedShortfall<'_>> = Vec::new();
    for configuration in &report.configurations {
        for shortfall in configuration.obtained.iter().flat_map(|receipt| &receipt.shortfalls) {
            let struck = (configuration.name.as_str(), shortfall.bytes);
            match shared.iter_mut().find(|s| s.reason == shortfall.reason && s.remedy == shortfall.remedy) {
                Some(known) => known.struck.push(struck),
                None => shared.push(SharedShortfall {
                    reason: shortfall.reason,
                    remedy: &shortfall.remedy,
                    struck: vec![struck],
                }),
            }
        }
    }
    shared
}

/// Says that a means other than the one asked for was used.
pub(crate) fn other_means(receipt: &Receipt, asked: Option<&Placement>) -> Option<String> {
    let wanted: Via = asked?.via;
    (receipt.via != wanted).then(|| format!("asked via {wanted}, placed via {}", receipt.via))
}
