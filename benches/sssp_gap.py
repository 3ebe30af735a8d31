#!/usr/bin/env python3
"""Compares searches from one source with the GAP benchmark's `sssp` on one graph, in turn, in one session: milliseconds.

    GAP=/path/to/gapbs/sssp benches/sssp_gap.py GRAPH.ftg [SOURCES [ROUNDS]]      12 sources in 3 rounds if not given

For each number of THREADS (`1,2` if not given): ours as `sssp --algorithm auto` searches from one source, and GAP's with the
delta that is best for it on two sources, of DELTAS (`1,2,4,8,16,32` if not given). Both get the same arcs and sources; GAP's
process searches from each source three times, and the better of the last two counts, ours searches from each once, after
two to warm up. Each time contains the making of a search's arrays where the program makes them for every search. Both must
reach as many nodes. Other variables: FIRSTTOUCH.
"""

import json
import os
import random
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

FIRSTTOUCH = os.environ.get("FIRSTTOUCH", "target/release/firsttouch")
GAP = os.environ.get("GAP", "sssp")
THREADS = os.environ.get("THREADS", "1,2").split(",")
DELTAS = os.environ.get("DELTAS", "1,2,4,8,16,32").split(",")
WARM_UP = 2


class Graph:
    """The arrays of an .ftg file (docs/graphs.md, the binary format)."""

    def __init__(self, name):
        self.name = name
        with open(name, "rb") as file:
            header = file.read(104)
        if header[:8] != b"\x89FTGRAPH":
            sys.exit(f"{name} is no .ftg file: firsttouch graph convert {name} FILE.ftg")
        self.nodes, self.arcs = struct.unpack_from("<QQ", header, 16)
        self.rows, self.rows_bytes, _, self.heads, self.heads_bytes = struct.unpack_from("<QQQQQ", header, 56)

    def degree(self, node):
        with open(self.name, "rb") as file:
            file.seek(self.rows + 8 * node)
            begin, end = struct.unpack("<QQ", file.read(16))
        return end - begin

    def write_wsg(self, out):
        """The same arrays as GAP keeps them: whether there are arcs back beside them (no: `sssp` does not look at them), arcs,
        nodes."""
        with open(self.name, "rb") as file, open(out, "wb") as to:
            to.write(struct.pack("<?qq", False, self.arcs, self.nodes))
            for offset, count in (self.rows, self.rows_bytes), (self.heads, self.heads_bytes):
                file.seek(offset)
                while count > 0:
                    part = file.read(min(count, 1 << 24))
                    to.write(part)
                    count -= len(part)


def gap(graph, source, delta, threads):
    """Milliseconds, and how many nodes were reached."""
    command = [GAP, "-f", graph, "-r", str(source), "-n", "3", "-a", "-d", delta]
    environment = {**os.environ, "OMP_NUM_THREADS": threads}
    text = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    trials = [float(s) for s in re.findall(r"Trial Time:\s*([0-9.]+)", text)]
    return min(trials[1:]) * 1e3, int(re.search(r"reaches (\d+) nodes", text)[1])


def ours(graph, sources, threads):
    """Milliseconds of each source, which algorithm, and how many nodes were reached from all, those of the warm-up too."""
    # One source alone tells which algorithm `auto` takes; then that one searches from all.
    def run(algorithm, some):
        command = [FIRSTTOUCH, "sssp", graph, "--json", "--num-threads", threads, "--algorithm", algorithm,
                   "--sources", ",".join(map(str, some))]
        return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    algorithm = run("auto", sources[:1])["algorithm"]
    answer = run(algorithm, (sources * WARM_UP)[:WARM_UP] + sources)
    return [s * 1e3 for s in answer["query_s"][WARM_UP:]], algorithm, answer["reached"]


def main(name, count=12, rounds=3):
    graph = Graph(name)
    draw = random.Random(20100601)
    sources = []
    while len(sources) < count:
        node = draw.randrange(graph.nodes)
        if graph.degree(node) > 0:
            sources.append(node)
    folder = tempfile.mkdtemp(dir=os.path.dirname(os.path.abspath(name)))
    try:
        wsg = os.path.join(folder, "graph.wsg")
        graph.write_wsg(wsg)
        print(f"{graph.nodes} nodes, {graph.arcs} arcs, {count} sources")
        print(f"{'threads':>7} {'program':<22}{'median ms':>10}{'least':>9}{'most':>9}{'million arcs/s':>16}")
        for threads in THREADS:
            compare(graph, wsg, sources, rounds, threads)
    finally:
        shutil.rmtree(folder)


def compare(graph, wsg, sources, rounds, threads):
    best = min(DELTAS, key=lambda delta: sum(gap(wsg, source, delta, threads)[0] for source in sources[:2]))
    times, name = {"GAP": [], "ours": []}, ""
    for number in range(rounds):
        part = sources[number::rounds]
        reached = {}
        for who in random.sample(list(times), len(times)):
            if who == "ours":
                found, name, reached[who] = ours(graph.name, part, threads)
                times[who] += found
            else:
                found = [gap(wsg, source, best, threads) for source in part]
                times[who] += [ms for ms, _ in found]
                reached[who] = sum(count for _, count in (found * WARM_UP)[:WARM_UP] + found)
        assert reached["GAP"] == reached["ours"], f"nodes reached: {reached}"
    names = {"GAP": f"GAP, delta {best}", "ours": f"firsttouch {name}"}
    for who, ms in times.items():
        median = statistics.median(ms)
        print(f"{threads:>7} {names[who]:<22}{median:>10.1f}{min(ms):>9.1f}{max(ms):>9.1f}"
              f"{graph.arcs / median / 1e3:>16.0f}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], *map(int, sys.argv[2:]))
