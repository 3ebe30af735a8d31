//! `graph`: graphs read, converted and made.

use crate::args::{GraphConvert, GraphGenerate, GraphInfo, GraphKind, GraphWhat};
use crate::export;
use crate::output::{self, Failure, Outcome};
use crate::paths::tell_need;
use crate::reading::{copies, load, team};
use firsttouch_documents::{GraphReport, to_json};
use firsttouch_graph::{Description, Format, Loaded, Place, Recipe, Size, generate, save, write_text};
use firsttouch_report::text;
use firsttouch_threads::Team;
use std::io::{self, BufWriter};
use std::path::Path;
use std::time::Instant;

pub(crate) fn run(args: &crate::args::Graph) -> Outcome {
    match &args.what {
        GraphWhat::Info(args) => info(args),
        GraphWhat::Convert(args) => convert(args),
        GraphWhat::Generate(args) => make(args),
    }
}

fn info(args: &GraphInfo) -> Outcome {
    let mut readers = team(args.input.threads)?;
    let place = Place { pages: args.pages, node: None };
    let (loaded, seconds) = load(&args.input, place, &mut readers)?;
    let receipt = match args.groups {
        Some(groups) => copies(&loaded, args.pages, groups)?.1.receipt(),
        None => loaded.graph.receipt(place),
    };
    let file_bytes = std::fs::metadata(&args.input.file).ok().map(|data| data.len());
    let report = GraphReport {
        graph: Description::from(&loaded),
        parse_s: Some(seconds),
        generate_s: None,
        file_bytes,
        threads: readers.size(),
        seed: None,
        out: None,
        receipt: Some(receipt),
    };
    output::data(&if args.json { to_json(&report) } else { text::graph(&report) })?;
    Ok(0)
}

fn convert(args: &GraphConvert) -> Outcome {
    let format = written_format(&args.out, args.to)?;
    let mut team = team(args.input.threads)?;
    let (loaded, seconds) = load(&args.input, Place::default(), &mut team)?;
    write(&loaded, &args.out, format, &mut team)?;
    let report = GraphReport {
        graph: Description::from(&loaded),
        parse_s: Some(seconds),
        generate_s: None,
        file_bytes: std::fs::metadata(&args.input.file).ok().map(|data| data.len()),
        threads: team.size(),
        seed: None,
        out: Some(args.out.clone()),
        receipt: None,
    };
    written(&report, args.json)
}

fn make(args: &GraphGenerate) -> Outcome {
    let weights = |usual| args.weights.as_ref().map_or(usual, |range| range.0.clone());
    let nodes = 1_u64 << args.scale;
    let recipe = match args.kind {
        GraphKind::Streets => Recipe::streets(args.scale),
        GraphKind::Random => Recipe::Random {
            nodes: nodes as u32,
            arcs: nodes * u64::from(args.degree.unwrap_or(2)),
            weights: weights(1..=65_535),
        },
        GraphKind::Kronecker => Recipe::Kronecker {
            scale: args.scale,
            degree: args.degree.unwrap_or(16),
            weights: weights(1..=255),
        },
    };
    if args.dry_run {
        return tell_need(Size::of_recipe(&recipe).memory_estimate(1, 1), args.json);
    }
    let format = written_format(&args.out, args.to)?;
    let mut team = team(args.threads)?;
    let begun = Instant::now();
    let loaded = generate(&recipe, args.seed, Place::default(), &mut team).map_err(Failure::hinted)?;
    let seconds = begun.elapsed().as_secs_f64();
    write(&loaded, &args.out, format, &mut team)?;
    let mut graph = Description::from(&loaded);
    graph.format = format.word().to_owned();
    graph.first_id = format.first_number().or(graph.first_id);
    let report = GraphReport {
        graph,
        parse_s: None,
        generate_s: Some(seconds),
        file_bytes: None,
        threads: team.size(),
        seed: Some(args.seed),
        out: Some(args.out.clone()),
        receipt: None,
    };
    written(&report, args.json)
}

/// The format that is asked for, or that the name of the file tells.
fn written_format(out: &Path, to: Option<Format>) -> Outcome<Format> {
    to.or_else(|| Format::of_name(out)).ok_or_else(|| {
        Failure::message(format!("the name {} does not tell which format to write", out.display()))
            .hint(format!("name it: --to {}", Format::words(Format::is_written, ", ", " or ")))
            .usage()
    })
}

fn write(loaded: &Loaded, out: &Path, format: Format, team: &mut Team) -> Outcome<()> {
    let is_stdout = out.as_os_str() == "-";
    let written = if is_stdout {
        export::may_write(out)?;
        write_text(loaded, format, &mut BufWriter::new(io::stdout().lock()), team)
    } else {
        save(loaded, out, format, team)
    };
    match written {
        // Whoever reads our output has seen enough: nothing failed.
        Err(firsttouch_graph::WriteError::Stream(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(())
        }
        Err(error) => Err(Failure::hinted(error)),
        Ok(()) => Ok(()),
    }
}

/// Tells what was written: on stdout as JSON, or in words on stderr, because stdout may be the graph.
fn written(report: &GraphReport, as_json: bool) -> Outcome {
    let to_stdout = report.out.as_deref() == Some(Path::new("-"));
    if as_json && !to_stdout {
        output::data(&to_json(report))?;
    } else {
        output::message(&text::graph(report));
    }
    Ok(0)
}
