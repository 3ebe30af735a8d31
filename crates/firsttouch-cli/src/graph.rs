//! `graph`: graphs read, converted and made.

use crate::args::{GraphConvert, GraphGenerate, GraphInfo, GraphInput, GraphKind, GraphWhat, GroupsWord};
use crate::output::{self, Failure, Outcome};
use crate::paths::tell_need;
use firsttouch_graph::{
    Copies, Description, Format, GraphReceipt, Loaded, Order, Place, ReadError, ReadOptions, Recipe,
    Reordering, Size, core_groups, generate, read, read_coordinates, read_from, save, write_text,
};
use firsttouch_linux::numa;
use firsttouch_machine::{Machine, Root};
use firsttouch_placement::{Pages, SCHEMA_VERSION, format_bytes};
use firsttouch_threads::Team;
use serde::Serialize;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::time::Instant;

pub(crate) fn run(args: &crate::args::Graph) -> Outcome {
    match &args.what {
        GraphWhat::Info(args) => info(args),
        GraphWhat::Convert(args) => convert(args),
        GraphWhat::Generate(args) => make(args),
    }
}

/// The document of `graph … --json`.
#[derive(Debug, Serialize)]
struct Document {
    schema_version: u32,
    graph: Description,
    /// Seconds that reading took, reordering left out; `None` for graphs that were made.
    parse_s: Option<f64>,
    /// Seconds that making took.
    #[serde(skip_serializing_if = "Option::is_none")]
    generate_s: Option<f64>,
    /// Bytes of the file that was read, as it lies on the disk.
    file_bytes: Option<u64>,
    threads: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    out: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    receipt: Option<GraphReceipt>,
}

pub(crate) fn team(threads: Option<u32>) -> Outcome<Team> {
    let most = threads.map_or(usize::MAX, |threads| threads as usize);
    Team::of_this_process(most).map_err(|error| {
        let hint = error.hint();
        Failure::new(error).hint(hint)
    })
}

/// A graph, and how long it took to read it.
pub(crate) fn load(input: &GraphInput, place: Place, team: &mut Team) -> Outcome<(Loaded, f64)> {
    let options = ReadOptions {
        format: input.format,
        place,
        undirected: input.undirected,
        most_memory_bytes: input.most_memory,
    };
    let begun = Instant::now();
    let loaded = if input.file.as_os_str() == "-" {
        read_from(io::stdin().lock(), input.format, &options, team)
    } else {
        read(&input.file, &options, team)
    };
    let mut loaded = loaded.map_err(|error| cannot_read(&input.file, error))?;
    let seconds = begun.elapsed().as_secs_f64();
    if let Some(path) = &input.coordinates {
        let coordinates = read_coordinates(path).map_err(|error| cannot_read(path, error))?;
        if coordinates.len() != loaded.graph.nodes() {
            return Err(Failure::message(format!(
                "{} has coordinates of {} nodes, and the graph has {}",
                path.display(),
                coordinates.len(),
                loaded.graph.nodes()
            ))
            .hint("name the coordinates of the same graph"));
        }
        loaded.coordinates = Some(coordinates);
    }
    if let Some(reorder) = input.reorder {
        let graph = &loaded.graph;
        let order = match (reorder.0, &loaded.coordinates) {
            (Reordering::DepthFirst, _) => Order::depth_first(graph),
            (Reordering::BreadthFirst, _) => Order::breadth_first(graph),
            (Reordering::Cells(nodes), _) => Order::cells(graph, nodes),
            (Reordering::Coordinates, Some(coordinates)) => Order::coordinates(coordinates),
            (Reordering::Coordinates, None) => {
                return Err(Failure::message("there are no coordinates to order the nodes by")
                    .hint("name them: --coordinates FILE.co; or --reorder dfs, which needs none"));
            }
        };
        loaded = loaded.reordered(&order, place).map_err(|error| {
            Failure::message(format!("there is no memory for the graph: {error}")).hint(error.hint())
        })?;
    }
    Ok((loaded, seconds))
}

/// How large a graph is, by its header.
pub(crate) fn size(input: &GraphInput) -> Outcome<Size> {
    let path = &input.file;
    let size = Size::of_file(path, input.format).map_err(|error| {
        let hint = match error {
            ReadError::NoHeader => "only reading it tells how large it is: firsttouch graph info FILE",
            _ => error.hint(),
        };
        Failure::new(anyhow::Error::new(error).context(format!("{} does not tell its size", path.display())))
            .hint(hint)
    })?;
    let both_ways = if input.undirected { 2 } else { 1 };
    Ok(Size { arcs: size.arcs.saturating_mul(both_ways), ..size })
}

fn cannot_read(path: &Path, error: ReadError) -> Failure {
    let hint = error.hint();
    Failure::new(anyhow::Error::new(error).context(format!("{} is not read as a graph", path.display())))
        .hint(hint)
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
    let document = Document {
        schema_version: SCHEMA_VERSION,
        graph: Description::of(&loaded),
        parse_s: Some(seconds),
        generate_s: None,
        file_bytes,
        threads: readers.size(),
        seed: None,
        out: None,
        receipt: Some(receipt),
    };
    if args.json {
        return json(&document);
    }
    let mut text = document.graph.to_string();
    let speed = file_bytes.map_or(String::new(), |bytes| {
        format!(" ({} of file, {:.0} MB/s)", format_bytes(bytes), bytes as f64 / 1e6 / seconds.max(1e-9))
    });
    text.push_str(&format!("read in     {:.1} ms by {} threads{speed}\n", seconds * 1e3, document.threads));
    if let Some(receipt) = &document.receipt {
        text.push_str(&receipt.to_string());
    }
    output::data(&text)?;
    Ok(0)
}

/// One copy for every group of cores, and a team on them.
pub(crate) fn copies(loaded: &Loaded, pages: Pages, word: GroupsWord) -> Outcome<(Team, Copies)> {
    const THIS_THREAD: u32 = 0;
    let machine = Machine::read(&Root::live())?;
    let usable: Vec<u32> =
        numa::affinity(THIS_THREAD).map_err(io::Error::from_raw_os_error)?.iter().collect();
    let groups = core_groups(&machine, &usable, word.cores, word.groups).map_err(|error| {
        Failure::new(error).hint("firsttouch status lists the cores of every node that may be used")
    })?;
    let nodes: Vec<Option<u32>> = groups.iter().map(|group| group.node).collect();
    let by_group: Vec<Vec<u32>> = groups.into_iter().map(|group| group.cpus).collect();
    let mut team = Team::new(&by_group).map_err(|error| {
        let hint = error.hint();
        Failure::new(error).hint(hint)
    })?;
    let copies = Copies::make(&loaded.graph, pages, &nodes, &mut team).map_err(|error| {
        Failure::message(format!("there is no memory for the copies: {error}")).hint(error.hint())
    })?;
    Ok((team, copies))
}

fn convert(args: &GraphConvert) -> Outcome {
    let mut team = team(args.input.threads)?;
    let (loaded, seconds) = load(&args.input, Place::default(), &mut team)?;
    write(&loaded, &args.out, args.to, &mut team)?;
    let document = Document {
        schema_version: SCHEMA_VERSION,
        graph: Description::of(&loaded),
        parse_s: Some(seconds),
        generate_s: None,
        file_bytes: std::fs::metadata(&args.input.file).ok().map(|data| data.len()),
        threads: team.size(),
        seed: None,
        out: Some(args.out.clone()),
        receipt: None,
    };
    written(&document, args.json)
}

fn make(args: &GraphGenerate) -> Outcome {
    let weights = |usual| args.weights.as_ref().map_or(usual, |range| range.0.clone());
    let nodes = 1_u64 << args.scale;
    let recipe = match args.kind {
        GraphKind::Streets => {
            let width = 1 << args.scale.div_ceil(2);
            Recipe::Streets { width, height: (nodes / u64::from(width)) as u32 }
        }
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
        return tell_need(Size::of_recipe(&recipe).need(1, 1), args.json);
    }
    let mut team = team(args.threads)?;
    let begun = Instant::now();
    let loaded = generate(&recipe, args.seed, Place::default(), &mut team).map_err(|error| {
        let hint = error.hint();
        Failure::new(error).hint(hint)
    })?;
    let seconds = begun.elapsed().as_secs_f64();
    write(&loaded, &args.out, args.to, &mut team)?;
    let document = Document {
        schema_version: SCHEMA_VERSION,
        graph: Description::of(&loaded),
        parse_s: None,
        generate_s: Some(seconds),
        file_bytes: None,
        threads: team.size(),
        seed: Some(args.seed),
        out: Some(args.out.clone()),
        receipt: None,
    };
    written(&document, args.json)
}

fn write(loaded: &Loaded, out: &Path, to: Option<Format>, team: &mut Team) -> Outcome<()> {
    let is_stdout = out.as_os_str() == "-";
    let format = to.or_else(|| Format::of_name(out)).ok_or_else(|| {
        Failure::message(format!("the name {} does not tell which format to write", out.display()))
            .hint("name it: --to gr, mtx, el, wel, metis or ftg")
    })?;
    let written = if is_stdout {
        write_text(loaded, format, &mut BufWriter::new(io::stdout().lock()), team)
    } else {
        save(loaded, out, format, team)
    };
    match written {
        // Whoever reads our output has seen enough: nothing failed.
        Err(firsttouch_graph::WriteError::Stream(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(())
        }
        Err(error) => {
            let hint = error.hint();
            Err(Failure::new(error).hint(hint))
        }
        Ok(()) => Ok(()),
    }
}

/// Tells what was written: on stdout as JSON, or in words on stderr, because stdout may be the graph.
fn written(document: &Document, as_json: bool) -> Outcome {
    let to_stdout = document.out.as_deref() == Some(Path::new("-"));
    if as_json && !to_stdout {
        return json(document);
    }
    output::message(&document.graph.to_string());
    Ok(0)
}

fn json(document: &Document) -> Outcome {
    output::data(&format!("{}\n", serde_json::to_string_pretty(document)?))?;
    Ok(0)
}
