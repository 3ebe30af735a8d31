"""Arrays with memory of their own: chosen pages, chosen node, given back when the last view is gone."""

from __future__ import annotations

import math
import operator
import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Optional, SupportsIndex, Union

from . import _core
from ._errors import ArgumentError, FallbackError, FallbackWarning, NoMemoryError
from ._machine import node_for

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Shape = Union[SupportsIndex, Sequence[SupportsIndex]]
OnFallback = Literal["warn", "raise", "ignore"]


def zeros(
    shape: Shape,
    dtype: npt.DTypeLike = float,
    *,
    pages: str = "thp",
    node: Optional[int] = None,
    tier: Optional[str] = None,
    name: Optional[str] = None,
    on_fallback: OnFallback = "warn",
) -> npt.NDArray[Any]:
    """An array of zeroes on pages of a kind: `"thp"`, `"2m"` or `"1g"` (reserved), `"auto"`, `"4k"`, `"64k"` and the like.

    The memory is a mapping of its own, in whole pages, which the kernel cleared or will clear at first touch: it is not
    cleared again. It goes back when the last view on it is gone. With `node`, or a `tier` (`"dram"`, `"hbm"`, `"cxl"`), it
    comes from that node only. Whoever starts the program can put an array that has a `name` (letters, digits, `-`, `_`, `.`)
    elsewhere: `firsttouch run --object NAME:PAGES:POLICY -- python …` counts instead of what is asked here.

    Where reserved pages cannot be had, smaller ones are taken, and `on_fallback` says whether that is a warning, an error
    or nothing. Transparent pages come at first touch; `obtained` tells what came.
    """
    return _new(shape, dtype, pages, node, tier, name, on_fallback)


def empty(
    shape: Shape,
    dtype: npt.DTypeLike = float,
    *,
    pages: str = "thp",
    node: Optional[int] = None,
    tier: Optional[str] = None,
    name: Optional[str] = None,
    on_fallback: OnFallback = "warn",
) -> npt.NDArray[Any]:
    """The same as `zeros`: new memory is zero."""
    return _new(shape, dtype, pages, node, tier, name, on_fallback)


def full(
    shape: Shape,
    fill_value: Any,
    dtype: Optional[npt.DTypeLike] = None,
    *,
    pages: str = "thp",
    node: Optional[int] = None,
    tier: Optional[str] = None,
    name: Optional[str] = None,
    on_fallback: OnFallback = "warn",
) -> npt.NDArray[Any]:
    """An array of one value, with the type of the value unless `dtype` says otherwise; the rest is as for `zeros`.

    A value whose bytes are all alike (0, -1, `True` in bytes) is written by the fill engine, others by NumPy.
    """
    import numpy as np

    kind = np.asarray(fill_value).dtype if dtype is None else np.dtype(dtype)
    byte = _alike(fill_value, kind)
    array, region = _placed(shape, kind, pages, node, tier, name, on_fallback, byte or 0)
    if byte is None:
        np.copyto(array, fill_value, casting="unsafe")
    if region is not None:
        _judge(region, on_fallback, 3)
    return array


def _alike(fill_value: Any, kind: np.dtype[Any]) -> Optional[int]:
    """The byte that the value is made of; `None` if its bytes differ."""
    import numpy as np

    if np.ndim(fill_value) or kind.hasobject or kind.fields or not kind.itemsize:
        return None
    # As NumPy converts it, with its warnings and errors.
    pattern = np.full((), fill_value, kind).tobytes()
    return pattern[0] if pattern.count(pattern[:1]) == len(pattern) else None


def _new(
    shape: Shape,
    dtype: npt.DTypeLike,
    pages: str,
    node: Optional[int],
    tier: Optional[str],
    name: Optional[str],
    on_fallback: OnFallback,
) -> npt.NDArray[Any]:
    array, region = _placed(shape, dtype, pages, node, tier, name, on_fallback, 0)
    if region is not None:
        _judge(region, on_fallback, 4)
    return array


def _placed(
    shape: Shape,
    dtype: npt.DTypeLike,
    pages: str,
    node: Optional[int],
    tier: Optional[str],
    name: Optional[str],
    on_fallback: OnFallback,
    fill: int,
) -> tuple[npt.NDArray[Any], Optional[_core.Region]]:
    """An array of a byte, and the memory behind it; `None` for one without memory."""
    import numpy as np

    if on_fallback not in ("warn", "raise", "ignore"):
        raise ArgumentError(f"`{on_fallback}` is nothing to do on a fallback", "one of: warn raise ignore")
    kind = np.dtype(dtype)
    if kind.hasobject:
        raise ArgumentError(
            "an array of Python objects holds references, which the owner of the memory could not release",
            "numpy.empty makes such arrays, also inside `with firsttouch.pages(...)`",
        )
    if not kind.itemsize:
        raise ArgumentError(f"the type `{kind}` has no size", "a type with one, such as `U8` instead of `U`")
    # A type that is an array itself adds its own axes.
    lengths = _lengths(shape) + kind.shape
    bytes_ = math.prod(lengths) * kind.base.itemsize
    if bytes_ >= 1 << 63:
        raise NoMemoryError(f"an array of the shape {lengths} has {bytes_} bytes, more than can be addressed", "a smaller shape")
    where = node_for(node, tier)
    if not bytes_:
        return np.empty(lengths, kind.base), None
    region = _core.Region(bytes_, pages, where, fill, name, os.environ.get("FIRSTTOUCH_OBJECTS"))
    return np.ndarray(lengths, kind.base, buffer=np.asarray(region)), region


def _judge(region: _core.Region, on_fallback: OnFallback, depth: int) -> None:
    """Says, in the way asked for, that pages are not what they should be; a warning to whom is so many calls away."""
    short = region.shortfall
    if short is None or on_fallback == "ignore":
        return
    reason, remedy = short
    message = f"asked for pages `{region.asked}`, fell back to smaller ones: {reason}"
    if on_fallback == "raise":
        raise FallbackError(message, remedy, reason)
    warnings.warn(f"{message} (hint: {remedy})", FallbackWarning, stacklevel=depth)


def _lengths(shape: Shape) -> tuple[int, ...]:
    try:
        lengths: tuple[int, ...] = (operator.index(shape),)  # type: ignore[arg-type]
    except TypeError:
        lengths = tuple(operator.index(length) for length in shape)  # type: ignore[union-attr]
    if any(length < 0 for length in lengths):
        raise ArgumentError(f"a length in {lengths} is negative", "lengths are 0 or more")
    return lengths
