//! What a search from many sources came to.

use crate::{GraphFigures, GraphReceipt, HierarchyShape, Totals};
use serde::{Deserialize, Serialize};

/// The least, the mean and the greatest of a figure that each source has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Spread<T> {
    /// The least.
    pub least: T,
    /// The mean.
    pub mean: f64,
    /// The greatest.
    pub most: T,
}

/// Figures of the distances of all pairs: those that were asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Figures {
    /// The greatest eccentricity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diameter: Option<u64>,
    /// The least eccentricity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub radius: Option<u64>,
    /// Of each source: the greatest distance of a node that a path leads to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eccentricity: Option<Spread<u64>>,
    /// Of each source: how close it is to all nodes ([`crate::Summary::closeness`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closeness: Option<Spread<f64>>,
    /// Of each source: how many nodes a path leads to, itself included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reach: Option<Spread<u64>>,
    /// How many distances there are of each length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<DistanceHistogram>,
}

/// How many distances there are of each length, in classes of one width; empty classes at the end are left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct DistanceHistogram {
    /// The distances of class `k` are from `k` times this on, and less than the next one's.
    pub width: u64,
    /// How many distances fell into each class.
    pub counts: Vec<u64>,
}

/// A search from many sources.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SearchReport {
    /// The graph.
    pub graph: GraphFigures,
    /// The word of the algorithm.
    pub algorithm: String,
    /// Why this one.
    pub reason: String,
    /// Sources asked for.
    pub sources: usize,
    /// Sources searched from: fewer if the search was interrupted.
    pub searched: usize,
    /// Those of them that an earlier run had searched from.
    pub resumed: usize,
    /// Processes that shared them; `None` for one alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<usize>,
    /// Threads that searched, of each process.
    pub threads: usize,
    /// Time of reading or making the graph.
    pub parse_s: f64,
    /// Time of bringing it into order, of copying it to groups of cores, and of making a hierarchy.
    pub preprocessing_s: f64,
    /// Time of all searches, with what was done to their results.
    pub search_s: f64,
    /// Time of each search by itself, in the order of the sources; not kept in runs from all nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub query_s: Vec<f64>,
    /// Arcs of the graph times sources, by the time of the searches.
    pub edges_per_s: f64,
    /// What was found.
    #[serde(flatten)]
    pub totals: Totals,
    /// What was asked to be told of the distances of all pairs.
    #[serde(flatten)]
    pub figures: Figures,
    /// What was swept over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hierarchy: Option<HierarchyShape>,
    /// What the graph's memory obtained.
    pub receipt: GraphReceipt,
    /// Remarks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What several processes that share a run have found so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MergeReport {
    /// The graph.
    pub graph: GraphFigures,
    /// Sources of the whole run.
    pub sources: usize,
    /// Sources that are done.
    pub searched: usize,
    /// What was found.
    #[serde(flatten)]
    pub totals: Totals,
    /// What was asked to be told of the distances of all pairs.
    #[serde(flatten)]
    pub figures: Figures,
    /// The first and the last source of every stretch that nobody has done, by their places in the file.
    pub missing: Vec<[usize; 2]>,
}
