//! Edge lists: two nodes in a line, perhaps a weight behind them, and no header but comments.

use super::pieces::Text;
use super::promise::{DeclaredNodes, without_header};
use super::records::Grammar;
use crate::formats::error::ReadError;
use crate::formats::format::Format;
use crate::formats::loaded::{Loaded, NO_WEIGHTS};
use crate::formats::options::ReadOptions;
use firsttouch_threads::Team;

pub(crate) fn read(
    text: &Text,
    format: Format,
    options: &ReadOptions,
    team: &mut Team,
) -> Result<Loaded, ReadError> {
    let weights = format == Format::WeightedEdgeList;
    let grammar = Grammar { format, prefix: 0, comments: *b"#%", header: 0, weights };
    let mut number = 0;
    let declared = text.find(|_, line| {
        number += 1;
        match line.first() {
            Some(b'#' | b'%') => {
                nodes_declared(line).map(|nodes| Some(DeclaredNodes { line: number, nodes }))
            }
            _ => Some(None),
        }
    })?;
    let mut loaded = without_header(text, grammar, declared.flatten(), |_| 0, options, team)?;
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
fn nodes_declared(comment: &[u8]) -> Option<u64> {
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
