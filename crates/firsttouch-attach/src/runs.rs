//! The node of every page of a range, short: `0*512,1,-*3` is 512 pages on node 0, one on node 1, and three that do not
//! exist.

use std::fmt;
use std::str::FromStr;

/// Nodes page by page, equal neighbours as one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeRuns(Vec<(Option<u32>, u64)>);

/// A text that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` does not tell nodes of pages")]
pub struct NodeRunsError(pub String);

impl NodeRuns {
    /// From the kernel's answers: a node, or a negative number where there is no page.
    pub fn of(nodes: &[i32]) -> NodeRuns {
        let runs = nodes.chunk_by(|a, b| a == b || (*a < 0 && *b < 0));
        NodeRuns(runs.map(|run| (u32::try_from(run[0]).ok(), run.len() as u64)).collect())
    }

    /// The nodes, page by page.
    pub fn pages(&self) -> impl Iterator<Item = Option<u32>> + '_ {
        self.0.iter().flat_map(|(node, pages)| (0..*pages).map(|_| *node))
    }

    /// How many pages it tells of.
    pub fn len(&self) -> u64 {
        self.0.iter().fold(0, |sum, (_, pages)| sum.saturating_add(*pages))
    }

    /// Whether it tells of none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for NodeRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (node, pages)) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            match node {
                Some(node) => write!(f, "{node}")?,
                None => f.write_str("-")?,
            }
            if *pages > 1 {
                write!(f, "*{pages}")?;
            }
        }
        Ok(())
    }
}

/// More pages than any step is made for: a text that says so was not written by us.
const MOST_PAGES: u64 = 1 << 20;

impl FromStr for NodeRuns {
    type Err = NodeRunsError;

    fn from_str(text: &str) -> Result<NodeRuns, NodeRunsError> {
        if text.is_empty() {
            return Ok(NodeRuns::default());
        }
        let run = |word: &str| {
            let (node, pages) = match word.split_once('*') {
                Some((node, pages)) => (node, pages.parse().ok().filter(|pages| *pages > 0)?),
                None => (word, 1),
            };
            Some((if node == "-" { None } else { Some(node.parse().ok()?) }, pages))
        };
        let runs: Option<Vec<_>> = text.split(',').map(run).collect();
        let runs = NodeRuns(runs.ok_or_else(|| NodeRunsError(text.to_owned()))?);
        if runs.len() > MOST_PAGES { Err(NodeRunsError(text.to_owned())) } else { Ok(runs) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_neighbours_are_one() {
        let runs = NodeRuns::of(&[0, 0, 1, -2, -14, 0]);
        assert_eq!(runs.to_string(), "0*2,1,-*2,0");
        assert_eq!(runs.pages().collect::<Vec<_>>(), [Some(0), Some(0), Some(1), None, None, Some(0)]);
        assert_eq!((runs.len(), runs.is_empty()), (6, false));
        assert_eq!("".parse(), Ok(NodeRuns::default()));
        for text in ["x", "0*", "0*0", "0**2", ",", "0,", "-1", "0*99999999999999999", "0*1048576,0*4"] {
            assert!(text.parse::<NodeRuns>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(nodes in proptest::collection::vec(-1i32..3, 0..200)) {
            let runs = NodeRuns::of(&nodes);
            prop_assert_eq!(runs.len(), nodes.len() as u64);
            prop_assert_eq!(runs.to_string().parse::<NodeRuns>().unwrap(), runs.clone());
            let back: Vec<i32> = runs.pages().map(|node| node.map_or(-1, |node| node as i32)).collect();
            prop_assert_eq!(back, nodes);
        }

        #[test]
        fn any_text_is_survived(text in "[0-9*,-]{0,30}") {
            let _ = text.parse::<NodeRuns>();
        }
    }
}
