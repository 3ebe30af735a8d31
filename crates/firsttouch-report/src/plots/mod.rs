//! The figures of the HTML report, in the order they are shown. Each takes the document and gives a figure, or
//! `None` where the document holds nothing to draw.

mod article;
mod convergence;
mod counters;
mod forest;
mod frame;
pub(crate) mod matrix;
mod order;
mod pages;
mod runs;
mod threads;
pub(crate) mod timeline;
pub(crate) mod workers;

use firsttouch_documents::ArticleTable;
use firsttouch_placement::TuneReport;
pub(crate) use frame::Plot;

/// How the configurations compare to the baseline.
pub(crate) fn ratios(report: &TuneReport) -> Option<Plot> {
    forest::plot(report)
}

/// What a table of an article prints, beside what was made here.
pub(crate) fn article(table: &ArticleTable) -> Option<Plot> {
    article::plot(table)
}

/// Figures over the number of threads.
pub(crate) fn threads(report: &TuneReport) -> Option<Plot> {
    threads::plot(report)
}

/// Every figure the document has something for.
pub(crate) fn all(report: &TuneReport) -> Vec<Plot> {
    [
        forest::plot(report),
        runs::plot(report),
        order::plot(report),
        pages::plot(report),
        counters::plot(report),
        convergence::plot(report),
    ]
    .into_iter()
    .flatten()
    .collect()
}
