//! What finds the distances of a long run: sweeps or searches.

use super::error::{AllPairsError, missing};
use super::question::asked;
use super::searches::Searches;
use crate::Node;
use crate::fingerprint::Fingerprint;
use crate::hierarchy::{Accumulator, HierarchyError, PhastQuery, SOURCES_AT_ONCE};

/// What finds the distances.
#[derive(Debug)]
pub enum Engine<'a, 'b> {
    /// PHAST queries over a hierarchy.
    Phast(&'b mut PhastQuery<'a>),
    /// A search from each source.
    Searches(&'b mut Searches<'a>),
}

impl<'a, 'b> From<&'b mut PhastQuery<'a>> for Engine<'a, 'b> {
    fn from(phast: &'b mut PhastQuery<'a>) -> Self {
        Engine::Phast(phast)
    }
}

impl<'a, 'b> From<&'b mut Searches<'a>> for Engine<'a, 'b> {
    fn from(searches: &'b mut Searches<'a>) -> Self {
        Engine::Searches(searches)
    }
}

impl<'a> Engine<'a, '_> {
    /// The same for a while.
    pub(super) fn again(&mut self) -> Engine<'a, '_> {
        match self {
            Engine::Phast(phast) => Engine::Phast(phast),
            Engine::Searches(searches) => Engine::Searches(searches),
        }
    }

    /// What is asked: the graph with its weights, the limit, the targets and the sources.
    pub(super) fn question(&self, sources: &[Node]) -> Fingerprint {
        let (graph, limit, targets) = match self {
            Engine::Phast(phast) => (phast.fingerprint(), phast.limit(), phast.targets()),
            Engine::Searches(searches) => (searches.fingerprint(), searches.limit(), searches.targets()),
        };
        asked(graph, limit, targets, sources)
    }

    /// Finds the distances from all sources that the accumulator does not know, until `stop` says so.
    pub(super) fn accumulate(
        &mut self,
        sources: &[Node],
        stop: &(dyn Fn() -> bool + Sync),
        accumulator: &dyn Accumulator,
    ) -> Result<(), AllPairsError> {
        match self {
            Engine::Phast(phast) => {
                phast.accumulate(sources, stop, accumulator).map_err(|error| match error {
                    HierarchyError::File(error) => AllPairsError::File(error),
                    _ => missing(sources, phast.hierarchy().nodes()),
                })
            }
            Engine::Searches(searches) => {
                let nodes = searches.nodes();
                if sources.iter().any(|source| *source as usize >= nodes) {
                    return Err(missing(sources, nodes));
                }
                Ok(searches.accumulate(sources, stop, accumulator)?)
            }
        }
    }

    /// How many sources keep all its threads busy at once.
    pub(super) fn at_once(&self) -> usize {
        match self {
            Engine::Phast(phast) => phast.threads() * SOURCES_AT_ONCE,
            Engine::Searches(searches) => searches.threads(),
        }
    }

    pub(super) fn columns(&self) -> usize {
        match self {
            Engine::Phast(phast) => phast.columns(),
            Engine::Searches(searches) => searches.columns(),
        }
    }

    pub(super) fn fits_32_bits(&self) -> bool {
        match self {
            Engine::Phast(phast) => phast.hierarchy().fits_32_bits(),
            Engine::Searches(searches) => searches.fits_32_bits(),
        }
    }
}
