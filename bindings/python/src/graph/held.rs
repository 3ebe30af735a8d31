//! A graph that Python holds: read from a file, or taken over from arrays.

use super::numbers::{Number, Numbers};
use super::patience::patiently;
use super::{os_error, team};
use crate::errors::{bad_argument, graph_error, no_memory, pages};
use firsttouch_graph::{
    Format, Graph, GraphError, Ids, Loaded, Order, OutArc, Place, ReadError, ReadOptions, Reordering,
    WriteError, read, read_coordinates, save,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::{Path, PathBuf};

/// A graph, and which of its nodes is which.
#[pyclass(frozen, name = "Graph", module = "firsttouch._core")]
pub(crate) struct Held {
    pub(super) loaded: Loaded,
    pub(super) place: Place,
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
                ReadError::Line { line, .. } | ReadError::Count { line, .. } => Some(*line),
                _ => None,
            };
            let hint = match error {
                ReadError::Unknown | ReadError::Ambiguous => {
                    "name the format: format=\"gr\", \"mtx\", \"el\", \"wel\" or \"metis\""
                }
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

/// Weights of some type.
enum Weights<'a> {
    One,
    I32(&'a [i32]),
    U32(&'a [u32]),
    I64(&'a [i64]),
    U64(&'a [u64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
}

/// A fraction is no weight, nor is what 32 bits do not hold.
fn whole(weight: f64) -> Option<u32> {
    let in_range = weight >= 0.0 && weight <= f64::from(u32::MAX);
    (in_range && weight.fract() == 0.0).then_some(weight as u32)
}

impl<'a> Weights<'a> {
    fn of(array: Option<&'a Bound<'_, PyAny>>) -> PyResult<Weights<'a>> {
        let Some(numbers) = array.map(Numbers::of).transpose()? else { return Ok(Weights::One) };
        Ok(match numbers.word() {
            word if word == <i32 as Number>::WORD => Weights::I32(numbers.slice()?),
            word if word == <u32 as Number>::WORD => Weights::U32(numbers.slice()?),
            word if word == <i64 as Number>::WORD => Weights::I64(numbers.slice()?),
            word if word == <u64 as Number>::WORD => Weights::U64(numbers.slice()?),
            word if word == <f32 as Number>::WORD => Weights::F32(numbers.slice()?),
            _ => Weights::F64(numbers.slice()?),
        })
    }

    fn count(&self) -> Option<usize> {
        match self {
            Weights::One => None,
            Weights::I32(all) => Some(all.len()),
            Weights::U32(all) => Some(all.len()),
            Weights::I64(all) => Some(all.len()),
            Weights::U64(all) => Some(all.len()),
            Weights::F32(all) => Some(all.len()),
            Weights::F64(all) => Some(all.len()),
        }
    }

    /// The graph of these weights and rows.
    fn graph<I>(&self, offsets: &[I], heads: &[I], place: Place) -> Result<Graph, GraphError>
    where
        I: Copy + TryInto<i64> + TryInto<u32>,
    {
        if let Some(weights) = self.count().filter(|count| *count != heads.len()) {
            return Err(GraphError::UnequalLengths { heads: heads.len(), weights });
        }
        let rows = (offsets, heads);
        fn of<I: Copy + TryInto<i64> + TryInto<u32>>(
            (offsets, heads): (&[I], &[I]),
            place: Place,
            weight: impl Fn(usize) -> Option<u32>,
        ) -> Result<Graph, GraphError> {
            Graph::from_weighed_rows(offsets, heads, weight, place)
        }
        match self {
            Weights::One => of(rows, place, |_| Some(1)),
            Weights::I32(all) => of(rows, place, |arc| all[arc].try_into().ok()),
            Weights::U32(all) => of(rows, place, |arc| Some(all[arc])),
            Weights::I64(all) => of(rows, place, |arc| all[arc].try_into().ok()),
            Weights::U64(all) => of(rows, place, |arc| all[arc].try_into().ok()),
            Weights::F32(all) => of(rows, place, |arc| whole(all[arc].into())),
            Weights::F64(all) => of(rows, place, |arc| whole(all[arc])),
        }
    }

    /// A weight as it stands there.
    fn word(&self, arc: usize) -> String {
        match self {
            Weights::One => "1".to_owned(),
            Weights::I32(all) => all[arc].to_string(),
            Weights::U32(all) => all[arc].to_string(),
            Weights::I64(all) => all[arc].to_string(),
            Weights::U64(all) => all[arc].to_string(),
            Weights::F32(all) => all[arc].to_string(),
            Weights::F64(all) => all[arc].to_string(),
        }
    }

    /// Why a graph cannot be had of them.
    fn refused(&self, error: &GraphError) -> PyErr {
        match error {
            GraphError::Memory(error) => no_memory(*error),
            GraphError::BadWeight { arc, tail, head } => {
                let word = self.word(*arc);
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

#[pymethods]
impl Held {
    /// Reads a file.
    #[staticmethod]
    #[pyo3(signature = (path, format, undirected, reorder, coordinates, kind, node, threads))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of one function in Python")]
    fn read(
        py: Python<'_>,
        path: PathBuf,
        format: Option<String>,
        undirected: bool,
        reorder: Option<String>,
        coordinates: Option<PathBuf>,
        kind: String,
        node: Option<u32>,
        threads: usize,
    ) -> PyResult<Held> {
        let place = place(&kind, node)?;
        let format = match format {
            Some(word) => Some(Format::parse(&word).ok_or_else(|| {
                bad_argument(&format_args!("`{word}` is no format"), "one of: gr mtx el wel metis ftg")
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
        let options = ReadOptions { format, place, undirected };
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
        Ok(Held { loaded: patiently(py, work, |_| Ok(()))??, place })
    }

    /// Takes over compressed rows: `indptr` and `indices` of one type. Without `data` all weights are 1.
    #[staticmethod]
    fn from_rows(
        py: Python<'_>,
        indptr: &Bound<'_, PyAny>,
        indices: &Bound<'_, PyAny>,
        data: Option<&Bound<'_, PyAny>>,
        kind: String,
        node: Option<u32>,
    ) -> PyResult<Held> {
        let place = place(&kind, node)?;
        let weights = Weights::of(data)?;
        let (offsets, heads) = (Numbers::of(indptr)?, Numbers::of(indices)?);
        let graph = match heads.word() {
            word if word == <i32 as Number>::WORD => {
                let (offsets, heads) = (offsets.slice::<i32>()?, heads.slice::<i32>()?);
                py.detach(|| weights.graph(offsets, heads, place))
            }
            word if word == <u32 as Number>::WORD => {
                let (offsets, heads) = (offsets.slice::<u32>()?, heads.slice::<u32>()?);
                py.detach(|| weights.graph(offsets, heads, place))
            }
            _ => {
                let (offsets, heads) = (offsets.slice::<i64>()?, heads.slice::<i64>()?);
                py.detach(|| weights.graph(offsets, heads, place))
            }
        };
        Ok(Held::of(graph.map_err(|error| weights.refused(&error))?, place))
    }

    /// Writes a file, in the format of that word or that its name ends with.
    fn save(&self, py: Python<'_>, path: PathBuf, format: Option<String>) -> PyResult<()> {
        let wrong = |what: &str| bad_argument(&what, "one of: .gr .mtx .el .wel .metis .ftg, also with .gz");
        let format = match &format {
            Some(word) => Format::parse(word).ok_or_else(|| wrong(&format!("`{word}` is no format")))?,
            None => Format::of_name(&path)
                .ok_or_else(|| wrong(&format!("the name {} tells no format", path.display())))?,
        };
        let work = |_: &_| {
            save(&self.loaded, &path, format, &mut team(usize::MAX)?).map_err(|error| match &error {
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
        self.derived(py, |graph, place| graph.unweighted(place))
    }

    /// The graph with every arc turned round.
    fn reverse(&self, py: Python<'_>) -> PyResult<Held> {
        self.derived(py, |graph, _| Ok(graph.reverse()))
    }

    #[getter]
    fn nodes(&self) -> usize {
        self.loaded.graph.nodes()
    }

    #[getter]
    fn arcs(&self) -> usize {
        self.loaded.graph.arcs()
    }

    /// Bytes of its arrays.
    #[getter]
    fn bytes(&self) -> usize {
        self.loaded.graph.bytes()
    }

    /// Whether distances fit into 32 bits.
    #[getter]
    fn is_narrow(&self) -> bool {
        self.loaded.graph.fits_32_bits()
    }

    /// What was taken as it is, and might have been meant otherwise.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.loaded.notes.clone()
    }

    /// The number that the file gives its first node, if its numbers have no gaps.
    #[getter]
    fn first_id(&self) -> Option<u64> {
        self.loaded.ids.first()
    }

    /// Fills `ids` with the numbers that the file gives its nodes, by their places.
    fn ids(&self, ids: &Bound<'_, PyAny>) -> PyResult<()> {
        let out = Numbers::of(ids)?.slice_mut::<u64>()?;
        let first = self.loaded.ids.first().unwrap_or_default();
        match self.loaded.ids.list() {
            Some(listed) => out.iter_mut().zip(listed).for_each(|(id, listed)| *id = *listed),
            None => out.iter_mut().zip(first..).for_each(|(id, number)| *id = number),
        }
        Ok(())
    }

    /// Fills `order` with the place of the node that lies at each position inside.
    fn order(&self, order: &Bound<'_, PyAny>) -> PyResult<()> {
        let out = Numbers::of(order)?.slice_mut::<u32>()?;
        match self.loaded.ids.order() {
            Some(order) => out.copy_from_slice(order.nodes()),
            None => out.iter_mut().zip(0..).for_each(|(place, number)| *place = number),
        }
        Ok(())
    }
}

impl Held {
    fn of(graph: Graph, place: Place) -> Held {
        let ids = Ids::from_first(0, graph.nodes());
        // Whatever it came from, it is now what our own format holds.
        let loaded = Loaded { graph, ids, coordinates: None, format: Format::Binary, notes: Vec::new() };
        Held { loaded, place }
    }

    fn derived(
        &self,
        py: Python<'_>,
        derive: impl Fn(&Graph, Place) -> Result<Graph, firsttouch_memory::RegionError> + Send + Sync,
    ) -> PyResult<Held> {
        let graph = py.detach(|| derive(&self.loaded.graph, self.place)).map_err(no_memory)?;
        let loaded = Loaded {
            graph,
            ids: self.loaded.ids.clone(),
            coordinates: self.loaded.coordinates.clone(),
            format: self.loaded.format,
            notes: self.loaded.notes.clone(),
        };
        Ok(Held { loaded, place: self.place })
    }
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
        let graph = &self.held.get().loaded.graph;
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
