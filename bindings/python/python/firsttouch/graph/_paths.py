"""Shortest paths, with the arguments and results of `scipy.sparse.csgraph.dijkstra`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Optional

from .. import _core
from .._errors import ArgumentError, NoMemoryError
from .._machine import topology
from ._graph import Graph, taken, whole_numbers, workers, wrap
from ._index import Index, core_of, index_for

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# Results below this are not asked about: looking at the machine takes longer than making them.
_SMALL_BYTES = 1 << 28
# What stands for no node.
_NONE = -9999
# Searches up to which those in a matrix as it lies, some slower, are done before a copy of it is made and searched.
_FEW_SEARCHES = 4


def dijkstra(
    graph: Any,
    directed: bool = True,
    indices: Optional[npt.ArrayLike] = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
    limit: float = math.inf,
    min_only: bool = False,
    *,
    dtype: Optional[npt.DTypeLike] = None,
    out: Optional[npt.NDArray[Any]] = None,
    n_jobs: Optional[int] = None,
) -> Any:
    """The distances from some nodes to all nodes: of every shortest path its length.

    `graph` is a `Graph`, SciPy's sparse array or matrix, a dense matrix (0, inf and nan are no arcs), or `(indptr, indices,
    data)`. A matrix of SciPy's is searched where it lies for few indices, if its types allow it (`from_csr`), and else copied, which takes about as
    long as a search: make a `Graph` of it once (`from_csr`) to search often. In a sparse matrix an entry of 0 that is stored is an arc of length 0, as in SciPy.

    `directed=False` lets every arc be taken back. `indices` are the nodes to search from: an array of any shape, or one
    number; negative ones count from the end; all nodes if none are given. `unweighted` counts arcs. Nodes farther
    than `limit` count as not reached, and are not searched for. `min_only` asks, for every node, for the distance from the
    nearest of the indices.

    The result has the shape `indices.shape + (nodes,)`, with `min_only` `(nodes,)`, and is of the type `dtype`: `float64`
    (the default; inf where no path leads), `float32` (inf), `uint32` or `uint64` (the largest number of the type where no
    path leads). A distance that the type does not hold exactly (`float64`: beyond 2^53, where it rounds) is an error. `out`
    is an array of that shape to be filled, C-contiguous, perhaps a `numpy.memmap`; its type decides.

    With `return_predecessors`, a tuple: distances, and of the same shape, as `int32`, the node before each node on a
    shortest path, -9999 for sources and where no path leads; with `min_only` also the source of each node. Where several
    paths are shortest, the predecessor may be another one than SciPy's.

    `n_jobs` threads search: each from its own indices, or all together from one. Where the graph is like a map and
    indices are some hundreds for each thread, an index is built first, for this call; `distance_table` takes one that is
    there. Memory is looked at before a large result
    is made: `NoMemoryError` in place of a machine that swaps.
    """
    import numpy as np

    # Making another graph of it copies anyway.
    ours = taken(graph, directed and not min_only and indices is not None and np.size(indices) <= _FEW_SEARCHES)
    sources, shape = places(indices, ours.nodes)
    if unweighted:
        ours = wrap(ours._core.unweighted())
    if not directed:
        ours = wrap(ours._core.both_ways())
    most, threads = limited(limit), workers(n_jobs)
    if min_only:
        shape = (ours.nodes,)
    result = _result(shape, dtype, out, 4 * math.prod(shape) if return_predecessors else 0)
    parents = origins = None
    if return_predecessors:
        if ours.nodes > np.iinfo(np.int32).max:
            raise ArgumentError("predecessors are numbers of 31 bits, and there are more nodes", "distances alone")
        parents = np.empty(shape, np.int32)
    if min_only:
        origins = np.empty(shape, np.int32) if return_predecessors else None
    if min_only and not sources.size:
        # From nowhere no path leads anywhere, in a graph without nodes either.
        result.fill(math.inf if result.dtype.kind == "f" else np.iinfo(result.dtype).max)
        for part in (parents, origins):
            if part is not None:
                part.fill(_NONE)
    elif min_only:
        _core.nearest(ours._core, sources, most, result, parents, origins, threads)
    else:
        # Searches that end soon are sooner than sweeps, which see all nodes; and sweeps know no predecessors.
        index = index_for(ours, None, sources.size, threads) if most is None and parents is None else None
        if index is None:
            _core.distances(ours._core, sources, most, result, parents, threads)
        else:
            _core.table(ours._core, index._core, sources, None, most, result, threads)
    found = tuple(part for part in (result, parents, origins) if part is not None)
    return found if return_predecessors else result


def distance_table(
    graph: Any,
    sources: npt.ArrayLike,
    targets: npt.ArrayLike,
    *,
    index: Optional[Index] = None,
    limit: float = math.inf,
    dtype: Optional[npt.DTypeLike] = None,
    out: Optional[npt.NDArray[Any]] = None,
    n_jobs: Optional[int] = None,
) -> npt.NDArray[Any]:
    """The distances from some nodes to some nodes: an array with a row for each of `sources` and a column for each of
    `targets` (one row of nodes each; they may come more than once).

    With an `index` of the graph, only what is above the targets is looked at; without, a search from every source ends when
    it knows all targets. The other arguments, and the types of the result, are those of `dijkstra`.
    """
    import numpy as np

    ours, threads = taken(graph, index is None and np.size(sources) <= _FEW_SEARCHES), workers(n_jobs)
    tails, heads = row(sources, ours.nodes, "sources"), row(targets, ours.nodes, "targets")
    result = _result((tails.size, heads.size), dtype, out, 0)
    prepared = None if index is None else index_for(ours, index, tails.size, threads)
    _core.table(ours._core, core_of(prepared), tails, heads, limited(limit), result, threads)
    return result


def places(
    indices: Optional[npt.ArrayLike], nodes: int, name: str = "indices"
) -> tuple[npt.NDArray[np.uint32], tuple[int, ...]]:
    """The nodes to search from, side by side, and the shape of the result."""
    import numpy as np

    if indices is None:
        return np.arange(nodes, dtype=np.uint32), (nodes, nodes)
    given = whole_numbers(indices, name)
    numbers = given.reshape(-1)
    # As they are: the largest of 64 bits would be negative ones among signed numbers.
    outside = (numbers < -nodes) | (numbers >= nodes)
    if outside.any():
        wrong = numbers[outside][0]
        raise ArgumentError(f"there is no node {wrong}: the graph has {nodes}", f"{name} from 0 to {nodes - 1}")
    places = numbers.astype(np.int64)
    return np.where(places < 0, places + nodes, places).astype(np.uint32), (*given.shape, nodes)


def row(indices: Optional[npt.ArrayLike], nodes: int, name: str) -> npt.NDArray[np.uint32]:
    """The nodes of an argument that is one row of them; all if it is `None`."""
    found, shape = places(indices, nodes, name)
    if len(shape) > 2:
        raise ArgumentError(f"{name} of {len(shape) - 1} dimensions are no row of nodes", f"numpy.ravel({name})")
    return found


def limited(limit: float) -> Optional[int]:
    """The longest distance that is told, as distances are whole numbers; `None` for all."""
    if math.isnan(limit) or limit < 0:
        raise ArgumentError(f"the limit {limit} is none", "limit=0 or more")
    # Beyond 64 bits there are no distances.
    return None if limit >= 2**64 else int(limit)


def _result(
    shape: tuple[int, ...],
    dtype: Optional[npt.DTypeLike],
    out: Optional[npt.NDArray[Any]],
    more_bytes: int,
) -> npt.NDArray[Any]:
    """The array for distances, which with `more_bytes` beside it surely fits into memory."""
    import numpy as np

    if out is not None:
        if not isinstance(out, np.ndarray):
            raise TypeError(f"out is of the type {type(out).__name__}, not an array of NumPy's")
        if dtype is not None and np.dtype(dtype) != out.dtype:
            raise ArgumentError(f"out is of the type {out.dtype}, not {np.dtype(dtype)}", "out decides: leave dtype away")
        if out.shape != shape:
            raise ArgumentError(f"out has the shape {out.shape}, and the result {shape}", f"numpy.empty({shape})")
        if not (out.flags.c_contiguous and out.flags.writeable and out.flags.aligned):
            raise ArgumentError("out is not one block that can be written", "numpy.ascontiguousarray(out)")
    kind = np.dtype(np.float64 if dtype is None else dtype) if out is None else out.dtype
    if kind not in (np.float64, np.float32, np.uint32, np.uint64) or not kind.isnative:
        raise ArgumentError(f"distances are not told in {kind}", "one of: float64 float32 uint32 uint64")
    bytes_ = more_bytes + (math.prod(shape) * kind.itemsize if out is None else 0)
    if bytes_ > _SMALL_BYTES:
        _make_room(bytes_)
    return np.empty(shape, kind) if out is None else out


def _make_room(bytes_: int) -> None:
    """Refuses what is larger than the memory that can be had."""
    machine = topology()["machine"]
    group = machine["limits"]["cgroup_memory"] or {}
    free = [machine["memory_available_bytes"]]
    if isinstance(group.get("limit_bytes"), int):
        free.append(group["limit_bytes"] - (group["usage_bytes"] or 0))
    known = [number for number in free if number is not None]
    if known and bytes_ > min(known):
        raise NoMemoryError(
            f"the result has {bytes_ / 1e9:.1f} GB, and {min(known) / 1e9:.1f} GB of memory are free",
            'fewer indices, dtype="uint32", a limit, or out=numpy.lib.format.open_memmap(...) on a disk',
        )
