"""Random operations on arrays with NumPy's allocation handler switched on and off (torture.py), each in a process of its own.

FIRSTTOUCH_TORTURE_OPERATIONS asks for more operations of each thread, FIRSTTOUCH_TORTURE_SEED for others."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torture

PROGRAM = Path(torture.__file__)


@pytest.mark.parametrize(
    ("seed", "threads", "operations", "more"),
    [(1, 1, 60, ["--bare"]), (2, 1, 120, []), (3, 3, 40, [])],
    ids=["without us", "alone", "by threads"],
)
def test_torture(seed, threads, operations, more, tmp_path):
    seed = int(os.environ.get("FIRSTTOUCH_TORTURE_SEED", seed))
    operations = int(os.environ.get("FIRSTTOUCH_TORTURE_OPERATIONS", operations))
    notes = tmp_path / "notes"
    notes.touch()
    words = ["--seed", seed, "--operations", operations, "--threads", threads, *more]
    command = [sys.executable, "-W", "error", "-X", "faulthandler", str(PROGRAM), *map(str, words)]
    done = subprocess.run([*command, "--notes", str(notes)], capture_output=True, text=True)
    told = torture.noted(notes.read_bytes(), threads) if notes.stat().st_size else "the beginning"
    assert (done.returncode, done.stdout) == (0, "done\n"), (
        f"seed {seed}: status {done.returncode} at {told}\n{done.stderr}\nrepeat it by\n  {' '.join(command)}"
    )
