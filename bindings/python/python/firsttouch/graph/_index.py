"""Indexes: a graph prepared for questions from many nodes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Optional

from .. import _core
from .._errors import ArgumentError, UnsupportedError
from ._graph import Graph, Path, workers

if TYPE_CHECKING:
    import numpy.typing as npt


class Index:
    """A hierarchy over a graph: from every node to all others in a small part of the time of a search.

    It serves graphs that small cuts take apart, as roads and grids; `build` refuses others (`UnsupportedError`). Building
    it takes as long as some hundreds of searches; kept in a file (`save`, `load`), it is there again in a small part of that.
    """

    __slots__ = ("_core", "graph")
    _core: _core.Index
    graph: Graph

    def __init__(self) -> None:
        raise ArgumentError("an index comes from somewhere", "firsttouch.graph.Index.build(graph) or .load(path, graph)")

    @classmethod
    def build(cls, graph: Graph, *, n_jobs: Optional[int] = None) -> Index:
        """The index of a graph, with its weights. Ctrl-C waits until it is built."""
        return _wrap(_core.Index.build(_core_of_graph(graph), workers(n_jobs)), graph)

    @classmethod
    def load(cls, path: Path, graph: Graph, *, n_jobs: Optional[int] = None) -> Index:
        """The index of a graph, from a file that `save` wrote of the index of this graph, perhaps with other weights."""
        return _wrap(_core.Index.load(os.fspath(path), _core_of_graph(graph), workers(n_jobs)), graph)

    def save(self, path: Path) -> None:
        """Writes what takes long to find into a file: 4 bytes for every node. Weights are the graph's."""
        self._core.save(os.fspath(path))

    def customize(self, weights: npt.ArrayLike) -> None:
        """Takes new weights, one for every arc in the order of `graph.data`: whole numbers from 0 to 2^32 - 1. The graph
        keeps its own. Takes a small part of the time of `build`."""
        import numpy as np

        given = np.asarray(weights)
        are_numbers = given.ndim == 1 and given.dtype.kind in "biuf"
        with np.errstate(invalid="ignore"):
            whole = np.ascontiguousarray(given, np.uint32) if are_numbers else given
        if not are_numbers or not np.array_equal(whole, given):
            raise ArgumentError("weights are a row of whole numbers from 0 to 4294967295", "numpy.rint(weights * 1000)")
        self._core.customize(whole)

    @property
    def nodes(self) -> int:
        """How many nodes the graph has."""
        return self._core.shape()[0]

    @property
    def arcs(self) -> int:
        """Pairs of nodes that the index joins."""
        return self._core.shape()[1]

    @property
    def height(self) -> int:
        """The most nodes above each other."""
        return self._core.shape()[3]

    def __repr__(self) -> str:
        nodes, arcs, _, height, _ = self._core.shape()
        return f"<firsttouch.graph.Index: {nodes} nodes, {arcs} arcs, {height} high>"


def _wrap(core: _core.Index, graph: Graph) -> Index:
    index = object.__new__(Index)
    index._core, index.graph = core, graph
    return index


def _core_of_graph(graph: Graph) -> _core.Graph:
    """What is inside a graph, which must be ours: an index keeps it."""
    if not isinstance(graph, Graph):
        raise TypeError(f"graph is of the type {type(graph).__name__}, not firsttouch.graph.Graph: from_csr(matrix) makes one")
    return graph._core


def index_for(graph: Graph, index: Optional[Index], sources: int, threads: int) -> Optional[Index]:
    """The index that somebody gave, which must be of this graph; or a new one, if it suits the graph and pays."""
    if index is not None:
        if not isinstance(index, Index):
            raise TypeError(f"index is of the type {type(index).__name__}, not firsttouch.graph.Index")
        if index.graph is not graph:
            raise ArgumentError("the index is of another graph", "give index.graph, or build another index")
        return index
    if not _core.suits_index(graph._core, sources, threads)[0]:
        return None
    try:
        return _wrap(_core.Index.build(graph._core, threads), graph)
    except UnsupportedError:
        # It looked like a map, and is none.
        return None


def core_of(index: Optional[Index]) -> Optional[_core.Index]:
    """What is inside an index, if there is one."""
    return None if index is None else index._core
