#!/usr/bin/env python3
"""Quality of `firsttouch balance` against METIS, SCOTCH and KaHIP on the same graphs.

    benches/balance_peers.py [--data DIR] [--firsttouch target/release/firsttouch] [--time 2s] [GRAPH]...

Tasks are mapped to the 64 cores of the hierarchy 8:2:4 with distances 1, 10 and 100 (8 cores in a group, 2 groups in a
node, 4 nodes), the usual case of process mapping. Told is J, the bytes of every arc times the distance of its ends, for
the whole mapping as `firsttouch balance eval` counts it, and the imbalance; every tool may use 5 %. Where there are few tasks
for a core some use more, since they round up: ours is told to keep to 5 %, and then again to what each of them used.

DIR holds METIS graphs (graphs/*.graph) and matrices of what 64 ranks send (maplib/**/comm_matrix.p2p.size.csv). Matrices
go to the others as graphs with both directions added up. GRAPHs are METIS graphs elsewhere, such as delaunay_n15.graph of the
tests of the crate mt-kahypar.

metis    gpmetis -ptype=rb (Debian: metis); its parts are cores as they are numbered, which follows its halving
scotch   scotch_gmap to the same hierarchy as a tree (Debian: scotch)
kahip    kaffpa, fast and strong, along the hierarchy: 4 parts, 2 of each, 8 of each of those (PyPI: kahip); left out
         where it is not installed
"""

import argparse
import json
import math
import pathlib
import subprocess
import tempfile
import time

MACHINE = "8:2:4 + 1:10:100"
HIERARCHY = [8, 2, 4]
CORES = 64


def read_graph(path):
    """Adjacency with weights, vertex weights."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("%")]
    head = lines[0].split()
    form = (head[2] if len(head) > 2 else "0").zfill(3)
    sizes, vertex, edge = form[0] == "1", form[1] == "1", form[2] == "1"
    weights, rows = [], []
    for line in lines[1 : int(head[0]) + 1]:
        numbers = [int(word) for word in line.split()]
        skip = int(sizes)
        weights.append(numbers[skip] if vertex else 1)
        numbers = numbers[skip + int(vertex) :]
        rows.append({to - 1: weight for to, weight in zip(numbers[::2], numbers[1::2])} if edge
                    else {to - 1: 1 for to in numbers})
    return weights, rows


def read_matrix(path):
    table = [[int(float(word)) for word in line.split(",")] for line in path.read_text().splitlines() if line]
    count = len(table)
    rows = [{j: table[i][j] + table[j][i] for j in range(count) if j != i and table[i][j] + table[j][i]}
            for i in range(count)]
    return [1] * count, rows


def scaled(rows):
    """Weights that fit 32 bits in sum, which the others need."""
    total = sum(sum(row.values()) for row in rows)
    divisor = max(1, total // 1_000_000_000 + 1)
    return [{to: max(1, round(weight / divisor)) for to, weight in row.items()} for row in rows]


def gpmetis(weights, rows, folder):
    text = [f"{len(rows)} {sum(map(len, rows)) // 2} 011"]
    text += [" ".join(map(str, [weight, *(word for to, link in row.items() for word in (to + 1, link))]))
             for weight, row in zip(weights, rows)]
    (folder / "g").write_text("\n".join(text) + "\n")
    run(["gpmetis", "-ptype=rb", "-ufactor=50", "g", str(CORES)], folder)
    return [int(word) for word in (folder / f"g.part.{CORES}").read_text().split()]


def scotch(weights, rows, folder):
    text = ["0", f"{len(rows)} {sum(map(len, rows))}", "0 011"]
    text += [" ".join(map(str, [weight, len(row), *(word for to, link in row.items() for word in (link, to))]))
             for weight, row in zip(weights, rows)]
    (folder / "g").write_text("\n".join(text) + "\n")
    (folder / "t").write_text("tleaf 3 4 100 2 10 8 1\n")
    run(["scotch_gmap", "-b0.05", "g", "t", "m"], folder)
    pairs = [line.split() for line in (folder / "m").read_text().splitlines()[1:]]
    parts = [0] * len(rows)
    for vertex, part in pairs:
        parts[int(vertex)] = int(part)
    return parts


def kahip_mode(strength):
    import kahip

    mode = {"fast": kahip.FAST, "strong": kahip.STRONG}[strength]
    # Three levels share the imbalance of the whole.
    share = 1.05 ** (1 / len(HIERARCHY)) - 1

    def cut(weights, rows, vertices, parts):
        """The parts of an induced subgraph."""
        place = {vertex: index for index, vertex in enumerate(vertices)}
        starts, ends, links = [0], [], []
        for vertex in vertices:
            for to, link in rows[vertex].items():
                if to in place:
                    ends.append(place[to])
                    links.append(link)
            starts.append(len(ends))
        _, blocks = kahip.kaffpa([weights[vertex] for vertex in vertices], starts, links, ends,
                                 parts, share, True, 0, mode)
        return [[vertex for vertex, block in zip(vertices, blocks) if block == part] for part in range(parts)]

    def solve(weights, rows, _folder):
        groups = [list(range(len(rows)))]
        for parts in reversed(HIERARCHY):
            groups = [piece for group in groups for piece in cut(weights, rows, group, parts)]
        cores = [0] * len(rows)
        for core, group in enumerate(groups):
            for vertex in group:
                cores[vertex] = core
        return cores

    return solve


def run(command, folder):
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def judged(binary, source, parts, folder):
    mapping = folder / "mapping"
    mapping.write_text("".join(f"{part}\n" for part in parts))
    command = [binary, "balance", "eval", *source, "--machine", MACHINE, "--mapping", str(mapping), "--json"]
    after = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["after"]
    return after["cost"], after["imbalance"]


def ours(binary, source, extra):
    command = [binary, "balance", "solve", *source, "--machine", MACHINE, "--json", *extra]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return answer["after"]["cost"], answer["after"]["imbalance"], answer["strategy_s"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("graphs", type=pathlib.Path, nargs="*", metavar="GRAPH")
    parser.add_argument("--firsttouch", default="target/release/firsttouch")
    parser.add_argument("--time", default="2s", help="time limit of the second run of ours")
    arguments = parser.parse_args()
    binary = str(pathlib.Path(arguments.firsttouch).resolve())
    peers = {"metis": gpmetis, "scotch": scotch}
    try:
        peers |= {f"kahip {strength}": kahip_mode(strength) for strength in ("fast", "strong")}
    except ImportError:
        print("kahip is not installed: pip install kahip")
    graphs, matrices = arguments.graphs, []
    if arguments.data:
        graphs = [*sorted(arguments.data.glob("graphs/*.graph")), *graphs]
        matrices = sorted(arguments.data.glob("maplib/**/comm_matrix.p2p.size.csv"))
    for path in [path for path in graphs if not path.exists()]:
        print(f"skipped: {path} is not there")
    cases = [(path.stem, ["--graph", str(path)], read_graph(path)) for path in graphs if path.exists()]
    cases += [(path.parent.name, ["--matrix", str(path)], read_matrix(path)) for path in matrices]
    if not cases:
        print("skipped: no graphs or matrices there; name some by --data or as arguments")
    print(f"{'graph':24} {'tool':16} {'J':>16} {'imbalance':>10} {'seconds':>9}")
    for name, source, (weights, rows) in cases:
        if len(rows) < CORES:
            continue
        results = []
        for tool, solve in peers.items():
            with tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                begun = time.perf_counter()
                try:
                    parts = solve(weights, scaled(rows), folder)
                except (subprocess.CalledProcessError, FileNotFoundError) as error:
                    print(f"{name:24} {tool:16} {error}")
                    continue
                seconds = time.perf_counter() - begun
                results.append((tool, *judged(binary, source, parts, folder), seconds))
        results.append(("best", *ours(binary, source, [])))
        results.append((f"best {arguments.time}", *ours(binary, source, ["--time", arguments.time])))
        for used in sorted({math.ceil(imbalance * 1e4) / 1e4 for _, _, imbalance, _ in results if imbalance > 0.05}):
            allowed = ["--tolerance", str(used)]
            results.append((f"best, {used:.1%}", *ours(binary, source, allowed)))
            results.append((f"best, {used:.1%}, {arguments.time}", *ours(binary, source, [*allowed, "--time", arguments.time])))
        for tool, cost, imbalance, seconds in results:
            print(f"{name:24} {tool:16} {cost:16.0f} {imbalance:10.3f} {seconds:9.4f}")


if __name__ == "__main__":
    main()
