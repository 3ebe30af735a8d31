//! Distances as they are told, row after row, into an array of the caller's.

use super::failure::Failure;
use super::numbers::{Number, Writable};
use firsttouch_graph::{Distances, NO_PARENT, Node, Order, UNREACHED};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Stands for "none" among predecessors and sources, as SciPy has it.
pub(super) const NONE: i32 = -9999;

/// What a search has found, whatever kind of rows it went through.
pub(super) struct Found<'a> {
    pub(super) distances: Distances<'a>,
    /// The nodes that have a distance, in a search with a limit or targets.
    pub(super) within: Option<&'a [Node]>,
    /// Predecessors, if they are wanted.
    pub(super) parents: Option<Vec<Node>>,
}

/// A type that distances are told in.
pub(super) trait DistanceType: Number {
    /// Where no path leads.
    const UNREACHED: Self;

    /// A distance; `None` if the type does not hold it.
    fn of(distance: u64) -> Option<Self>;
}

impl DistanceType for f64 {
    const UNREACHED: f64 = f64::INFINITY;

    fn of(distance: u64) -> Option<f64> {
        Some(distance as f64)
    }
}

impl DistanceType for f32 {
    const UNREACHED: f32 = f32::INFINITY;

    /// Only what is told exactly.
    fn of(distance: u64) -> Option<f32> {
        (distance as f32 as u64 == distance).then_some(distance as f32)
    }
}

impl DistanceType for u32 {
    const UNREACHED: u32 = UNREACHED;

    fn of(distance: u64) -> Option<u32> {
        u32::try_from(distance).ok().filter(|distance| *distance != UNREACHED)
    }
}

impl DistanceType for u64 {
    const UNREACHED: u64 = u64::MAX;

    fn of(distance: u64) -> Option<u64> {
        Some(distance)
    }
}

/// An array of any type that distances are told in, to be written.
pub(super) enum Out<'py> {
    F32(Writable<'py, f32>),
    U32(Writable<'py, u32>),
    U64(Writable<'py, u64>),
    F64(Writable<'py, f64>),
}

impl<'py> Out<'py> {
    pub(super) fn of(array: &Bound<'py, PyAny>) -> PyResult<Out<'py>> {
        if let Some(array) = Writable::if_typed(array)? {
            return Ok(Out::F64(array));
        }
        if let Some(array) = Writable::if_typed(array)? {
            return Ok(Out::F32(array));
        }
        if let Some(array) = Writable::if_typed(array)? {
            return Ok(Out::U32(array));
        }
        if let Some(array) = Writable::if_typed(array)? {
            return Ok(Out::U64(array));
        }
        Err(PyTypeError::new_err("a contiguous array of float64, float32, uint32 or uint64 was expected"))
    }
}

/// Calls with the elements of such an array.
macro_rules! for_distance_type {
    ($array:expr, $out:ident => $call:expr) => {{
        use $crate::graph::output::Out;
        match &mut $array {
            Out::F32(array) => {
                let $out = array.slice()?;
                $call
            }
            Out::U32(array) => {
                let $out = array.slice()?;
                $call
            }
            Out::U64(array) => {
                let $out = array.slice()?;
                $call
            }
            Out::F64(array) => {
                let $out = array.slice()?;
                $call
            }
        }
    }};
}
pub(super) use for_distance_type;

/// The rows of an array, one for each source, which any thread may fill; a place for each node in each of them.
pub(super) struct Rows<'a, T> {
    distances: Vec<Mutex<&'a mut [T]>>,
    parents: Vec<Mutex<&'a mut [i32]>>,
    /// The order that nodes have inside, if it is another.
    order: Option<&'a Order>,
    too_long: AtomicBool,
}

impl<'a, T: DistanceType> Rows<'a, T> {
    /// Of so many places each.
    pub(super) fn new(
        places: usize,
        distances: &'a mut [T],
        parents: Option<&'a mut [i32]>,
        order: Option<&'a Order>,
    ) -> Rows<'a, T> {
        let places = places.max(1);
        Rows {
            distances: distances.chunks_mut(places).map(Mutex::new).collect(),
            parents: parents
                .map_or(Vec::new(), |parents| parents.chunks_mut(places).map(Mutex::new).collect()),
            order,
            too_long: AtomicBool::new(false),
        }
    }

    /// Whether parents are to be told.
    pub(super) fn want_parents(&self) -> bool {
        !self.parents.is_empty()
    }

    /// Fills the row of a source.
    pub(super) fn tell(&self, source: usize, found: &Found<'_>) {
        match found.within {
            None => self.tell_all(source, found.distances),
            Some(within) => {
                let mut row = self.distances[source].lock().unwrap_or_else(PoisonError::into_inner);
                row.fill(T::UNREACHED);
                for node in within {
                    // A hub is behind all nodes, and has no place.
                    let place = self.place(*node) as usize;
                    let Some(reported) = row.get_mut(place) else { continue };
                    *reported = self.reported(found.distances.of(*node).unwrap_or_default());
                }
            }
        }
        if let Some(parents) = &found.parents {
            self.tell_parents(source, parents);
        }
    }

    /// Fills the row of a source with the distances of all nodes.
    pub(super) fn tell_all(&self, source: usize, distances: Distances<'_>) {
        match distances {
            Distances::Narrow(all) => {
                self.each(source, all, |distance| (*distance != UNREACHED).then_some(u64::from(*distance)));
            }
            Distances::Wide(all) => {
                self.each(source, all, |distance| (*distance != u64::MAX).then_some(*distance));
            }
        }
    }

    /// Fills the row of a source with the distances of these nodes, in their order.
    pub(super) fn tell_some(&self, source: usize, distances: Distances<'_>, nodes: &[Node]) {
        let mut row = self.distances[source].lock().unwrap_or_else(PoisonError::into_inner);
        for (place, node) in row.iter_mut().zip(nodes) {
            *place = distances.of(*node).map_or(T::UNREACHED, |distance| self.reported(distance));
        }
    }

    fn each<D>(&self, source: usize, all: &[D], distance: impl Fn(&D) -> Option<u64>) {
        let mut row = self.distances[source].lock().unwrap_or_else(PoisonError::into_inner);
        let reported = |of: &D| distance(of).map_or(T::UNREACHED, |distance| self.reported(distance));
        match self.order {
            None => row.iter_mut().zip(all).for_each(|(place, of)| *place = reported(of)),
            Some(order) => {
                let places = order.nodes().iter().zip(all);
                places.for_each(|(place, of)| row[*place as usize] = reported(of));
            }
        }
    }

    fn tell_parents(&self, source: usize, parents: &[Node]) {
        let mut row = self.parents[source].lock().unwrap_or_else(PoisonError::into_inner);
        let hub = row.len() as Node;
        let reported = |parent: Node| {
            if parent == NO_PARENT || parent == hub { NONE } else { self.place(parent) as i32 }
        };
        for (node, parent) in parents.iter().enumerate() {
            let Some(place) = row.get_mut(self.place(node as Node) as usize) else { continue };
            *place = reported(*parent);
        }
    }

    /// Where a node is told of. That of a hub, which no order knows, is behind all others.
    fn place(&self, node: Node) -> Node {
        self.order
            .filter(|order| (node as usize) < order.nodes().len())
            .map_or(node, |order| order.before(node))
    }

    fn reported(&self, distance: u64) -> T {
        T::of(distance).unwrap_or_else(|| {
            self.too_long.store(true, Ordering::Relaxed);
            T::UNREACHED
        })
    }

    /// Fails if a distance could not be told.
    pub(super) fn finish(self) -> Result<(), Failure> {
        if self.too_long.into_inner() { Err(Failure::TooLong) } else { Ok(()) }
    }
}
