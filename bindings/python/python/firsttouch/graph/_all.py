"""What the distances between all nodes come to, without the matrix of them."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Optional, Union

from .. import _core
from .._errors import ArgumentError
from ._graph import Path, taken, workers
from ._index import Index, core_of, index_for
from ._paths import limited, row

if TYPE_CHECKING:
    import numpy.typing as npt

_FIGURES = ("eccentricity", "closeness", "reach", "diameter", "radius", "checksum")


def all_pairs(
    graph: Any,
    reduce: Union[str, Iterable[str]] = _FIGURES,
    *,
    indices: Optional[npt.ArrayLike] = None,
    limit: float = math.inf,
    index: Optional[Index] = None,
    progress: Optional[Callable[[int, int], Any]] = None,
    checkpoint: Optional[Path] = None,
    n_jobs: Optional[int] = None,
) -> dict[str, Any]:
    """Figures of the distances from every node, or from `indices` (one row), to all nodes. No matrix is made.

    `reduce` names those that are wanted, in one word or several; they are the keys of the result:

    - `eccentricity`: of every source the longest distance to a node it reaches, `int64`
    - `closeness`: of every source how near all others are, as networkx has it (Wasserman and Faust), but of the ways that
      leave it: for those that come in, `graph.reverse()`; `float64`
    - `reach`: of every source how many nodes it reaches, itself included; `int64`
    - `diameter`, `radius`: the greatest and the least eccentricity, `int`; `None` without sources
    - `checksum`: the sum of all distances, `int`

    `graph` is as for `dijkstra`; `limit` leaves out what is farther. An `index` of the graph is used if there is one; without,
    one is built where the graph is like a map and the sources are many, and else every source is searched from.
    `progress(done, sources)` is called some times a second by the calling thread; what it raises ends the run.
    `checkpoint` names a file that keeps what is known; a run that was interrupted goes on from there.
    """
    import numpy as np

    wanted = (reduce,) if isinstance(reduce, str) else tuple(reduce)
    unknown = [word for word in wanted if word not in _FIGURES]
    if unknown:
        raise ArgumentError(f"`{unknown[0]}` is no figure of distances", f"one of: {' '.join(_FIGURES)}")
    ours, threads, most = taken(graph), workers(n_jobs), limited(limit)
    sources = row(indices, ours.nodes, "indices")
    # Searches that end soon are sooner than sweeps, which see all nodes.
    prepared = index_for(ours, index, sources.size, threads) if index is not None or most is None else None
    reach, eccentricity = np.empty(sources.size, np.int64), np.empty(sources.size, np.int64)
    closeness = np.empty(sources.size)
    file = None if checkpoint is None else os.fspath(checkpoint)
    checksum = _core.summaries(
        ours._core, core_of(prepared), sources, most, reach, eccentricity, closeness, progress, file, threads
    )
    some = bool(sources.size)
    found = {
        "eccentricity": eccentricity,
        "closeness": closeness,
        "reach": reach,
        "diameter": int(eccentricity.max()) if some else None,
        "radius": int(eccentricity.min()) if some else None,
        "checksum": checksum,
    }
    return {word: found[word] for word in wanted}
