//! `report --decide`: files with values of other tools, and what they say.

use crate::args::Report;
use crate::input::bytes_of;
use crate::output::{Failure, Outcome};
use anyhow::Context;
use firsttouch_documents::AnyDocument;
use firsttouch_report::measured::{DecideOptions, MeasuredFile, criterion_name, decide as decided, read};
use firsttouch_sorted::sort_by_key;
use std::fs;
use std::path::{Path, PathBuf};

/// The file of criterion that holds the samples, and the one beside it with the name of the benchmark.
const SAMPLE: &str = "sample.json";
const BENCHMARK: &str = "benchmark.json";

/// The folder of criterion that holds what was measured last; that of the time before is `base`.
const LATEST: &str = "new";

/// What the files say.
pub(super) fn decide(report: &Report) -> Outcome<AnyDocument> {
    let mut files = Vec::new();
    for path in &report.files {
        for file in files_of(path)? {
            let measured = measured(&file)?;
            files.push((file.display().to_string(), measured));
        }
    }
    let options = DecideOptions {
        baseline: report.baseline.clone(),
        higher_is_better: report.higher_is_better,
        same_band: report.same,
        by_file: report.by_file,
    };
    let decision = decided(files, &options).map_err(|error| {
        let hint = error.hint();
        Failure::new(anyhow::Error::new(error)).hint(hint)
    })?;
    Ok(AnyDocument::Decision(Box::new(decision)))
}

/// The file itself; of a folder of criterion the samples in it, those before the latest first.
fn files_of(path: &Path) -> Outcome<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let own = path.join(SAMPLE);
    if own.is_file() {
        return Ok(vec![own]);
    }
    let shown = path.display();
    let entries = fs::read_dir(path).with_context(|| format!("cannot read {shown}"))?;
    let folders = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<PathBuf>, _>>();
    let mut folders = folders.with_context(|| format!("cannot read {shown}"))?;
    folders.retain(|folder| folder.join(SAMPLE).is_file());
    sort_by_key(&mut folders, |folder| {
        (folder.file_name().is_some_and(|name| name == LATEST), folder.clone())
    });
    if folders.is_empty() {
        return Err(Failure::message(format!("the folder {shown} holds no samples of criterion"))
            .hint("name the folder of one benchmark, such as target/criterion/NAME with its base and new"));
    }
    Ok(folders.into_iter().map(|folder| folder.join(SAMPLE)).collect())
}

fn measured(file: &Path) -> Outcome<MeasuredFile> {
    let shown = file.display();
    let bytes = bytes_of(file)?;
    let mut measured = read(&bytes).map_err(|error| {
        let hint = error.hint();
        Failure::new(anyhow::Error::new(error).context(format!("cannot decide {shown}"))).hint(hint)
    })?;
    if measured.lacks_name() {
        measured.name(&name_beside(file)?);
    }
    Ok(measured)
}

/// The benchmark of a `sample.json`: by the file beside it, or else by the folders it lies in. Other samples than the latest have
/// the name of their folder, too (`sums/200 (base)`).
fn name_beside(file: &Path) -> Outcome<String> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let beside = folder.join(BENCHMARK);
    let folder_name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = match fs::read(&beside) {
        Ok(bytes) => criterion_name(&bytes).with_context(|| format!("cannot decide {}", beside.display()))?,
        Err(_) => match folder.parent().and_then(Path::file_name) {
            Some(name) => name.to_string_lossy().into_owned(),
            None => file.display().to_string(),
        },
    };
    Ok(if folder_name == LATEST || folder_name.is_empty() { name } else { format!("{name} ({folder_name})") })
}
