"""The backend of networkx, against networkx itself."""

import random
import time

import numpy as np
import pytest

import firsttouch

nx = pytest.importorskip("networkx", "3.4")

OURS = {"backend": "firsttouch"}


@pytest.fixture(autouse=True)
def no_word_of_the_cache(monkeypatch):
    monkeypatch.setattr(nx.config, "warnings_to_ignore", {"cache"})


def graphs():
    """Graphs of all kinds that networkx has: none of them large."""
    for seed in range(12):
        draw = random.Random(seed)
        kind = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph][seed % 4]
        graph = kind()
        graph.add_nodes_from(draw.sample(["a", ("b", 1), 3.5, frozenset([7]), *range(30)], 30))
        nodes = list(graph)
        for _ in range(draw.choice([10, 60, 150])):
            weight = draw.choice([draw.randrange(5), draw.randrange(2**32), float(draw.randrange(100))])
            more = {} if draw.random() < 0.1 else {"weight": weight if seed % 3 else int(weight)}
            graph.add_edge(draw.choice(nodes), draw.choice(nodes), **more)
        yield graph


def same(ours, theirs):
    """Equal, and in an order of rising distance as well."""
    assert ours == theirs
    assert list(ours.values()) == list(theirs.values())


def test_networkx_knows_the_backend():
    assert "firsttouch" in nx.utils.backends.backends
    functions = nx.utils.backends.backend_info["firsttouch"]["functions"]
    for name in functions:
        assert callable(getattr(nx, name)) and hasattr(nx.utils.backends._load_backend("firsttouch"), name)


def test_lengths_are_those_of_networkx():
    for graph in graphs():
        nodes = list(graph)
        for weight in ["weight", "nothing", None]:
            for cutoff in [None, 3, 50.5, -1]:
                options = {"cutoff": cutoff, "weight": weight}
                for source in nodes[:3]:
                    theirs = nx.single_source_dijkstra_path_length(graph, source, **options)
                    same(nx.single_source_dijkstra_path_length(graph, source, **options, **OURS), theirs)
                theirs = nx.multi_source_dijkstra_path_length(graph, set(nodes[:3]), **options)
                same(nx.multi_source_dijkstra_path_length(graph, set(nodes[:3]), **options, **OURS), theirs)
                theirs = list(nx.all_pairs_dijkstra_path_length(graph, **options))
                ours = list(nx.all_pairs_dijkstra_path_length(graph, **options, **OURS))
                assert [node for node, _ in ours] == [node for node, _ in theirs] == list(graph)
                for (_, one), (_, other) in zip(ours, theirs):
                    same(one, other)
        theirs = nx.shortest_path_length(graph, nodes[0], weight="weight")
        same(nx.shortest_path_length(graph, nodes[0], weight="weight", **OURS), theirs)


def test_whole_weights_give_whole_distances():
    graph = nx.path_graph(3)
    assert [type(one) for one in nx.single_source_dijkstra_path_length(graph, 0, **OURS).values()] == [int] * 3
    graph[0][1]["weight"] = 2.0
    graph.__networkx_cache__.clear()
    assert nx.single_source_dijkstra_path_length(graph, 0, **OURS) == {0: 0, 1: 2.0, 2: 3.0}


def test_mistakes_are_those_of_networkx():
    graph = nx.path_graph(3)
    with pytest.raises(nx.NodeNotFound):
        nx.single_source_dijkstra_path_length(graph, 7, **OURS)
    with pytest.raises(nx.NodeNotFound):
        nx.multi_source_dijkstra_path_length(graph, [0, [1]], **OURS)
    with pytest.raises(TypeError, match="unhashable"):
        nx.single_source_dijkstra_path_length(graph, [1], **OURS)
    with pytest.raises(ValueError, match="sources must not be empty"):
        nx.multi_source_dijkstra_path_length(graph, set(), **OURS)


@pytest.mark.parametrize("weight", [0.5, -1, 2**32, 2**70, "3", 1j, float("nan"), None, np.longdouble(1)])
def test_what_cannot_be_searched_is_left_to_others(weight):
    graph = nx.path_graph(3)
    graph[0][1]["weight"] = weight
    with pytest.raises(NotImplementedError) as error:
        nx.single_source_dijkstra_path_length(graph, 0, **OURS)
    assert isinstance(error.value.__cause__, firsttouch.UnsupportedError) and error.value.__cause__.hint


def test_it_steps_back_where_it_does_not_fit(monkeypatch):
    monkeypatch.setattr(nx.config.backend_priority, "algos", ["firsttouch"])
    graph = nx.path_graph(300)
    graph[0][1]["weight"] = 0.5
    assert nx.single_source_dijkstra_path_length(graph, 0)[299] == 298.5
    assert nx.single_source_dijkstra_path_length(graph, 0, weight=lambda tail, head, edge: 2)[299] == 598
    assert nx.shortest_path_length(graph, 0, 299) == 299
    backend = nx.utils.backends._load_backend("firsttouch")
    for args, kwargs in [((graph, 0, None, len), {}), ((graph, 0), {"weight": len})]:
        assert backend.can_run("single_source_dijkstra_path_length", args, kwargs) is not True
    assert backend.can_run("all_pairs_dijkstra_path_length", (graph, None, len), {}) is not True
    assert backend.can_run("shortest_path_length", (graph, 0, 1), {"weight": "weight"}) is not True
    assert backend.should_run("single_source_dijkstra_path_length", (nx.path_graph(3), 0), {}) is not True
    assert backend.should_run("single_source_dijkstra_path_length", (graph, 0), {}) is True


def test_a_graph_is_converted_once():
    graph = nx.gnp_random_graph(2000, 0.01, seed=1)
    took = []
    for _ in range(4):
        began = time.process_time()
        nx.single_source_dijkstra_path_length(graph, 0, **OURS)
        took.append(time.process_time() - began)
    (kept,) = graph.__networkx_cache__["backends"]["firsttouch"].values()
    assert kept.graph.nodes == 2000 and min(took[1:]) < took[0]
    graph.add_edge(0, 1999, weight=0)
    assert nx.single_source_dijkstra_path_length(graph, 0, **OURS)[1999] == 0


def test_converted_graphs_go_back():
    for graph in graphs():
        backend = nx.utils.backends._load_backend("firsttouch")
        for _, _, edge in graph.edges(data=True):
            edge["weight"] = int(edge.get("weight", 1))
        there = backend.convert_from_nx(graph, edge_attrs={"weight": 1})
        again = backend.convert_to_nx(there)
        assert type(again) is type(graph) and len(there) == len(graph) and list(there) == list(again) == list(graph)
        if graph.is_directed():
            assert sorted(again.edges(data="weight"), key=repr) == sorted(graph.edges(data="weight"), key=repr)
        else:
            assert nx.utils.misc.edges_equal(again.edges(data=True), graph.edges(data=True))
