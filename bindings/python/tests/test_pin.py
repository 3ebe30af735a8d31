"""Threads on CPUs, read back from the kernel."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import firsttouch

ALLOWED = sorted(os.sched_getaffinity(0))


def confined():
    """The threads of this process that may not use every CPU, and their CPUs."""
    found = {}
    for task in os.listdir("/proc/self/task"):
        try:
            cpus = sorted(os.sched_getaffinity(int(task)))
        except ProcessLookupError:
            continue
        if cpus != ALLOWED:
            found[task] = cpus
    return found


@pytest.fixture(autouse=True)
def affinity_is_given_back():
    yield
    # Python calls a thread ended a moment before the kernel does: such a one keeps its CPU and goes.
    deadline = time.monotonic() + 240
    while confined() and time.monotonic() < deadline:
        os.sched_yield()
    assert confined() == {}


def test_the_calling_thread():
    with firsttouch.pin("compact") as pinned:
        (one,) = pinned.threads
        assert one.thread == threading.get_native_id() and list(one.before) == ALLOWED
        assert os.sched_getaffinity(0) == {one.cpu}
        assert str(one.cpu) in repr(pinned)
    assert sorted(os.sched_getaffinity(0)) == ALLOWED and "undone" in repr(pinned)
    pinned.undo()


@pytest.mark.parametrize("last", [ALLOWED[-1], [ALLOWED[-1]], str(ALLOWED[-1])])
def test_cpus_by_number(last):
    with firsttouch.pin(last):
        assert os.sched_getaffinity(0) == {ALLOWED[-1]}
        # A second order is not confined to the first.
        with firsttouch.pin([ALLOWED[0]]):
            assert os.sched_getaffinity(0) == {ALLOWED[0]}
        assert os.sched_getaffinity(0) == {ALLOWED[-1]}


def test_all_threads_in_turn():
    stop = threading.Event()
    threads = [threading.Thread(target=stop.wait) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        with firsttouch.pin("scatter", threads="all") as pinned:
            seen = {one.thread: one.cpu for one in pinned.threads}
            assert {threading.get_native_id(), *(thread.native_id for thread in threads)} <= set(seen)
            for thread, cpu in seen.items():
                assert os.sched_getaffinity(thread) == {cpu}
            assert len(set(seen.values())) == min(len(seen), len(ALLOWED))
            # A thread that is started now inherits one CPU, and is freed with the others.
            late = threading.Thread(target=stop.wait)
            late.start()
            threads.append(late)
            assert len(os.sched_getaffinity(late.native_id)) == 1
        assert sorted(os.sched_getaffinity(late.native_id)) == ALLOWED
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_threads_of_a_pool_get_different_cpus():
    barrier = threading.Barrier(len(ALLOWED))

    def cpu(_):
        barrier.wait()
        return os.sched_getaffinity(0).pop()

    with ThreadPoolExecutor(len(ALLOWED), initializer=firsttouch.pin) as pool:
        assert sorted(pool.map(cpu, ALLOWED)) == ALLOWED


def test_what_others_changed_stays():
    if len(ALLOWED) < 2:
        pytest.skip("there is one CPU")
    pinned = firsttouch.pin([ALLOWED[0]])
    os.sched_setaffinity(0, {ALLOWED[1]})
    pinned.undo()
    assert os.sched_getaffinity(0) == {ALLOWED[1]}
    os.sched_setaffinity(0, ALLOWED)


def test_what_cannot_be_says_why():
    for cpus in ["none", "close", "groups=999x1", 99999, [], [0, 0], "", -1]:
        with pytest.raises(firsttouch.ArgumentError) as error:
            firsttouch.pin(cpus)
        assert error.value.hint, cpus
    with pytest.raises(firsttouch.ArgumentError):
        firsttouch.pin(threads="some")
    with pytest.raises(TypeError):
        firsttouch.pin(1.5)
