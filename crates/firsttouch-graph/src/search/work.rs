//! What searches do to rows, behind one door: [`Searchable`].
//!
//! Compilers make generic code where it is used, so that every program that searches would have the searches of a [`Graph`]
//! compiled for itself. That kind of rows lets itself be worked on here, by code that is there once.

use super::distances::Distances;
use super::engine::Engine;
use super::goal::Goal;
use super::methods::{Queue, Shared, Variant};
use super::parents::parents;
use super::width::Tuner;
use crate::rows::{BorrowedCsr, Graph, Node, Rows, Weight};
use firsttouch_threads::Team;

/// Rows that searches can run on.
pub trait Searchable: Rows {
    /// Lets itself be searched. Whoever is searched by many programs has that compiled here, and not in each of them.
    #[doc(hidden)]
    fn perform(&self, work: Work<'_>);
}

impl Searchable for Graph {
    #[inline(never)]
    fn perform(&self, work: Work<'_>) {
        work.on(self);
    }
}

impl<I: Copy + Into<u64> + Sync, W: Weight> Searchable for BorrowedCsr<'_, I, W> {
    fn perform(&self, work: Work<'_>) {
        work.on(self);
    }
}

/// Something to be done with rows.
#[derive(Debug)]
pub struct Work<'a>(pub(super) Kind<'a>);

#[derive(Debug)]
pub(super) enum Kind<'a> {
    /// A search by the thread that calls.
    One {
        engine: &'a mut Engine<Queue<u32>, Queue<u64>>,
        tuner: Option<&'a Tuner>,
        source: Node,
        goal: &'a Goal<'a>,
    },
    /// A search by a team.
    Together {
        engine: &'a mut Engine<Shared<u32>, Shared<u64>>,
        team: &'a mut Team,
        variant: Variant,
        source: Node,
        goal: &'a Goal<'a>,
    },
    /// Who comes before whom, of the nodes that have a distance, in ascending order.
    Parents { source: Node, distances: Distances<'a>, reached: &'a [Node], found: &'a mut Vec<Node> },
}

impl Work<'_> {
    /// Does it.
    fn on(self, rows: &impl Rows) {
        match self.0 {
            Kind::One { engine, tuner, source, goal } => {
                engine.run(&mut (), rows, source, goal, || Queue::new(rows, tuner));
            }
            Kind::Together { engine, team, variant, source, goal } => {
                let members = team.size();
                engine.run(team, rows, source, goal, || Shared::new(variant, rows, members));
            }
            Kind::Parents { source, distances, reached, found } => {
                *found = match distances {
                    Distances::Narrow(all) => parents(rows, source, all, reached),
                    Distances::Wide(all) => parents(rows, source, all, reached),
                };
            }
        }
    }
}
