"""Indexes of graphs, and what all distances come to."""

import math
from pathlib import Path

import numpy as np
import pytest
from conftest import grid, run

import firsttouch
from firsttouch import graph

SIDE = 40
NODES = SIDE * SIDE


@pytest.fixture(scope="module")
def streets():
    return grid(SIDE)


@pytest.fixture(scope="module")
def index(streets):
    return graph.Index.build(streets)


@pytest.fixture(scope="module")
def matrix(streets):
    """All distances, by searches: too few at a time for an index."""
    parts = np.array_split(np.arange(NODES), 16)
    return np.concatenate([graph.dijkstra(streets, indices=part) for part in parts])


def shuffled(streets, path):
    """The same streets with their nodes in another order inside."""
    streets.save(path)
    moved = graph.read(path, reorder="cells=100")
    assert moved.order.tolist() != list(range(NODES))
    return moved


def test_all_distances_come_from_an_index_by_themselves(streets, matrix):
    assert firsttouch._core.suits_index(streets._core, NODES, 2)[0]
    assert not firsttouch._core.suits_index(streets._core, 30, 2)[0]
    for kind in ["uint32", "float64"]:
        found = graph.dijkstra(streets, dtype=kind, n_jobs=2)
        np.testing.assert_array_equal(found, matrix)


def test_a_table_has_a_row_for_each_source_and_a_column_for_each_target(streets, index, matrix, tmp_path):
    sources, targets = [7, 0, 7, -1], [3, 1000, 3, 7, NODES - 1]
    wanted = matrix[np.ix_(sources, targets)]
    moved = shuffled(streets, tmp_path / "streets.ftg")
    for some, prepared in [(streets, index), (streets, None), (moved, graph.Index.build(moved)), (moved, None)]:
        np.testing.assert_array_equal(graph.distance_table(some, sources, targets, index=prepared), wanted)
        out = np.empty((4, 5), np.uint32)
        assert graph.distance_table(some, sources, targets, index=prepared, out=out) is out and (out == wanted).all()
        near = graph.distance_table(some, sources, targets, index=prepared, limit=20_000)
        np.testing.assert_array_equal(near, np.where(wanted <= 20_000, wanted, math.inf))
        assert graph.distance_table(some, [], targets, index=prepared).shape == (0, 5)
        assert graph.distance_table(some, sources, [], index=prepared).shape == (4, 0)
    np.testing.assert_array_equal(graph.dijkstra(moved), matrix)


def test_figures_are_those_of_the_matrix(streets, index, matrix, tmp_path):
    moved = shuffled(streets, tmp_path / "streets.ftg")
    for options in [{"index": index}, {"indices": range(500)}, {"limit": 9000}, {"limit": 9000, "index": index}, {}]:
        rows = matrix[options.get("indices", slice(None))]
        rows = np.where(rows <= options.get("limit", math.inf), rows, math.nan)
        reach = np.isfinite(rows).sum(axis=1)
        others, sums = reach - 1, np.nansum(rows, axis=1)
        wanted = {
            "eccentricity": np.nanmax(rows, axis=1),
            "closeness": others / sums * others / (NODES - 1),
            "reach": reach,
            "diameter": np.nanmax(rows),
            "radius": np.nanmax(rows, axis=1).min(),
            "checksum": np.nansum(rows),
        }
        for some in [streets, moved] if "index" not in options else [streets]:
            found = graph.all_pairs(some, **options)
            assert list(found) == list(wanted)
            for word, value in found.items():
                np.testing.assert_allclose(value, wanted[word], rtol=1e-12, err_msg=f"{word} {options}")


def test_figures_of_graphs_that_hang_apart():
    ours = ([0, 1, 1, 2], [1, 2], [5, 1])
    found = graph.all_pairs(ours)
    assert {word: getattr(value, "tolist", lambda: value)() for word, value in found.items()} == {
        "eccentricity": [5, 0, 0], "closeness": [0.1, 0, 0], "reach": [2, 1, 1], "diameter": 5, "radius": 0, "checksum": 5,
    }
    assert graph.all_pairs(ours, "diameter") == {"diameter": 5}
    assert list(graph.all_pairs(ours, ["reach", "checksum"], indices=[])["reach"]) == []
    assert graph.all_pairs(([0], [], []), "radius") == {"radius": None}
    with pytest.raises(firsttouch.ArgumentError, match="betweenness"):
        graph.all_pairs(ours, ["betweenness"])


def test_closeness_is_that_of_networkx(streets):
    nx = pytest.importorskip("networkx")
    small = nx.gnp_random_graph(60, 0.03, seed=3, directed=True)
    tails, heads = np.array(sorted(small.edges)).T
    indptr = np.searchsorted(tails, np.arange(61))
    found = graph.all_pairs(graph.from_csr((indptr, heads, None)).reverse(), "closeness")["closeness"]
    np.testing.assert_allclose(found, [nx.closeness_centrality(small, node) for node in small], rtol=1e-12)


def test_progress_is_told_and_may_end_a_run(streets, index, tmp_path):
    told = []
    graph.all_pairs(streets, "reach", index=index, progress=lambda *numbers: told.append(numbers))
    assert told[-1] == (NODES, NODES) and told == sorted(told)

    class Enough(Exception):
        pass

    def stop(done, sources):
        raise Enough

    file = tmp_path / "checkpoint"
    with pytest.raises(Enough):
        graph.all_pairs(streets, index=index, progress=stop, checkpoint=file)
    # What was found before is found again, by whatever means.
    wanted, found = graph.all_pairs(streets), graph.all_pairs(streets, index=index, checkpoint=file)
    assert file.exists()
    for word, value in wanted.items():
        np.testing.assert_array_equal(value, found[word])
    with pytest.raises(firsttouch.ArgumentError):
        graph.all_pairs(streets, indices=[0], index=index, checkpoint=file)


WAITS = """
import faulthandler, sys
sys.path.insert(0, sys.argv[1])
from conftest import grid
from firsttouch import graph

# Whoever waits for ever is ended.
faulthandler.dump_traceback_later(300, exit=True)
streets = grid(150)
index, weights, told = graph.Index.build(streets), 2 * streets.data, []

def change(done, sources):
    told.append(done)
    index.customize(weights)

graph.all_pairs(streets, "reach", index=index, progress=change, n_jobs=1)
assert told[0] < streets.nodes, told
"""


def test_progress_may_wait_for_the_run():
    # What changes the index waits until nobody searches by it.
    run(WAITS, str(Path(__file__).parent))


WITHOUT_THREADS = """
import os, resource
import numpy as np
import firsttouch
from firsttouch import graph

nodes = 200_000
ring = graph.from_csr((np.arange(nodes + 1), np.roll(np.arange(nodes), -1), None))
# Limits on threads are not for root.
if os.getuid() == 0:
    os.setuid(65534)
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
try:
    graph.all_pairs(ring, "reach", indices=[0])
except firsttouch.UnsupportedError as error:
    assert "ulimit -u" in error.hint, error
else:
    raise SystemExit("a thread was started all the same")
"""


def test_a_thread_that_cannot_be_started_is_an_error():
    run(WITHOUT_THREADS)


def test_an_index_is_kept_in_a_file(streets, index, matrix, tmp_path):
    assert index.nodes == NODES and index.graph is streets and index.arcs > NODES and index.height > SIDE // 2
    assert str(index.arcs) in repr(index)
    index.save(tmp_path / "index")
    again = graph.Index.load(tmp_path / "index", streets)
    np.testing.assert_array_equal(graph.distance_table(streets, [5], [9, 99], index=again), matrix[[[5]], [9, 99]])
    with pytest.raises(FileNotFoundError):
        graph.Index.load(tmp_path / "none", streets)
    with pytest.raises(OSError):
        index.save(tmp_path / "no/folder")
    with pytest.raises(firsttouch.ArgumentError, match="another graph"):
        graph.Index.load(tmp_path / "index", grid(SIDE + 1))
    (tmp_path / "index").write_bytes((tmp_path / "index").read_bytes()[:-5])
    with pytest.raises(firsttouch.ArgumentError) as error:
        graph.Index.load(tmp_path / "index", streets)
    assert error.value.hint
    with pytest.raises(firsttouch.ArgumentError, match="another graph"):
        graph.distance_table(grid(3), [0], [1], index=index)


def test_an_index_takes_new_weights(streets):
    ours = graph.Index.build(streets)
    weights = streets.data[::-1].copy()
    ours.customize(weights)
    wanted = graph.dijkstra((streets.indptr, streets.indices, weights), indices=[0, 5])
    np.testing.assert_array_equal(graph.distance_table(streets, [0, 5], range(NODES), index=ours), wanted)
    ours.customize(weights.astype(float) * 2)
    np.testing.assert_array_equal(graph.distance_table(streets, [0, 5], range(NODES), index=ours), 2 * wanted)
    for wrong in [weights[:-1], weights + 0.5, -weights.astype(int), weights.astype(int) << 32, [math.nan] * weights.size, ["a"], [[1]]]:
        with pytest.raises(firsttouch.ArgumentError):
            ours.customize(wrong)
    np.testing.assert_array_equal(graph.distance_table(streets, [0, 5], range(NODES), index=ours), 2 * wanted)


def test_graphs_without_small_cuts_have_no_index():
    draw = np.random.default_rng(3)
    nodes = 20_000
    tails = np.sort(draw.integers(0, nodes, 4 * nodes))
    rows = (np.searchsorted(tails, np.arange(nodes + 1)), draw.integers(0, nodes, 4 * nodes), None)
    ours = graph.from_csr(rows)
    with pytest.raises(firsttouch.UnsupportedError) as error:
        graph.Index.build(ours)
    assert "without an index" in error.value.hint
    with pytest.raises(firsttouch.ArgumentError):
        graph.Index()
