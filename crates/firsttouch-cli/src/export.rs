//! Documents on their way out: to stdout as text or JSON, and to the files of `--export-…`.

use crate::output::{self, Failure, Outcome};
use anyhow::Context;
use firsttouch_documents::AnyDocument;
use firsttouch_report::{Format, Style, formats, shell};
use rustix::fs::{Access, access};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Shows a document in the files that are chosen, and as text or JSON. The files first: a closed stdout must not cost them. Nor does one
/// that cannot be written cost the others. A format that the document does not have is wrong usage, told before anything is written.
pub(crate) fn show(document: &AnyDocument, as_json: bool, chosen: &[(&[PathBuf], Format)]) -> Outcome<()> {
    let shown = |format| firsttouch_report::show(document, format).ok_or_else(|| without(document, format));
    let asked = chosen.iter().filter(|(files, _)| !files.is_empty());
    let texts = asked.map(|(files, format)| Ok((files, shown(*format)?))).collect::<Outcome<Vec<_>>>()?;
    let written: Vec<_> =
        texts.iter().flat_map(|(files, text)| files.iter().map(|file| write(file, text))).collect();
    let format =
        if as_json { Format::Json } else { Format::Text { width: output::width(), style: Style::Ansi } };
    let summary = shown(format).and_then(|text| summary(&text, chosen.iter().flat_map(|(files, _)| *files)));
    output::together(written.into_iter().chain([summary]))
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
        output::open_stdout().context("cannot write to stdout")?;
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

/// Refuses a command line by which two documents would share stdout or a file, or one would be lost because its file cannot be
/// written: before the time is spent.
pub(crate) fn check<'a>(as_json: bool, files: impl IntoIterator<Item = &'a PathBuf>) -> Outcome<()> {
    let (on_stdout, files): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| is_stdout(file));
    if as_json || !on_stdout.is_empty() {
        may_write(Path::new("-"))?;
    }
    if on_stdout.len() + usize::from(as_json) > 1 {
        return Err(Failure::message("two documents cannot share stdout")
            .hint("name a file for all but one of them in place of -")
            .usage());
    }
    let mut named = BTreeSet::new();
    for file in files {
        may_write(file)?;
        // What goes to a device or a pipe is not kept there for another to overwrite.
        let is_kept = !file.exists() || file.is_file();
        if is_kept && !named.insert(std::path::absolute(file)?) {
            return Err(Failure::message(format!("two documents cannot share {}", file.display()))
                .hint("name another file for one of them")
                .usage());
        }
    }
    Ok(())
}

/// Refuses a file that cannot be written, as far as the kernel tells without one being made.
pub(crate) fn may_write(file: &Path) -> Outcome<()> {
    if is_stdout(file) {
        return output::written(output::open_stdout());
    }
    let cannot = || format!("cannot write {}", file.display());
    if file.is_dir() {
        return Err(Failure::message("it is a folder").context(cannot()));
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let answer = match access(file, Access::WRITE_OK) {
        // What a link leads to may lie elsewhere.
        Err(rustix::io::Errno::NOENT) if file.is_symlink() => return Ok(()),
        Err(rustix::io::Errno::NOENT) => access(folder, Access::WRITE_OK | Access::EXEC_OK),
        answer => answer,
    };
    answer.map_err(|error| {
        let failure = Failure::new(anyhow::Error::new(io::Error::from(error)).context(cannot()));
        let missing = !folder.exists();
        failure.hint_if_some(
            missing.then(|| format!("mkdir -p {}", shell::command(&[folder.display().to_string()]))),
        )
    })
}

/// Prints what a command found: on stderr where one of its documents goes to stdout, so that this is nothing else.
pub(crate) fn summary<'a>(text: &str, files: impl IntoIterator<Item = &'a PathBuf>) -> Outcome<()> {
    if files.into_iter().any(|file| is_stdout(file)) {
        output::message(text);
        return Ok(());
    }
    output::data(text)
}
