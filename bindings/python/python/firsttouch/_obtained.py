"""What the memory of an array has got, read back from the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Optional

from . import _core
from ._errors import ArgumentError
from ._pages import kind_of_process

if TYPE_CHECKING:
    import numpy as np

_BASE = 4096
_HUGE = 2 << 20
# Told apart by everybody, and in print.
_INKS = {_BASE: "#999999", _HUGE: "#0072b2", 1 << 30: "#d55e00"}


@dataclass(frozen=True)
class Shortfall:
    """Bytes that did not get what was asked for."""

    #: One word of the list of reasons, such as `pool-empty`.
    reason: str
    #: How many bytes it concerns.
    bytes: int
    #: The line that mends it.
    remedy: str


@dataclass(frozen=True)
class Obtained:
    """A reading of memory. Unknown is `None`, never 0."""

    #: Bytes of the whole pages that hold the array: what was looked at. 0 for an array without elements.
    bytes: int
    #: The memory was placed by firsttouch.
    placed: bool
    #: What was asked for, `pages` and perhaps `node`; `None` if nothing was.
    asked: Optional[dict[str, Any]]
    #: Resident bytes by page size. Multi-size pages count as the smallest.
    pages: Optional[dict[int, int]]
    #: Bytes without a page, because nobody wrote them yet.
    untouched: Optional[int]
    #: Resident bytes by node.
    nodes: Optional[dict[int, int]]
    #: Why pages are not those asked for; empty if they are, or nothing was asked for.
    shortfalls: tuple[Shortfall, ...]

    @property
    def huge_share(self) -> Optional[float]:
        """The share of the resident bytes on huge pages; `None` if nothing is resident or known."""
        total = sum((self.pages or {}).values())
        return sum(bytes for size, bytes in (self.pages or {}).items() if size >= _HUGE) / total if total else None

    def to_dict(self) -> dict[str, Any]:
        """The receipt as a document of kind `region`; ready for `json.dumps`."""
        obtained = None
        if self.pages is not None:
            obtained = {
                "bytes_by_page_size": {str(size): bytes for size, bytes in self.pages.items()},
                "bytes_by_node": None if self.nodes is None else {str(node): bytes for node, bytes in self.nodes.items()},
                "placed_bytes": self.bytes if self.placed else 0,
            }
        return {
            "kind": "region",
            "schema_version": 1,
            "asked": None if self.asked is None else {**self.asked, "bytes": self.bytes},
            "obtained": obtained,
            "shortfalls": [vars(shortfall).copy() for shortfall in self.shortfalls],
        }

    def __repr__(self) -> str:
        words = [f"{_size(self.bytes)}, {'placed' if self.placed else 'not placed'}"]
        if self.pages is None:
            words.append("the kernel does not tell its pages")
        words += [f"{_size(bytes)} on {_size(size)} pages" for size, bytes in (self.pages or {}).items()]
        if self.untouched:
            words.append(f"{_size(self.untouched)} untouched")
        words += [f"{_size(bytes)} on node {node}" for node, bytes in (self.nodes or {}).items()]
        words += [f"{_size(one.bytes)} short: {one.reason} ({one.remedy})" for one in self.shortfalls]
        return f"<obtained: {'; '.join(words)}>"

    def _repr_html_(self) -> str:
        rows = [("bytes", _size(self.bytes)), ("placed", "yes" if self.placed else "no")]
        if self.asked:
            rows.append(("asked", ", ".join(f"{key} {value}" for key, value in self.asked.items())))
        parts = [(_size(size) + " pages", bytes, _INKS.get(size, "#009e73")) for size, bytes in (self.pages or {}).items()]
        if self.untouched:
            parts.append(("untouched", self.untouched, "#ffffff"))
        rows += [(name, _size(bytes)) for name, bytes, _ in parts]
        rows += [(f"node {node}", _size(bytes)) for node, bytes in (self.nodes or {}).items()]
        rows += [("short", f"{_size(one.bytes)}: {one.reason} ({one.remedy})") for one in self.shortfalls]
        cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in rows)
        return f"<table>{cells}</table>{_bar(parts)}"


def obtained(array: Any) -> Obtained:
    """Reads what the memory of an array has obtained by now: pages by size, nodes, and why it is less than asked for.

    Any array will do, views and memory of others included, and whatever shows its memory to NumPy.
    """
    import numpy as np

    from . import _numpy

    if not isinstance(array, np.ndarray):
        array = _shown(array)
    start, end = _bounds(array)
    owner = array
    while True:
        # Of a view of memory the one whose memory it is.
        base = owner.base.obj if isinstance(owner.base, memoryview) else owner.base
        if not isinstance(base, np.ndarray):
            break
        owner = base
    region = base if isinstance(base, _core.Region) else None
    asked: Optional[dict[str, Any]] = None
    short: list[tuple[str, int, str]] = []
    huge_bytes = _HUGE
    if start == end:
        return Obtained(0, region is not None, None, {}, 0, {}, ())
    whole, seen, nodes = _core.obtained(start, end - start)
    placed = region is not None
    if region is not None:
        asked = {"pages": region.asked} if region.node is None else {"pages": region.asked, "node": region.node}
        short = region.shortfalls_of(start, end - start)
        huge_bytes = max(region.page_bytes, _HUGE)
    else:
        # Whoever owns it: a block may be of any library's.
        begin = _core.block(start)
        placed = begin is not None
        _, _, kind = _numpy.handler_name(owner).partition("firsttouch ")
        kind = kind or kind_of_process() or ""
        if begin is not None and kind and kind != "plain":
            asked, short = {"pages": kind}, _core.shortfalls(begin, start, end - start, kind)
    pages = None
    if seen is not None:
        pages = {size: bytes for size, bytes in ((_BASE, seen[1]), (huge_bytes, seen[0])) if bytes}
    shortfalls = tuple(Shortfall(*one) for one in short)
    is_resident = seen is None or seen[0] + seen[1] > 0
    return Obtained(
        whole, placed, asked, pages, seen[2] if seen else None, nodes if nodes or not is_resident else None, shortfalls
    )


def _shown(thing: Any) -> np.ndarray[Any, Any]:
    """The memory that something shows, as an array; never a copy."""
    import numpy as np

    try:
        if hasattr(thing, "__array_interface__"):
            return np.asarray(thing)
        if hasattr(thing, "__dlpack__"):
            return np.from_dlpack(thing)
        return np.frombuffer(thing, np.uint8)
    except (TypeError, ValueError, BufferError, RuntimeError) as error:
        raise ArgumentError(
            f"{type(thing).__name__} shows no memory: {error}", "an array, or of several things each: their arrays"
        ) from error


def _bounds(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """The addresses of the first byte and behind the last one."""
    start: int = array.__array_interface__["data"][0]
    if not array.nbytes:
        return start, start
    end = start
    for length, stride in zip(array.shape, array.strides):
        if stride < 0:
            start += (length - 1) * stride
        else:
            end += (length - 1) * stride
    return start, end + array.itemsize


def _size(bytes: float) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if bytes < 1024 or unit == "GiB":
            break
        bytes /= 1024
    return f"{bytes:.4g} {unit}"


def _bar(parts: list[tuple[str, int, str]]) -> str:
    """One line, divided as the bytes are."""
    total = sum(bytes for _, bytes, _ in parts)
    if not total:
        return ""
    at, shapes = 0.0, ""
    for name, bytes, ink in parts:
        width = 400 * bytes / total
        title = escape(f"{name}: {_size(bytes)}")
        shapes += (
            f'<rect x="{at:.2f}" y="1" width="{width:.2f}" height="14" fill="{ink}" stroke="#666666">'
            f"<title>{title}</title></rect>"
        )
        at += width
    return f'<svg width="402" height="16" viewBox="-1 0 402 16" role="img">{shapes}</svg>'
