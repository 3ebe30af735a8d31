"""Graphs and shortest paths, against SciPy's."""

import gc
import gzip
import math
import os
import random
import signal
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from conftest import grid

import firsttouch
from firsttouch import graph

NONE = -9999
NEW_YORK = Path(__file__).resolve().parents[4] / "shared/data/graphs/USA-road-d.NY.gr.gz"


@pytest.fixture(scope="module")
def new_york():
    if not NEW_YORK.exists():
        pytest.skip(f"there is no {NEW_YORK}")
    return graph.read(NEW_YORK)


def scipy_dijkstra(matrix, **options):
    """SciPy takes entries at one place for two arcs where they are of its own type; of others it makes the sum."""
    csgraph = pytest.importorskip("scipy.sparse.csgraph")
    if hasattr(matrix, "indptr"):
        matrix = type(matrix)((matrix.data.astype(float), matrix.indices, matrix.indptr), matrix.shape)
    return csgraph.dijkstra(matrix, **options)


def matrices():
    """Graphs of all kinds, as SciPy has them: none of them large."""
    sparse = pytest.importorskip("scipy.sparse")
    for seed in range(40):
        draw = np.random.default_rng(seed)
        nodes = int(draw.integers(1, 60))
        arcs = int(draw.integers(0, 4 * nodes))
        # Loops, parallel arcs, and weights of 0 come by themselves.
        tails, heads = draw.integers(0, nodes, (2, arcs))
        most = [3, 1000, 2**32 - 1][seed % 3]
        weights = draw.integers(0, most, arcs, endpoint=True)
        order = np.argsort(tails, kind="stable")
        indptr = np.zeros(nodes + 1, np.int32)
        np.cumsum(np.bincount(tails, minlength=nodes), out=indptr[1:])
        kind = [np.float64, np.uint32, np.int64][seed // 3 % 3]
        yield sparse.csr_array((weights[order].astype(kind), heads[order].astype(np.int32), indptr), (nodes, nodes))


def check_predecessors(matrix, distances, predecessors, sources):
    """Every predecessor is one on a shortest path, and leads to the source in the end."""
    shortest = {}
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    for tail, head, weight in zip(rows, matrix.indices, matrix.data):
        shortest[tail, head] = min(int(weight), shortest.get((tail, head), 1 << 40))
    for node, before in enumerate(predecessors):
        if node in sources or math.isinf(distances[node]):
            assert before == NONE
            continue
        assert distances[node] == distances[before] + shortest[before, node]
        steps = 0
        while node not in sources:
            node, steps = predecessors[node], steps + 1
            assert steps <= len(predecessors)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_distances_are_those_of_scipy():
    for matrix in matrices():
        nodes = matrix.shape[0]
        wanted = scipy_dijkstra(matrix)
        found, predecessors = graph.dijkstra(matrix, return_predecessors=True)
        assert found.dtype == wanted.dtype == np.float64 and predecessors.dtype == np.int32
        np.testing.assert_array_equal(found, wanted)
        for source in range(nodes):
            check_predecessors(matrix, found[source], predecessors[source], {source})
        for options in [
            {"directed": False},
            {"unweighted": True},
            {"unweighted": True, "directed": False},
            {"limit": float(np.median(wanted[np.isfinite(wanted)]))},
            {"limit": 0},
            {"indices": nodes - 1},
            {"indices": [0, -1, 0]},
            {"indices": [[0, -1]]},
            {"indices": np.int64(0), "limit": 2.5},
            {"indices": [0, nodes // 2], "min_only": True},
            {"min_only": True},
        ]:
            wanted_too = scipy_dijkstra(matrix, **options)
            found_too = graph.dijkstra(matrix, **options)
            assert found_too.shape == wanted_too.shape, options
            np.testing.assert_array_equal(found_too, wanted_too, err_msg=str(options))


def test_from_nowhere_no_path_leads_anywhere():
    sparse = pytest.importorskip("scipy.sparse")
    for matrix in (sparse.csr_array((0, 0)), np.zeros((0, 0)), sparse.csr_array(np.ones((3, 3)))):
        for options in [{}, {"directed": False}, {"return_predecessors": True}, {"indices": []}, {"indices": [], "return_predecessors": True}]:
            if matrix.shape[0] and "indices" not in options:
                continue
            found = graph.dijkstra(matrix, min_only=True, **options)
            wanted = scipy_dijkstra(matrix, min_only=True, **options)
            for ours, theirs in zip(*(part if isinstance(part, tuple) else (part,) for part in (found, wanted))):
                np.testing.assert_array_equal(ours, theirs, err_msg=str(options))
    assert graph.dijkstra(np.ones((2, 2)), indices=[], min_only=True, dtype="uint32").tolist() == [2**32 - 1] * 2


def test_the_nearest_index_is_told():
    for matrix in matrices():
        indices = sorted({0, matrix.shape[0] // 2, matrix.shape[0] - 1})
        found, predecessors, sources = graph.dijkstra(matrix, indices=indices, min_only=True, return_predecessors=True)
        wanted, _, _ = scipy_dijkstra(matrix, indices=indices, min_only=True, return_predecessors=True)
        np.testing.assert_array_equal(found, wanted)
        check_predecessors(matrix, found, predecessors, set(indices))
        all_ways = graph.dijkstra(matrix, indices=indices)
        for node, source in enumerate(sources):
            if source == NONE:
                assert math.isinf(found[node])
            else:
                assert all_ways[indices.index(source), node] == found[node]


def test_an_order_inside_changes_no_result(tmp_path):
    draw = random.Random(1)
    arcs = [(draw.randrange(500), draw.randrange(500), draw.randrange(100)) for _ in range(1500)]
    path = tmp_path / "graph.wel"
    path.write_text("".join("{} {} {}\n".format(*arc) for arc in arcs) + "499 499 1\n")
    plain, moved = graph.read(path), graph.read(path, reorder="dfs")
    assert sorted(moved.order) == list(range(500)) and list(moved.order) != list(range(500))
    for options in [{}, {"limit": 60}, {"indices": [3, 5], "min_only": True}, {"directed": False}]:
        first = graph.dijkstra(plain, **options, return_predecessors=True)
        second = graph.dijkstra(moved, **options, return_predecessors=True)
        np.testing.assert_array_equal(first[0], second[0])
        assert ((first[1] == NONE) == (second[1] == NONE)).all()
    weights = {(tail, head): weight for tail, head, weight in sorted(arcs, reverse=True)}
    distances, predecessors = graph.dijkstra(moved, indices=7, return_predecessors=True)
    for node, before in enumerate(predecessors):
        assert before == NONE or distances[node] == distances[before] + weights[before, node]


def test_types_are_those_asked_for():
    matrix = ([0, 2, 3, 3, 3], [1, 2, 2], [2**32 - 1, 5, 2**31])
    for kind in ["float64", "float32", "uint32", "uint64"]:
        unreached = math.inf if kind.startswith("f") else np.iinfo(kind).max
        found = graph.dijkstra(matrix, indices=[1, 3], dtype=kind)
        assert found.dtype == kind and found.tolist() == [
            [unreached, 0, 2**31, unreached], [unreached, unreached, unreached, 0],
        ]
        out = np.zeros((2, 4), kind)
        assert graph.dijkstra(matrix, indices=[1, 3], out=out) is out and (out == found).all()
    # 2^32 - 1 stands for "not reached" in uint32, and has too many digits for float32.
    for kind in ["float32", "uint32"]:
        with pytest.raises(firsttouch.ArgumentError, match="too long"):
            graph.dijkstra(matrix, indices=0, dtype=kind)
    assert graph.dijkstra(matrix, indices=0, dtype=np.uint64)[1] == 2**32 - 1
    chain = graph.from_csr(([0, 1, 2, 3, 3], [1, 2, 3], np.full(3, 2**32 - 1, np.uint32)))
    assert not chain.fits_32_bits and graph.dijkstra(chain, indices=0, dtype="uint64")[3] == 3 * (2**32 - 1)
    for wrong in [
        {"dtype": "int32"}, {"dtype": ">u4"}, {"out": np.zeros(3)}, {"out": np.zeros((4, 4), np.int32)},
        {"out": np.zeros((4, 4), order="F")}, {"out": np.zeros((4, 4)), "dtype": "uint32"},
        {"indices": 4}, {"indices": -5}, {"indices": [0.5]}, {"limit": -1}, {"limit": math.nan}, {"n_jobs": 0},
    ]:
        with pytest.raises(firsttouch.ArgumentError) as error:
            graph.dijkstra(matrix, **wrong)
        assert error.value.hint, wrong


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "u2", "<i4", ">i4", "u4", "i8", "u8", "f2", "f4", "f8", ">f8", "?"])
def test_weights_of_every_type_are_taken(kind):
    weights = np.array([1, 0, 1], kind)
    ours = graph.from_csr((np.array([0, 2, 3, 3]), np.array([1, 2, 2]), weights))
    assert ours.data.tolist() == [1, 0, 1] and ours.indices.tolist() == [1, 2, 2] and ours.indptr.tolist() == [0, 2, 3, 3]


@pytest.mark.parametrize("kind", ["u1", "i4", "u4", "i8", "u8", ">i4"])
def test_indices_of_every_type_are_taken(kind):
    ours = graph.from_csr((np.array([0, 2, 3, 3], kind), np.array([1, 2, 2], kind), None))
    assert graph.dijkstra(ours, indices=0).tolist() == [0, 1, 1]


def test_dense_matrices_have_no_arcs_of_nothing():
    rows = [[0, 3, math.inf], [math.nan, 0, 0], [2, 0, 0]]
    assert graph.dijkstra(rows).tolist() == [[0, 3, math.inf], [math.inf, 0, math.inf], [2, 5, 0]]
    np.testing.assert_array_equal(graph.dijkstra(np.array(rows)), scipy_dijkstra(np.array(rows)))
    masked = np.ma.masked_equal([[0, 3], [3, 0]], 3)
    assert graph.dijkstra(masked)[0, 1] == math.inf


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_matrices_of_numpy_are_dense_ones():
    dense = np.array([[0, 3], [4, 0]])
    for matrix in [np.asmatrix(dense), np.ma.masked_equal(np.asmatrix(dense), 4)]:
        ours = graph.from_csr(matrix)
        assert ours.data.tolist() == [3, 4][: ours.arcs] and ours.nodes == 2
        assert graph.dijkstra(matrix, indices=0).tolist() == [0, 3]


def test_nodes_that_are_not_there_are_refused():
    ours = graph.from_csr(([0, 1, 2], [1, 0], [5, 6]))
    for missing in [2, -3, np.array([2**64 - 1], np.uint64), np.array(2**32, np.int64), np.int8(-128)]:
        for search in [
            lambda: graph.dijkstra(ours, indices=missing),
            lambda: graph.distance_table(ours, missing, [0]),
            lambda: graph.distance_table(ours, [0], missing),
            lambda: graph.all_pairs(ours, indices=missing),
        ]:
            with pytest.raises(firsttouch.ArgumentError, match="there is no node"):
                search()
    assert graph.dijkstra(ours, indices=np.array([1, -1], np.int8)).tolist() == [[6, 0], [6, 0]]
    assert graph.dijkstra(ours, indices=np.array([[0]], np.uint64)).tolist() == [[[0, 5]]]


def test_arguments_that_mean_nothing_are_named(tmp_path):
    rows = ([0, 1, 2], [1, 0], [5, 6])
    ours = graph.from_csr(rows)
    for name, call in [
        ("out", lambda: graph.dijkstra(ours, indices=0, out=[0.0, 0.0])),
        ("graph", lambda: graph.Index.build(rows)),
        ("graph", lambda: graph.Index.load(tmp_path / "no.index", rows)),
        ("index", lambda: graph.distance_table(ours, [0], [1], index=5)),
        ("index", lambda: graph.all_pairs(ours, index=rows)),
    ]:
        with pytest.raises(TypeError, match=f"^{name} is of the type"):
            call()
    (tmp_path / "one.el").write_text("0 1\n")
    for most in [-1, 2**64]:
        with pytest.raises(firsttouch.ArgumentError, match=f"most_memory={most}"):
            graph.read(tmp_path / "one.el", most_memory=most)
    assert graph.read(tmp_path / "one.el", most_memory=2**64 - 1, n_jobs=2**70).nodes == 2
    assert graph.dijkstra(ours, indices=0, n_jobs=2**70).tolist() == [0, 5]


def test_files_that_cannot_be_written_are_named(tmp_path):
    ours = graph.from_csr(([0, 1, 2], [1, 0], [5, 6]))
    for name in ["graph.gr", "graph.ftg"]:
        with pytest.raises(FileNotFoundError) as raised:
            ours.save(tmp_path / "nowhere" / name)
        assert raised.value.filename == str(tmp_path / "nowhere" / name)
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        ours.save(tmp_path / "file" / "graph.gr")


def test_where_a_row_of_nodes_is_meant_several_are_refused():
    ours = graph.from_csr(([0, 1, 2], [1, 0], [5, 6]))
    for name, search in [
        ("sources", lambda: graph.distance_table(ours, [[0, 1]], [0])),
        ("targets", lambda: graph.distance_table(ours, [0], [[0], [1]])),
        ("indices", lambda: graph.all_pairs(ours, indices=[[0, 1]])),
    ]:
        with pytest.raises(firsttouch.ArgumentError, match=f"{name} of 2 dimensions"):
            search()


def test_a_stored_zero_is_an_arc_in_a_sparse_matrix():
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_matrix((np.array([0.0]), np.array([1]), np.array([0, 1, 1])), (2, 2))
    assert graph.dijkstra(matrix)[0, 1] == scipy_dijkstra(matrix)[0, 1] == 0


@pytest.mark.parametrize(
    "rows, hint",
    [
        (([0, 1, 1], [1], [0.5]), "rint"),
        (([0, 1, 1], [1], [-1]), "johnson"),
        (([0, 1, 1], [1], [-0.5]), "johnson"),
        (([0, 1, 1], [1], [math.nan]), "leave it out"),
        (([0, 1, 1], [1], [math.inf]), "leave it out"),
        (([0, 1, 1], [1], [2**32]), "divide"),
        (([0, 1, 1], [1], [1j]), "whole"),
        (([0, 1, 1], [2], [1]), "numbered"),
        (([0, 1, 1], [-1], [1]), "numbered"),
        (([0, 2, 1], [1], [1]), "begins"),
        (([1, 1, 1], [1], [1]), "begins"),
        ((np.array([-(2**32), 1, 1]), np.array([1], np.int32), [1]), "begins"),
        (([0, 1, 1], [1, 0], [1, 1]), "begins"),
        (([0, 1, 1], [1], [1, 2]), "one weight"),
        (([], [], []), "nodes"),
        (([[0, 1]], [1], [1]), "indptr"),
        (([0, 1], [0.5], [1]), "indptr"),
        (([0, 1], [0]), "data"),
    ],
)
def test_what_is_no_graph_says_why(rows, hint):
    with pytest.raises(ValueError) as error:
        graph.from_csr(rows)
    assert isinstance(error.value, (firsttouch.GraphError, firsttouch.ArgumentError)) and hint in error.value.hint
    with pytest.raises(firsttouch.GraphError):
        graph.from_csr(np.zeros((2, 3)))
    with pytest.raises(firsttouch.Error):
        graph.Graph()


FORMATS = {
    "small.gr": "c a comment\np sp 3 3\na 1 2 7\na 2 3 1\na 1 3 9\n",
    "small.mtx": "%%MatrixMarket matrix coordinate integer general\n3 3 3\n1 2 7\n2 3 1\n1 3 9\n",
    "small.wel": "0 1 7\n1 2 1\n0 2 9\n",
}


@pytest.mark.parametrize("name", FORMATS)
def test_files_are_read_packed_or_not(name, tmp_path):
    (tmp_path / name).write_text(FORMATS[name])
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(FORMATS[name].encode()))
    for path in [tmp_path / name, str(tmp_path / f"{name}.gz")]:
        ours = graph.read(path)
        assert (ours.nodes, ours.arcs, ours.shape, ours.bytes) == (3, 3, (3, 3), 8 * (3 + 4))
        assert graph.dijkstra(ours, indices=0).tolist() == [0, 7, 8]
        first = 0 if name.endswith("wel") else 1
        assert ours.ids.tolist() == [first, first + 1, first + 2] and ours.places([first + 2, first]).tolist() == [2, 0]
        assert graph.dijkstra(ours.reverse(), indices=2).tolist() == [8, 1, 0]
        with pytest.raises(firsttouch.ArgumentError):
            ours.places([0, 77])
    both = graph.read(tmp_path / name, undirected=True, pages="plain", n_jobs=1)
    assert graph.dijkstra(both, indices=2).tolist() == [8, 1, 0]
    ours.save(tmp_path / "kept.ftg")
    again = graph.read(tmp_path / "kept.ftg", pages="plain")
    assert again.data.tolist() == ours.data.tolist() and again.ids.tolist() == ours.ids.tolist()
    assert "3 nodes" in repr(again)


def test_numbers_with_gaps_have_places(tmp_path):
    (tmp_path / "names.wel").write_text("4000000000 17 5\n17 9000000000 6\n")
    ours = graph.read(tmp_path / "names.wel")
    assert ours.ids.tolist() == [17, 4000000000, 9000000000]
    assert ours.places(4000000000) == 1 and ours.places([[9000000000]]).tolist() == [[2]]
    assert graph.dijkstra(ours, indices=ours.places(4000000000)).tolist() == [5, 0, 11]
    for missing in [18, 10**10]:
        with pytest.raises(firsttouch.ArgumentError, match=str(missing)):
            ours.places([17, missing])


def test_numbers_of_64_bits_have_their_own_places(tmp_path):
    (tmp_path / "large.el").write_text(f"{2**53 + 1} {2**53}\n{2**64 - 1} {2**53 + 1}\n{2**64 - 2} 5\n")
    ours = graph.read(tmp_path / "large.el")
    assert ours.ids.tolist() == [5, 2**53, 2**53 + 1, 2**64 - 2, 2**64 - 1]
    for place, number in enumerate(ours.ids.tolist()):
        assert ours.places(number) == place and ours.places([number]).tolist() == [place]
    assert ours.places(ours.ids.reshape(1, 5)).tolist() == [[0, 1, 2, 3, 4]] and ours.places([]).tolist() == []
    for missing in [2**53 + 2, 2**63, 6, -1, np.int8(-5)]:
        with pytest.raises(firsttouch.ArgumentError, match=str(missing)):
            ours.places([missing])
    rows = graph.from_csr(([0, 1, 2], [1, 0], None))
    for some in [ours, rows]:
        for wrong in [5.0, [1.7], "5", True, 1 + 0j, None, 2**64 + 1, [2**64 - 1, 5]]:
            with pytest.raises(firsttouch.ArgumentError, match="ids of the type"):
                some.places(wrong)
    for missing in [-1, 2, 2**64 - 1]:
        with pytest.raises(firsttouch.ArgumentError, match=str(missing)):
            rows.places(missing)
    nothing = graph.from_csr(([0], [], None))
    for missing in [0, 1]:
        with pytest.raises(firsttouch.ArgumentError, match=str(missing)):
            nothing.places(missing)


def test_bad_files_say_where(tmp_path):
    path = tmp_path / "bad.gr"
    path.write_text("p sp 2 2\na 1 2 5\na 1 3 5\n")
    with pytest.raises(firsttouch.GraphError, match="line 3: there is no node 3") as error:
        graph.read(path)
    assert error.value.line == 3 and error.value.hint and str(path) in str(error.value)
    path.write_text("p sp 2 1\na 1 2 0.5\n")
    with pytest.raises(firsttouch.GraphError, match="no whole number") as error:
        graph.read(path)
    assert "power of ten" in error.value.hint
    path.write_text("p sp 2 1\na 1 two 5\n")
    with pytest.raises(firsttouch.GraphError, match="line 2") as error:
        graph.read(path)
    assert "format=" in error.value.hint and "--" not in error.value.hint
    path.write_bytes(gzip.compress(b"p sp 2 1\na 1 2 5\n" * 100)[:-9])
    with pytest.raises(firsttouch.GraphError, match="cut off") as error:
        graph.read(path)
    assert error.value.line is None
    path.write_text("p sp 2000000 1\na 1 2000000 5\n")
    with pytest.raises(firsttouch.GraphError, match="nearly all nodes would be alone") as error:
        graph.read(path)
    assert error.value.line == 1 and "most_memory=" in error.value.hint
    assert graph.read(path, most_memory=16_000_000).nodes == 2_000_000
    path.write_bytes(gzip.compress(b"p sp 2 1\na 1 2 5\n" + b"\n" * (17 << 20)))
    with pytest.raises(firsttouch.GraphError, match="unpacks to more than") as error:
        graph.read(path)
    assert "most_memory=" in error.value.hint
    with pytest.raises(FileNotFoundError) as missing:
        graph.read(tmp_path / "missing.gr")
    assert missing.value.filename == str(tmp_path / "missing.gr")
    for wrong in [{"format": "doc"}, {"reorder": "hilbert"}, {"reorder": "random"}, {"pages": "3m"}]:
        (tmp_path / "good.gr").write_text(FORMATS["small.gr"])
        with pytest.raises(firsttouch.ArgumentError) as error:
            graph.read(tmp_path / "good.gr", **wrong)
        assert error.value.hint
    with pytest.raises(firsttouch.ArgumentError):
        graph.read(tmp_path / "good.gr").save(tmp_path / "good.doc")


def test_views_show_the_graph_and_keep_it():
    ours = graph.from_csr(([0, 1, 2], [1, 0], [5, 6]))
    heads, weights = ours.indices, ours.data
    assert not heads.flags.writeable and heads.base is not None and np.shares_memory(heads[:1], ours.indices)
    del ours
    gc.collect()
    assert heads.tolist() == [1, 0] and weights.tolist() == [5, 6]


def test_threads_change_no_result():
    ours = grid(200)
    one = graph.dijkstra(ours, indices=[0, 777, 39999], n_jobs=1, return_predecessors=True)
    for jobs in [2, -1, None, 64]:
        for wanted, found in zip(one, graph.dijkstra(ours, indices=[0, 777, 39999], n_jobs=jobs, return_predecessors=True)):
            np.testing.assert_array_equal(wanted, found)
        np.testing.assert_array_equal(one[0][1], graph.dijkstra(ours, indices=777, n_jobs=jobs))


def test_python_goes_on_meanwhile():
    ours = grid(150)

    def counted_meanwhile():
        counted, begun, over = 0, threading.Event(), threading.Event()

        def search():
            begun.set()
            graph.dijkstra(ours, indices=np.arange(300), dtype="uint32", limit=1e9)
            over.set()

        thread = threading.Thread(target=search)
        thread.start()
        begun.wait()
        while not over.is_set():
            counted += 1
            time.sleep(0)
        thread.join()
        return counted

    # On a machine that others work on, the search may have a processor and this thread none: once, but not each time.
    assert any(counted_meanwhile() > 100 for _ in range(5))


def test_control_c_ends_a_search():
    ours = grid(300)
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    began = time.process_time()
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        # Seconds of work, of which the rows that are not begun cost no memory; with a limit, so that searches do it.
        graph.dijkstra(ours, indices=np.zeros(1500, int), dtype="uint32", limit=1e9, n_jobs=1)
    assert time.process_time() - began < 3


def test_what_does_not_fit_into_memory_is_not_begun(new_york):
    with pytest.raises(firsttouch.NoMemoryError) as error:
        graph.dijkstra(new_york)
    assert "GB" in str(error.value) and "out=" in error.value.hint


def test_new_york(new_york):
    assert (new_york.nodes, new_york.arcs, new_york.ids[0]) == (264346, 733846, 1)
    draw = random.Random(20100601)
    sources = [draw.randrange(264346) for _ in range(24)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        distances = graph.dijkstra(new_york, indices=sources, dtype="uint32")
    assert distances.shape == (24, 264346) and distances.sum(dtype=np.uint64) == 3_231_766_738_773
    again = graph.dijkstra((new_york.indptr, new_york.indices, new_york.data), indices=sources[:2])
    np.testing.assert_array_equal(again, distances[:2])
    one, before = graph.dijkstra(new_york, indices=sources[0], limit=100_000, return_predecessors=True)
    near = distances[0] <= 100_000
    assert near.sum() == 615 and (np.isfinite(one) == near).all() and (one[near] == distances[0][near]).all()
    assert (before[~near] == NONE).all() and (before[near] != NONE).sum() == near.sum() - 1


def resident():
    """Bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


KINDS = [
    (index, weight)
    for index in (np.int32, np.uint32, np.int64)
    for weight in (None, np.int32, np.uint32, np.int64, np.uint64, np.float64)
]


@pytest.mark.parametrize(("index", "weight"), KINDS)
def test_arrays_are_searched_where_they_lie(index, weight):
    draw = np.random.default_rng(7)
    nodes, arcs = 300, 1200
    indptr = np.zeros(nodes + 1, index)
    indptr[1:] = np.cumsum(np.bincount(draw.integers(0, nodes, arcs), minlength=nodes))
    heads = draw.integers(0, nodes, arcs).astype(index)
    weights = None if weight is None else draw.integers(0, 2**31, arcs).astype(weight)
    lent, copied = (graph.from_csr((indptr, heads, weights), copy=copy) for copy in (False, True))
    assert (lent.copied, copied.copied) == (False, True) and "not copied" in repr(lent) and "copied into" in repr(copied)
    assert (lent.nodes, lent.arcs, lent.bytes, lent.fits_32_bits) == (nodes, arcs, 0, copied.fits_32_bits)
    for options in [
        {},
        {"indices": 5, "return_predecessors": True},
        {"indices": [1, 2], "limit": 2.0**31, "n_jobs": 2},
        {"unweighted": True, "indices": 7},
        {"directed": False, "indices": 7},
        {"min_only": True, "indices": [3, 4], "return_predecessors": True},
    ]:
        for mine, wanted in zip(graph.dijkstra(lent, **options), graph.dijkstra(copied, **options)):
            np.testing.assert_array_equal(mine, wanted, err_msg=str(options))
    np.testing.assert_array_equal(
        graph.distance_table(lent, [0, 9], [5, 6, 7]), graph.distance_table(copied, [0, 9], [5, 6, 7])
    )
    wanted = graph.all_pairs(copied, ["checksum", "diameter"])
    assert graph.all_pairs(lent, ["checksum", "diameter"]) == wanted
    for part in ("indptr", "indices", "data"):
        mine = getattr(lent, part)
        np.testing.assert_array_equal(mine, getattr(copied, part))
        assert not mine.flags.writeable
    assert np.shares_memory(lent.indices, heads)


def test_a_matrix_is_not_copied_where_that_is_asked():
    sparse = pytest.importorskip("scipy.sparse")
    draw = np.random.default_rng(8)
    nodes, arcs = 1 << 16, 1 << 22
    heads = draw.integers(0, nodes, arcs, dtype=np.int32)
    indptr = np.arange(0, arcs + 1, arcs // nodes, dtype=np.int32)
    matrix = sparse.csr_array((draw.integers(1, 1000, arcs).astype(float), heads, indptr), (nodes, nodes))
    copied_bytes = 8 * arcs

    def grown(made):
        gc.collect()
        before = resident()
        kept = made()
        return resident() - before, kept

    # The first search takes what threads need.
    graph.dijkstra(matrix, indices=0, dtype="uint32")
    growth, lent = grown(lambda: graph.from_csr(matrix, copy=False))
    assert growth < copied_bytes / 8 and not lent.copied
    growth, alone = grown(lambda: graph.dijkstra(lent, indices=[0, 1], dtype="uint32", n_jobs=1))
    assert growth < copied_bytes / 8
    # What was once searched as it lay is searched so again, if the matrix itself is named.
    growth, again = grown(lambda: graph.dijkstra(matrix, indices=[0, 1], dtype="uint32", n_jobs=1))
    assert growth < copied_bytes / 8
    growth, copied = grown(lambda: graph.from_csr(matrix))
    assert growth > copied_bytes * 0.9 and copied.copied
    wanted = graph.dijkstra(copied, indices=[0, 1], dtype="uint32")
    np.testing.assert_array_equal(alone, wanted)
    np.testing.assert_array_equal(again, wanted)


def test_what_must_be_converted_cannot_be_lent():
    sparse = pytest.importorskip("scipy.sparse")
    indptr, heads, weights = np.array([0, 1, 2], np.int32), np.array([1, 0], np.int32), np.array([3, 4], np.int32)
    assert not graph.from_csr((indptr, heads, weights), copy=False).copied
    swapped = heads.astype(heads.dtype.newbyteorder())
    strided = np.repeat(weights, 2)[::2]
    for rows, why in [
        ((indptr.astype(np.int64), heads, weights), "indptr is of the type int64, and is searched as int32"),
        ((indptr, heads.astype(np.int16), weights), "indices is of the type int16"),
        ((indptr, swapped, weights), "indices is of the type"),
        ((indptr, heads, weights.astype(np.int8)), "data is of the type int8"),
        ((indptr, heads, weights.astype(np.float32)), "float32"),
        ((indptr, heads, strided), "data is not contiguous"),
        ((indptr, heads, [3, 4]), "data is no array of NumPy's"),
        (sparse.coo_array((weights, ([0, 1], heads)), (2, 2)), "not in compressed sparse rows"),
        (np.array([[0, 3], [4, 0]]), "not in compressed sparse rows"),
    ]:
        with pytest.raises(firsttouch.ArgumentError, match=why):
            graph.from_csr(rows, copy=False)
        copied = graph.from_csr(rows)
        assert copied.copied and copied.data.tolist() == [3, 4]
    with pytest.raises(firsttouch.ArgumentError, match="pages"):
        graph.from_csr((indptr, heads, weights), copy=False, pages="thp")
    for wrong in (weights - 5, np.array([0.5, 1.0])):
        with pytest.raises(firsttouch.GraphError, match="no whole number"):
            graph.from_csr((indptr, heads, wrong), copy=False)
    with pytest.raises(firsttouch.GraphError, match="joins 0 and 2"):
        graph.from_csr((indptr, heads + 1, weights), copy=False)
    for copy in (False, True):
        with pytest.raises(firsttouch.GraphError, match="arc 1 .* leads to -1"):
            graph.from_csr((indptr, np.array([1, -1], np.int32), weights), copy=copy)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="there are no longer numbers than float64")
def test_longer_numbers_are_not_rounded_to_whole_ones():
    indptr, heads, weights = [0, 1, 2], [1, 0], np.array([3, 4], np.longdouble)
    assert graph.from_csr((indptr, heads, weights)).data.tolist() == [3, 4]
    with pytest.raises(firsttouch.GraphError, match="no whole numbers"):
        graph.from_csr((indptr, heads, weights + np.longdouble(1e-18)))
