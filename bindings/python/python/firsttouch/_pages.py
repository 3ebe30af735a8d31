"""Huge pages for what is allocated inside a block."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Optional

from . import _core
from ._errors import whole_bytes

# The largest size there is.
_NO_LIMIT = (1 << 64) - 1


@contextmanager
def pages(
    kind: str = "thp",
    *,
    min_bytes: int = 1 << 20,
    max_bytes: Optional[int] = None,
    whole_process: bool = False,
) -> Iterator[None]:
    """Places arrays of `min_bytes` to `max_bytes` that NumPy makes inside the block on pages of a kind: `"thp"`, `"2m"`,
    `"1g"`, `"auto"`, `"4k"`, `"64k"` and the like; `"plain"` leaves pages alone again.

    >>> with firsttouch.pages("thp"):
    ...     result = numpy.exp(table) + table * 2

    Results do not change. Arrays may outlive the block, and older ones may end inside: each frees its memory as it was
    made. Freed blocks are kept for the next ones, and given back when nobody needs them. Blocks may be nested; sizes that
    the inner one leaves alone go to the outer one. As NumPy has it, a block is in force for the present context: other
    threads, and tasks that were created before, are not concerned.

    With `whole_process`, what any library of the process allocates by C's functions is placed, in all threads, from small
    sizes on if `min_bytes` says so; as `ISM()` does it in R, with one heap for both. Memory that a library frees by another
    function than C's `free` is not for this: see docs/authors.md.
    """
    if not isinstance(kind, str):
        raise TypeError(f"kind is of the type {type(kind).__name__}, and is a word, such as thp")
    least = whole_bytes(min_bytes, "min_bytes")
    most = _NO_LIMIT if max_bytes is None else whole_bytes(max_bytes, "max_bytes")
    if whole_process:
        with _whole_process(kind, least, most):
            yield
        return
    from . import _numpy

    table = _numpy.table()
    handler = None
    if kind != "plain":
        handler = _core.placing_handler(table, kind, least, most)
        _watch_limits()
    before = _core.set_handler(table, handler)
    try:
        yield
    finally:
        _core.set_handler(table, before)


# The first block asks Python to tell of limits. A hook stays for good.
_hooks: list[Any] = []


def _watch_limits() -> None:
    """Limits of memory that Python sets: the address space that is reserved for arrays would count, and leave nothing for
    anybody. For arrays alone no calls are redirected, but Python tells of what it is about to do."""
    if _hooks:
        return
    import resource

    # When the interpreter ends, modules lose their names before hooks do.
    ration, own_process, infinity = _core.ration, os.getpid, resource.RLIM_INFINITY
    concerned = (resource.RLIMIT_AS, resource.RLIMIT_DATA)

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "resource.setrlimit":
            limited, limits = arguments
        elif event == "resource.prlimit" and arguments[0] in (0, own_process()):
            _, limited, limits = arguments
        else:
            return
        if limited in concerned and limits is not None:
            try:
                is_limit = limits[0] != infinity
            except Exception:
                # Whatever can be iterated will do for the call, which an exception of ours would forbid.
                is_limit = True
            if is_limit:
                ration()

    _hooks.append(note)
    sys.addaudithook(note)


class _Wish:
    """What one block asks for the whole process."""

    def __init__(self, kind: str, least: int, most: int) -> None:
        self.kind, self.least, self.most = kind, least, most


class _Process:
    """The wishes for the process that are in force, the last one on top, and how it was without any."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.wishes: list[_Wish] = []
        self.before: dict[str, Any] = {}
        self.is_kept_over_forks = False

    def begin(self, wish: _Wish) -> None:
        with self.lock:
            if not self.is_kept_over_forks:
                # Another thread may have the lock when this one forks.
                os.register_at_fork(after_in_child=self._renew)
                self.is_kept_over_forks = True
            if not self.wishes:
                self.before = _core.whole_process()
            self._apply(wish)
            self.wishes.append(wish)

    def end(self, wish: _Wish) -> None:
        with self.lock:
            # Not always the top: blocks of several threads end in any order.
            self.wishes.remove(wish)
            if self.wishes:
                self._apply(self.wishes[-1])
            elif self.before["enabled"]:
                size = _word(self.before["page_bytes"])
                self._place(size, self.before["min_bytes"], self.before["max_bytes"])
            else:
                _core.place_nothing()

    def kind(self) -> Optional[str]:
        """The kind of pages in force."""
        with self.lock:
            return self.wishes[-1].kind if self.wishes else None

    def _apply(self, wish: _Wish) -> None:
        if wish.kind == "plain":
            _core.place_nothing()
        else:
            self._place(wish.kind, wish.least, wish.most)

    def _place(self, kind: str, least: int, most: int) -> None:
        # Somebody else's choice among kinds of one size could not be given back: it stays.
        theirs = self.before["enabled"] and _word(self.before["page_bytes"]) == kind
        _core.place_whole_process(None if theirs else kind, least, most)

    def _renew(self) -> None:
        self.lock = threading.Lock()


def _word(page_bytes: int) -> str:
    """The first kind of pages of a size."""
    return {2 << 20: "thp", 1 << 30: "1g"}.get(page_bytes, f"{page_bytes >> 10}k")


_process = _Process()


@contextmanager
def _whole_process(kind: str, least: int, most: int) -> Iterator[None]:
    wish = _Wish(kind, least, most)
    _process.begin(wish)
    try:
        yield
    finally:
        _process.end(wish)


def kind_of_process() -> Optional[str]:
    """The kind of pages that is in force for the whole process, if any."""
    return _process.kind()
