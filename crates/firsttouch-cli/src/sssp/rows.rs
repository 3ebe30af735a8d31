//! Distances as lines of CSV, in the order of the sources, whoever finishes first.

use crate::export;
use anyhow::Context;
use firsttouch_graph::{Distances, Ids, NO_PARENT, Node, Tree};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What was found from one source.
pub(crate) enum Answer<'a> {
    /// Of all nodes, or of those that were asked for and others.
    Tree(Tree<'a>),
    /// Of the targets alone, in the order they were named.
    Targets { source: Node, distances: Distances<'a> },
}

/// The line that files of rows begin with.
pub(crate) fn header(parents: bool) -> &'static str {
    if parents { "source,target,distance,parent\n" } else { "source,target,distance\n" }
}

/// Creates a file for rows, with its first line.
pub(crate) fn create(path: &Path, parents: bool) -> anyhow::Result<Box<dyn Write + Send>> {
    let mut file = export::create(path)?;
    file.write_all(header(parents).as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(file)
}

/// Rows that several threads write.
pub(crate) struct Rows<'a, W> {
    ids: &'a Ids,
    /// The nodes that have rows for every source, by their numbers in the file.
    targets: Vec<(u64, Node)>,
    /// All nodes are targets, so that a search with a limit may leave most of them out.
    all: bool,
    parents: bool,
    state: Mutex<State<W>>,
}

struct State<W> {
    out: W,
    /// The source whose rows come next.
    next: usize,
    /// Rows of sources that are not next.
    waiting: BTreeMap<usize, Vec<u8>>,
    failed: Option<io::Error>,
}

impl<'a, W: Write> Rows<'a, W> {
    /// Without `targets` all nodes have rows, or with a limit those within it.
    pub(crate) fn new(out: W, ids: &'a Ids, targets: Option<&[Node]>, parents: bool) -> Rows<'a, W> {
        let named = |node: &Node| (ids.of(*node), *node);
        let mut rows: Vec<(u64, Node)> = match targets {
            Some(targets) => targets.iter().map(named).collect(),
            None => (0..ids.nodes() as Node).map(|node| named(&node)).collect(),
        };
        if targets.is_none() {
            rows.sort_unstable();
        }
        Rows {
            ids,
            targets: rows,
            all: targets.is_none(),
            parents,
            state: Mutex::new(State { out, next: 0, waiting: BTreeMap::new(), failed: None }),
        }
    }

    /// Adds the rows of the source that is number `at` of the list.
    pub(crate) fn add(&self, at: usize, answer: &Answer<'_>) {
        let text = self.text(answer);
        let mut state = self.lock();
        let state = &mut *state;
        state.waiting.insert(at, text);
        while let Some(text) = state.waiting.remove(&state.next) {
            state.next += 1;
            if state.failed.is_none() {
                state.failed = state.out.write_all(&text).err();
            }
        }
    }

    /// Whether more rows cannot be written.
    pub(crate) fn have_failed(&self) -> bool {
        self.lock().failed.is_some()
    }

    /// Ends them. After an interruption rows of sources before which one is missing come last.
    pub(crate) fn finish(self) -> io::Result<W> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let State { mut out, waiting, failed, .. } = state;
        failed.map_or(Ok(()), Err)?;
        waiting.values().try_for_each(|text| out.write_all(text))?;
        out.flush()?;
        Ok(out)
    }

    fn lock(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn text(&self, answer: &Answer<'_>) -> Vec<u8> {
        let mut text = Vec::new();
        let (source, tree) = match answer {
            Answer::Tree(tree) => (tree.source(), Some(tree)),
            Answer::Targets { source, .. } => (*source, None),
        };
        let parents = tree.filter(|_| self.parents).map(Tree::parents);
        let source = format!("{},", self.ids.of(source));
        let mut number = itoa::Buffer::new();
        let mut row = |target: u64, node: Node, distance: Option<u64>| {
            text.extend_from_slice(source.as_bytes());
            text.extend_from_slice(number.format(target).as_bytes());
            text.push(b',');
            if let Some(distance) = distance {
                text.extend_from_slice(number.format(distance).as_bytes());
            }
            if let Some(parents) = &parents {
                text.push(b',');
                let parent = parents[node as usize];
                if parent != NO_PARENT {
                    text.extend_from_slice(number.format(self.ids.of(parent)).as_bytes());
                }
            }
            text.push(b'\n');
        };
        match answer {
            Answer::Targets { distances, .. } => {
                let columns = self.targets.iter().zip(0..);
                columns.for_each(|((target, node), column)| row(*target, *node, distances.of(column)));
            }
            Answer::Tree(tree) => {
                let mut near: Option<Vec<(u64, Node)>> = tree
                    .within_limit()
                    .filter(|_| self.all)
                    .map(|nodes| nodes.iter().map(|node| (self.ids.of(*node), *node)).collect());
                if let Some(near) = &mut near {
                    near.sort_unstable();
                }
                let nodes = near.as_ref().unwrap_or(&self.targets);
                nodes.iter().for_each(|(target, node)| row(*target, *node, tree.distances().of(*node)));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firsttouch_graph::{Graph, Search};

    #[test]
    fn rows_come_in_the_order_of_the_sources_and_in_the_numbers_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rows.csv");
        let graph = Graph::from_arcs(3, &[(0, 1, 5), (1, 0, 7)]).unwrap();
        let ids = Ids::from_first(1, 3);
        let mut search = Search::with_heap(&graph);
        let rows = Rows::new(create(&file, true).unwrap(), &ids, None, true);
        rows.add(1, &Answer::Tree(search.run(1, None)));
        rows.add(0, &Answer::Tree(search.run(0, Some(3))));
        rows.add(2, &Answer::Tree(search.run(2, None)));
        rows.finish().unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let wanted = "source,target,distance,parent\n1,1,0,\n2,1,7,2\n2,2,0,\n2,3,,\n3,1,,\n3,2,,\n3,3,0,\n";
        assert_eq!(text, wanted);
        let rows = Rows::new(create(&file, false).unwrap(), &ids, Some(&[2, 1]), false);
        rows.add(0, &Answer::Tree(search.run(0, Some(3))));
        rows.add(1, &Answer::Targets { source: 1, distances: Distances::Narrow(&[9, 7]) });
        rows.finish().unwrap();
        let wanted = "source,target,distance\n1,3,\n1,2,\n2,3,9\n2,2,7\n";
        assert_eq!(std::fs::read_to_string(&file).unwrap(), wanted);
    }
}
