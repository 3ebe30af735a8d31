//! What a search from many sources came to: the document of `sssp` and `apsp`.

use crate::all_pairs::{Kept, Merged, Plan};
use crate::copies::GraphReceipt;
use crate::graph::Graph;
use crate::hierarchy::Shape;
use crate::histogram::Histogram;
use crate::summary::{Summary, Totals};
use firsttouch_placement::{SCHEMA_VERSION, TuneReport};
use serde::Serialize;

/// How large a graph is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct GraphFigures {
    /// Nodes.
    pub nodes: usize,
    /// Arcs.
    pub arcs: usize,
    /// Bytes of one copy.
    pub bytes: usize,
}

impl From<&Graph> for GraphFigures {
    fn from(graph: &Graph) -> GraphFigures {
        GraphFigures { nodes: graph.nodes(), arcs: graph.arcs(), bytes: graph.bytes() }
    }
}

/// Something that can be told of the distances of all pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Of each source: the greatest distance of a node that a path leads to.
    Eccentricity,
    /// The greatest eccentricity.
    Diameter,
    /// The least eccentricity.
    Radius,
    /// Of each source: how close it is to all nodes ([`Summary::closeness`]).
    Closeness,
    /// Of each source: how many nodes a path leads to, itself included.
    Reach,
    /// How many distances there are of each length.
    Histogram,
    /// The sum of all distances.
    Checksum,
}

impl Figure {
    /// All of them.
    pub const ALL: [Figure; 7] = [
        Figure::Eccentricity,
        Figure::Diameter,
        Figure::Radius,
        Figure::Closeness,
        Figure::Reach,
        Figure::Histogram,
        Figure::Checksum,
    ];

    /// Its name on the command line and in documents.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Figure::Eccentricity => "eccentricity",
            Figure::Diameter => "diameter",
            Figure::Radius => "radius",
            Figure::Closeness => "closeness",
            Figure::Reach => "reach",
            Figure::Histogram => "histogram",
            Figure::Checksum => "checksum",
        }
    }
}

/// The least, the mean and the greatest of a figure that each source has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread<T> {
    /// The least.
    pub least: T,
    /// The mean.
    pub mean: f64,
    /// The greatest.
    pub most: T,
}

impl<T: Copy + PartialOrd> Spread<T> {
    fn of(values: impl Iterator<Item = T> + Clone, number: impl Fn(T) -> f64) -> Option<Spread<T>> {
        let least = values.clone().reduce(|one, other| if other < one { other } else { one })?;
        let most = values.clone().reduce(|one, other| if other > one { other } else { one })?;
        let mean = values.clone().map(number).sum::<f64>() / values.count() as f64;
        Some(Spread { least, mean, most })
    }
}

/// Figures of the distances of all pairs: those that were asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// [`Figure::Diameter`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diameter: Option<u64>,
    /// [`Figure::Radius`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radius: Option<u64>,
    /// [`Figure::Eccentricity`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eccentricity: Option<Spread<u64>>,
    /// [`Figure::Closeness`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closeness: Option<Spread<f64>>,
    /// [`Figure::Reach`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reach: Option<Spread<u64>>,
    /// [`Figure::Histogram`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub histogram: Option<Histogram>,
}

impl Figures {
    /// Of the sources that are done, on a graph of so many nodes. A diameter and a radius there are only when all are.
    #[must_use]
    pub fn of(kept: &Kept, nodes: usize, asked: &[Figure]) -> Figures {
        let done = || kept.summaries.iter().flatten();
        let finished = kept.done() == kept.summaries.len();
        let asks = |figure| asked.contains(&figure);
        let eccentricity =
            Spread::of(done().map(|summary: &Summary| summary.farthest), |farthest| farthest as f64);
        let whole = eccentricity.filter(|_| finished);
        Figures {
            diameter: whole.filter(|_| asks(Figure::Diameter)).map(|spread| spread.most),
            radius: whole.filter(|_| asks(Figure::Radius)).map(|spread| spread.least),
            eccentricity: eccentricity.filter(|_| asks(Figure::Eccentricity)),
            closeness: Spread::of(done().map(|summary| summary.closeness(nodes)), |closeness| closeness)
                .filter(|_| asks(Figure::Closeness)),
            reach: Spread::of(done().map(|summary| summary.reached), |reached| reached as f64)
                .filter(|_| asks(Figure::Reach)),
            histogram: kept.histogram.clone(),
        }
    }
}

/// A search from many sources.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchReport {
    /// [`firsttouch_placement::SCHEMA_VERSION`].
    pub schema_version: u32,
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
    #[serde(skip_serializing_if = "Option::is_none")]
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hierarchy: Option<Shape>,
    /// What the graph's memory obtained.
    pub receipt: GraphReceipt,
    /// Remarks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What several processes that share a run have found so far.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MergeReport {
    /// [`firsttouch_placement::SCHEMA_VERSION`].
    pub schema_version: u32,
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

impl MergeReport {
    /// The report of a run with that plan, and which figures of the distances it tells.
    pub fn of(plan: &Plan, merged: &Merged, figures: &[Figure]) -> MergeReport {
        let Merged { kept, missing } = merged;
        MergeReport {
            schema_version: SCHEMA_VERSION,
            graph: plan.graph,
            sources: plan.sources,
            searched: kept.done(),
            totals: Totals::of(kept.summaries.iter().flatten()),
            figures: Figures::of(kept, plan.graph.nodes, figures),
            missing: missing.iter().map(|range| [range.start, range.end - 1]).collect(),
        }
    }
}

/// Ways to let many threads search from many sources, compared: the document of `bench sssp`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchBench {
    /// [`firsttouch_placement::SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The file, or what was made.
    pub name: String,
    /// The graph.
    pub graph: GraphFigures,
    /// Sources that every run searches from.
    pub queries: usize,
    /// The ways, in the order of the session's configurations; the first is what the others are compared with.
    pub ways: Vec<SearchWay>,
    /// All runs and what they prove.
    pub session: TuneReport,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchWay {
    /// Its name.
    pub name: String,
    /// Threads that search.
    pub threads: usize,
    /// Arcs times queries, by the mean time (traversed edges per second); `None` if it never ran.
    pub teps: Option<f64>,
}
