//! Arrays of somebody's as the rows of a graph: looked at, and searched where they lie, or copied.
//!
//! Invariant: arrays that are borrowed are storage alive by whoever holds [`Borrowed`], are asked anew for their memory by every call,
//! and are searched only if they are as long as when they were looked at. What is written into them meanwhile is at the
//! writer's peril: it makes distances wrong, or a search ends with an error, and reaches no other memory.

use super::numbers::Numbers;
use crate::errors::{bad_argument, graph_error, no_memory};
use firsttouch_graph::{BorrowedCsr, CsrArrays, Graph, GraphError, Place, Rows, ValidatedCsr, Weights};
use pyo3::prelude::*;
use std::panic::{self, AssertUnwindSafe};

/// What helps those who change arrays of a graph.
const LEAVE_ALONE: &str = "leave them alone, or let the graph have a copy: from_csr(matrix, copy=True)";

/// Where the arcs of each node begin, the heads of arcs (both of one type), and their weights; without them all are 1.
pub(super) struct Arrays<'a> {
    offsets: Numbers<'a>,
    heads: Numbers<'a>,
    weights: Option<Numbers<'a>>,
}

impl<'a> Arrays<'a> {
    pub(super) fn of(
        indptr: &Bound<'a, PyAny>,
        indices: &Bound<'a, PyAny>,
        data: Option<&Bound<'a, PyAny>>,
    ) -> PyResult<Arrays<'a>> {
        let weights = data.map(Numbers::of).transpose()?;
        Ok(Arrays { offsets: Numbers::of(indptr)?, heads: Numbers::of(indices)?, weights })
    }

    fn arrays(&self) -> PyResult<CsrArrays<'_>> {
        let weights = self.weights.as_ref().map_or(Ok(Weights::One), Numbers::weights)?;
        Ok(CsrArrays { index: self.offsets.index(&self.heads)?, weights })
    }

    /// Looks whether they are rows.
    pub(super) fn check(&self, py: Python<'_>) -> PyResult<ValidatedCsr> {
        let arrays = self.arrays()?;
        py.detach(|| ValidatedCsr::check(arrays)).map_err(|error| refused(&arrays, &error))
    }

    /// The graph of them, in memory of that place.
    pub(super) fn graph(&self, py: Python<'_>, place: Place) -> PyResult<Graph> {
        let arrays = self.arrays()?;
        py.detach(|| Graph::from_rows(arrays, place)).map_err(|error| refused(&arrays, &error))
    }

    /// The rows where they lie; they were validated before.
    fn rows(&self, validated: ValidatedCsr) -> PyResult<BorrowedCsr<'_>> {
        BorrowedCsr::known(validated, self.arrays()?).ok_or_else(|| {
            bad_argument(&"the arrays of the graph have another length than when it was made", LEAVE_ALONE)
        })
    }
}

/// Why a graph cannot be had of arrays.
fn refused(arrays: &CsrArrays<'_>, error: &GraphError) -> PyErr {
    match error {
        GraphError::Memory(error) => no_memory(*error),
        GraphError::BadWeight { arc, tail, head } => {
            let word = arrays.weights.text(*arc);
            let hint = if word.starts_with('-') {
                "shortest paths with negative weights need another algorithm: scipy.sparse.csgraph.johnson"
            } else if word == "inf" || word == "NaN" {
                "an arc that nobody can take is no arc: leave it out"
            } else if word.contains('.') {
                "weights are whole numbers here: numpy.rint(data * 1000), and the distances by 1000"
            } else {
                "divide all weights by the same number, so that the largest is below 2^32"
            };
            let what = format!(
                "the weight {word} of arc {arc}, from {tail} to {head}, is no whole number from 0 to 4294967295"
            );
            graph_error(&what, hint, None)
        }
        _ => graph_error(error, error.hint(), None),
    }
}

/// Arrays that a graph looks at, and what was found out of them.
pub(super) struct Borrowed {
    indptr: Py<PyAny>,
    indices: Py<PyAny>,
    data: Option<Py<PyAny>>,
    pub(super) validated: ValidatedCsr,
}

impl Borrowed {
    /// Of these arrays, which are storage as long as this is.
    pub(super) fn new(
        indptr: &Bound<'_, PyAny>,
        indices: &Bound<'_, PyAny>,
        data: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Borrowed> {
        let validated = Arrays::of(indptr, indices, data)?.check(indptr.py())?;
        let (indptr, indices) = (indptr.clone().unbind(), indices.clone().unbind());
        Ok(Borrowed { indptr, indices, data: data.map(|data| data.clone().unbind()), validated })
    }

    /// The same arcs, with all weights 1.
    pub(super) fn unweighted(&self, py: Python<'_>) -> PyResult<Borrowed> {
        Borrowed::new(self.indptr.bind(py), self.indices.bind(py), None)
    }

    pub(super) fn rows<'a>(&self, py: Python<'a>) -> PyResult<Reached<'a>> {
        Ok(Reached::Borrowed(self.arrays(py)?, self.validated))
    }

    /// A copy of them.
    pub(super) fn graph(&self, py: Python<'_>, place: Place) -> PyResult<Graph> {
        self.arrays(py)?.graph(py, place)
    }

    fn arrays<'a>(&self, py: Python<'a>) -> PyResult<Arrays<'a>> {
        let data = self.data.as_ref().map(|data| data.bind(py));
        Arrays::of(self.indptr.bind(py), self.indices.bind(py), data)
    }

    /// `indptr`, `indices` or `data`; `None` where there are no weights.
    pub(super) fn part<'py>(&self, py: Python<'py>, part: &str) -> Option<Bound<'py, PyAny>> {
        match part {
            "indptr" => Some(self.indptr.bind(py).clone()),
            "indices" => Some(self.indices.bind(py).clone()),
            _ => self.data.as_ref().map(|data| data.bind(py).clone()),
        }
    }
}

/// Rows that can be reached: borrowed for as long as this lives.
pub(super) enum Reached<'a> {
    Own(&'a Graph),
    Borrowed(Arrays<'a>, ValidatedCsr),
}

impl Reached<'_> {
    /// What is found by searching in them. Where somebody has changed borrowed ones, so that a search panics, that is an error.
    pub(super) fn searched<T>(
        &self,
        py: Python<'_>,
        search: impl FnOnce(Rows<'_>) -> PyResult<T>,
    ) -> PyResult<T> {
        let (arrays, validated) = match self {
            Reached::Own(graph) => return search((*graph).into()),
            Reached::Borrowed(arrays, validated) => (arrays, validated),
        };
        let rows = arrays.rows(*validated)?.into();
        panic::catch_unwind(AssertUnwindSafe(|| search(rows))).unwrap_or_else(|panic| {
            if arrays.check(py).is_ok_and(|now| now == *validated) {
                panic::resume_unwind(panic);
            }
            let what =
                "the arrays of the graph were changed since it was made: they are not its rows any more";
            Err(graph_error(&what, LEAVE_ALONE, None))
        })
    }
}
