"""Blocks whose arrays are placed by NumPy's allocation handler."""

import asyncio
import gc
import multiprocessing
import os
import threading

import numpy as np
import pytest
from conftest import MIB, pool_is_empty, resident_bytes, run

import firsttouch


def handler(array=None):
    multiarray = np._core.multiarray if hasattr(np, "_core") else np.core.multiarray
    return multiarray.get_handler_name(*([] if array is None else [array]))


DEFAULT = handler()


def placed(array):
    return firsttouch.obtained(array).placed


def test_arrays_of_the_block_are_on_huge_pages(huge_pages):
    before = np.ones(8 * MIB, np.uint8)
    with firsttouch.pages("thp"):
        made = np.ones(64 * MIB, np.uint8)
        small = np.ones(MIB // 2, np.uint8)
        cleared = np.zeros(8 * MIB, np.uint8)
        result = made.astype(np.float32) * 2
        assert handler() == "firsttouch thp"
    after = np.ones(8 * MIB, np.uint8)
    assert handler() == DEFAULT
    seen = firsttouch.obtained(made)
    assert seen.placed and seen.huge_share >= 0.95 and seen.asked == {"pages": "thp"} and not seen.shortfalls
    assert placed(result) and placed(result[::2].T) and placed(cleared) and not cleared.any()
    assert (result == 2).all()
    assert not placed(before) and not placed(after) and not placed(small)
    assert handler(made) == "firsttouch thp" and made.flags.owndata


def test_sizes():
    with firsttouch.pages("4k", min_bytes=4096, max_bytes=8192):
        arrays = {bytes: np.empty(bytes, np.uint8) for bytes in (1, 4095, 4096, 8192, 8193, MIB)}
    assert [bytes for bytes, array in arrays.items() if placed(array)] == [4096, 8192]


def test_freed_elsewhere_than_made():
    kept = []
    with firsttouch.pages("thp"):
        kept.append(np.ones(4 * MIB, np.uint8))
    outside = np.ones(4 * MIB, np.uint8)
    with firsttouch.pages("4k"):
        del outside
        kept.append(np.ones(4 * MIB, np.uint8))
        del kept[0]
    assert kept[0].sum() == 4 * MIB
    del kept[0]
    with firsttouch.pages("thp"):
        assert np.zeros(4 * MIB, np.uint8).sum() == 0


def test_blocks_are_nested():
    with firsttouch.pages("thp", min_bytes=MIB):
        with firsttouch.pages("4k", min_bytes=4 * MIB, max_bytes=8 * MIB):
            inner, outer = np.ones(4 * MIB, np.uint8), np.ones(2 * MIB, np.uint8)
            with firsttouch.pages("plain"):
                assert handler() == DEFAULT and not placed(np.ones(4 * MIB, np.uint8))
            assert handler() == "firsttouch 4k"
        assert handler() == "firsttouch thp"
    assert handler() == DEFAULT
    seen = firsttouch.obtained(inner)
    assert seen.placed and (seen.pages is None or set(seen.pages) == {4096})
    # What the inner block leaves alone is the outer one's.
    assert placed(outer)


def test_errors_leave_everything_as_it_was():
    with pytest.raises(ZeroDivisionError):
        with firsttouch.pages("thp"):
            raise ZeroDivisionError
    assert handler() == DEFAULT
    for kind, least, most in [("3m", 1, None), ("thp", 0, None), ("thp", 2, 1), ("thp", -1, None), ("thp", 1, 1 << 64)]:
        for whole in (False, True):
            with pytest.raises(firsttouch.ArgumentError) as error:
                with firsttouch.pages(kind, min_bytes=least, max_bytes=most, whole_process=whole):
                    pass
            assert error.value.hint and handler() == DEFAULT
    for whole in (False, True):
        with pytest.raises(TypeError, match="^kind is of the type NoneType"):
            with firsttouch.pages(None, whole_process=whole):
                pass

    @firsttouch.pages("thp")
    def made():
        return np.ones(4 * MIB, np.uint8)

    assert placed(made()) and placed(made()) and handler() == DEFAULT


def test_contexts():
    seen = {}
    with firsttouch.pages("thp"):
        thread = threading.Thread(target=lambda: seen.update(thread=handler()))
        thread.start()
        thread.join()

        async def inside():
            before = handler()
            with firsttouch.pages("4k"):
                await asyncio.sleep(0)
                assert handler() == "firsttouch 4k"
            return before

        async def both():
            return await asyncio.gather(inside(), inside())

        assert asyncio.run(both()) == ["firsttouch thp"] * 2
        assert handler() == "firsttouch thp"
    # Threads have a context of their own, and on newer Pythons may begin with a copy of their starter's.
    assert seen["thread"] in (DEFAULT, "firsttouch thp")


def test_arrays_change_their_size():
    with firsttouch.pages("thp"):
        array = np.arange(MIB, dtype=np.int64)
        array.resize(3 * MIB, refcheck=False)
        assert placed(array) and array[MIB - 1] == MIB - 1 and not array[MIB:].any()
        array.resize(100, refcheck=False)
        assert not placed(array) and array[99] == 99
        array.resize(MIB, refcheck=False)
        assert array[99] == 99 and not array[100:].any()
    array.resize(2 * MIB, refcheck=False)
    assert array[99] == 99
    with firsttouch.pages("thp"):
        array = np.ones(4 * MIB, np.uint8)
    with firsttouch.pages("4k"):
        array.resize(64 * MIB, refcheck=False)
    assert placed(array) and array[: 4 * MIB].all() and not array[4 * MIB :].any()


def test_an_empty_pool_is_said(huge_pages):
    if not pool_is_empty():
        pytest.skip("the pool of huge pages is in use")
    with firsttouch.pages("2m"):
        array = np.ones(8 * MIB, np.uint8)
    seen = firsttouch.obtained(array)
    assert seen.huge_share >= 0.5 and [one.reason for one in seen.shortfalls] == ["pool-empty"]


def test_objects_and_strings():
    with firsttouch.pages("thp", min_bytes=1024):
        objects = np.array([str(number) for number in range(1000)], dtype=object)
        strings = np.array(["a" * 100] * 1000)
    assert objects[999] == "999" and strings[0] == "a" * 100
    if hasattr(getattr(np, "dtypes", None), "StringDType"):
        with firsttouch.pages("thp", min_bytes=1024):
            assert np.array(["b" * 5000] * 10, dtype=np.dtypes.StringDType())[9] == "b" * 5000


def test_nothing_leaks():
    def once():
        with firsttouch.pages("thp"):
            array = np.ones(4 * MIB, np.uint8)
            return array[::2]

    for _ in range(10):
        once()
    gc.collect()
    before = resident_bytes()
    for _ in range(500):
        once()
    assert resident_bytes() - before < 16 * MIB


def work(number):
    """Something that allocates; the same bytes everywhere."""
    random = np.random.default_rng(number)
    a = random.standard_normal((600, 700))
    b = np.sort(a.ravel())[::-1].reshape(700, 600)
    return (a @ b).tobytes() + np.fft.rfft(b, axis=0).tobytes() + np.exp(a * 2 - 1).tobytes()


def placed_work(number):
    with firsttouch.pages("thp", min_bytes=1 << 16):
        return work(number)


def placed_everywhere(number):
    with firsttouch.pages("thp", min_bytes=1 << 16, whole_process=True):
        return work(number)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_children_get_the_same_results(method):
    expected = [work(number) for number in range(4)]
    with firsttouch.pages("thp", min_bytes=1 << 16):
        inherited = np.arange(4 * MIB)
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(work, range(4)) == expected
            assert pool.map(placed_work, range(4)) == expected
            assert pool.map(placed_everywhere, range(4)) == expected
        assert (inherited == np.arange(4 * MIB)).all()
    assert placed_work(1) == placed_everywhere(1) == expected[1]


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_children_write_what_they_inherited():
    with firsttouch.pages("thp"):
        array = np.ones(16 * MIB, np.uint8)
    child = os.fork()
    if child == 0:
        array += 1
        with firsttouch.pages("thp"):
            more = np.ones(16 * MIB, np.uint8)
        os._exit(0 if (array == 2).all() and (more == 1).all() else 1)
    array += 2
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 and (array == 3).all()


@pytest.mark.parametrize("whole_process", [False, True])
def test_a_thousand_toggles_under_load(whole_process):
    failed, done = [], threading.Event()

    def allocate(number):
        kept, round = [], 0
        while not done.is_set() and not failed:
            round += 1
            bytes = (number * 7919 + round * 104729) % (3 * MIB) + 1
            if round % 3:
                array = np.full(bytes, round % 251, np.uint8)
            else:
                # Not in a context of the main thread: what is toggled is for the process, or this thread's own.
                with firsttouch.pages("thp", min_bytes=1 << 18, whole_process=whole_process):
                    array = np.full(bytes, round % 251, np.uint8)
            kept.append((array, round % 251))
            if len(kept) > 8:
                old, value = kept.pop(round % 8)
                if not (old == value).all():
                    failed.append(f"{number}: {value}")

    threads = [threading.Thread(target=allocate, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    total = 0
    try:
        for round in range(1000):
            with firsttouch.pages("thp" if round % 2 else "4k", min_bytes=1 << 18, whole_process=whole_process):
                total += int(np.full(1 << 19, 1, np.uint8).sum())
            total += int(np.full(1 << 19, 1, np.uint8).sum())
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert not failed and total == 2000 << 19


def test_the_whole_process(huge_pages):
    said = run(
        """
        import os, threading
        import numpy as np
        import firsttouch
        from firsttouch import _core

        MIB = 1 << 20
        assert _core.whole_process()["via"] in ("nothing", "agent")
        before = np.ones(4 * MIB, np.uint8)
        with firsttouch.pages("thp", whole_process=True):
            status = _core.whole_process()
            assert status["enabled"] and status["via"] in ("redirection", "agent"), status
            array = np.ones(64 * MIB, np.uint8)
            seen = firsttouch.obtained(array)
            assert seen.placed and seen.huge_share >= 0.95 and seen.asked == {"pages": "thp"}, seen
            blocks = _core.whole_process()["live_blocks"]
            text = bytearray(32 * MIB)
            assert _core.whole_process()["live_blocks"] == blocks + 1
            made = []
            thread = threading.Thread(target=lambda: made.append(np.ones(4 * MIB, np.uint8)))
            thread.start(); thread.join()
            assert firsttouch.obtained(made[0]).placed
            with firsttouch.pages("plain", whole_process=True):
                assert not firsttouch.obtained(np.ones(4 * MIB, np.uint8)).placed
            with firsttouch.pages("4k", min_bytes=1 << 16, whole_process=True):
                assert set(firsttouch.obtained(np.ones(1 << 17, np.uint8)).pages) == {4096}
            assert _core.whole_process()["min_bytes"] == MIB
            del before
        status = _core.whole_process()
        assert not status["enabled"]
        assert not firsttouch.obtained(np.ones(4 * MIB, np.uint8)).placed
        text.extend(bytes(40 * MIB))
        assert len(text) == 72 * MIB and not any(text[::4096])
        del text, array, made
        assert _core.whole_process()["live_blocks"] == 0
        # Libraries that come later, and their memory.
        with firsttouch.pages("thp", whole_process=True):
            import json, sqlite3, zlib, decimal, ssl
            data = os.urandom(4 * MIB)
            assert zlib.decompress(zlib.compress(data)) == data
            table = sqlite3.connect(":memory:")
            table.execute("create table t (x blob)")
            table.executemany("insert into t values (?)", [(data,)] * 4)
            assert table.execute("select sum(length(x)) from t").fetchone() == (16 * MIB,)
            a = np.random.default_rng(1).standard_normal((900, 900))
            assert np.allclose(np.linalg.inv(a) @ a, np.eye(900))
        table.close()
        print("done")
        """
    )
    assert said == "done\n"


@pytest.mark.parametrize("by", ["setrlimit", "prlimit", "another process"])
def test_limits_leave_what_they_leave_without_us(by):
    said = run(
        """
        import os, resource, sys
        import numpy as np
        import firsttouch

        MIB = 1 << 20
        limit = (4 << 30, resource.RLIM_INFINITY)
        with firsttouch.pages("thp"):
            before = np.ones(8 * MIB, np.uint8)
        if sys.argv[1] == "setrlimit":
            resource.setrlimit(resource.RLIMIT_AS, limit)
        elif sys.argv[1] == "prlimit":
            resource.prlimit(0, resource.RLIMIT_AS, limit)
        elif os.fork() == 0:
            resource.prlimit(os.getppid(), resource.RLIMIT_AS, limit)
            os._exit(0)
        else:
            assert os.wait()[1] == 0
            # Of this nobody tells: an array is the first to be short of room.
            with firsttouch.pages("thp"):
                np.ones(64 * MIB, np.uint8)
        outside = np.ones(64 * MIB, np.uint8)
        with firsttouch.pages("thp"):
            inside = np.ones(64 * MIB, np.uint8)
        small = [bytearray(MIB // 16) for _ in range(4000)]
        assert before.all() and outside.all() and inside.all()
        print("done")
        """,
        by,
    )
    assert said == "done\n"


def test_importing_changes_nothing():
    said = run(
        """
        import os, sys, threading
        before = threading.active_count(), dict(os.environ), os.sched_getaffinity(0)
        import firsttouch
        assert "numpy" not in sys.modules and len(os.listdir("/proc/self/task")) == 1
        assert before == (threading.active_count(), dict(os.environ), os.sched_getaffinity(0))
        assert firsttouch.topology()["machine"]["cpus"]
        from firsttouch import _core
        assert _core.whole_process()["via"] in ("nothing", "agent")
        import numpy
        assert numpy.ones(1 << 22).sum() == 1 << 22
        print("done")
        """
    )
    assert said == "done\n"


def test_the_interpreter_ends_in_any_state():
    for program in [
        "import firsttouch, numpy; firsttouch.pages('thp').__enter__(); a = numpy.ones(1 << 23)",
        "import firsttouch, numpy; firsttouch.pages('thp', whole_process=True).__enter__(); a = numpy.ones(1 << 23)",
        "import firsttouch, numpy; a = firsttouch.zeros(1 << 23); import builtins; builtins.a = a",
        "import firsttouch, threading, numpy\n"
        "threading.Thread(target=lambda: [numpy.ones(1 << 20) for _ in range(1 << 30)], daemon=True).start()\n"
        "c = firsttouch.pages('thp', whole_process=True); c.__enter__()",
    ]:
        run(program)
