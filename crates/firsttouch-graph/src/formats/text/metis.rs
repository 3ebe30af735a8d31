//! METIS: line `v` lists the neighbours of node `v`. Every edge stands in the lines of both its ends, so that each line
//! already is a row of arcs.
//!
//! Which node a line is of is known only when the lines before it have been counted: that is a pass of its own, which looks
//! for nothing but ends of lines.

use super::cursor::Cursor;
use super::pieces::Text;
use super::trouble::{Trouble, build_text, first_error};
use crate::formats::error::{LineError, ReadError};
use crate::formats::format::Format;
use crate::formats::loaded::{Loaded, NO_WEIGHTS};
use crate::formats::options::ReadOptions;
use crate::rows::{ArcSource, GraphError, Ids, Node, OutArc, in_parts};
use firsttouch_threads::Team;
use memchr::memchr_iter;
use std::sync::{Mutex, PoisonError};

/// The first line: nodes, edges, and what stands in a line beside neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    line: u64,
    /// Where the next line begins.
    body: u64,
    nodes: u64,
    edges: u64,
    /// Numbers before the neighbours: the size of a node, and its weights.
    before: u64,
    has_weights: bool,
}

pub(crate) fn read(text: &Text, options: &ReadOptions, team: &mut Team) -> Result<Loaded, ReadError> {
    let mut number = 0;
    let found = text.find(|begin, line| {
        number += 1;
        if is_comment(line) || line.trim_ascii().is_empty() {
            return None;
        }
        let body = begin + line.len() as u64 + 1;
        Some(header(line, number, body).map_err(|reason| ReadError::Line { line: number, reason }))
    })?;
    let header = found.ok_or(ReadError::NoHeader)??;
    if header.nodes > u64::from(u32::MAX) {
        return Err(GraphError::TooManyNodes { nodes: header.nodes }.into());
    }
    let first = first_nodes(text, header.body, team)?;
    let lines = first.last().copied().unwrap_or(0);
    let rows = Rows { text, header, first };
    // The last line may be empty and lost; more than one is the header's mistake, or the file was cut off.
    if header.nodes > lines + 1 {
        return Err(ReadError::Count {
            line: header.line,
            what: "nodes",
            promised: header.nodes,
            found: lines,
        });
    }
    let graph = build_text(header.nodes, &rows, Rows::first_error, options, team)?;
    let found = graph.arcs() as u64;
    if found != header.edges.saturating_mul(2) {
        return Err(ReadError::Count {
            line: header.line,
            what: "entries, two for each edge, of which none joins a node to itself",
            promised: header.edges.saturating_mul(2),
            found,
        });
    }
    let mut notes = Vec::new();
    if !header.has_weights {
        notes.push(NO_WEIGHTS.to_owned());
    }
    let ids = Ids::from_first(1, header.nodes as usize);
    Ok(Loaded { graph, ids, coordinates: None, format: Format::Metis, notes })
}

fn is_comment(line: &[u8]) -> bool {
    line.first() == Some(&b'%')
}

/// The nodes and edges that a header promises.
pub(crate) fn counts(line: &[u8]) -> Result<(u64, u64), LineError> {
    header(line, 0, 0).map(|header| (header.nodes, header.edges))
}

fn header(line: &[u8], number: u64, body: u64) -> Result<Header, LineError> {
    let mut cursor = Cursor::new(line);
    let nodes = cursor.number("the number of nodes")?;
    let edges = cursor.number("the number of edges")?;
    let mut header = Header { line: number, body, nodes, edges, before: 0, has_weights: false };
    if cursor.take_line_end() {
        return Ok(header);
    }
    let format = cursor.number("a format (three digits)")?;
    if format > 111 || [format / 100, format / 10 % 10, format % 10].iter().any(|digit| *digit > 1) {
        let found = format.to_string();
        return Err(LineError::Expected { expected: "a format of three digits, each 0 or 1,", found });
    }
    let has_node_weights = format / 10 % 10 == 1;
    header.has_weights = format % 10 == 1;
    header.before = format / 100;
    let mut weights = u64::from(has_node_weights);
    if !cursor.take_line_end() {
        let given = cursor.number("the number of weights of a node")?;
        cursor.line_end()?;
        // A number without the digit that asks for it means nothing.
        weights = if has_node_weights { given } else { 0 };
    }
    header.before += weights;
    Ok(header)
}

/// The node of the first line of every part, and at the end the number of all lines: those of comments left out.
fn first_nodes(text: &Text, body: u64, team: &mut Team) -> Result<Vec<u64>, ReadError> {
    let parts = text.parts(body);
    let counts = Mutex::new(vec![0_u64; parts + 1]);
    in_parts(parts, team, |part| -> Result<(), std::io::Error> {
        let lines = text.lines(body, part)?;
        let comments = lines.split(|byte| *byte == b'\n').filter(|line| is_comment(line)).count();
        let unended = usize::from(lines.last().is_some_and(|last| *last != b'\n'));
        let rows = memchr_iter(b'\n', &lines).count() + unended - comments;
        counts.lock().unwrap_or_else(PoisonError::into_inner)[part] = rows as u64;
        Ok(())
    })?;
    let mut first = counts.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut total = 0;
    for count in &mut first {
        total += std::mem::replace(count, total);
    }
    Ok(first)
}

struct Rows<'a> {
    text: &'a Text,
    header: Header,
    first: Vec<u64>,
}

impl Rows<'_> {
    /// The arcs of one line.
    fn row(&self, node: u64, line: &[u8], mut each: impl FnMut(Node, OutArc)) -> Result<(), LineError> {
        let header = &self.header;
        let mut cursor = Cursor::new(line);
        if node >= header.nodes {
            // Blank lines at the end belong to nobody.
            return if cursor.take_line_end() { Ok(()) } else { Err(cursor.expected("the end of the file")) };
        }
        for _ in 0..header.before {
            cursor.number("the size or weight of a node")?;
        }
        while !cursor.take_line_end() {
            let id = cursor.number("a node")?;
            if id == 0 {
                return Err(LineError::NodeZero { format: Format::Metis });
            }
            if id > header.nodes {
                return Err(LineError::NoSuchNode { id, first: 1, last: header.nodes });
            }
            let weight = if header.has_weights { cursor.weight()? } else { 1 };
            each(node as Node, OutArc { head: (id - 1) as Node, weight });
        }
        Ok(())
    }

    fn first_error(&self) -> Result<(), ReadError> {
        let mut node = 0;
        first_error(self.text, self.header.body, |line| {
            if is_comment(line) {
                return Ok(());
            }
            node += 1;
            self.row(node - 1, line, |_, _| {})
        })
    }
}

impl ArcSource for Rows<'_> {
    type Error = Trouble;

    fn parts(&self) -> usize {
        self.text.parts(self.header.body)
    }

    fn tails(&self, part: usize, mut each: impl FnMut(Node)) -> Result<(), Trouble> {
        self.arcs(part, |tail, _| each(tail))
    }

    fn arcs(&self, part: usize, mut each: impl FnMut(Node, OutArc)) -> Result<(), Trouble> {
        let lines = self.text.lines(self.header.body, part)?;
        let rows = lines.split_inclusive(|byte| *byte == b'\n').filter(|line| !is_comment(line));
        for (node, line) in (self.first[part]..).zip(rows) {
            self.row(node, line, &mut each)?;
        }
        Ok(())
    }
}
