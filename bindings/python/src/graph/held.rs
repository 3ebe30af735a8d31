//! A graph that Python holds: read from a file, or taken over from arrays.

use super::borrowed::{Arrays, Borrowed, Reached};
use super::failure::{os_error, team};
use super::numbers::{Number, Writable};
use super::patience::patiently;
use crate::errors::{bad_argument, graph_error, no_memory, pages};
use firsttouch_graph::{
    Format, Graph, Ids, LineError, Loaded, Order, OutArc, Place, ReadError, ReadOptions, Reordering,
    WriteError, read, read_coordinates, save,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// A graph, and which of its nodes is which.
#[pyclass(frozen, name = "Graph", module = "firsttouch._core")]
pub(crate) struct Held {
    storage: Storage,
    pub(super) place: Place,
}

/// Where the arcs are.
enum Storage {
    /// In memory of the graph's own.
    Own(Box<Loaded>),
    /// In arrays of somebody's.
    Borrowed(Borrowed),
}

fn place(kind: &str, node: Option<u32>) -> PyResult<Place> {
    Ok(Place { pages: pages(kind)?, node })
}

/// What is wrong with a file, for Python.
fn unread(path: &Path, error: &ReadError) -> PyErr {
    match error {
        ReadError::Io(error) => os_error(error, path),
        ReadError::Memory(error) => no_memory(*error),
        _ => {
            let line = match error {
                ReadError::Line { line, .. }
                | ReadError::Count { line, .. }
                | ReadError::TooManyAlone { line, .. } => Some(*line),
                _ => None,
            };
            // Those that name an option of the command name an argument here.
            let hint = match error {
                ReadError::Unknown | ReadError::Ambiguous => {
                    let words = Format::words(Format::is_text, "\", \"", "\" or \"");
                    &format!("name the format: format=\"{words}\"")
                }
                ReadError::TooManyAlone { .. } => {
                    "the header is wrong, or belongs to another file; if the nodes are there indeed, allow them memory, 8 bytes \
                     each: most_memory=BYTES"
                }
                ReadError::TooMuchText { .. } => {
                    "unpack it and look at it; a graph may have so much text by most_memory=BYTES, too"
                }
                ReadError::Line {
                    reason: LineError::Expected { .. } | LineError::EndsEarly { .. }, ..
                } => "look at the line; docs/graphs.md describes the formats, and format= names one",
                _ => error.hint(),
            };
            graph_error(&format_args!("{}: {error}", path.display()), hint, line)
        }
    }
}

fn reordered(loaded: Loaded, by: Reordering, place: Place) -> PyResult<Loaded> {
    let order = match (by, &loaded.coordinates) {
        (Reordering::DepthFirst, _) => Order::depth_first(&loaded.graph),
        (Reordering::BreadthFirst, _) => Order::breadth_first(&loaded.graph),
        (Reordering::Cells(nodes), _) => Order::cells(&loaded.graph, nodes),
        (Reordering::Coordinates, Some(coordinates)) => Order::coordinates(coordinates),
        (Reordering::Coordinates, None) => {
            return Err(bad_argument(
                &"there are no coordinates to order the nodes by",
                "name them: coordinates=\"FILE.co\"; or reorder=\"dfs\", which needs none",
            ));
        }
    };
    loaded.reordered(&order, place).map_err(no_memory)
}

#[pymethods]
impl Held {
    /// Reads a file.
    #[staticmethod]
    #[pyo3(signature = (path, format, undirected, reorder, coordinates, most_memory, kind, node, threads))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of one function in Python")]
    fn read(
        py: Python<'_>,
        path: PathBuf,
        format: Option<String>,
        undirected: bool,
        reorder: Option<String>,
        coordinates: Option<PathBuf>,
        most_memory: Option<u64>,
        kind: String,
        node: Option<u32>,
        threads: usize,
    ) -> PyResult<Held> {
        let place = place(&kind, node)?;
        let format = match format {
            Some(word) => Some(Format::parse(&word).ok_or_else(|| {
                let words = Format::words(|_| true, " ", " ");
                bad_argument(&format_args!("`{word}` is no format"), format!("one of: {words}"))
            })?),
            None => None,
        };
        let by = match reorder {
            Some(word) => Some(Reordering::parse(&word).ok_or_else(|| {
                bad_argument(
                    &format_args!("`{word}` is no order"),
                    "one of: dfs bfs cells cells=NODES hilbert",
                )
            })?),
            None => None,
        };
        let options = ReadOptions { format, place, undirected, most_memory_bytes: most_memory };
        let work = |_: &_| {
            let mut loaded =
                read(&path, &options, &mut team(threads)?).map_err(|error| unread(&path, &error))?;
            if let Some(path) = &coordinates {
                let found = read_coordinates(path).map_err(|error| unread(path, &error))?;
                if found.len() != loaded.graph.nodes() {
                    let (theirs, ours) = (found.len(), loaded.graph.nodes());
                    let what = format!("{} has {theirs} nodes, and the graph has {ours}", path.display());
                    return Err(graph_error(&what, "name the coordinates of the same graph", None));
                }
                loaded.coordinates = Some(found);
            }
            match by {
                Some(by) => reordered(loaded, by, place),
                None => Ok(loaded),
            }
        };
        Ok(Held { storage: Storage::Own(Box::new(patiently(py, work, |_| Ok(()))??)), place })
    }

    /// Takes over compressed rows: `indptr` and `indices` of one type. Without `data` all weights are 1. Nothing is copied if
    /// the arrays are borrowed.
    #[staticmethod]
    fn from_rows(
        indptr: &Bound<'_, PyAny>,
        indices: &Bound<'_, PyAny>,
        data: Option<&Bound<'_, PyAny>>,
        borrowed: bool,
        kind: String,
        node: Option<u32>,
    ) -> PyResult<Held> {
        let place = place(&kind, node)?;
        if borrowed {
            return Ok(Held { storage: Storage::Borrowed(Borrowed::new(indptr, indices, data)?), place });
        }
        Ok(Held::of(Arrays::of(indptr, indices, data)?.graph(indptr.py(), place)?, place))
    }

    /// Writes a file, in the format of that word or that its name ends with.
    fn save(&self, py: Python<'_>, path: PathBuf, format: Option<String>) -> PyResult<()> {
        let wrong = |what: &str| {
            let endings = Format::words(Format::is_written, " .", " .");
            bad_argument(&what, format!("one of: .{endings}, also with .gz"))
        };
        let format = match &format {
            Some(word) => Format::parse(word).ok_or_else(|| wrong(&format!("`{word}` is no format")))?,
            None => Format::of_name(&path)
                .ok_or_else(|| wrong(&format!("the name {} tells no format", path.display())))?,
        };
        let loaded = self.loaded(py)?;
        let work = |_: &_| {
            save(&loaded, &path, format, &mut team(usize::MAX)?).map_err(|error| match &error {
                WriteError::File { source, .. } | WriteError::Stream(source) => os_error(source, &path),
                _ => graph_error(&error, error.hint(), None),
            })
        };
        patiently(py, work, |_| Ok(()))?
    }

    /// The graph with every arc there and back.
    fn both_ways(&self, py: Python<'_>) -> PyResult<Held> {
        self.derived(py, |graph, place| graph.both_ways(place))
    }

    /// The graph with all weights 1.
    fn unweighted(&self, py: Python<'_>) -> PyResult<Held> {
        if let Storage::Borrowed(borrowed) = &self.storage {
            return Ok(Held { storage: Storage::Borrowed(borrowed.unweighted(py)?), place: self.place });
        }
        self.derived(py, |graph, place| graph.unweighted(place))
    }

    /// The graph with every arc turned round.
    fn reverse(&self, py: Python<'_>) -> PyResult<Held> {
        self.derived(py, |graph, _| Ok(graph.reverse()))
    }

    #[getter]
    fn nodes(&self) -> usize {
        self.node_count()
    }

    #[getter]
    fn arcs(&self) -> usize {
        match &self.storage {
            Storage::Own(loaded) => loaded.graph.arcs(),
            Storage::Borrowed(borrowed) => borrowed.validated.arcs(),
        }
    }

    /// Whether the arcs lie in memory of the graph's own.
    #[getter]
    fn copied(&self) -> bool {
        matches!(self.storage, Storage::Own(_))
    }

    /// Bytes of memory of its own.
    #[getter]
    fn bytes(&self) -> usize {
        self.own().map_or(0, |loaded| loaded.graph.bytes())
    }

    /// Whether distances fit into 32 bits.
    #[getter]
    fn is_narrow(&self) -> bool {
        match &self.storage {
            Storage::Own(loaded) => loaded.graph.fits_32_bits(),
            Storage::Borrowed(borrowed) => borrowed.validated.fits_32_bits(),
        }
    }

    /// What was taken as it is, and might have been meant otherwise.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.own().map_or(Vec::new(), |loaded| loaded.notes.clone())
    }

    /// The number that the file gives its first node, if its numbers have no gaps.
    #[getter]
    fn first_id(&self) -> Option<u64> {
        self.own().map_or(Some(0), |loaded| loaded.ids.first())
    }

    /// Fills `ids` with the numbers that the file gives its nodes, by their places.
    fn ids(&self, ids: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut ids = Writable::<u64>::of(ids)?;
        let out = ids.slice()?;
        let listed = self.own().and_then(|loaded| loaded.ids.list());
        match listed {
            Some(listed) => out.iter_mut().zip(listed).for_each(|(id, listed)| *id = *listed),
            None => {
                let numbers = self.first_id().unwrap_or_default()..;
                out.iter_mut().zip(numbers).for_each(|(id, number)| *id = number);
            }
        }
        Ok(())
    }

    /// Fills `order` with the place of the node that lies at each position inside.
    fn order(&self, order: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut order = Writable::<u32>::of(order)?;
        let out = order.slice()?;
        match self.order_inside() {
            Some(order) => out.copy_from_slice(order.nodes()),
            None => out.iter_mut().zip(0..).for_each(|(place, number)| *place = number),
        }
        Ok(())
    }

    /// `indptr`, `indices` or `data` of a graph in arrays of somebody's: the array itself, or `None` if there is none.
    fn borrowed<'py>(&self, py: Python<'py>, part: &str) -> Option<Bound<'py, PyAny>> {
        match &self.storage {
            Storage::Own(_) => None,
            Storage::Borrowed(borrowed) => borrowed.part(py, part),
        }
    }
}

impl Held {
    fn of(graph: Graph, place: Place) -> Held {
        Held { storage: Storage::Own(Box::new(own_of(graph))), place }
    }

    fn own(&self) -> Option<&Loaded> {
        match &self.storage {
            Storage::Own(loaded) => Some(loaded),
            Storage::Borrowed(_) => None,
        }
    }

    /// Its graph, to make something of it; of arrays that are borrowed a copy, for as long as that takes.
    pub(super) fn loaded(&self, py: Python<'_>) -> PyResult<Cow<'_, Loaded>> {
        match &self.storage {
            Storage::Own(loaded) => Ok(Cow::Borrowed(loaded)),
            Storage::Borrowed(borrowed) => Ok(Cow::Owned(own_of(borrowed.graph(py, self.place)?))),
        }
    }

    /// Its rows, to search in.
    pub(super) fn rows<'a>(&'a self, py: Python<'a>) -> PyResult<Reached<'a>> {
        match &self.storage {
            Storage::Own(loaded) => Ok(Reached::Own(&loaded.graph)),
            Storage::Borrowed(borrowed) => borrowed.rows(py),
        }
    }

    /// How many nodes it has.
    pub(super) fn node_count(&self) -> usize {
        match &self.storage {
            Storage::Own(loaded) => loaded.graph.nodes(),
            Storage::Borrowed(borrowed) => borrowed.validated.nodes(),
        }
    }

    /// The order that nodes have inside, if it is another than theirs.
    pub(super) fn order_inside(&self) -> Option<&Order> {
        self.own().and_then(|loaded| loaded.ids.order())
    }

    fn derived(
        &self,
        py: Python<'_>,
        derive: impl Fn(&Graph, Place) -> Result<Graph, firsttouch_memory::RegionError> + Send + Sync,
    ) -> PyResult<Held> {
        let from = self.loaded(py)?;
        let graph = py.detach(|| derive(&from.graph, self.place)).map_err(no_memory)?;
        let loaded = Loaded {
            graph,
            ids: from.ids.clone(),
            coordinates: from.coordinates.clone(),
            format: from.format,
            notes: from.notes.clone(),
        };
        Ok(Held { storage: Storage::Own(Box::new(loaded)), place: self.place })
    }
}

/// A graph that came from no file.
fn own_of(graph: Graph) -> Loaded {
    let ids = Ids::from_first(0, graph.nodes());
    // Whatever it came from, it is now what our own format holds.
    Loaded { graph, ids, coordinates: None, format: Format::Binary, notes: Vec::new() }
}

/// A part of a graph's memory, for NumPy to look at: rows, heads or weights, without a copy.
#[pyclass(frozen, module = "firsttouch._core")]
pub(crate) struct View {
    held: Py<Held>,
    part: String,
}

#[pymethods]
impl View {
    /// `indptr`, `indices` or `data` of a graph.
    #[new]
    fn new(held: Py<Held>, part: String) -> View {
        View { held, part }
    }

    /// How NumPy finds the memory; an array made by it keeps this object, and this the graph.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let missing = || bad_argument(&"the graph has no memory of its own", "graph.indptr, indices, data");
        let graph = &self.held.get().own().ok_or_else(missing)?.graph;
        let (offsets, arcs) = (graph.offsets(), graph.all_arcs());
        let begin = arcs.as_ptr() as usize;
        let (address, word, length, stride) = match self.part.as_str() {
            "indptr" => (offsets.as_ptr() as usize, <u64 as Number>::WORD, offsets.len(), size_of::<u64>()),
            "indices" => (
                begin + std::mem::offset_of!(OutArc, head),
                <u32 as Number>::WORD,
                arcs.len(),
                size_of::<OutArc>(),
            ),
            _ => (
                begin + std::mem::offset_of!(OutArc, weight),
                <u32 as Number>::WORD,
                arcs.len(),
                size_of::<OutArc>(),
            ),
        };
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", word)?;
        interface.set_item("shape", (length,))?;
        interface.set_item("strides", (stride,))?;
        const READ_ONLY: bool = true;
        interface.set_item("data", (address, READ_ONLY))?;
        Ok(interface)
    }
}
