//! `report`: prints again what `tune`, `measure`, `run --receipt` and `watch --record` wrote.

use crate::args::{Export, Report};
use crate::mark::without_mark;
use crate::output::{self, Failure, Outcome};
use crate::{USAGE, export, measure};
use anyhow::Context;
use firsttouch_machine::Measurement;
use firsttouch_placement::{Receipt, Recording, SCHEMA_VERSION};
use firsttouch_report::{Style, csv, html, json, text};
use std::fs;
use std::path::PathBuf;

pub(crate) fn run(report: &Report) -> Outcome {
    export::check(report.export.json, report.export.files().chain(&report.export_svg))?;
    let shown = report.file.display();
    let bytes = without_mark(fs::read(&report.file).with_context(|| format!("cannot read {shown}"))?);
    let content = String::from_utf8(bytes).with_context(|| format!("{shown} is not text"))?;
    if let Some(recording) = firsttouch_report::open_recording(&content) {
        let recording = recording.with_context(|| format!("cannot show {shown}"))?;
        return of_recording(&recording, report);
    }
    if !report.export_svg.is_empty() {
        return Err(Failure::message("only a recording can be shown as SVG alone")
            .hint("firsttouch report FILE --export-html PAGE.html holds the figures of the others")
            .code(USAGE));
    }
    // Only the keys tell a receipt from a session, and a session lacks those a receipt must have.
    if let Ok(receipt) = serde_json::from_str::<Receipt>(&content) {
        return of_receipt(&receipt, &report.export);
    }
    if let Some(measurement) = firsttouch_report::open_measurement(&content) {
        return of_measurement(&measurement, &report.export);
    }
    let document =
        firsttouch_report::open(&content).with_context(|| format!("cannot show {shown}")).map_err(
            |error| Failure::new(error).hint("firsttouch tune --export-json FILE -- PROGRAM writes one"),
        )?;
    export::tune(&document, &report.export)?;
    Ok(0)
}

fn of_recording(recording: &Recording, report: &Report) -> Outcome {
    let export = &report.export;
    if !export.export_md.is_empty() {
        return Err(
            Failure::message("a recording can be shown as text, JSON, CSV, HTML and SVG only").code(USAGE)
        );
    }
    type Render = fn(&Recording) -> String;
    let formats: [(&[PathBuf], Render); 4] = [
        (&export.export_json, json::recording),
        (&export.export_csv, csv::recording),
        (&export.export_html, html::recording),
        (&report.export_svg, firsttouch_report::recording_figure),
    ];
    for (files, render) in formats {
        for file in files {
            export::write(file, &render(recording))?;
        }
    }
    let shown = if export.json {
        json::recording(recording)
    } else {
        text::recording(recording, output::width(), Style::Ansi)
    };
    export::summary(&shown, export.files().chain(&report.export_svg))?;
    Ok(0)
}

fn of_measurement(measurement: &Measurement, export: &Export) -> Outcome {
    if !(export.export_csv.is_empty() && export.export_md.is_empty()) {
        return Err(Failure::message("a measurement can be shown as text, JSON and HTML only").code(USAGE));
    }
    measure::show(measurement, export.json, &export.export_json, &export.export_html)?;
    Ok(0)
}

fn of_receipt(receipt: &Receipt, export: &Export) -> Outcome {
    if receipt.schema_version != SCHEMA_VERSION {
        let found = receipt.schema_version;
        return Err(Failure::message(format!(
            "the receipt has schema_version {found}; this version of firsttouch reads {SCHEMA_VERSION}"
        )));
    }
    if !(export.export_csv.is_empty() && export.export_md.is_empty() && export.export_html.is_empty()) {
        return Err(Failure::message("a receipt can be shown as text and JSON only; this file is a receipt")
            .hint("firsttouch tune --export-html FILE -- PROGRAM shows receipts next to what they were worth")
            .code(USAGE));
    }
    for file in &export.export_json {
        export::write(file, &json::receipt(receipt))?;
    }
    let shown = if export.json {
        json::receipt(receipt)
    } else {
        text::receipt(receipt, output::width(), Style::Ansi)
    };
    export::summary(&shown, export.files())?;
    Ok(0)
}
