//! Arrays of somebody's as the rows of a graph: looked at, and searched where they lie, or copied.
//!
//! Invariant: arrays that are borrowed are storage alive by whoever holds [`Borrowed`], are asked anew for their memory by every call,
//! and are searched only if they are as long as when they were looked at. What is written into them meanwhile is at the
//! writer's peril: it makes distances wrong, and reaches no other memory.

use super::numbers::{Number, Numbers, Unsigned};
use crate::errors::{bad_argument, graph_error, no_memory};
use firsttouch_graph::{BorrowedCsr, Graph, GraphError, Place, Rows, ValidatedCsr, Weight};
use pyo3::prelude::*;

/// Where the arcs of each node begin, the heads of arcs (both of one type), and their weights; without them all are 1.
pub(super) struct Arrays<'a> {
    offsets: Numbers<'a>,
    heads: Numbers<'a>,
    weights: Option<Numbers<'a>>,
}

/// Calls with offsets and heads of any type of integers, signed or not.
macro_rules! for_rows_of {
    ($arrays:expr, $offsets:ident, $heads:ident => $call:expr) => {
        match $arrays.heads.word() {
            word if word == <i32 as Number>::WORD => {
                let ($offsets, $heads) = ($arrays.offsets.slice::<i32>()?, $arrays.heads.slice::<i32>()?);
                $call
            }
            word if word == <u32 as Number>::WORD => {
                let ($offsets, $heads) = ($arrays.offsets.slice::<u32>()?, $arrays.heads.slice::<u32>()?);
                $call
            }
            _ => {
                let ($offsets, $heads) = ($arrays.offsets.slice::<i64>()?, $arrays.heads.slice::<i64>()?);
                $call
            }
        }
    };
}

/// Calls with what tells the weight of each arc, for weights of any type.
macro_rules! for_weights_of {
    ($arrays:expr, $weight:ident => $call:expr) => {
        match &$arrays.weights {
            None => {
                let $weight = |_: usize| Some(1);
                $call
            }
            Some(weights) => match weights.word() {
                word if word == <i32 as Number>::WORD => for_weights_of!(weights, i32, $weight => $call),
                word if word == <u32 as Number>::WORD => for_weights_of!(weights, u32, $weight => $call),
                word if word == <i64 as Number>::WORD => for_weights_of!(weights, i64, $weight => $call),
                word if word == <u64 as Number>::WORD => for_weights_of!(weights, u64, $weight => $call),
                word if word == <f32 as Number>::WORD => for_weights_of!(weights, f32, $weight => $call),
                _ => for_weights_of!(weights, f64, $weight => $call),
            },
        }
    };
    ($weights:expr, $type:ty, $weight:ident => $call:expr) => {{
        let all = $weights.slice::<$type>()?;
        let $weight = |arc: usize| all[arc].length();
        $call
    }};
}

impl<'a> Arrays<'a> {
    pub(super) fn of(
        indptr: &Bound<'a, PyAny>,
        indices: &Bound<'a, PyAny>,
        data: Option<&Bound<'a, PyAny>>,
    ) -> PyResult<Arrays<'a>> {
        let weights = data.map(Numbers::of).transpose()?;
        let arrays = Arrays { offsets: Numbers::of(indptr)?, heads: Numbers::of(indices)?, weights };
        let heads = arrays.heads.len();
        match arrays.weights.as_ref().map(Numbers::len).filter(|weights| *weights != heads) {
            Some(weights) => Err(arrays.refused(&GraphError::UnequalLengths { heads, weights })),
            None => Ok(arrays),
        }
    }

    /// Looks whether they are rows.
    pub(super) fn check(&self, py: Python<'_>) -> PyResult<ValidatedCsr> {
        let found = for_rows_of!(self, offsets, heads => for_weights_of!(self, weight => {
            py.detach(|| ValidatedCsr::check(offsets, heads, weight))
        }));
        found.map_err(|error| self.refused(&error))
    }

    /// The graph of them, in memory of that place.
    pub(super) fn graph(&self, py: Python<'_>, place: Place) -> PyResult<Graph> {
        let graph = for_rows_of!(self, offsets, heads => for_weights_of!(self, weight => {
            py.detach(|| Graph::from_weighed_rows(offsets, heads, weight, place))
        }));
        graph.map_err(|error| self.refused(&error))
    }

    /// The rows where they lie; they were validated before.
    fn rows(&self, validated: ValidatedCsr) -> PyResult<Searched<'_>> {
        let is_narrow = self.heads.word() != <i64 as Number>::WORD;
        if is_narrow {
            Ok(Searched::Narrow(self.weighed(validated, self.offsets.unsigned()?, self.heads.unsigned()?)?))
        } else {
            Ok(Searched::Wide(self.weighed(validated, self.offsets.unsigned()?, self.heads.unsigned()?)?))
        }
    }

    fn weighed<'s, I: Unsigned>(
        &'s self,
        validated: ValidatedCsr,
        offsets: &'s [I],
        heads: &'s [I],
    ) -> PyResult<Weighed<'s, I>> {
        fn known<'a, I, W>(
            validated: ValidatedCsr,
            (offsets, heads): (&'a [I], &'a [I]),
            weights: &'a [W],
        ) -> PyResult<BorrowedCsr<'a, I, W>> {
            BorrowedCsr::known(validated, offsets, heads, weights).ok_or_else(|| {
                bad_argument(
                    &"the arrays of the graph have another length than when it was made",
                    "leave them alone, or let the graph have a copy: from_csr(matrix, copy=True)",
                )
            })
        }
        let rows = (offsets, heads);
        let Some(weights) = &self.weights else {
            // Nothing takes no memory.
            return Ok(Weighed::One(known(validated, rows, Vec::leak(vec![(); heads.len()]))?));
        };
        Ok(match weights.word() {
            word if word == <f64 as Number>::WORD => Weighed::F64(known(validated, rows, weights.slice()?)?),
            word if word == <i64 as Number>::WORD || word == <u64 as Number>::WORD => {
                Weighed::U64(known(validated, rows, weights.unsigned()?)?)
            }
            _ => Weighed::U32(known(validated, rows, weights.unsigned()?)?),
        })
    }

    /// The weight of an arc as it stands there.
    fn word(&self, arc: usize) -> PyResult<String> {
        let Some(weights) = &self.weights else { return Ok("1".to_owned()) };
        Ok(match weights.word() {
            word if word == <i32 as Number>::WORD => weights.slice::<i32>()?[arc].to_string(),
            word if word == <u32 as Number>::WORD => weights.slice::<u32>()?[arc].to_string(),
            word if word == <i64 as Number>::WORD => weights.slice::<i64>()?[arc].to_string(),
            word if word == <u64 as Number>::WORD => weights.slice::<u64>()?[arc].to_string(),
            word if word == <f32 as Number>::WORD => weights.slice::<f32>()?[arc].to_string(),
            _ => weights.slice::<f64>()?[arc].to_string(),
        })
    }

    /// Why a graph cannot be had of them.
    fn refused(&self, error: &GraphError) -> PyErr {
        match error {
            GraphError::Memory(error) => no_memory(*error),
            GraphError::BadWeight { arc, tail, head } => {
                let word = match self.word(*arc) {
                    Ok(word) => word,
                    Err(error) => return error,
                };
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
    /// To search in.
    pub(super) fn searched(&self) -> PyResult<Searched<'_>> {
        match self {
            Reached::Own(graph) => Ok(Searched::Own(graph)),
            Reached::Borrowed(arrays, validated) => arrays.rows(*validated),
        }
    }
}

/// Rows as they lie. Signed integers were found not to be negative, and are searched as unsigned ones: every kind of rows is a
/// search of its own in the extension module.
#[derive(Clone, Copy)]
pub(super) enum Searched<'a> {
    Own(&'a Graph),
    /// Offsets and heads of 32 bits.
    Narrow(Weighed<'a, u32>),
    /// Of 64 bits.
    Wide(Weighed<'a, u64>),
}

/// Borrowed rows with weights of some type.
#[derive(Clone, Copy)]
pub(super) enum Weighed<'a, I> {
    One(BorrowedCsr<'a, I, ()>),
    U32(BorrowedCsr<'a, I, u32>),
    U64(BorrowedCsr<'a, I, u64>),
    F64(BorrowedCsr<'a, I, f64>),
}

/// Calls with rows of any kind.
macro_rules! for_rows {
    ($searched:expr, $rows:ident => $call:expr) => {{
        use $crate::graph::borrowed::{Searched, Weighed};
        match &$searched {
            Searched::Own($rows) => {
                let $rows = *$rows;
                $call
            }
            Searched::Narrow(Weighed::One($rows)) => $call,
            Searched::Narrow(Weighed::U32($rows)) => $call,
            Searched::Narrow(Weighed::U64($rows)) => $call,
            Searched::Narrow(Weighed::F64($rows)) => $call,
            Searched::Wide(Weighed::One($rows)) => $call,
            Searched::Wide(Weighed::U32($rows)) => $call,
            Searched::Wide(Weighed::U64($rows)) => $call,
            Searched::Wide(Weighed::F64($rows)) => $call,
        }
    }};
}
pub(super) use for_rows;

impl Searched<'_> {
    /// Nodes and arcs together: what a search looks at.
    pub(super) fn size(&self) -> usize {
        for_rows!(*self, rows => Rows::nodes(rows) + Rows::arcs(rows))
    }
}
