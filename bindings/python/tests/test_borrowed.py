"""What the extension module takes for an array, and that it borrows it."""

import gc

import numpy as np
import pytest
from conftest import run

import firsttouch
from firsttouch import _core, graph

HOSTILE = """
import sys
import numpy as np
from firsttouch import _core, graph

class Hostile:
    def __init__(self, address, length, word, shape=None):
        self.__array_interface__ = {
            "version": 3, "data": (address, False), "shape": shape or (length,), "typestr": word
        }
        self.dtype, self.shape = np.dtype(word), shape or (length,)
        self.flags = np.empty(1).flags

class Pretends(np.ndarray):
    # An array, but for what it says.
    @property
    def __array_interface__(self):
        return {"version": 3, "data": (64, False), "shape": (2,), "typestr": "<u8"}

ours = graph.from_csr(([0, 1, 2], [1, 0], [5, 6]))
core, sources = ours._core, np.zeros(1, np.uint32)
victim = np.full(64, 7, np.uint64)
inside, nowhere = victim.ctypes.data + 8, 64

def refused(call):
    try:
        call()
    except TypeError:
        return
    sys.exit(f"{call}: taken")

for address in (inside, nowhere):
    for call in (
        lambda: core.ids(Hostile(address, 2, "<u8")),
        lambda: core.order(Hostile(address, 2, "<u4")),
        lambda: graph.dijkstra(ours, indices=[0], out=Hostile(address, 2, "<f8", (1, 2))),
        lambda: _core.distances(core, sources, None, np.empty((1, 2)), Hostile(address, 2, "<i4"), 1),
        lambda: _core.distances(core, Hostile(address, 1 << 40, "<u4"), None, np.empty((1, 2)), None, 1),
        lambda: _core.nearest(core, sources, None, np.empty(2), np.empty(2, np.int32), Hostile(address, 2, "<i4"), 1),
        lambda: _core.summaries(
            core, None, sources, None, *(Hostile(address, 1, word) for word in ("<i8", "<i8", "<f8")), None, None, 1
        ),
        lambda: _core.Graph.from_rows(
            Hostile(address, 3, "<i8"), Hostile(address, 2, "<i8"), None, False, "plain", None
        ),
        lambda: _core.Index.build(core, 1).customize(Hostile(address, 2, "<u4")),
    ):
        refused(call)
assert (victim == 7).all(), victim

# An array is what NumPy knows of it.
own = np.zeros(2, np.uint64).view(Pretends)
core.ids(own)
assert np.asarray(own).tolist() == [0, 1]
"""


def test_objects_that_merely_say_that_they_have_memory_are_refused():
    # In a process of its own, which would crash.
    run(HOSTILE)


def test_arrays_that_are_no_slices_are_refused():
    core, sources = graph.from_csr(([0, 1, 2], [1, 0], [5, 6]))._core, np.zeros(2, np.uint32)
    read_only = np.empty(2, np.uint64)
    read_only.flags.writeable = False
    unaligned = np.zeros(17, np.uint8)[1:].view(np.uint64)
    for ids in [read_only, unaligned, np.empty(4, np.uint64)[::2], np.empty(2, ">u8"), np.empty(2, np.int64), [0, 1]]:
        with pytest.raises(TypeError):
            core.ids(ids)
    for out in [np.empty((2, 2), order="F"), np.empty((2, 2), np.int64), np.empty((2, 4))[:, ::2]]:
        with pytest.raises(TypeError):
            _core.distances(core, sources, None, out, None, 1)


def test_what_is_written_is_borrowed_alone():
    core, sources = graph.from_csr(([0, 1, 2], [1, 0], [5, 6]))._core, np.zeros(1, np.uint32)
    memory = np.zeros((1, 4), np.uint32)
    both = memory[:, :2]
    with pytest.raises(firsttouch.ArgumentError, match="out is borrowed"):
        _core.distances(core, sources, None, both, both.view(np.int32), 1)
    # Two halves of one array are two arrays.
    _core.distances(core, sources, None, both, memory[:, 2:].view(np.int32), 1)
    assert memory.view(np.int32).tolist() == [[0, 5, -9999, 0]]
    # A graph that looks at arrays lends them to nobody who writes: distances are not written into weights.
    indptr, indices, data = np.array([0, 1, 2]), np.array([1, 0]), np.array([5.0, 6.0])
    lent = graph.from_csr((indptr, indices, data), copy=False)
    with pytest.raises(firsttouch.ArgumentError, match="out is borrowed"):
        graph.dijkstra(lent, indices=[0], out=data.reshape(1, 2))
    assert data.tolist() == [5.0, 6.0]
    assert graph.dijkstra(lent, indices=0).tolist() == [0.0, 5.0]


@pytest.mark.parametrize("nodes", [10, 100_000])
def test_lent_arrays_that_were_changed_are_an_error(nodes):
    indptr, heads = np.arange(nodes + 1, dtype=np.int32), np.roll(np.arange(nodes, dtype=np.int32), -1)
    lent = graph.from_csr((indptr, heads, None), copy=False)
    for changed, value in [(heads, nodes), (heads, -1), (indptr, 2**31 - 1)]:
        kept = changed.copy()
        changed[:] = value
        for search in [
            lambda: graph.dijkstra(lent, indices=0),
            lambda: graph.dijkstra(lent, indices=[0, 1, 2, 3], n_jobs=2),
            lambda: graph.distance_table(lent, [0, 1], [2, 3], n_jobs=2),
        ]:
            with pytest.raises(firsttouch.GraphError, match="arrays of the graph were changed.*\n.*copy=True"):
                search()
        changed[:] = kept
        assert graph.dijkstra(lent, indices=0, n_jobs=2).max() == nodes - 1


def test_lent_arrays_live_as_long_as_the_graph():
    indptr, heads = np.arange(100_001, dtype=np.int32), np.roll(np.arange(100_000, dtype=np.int32), -1)
    lent = graph.from_csr((indptr, heads, None), copy=False)
    del indptr, heads
    gc.collect()
    assert graph.dijkstra(lent, indices=0).max() == 99_999
    assert lent.data.shape == (100_000,) and lent.data[-1] == 1
    # Nobody searches beyond the end of what has become shorter.
    heads = np.array([1, 0], np.int32)
    lent = graph.from_csr((np.array([0, 1, 2], np.int32), heads, None), copy=False)
    heads.resize(1, refcheck=False)
    with pytest.raises(firsttouch.ArgumentError, match="another length"):
        graph.dijkstra(lent, indices=0)
