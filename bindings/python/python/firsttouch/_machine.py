"""The machine: CPUs, nodes, page pools, and what can be done here."""

from __future__ import annotations

import json
import operator
from typing import Any, Optional

from . import _core
from ._errors import ArgumentError


def topology() -> dict[str, Any]:
    """The document of `firsttouch status --json`: `machine` is what this machine has, `can` what can be done on it, with the
    command that allows the rest. Unknown is `None`, never 0.
    """
    document: dict[str, Any] = json.loads(_core.status())
    return document


def node_for(node: Optional[int], tier: Optional[str]) -> Optional[int]:
    """The one node that memory is to come from, if any is asked for."""
    if node is not None and tier is not None:
        raise ArgumentError("both a node and a tier are given", "one of them decides")
    if node is not None:
        return _core.choose_node(str(operator.index(node)))
    return None if tier is None else _core.choose_node(tier)
