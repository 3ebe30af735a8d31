"""A backend of networkx: `nx.single_source_dijkstra_path_length(G, source, backend="firsttouch")`.

networkx finds this module by the package's entry points, asks `can_run` and `should_run`, has a graph of its own converted
(and keeps what was converted beside it), and then calls the function of the same name. Results are what networkx's own
functions return: dicts in rising order of distance, or iterators of them.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any, Optional, Union

from .. import _core
from .._errors import GraphError, UnsupportedError
from ._graph import Graph, from_csr, workers, wrap
from ._index import index_for
from ._paths import dijkstra

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Distances = dict[Hashable, Union[int, float]]

# Below so many nodes networkx is done before a graph is converted.
_WORTH_IT = 200
# Distances that are in memory at once, of several sources.
_AT_ONCE = 1 << 23

_FUNCTIONS = {
    "all_pairs_dijkstra_path_length": "All cores search, some sources ahead of the iterator; graphs like maps get an index first.",
    "multi_source_dijkstra_path_length": "",
    "shortest_path_length": "From one source to all nodes, with weights, by Dijkstra's algorithm.",
    "single_source_dijkstra_path_length": "On large graphs all cores search together.",
}


def get_info() -> dict[str, Any]:
    """What networkx shows of this backend."""
    note = "Weights are whole numbers from 0 to 2^32 - 1, perhaps written as floats."
    functions = {name: {"additional_docs": f"{words} {note}".strip()} for name, words in _FUNCTIONS.items()}
    return {
        "backend_name": "firsttouch",
        "project": "firsttouch",
        "package": "firsttouch",
        "short_summary": "Shortest paths from many nodes of large graphs.",
        "functions": functions,
    }


class _UnsuitedError(UnsupportedError, NotImplementedError):
    """A graph that only networkx itself can search: it goes on with the next backend, if there is one."""


class Converted:
    """A graph of networkx's, as it is searched here. `nodes` are its nodes, in their order."""

    __networkx_backend__ = "firsttouch"

    def __init__(self, graph: Graph, nodes: list[Hashable], whole: bool, weight: Optional[str], kind: tuple[bool, bool]):
        self.graph = graph
        self.nodes = nodes
        self.places = {node: place for place, node in enumerate(nodes)}
        # Whether all weights are `int`, and so distances are.
        self.whole = whole
        self.weight = weight
        self._is_directed, self._is_multigraph = kind
        self._unweighted: Optional[Converted] = None

    def by(self, weight: Optional[str]) -> Converted:
        """The graph with this weight, or with none: networkx takes one that it keeps with weights for one without."""
        if weight is not None or self.weight is None:
            return self
        if self._unweighted is None:
            graph = wrap(self.graph._core.unweighted())
            self._unweighted = Converted(graph, self.nodes, True, None, (self._is_directed, self._is_multigraph))
        return self._unweighted

    def is_directed(self) -> bool:
        return self._is_directed

    def is_multigraph(self) -> bool:
        return self._is_multigraph

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.nodes)

    def __contains__(self, node: object) -> bool:
        try:
            return node in self.places
        except TypeError:
            return False


def convert_from_nx(
    graph: Any,
    *,
    edge_attrs: Optional[Mapping[str, Any]] = None,
    preserve_edge_attrs: bool = False,
    name: Optional[str] = None,
    **_: Any,
) -> Converted:
    """Takes over a graph of networkx's, with one weight of its edges, or without weights."""
    import numpy as np

    if preserve_edge_attrs or len(edge_attrs or ()) > 1:
        raise _UnsuitedError(f"{name} needs more of the edges than one number", "networkx itself")
    weight, missing = next(iter((edge_attrs or {}).items()), (None, 1))
    nodes = list(graph)
    places = {node: place for place, node in enumerate(nodes)}
    rows = [graph._adj[node] for node in nodes]
    if graph.is_multigraph():
        # Each neighbour as often as there are edges.
        heads = [places[head] for row in rows for head, edges in row.items() for _ in edges]
        counts = [sum(map(len, row.values())) for row in rows]
        data = [edge for row in rows for edges in row.values() for edge in edges.values()]
    else:
        heads = [places[head] for head in chain.from_iterable(rows)]
        counts = list(map(len, rows))
        data = [edge for row in rows for edge in row.values()]
    weights: Optional[npt.NDArray[Any]] = None
    whole = True
    if weight is not None:
        given = [edge.get(weight, missing) for edge in data]
        if None in given:
            raise _UnsuitedError("an edge with the weight None is hidden", "weights that are numbers, or networkx itself")
        weights, whole = _numbers(given)
    indptr = np.zeros(len(nodes) + 1, np.int64)
    np.cumsum(counts, out=indptr[1:])
    try:
        converted = from_csr((indptr, np.fromiter(heads, np.int64, len(heads)), weights))
    except GraphError as error:
        raise _UnsuitedError(error.message, error.hint) from error
    return Converted(converted, nodes, whole, weight, (graph.is_directed(), graph.is_multigraph()))


def _numbers(given: list[Any]) -> tuple[npt.NDArray[Any], bool]:
    """Weights as an array, and whether all of them are integers."""
    import numpy as np

    kinds = set(map(type, given))
    whole = all(issubclass(kind, (int, np.integer, np.bool_)) for kind in kinds)
    # Numbers of more digits than `float64` would be rounded to whole ones.
    numbers = (int, float, np.integer, np.float16, np.float32, np.float64, np.bool_)
    if not whole and not all(issubclass(kind, numbers) for kind in kinds):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise _UnsuitedError(f"weights of the types {names} are not searched with", "whole numbers")
    try:
        return np.array(given, np.int64 if whole else np.float64), whole
    except OverflowError as error:
        raise _UnsuitedError("a weight is larger than 4294967295", "divide all weights by the same number") from error


def convert_to_nx(converted: Any, *, name: Optional[str] = None) -> Any:
    """A graph of networkx's with the same nodes, edges and weights; other attributes were never taken over."""
    import numpy as np

    if not isinstance(converted, Converted):
        return converted
    networkx: Any = import_module("networkx")
    classes = {
        (False, False): networkx.Graph,
        (True, False): networkx.DiGraph,
        (False, True): networkx.MultiGraph,
        (True, True): networkx.MultiDiGraph,
    }
    graph = classes[converted.is_directed(), converted.is_multigraph()]()
    graph.add_nodes_from(converted.nodes)
    rows = converted.graph
    tails = np.repeat(np.arange(rows.nodes), np.diff(rows.indptr).astype(np.int64)).tolist()
    for tail, head, weight in zip(tails, rows.indices.tolist(), rows.data.tolist()):
        # Without directions, every edge stands in the rows of both ends.
        if tail <= head or converted.is_directed():
            attributes = {} if converted.weight is None else {converted.weight: weight}
            graph.add_edge(converted.nodes[tail], converted.nodes[head], **attributes)
    return graph


def can_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Union[bool, str]:
    """Whether a call can be answered here, or why not."""
    if name not in _FUNCTIONS:
        return False
    if name == "shortest_path_length":
        given = dict(zip(("G", "source", "target", "weight", "method"), args), **kwargs)
        if given.get("weight") is None or given.get("method", "dijkstra") != "dijkstra":
            return "only lengths with weights, by Dijkstra's algorithm"
        if given.get("source") is None or given.get("target") is not None:
            return "only from one source to all nodes"
        weight = given["weight"]
    else:
        place = 2 if name.startswith("all_pairs") else 3
        weight = kwargs.get("weight", args[place] if len(args) > place else "weight")
    return "weights are told by a function" if callable(weight) else True


def should_run(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Union[bool, str]:
    """Whether that is sooner done here."""
    graph = args[0] if args else kwargs["G"]
    if isinstance(graph, Converted) or name.startswith("all_pairs") or len(graph) >= _WORTH_IT:
        return True
    return f"a graph of fewer than {_WORTH_IT} nodes is sooner searched than converted"


def _limit(cutoff: Optional[float]) -> float:
    return math.inf if cutoff is None or math.isnan(cutoff) else cutoff


def _told(graph: Converted, distances: npt.NDArray[np.uint64]) -> Distances:
    """The nodes that have a distance, the nearest first."""
    import numpy as np

    places = np.flatnonzero(distances != np.iinfo(np.uint64).max)
    found = distances[places]
    order = np.argsort(found, kind="stable")
    found = found[order] if graph.whole else found[order].astype(np.float64)
    nodes = graph.nodes
    return {nodes[place]: distance for place, distance in zip(places[order].tolist(), found.tolist())}


def _present(graph: Converted, sources: Iterable[Hashable]) -> list[int]:
    """The places of nodes that must be there."""
    for source in sources:
        if source not in graph:
            networkx: Any = import_module("networkx")
            raise networkx.NodeNotFound(f"Node {source} not found in graph")
    return [graph.places[source] for source in sources]


def multi_source_dijkstra_path_length(
    G: Converted, sources: Any, cutoff: Optional[float] = None, weight: Optional[str] = "weight"
) -> Distances:
    if not sources:
        raise ValueError("sources must not be empty")
    places = _present(G, sources)
    limit = _limit(cutoff)
    if limit < 0:
        return {G.nodes[place]: 0 for place in places}
    graph = G.by(weight)
    distances = dijkstra(graph.graph, indices=places, limit=limit, min_only=len(places) > 1, dtype="uint64")
    return _told(graph, distances.reshape(-1))


def single_source_dijkstra_path_length(
    G: Converted, source: Hashable, cutoff: Optional[float] = None, weight: Optional[str] = "weight"
) -> Distances:
    # As a set, so that what cannot be a node is refused as by networkx.
    return multi_source_dijkstra_path_length(G, {source}, cutoff, weight)


def shortest_path_length(
    G: Converted,
    source: Hashable = None,
    target: Hashable = None,
    weight: Optional[str] = None,
    method: str = "dijkstra",
) -> Distances:
    return single_source_dijkstra_path_length(G, source, weight=weight)


def all_pairs_dijkstra_path_length(
    G: Converted, cutoff: Optional[float] = None, weight: Optional[str] = "weight"
) -> Iterator[tuple[Hashable, Distances]]:
    import numpy as np

    limit, graph = _limit(cutoff), G.by(weight)
    step = max(1, _AT_ONCE // max(1, len(G)))
    threads = workers(None)
    index = index_for(graph.graph, None, len(G), threads) if limit == math.inf else None
    for first in range(0, len(G), step):
        some = range(first, min(first + step, len(G)))
        if limit < 0:
            for place in some:
                yield G.nodes[place], {G.nodes[place]: 0}
            continue
        if index is None:
            rows = dijkstra(graph.graph, indices=list(some), limit=limit, dtype="uint64")
        else:
            rows = np.empty((len(some), len(G)), np.uint64)
            _core.table(graph.graph._core, index._core, np.array(some, np.uint32), None, None, rows, threads)
        yield from ((G.nodes[place], _told(graph, row)) for place, row in zip(some, rows))
