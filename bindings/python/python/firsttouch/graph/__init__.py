"""Shortest paths from many nodes of large graphs, with the arguments and results of SciPy's.

>>> from firsttouch import graph
>>> ny = graph.read("USA-road-d.NY.gr.gz")
>>> graph.dijkstra(ny, indices=[0, 1776], dtype="uint32")      # a row for each index, a column for each node
>>> graph.dijkstra(ny, indices=0, limit=10_000)                # inf beyond the limit, which makes it quick
>>> graph.all_pairs(ny, ["diameter", "closeness"])             # from every node, without a matrix of all distances

Distances are exact. Weights are whole numbers from 0 to 2^32 - 1. Nodes are told apart by their places, from 0, in the order
that the file or the arrays have them; `Graph.ids` are the numbers that a file gives them.

Work is done without Python's lock, by as many threads as the process may use CPUs, or `n_jobs` of them. Ctrl-C ends it when
the searches under way are done.
"""

from __future__ import annotations

from ._all import all_pairs
from ._graph import Graph, from_csr, read
from ._index import Index
from ._paths import dijkstra, distance_table

__all__ = ["Graph", "Index", "all_pairs", "dijkstra", "distance_table", "from_csr", "read"]
