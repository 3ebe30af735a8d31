//! What is wrong with machines, as one HTML file with its document inside.

use super::page::{closed, opened, section, written};
use super::sheet::table;
use crate::hosts::{headline, sheets};
use crate::json;
use firsttouch_documents::DoctorReport;
use std::fmt::Write as _;

/// One machine or several: what is missing and what differs first, then what was found, each once for all hosts that have it.
pub fn doctor(report: &DoctorReport) -> String {
    let mut page = opened("firsttouch doctor", "firsttouch doctor");
    let class = if report.is_met() { "" } else { " undecided" };
    let _ = writeln!(
        page,
        "<p class=\"verdict{class}\"><strong>{}</strong></p>\n</header>\n<main>",
        written(&headline(report))
    );
    for sheet in sheets(report) {
        let heading = sheet.caption.as_ref().map_or(String::new(), written);
        section(&mut page, &heading, &table(&sheet));
    }
    closed(&mut page, &json::block(report));
    page
}
