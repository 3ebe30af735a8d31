//! Documents on their way out: to stdout as text or JSON, and to the files of `--export-…`.

use crate::args::Export;
use crate::output::{self, Outcome};
use anyhow::Context;
use firsttouch_placement::TuneReport;
use firsttouch_report::{Style, csv, html, json, markdown, text};
use std::fs;
use std::path::{Path, PathBuf};

/// Writes the files first: a closed stdout must not cost them.
pub(crate) fn tune(report: &TuneReport, export: &Export) -> Outcome<()> {
    type Render = fn(&TuneReport) -> String;
    let formats: [(&[PathBuf], Render); 4] = [
        (&export.export_json, json::tune),
        (&export.export_csv, csv::tune),
        (&export.export_md, markdown::tune),
        (&export.export_html, html::tune),
    ];
    for (files, render) in formats {
        for file in files {
            write(file, &render(report))?;
        }
    }
    output::data(&if export.json {
        json::tune(report)
    } else {
        text::tune(report, output::width(), Style::Ansi)
    })
}

pub(crate) fn write(file: &Path, content: &str) -> anyhow::Result<()> {
    fs::write(file, content).with_context(|| format!("cannot write {}", file.display()))
}
