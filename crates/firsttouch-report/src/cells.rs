//! Asked and obtained in the few words of a table cell, and the shortfalls of a session put together.

use crate::number::{UNKNOWN, bytes, percent};
use crate::sentence::Sentence;
use firsttouch_placement::{
    ConfigurationReport, Obtained, Pages, Placement, Reason, Receipt, TuneReport, Via,
};
use std::collections::BTreeMap;

/// The placement in the short form that `tune --configs` takes: `thp,min-size=4M,via=glibc`.
pub(crate) fn asked(placement: Option<&Placement>) -> String {
    placement.map_or(UNKNOWN.to_owned(), ToString::to_string)
}

/// `99 % on 2 MiB, 381 MiB placed`.
pub(crate) fn obtained(configuration: &ConfigurationReport) -> String {
    let Some(receipt) = &configuration.obtained else { return UNKNOWN.to_owned() };
    let pages = configuration.asked.as_ref().map(|placement| placement.pages);
    receipt_words(receipt, pages)
}

/// The same for a receipt; `pages` is what its share is reckoned by (2 MiB where nothing was asked).
pub(crate) fn receipt_words(receipt: &Receipt, pages: Option<Pages>) -> String {
    let Some(obtained) = &receipt.obtained else { return "could not be read".to_owned() };
    let mut words = obtained_words(obtained, pages);
    if !receipt.complete {
        words.push_str(", before its end");
    }
    words
}

fn obtained_words(obtained: &Obtained, pages: Option<Pages>) -> String {
    let pages = pages.filter(|pages| *pages != Pages::Plain).unwrap_or(Pages::Transparent);
    let label = bytes(pages.bytes() as f64);
    if let Some(share) = share(&obtained.bytes_by_page_size, pages) {
        return format!("{} on {label}, {} placed", percent(share), bytes(obtained.placed_bytes as f64));
    }
    match &obtained.process_bytes_by_page_size {
        Some(process) => match share(process, pages) {
            Some(share) => format!("{} on {label} of {} resident", percent(share), bytes(total(process))),
            None => "nothing resident".to_owned(),
        },
        None if obtained.placed_bytes > 0 => {
            format!("{} placed, none resident", bytes(obtained.placed_bytes as f64))
        }
        None => "nothing placed".to_owned(),
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
