//! Documents on their way out: to stdout as text or JSON, and to the files of `--export-…`.

use crate::output::{self, Failure, Outcome};
use anyhow::Context;
use firsttouch_documents::AnyDocument;
use firsttouch_report::{Format, Style, formats};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Shows a document in the files that are chosen, and as text or JSON. The files first: a closed stdout must not cost them.
pub(crate) fn show(document: &AnyDocument, as_json: bool, chosen: &[(&[PathBuf], Format)]) -> Outcome<()> {
    let shown = |format| firsttouch_report::show(document, format).ok_or_else(|| without(document, format));
    for (files, format) in chosen.iter().filter(|(files, _)| !files.is_empty()) {
        let text = shown(*format)?;
        files.iter().try_for_each(|file| write(file, &text))?;
    }
    let format =
        if as_json { Format::Json } else { Format::Text { width: output::width(), style: Style::Ansi } };
    summary(&shown(format)?, chosen.iter().flat_map(|(files, _)| *files))
}

/// A document that has no such format, and those that it has.
fn without(document: &AnyDocument, format: Format) -> Failure {
    let kind = document.kind();
    let others: String = formats(document).iter().map(|format| format!(", {format}")).collect();
    Failure::message(format!("a {kind} document cannot be shown as {format}; it can as text, JSON{others}"))
        .usage()
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
