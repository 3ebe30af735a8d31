"""Placed memory for NumPy: arrays on huge pages or on chosen nodes, what they obtained, and what it is worth; shortest paths
on large graphs (`firsttouch.graph`).

>>> import firsttouch
>>> table = firsttouch.zeros((1 << 14, 1 << 10), pages="thp")
>>> firsttouch.obtained(table)              # what the kernel gave, read back
>>> with firsttouch.pages("thp"):           # arrays of 1 MiB and more that are made in here
...     result = table @ table.T

Importing does nothing but define names: NumPy is loaded by the functions that need it, so that `pin` may come before it
starts threads.
"""

from __future__ import annotations

from . import graph
from ._arrays import empty, full, zeros
from ._core import __version__
from ._errors import (
    ArgumentError,
    Error,
    FallbackError,
    FallbackWarning,
    GraphError,
    NoMemoryError,
    TuneError,
    UnsupportedError,
)
from ._machine import topology
from ._obtained import Obtained, Shortfall, obtained
from ._pages import pages
from ._pin import Bound, Pinned, pin
from ._tune import Tuned, tune

__all__ = [
    "ArgumentError",
    "Bound",
    "Error",
    "FallbackError",
    "FallbackWarning",
    "GraphError",
    "NoMemoryError",
    "Obtained",
    "Pinned",
    "Shortfall",
    "TuneError",
    "Tuned",
    "UnsupportedError",
    "__version__",
    "empty",
    "full",
    "graph",
    "obtained",
    "pages",
    "pin",
    "topology",
    "tune",
    "zeros",
]
