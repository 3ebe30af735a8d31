//! `report`: shows again any document that a command wrote, or the schema of its kind.

use crate::args::Report;
use crate::export;
use crate::mark::without_mark;
use crate::output::{self, Failure, Outcome};
use anyhow::Context;
use firsttouch_documents::{AnyDocument, Kind};
use firsttouch_report::{Format, Style, formats, open, show};
use std::fs;

pub(crate) fn run(report: &Report) -> Outcome {
    if let Some(word) = &report.schema {
        return print_schema(word);
    }
    let export = &report.export;
    export::check(export.json, export.files().chain(&report.export_svg))?;
    let Some(file) = &report.file else { return Err(Failure::message("no file was named").usage()) };
    let shown = file.display();
    let bytes = without_mark(fs::read(file).with_context(|| format!("cannot read {shown}"))?);
    let content = String::from_utf8(bytes).with_context(|| format!("{shown} is not text"))?;
    let document = open(&content).map_err(|error| {
        let hint = error.hint();
        Failure::new(anyhow::Error::new(error).context(format!("cannot show {shown}"))).hint(hint)
    })?;
    let exports = [
        (&export.export_json, Format::Json),
        (&export.export_csv, Format::Csv),
        (&export.export_md, Format::Markdown),
        (&export.export_html, Format::Html),
        (&report.export_svg, Format::Svg),
    ];
    for (files, format) in exports {
        if files.is_empty() {
            continue;
        }
        let text = show(&document, format).ok_or_else(|| without(&document, format))?;
        files.iter().try_for_each(|file| export::write(file, &text))?;
    }
    let format =
        if export.json { Format::Json } else { Format::Text { width: output::width(), style: Style::Ansi } };
    let text = show(&document, format).ok_or_else(|| without(&document, format))?;
    export::summary(&text, export.files().chain(&report.export_svg))?;
    Ok(0)
}

/// A document that has no such format, and those that it has.
fn without(document: &AnyDocument, format: Format) -> Failure {
    let kind = document.kind();
    let others: String = formats(kind).iter().map(|format| format!(", {format}")).collect();
    Failure::message(format!("a {kind} document cannot be shown as {format}; it can as text, JSON{others}"))
        .usage()
}

/// The schema of a kind, or with `list` the kinds.
fn print_schema(word: &str) -> Outcome {
    if word == "list" {
        let width = Kind::ALL.iter().map(|kind| kind.word().len()).max().unwrap_or(0);
        let line = |kind: &Kind| format!("{:width$}  {}\n", kind.word(), kind.written_by());
        output::data(&Kind::ALL.iter().map(line).collect::<String>())?;
        return Ok(0);
    }
    let kind = Kind::parse(word).ok_or_else(|| {
        Failure::message(format!("there is no kind of document `{word}`"))
            .hint("firsttouch report --schema list   # the kinds, and what writes each")
            .usage()
    })?;
    let schema: serde_json::Value = serde_json::from_str(kind.schema())?;
    output::data(&format!("{schema:#}\n"))?;
    Ok(0)
}
