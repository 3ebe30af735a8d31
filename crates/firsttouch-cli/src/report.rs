//! `report`: shows again any document that a command wrote, or the schema of its kind; decides what was measured elsewhere.

mod decide;

use crate::args::Report;
use crate::export;
use crate::input::bytes_of;
use crate::output::{self, Failure, Outcome};
use anyhow::Context;
use firsttouch_documents::{AnyDocument, Kind};
use firsttouch_launch::gathered;
use firsttouch_report::{Format, open};
use std::path::{Path, PathBuf};

pub(crate) fn run(report: &Report) -> Outcome {
    if let Some(word) = &report.schema {
        return print_schema(word);
    }
    let export = &report.export;
    export::check(export.document.json, export.files().chain(&report.export_svg))?;
    let document = if report.decide { decide::decide(report)? } else { opened(&report.files)? };
    let svg = (report.export_svg.as_slice(), Format::Svg);
    export::show(&document, export.document.json, &[&export.chosen()[..], &[svg]].concat())?;
    Ok(0)
}

/// The document in a file, which is the only one.
fn opened(files: &[PathBuf]) -> Outcome<AnyDocument> {
    let [file] = files else {
        return Err(Failure::message("report shows one file at a time")
            .hint("--decide puts together what several files measured, and firsttouch doctor --merge what several hosts did")
            .usage());
    };
    document(file)
}

/// The document in a file.
pub(crate) fn document(file: &Path) -> Outcome<AnyDocument> {
    let shown = file.display();
    if file.is_dir() {
        let job = gathered(file).with_context(|| format!("cannot show {shown}"))?;
        return Ok(AnyDocument::Job(Box::new(job)));
    }
    let bytes = bytes_of(file)?;
    let content = String::from_utf8(bytes).with_context(|| format!("{shown} is not text"))?;
    open(&content).map_err(|error| {
        let hint = error.hint();
        Failure::new(anyhow::Error::new(error).context(format!("cannot show {shown}"))).hint(hint)
    })
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
    let schema: serde_json::Value = serde_json::from_str(&kind.schema())?;
    output::data(&format!("{schema:#}\n"))?;
    Ok(0)
}
