#!/usr/bin/env python3
"""Shortest paths from Python: SciPy's dijkstra and `firsttouch.graph`'s on the same graphs, in turn.

    benches/graph_python.py [--rounds 5] [--scale 20] [NY.gr]

Two graphs: the road graph of the file, with 24 sources (`random.Random(20100601).randrange(nodes)`), and a random graph of
2^SCALE nodes and twice as many arcs, weights 1 to 65535, with 4 sources. `not copied` searches SciPy's arrays where they lie
(`from_csr(matrix, copy=False)`). In every round each contestant answers all sources once,
in a fresh random order; the table has the medians, per source, and the sum of all distances must be the same for all. What
converting SciPy's matrix costs is a row of its own, and part of none of the others but SciPy's, which converts what is not
`float64` in every call: it is given `float64`. Needs the package (pip install ./bindings/python) and scipy.
"""

import argparse
import random
import statistics
import sys
import time
from importlib.metadata import version

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from firsttouch import graph


def scattered(scale):
    """Twice as many arcs as nodes, between nodes that are drawn."""
    nodes = 1 << scale
    draw = np.random.default_rng(1)
    tails = np.sort(draw.integers(0, nodes, 2 * nodes))
    indptr = np.zeros(nodes + 1, np.int32)
    np.cumsum(np.bincount(tails, minlength=nodes), out=indptr[1:])
    heads = draw.integers(0, nodes, 2 * nodes, dtype=np.int32)
    return csr_array((draw.integers(1, 65536, 2 * nodes).astype(float), heads, indptr), (nodes, nodes))


def roads(path):
    """The graph of a file as SciPy has it."""
    read = graph.read(path)
    arrays = (read.data.astype(float), read.indices.astype(np.int32), read.indptr.astype(np.int32))
    return csr_array(arrays, read.shape)


def compare(name, matrix, sources, rounds):
    ours, lent = graph.from_csr(matrix), graph.from_csr(matrix, copy=False)
    whole = csr_array((matrix.data.astype(np.uint32), matrix.indices, matrix.indptr), matrix.shape)
    lent_whole = graph.from_csr(whole, copy=False)
    hubs = {"indices": sources}
    contestants = {
        "scipy": lambda: dijkstra(matrix, **hubs),
        "firsttouch, 1 thread": lambda: graph.dijkstra(ours, **hubs, n_jobs=1),
        "firsttouch": lambda: graph.dijkstra(ours, **hubs),
        "firsttouch, uint32": lambda: graph.dijkstra(ours, **hubs, dtype="uint32"),
        "firsttouch, 1 thread, not copied (float64)": lambda: graph.dijkstra(lent, **hubs, n_jobs=1),
        "firsttouch, 1 thread, not copied (uint32)": lambda: graph.dijkstra(lent_whole, **hubs, n_jobs=1),
        "firsttouch, not copied (float64)": lambda: graph.dijkstra(lent, **hubs),
        "scipy, one source": lambda: dijkstra(matrix, indices=sources[0]),
        "firsttouch, one source, 1 thread": lambda: graph.dijkstra(ours, indices=sources[0], n_jobs=1),
        "firsttouch, one source": lambda: graph.dijkstra(ours, indices=sources[0]),
        "firsttouch, one source of the matrix itself": lambda: graph.dijkstra(matrix, indices=sources[0]),
        "from_csr": lambda: graph.from_csr(matrix),
        "from_csr, not copied": lambda: graph.from_csr(matrix, copy=False),
    }
    seconds = {words: [] for words in contestants}
    sums = {}
    for _ in range(rounds):
        for words in random.sample(list(contestants), len(contestants)):
            begun = time.perf_counter()
            found = contestants[words]()
            seconds[words].append(time.perf_counter() - begun)
            if "from_csr" not in words:
                told = found.astype(float)
                reached = told < (2**32 - 1 if found.dtype == np.uint32 else np.inf)
                sums.setdefault("one source" in words, set()).add(int(told[reached].sum()))
    if any(len(each) > 1 for each in sums.values()):
        sys.exit(f"the contestants do not agree: {sums}")
    nodes, arcs = matrix.shape[0], matrix.nnz
    print(f"\n{name}: {nodes} nodes, {arcs} arcs, {len(sources)} sources, {rounds} rounds; sum {sums[False].pop()}\n")
    print("| | ms | as fast as scipy |\n|---|---:|---:|")
    for words, each in seconds.items():
        some = 1 if "one source" in words or "from_csr" in words else len(sources)
        ms = statistics.median(each) / some * 1e3
        alternative = seconds["scipy, one source" if "one source" in words else "scipy"]
        ratio = statistics.median(alternative) / statistics.median(each)
        print(f"| {words} | {ms:.2f} | {'' if 'from_csr' in words else f'{ratio:.2f}'} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("roads", nargs="?")
    arguments = parser.parse_args()
    print("  ".join(f"{name} {version(name)}" for name in ("firsttouch", "scipy", "numpy")))
    if arguments.roads:
        matrix = roads(arguments.roads)
        draw = random.Random(20100601)
        sources = [draw.randrange(matrix.shape[0]) for _ in range(24)]
        compare("roads", matrix, sources, arguments.rounds)
    matrix = scattered(arguments.scale)
    draw = random.Random(20100601)
    # Nodes of the component that holds nearly all: those with arcs, and of these nearly every one.
    with_arcs = np.flatnonzero(np.diff(matrix.indptr) > 1)
    sources = [int(with_arcs[draw.randrange(with_arcs.size)]) for _ in range(4)]
    compare(f"random, scale {arguments.scale}", matrix, sources, arguments.rounds)


if __name__ == "__main__":
    main()
