//! Shortest-path graphs of the DIMACS challenges, and graphs of the PACE challenges, which are written alike.

use super::cursor::Cursor;
use super::pieces::Text;
use super::promise::{Promise, lines_of, loaded_of, without_header};
use super::records::{Grammar, Numbering, Records};
use super::trouble::wrong;
use crate::formats::error::{LineError, ReadError};
use crate::formats::format::Format;
use crate::formats::loaded::Loaded;
use crate::formats::options::ReadOptions;
use crate::rows::Ids;
use firsttouch_threads::Team;

/// Reads a text with a header, or without.
pub(crate) fn read(text: &Text, options: &ReadOptions, team: &mut Team) -> Result<Loaded, ReadError> {
    let mut number = 0;
    let found = text.find(|begin, line| {
        number += 1;
        match line.trim_ascii().first() {
            None | Some(b'c') => None,
            Some(b'p') => {
                let body = begin + line.len() as u64 + 1;
                let promise =
                    |(nodes, records, has_edges)| (Promise { line: number, nodes, records, body }, has_edges);
                Some(header(line).map(|counts| Some(promise(counts))).map_err(wrong(number)))
            }
            Some(_) => Some(Ok(None)),
        }
    })?;
    let grammar =
        Grammar { format: Format::Dimacs, prefix: b'a', comments: *b"cc", header: b'p', weights: true };
    match found {
        None => Err(ReadError::NoHeader),
        Some(Err(error)) => Err(error),
        Some(Ok(Some((promise, has_edges)))) => {
            promise.is_valid(text, options)?;
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

/// Problems of the PACE challenges whose `.gr` files have edges without weights, `1 2`: tree width, tree depth and vertex cover,
/// cluster editing, twin width, dominating sets.
const PACE: [&[u8]; 6] = [b"tw", b"td", b"tdp", b"cep", b"tww", b"ds"];

/// The nodes and lines that a header promises, and whether it is one of the PACE challenges.
pub(crate) fn header(line: &[u8]) -> Result<(u64, u64, bool), LineError> {
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
