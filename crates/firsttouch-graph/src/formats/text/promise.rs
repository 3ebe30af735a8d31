//! What a header promises, and what is made of a text whose header promises nothing.

use super::pieces::Text;
use super::records::{Grammar, Numbering, Records, census, ids};
use super::trouble::{build_text, located};
use crate::formats::error::ReadError;
use crate::formats::loaded::Loaded;
use crate::formats::options::ReadOptions;
use crate::formats::room;
use crate::rows::{Graph, GraphError, Ids};
use firsttouch_threads::Team;

/// What a header promises, and where the line is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Promise {
    pub(super) line: u64,
    pub(super) nodes: u64,
    /// Lines with arcs.
    pub(super) records: u64,
    /// Where the next line begins.
    pub(super) body: u64,
}

impl Promise {
    /// Whether it can be believed, before memory is taken for it.
    pub(super) fn is_valid(&self, text: &Text, options: &ReadOptions) -> Result<(), ReadError> {
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
    pub(super) fn is_kept(&self, found: u64) -> Result<(), ReadError> {
        if found == self.records {
            return Ok(());
        }
        Err(ReadError::Count { line: self.line, what: "arcs", promised: self.records, found })
    }
}

/// A file whose largest number is below so many times its lines is taken as it is: what is missing are nodes without arcs.
/// Beyond that its numbers are names.
const MOST_NUMBERS_PER_LINE: u64 = 4;
/// A file whose largest number is below this is taken as it is, too.
const FEW_NUMBERS: u64 = 1 << 16;

/// How many nodes a comment tells of, and in which line.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeclaredNodes {
    pub(super) line: u64,
    pub(super) nodes: u64,
}

/// A graph whose size no header tells, though a comment may tell of how many nodes; `first` makes the number of the first
/// node of the least number in the file.
pub(super) fn without_header(
    text: &Text,
    grammar: Grammar,
    declared: Option<DeclaredNodes>,
    first: impl FnOnce(u64) -> u64,
    options: &ReadOptions,
    team: &mut Team,
) -> Result<Loaded, ReadError> {
    let everything = Numbering::From { first: 0, nodes: u64::MAX };
    let all = Records { text, body: 0, grammar, numbering: everything, both_ways: options.undirected };
    let census = census(text, 0, grammar, team).map_err(|trouble| located(trouble, || all.first_error()))?;
    if let Some(DeclaredNodes { line, nodes }) = declared {
        Promise { line, nodes, records: census.records, body: 0 }.is_valid(text, options)?;
    }
    let declared = declared.map_or(0, |declared| declared.nodes);
    let Some((least, largest)) = census.ids.or(declared.checked_sub(1).map(|last| (0, last))) else {
        return Err(ReadError::Empty);
    };
    // Without an arc there are no numbers to have gaps.
    let few = census.records.saturating_mul(MOST_NUMBERS_PER_LINE).max(FEW_NUMBERS);
    if largest < few || census.ids.is_none() {
        let first = first(least);
        let nodes = (largest - first + 1).max(declared);
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

pub(super) fn loaded_of(
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
pub(super) fn lines_of(source: &Records<'_>, graph: &Graph, team: &mut Team) -> Result<u64, ReadError> {
    if !source.both_ways {
        return Ok(graph.arcs() as u64);
    }
    let counted = census(source.text, source.body, source.grammar, team);
    counted.map(|census| census.records).map_err(|trouble| located(trouble, || source.first_error()))
}
