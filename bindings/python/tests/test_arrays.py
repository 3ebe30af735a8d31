"""Arrays with memory of their own."""

import gc
import os
import pickle
import warnings
import weakref
from pathlib import Path

import numpy as np
import pytest
from conftest import MIB, pool_is_empty, resident_bytes

import firsttouch


def test_they_are_plain_arrays():
    array = firsttouch.zeros((3, 5), "<i2")
    assert type(array) is np.ndarray and array.shape == (3, 5) and array.dtype == np.int16
    assert array.flags.c_contiguous and array.flags.writeable and array.flags.aligned and not array.flags.owndata
    array[1, 2] = 7
    assert array.sum() == 7 and pickle.loads(pickle.dumps(array)).sum() == 7
    assert firsttouch.zeros(4).dtype == np.float64
    assert firsttouch.empty(np.int64(4)).shape == (4,)
    assert firsttouch.zeros([2, 3], np.complex64).shape == (2, 3)
    assert firsttouch.zeros((), int).shape == () and firsttouch.zeros((3, 0)).shape == (3, 0)
    assert firsttouch.zeros(3, [("a", "i4"), ("b", "f8", (2,))])["b"].shape == (3, 2)
    assert firsttouch.zeros(3, "(2,)f4").shape == np.zeros(3, "(2,)f4").shape


@pytest.mark.parametrize("kind", ["thp", "4k", "auto", "64k"])
def test_all_is_zero_and_can_be_written(kind):
    array = firsttouch.zeros(5 * MIB + 3, np.uint8, pages=kind, on_fallback="ignore")
    assert not array.any()
    array[:] = 9
    assert array[0] == array[-1] == 9


@pytest.mark.parametrize(
    "value, dtype",
    [(0, None), (-1, None), (1.5, None), (True, None), (0x0101, "u2"), (255, "u1"), (float("nan"), None), (3, "f4"),
     (b"aa", "S2"), ("ab", None), (2 + 3j, None), (-1, "i8"), (np.array((1, 2.0), "i4,f8"), None)],
)
def test_full_is_what_numpy_makes(value, dtype):
    ours, theirs = firsttouch.full((17, 3), value, dtype), np.full((17, 3), value, dtype)
    assert ours.dtype == theirs.dtype and ours.tobytes() == theirs.tobytes()


def test_full_takes_rows_and_refuses_what_numpy_refuses():
    assert firsttouch.full((2, 3), [1, 2, 3]).tolist() == [[1, 2, 3]] * 2
    with pytest.raises(ValueError):
        firsttouch.full((2, 3), [1, 2])


def outcome(call):
    try:
        return call().tolist()
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("value, dtype", [(300, np.uint8), ("a", float), (float("nan"), int)])
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
def test_full_converts_as_numpy_does(value, dtype):
    # Newer versions refuse more.
    assert outcome(lambda: firsttouch.full(3, value, dtype)) == outcome(lambda: np.full(3, value, dtype))


def test_pages_are_huge_and_nobody_cleared_twice(huge_pages):
    before = resident_bytes()
    array = firsttouch.zeros(256 * MIB, np.uint8)
    assert resident_bytes() - before < 8 * MIB
    seen = firsttouch.obtained(array)
    assert seen.untouched == seen.bytes == 256 * MIB and seen.asked == {"pages": "thp"}
    array[:] = 1
    seen = firsttouch.obtained(array)
    assert seen.huge_share >= 0.95 and seen.untouched == 0 and sum(seen.nodes.values()) == 256 * MIB
    small = firsttouch.full(8 * MIB, 1, np.uint8, pages="4k")
    assert firsttouch.obtained(small).pages == {4096: 8 * MIB}


def test_whoever_starts_the_program_places_an_array_by_its_name(monkeypatch):
    # As `firsttouch run --object table:4k` writes it.
    monkeypatch.setenv("FIRSTTOUCH_OBJECTS", "table=4k/inherit")
    placed = firsttouch.full(8 * MIB, 1, np.uint8, name="table")
    assert firsttouch.obtained(placed).pages == {4096: 8 * MIB}
    assert firsttouch.obtained(firsttouch.zeros(8 * MIB, np.uint8, name="other")).asked == {"pages": "thp"}
    assert firsttouch.obtained(firsttouch.zeros(8 * MIB, np.uint8)).asked == {"pages": "thp"}
    for name, places in [("a table", ""), ("table", "table")]:
        monkeypatch.setenv("FIRSTTOUCH_OBJECTS", places)
        with pytest.raises(firsttouch.ArgumentError):
            firsttouch.zeros(3, name=name)


def test_the_last_view_gives_the_memory_back():
    before = resident_bytes()
    array = firsttouch.full(64 * MIB, 1, np.uint8)
    base = weakref.ref(array.base)
    view = array[::2][10:20].reshape(2, 5)
    del array
    gc.collect()
    assert base() is not None and view.sum() == 10 and resident_bytes() - before > 60 * MIB
    del view
    gc.collect()
    assert base() is None and resident_bytes() - before < 4 * MIB


def test_nothing_leaks():
    for _ in range(3):
        firsttouch.full(4 * MIB, 1, np.uint8)
    before, mappings = resident_bytes(), Path("/proc/self/maps").read_text().count("\n")
    for _ in range(300):
        firsttouch.full(4 * MIB, 1, np.uint8)[::3].sum()
    assert resident_bytes() - before < 32 * MIB
    assert Path("/proc/self/maps").read_text().count("\n") - mappings < 20


def test_bad_arguments_say_what_would_be_right():
    for call in [
        lambda: firsttouch.zeros(3, pages="3m"),
        lambda: firsttouch.zeros(3, pages="plain"),
        lambda: firsttouch.zeros(3, object),
        lambda: firsttouch.zeros(-1),
        lambda: firsttouch.zeros(3, "U"),
        lambda: firsttouch.zeros(3, on_fallback="hope"),
        lambda: firsttouch.zeros(3, node=0, tier="dram"),
        lambda: firsttouch.zeros(3, node=999),
        lambda: firsttouch.zeros(3, tier="bubble"),
    ]:
        with pytest.raises(firsttouch.ArgumentError) as error:
            call()
        assert isinstance(error.value, ValueError) and error.value.hint and error.value.hint in str(error.value)
    for length in [2**62, 2**63, 2**70]:
        with pytest.raises(firsttouch.NoMemoryError, match="more than can be addressed"):
            firsttouch.zeros(length)
    with pytest.raises(firsttouch.NoMemoryError) as error:
        firsttouch.zeros(1 << 60, np.uint8)
    assert isinstance(error.value, MemoryError) and "ulimit" in error.value.hint
    with pytest.raises(TypeError):
        firsttouch.zeros(1.5)
    with pytest.raises(TypeError):
        firsttouch.zeros("3")


def test_memory_of_a_node():
    nodes = [node for node in firsttouch.topology()["machine"]["nodes"] if node["size_bytes"]]
    if not nodes:
        pytest.skip("the kernel shows no nodes")
    node = nodes[0]["id"]
    try:
        array = firsttouch.full(4 * MIB, 1, np.uint8, node=node)
    except firsttouch.NoMemoryError as error:
        pytest.skip(f"memory cannot be bound here: {error}")
    seen = firsttouch.obtained(array)
    assert seen.asked == {"pages": "thp", "node": node} and seen.nodes in ({node: 4 * MIB}, None)
    kinds = {node["kind"] for node in nodes}
    if "dram" in kinds:
        assert firsttouch.obtained(firsttouch.full(4 * MIB, 1, np.uint8, tier="dram")).asked["node"] in range(1024)
    if "hbm" not in kinds:
        with pytest.raises(firsttouch.ArgumentError, match="hbm"):
            firsttouch.zeros(3, tier="hbm")


POOL = Path("/proc/sys/vm/nr_hugepages")


def test_an_empty_pool_is_said():
    if not pool_is_empty():
        pytest.skip("the pool of huge pages is in use")
    with pytest.warns(firsttouch.FallbackWarning, match="pool-empty") as caught:
        array = firsttouch.zeros(4 * MIB, np.uint8, pages="2m")
    assert caught[0].filename == __file__
    with pytest.warns(firsttouch.FallbackWarning) as caught:
        firsttouch.full(4 * MIB, 1, np.uint8, pages="2m")
    assert caught[0].filename == __file__
    seen = firsttouch.obtained(array)
    assert seen.shortfalls[0].reason == "pool-empty" and seen.shortfalls[0].bytes == seen.bytes
    with pytest.raises(firsttouch.FallbackError) as error:
        firsttouch.zeros(4 * MIB, np.uint8, pages="2m", on_fallback="raise")
    assert error.value.reason == "pool-empty" and "setup pages" in error.value.hint
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        firsttouch.zeros(4 * MIB, np.uint8, pages="2m", on_fallback="ignore")
        # The best that can be had is no fallback.
        firsttouch.zeros(4 * MIB, np.uint8, pages="thp")


def test_reserved_pages_survive_a_fork_without_second_ones():
    if not pool_is_empty() or not os.access(POOL, os.W_OK):
        pytest.skip("the pool of huge pages is in use, or cannot be changed here")
    try:
        POOL.write_text("4")
        if POOL.read_text().strip() != "4":
            pytest.skip("the kernel finds no 2 MiB in one piece")
        array = firsttouch.full(8 * MIB, 1, np.uint8, pages="2m", on_fallback="raise")
        assert firsttouch.obtained(array).huge_share == 1.0
        child = os.fork()
        if child == 0:
            # Every page is written by both, and the pool has no other.
            array[:] += 1
            os._exit(0 if (array == 2).all() else 1)
        array[:] += 2
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert (array == 3).all() and firsttouch.obtained(array).huge_share == 1.0
        del array
        gc.collect()
    finally:
        POOL.write_text("0")
