//! The algorithm that was asked for, or the one that suits, with the hierarchy it needs.

use super::Input;
use crate::args::{Chosen, Index};
use crate::output::{Failure, Outcome};
use firsttouch_graph::hierarchy::{Hierarchy, HierarchyError, HierarchyOptions};
use firsttouch_graph::{Algorithm, Choice, Task, choose};
use std::num::NonZero;
use std::time::Instant;

/// An algorithm that can begin.
pub(crate) struct Ready {
    pub(crate) choice: Choice,
    /// What it sweeps over, if it does.
    pub(crate) hierarchy: Option<Hierarchy>,
    /// How long making that, or making it again from an index, took.
    pub(crate) took_s: f64,
}

/// Chooses an algorithm, and makes or loads its hierarchy. Where none can be made and none was asked for, others do.
pub(crate) fn ready(algorithm: Chosen, index: &Index, input: &Input, task: Task) -> Outcome<Ready> {
    let began = Instant::now();
    let choice = match algorithm {
        Chosen::This(algorithm) => Choice { algorithm, reason: "as asked".to_owned() },
        Chosen::Auto => choose(&input.shape, Task { has_hierarchy: index.is_named(), ..task }),
    };
    if choice.algorithm != Algorithm::Phast {
        if index.is_named() {
            let what = format!("an index means nothing to the algorithm {}", choice.algorithm);
            return Err(Failure::message(what).hint("--algorithm phast, or no --index").usage());
        }
        return Ok(Ready { choice, hierarchy: None, took_s: 0.0 });
    }
    let (choice, hierarchy) = match make(index, input) {
        Ok(hierarchy) => (choice, Some(hierarchy)),
        Err(Stopped::Refused(error)) if algorithm == Chosen::Auto => {
            let reason = format!("every thread has sources of its own; sweeps do not suit: {error}");
            (Choice { algorithm: Algorithm::Buckets, reason }, None)
        }
        Err(Stopped::Refused(error)) => return Err(Failure::hinted(error)),
        Err(Stopped::Failed(failure)) => return Err(failure),
    };
    Ok(Ready { choice, hierarchy, took_s: began.elapsed().as_secs_f64() })
}

/// Why there is no hierarchy.
enum Stopped {
    /// The graph is none for it.
    Refused(HierarchyError),
    Failed(Failure),
}

impl From<HierarchyError> for Stopped {
    fn from(error: HierarchyError) -> Stopped {
        if error.is_of_the_graph() {
            return Stopped::Refused(error);
        }
        Stopped::Failed(Failure::hinted(error))
    }
}

fn make(index: &Index, input: &Input) -> Result<Hierarchy, Stopped> {
    let threads = NonZero::new(input.team.size()).unwrap_or(NonZero::<usize>::MIN);
    let options = HierarchyOptions { threads, ..HierarchyOptions::default() };
    let graph = &input.loaded.graph;
    let Some(path) = &index.index else {
        let hierarchy = Hierarchy::build(graph, &options)?;
        if let Some(path) = &index.save_index {
            hierarchy.save(path)?;
        }
        return Ok(hierarchy);
    };
    Hierarchy::load(path, graph, &options)?.ok_or_else(|| {
        let failure = Failure::message(format!("there is no index {}", path.display()));
        Stopped::Failed(failure.hint(format!("make it: --save-index {}", path.display())).usage())
    })
}
