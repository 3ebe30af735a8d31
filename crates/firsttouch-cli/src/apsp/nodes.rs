//! The figures of every node, as lines of CSV.

use crate::export;
use anyhow::Context;
use firsttouch_graph::{Figure, Ids, Node, Summary};
use std::io::{self, Write};
use std::path::Path;

/// Figures that every node has, in the order of their columns.
const COLUMNS: [Figure; 3] = [Figure::Eccentricity, Figure::Closeness, Figure::Reach];

/// Writes a row for each node that is done: those of `asked` that nodes have, or all of them if there are none.
pub(super) fn write(
    path: &Path,
    ids: &Ids,
    nodes: &[Node],
    summaries: &[Option<Summary>],
    asked: &[Figure],
) -> anyhow::Result<()> {
    let named: Vec<Figure> = COLUMNS.into_iter().filter(|column| asked.contains(column)).collect();
    let columns = if named.is_empty() { COLUMNS.to_vec() } else { named };
    let mut file = export::create(path)?;
    let mut rows = || -> io::Result<()> {
        write!(file, "node")?;
        columns.iter().try_for_each(|column| write!(file, ",{}", column.word()))?;
        writeln!(file)?;
        for (node, summary) in nodes.iter().zip(summaries) {
            let Some(summary) = summary else { continue };
            write!(file, "{}", ids.of(*node))?;
            for column in &columns {
                match column {
                    Figure::Closeness => write!(file, ",{}", summary.closeness(ids.nodes()))?,
                    Figure::Reach => write!(file, ",{}", summary.reached)?,
                    _ => write!(file, ",{}", summary.farthest)?,
                }
            }
            writeln!(file)?;
        }
        file.flush()
    };
    rows().with_context(|| format!("cannot write {}", path.display()))
}
