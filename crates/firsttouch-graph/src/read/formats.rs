//! The headers of the formats with one arc in a line.

use super::records::{first_error, ids};
use super::*;
use crate::GraphError;

/// What a header promises, and where the line is.
#[derive(Clone, Copy, Debug)]
struct Promise {
    line: u64,
    nodes: u64,
    /// Lines with arcs.
    records: u64,
    /// Where the next line begins.
    body: u64,
}

impl Promise {
    /// Whether it can be believed, before memory is taken for it.
    fn is_sound(&self, text: &Text, options: &ReadOptions) -> Result<(), ReadError> {
        if self.nodes > u64::from(u32::MAX) {
            return Err(GraphError::TooManyNodes { nodes: self.nodes }.into());
        }
        // More lines than the file has room for are not there, whatever is promised.
        let arcs = self.records.min(room::arcs(text.bytes()));
        let most = room::nodes(text.bytes(), arcs, options.most_memory_bytes);
        if self.nodes <= most {
            return Ok(());
        }
        Err(ReadError::TooManyAlone { line: self.line, nodes: self.nodes, arcs, most })
    }

    /// Whether it was kept. Of arcs both ways and loops among them only the lines are promised.
    fn is_kept(&self, found: u64) -> Result<(), ReadError> {
        if found == self.records {
            return Ok(());
        }
        Err(ReadError::Count { line: self.line, what: "arcs", promised: self.records, found })
    }
}

fn wrong(line: u64) -> impl FnOnce(LineError) -> ReadError {
    move |reason| ReadError::Line { line, reason }
}

pub(super) fn dimacs(text: &Text, options: &ReadOptions, team: &mut Team) -> Result<Loaded, ReadError> {
    let mut number = 0;
    let header = text.find(|begin, line| {
        number += 1;
        match line.trim_ascii().first() {
            None | Some(b'c') => None,
            Some(b'p') => {
                let body = begin + line.len() as u64 + 1;
                let promise =
                    |(nodes, records, has_edges)| (Promise { line: number, nodes, records, body }, has_edges);
                Some(dimacs_header(line).map(|counts| Some(promise(counts))).map_err(wrong(number)))
            }
            Some(_) => Some(Ok(None)),
        }
    })?;
    let grammar =
        Grammar { format: Format::Dimacs, prefix: b'a', comments: *b"cc", header: b'p', weights: true };
    match header {
        None => Err(ReadError::NoHeader),
        Some(Err(error)) => Err(error),
        Some(Ok(Some((promise, has_edges)))) => {
            promise.is_sound(text, options)?;
            let numbering = Numbering::From { first: 1, nodes: promise.nodes };
            let body = promise.body;
            let grammar = if has_edges { Grammar { prefix: 0, weights: false, ..grammar } } else { grammar };
            let both_ways = options.undirected || has_edges;
            let source = Records { text, body, grammar, numbering, both_ways };
            let mut loaded =
                loaded_of(promise.nodes, &source, Ids::from_first(1, promise.nodes as usize), options, team)?;
            promise.is_kept(lines_of(&source, &loaded.graph, team)?)?;
            if has_edges {
                loaded
                    .notes
                    .push("a file of the PACE challenge: each of its edges is two arcs of weight 1".into());
            }
            Ok(loaded)
        }
        Some(Ok(None)) => {
            // The lines are arcs as in a file with a header, or bare numbers.
            let first = text.find(|_, line| {
                let first = *line.trim_ascii().first()?;
                (first != b'c').then_some(first)
            })?;
            let prefix = if first == Some(b'a') { b'a' } else { 0 };
            let grammar = Grammar { prefix, ..grammar };
            let mut loaded = without_header(text, grammar, None, |least| least.min(1), options, team)?;
            if let Some(first) = loaded.ids.first() {
                let nodes = loaded.graph.nodes();
                loaded.notes.push(format!(
                    "the file has no header (`p sp NODES ARCS`): its {nodes} nodes are counted from {first}, as the least \
                     number in it tells"
                ));
            }
            Ok(loaded)
        }
    }
}

/// A file whose largest number is below so many times its lines is taken as it is: what is missing are nodes without arcs.
/// Beyond that its numbers are names.
const MOST_NUMBERS_PER_LINE: u64 = 4;
/// A file whose largest number is below this is taken as it is, too.
const FEW_NUMBERS: u64 = 1 << 16;

/// How many nodes a comment tells of, and in which line.
#[derive(Clone, Copy, Debug)]
struct Told {
    line: u64,
    nodes: u64,
}

/// A graph whose size no header tells, though a comment may tell of how many nodes; `first` makes the number of the first
/// node of the least number in the file.
fn without_header(
    text: &Text,
    grammar: Grammar,
    told: Option<Told>,
    first: impl FnOnce(u64) -> u64,
    options: &ReadOptions,
    team: &mut Team,
) -> Result<Loaded, ReadError> {
    let everything = Numbering::From { first: 0, nodes: u64::MAX };
    let all = Records { text, body: 0, grammar, numbering: everything, both_ways: options.undirected };
    let census = census(text, 0, grammar, team).map_err(|trouble| located(trouble, || all.first_error()))?;
    if let Some(Told { line, nodes }) = told {
        Promise { line, nodes, records: census.records, body: 0 }.is_sound(text, options)?;
    }
    let told = told.map_or(0, |told| told.nodes);
    let Some((least, largest)) = census.ids.or(told.checked_sub(1).map(|last| (0, last))) else {
        return Err(ReadError::Empty);
    };
    // Without an arc there are no numbers to have gaps.
    let few = census.records.saturating_mul(MOST_NUMBERS_PER_LINE).max(FEW_NUMBERS);
    if largest < few || census.ids.is_none() {
        let first = first(least);
        let nodes = (largest - first + 1).max(told);
        let source = Records { numbering: Numbering::From { first, nodes }, ..all };
        return loaded_of(nodes, &source, Ids::from_first(first, nodes as usize), options, team);
    }
    let listed = ids(text, 0, grammar, team).map_err(|trouble| located(trouble, || all.first_error()))?;
    let nodes = listed.len() as u64;
    let source = Records { numbering: Numbering::Listed(&listed), ..all };
    let mut loaded = loaded_of(nodes, &source, Ids::from_first(0, 0), options, team)?;
    loaded
        .notes
        .push(format!("the numbers of the {nodes} nodes have gaps, up to {largest}: they are kept as names"));
    Ok(Loaded { ids: Ids::listed(listed).ok_or(ReadError::Changed)?, ..loaded })
}

fn loaded_of(
    nodes: u64,
    source: &Records<'_>,
    ids: Ids,
    options: &ReadOptions,
    team: &mut Team,
) -> Result<Loaded, ReadError> {
    let graph = build_text(nodes, source, |source| source.first_error(), options, team)?;
    Ok(Loaded { graph, ids, coordinates: None, format: source.grammar.format, notes: Vec::new() })
}

/// How many lines with arcs there were.
fn lines_of(source: &Records<'_>, graph: &Graph, team: &mut Team) -> Result<u64, ReadError> {
    if !source.both_ways {
        return Ok(graph.arcs() as u64);
    }
    let counted = census(source.text, source.body, source.grammar, team);
    counted.map(|census| census.records).map_err(|trouble| located(trouble, || source.first_error()))
}

/// Problems of the PACE challenges whose `.gr` files have edges without weights, `1 2`: tree width, tree depth and vertex cover,
/// cluster editing, twin width, dominating sets.
const PACE: [&[u8]; 6] = [b"tw", b"td", b"tdp", b"cep", b"tww", b"ds"];

/// The nodes and lines that a header promises, and whether it is one of the PACE challenges.
pub(super) fn dimacs_header(line: &[u8]) -> Result<(u64, u64, bool), LineError> {
    let mut cursor = Cursor::new(line);
    cursor.word();
    let kind = cursor.word();
    let has_edges = PACE.contains(&kind);
    if kind != b"sp" && !has_edges {
        let what = "it is the header of another problem than shortest paths (`p sp NODES ARCS`)";
        return Err(LineError::NotSupported { what });
    }
    let (nodes, records) = (cursor.number("the number of nodes")?, cursor.number("the number of arcs")?);
    cursor.line_end()?;
    Ok((nodes, records, has_edges))
}

/// The nodes and entries that the line of sizes promises.
pub(super) fn matrix_header(line: &[u8]) -> Result<(u64, u64), LineError> {
    let mut cursor = Cursor::new(line);
    let rows = cursor.number("the number of rows")?;
    let columns = cursor.number("the number of columns")?;
    let entries = cursor.number("the number of entries")?;
    cursor.line_end()?;
    if rows != columns {
        let what = "the matrix is not square, so its rows and columns are not the same nodes";
        return Err(LineError::NotSupported { what });
    }
    Ok((rows, entries))
}

pub(super) fn matrix_market(
    text: &Text,
    options: &ReadOptions,
    team: &mut Team,
) -> Result<Loaded, ReadError> {
    let mut number = 0;
    let mut kind = None;
    let header = text.find(|begin, line| {
        number += 1;
        if number == 1 {
            match matrix_kind(line) {
                Ok(found) => kind = Some(found),
                Err(reason) => return Some(Err(ReadError::Line { line: 1, reason })),
            }
            return None;
        }
        if line.trim_ascii().is_empty() || line.starts_with(b"%") {
            return None;
        }
        let body = begin + line.len() as u64 + 1;
        let promise = |(nodes, records)| Promise { line: number, nodes, records, body };
        Some(matrix_header(line).map(promise).map_err(wrong(number)))
    })?;
    let promise = header.ok_or(ReadError::NoHeader)??;
    let kind = kind.ok_or(ReadError::NoHeader)?;
    promise.is_sound(text, options)?;
    let grammar = Grammar {
        format: Format::MatrixMarket,
        prefix: 0,
        comments: *b"%%",
        header: 0,
        weights: kind.has_values,
    };
    let both_ways = kind.is_symmetric || options.undirected;
    let numbering = Numbering::From { first: 1, nodes: promise.nodes };
    let source = Records { text, body: promise.body, grammar, numbering, both_ways };
    let mut loaded =
        loaded_of(promise.nodes, &source, Ids::from_first(1, promise.nodes as usize), options, team)?;
    promise.is_kept(lines_of(&source, &loaded.graph, team)?)?;
    if !kind.has_values {
        loaded.notes.push(NO_WEIGHTS.to_owned());
    }
    Ok(loaded)
}

pub(super) const NO_WEIGHTS: &str = "the file has no weights: every arc has weight 1";

#[derive(Clone, Copy, Debug)]
pub(super) struct MatrixKind {
    has_values: bool,
    pub(super) is_symmetric: bool,
}

pub(super) fn matrix_kind(line: &[u8]) -> Result<MatrixKind, LineError> {
    let line = line.to_ascii_lowercase();
    let words: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
    let not = |what| Err(LineError::NotSupported { what });
    let [b"%%matrixmarket", b"matrix", layout, field, symmetry] = words[..] else {
        return Err(Cursor::new(&line).expected("`%%MatrixMarket matrix coordinate FIELD SYMMETRY`"));
    };
    if layout != b"coordinate" {
        return not("the matrix is dense (array): only coordinate matrices are read as graphs");
    }
    let has_values = match field {
        b"pattern" => false,
        b"integer" | b"real" | b"double" => true,
        _ => return not("complex values are no weights"),
    };
    match symmetry {
        b"general" => Ok(MatrixKind { has_values, is_symmetric: false }),
        b"symmetric" => Ok(MatrixKind { has_values, is_symmetric: true }),
        _ => not("a skew-symmetric or Hermitian matrix has values that are no weights"),
    }
}

pub(super) fn edge_list(
    text: &Text,
    format: Format,
    options: &ReadOptions,
    team: &mut Team,
) -> Result<Loaded, ReadError> {
    let weights = format == Format::WeightedEdgeList;
    let grammar = Grammar { format, prefix: 0, comments: *b"#%", header: 0, weights };
    let mut number = 0;
    let told = text.find(|_, line| {
        number += 1;
        match line.first() {
            Some(b'#' | b'%') => nodes_told(line).map(|nodes| Some(Told { line: number, nodes })),
            _ => Some(None),
        }
    })?;
    let mut loaded = without_header(text, grammar, told.flatten(), |_| 0, options, team)?;
    if !weights {
        loaded.notes.push(NO_WEIGHTS.to_owned());
    }
    if !options.undirected && says_undirected(text)? {
        loaded.notes.push(
            "the file calls itself undirected, and each line was taken as one arc: --undirected makes two of it".to_owned(),
        );
    }
    Ok(loaded)
}

/// How many nodes a comment tells of, as those of SNAP do: `# Nodes: 7 Edges: 9`. Without it, nodes at the end of the
/// numbers that have no arcs would be lost.
fn nodes_told(comment: &[u8]) -> Option<u64> {
    let mut words = comment.split(u8::is_ascii_whitespace).skip_while(|word| *word != b"Nodes:");
    std::str::from_utf8(words.nth(1)?).ok()?.parse().ok()
}

/// Whether a comment at the beginning says so, as those of SNAP do.
fn says_undirected(text: &Text) -> Result<bool, ReadError> {
    let said = text.find(|_, line| match line.first() {
        Some(b'#' | b'%') => {
            line.to_ascii_lowercase().windows(10).any(|word| word == b"undirected").then_some(true)
        }
        _ => Some(false),
    })?;
    Ok(said.unwrap_or(false))
}

pub(super) fn coordinates(text: &Text) -> Result<Vec<[i32; 2]>, ReadError> {
    let mut points: Vec<Option<[i32; 2]>> = Vec::new();
    let (line, nodes) = auxiliary(text, b"co", |word, cursor, nodes| {
        if word != b"v" {
            return Err(Cursor::new(word).expected("`v NODE X Y`"));
        }
        let (id, x, y) =
            (cursor.number("a node")?, cursor.signed("a coordinate")?, cursor.signed("a coordinate")?);
        cursor.line_end()?;
        let nodes = nodes.unwrap_or(u64::MAX);
        if id == 0 {
            return Err(LineError::NodeZero { format: Format::Dimacs });
        }
        if id > nodes.min(u64::from(u32::MAX)) {
            return Err(LineError::NoSuchNode { id, first: 1, last: nodes });
        }
        let point = match (i32::try_from(x), i32::try_from(y)) {
            (Ok(x), Ok(y)) => [x, y],
            _ => return Err(LineError::TooLarge { found: x.max(y).to_string() }),
        };
        // Every node has a line of its own.
        let most = room::points(text.bytes());
        if id > most {
            return Err(LineError::NoSuchNode { id, first: 1, last: most });
        }
        let place = (id - 1) as usize;
        if place >= points.len() {
            points.resize(place + 1, None);
        }
        match points[place].replace(point) {
            None => Ok(()),
            Some(_) => Err(LineError::NotSupported { what: "the node has coordinates already" }),
        }
    })?;
    let found = points.iter().flatten().count() as u64;
    if found != nodes {
        return Err(ReadError::Count { line, what: "coordinates", promised: nodes, found });
    }
    Ok(points.into_iter().flatten().collect())
}

pub(super) fn sources(text: &Text) -> Result<Vec<u64>, ReadError> {
    let mut found = Vec::new();
    let (line, promised) = auxiliary(text, b"ss", |word, cursor, _| {
        if word != b"s" {
            return Err(Cursor::new(word).expected("`s NODE`"));
        }
        found.push(cursor.number("a source")?);
        cursor.line_end()
    })?;
    if promised != found.len() as u64 {
        return Err(ReadError::Count { line, what: "sources", promised, found: found.len() as u64 });
    }
    Ok(found)
}

/// Reads a file beside a graph. `entry` is given the first word of every line that is neither comment nor header, what
/// follows it, and the number that the header tells, if that has come. Answers the header's line and number.
fn auxiliary(
    text: &Text,
    kind: &[u8],
    mut entry: impl FnMut(&[u8], &mut Cursor<'_>, Option<u64>) -> Result<(), LineError>,
) -> Result<(u64, u64), ReadError> {
    let mut header: Option<(u64, u64)> = None;
    let mut number = 0;
    first_error_or_io(text, |line| {
        number += 1;
        let mut cursor = Cursor::new(line);
        match cursor.word() {
            b"" | b"c" => Ok(()),
            b"p" => {
                let count = auxiliary_header(&mut cursor, kind, header.is_some())?;
                header = Some((number, count));
                Ok(())
            }
            word => entry(word, &mut cursor, header.map(|(_, count)| count)),
        }
    })?;
    header.ok_or(ReadError::NoHeader)
}

fn first_error_or_io(
    text: &Text,
    check: impl FnMut(&[u8]) -> Result<(), LineError>,
) -> Result<(), ReadError> {
    if text.bytes() == 0 {
        return Err(ReadError::Empty);
    }
    first_error(text, 0, check)
}

/// `p aux sp KIND COUNT`, of which the first word was read.
fn auxiliary_header(cursor: &mut Cursor<'_>, kind: &[u8], is_second: bool) -> Result<u64, LineError> {
    if is_second {
        return Err(LineError::SecondHeader);
    }
    for wanted in [b"aux".as_slice(), b"sp", kind] {
        if cursor.word() != wanted {
            let what = "it is the header of another kind of file";
            return Err(LineError::NotSupported { what });
        }
    }
    let count = cursor.number("a number of nodes")?;
    cursor.line_end()?;
    Ok(count)
}
