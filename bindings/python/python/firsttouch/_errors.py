"""What can go wrong, each with a hint: the command or change that mends it."""

from __future__ import annotations

import operator
from typing import SupportsIndex


class Error(Exception):
    """An error of firsttouch. `hint` is the line that mends it; empty if there is none."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message


class ArgumentError(Error, ValueError):
    """An argument that means nothing, or nothing on this machine."""


class GraphError(Error, ValueError):
    """A file or arrays that make no graph. `line` is the number of the line that is wrong, if it is one."""

    def __init__(self, message: str, hint: str = "", line: int | None = None) -> None:
        super().__init__(message, hint)
        self.line = line


class NoMemoryError(Error, MemoryError):
    """Memory that cannot be had."""


class UnsupportedError(Error, RuntimeError):
    """Something that this process or machine does not allow."""


class FallbackError(Error):
    """Memory that did not get the pages asked for, under `on_fallback="raise"`. `reason` is a word of the list of reasons."""

    def __init__(self, message: str, hint: str = "", reason: str = "") -> None:
        super().__init__(message, hint)
        self.reason = reason


class TuneError(Error):
    """A session of `tune` that failed. `status` is that of `firsttouch tune`: 2 for what makes no sense, 1 for the rest."""

    def __init__(self, message: str, hint: str = "", status: int | None = None) -> None:
        super().__init__(message, hint)
        self.status = status


class FallbackWarning(UserWarning):
    """Memory that did not get the pages asked for, under `on_fallback="warn"`."""


def whole_bytes(number: SupportsIndex, name: str) -> int:
    """The number of bytes that is the argument of this name."""
    count = operator.index(number)
    if not 0 <= count < 1 << 64:
        raise ArgumentError(f"{name}={count} is no number of bytes", f"{name}=0 or more, less than 2^64")
    return count
