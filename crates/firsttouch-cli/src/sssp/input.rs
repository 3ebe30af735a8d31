//! The graph that a search works on, and the team that searches.

use crate::args::Sssp;
use crate::graph;
use crate::output::Outcome;
use firsttouch_graph::{Copies, Graph, GraphReceipt, GraphShape, Loaded, Place};
use firsttouch_threads::Team;
use std::time::Instant;

/// A graph in memory, with the team that is to work on it.
pub(super) struct Input {
    pub(super) loaded: Loaded,
    pub(super) shape: GraphShape,
    pub(super) team: Team,
    /// A copy for each group of the team, if there are to be groups.
    copies: Option<Copies>,
    place: Place,
    /// How long reading it took.
    pub(super) parse_s: f64,
    /// How long bringing it into order and copying it took.
    pub(super) preprocessing_s: f64,
}

/// The graph, or the copies of it.
#[derive(Clone, Copy)]
pub(super) struct Graphs<'a> {
    one: &'a Graph,
    copies: Option<&'a Copies>,
}

impl<'a> Graphs<'a> {
    /// The one that a group of the team works on.
    pub(super) fn of(self, group: usize) -> &'a Graph {
        self.copies.map_or(self.one, |copies| copies.of(group))
    }
}

impl Input {
    pub(super) fn load(args: &Sssp) -> Outcome<Input> {
        let mut team = graph::team(args.input.threads)?;
        let place = Place { pages: args.pages, node: None };
        let began = Instant::now();
        let (loaded, parse_s) = graph::load(&args.input, place, &mut team)?;
        let copies = match args.groups {
            Some(groups) => {
                let (grouped, copies) = graph::copies(&loaded, args.pages, groups)?;
                team = grouped;
                Some(copies)
            }
            None => None,
        };
        let preprocessing_s = began.elapsed().as_secs_f64() - parse_s;
        let shape = GraphShape::of(&loaded.graph);
        Ok(Input { loaded, shape, team, copies, place, parse_s, preprocessing_s })
    }

    /// The team, and what it works on.
    pub(super) fn parts(&mut self) -> (&mut Team, Graphs<'_>) {
        (&mut self.team, Graphs { one: &self.loaded.graph, copies: self.copies.as_ref() })
    }

    /// What the graph's memory obtained.
    pub(super) fn receipt(&self) -> GraphReceipt {
        match &self.copies {
            Some(copies) => copies.receipt(),
            None => self.loaded.graph.receipt(self.place),
        }
    }
}
