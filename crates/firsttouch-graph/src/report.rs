//! The documents of searches, made of what was found.

use crate::all_pairs::{Merged, Plan, Stored};
use firsttouch_documents::{DistanceHistogram, Figures, MergeReport, Spread, Summary, Totals};

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

/// The least, the mean and the greatest of some values; `None` where there are none.
fn spread<T: Copy + PartialOrd>(
    values: impl Iterator<Item = T> + Clone,
    number: impl Fn(T) -> f64,
) -> Option<Spread<T>> {
    let least = values.clone().reduce(|one, other| if other < one { other } else { one })?;
    let most = values.clone().reduce(|one, other| if other > one { other } else { one })?;
    let mean = values.clone().map(number).sum::<f64>() / values.count() as f64;
    Some(Spread { least, mean, most })
}

/// The figures that were asked for, of the sources that are done, on a graph of so many nodes. A diameter and a radius there
/// are only when all are.
#[must_use]
pub fn figures_of(stored: &Stored, nodes: usize, asked: &[Figure]) -> Figures {
    let done = || stored.summaries.iter().flatten();
    let finished = stored.done() == stored.summaries.len();
    let asks = |figure| asked.contains(&figure);
    let eccentricity = spread(done().map(|summary: &Summary| summary.farthest), |farthest| farthest as f64);
    let whole = eccentricity.filter(|_| finished);
    Figures {
        diameter: whole.filter(|_| asks(Figure::Diameter)).map(|spread| spread.most),
        radius: whole.filter(|_| asks(Figure::Radius)).map(|spread| spread.least),
        eccentricity: eccentricity.filter(|_| asks(Figure::Eccentricity)),
        closeness: spread(done().map(|summary| summary.closeness(nodes)), |closeness| closeness)
            .filter(|_| asks(Figure::Closeness)),
        reach: spread(done().map(|summary| summary.reached), |reached| reached as f64)
            .filter(|_| asks(Figure::Reach)),
        histogram: stored.histogram.as_ref().map(DistanceHistogram::from),
    }
}

/// The document of a shared run with that plan, and which figures of the distances it tells.
#[must_use]
pub fn merge_report(plan: &Plan, merged: &Merged, figures: &[Figure]) -> MergeReport {
    let Merged { stored, missing } = merged;
    MergeReport {
        graph: plan.graph,
        sources: plan.sources,
        searched: stored.done(),
        totals: Totals::of(stored.summaries.iter().flatten()),
        figures: figures_of(stored, plan.graph.nodes, figures),
        missing: missing.iter().map(|range| [range.start, range.end - 1]).collect(),
    }
}
