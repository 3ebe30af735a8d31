#!/usr/bin/env python3
"""Compares shortest-path searches by one thread, in turn, in one session: milliseconds from one source to all nodes.

    benches/sssp_peers.py GRAPH.gr [SOURCES [ROUNDS]]      50 sources in 5 rounds if not given

In every round each program gets the same sources, in random order of the programs; the first two answers of a process are
thrown away. Ours, with buckets and with the reference's heap; Boost, LEMON and petgraph (make -C benches sssp); SciPy, NetworKit,
rustworkx, igraph and networkx, those that PYTHON can import; and the GAP benchmark, where GAP names its program `sssp`, GAP_GRAPH
the same graph in its own format, GAP_DELTA its delta (whole sources are given to it one process at a time; the better of its
second and third trial counts). All sums of distances must agree. Other variables: FIRSTTOUCH, BENCHES (a folder), THREADS.
"""

import json
import os
import random
import re
import statistics
import subprocess
import sys
import time

FIRSTTOUCH = os.environ.get("FIRSTTOUCH", "target/release/firsttouch")
BENCHES = os.environ.get("BENCHES", "target/benches")
PYTHON = os.environ.get("PYTHON", sys.executable)
THREADS = int(os.environ.get("THREADS", "1"))
GAP, GAP_GRAPH, GAP_DELTA = (os.environ.get(name) for name in ("GAP", "GAP_GRAPH", "GAP_DELTA"))
WARM_UP = 2
# Sources of a round at most, for those that would take minutes.
FEW = {"networkx": 2, "igraph": 4, "rustworkx": 4}


def read_gr(name):
    """Node count, tails, heads and weights, counted from 0."""
    import numpy
    nodes, lines = 0, []
    with open(name) as file:
        for line in file:
            if line.startswith("a"):
                lines.append(line[2:])
            elif line.startswith("p"):
                nodes = int(line.split()[2])
    arcs = numpy.array(" ".join(lines).split(), dtype=numpy.int64).reshape(-1, 3)
    return nodes, arcs[:, 0] - 1, arcs[:, 1] - 1, arcs[:, 2]


def lightest(nodes, tails, heads, weights):
    """Without loops and heavier parallel arcs, for libraries that would add or refuse these."""
    import numpy
    order = numpy.lexsort((weights, heads, tails))
    tails, heads, weights = tails[order], heads[order], weights[order]
    keep = numpy.ones(len(tails), bool)
    keep[1:] = (tails[1:] != tails[:-1]) | (heads[1:] != heads[:-1])
    keep &= tails != heads
    return tails[keep], heads[keep], weights[keep]


def scipy_search(name):
    import numpy
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra
    nodes, *arcs = read_gr(name)
    tails, heads, weights = lightest(nodes, *arcs)
    graph = csr_array((weights.astype(float), (tails, heads)), shape=(nodes, nodes))
    return lambda source: dijkstra(graph, indices=source), lambda found: found[numpy.isfinite(found)].sum()


def networkit_search(name):
    import networkit
    nodes, tails, heads, weights = read_gr(name)
    networkit.setNumberOfThreads(1)
    graph = networkit.GraphFromCoo((weights.astype(float), (tails, heads)), n=nodes, weighted=True, directed=True)

    def search(source):
        found = networkit.distance.Dijkstra(graph, source, storePaths=False)
        found.run()
        return found
    return search, lambda found: sum(d for d in found.getDistances() if d < 1e300)


def rustworkx_search(name):
    import rustworkx
    nodes, tails, heads, weights = read_gr(name)
    graph = rustworkx.PyDiGraph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from(list(zip(tails.tolist(), heads.tolist(), weights.tolist())))
    return lambda source: rustworkx.dijkstra_shortest_path_lengths(graph, source, float), lambda found: sum(found.values())


def igraph_search(name):
    import igraph
    import numpy
    nodes, tails, heads, weights = read_gr(name)
    graph = igraph.Graph(n=nodes, edges=numpy.stack((tails, heads), 1), directed=True)
    weights = weights.tolist()
    return (lambda source: graph.distances(source, weights=weights)[0],
            lambda found: sum(d for d in found if d != float("inf")))


def networkx_search(name):
    import networkx
    nodes, *arcs = read_gr(name)
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(nodes))
    graph.add_weighted_edges_from(zip(*(column.tolist() for column in lightest(nodes, *arcs))))
    return lambda source: networkx.single_source_dijkstra_path_length(graph, source), lambda found: sum(found.values())


IN_PYTHON = {"scipy": scipy_search, "networkit": networkit_search, "rustworkx": rustworkx_search,
             "igraph": igraph_search, "networkx": networkx_search}


def work(library, name, sources):
    """What this program does in its own processes: a line of milliseconds and sum for each source."""
    search, total = IN_PYTHON[library](name)
    for source in sources:
        began = time.perf_counter()
        found = search(source - 1)
        took = time.perf_counter() - began
        print(took * 1e3, int(total(found)))


def lines(command):
    environment = {**os.environ, "OMP_NUM_THREADS": str(THREADS)}
    text = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    return [(float(ms), int(total)) for ms, total in (line.split() for line in text.splitlines())]


def ours(*options):
    def run(name, sources):
        # So many that the width of the buckets is known when the measured ones begin.
        warm = (sources * 20)[:20]
        command = [FIRSTTOUCH, "sssp", name, "--num-threads", str(THREADS), "--json", *options]
        answer = json.loads(subprocess.run([*command, "--sources", ",".join(map(str, warm + sources))],
                                           capture_output=True, text=True, check=True).stdout)
        return [(s * 1e3, None) for s in answer["query_s"][-len(sources):]]
    return run


def gap(name, sources):
    found = []
    for source in sources:
        command = [GAP, "-f", GAP_GRAPH, "-r", str(source - 1), "-n", "3", *(["-d", GAP_DELTA] if GAP_DELTA else [])]
        environment = {**os.environ, "OMP_NUM_THREADS": str(THREADS)}
        text = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
        trials = [float(s) for s in re.findall(r"Trial Time:\s*([0-9.]+)", text)]
        found.append((min(trials[1:]) * 1e3, None))
    return found


def program(*command):
    def run(name, sources):
        return lines([*command, name, *map(str, sources[:WARM_UP] + sources)])[WARM_UP:]
    return run


def can_import(library):
    return subprocess.run([PYTHON, "-c", f"import numpy, {library}"], capture_output=True).returncode == 0


def peers():
    found = {"firsttouch buckets": ours("--algorithm", "buckets"), "firsttouch heap": ours("--algorithm", "heap")}
    if THREADS > 1:
        found = {f"firsttouch {way}": ours("--algorithm", way) for way in ("partitions", "delta")}
    if GAP and GAP_GRAPH:
        found["GAP sssp"] = gap
    if THREADS > 1:
        return found
    for name in ("boost", "lemon", "petgraph"):
        if os.path.exists(f"{BENCHES}/sssp_{name}"):
            found[name] = program(f"{BENCHES}/sssp_{name}")
    for library in filter(can_import, IN_PYTHON):
        found[library] = program(PYTHON, __file__, "--work", library)
    return found


def main(name, count=50, rounds=5):
    nodes = next(int(line.split()[2]) for line in open(name) if line.startswith("p"))
    sources = random.Random(20100601).choices(range(1, nodes + 1), k=count)
    programs = peers()
    times = {peer: [] for peer in programs}
    for number in range(rounds):
        part = sources[number::rounds]
        sums = {}
        for peer in random.sample(list(programs), len(programs)):
            answers = programs[peer](name, part[:FEW.get(peer, len(part))])
            times[peer] += [ms for ms, _ in answers]
            for source, (_, total) in zip(part, answers):
                if total is not None:
                    assert sums.setdefault(source, total) == total, f"{peer} differs from source {source}"
        print(f"round {number + 1} of {rounds} done", file=sys.stderr)
    print(f"{'program':<22}{'median ms':>10}{'least':>9}{'most':>9}{'sources':>9}")
    for peer, ms in sorted(times.items(), key=lambda item: statistics.median(item[1])):
        print(f"{peer:<22}{statistics.median(ms):>10.2f}{min(ms):>9.2f}{max(ms):>9.2f}{len(ms):>9}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2], sys.argv[3], [int(source) for source in sys.argv[4:]])
    elif len(sys.argv) < 2:
        sys.exit(__doc__)
    else:
        main(sys.argv[1], *map(int, sys.argv[2:]))
