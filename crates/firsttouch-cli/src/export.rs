//! Documents on their way out: to stdout as text or JSON, and to the files of `--export-…`.

use crate::args::Export;
use crate::output::{self, Failure, Outcome};
use anyhow::Context;
use firsttouch_placement::TuneReport;
use firsttouch_report::{Style, csv, html, json, markdown, text};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
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
    let shown =
        if export.json { json::tune(report) } else { text::tune(report, output::width(), Style::Ansi) };
    summary(&shown, export.files())
}

/// Whether a name stands for stdout.
pub(crate) fn is_stdout(file: &Path) -> bool {
    file == Path::new("-")
}

/// Opens a file to be written; `-` is stdout.
pub(crate) fn create(file: &Path) -> anyhow::Result<Box<dyn Write + Send>> {
    if is_stdout(file) {
        return Ok(Box::new(BufWriter::new(io::stdout())));
    }
    let created = File::create(file).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(Box::new(BufWriter::new(created)))
}

/// Writes a whole file; `-` is stdout.
pub(crate) fn write(file: &Path, content: &str) -> Outcome<()> {
    if is_stdout(file) {
        return output::raw_data(content);
    }
    Ok(fs::write(file, content).with_context(|| format!("cannot write {}", file.display()))?)
}

/// Refuses a command line by which two documents would mix on stdout.
pub(crate) fn check<'a>(as_json: bool, files: impl IntoIterator<Item = &'a PathBuf>) -> Outcome<()> {
    let on_stdout = files.into_iter().filter(|file| is_stdout(file)).count() + usize::from(as_json);
    if on_stdout > 1 {
        return Err(Failure::message("two documents cannot share stdout")
            .hint("name a file for all but one of them in place of -")
            .usage());
    }
    Ok(())
}

/// Prints what a command found: on stderr where one of its documents goes to stdout, so that this is nothing else.
pub(crate) fn summary<'a>(text: &str, files: impl IntoIterator<Item = &'a PathBuf>) -> Outcome<()> {
    if files.into_iter().any(|file| is_stdout(file)) {
        output::message(text);
        return Ok(());
    }
    output::data(text)
}
