"""What the tests share: programs in processes of their own, whether this machine has huge pages to give,
and a graph like a map."""

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import firsttouch
from firsttouch import graph

MIB = 1 << 20


def run(program, *arguments, **options):
    """Runs a program in a fresh interpreter; it must succeed. Answers what it printed."""
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, **options)
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def huge_pages():
    """Skips where transparent huge pages cannot be had, or not be seen."""
    array = firsttouch.zeros(64 * MIB, np.uint8, on_fallback="ignore")
    array[:] = 1
    share = firsttouch.obtained(array).huge_share
    if share is None or share < 0.95:
        pytest.skip(f"this machine gives no transparent huge pages now, or cannot show them: {share}")


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def pool_is_empty():
    """Whether there are no reserved pages, and none can be had for the asking."""
    sizes = (Path(f"/proc/sys/vm/nr_{name}hugepages").read_text().strip() for name in ("", "overcommit_"))
    return set(sizes) == {"0"}


def grid(side):
    """Crossings of streets, all of one length but for some noise."""
    draw = np.random.default_rng(7)
    at = np.arange(side * side).reshape(side, side)
    tails = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    heads = np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])
    weights = draw.integers(500, 1500, tails.size)
    tails, heads, weights = np.r_[tails, heads], np.r_[heads, tails], np.r_[weights, weights]
    order = np.argsort(tails, kind="stable")
    indptr = np.zeros(side * side + 1, np.int64)
    np.cumsum(np.bincount(tails), out=indptr[1:])
    return graph.from_csr((indptr, heads[order], weights[order]))
