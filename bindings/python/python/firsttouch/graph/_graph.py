"""Graphs: read from files, taken over from arrays, and given to NumPy and SciPy to look at."""

from __future__ import annotations

import operator
import os
from typing import TYPE_CHECKING, Any, Optional, Union

from .. import _core
from .._errors import ArgumentError, GraphError, whole_bytes
from .._machine import node_for

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Path = Union[str, "os.PathLike[str]"]


class Graph:
    """A directed graph with weights, as compressed sparse rows: in memory of its own, or (`from_csr(matrix, copy=False)`) in the
    arrays it was made of. It never changes.

    Made by `read` and `from_csr`. `nodes` and `arcs` are how many it has, `bytes` what its own memory comes to: 8 for every
    arc, 8 for every node.
    """

    __slots__ = ("_core", "__weakref__")
    _core: _core.Graph

    def __init__(self) -> None:
        raise ArgumentError("a graph comes from somewhere", "firsttouch.graph.read(path) or from_csr(matrix)")

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return self._core.nodes

    @property
    def arcs(self) -> int:
        """How many arcs there are. A road that is open both ways is two."""
        return self._core.arcs

    @property
    def bytes(self) -> int:
        """Bytes of its own arrays; 0 if it looks at those of others."""
        return self._core.bytes

    @property
    def copied(self) -> bool:
        """Whether its arcs lie in memory of its own; if not, they are in the arrays it was made of, which must not be changed.
        What is made of such a graph (`reverse`, an index, a file) takes a copy for as long as that takes."""
        return self._core.copied

    @property
    def shape(self) -> tuple[int, int]:
        """`(nodes, nodes)`, as of SciPy's matrix."""
        return (self._core.nodes, self._core.nodes)

    @property
    def fits_32_bits(self) -> bool:
        """Whether all distances surely fit into `uint32`."""
        return self._core.is_narrow

    @property
    def notes(self) -> list[str]:
        """What of the file was taken as it is, and might have been meant otherwise."""
        return self._core.notes

    @property
    def ids(self) -> npt.NDArray[np.uint64]:
        """The numbers that the file gives its nodes, by their places: an array of `nodes` numbers, rising."""
        import numpy as np

        ids = np.empty(self.nodes, np.uint64)
        self._core.ids(ids)
        return ids

    def places(self, ids: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """The places of nodes that a file gives these numbers: an array of the same shape."""
        import numpy as np

        given = whole_numbers(ids, "ids")
        numbers = given.reshape(-1).astype(np.uint64)
        first = self._core.first_id
        if first is not None:
            # What is below the first one wraps round, beyond all nodes.
            places: npt.NDArray[Any] = numbers - np.uint64(first)
            known = places < self.nodes
        else:
            listed = self.ids
            places = np.searchsorted(listed, numbers)
            known = np.searchsorted(listed, numbers, "right") > places
        known &= given.reshape(-1) >= 0
        if not known.all():
            missing = given.reshape(-1)[~known][0]
            raise ArgumentError(f"the graph has no node {missing}", "graph.ids are the numbers of its nodes")
        # Of one number a number.
        return places.astype(np.int64).reshape(given.shape)[()]

    @property
    def order(self) -> npt.NDArray[np.uint32]:
        """Which node lies where inside: the place of the node of each row of `indptr`. Rising, unless it was reordered."""
        import numpy as np

        order = np.empty(self.nodes, np.uint32)
        self._core.order(order)
        return order

    @property
    def indptr(self) -> npt.NDArray[np.uint64]:
        """Where the arcs of each node begin in `indices` and `data`, and where the last one's end: `nodes + 1` numbers.

        This, `indices` and `data` are views of the graph's own memory, or of the arrays it was made of: nothing is copied, and
        nothing can be written.
        Rows, and the numbers in `indices`, are in the order inside (`order`).
        """
        return self._view("indptr")

    @property
    def indices(self) -> npt.NDArray[np.uint32]:
        """The nodes that arcs lead to. A head and its weight lie side by side in a copy, so every second number of memory."""
        return self._view("indices")

    @property
    def data(self) -> npt.NDArray[np.uint32]:
        """The weights of arcs, in a copy every second number of memory."""
        return self._view("data")

    def _view(self, part: str) -> npt.NDArray[Any]:
        import numpy as np

        if self.copied:
            return np.asarray(_core.View(self._core, part))
        array = self._core.borrowed(part)
        if array is None:
            return np.broadcast_to(np.uint32(1), (self.arcs,))
        view: npt.NDArray[Any] = array.view()
        view.flags.writeable = False
        return view

    def reverse(self) -> Graph:
        """The graph with every arc turned round: distances from a node in it are distances to that node in this."""
        return wrap(self._core.reverse())

    def save(self, path: Path, format: Optional[str] = None) -> None:
        """Writes it into a file, in the format that the name ends with: `.ftg` can be mapped, and keeps everything; also
        `.gr`, `.mtx`, `.el`, `.wel`, `.metis`, packed with `.gz`."""
        self._core.save(os.fspath(path), format)

    def __repr__(self) -> str:
        where = f"copied into {self.bytes} bytes" if self.copied else "not copied"
        return f"<firsttouch.graph.Graph: {self.nodes} nodes, {self.arcs} arcs, {where}>"


def wrap(core: _core.Graph) -> Graph:
    """The graph that this is inside."""
    graph = object.__new__(Graph)
    graph._core = core
    return graph


def read(
    path: Path,
    format: Optional[str] = None,
    *,
    undirected: bool = False,
    reorder: Optional[str] = None,
    coordinates: Optional[Path] = None,
    most_memory: Optional[int] = None,
    pages: str = "thp",
    node: Optional[int] = None,
    n_jobs: Optional[int] = None,
) -> Graph:
    """Reads a graph from a file: DIMACS (`gr`), Matrix Market (`mtx`), edge lists (`el`, `wel`), METIS (`metis`), or our own
    (`ftg`); texts also packed by gzip, bzip2 or xz. What a file is, is told by its contents, unless `format` says it.

    `undirected` takes every line as an arc there and one back. `reorder` brings the nodes into another order inside (`"dfs"`,
    `"bfs"`, `"cells"`, `"hilbert"` with `coordinates`, a `.co` file): shuffled graphs become two to four times as fast, and
    results stay in the order of the file. `pages` and `node` say on which memory the graph lies, as for
    `firsttouch.zeros`; with `pages="plain"` an `.ftg` file is mapped, and shared with others who do so. `most_memory` are bytes that
    the nodes of a header may take (8 each), and the text of a packed file, where that is more than the length of the file allows.

    A file that is no graph raises `GraphError`, with the number of the line and the reason; one that cannot be opened,
    `OSError`.
    """
    path, beside = os.fspath(path), None if coordinates is None else os.fspath(coordinates)
    where, threads = node_for(node, None), workers(n_jobs)
    most_memory = None if most_memory is None else whole_bytes(most_memory, "most_memory")
    return wrap(_core.Graph.read(path, format, undirected, reorder, beside, most_memory, pages, where, threads))


def from_csr(
    graph: Any, *, copy: Optional[bool] = None, pages: Optional[str] = None, node: Optional[int] = None
) -> Graph:
    """The graph of SciPy's sparse array or matrix, or of three arrays `(indptr, indices, data)`; `data` may be `None`: all
    weights are 1.

    The arc from `i` to `j` is the entry in row `i` and column `j`. An entry that is stored is an arc, also one of 0; two
    entries at one place are two arcs (SciPy takes them so where `data` is `float64`, and else makes one of their sum).
    Weights of any type are taken as long as they are whole numbers from 0 to 2^32 - 1; fractions are refused.

    With `copy=False` nothing is copied: searches read the arrays where they lie, and the graph keeps them. They must not be changed as
    long as it lives: what is found would be wrong, or a `GraphError`. That is possible for rows with `indptr` and `indices` of one type
    (`int32`, `uint32`, `int64`) and `data` of `float64`, or of integers of 32 or 64 bits; what would have to be converted is refused.
    With `copy=True` the entries are copied once, into 8 bytes for every arc and 8 for every node: head and weight side by side, so that a
    search waits for one cache line, not two. `copy=None` copies as well, since whoever makes a graph to search it often gains more by
    that than the copy costs; functions that are given a matrix, and search a few times only, do not. `graph.copied` tells.

    The copy lies on transparent huge pages if it is larger than one of them, unless `pages` says otherwise, as for
    `firsttouch.zeros`.
    """
    must = copy is False
    return _made(graph, must, must, pages, node)


def _made(graph: Any, lend: bool, must: bool, pages: Optional[str], node: Optional[int]) -> Graph:
    """The graph of a matrix: in the arrays of the matrix if these are to be borrowed and can be, or else, unless they must be, in
    a copy."""
    import numpy as np

    given = graph if isinstance(graph, tuple) else _rows(graph)
    if len(given) != 3:
        raise ArgumentError(f"a graph is three arrays, not {len(given)}", "from_csr((indptr, indices, data))")
    indptr, indices, data = (None if part is None else np.asarray(part) for part in given)
    if indptr is None or indices is None or any(part is not None and part.ndim != 1 for part in (indptr, indices, data)):
        raise ArgumentError("indptr, indices and data have one dimension each", "from_csr((indptr, indices, data))")
    if not all(part.dtype.kind in "iu" or not part.size for part in (indptr, indices)):
        raise ArgumentError("indptr and indices are whole numbers", "from_csr((indptr, indices, data))")
    kind = indices.dtype if indices.dtype.newbyteorder("=") in (np.int32, np.uint32, np.int64) else np.dtype(np.int64)
    # Rows beyond what the type of the indices counts, or below: none is to become another.
    counted = np.iinfo(kind)
    if indptr.size and kind.itemsize < 8 and not counted.min <= int(indptr.min()) <= int(indptr.max()) <= counted.max:
        kind = np.dtype(np.int64)
    kind = kind.newbyteorder("=")
    before = (indptr, indices, data)
    if data is not None:
        if data.dtype.kind not in "biuf":
            raise GraphError(f"weights of the type {data.dtype} are no lengths", "whole numbers from 0 to 2^32 - 1")
        own = data.dtype.newbyteorder("=")
        exact = own in (np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64)
        small = np.float64 if data.dtype.kind == "f" else np.int32
        weights, data = data, np.require(data, own if exact else small, ("C", "A"))
        if weights.dtype.itemsize > data.dtype.itemsize and (data != weights).any():
            # As `float64` they would be rounded to whole ones.
            raise GraphError(f"weights of the type {weights.dtype} are no whole numbers", "numpy.rint(data)")
    indptr, indices = np.require(indptr, kind, ("C", "A")), np.require(indices, kind, ("C", "A"))
    if not indptr.size:
        raise GraphError("indptr is empty", "it has one number more than there are nodes: [0] for none")
    after = (indptr, indices, data)
    if lend:
        why = _why_copied(graph, given, before, after)
        if why is None and (pages is not None or node is not None):
            why = "pages and node say where the copy is to lie"
        if why is not None and must:
            raise ArgumentError(f"the graph cannot do without a copy: {why}", "copy=None, which copies where it must")
        if why is None:
            return _checked(*before, True, "plain", None)
    if pages is None:
        pages = "thp" if 8 * (indptr.size + indices.size) > 2 << 20 else "plain"
    return _checked(indptr, indices, data, False, pages, node_for(node, None))


def _checked(indptr: Any, indices: Any, data: Any, lend: bool, pages: str, node: Optional[int]) -> Graph:
    """The graph of these rows, whose numbers are told as they were given where they make none."""
    try:
        return wrap(_core.Graph.from_rows(indptr, indices, data, lend, pages, node))
    except GraphError as error:
        below = (indices < 0).nonzero()[0]
        if not below.size:
            raise
        head = indices[below[0]]
        raise GraphError(f"arc {below[0]} (counted from 0) leads to {head}, which is no node", error.hint) from None


def _why_copied(graph: Any, given: Any, before: Any, after: Any) -> Optional[str]:
    """Why arrays cannot be searched where they lie, if they cannot. `given` are the parts of a graph, `before` these as arrays,
    and `after` as they are searched."""
    import numpy as np

    if not isinstance(graph, tuple) and given[2] is not getattr(graph, "data", None):
        return "the matrix is not in compressed sparse rows: graph.tocsr()"
    names = ("indptr", "indices", "data")
    # The type of the indices decides as what indptr is searched.
    for at in (1, 0, 2):
        name, part, array, taken = names[at], given[at], before[at], after[at]
        if array is None:
            continue
        if not isinstance(part, np.ndarray):
            return f"{name} is no array of NumPy's"
        if array.dtype != taken.dtype:
            return f"{name} is of the type {array.dtype}, and is searched as {taken.dtype}"
        if array.ctypes.data != taken.ctypes.data:
            return f"{name} is not contiguous, or not aligned"
    if after[2] is not None and after[2].dtype == np.float32:
        return "data is of the type float32, and is searched as float64, or as integers of 32 or 64 bits"
    return None


def _rows(graph: Any) -> tuple[Any, Any, Any]:
    """The rows of a sparse or dense matrix."""
    import numpy as np

    shape = getattr(graph, "shape", None)
    if shape is None or len(shape) != 2:
        graph = np.ma.asanyarray(graph)
        shape = graph.shape
    if len(shape) != 2 or shape[0] != shape[1]:
        raise GraphError(f"a matrix of the shape {shape} is no graph", "as many rows as columns: one for each node")
    if hasattr(graph, "tocsr"):
        rows = graph.tocsr()
        return rows.indptr, rows.indices, rows.data
    # As SciPy takes dense matrices: nothing, and nothing finite, is no arc.
    entries = np.asarray(np.ma.getdata(graph))
    if entries.dtype.kind not in "biuf":
        raise GraphError(f"a matrix of the type {entries.dtype} is no graph", "a sparse or dense matrix of numbers")
    there = (entries != 0) & np.isfinite(entries) & ~np.asarray(np.ma.getmaskarray(graph))
    tails, heads = np.nonzero(there)
    indptr = np.zeros(shape[0] + 1, np.int64)
    np.cumsum(np.bincount(tails, minlength=shape[0]), out=indptr[1:])
    return indptr, heads, entries[tails, heads]


def taken(graph: Any, lend: bool = False) -> Graph:
    """The graph that somebody means by a graph of ours, a matrix, or three arrays, which are borrowed for few searches."""
    return graph if isinstance(graph, Graph) else _made(graph, lend, False, None, None)


def whole_numbers(nodes: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    """The numbers by which an argument of this name tells nodes."""
    import numpy as np

    given = np.asarray(nodes)
    if given.dtype.kind not in "iu" and given.size:
        # A list with numbers on both sides of 2^63 is one of fractions to NumPy.
        hint = f"whole numbers from 0; those from 2^63 on: numpy.array({name}, numpy.uint64)"
        raise ArgumentError(f"{name} of the type {given.dtype} are no nodes", hint)
    return given


def workers(n_jobs: Optional[int]) -> int:
    """How many threads are meant: all that may be used, unless somebody says how many."""
    if n_jobs is None or n_jobs == -1:
        return len(os.sched_getaffinity(0))
    count = operator.index(n_jobs)
    if count < 1:
        raise ArgumentError(f"{count} threads do nothing", "n_jobs=1 or more, -1 or None for all that may be used")
    # There are no more than CPUs, whatever the number.
    return min(count, 1 << 32)
