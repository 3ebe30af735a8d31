"""Threads on CPUs, and back."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Optional, SupportsIndex, Union

from . import _core
from ._errors import ArgumentError


@dataclass(frozen=True)
class Bound:
    """A thread that was bound."""

    #: The kernel's number of the thread, as `threading.get_native_id()` tells it.
    thread: int
    #: Its name, as the kernel knows it.
    name: str
    #: The CPUs it could run on before.
    before: tuple[int, ...]
    #: The CPU it was given.
    cpu: int


class Pinned:
    """Threads that were bound. `undo()`, or the end of a `with` block, gives back what they had."""

    def __init__(self, threads: tuple[Bound, ...], known: list[int]) -> None:
        #: Who was bound.
        self.threads = threads
        self._known: Optional[list[int]] = known

    def undo(self) -> None:
        """Gives every thread back the CPUs it had, unless somebody gave it others since. Threads that were started meanwhile
        and inherited a CPU get what the first bound thread gets. A second call does nothing.
        """
        known, self._known = self._known, None
        if known is not None:
            _core.unpin([(one.thread, one.name, list(one.before), one.cpu) for one in self.threads], known)

    def __enter__(self) -> Pinned:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.undo()

    def __repr__(self) -> str:
        cpus = ", ".join(f"{one.name} ({one.thread}) on {one.cpu}" for one in self.threads)
        return f"<pinned: {cpus}{'' if self._known is not None else '; undone'}>"


def pin(
    cpus: Union[str, SupportsIndex, Iterable[SupportsIndex]] = "compact",
    *,
    threads: Literal["calling", "all"] = "calling",
) -> Pinned:
    """Binds the calling thread to a CPU of an order, or all threads of the process to one each.

    `cpus` is `"compact"` (near each other, one core each first), `"scatter"` (far from each other), `"groups=6x4"`, or
    CPUs by number: `3`, `[0, 2]`, `"0,2,4-7"`. Of all threads, in the order of their numbers, each gets the next CPU, and
    the order begins again when it has ended. The calling thread gets the first one that fewest other threads of the
    process are bound to: so it fits `ThreadPoolExecutor(initializer=firsttouch.pin)`.

    It happens at once. Used as a context manager, it is taken back at the end:

    >>> with firsttouch.pin("compact", threads="all"):
    ...     solve(table)

    Threads that a bound thread starts inherit its one CPU. So bind when the threads are there.
    """
    if threads not in ("calling", "all"):
        raise ArgumentError(f"`{threads}` are no threads", "one of: calling all")
    if isinstance(cpus, str):
        words = cpus
    elif isinstance(cpus, Iterable):
        words = ",".join(str(operator.index(cpu)) for cpu in cpus)
    else:
        words = str(operator.index(cpus))
    bound, known = _core.pin(words, threads == "all")
    return Pinned(tuple(Bound(thread, name, tuple(before), cpu) for thread, name, before, cpu in bound), known)
