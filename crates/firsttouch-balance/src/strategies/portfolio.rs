//! The answers of the simpler strategies, beside which `best` puts its own: a portfolio of algorithms (Huberman, Lukose and
//! Hogg 1997), of which the best answer counts.
//!
//! All of them together take less time than one round of a search, so they are always made; each is made once.

use super::{Greedy, GreedyRefine, Numa, RecBipart, Refine, TreeMatch};
use crate::{Asked, Mapping, Strategy, StrategyError};

/// The simpler strategies that need nothing installed, and whether each one keeps tasks on their initial cores where it can.
const SIMPLER: [(&dyn Strategy, bool); COUNT] = [
    (&Refine, true),
    (&GreedyRefine, true),
    (&Numa, true),
    (&Greedy, false),
    (&RecBipart, false),
    (&TreeMatch, false),
];
const COUNT: usize = 6;

/// What simpler strategies answer to one question.
#[derive(Debug)]
pub(super) struct Portfolio<'a> {
    asked: Asked<'a>,
    answers: [Option<Mapping>; COUNT],
}

impl<'a> Portfolio<'a> {
    pub(super) fn of(asked: &Asked<'a>) -> Portfolio<'a> {
        Portfolio { asked: *asked, answers: Default::default() }
    }

    /// The place of the hierarchical mapping.
    pub(super) const TREEMATCH: usize = COUNT - 1;

    /// The places of all strategies, or only of those that keep tasks on their initial cores where they can.
    pub(super) fn places(keepers_only: bool) -> impl Iterator<Item = usize> {
        (0..COUNT).filter(move |place| SIMPLER[*place].1 || !keepers_only)
    }

    /// The answer of one of them.
    pub(super) fn answer(&mut self, place: usize) -> Result<&Mapping, StrategyError> {
        let answer = match self.answers[place].take() {
            Some(answer) => answer,
            None => SIMPLER[place].0.map(&self.asked)?.mapping,
        };
        Ok(self.answers[place].insert(answer))
    }
}
