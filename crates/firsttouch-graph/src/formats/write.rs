//! Writing graphs: as text, or in our own format.
//!
//! Texts have the nodes in the order and with the numbers of the file they came from, whatever order they have inside:
//! formats that count without gaps count from their own first number. Only our own format keeps both.

use super::binary;
use super::format::Format;
use super::loaded::Loaded;
use crate::rows::{Graph, Node, in_parts};
use firsttouch_documents::Replacement;
use firsttouch_threads::Team;
use flate2::{Compression, write::GzEncoder};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A graph that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file cannot be written.
    #[error("{path} cannot be written")]
    File {
        /// The file.
        path: PathBuf,
        /// What the kernel answered.
        source: io::Error,
    },
    /// The stream cannot be written to.
    #[error("the graph cannot be written")]
    Stream(#[from] io::Error),
    /// METIS files have edges, not arcs.
    #[error(
        "METIS files hold undirected graphs, and this one has an arc from {tail} to {head} that does not go back alike"
    )]
    OneWay {
        /// Its tail, in the file's numbers.
        tail: u64,
        /// Its head.
        head: u64,
    },
    /// METIS files have no loops.
    #[error("METIS files hold no loops, and node {node} has one")]
    Loop {
        /// The node, in the file's numbers.
        node: u64,
    },
    /// Our own format is written to files only.
    #[error("a graph in our own format is mapped from a file: it cannot be written to a stream or packed")]
    NeedsFile,
    /// Graphs of the GAP benchmark are written by its own tool.
    #[error("graphs as the GAP benchmark serializes them are read, but not written")]
    Gap,
    /// Only gzip is written.
    #[error("files ending in {ending} are read, but not written")]
    Packing {
        /// How the name ends.
        ending: String,
    },
}

impl WriteError {
    /// What would mend it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            WriteError::File { .. } | WriteError::Stream(_) => {
                "is there room on the disk (df), and may the folder be written?"
            }
            WriteError::OneWay { .. } | WriteError::Loop { .. } => "write it as .gr, .mtx, .wel or .ftg",
            WriteError::Gap => {
                "write it as .wel, and let GAP's own tool make it: converter -f IN.wel -w -b OUT.wsg"
            }
            WriteError::NeedsFile => "name a file that ends in .ftg",
            WriteError::Packing { .. } => "write the text, and pack it: xz FILE, bzip2 FILE; or write .gz",
        }
    }
}

/// Writes a graph into a file: beside it first, and in its place when it is whole. Names ending in `.gz` are packed. A pipe or
/// a device gets the text as it is.
///
/// # Errors
/// What cannot be written, in this format or at all.
pub fn save(loaded: &Loaded, path: &Path, format: Format, team: &mut Team) -> Result<(), WriteError> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if matches!(ending, "bz2" | "xz" | "zst") {
        return Err(WriteError::Packing { ending: format!(".{ending}") });
    }
    let is_packed = ending == "gz";
    if is_packed && format == Format::Binary {
        return Err(WriteError::NeedsFile);
    }
    let wrong = |source| WriteError::File { path: path.to_owned(), source };
    let mut beside = match Replacement::of(path).map_err(wrong)? {
        Replacement::Stream(stream) => return write_text(loaded, format, &mut BufWriter::new(stream), team),
        Replacement::Beside(beside) => beside,
    };
    let written = match format {
        Format::Binary => binary::write(loaded, beside.file()).map_err(WriteError::Stream),
        _ if is_packed => {
            let mut packed = GzEncoder::new(beside.file(), Compression::default());
            write_text(loaded, format, &mut packed, team).and_then(|()| Ok(packed.finish().map(drop)?))
        }
        _ => {
            let mut stream = BufWriter::new(beside.file());
            write_text(loaded, format, &mut stream, team).and_then(|()| Ok(stream.flush()?))
        }
    };
    written.map_err(|error| match error {
        WriteError::Stream(source) => wrong(source),
        other => other,
    })?;
    beside.put(true).map_err(wrong)
}

/// Nodes whose lines are made at once.
const NODES_PER_PART: usize = 1 << 14;

/// What the lines of a text are: one for each arc, or, without tails, one for each node with the arcs that leave it.
#[derive(Clone, Copy)]
struct Lines {
    /// What an arc begins with.
    begin: &'static [u8],
    tails: bool,
    weights: bool,
}

/// Writes a graph as text.
///
/// # Errors
/// A graph that the format does not hold, or what writing answers.
pub fn write_text(
    loaded: &Loaded,
    format: Format,
    stream: &mut impl Write,
    team: &mut Team,
) -> Result<(), WriteError> {
    let (graph, ids) = (&loaded.graph, &loaded.ids);
    let (nodes, arcs) = (graph.nodes(), graph.arcs());
    let weighted = Lines { begin: b"", tails: true, weights: true };
    let lines = match format {
        Format::Binary => return Err(WriteError::NeedsFile),
        Format::Gap => return Err(WriteError::Gap),
        Format::Dimacs => {
            writeln!(stream, "p sp {nodes} {arcs}")?;
            Lines { begin: b"a ", ..weighted }
        }
        Format::MatrixMarket => {
            writeln!(stream, "%%MatrixMarket matrix coordinate integer general\n{nodes} {nodes} {arcs}")?;
            weighted
        }
        Format::EdgeList | Format::WeightedEdgeList => {
            writeln!(stream, "# Nodes: {nodes} Edges: {arcs}")?;
            Lines { weights: format == Format::WeightedEdgeList, ..weighted }
        }
        Format::Metis => {
            undirected(loaded)?;
            writeln!(stream, "{nodes} {} 001", arcs / 2)?;
            Lines { tails: false, ..weighted }
        }
    };
    // The place of a node in the file it came from, and the node at a place.
    let place = |node: Node| ids.order().map_or(node, |order| order.before(node));
    let node_at = |place: usize| ids.order().map_or(place as Node, |order| order.after(place as Node));
    let (first, listed) = format.first_number().map_or((0, ids.list()), |first| (first, None));
    let number =
        |node: Node| listed.map_or(u64::from(place(node)) + first, |listed| listed[place(node) as usize]);
    let written = |places: std::ops::Range<usize>| {
        let mut text = Vec::with_capacity(places.len() * 64);
        for node in places.map(node_at) {
            for arc in graph.out(node) {
                text.extend_from_slice(lines.begin);
                let arc = [number(node), number(arc.head), u64::from(arc.weight)];
                numbers(&mut text, &arc[usize::from(!lines.tails)..2 + usize::from(lines.weights)]);
                if !lines.tails {
                    // The line goes on.
                    text.pop();
                    text.push(b' ');
                }
            }
            if !lines.tails {
                text.push(b'\n');
            }
        }
        text
    };
    let parts = nodes.div_ceil(NODES_PER_PART);
    let at_once = team.size() * 4;
    for first in (0..parts).step_by(at_once) {
        let texts: Vec<Mutex<Vec<u8>>> =
            (first..(first + at_once).min(parts)).map(|_| Mutex::default()).collect();
        let made: Result<(), ()> = in_parts(texts.len(), team, |part| {
            let begin = (first + part) * NODES_PER_PART;
            let text = written(begin..(begin + NODES_PER_PART).min(nodes));
            *texts[part].lock().unwrap_or_else(PoisonError::into_inner) = text;
            Ok(())
        });
        debug_assert_eq!(made, Ok(()));
        for text in texts {
            stream.write_all(&text.into_inner().unwrap_or_else(PoisonError::into_inner))?;
        }
    }
    Ok(stream.flush()?)
}

/// Numbers with a blank between, and the end of the line.
fn numbers(text: &mut Vec<u8>, numbers: &[u64]) {
    const MOST_DIGITS: usize = 20;
    for number in numbers {
        let mut digits = [0; MOST_DIGITS];
        let mut at = MOST_DIGITS;
        let mut left = *number;
        loop {
            at -= 1;
            digits[at] = b'0' + (left % 10) as u8;
            left /= 10;
            if left == 0 {
                break;
            }
        }
        text.extend_from_slice(&digits[at..]);
        text.push(b' ');
    }
    if let Some(last) = text.last_mut() {
        *last = b'\n';
    }
}

/// Whether every arc goes back alike, and none is a loop.
fn undirected(loaded: &Loaded) -> Result<(), WriteError> {
    let there = sorted(&loaded.graph);
    let back = sorted(&loaded.graph.reverse());
    for node in 0..loaded.graph.nodes() as Node {
        let id = loaded.ids.of(node);
        if there.out(node).iter().any(|arc| arc.head == node) {
            return Err(WriteError::Loop { node: id });
        }
        if there.out(node) != back.out(node) {
            let differs = there.out(node).iter().zip(back.out(node)).find(|(a, b)| a != b);
            let missing = match differs {
                Some((there, back)) => (*there).min(*back),
                None if there.out(node).len() > back.out(node).len() => there.out(node)[back.out(node).len()],
                None => back.out(node)[there.out(node).len()],
            };
            return Err(WriteError::OneWay { tail: id, head: loaded.ids.of(missing.head) });
        }
    }
    Ok(())
}

/// The same with every row in order.
fn sorted(graph: &Graph) -> Graph {
    let mut arcs: Vec<crate::OutArc> = graph.all_arcs().to_vec();
    for row in graph.offsets().windows(2) {
        arcs[row[0] as usize..row[1] as usize].sort_unstable();
    }
    Graph::of_words(graph.offsets().to_vec(), bytemuck::cast_slice(&arcs).to_vec())
}
