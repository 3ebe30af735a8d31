//! The files of one run of vt or LBAF: `STEM.RANK.json`, one for each rank, beside which a folder may hold those of other runs.

use crate::output::{Failure, Outcome};
use firsttouch_sorted::SortedMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The files that were named: as they are, those of the only run in a folder, and those of a run that is named by folder and stem.
pub(super) fn files(named: &[PathBuf]) -> Outcome<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in named {
        if path.is_dir() {
            files.extend(only_run(path)?);
        } else if path.exists() {
            files.push(path.clone());
        } else {
            let run = run_of_stem(path);
            // What is no stem either is told as a file that cannot be read.
            files.extend(if run.is_empty() { vec![path.clone()] } else { run });
        }
    }
    Ok(files)
}

/// The JSON files of a folder, in the order of their names.
fn json_files(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)
        .map_err(|error| Failure::message(format!("cannot read {}: {error}", folder.display())))?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| bare_name(path).is_some())
        .collect();
    found.sort_unstable();
    Ok(found)
}

/// The name of a JSON file without its ending.
fn bare_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let bare = name.strip_suffix(".json").or_else(|| name.strip_suffix(".json.br"))?;
    Some(bare.to_owned())
}

/// The stem and the rank in the name of a rank's file.
fn stem_and_rank(path: &Path) -> Option<(String, u64)> {
    let bare = bare_name(path)?;
    let (stem, rank) = bare.rsplit_once('.')?;
    Some((stem.to_owned(), rank.parse().ok()?))
}

fn only_run(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let found = json_files(folder)?;
    if found.is_empty() {
        return Err(Failure::message(format!("there is no JSON file in {}", folder.display())));
    }
    let mut runs: SortedMap<String, SortedMap<u64, &Path>> = SortedMap::new();
    for path in &found {
        let Some((stem, rank)) = stem_and_rank(path) else { continue };
        if let Some(other) = runs.entry(stem).or_default().insert(rank, path) {
            let [one, two] = [other, path].map(|path| path.file_name().unwrap_or_default().to_string_lossy());
            let reason = format!("{}: rank {rank} is there twice: {one} and {two}", folder.display());
            return Err(Failure::message(reason).hint("name the files that are meant: --vt FILE..."));
        }
    }
    if runs.len() > 1 {
        let told: Vec<String> = runs
            .iter()
            .map(|(stem, ranks)| {
                format!("{stem} ({} {})", ranks.len(), if ranks.len() == 1 { "rank" } else { "ranks" })
            })
            .collect();
        let reason =
            format!("{} holds {} runs: {}; which one?", folder.display(), runs.len(), told.join(", "));
        let first = folder.join(runs.keys().next().map_or("", String::as_str));
        let hint = format!("name it by its folder and how its files begin, as --vt {}", first.display());
        return Err(Failure::message(reason).hint(hint));
    }
    Ok(found)
}

/// The files of the run that a path is the stem of, by rank; none if there is no such run.
fn run_of_stem(path: &Path) -> Vec<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let wanted = path.file_name().unwrap_or_default().to_string_lossy();
    let found = json_files(folder).unwrap_or_default();
    found.into_iter().filter(|path| stem_and_rank(path).is_some_and(|(stem, _)| stem == wanted)).collect()
}
