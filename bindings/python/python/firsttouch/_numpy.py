"""What NumPy offers to C programs only, in both places where it keeps it."""

from __future__ import annotations

from typing import Any

import numpy as np

# NumPy 2 has moved it; looking in the old place would warn.
_multiarray: Any = np._core.multiarray if hasattr(np, "_core") else np.core.multiarray  # type: ignore[attr-defined]


def table() -> object:
    """The table of NumPy's C functions."""
    return _multiarray._ARRAY_API


def handler_name(array: np.ndarray[Any, Any]) -> str:
    """The name of the handler that made the memory of an array; empty if it does not own any."""
    return _multiarray.get_handler_name(array) or ""
