"""Receipts of any memory."""

import ctypes
import json
import mmap
from pathlib import Path

import numpy as np
import pytest
from conftest import MIB

import firsttouch


def test_any_array_has_one():
    array = np.ones(3 * MIB, np.uint8)
    seen = firsttouch.obtained(array)
    assert not seen.placed and seen.asked is None and seen.shortfalls == () and seen.bytes >= 3 * MIB
    if seen.pages is not None:
        assert sum(seen.pages.values()) + seen.untouched == seen.bytes
    part = firsttouch.obtained(array[MIB : MIB + 10])
    assert part.bytes in (4096, 8192)
    assert firsttouch.obtained(array[::-1]) == firsttouch.obtained(array[::1]) == seen
    assert firsttouch.obtained(array.reshape(3, -1).T[::-2, ::3]).bytes <= seen.bytes
    assert firsttouch.obtained(array[:0]).bytes == 0


class Tensor:
    """What shows its memory by DLPack alone, as other libraries' tensors do."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **wishes):
        return self.array.__dlpack__(**wishes)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_memory_of_others():
    with mmap.mmap(-1, 8 * MIB) as memory:
        seen = firsttouch.obtained(memory)
        assert seen.bytes == 8 * MIB and not seen.placed
        memory[4096] = 1
        again = firsttouch.obtained(memory)
        if again.pages is not None:
            assert seen.untouched == 8 * MIB and again.untouched < seen.untouched
    assert firsttouch.obtained(b"x" * 100).bytes in (4096, 8192)
    tensor = Tensor(np.ones((3, MIB), np.float32))
    assert firsttouch.obtained(tensor) == firsttouch.obtained(tensor.array)
    for thing in [[1, 2], 3, None, "text"]:
        with pytest.raises(firsttouch.ArgumentError) as error:
            firsttouch.obtained(thing)
        assert error.value.hint


def test_blocks_of_others_are_known_by_any_of_their_bytes(huge_pages):
    with firsttouch.pages("thp", whole_process=True):
        theirs = bytearray(8 * MIB)
        for shown in [theirs, memoryview(theirs)[3 * MIB :], np.frombuffer(theirs, np.uint8)[MIB:]]:
            seen = firsttouch.obtained(shown)
            assert seen.placed and seen.asked == {"pages": "thp"} and seen.pages.keys() >= {2 * MIB}, seen
            del shown
        small = bytearray(100)
        assert not firsttouch.obtained(small).placed
    assert not firsttouch.obtained(bytearray(8 * MIB)).placed


def test_a_view_by_another_library_knows_what_was_asked(huge_pages):
    with firsttouch.pages("thp"):
        array = np.ones(8 * MIB, np.uint8)
    seen = firsttouch.obtained(np.frombuffer(memoryview(array)[MIB:], np.uint8))
    assert seen.placed and seen.asked == {"pages": "thp"}


MADV_COLLAPSE = 25


def _refusals():
    lines = Path("/proc/vmstat").read_text().splitlines()
    return [line for line in lines if line.startswith("thp_fault_fallback")]


@pytest.mark.parametrize("is_block", [False, True])
def test_a_part_has_the_reasons_of_its_own_pages(huge_pages, is_block):
    before = _refusals()
    with firsttouch.pages("thp"):
        array = np.empty(8 * MIB, np.uint8) if is_block else firsttouch.zeros(32 * MIB, np.uint8)
    array[:] = 1
    start = array.ctypes.data
    first = -start % (2 * MIB)
    if firsttouch.obtained(array[first : first + 4 * MIB]).pages != {2 * MIB: 4 * MIB}:
        pytest.skip("the kernel has no huge page to spare")
    # Half of the first is given back, which splits it; the kernel had one.
    advise = ctypes.CDLL(None, use_errno=True).madvise
    advise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    assert advise(start + first, MIB, mmap.MADV_DONTNEED) == 0
    split = firsttouch.obtained(array[first : first + 2 * MIB])
    assert sum(short.bytes for short in split.shortfalls) == MIB, split
    if not is_block and _refusals() == before:
        assert [short.reason for short in split.shortfalls] == ["split"]
    assert firsttouch.obtained(array[first + 2 * MIB : first + 4 * MIB]).shortfalls == ()
    # Put together again (Linux 6.1): a later block gets these pages.
    if advise(start + first, 2 * MIB, MADV_COLLAPSE) == 0:
        assert firsttouch.obtained(array[first : first + 2 * MIB]).shortfalls == ()


def test_views_know_what_was_asked(huge_pages):
    array = firsttouch.zeros((4, 2 * MIB), np.uint8)
    array[:2] = 1
    for view in [array, array[1:], array.T, array.view(np.int64), np.asarray(memoryview(array))]:
        seen = firsttouch.obtained(view)
        assert seen.bytes <= 8 * MIB
    half = firsttouch.obtained(array[1:3])
    assert half.placed and half.asked == {"pages": "thp"} and half.pages == {2 * MIB: 2 * MIB}
    assert half.untouched == 2 * MIB and half.huge_share == 1.0


def test_it_is_shown_in_words_and_in_notebooks():
    array = firsttouch.full(4 * MIB, 1, np.uint8, pages="4k")
    seen = firsttouch.obtained(array)
    document = json.loads(json.dumps(seen.to_dict()))
    assert document["asked"] == {"pages": "4k", "bytes": 4 * MIB} and (document["kind"], document["schema_version"]) == ("region", 1)
    assert document["obtained"]["bytes_by_page_size"] == {"4096": 4 * MIB}
    assert document["obtained"]["placed_bytes"] == 4 * MIB and document["shortfalls"] == []
    assert repr(seen).startswith("<obtained: 4 MiB, placed; 4 MiB on 4 KiB pages")
    html = seen._repr_html_()
    assert "<svg" in html and "4 KiB pages" in html and "script" not in html
    short = firsttouch.Obtained(1, True, None, None, None, None, (firsttouch.Shortfall("<b>", 1, "a & b"),))
    assert "<b>" not in short._repr_html_() and "a &amp; b" in short._repr_html_() and short.huge_share is None
