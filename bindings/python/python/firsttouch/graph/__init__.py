"""Shortest paths from many nodes of large graphs, with the arguments and results of SciPy's.

>>> from firsttouch import graph
>>> ny = graph.read("USA-road-d.NY.gr.gz")
>>> graph.dijkstra(ny, indices=[0, 1776], dtype="uint32")      # a row for each index, a column for each node
>>> graph.dijkstra(ny, indices=0, limit=10_000)                # inf beyond the limit, which makes it quick

Distances are exact. Weights are whole numbers from 0 to 2^32 - 1. Nodes are told apart by their places, from 0, in the order
that the file or the arrays have them; `Graph.ids` are the numbers that a file gives them.

Work is done without Python's lock, by as many threads as the process may use CPUs, or `n_jobs` of them. Ctrl-C ends it when
the searches under way are done.
"""

from __future__ import annotations

from ._graph import Graph, from_csr, read
from ._paths import dijkstra

__all__ = ["Graph", "dijkstra", "from_csr", "read"]
