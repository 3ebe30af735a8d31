//! `measure`: how fast the memory of every node is from every node, and where that is kept.

use crate::args::Measure;
use crate::output::{self, Failure, Outcome};
use crate::progress_lines::ProgressLines;
use crate::{clock, export, program};
use firsttouch_documents::{AnyDocument, MeasurementError, load_measurement, save_measurement};
use firsttouch_launch::{Here, NotHere};
use firsttouch_machine::{Machine, Measurement, Root};
use firsttouch_measure::{MeasureError, MeasureOptions, MeasureProgress, enough_bytes, measure};
use firsttouch_placement::{MemoryPolicy, Placement, Resolved};
use firsttouch_report::{Format, shell};
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &Measure) -> Outcome {
    let machine = Machine::examine(&Root::live())?;
    let files: [(&[PathBuf], Format); 2] =
        [(&args.export_json, Format::Json), (&args.export_html, Format::Html)];
    export::check(args.json, files.iter().flat_map(|(files, _)| *files))?;
    // A file that cannot be used is told of before the time is spent.
    if let Some(file) = &args.save {
        if export::is_stdout(file) {
            return Err(Failure::message(
                "--save keeps the measurements of several machines in one file, which - is none",
            )
            .hint("--json prints this one; so does --export-json -")
            .usage());
        }
        load_measurement(file, &machine).map_err(Failure::hinted)?;
    }
    let options =
        MeasureOptions { pages: args.pages, region_bytes: args.size, quick: args.quick, cores: args.cores };
    let lines = ProgressLines::new();
    let measured = measure(&machine, &options, clock::now(), &mut |progress| lines.show(&words(progress)));
    lines.clear();
    let measured = measured.map_err(|error| {
        let is_usage = matches!(error, MeasureError::TooSmall { .. });
        Failure::hinted(error).usage_if(is_usage)
    })?;
    let kept = keep(args, &machine, &measured);
    let shown = export::show(&AnyDocument::Measurement(Box::new(measured)), args.json, &files);
    output::together([kept, shown])?;
    Ok(0)
}

/// Where the result is kept unless somebody names a file; `None` without a home.
pub(crate) fn kept_file() -> Option<PathBuf> {
    firsttouch_launch::kept_file(&program::environment())
}

/// What a placement means on this machine, which is looked at only if something depends on it.
pub(crate) fn resolve(asked: &Placement, quiet: bool) -> Result<Resolved, NotHere> {
    if !asked.needs_resolving() {
        return Ok(Resolved::default());
    }
    here(asked, quiet)?.resolve(asked)
}

/// This machine, with what was measured of it.
pub(crate) fn here(asked: &Placement, quiet: bool) -> Result<Here, NotHere> {
    let here = Here::read(kept_file().as_deref())?;
    if !quiet && needs_measurement(asked) {
        warn_of_unread(here.unread());
    }
    Ok(here)
}

/// Whether the placement follows what was measured, where something was.
pub(crate) fn needs_measurement(asked: &Placement) -> bool {
    matches!(asked.memory, MemoryPolicy::Weighted(_))
}

/// Says that what was kept is not used, to somebody who would have used it.
pub(crate) fn warn_of_unread(unread: Option<&MeasurementError>) {
    if let Some(error) = unread {
        let what = format!("what was measured before is not used: {}", with_causes(error));
        output::warning(&what, Some(&hint_for_usual(error)));
    }
}

/// What mends the usual file: that one is ours, and holds nothing that would be missed.
fn hint_for_usual(error: &MeasurementError) -> String {
    match error {
        MeasurementError::Open { path, .. } | MeasurementError::Other { path, .. } => {
            format!("rm {}; firsttouch measure   # measures anew", shell::quote(&path.display().to_string()))
        }
        MeasurementError::Read { .. } | MeasurementError::Write { .. } => error.hint().to_owned(),
    }
}

fn with_causes(error: &MeasurementError) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    let causes: String = causes.map(|cause| format!(": {cause}")).collect();
    format!("{error}{causes}")
}

/// Keeps the result. A file that was named must be written; the usual one is worth a warning, and gets nothing that placements should not
/// follow.
fn keep(args: &Measure, machine: &Machine, measured: &Measurement) -> Outcome<()> {
    if let Some(file) = &args.save {
        return save_measurement(measured, file).map_err(Failure::hinted);
    }
    if args.no_save {
        return Ok(());
    }
    if measured.pages.latency_bytes < enough_bytes(machine) {
        output::warning(
            "the result is not kept: the regions are less than twice the caches, which were measured instead of memory",
            Some("firsttouch measure, without --size; --save FILE keeps this one there"),
        );
        return Ok(());
    }
    let saved = |file: &Path| match save_measurement(measured, file) {
        Ok(()) => output::message(&format!("kept in {}\n", file.display())),
        Err(error) => {
            let what = format!("the result is not kept: {}", with_causes(&error));
            output::warning(&what, Some(&hint_for_usual(&error)));
        }
    };
    match kept_file() {
        Some(file) => saved(&file),
        None => output::warning(
            "the result is not kept: neither XDG_CACHE_HOME nor HOME names a folder",
            Some("firsttouch measure --save FILE"),
        ),
    }
    Ok(())
}

fn words(progress: MeasureProgress) -> String {
    match progress {
        MeasureProgress::Preparing { bytes, nodes } => {
            let nodes = if nodes == 1 { "one node".to_owned() } else { format!("{nodes} nodes") };
            format!("preparing {} of memory on {nodes}", firsttouch_placement::format_bytes(bytes))
        }
        MeasureProgress::Choosing => "looking for the fastest instructions".to_owned(),
        MeasureProgress::Measuring { done, of } => format!("measuring, {} % done", done * 100 / of.max(1)),
        MeasureProgress::Cores { done, of } => format!("core to core, {} % done", done * 100 / of.max(1)),
    }
}
