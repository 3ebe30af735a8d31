//! `measure`: how fast the memory of every node is from every node, and where that is kept.

use crate::args::Measure;
use crate::output::{self, Failure, Outcome};
use crate::{clock, export};
use firsttouch_machine::{Machine, Measurement, Root};
use firsttouch_measure::{Options, Progress, measure};
use firsttouch_report::{Style, html, json, text};
use std::env;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &Measure) -> Outcome {
    let machine = Machine::examine(&Root::live())?;
    export::check(args.json, args.export_json.iter().chain(&args.export_html))?;
    // A file that cannot be used is told of before the time is spent.
    if let Some(file) = &args.save {
        Measurement::load(file, &machine)?;
    }
    let options = Options { pages: args.pages, region_bytes: args.size, quick: args.quick };
    let mut teller = Teller::new();
    let measured = measure(&machine, &options, clock::now(), &mut |progress| teller.tell(progress));
    teller.finish();
    let measured = measured.map_err(|error| {
        let hint = error.hint();
        Failure::new(error).hint(hint)
    })?;
    keep(args, &measured)?;
    show(&measured, args.json, &args.export_json, &args.export_html)?;
    Ok(0)
}

/// Writes the files first: a closed stdout must not cost them.
pub(crate) fn show(
    measurement: &Measurement,
    as_json: bool,
    json_files: &[PathBuf],
    html_files: &[PathBuf],
) -> Outcome<()> {
    for file in json_files {
        export::write(file, &json::measurement(measurement))?;
    }
    for file in html_files {
        export::write(file, &html::measurement(measurement))?;
    }
    let shown = if as_json {
        json::measurement(measurement)
    } else {
        text::measurement(measurement, output::width(), Style::Ansi)
    };
    export::summary(&shown, json_files.iter().chain(html_files))
}

/// Where the result is kept unless somebody names a file; `None` without a home.
pub(crate) fn kept_file() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").filter(|home| home.is_dir()).map(|home| home.join(".cache")))?;
    Some(cache.join("firsttouch/measured.json"))
}

/// Keeps the result. A file that was named must be written; the usual one is worth a warning.
fn keep(args: &Measure, measured: &Measurement) -> Outcome<()> {
    if let Some(file) = &args.save {
        return Ok(measured.save(file)?);
    }
    if args.no_save {
        return Ok(());
    }
    let saved = |file: &Path| match measured.save(file) {
        Ok(()) => output::message(&format!("kept in {}\n", file.display())),
        Err(error) => {
            let causes = std::iter::successors(std::error::Error::source(&error), |cause| cause.source());
            let causes: String = causes.map(|cause| format!(": {cause}")).collect();
            output::warning(
                &format!("the result is not kept: {error}{causes}"),
                Some("firsttouch measure --save FILE"),
            );
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

/// Tells on stderr how far it is: one line that changes on a terminal, a few lines elsewhere.
struct Teller {
    redraws: bool,
    told: Option<(&'static str, usize)>,
}

impl Teller {
    fn new() -> Teller {
        Teller { redraws: output::terminal().is_some(), told: None }
    }

    fn tell(&mut self, progress: Progress) {
        let (stage, step, words) = match progress {
            Progress::Preparing { bytes, nodes } => {
                let nodes = if nodes == 1 { "one node".to_owned() } else { format!("{nodes} nodes") };
                let size = firsttouch_placement::format_bytes(bytes);
                ("preparing", 0, format!("preparing {size} of memory on {nodes}"))
            }
            Progress::Choosing => ("choosing", 0, "looking for the fastest instructions".to_owned()),
            Progress::Measuring { done, of } => {
                // Each line of a log shall say something new: four are enough.
                let step = if self.redraws { done } else { done * 4 / of.max(1) };
                ("measuring", step, format!("measuring, {} % done", done * 100 / of.max(1)))
            }
        };
        if self.told == Some((stage, step)) {
            return;
        }
        self.told = Some((stage, step));
        output::message(&if self.redraws { format!("\r\u{1b}[K{words}") } else { format!("{words}\n") });
    }

    /// Takes the line away that was being redrawn.
    fn finish(&self) {
        if self.redraws && self.told.is_some() {
            output::message("\r\u{1b}[K");
        }
    }
}
