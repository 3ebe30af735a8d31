//! The graph that a search works on, and the team that searches.

use crate::args::PlacedGraph;
use crate::output::{Failure, Outcome};
use crate::reading;
use firsttouch_graph::{Copies, GraphReceipt, GraphShape, Graphs, Ids, Loaded, Place};
use firsttouch_threads::Team;
use std::time::Instant;

/// A graph in memory, with the team that is to work on it.
pub(crate) struct Input {
    pub(crate) loaded: Loaded,
    pub(crate) shape: GraphShape,
    pub(crate) team: Team,
    /// A copy for each group of the team, if there are to be groups.
    copies: Option<Copies>,
    place: Place,
    /// How long reading it took.
    pub(crate) parse_s: f64,
    /// How long bringing it into order and copying it took.
    pub(crate) preprocessing_s: f64,
}

impl Input {
    pub(crate) fn load(args: &PlacedGraph) -> Outcome<Input> {
        Input::of(args, |place, team| reading::load(&args.input, place, team))
    }

    /// Of a graph that is had in this way; it tells how long reading took.
    pub(crate) fn of(
        args: &PlacedGraph,
        load: impl FnOnce(Place, &mut Team) -> Outcome<(Loaded, f64)>,
    ) -> Outcome<Input> {
        let mut team = reading::team(args.input.threads)?;
        let place = Place { pages: args.pages, node: None };
        let began = Instant::now();
        let (loaded, parse_s) = load(place, &mut team)?;
        let copies = match args.groups {
            Some(groups) => {
                let (grouped, copies) = reading::copies(&loaded, args.pages, groups)?;
                team = grouped;
                Some(copies)
            }
            None => None,
        };
        let preprocessing_s = began.elapsed().as_secs_f64() - parse_s;
        let shape = GraphShape::of(&loaded.graph);
        Ok(Input { loaded, shape, team, copies, place, parse_s, preprocessing_s })
    }

    /// The node of the memory of each group, where it is to lie on one.
    pub(crate) fn nodes(&self) -> Vec<Option<u32>> {
        match &self.copies {
            Some(copies) => copies.nodes().to_vec(),
            None => vec![None; self.team.group_sizes().len()],
        }
    }

    /// The team, and what it works on.
    pub(crate) fn parts(&mut self) -> (&mut Team, Graphs<'_>) {
        (&mut self.team, Graphs::new(&self.loaded.graph, self.copies.as_ref()))
    }

    /// What the graph's memory obtained, with that of what was kept for searching it.
    pub(crate) fn receipt(&self, others: &[GraphReceipt]) -> GraphReceipt {
        let mut receipt = match &self.copies {
            Some(copies) => copies.receipt(),
            None => self.loaded.graph.receipt(self.place),
        };
        others.iter().for_each(|other| receipt.add(other));
        receipt
    }
}

/// Why there is no node of this number.
pub(super) fn missing(number: u64, ids: &Ids) -> Failure {
    let hint = match (ids.nodes().checked_sub(1), ids.first()) {
        (None, _) => "the graph has no nodes".to_owned(),
        (Some(last), Some(first)) => format!("its nodes are {first} to {}", first + last as u64),
        (Some(last), None) => format!("it has {} nodes, whose numbers have gaps", last + 1),
    };
    Failure::message(format!("the graph has no node {number}")).hint(hint).usage()
}
