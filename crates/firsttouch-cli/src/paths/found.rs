//! What `sssp` and `apsp` tell.

use super::{Input, Ready};
use crate::export;
use crate::output::{self, Outcome};
use firsttouch_documents::{Figures, GraphReceipt, SearchReport, Totals, to_json};
use firsttouch_graph::hierarchy::Hierarchy;
use firsttouch_report::{Style, text};
use std::path::PathBuf;
use std::time::Duration;

/// What was found, and how long it took.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Sources asked for.
    pub(crate) sources: usize,
    /// Those that were searched from.
    pub(crate) searched: usize,
    /// Those of them that were searched from before.
    pub(crate) resumed: usize,
    /// The processes that shared them, if there were several.
    pub(crate) ranks: Option<usize>,
    /// Of all searches.
    pub(crate) took: Duration,
    /// Of each search, where it is told.
    pub(crate) query_s: Vec<f64>,
    pub(crate) totals: Totals,
    pub(crate) figures: Figures,
    /// Of the memory that searches had.
    pub(crate) receipts: Vec<GraphReceipt>,
}

impl Found {
    /// Prints it, as text or JSON, beside what was exported.
    pub(crate) fn tell(
        self,
        input: &Input,
        ready: &Ready,
        as_json: bool,
        exported: Option<&PathBuf>,
    ) -> Outcome<()> {
        let graph = &input.loaded.graph;
        let search_s = self.took.as_secs_f64();
        let report = SearchReport {
            graph: graph.into(),
            algorithm: ready.choice.algorithm.word().to_owned(),
            reason: ready.choice.reason.clone(),
            sources: self.sources,
            searched: self.searched,
            resumed: self.resumed,
            ranks: self.ranks,
            threads: input.team.size(),
            parse_s: input.parse_s,
            preprocessing_s: input.preprocessing_s + ready.took_s,
            search_s,
            query_s: self.query_s,
            edges_per_s: graph.arcs() as f64 * (self.searched - self.resumed) as f64 / search_s,
            totals: self.totals,
            figures: self.figures,
            hierarchy: ready.hierarchy.as_ref().map(Hierarchy::shape),
            receipt: input.receipt(&self.receipts),
            notes: input.loaded.notes.clone(),
        };
        let shown =
            if as_json { to_json(&report) } else { text::search(&report, output::width(), Style::Ansi) };
        export::summary(&shown, exported)
    }
}
