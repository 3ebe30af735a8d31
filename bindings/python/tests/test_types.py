"""The annotations: strict, and those of the extension module true to it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import firsttouch

SOURCES = Path(__file__).resolve().parent.parent / "python"

PROGRAM = """
import numpy as np
import firsttouch

array: np.ndarray = firsttouch.full((2, 3), 1.5, pages="thp", on_fallback="raise")
seen: firsttouch.Obtained = firsttouch.obtained(array)
with firsttouch.pages("thp", min_bytes=1 << 20), firsttouch.pin([0]) as pinned:
    print(pinned.threads[0].cpu, seen.shortfalls)
firsttouch.zeros(3, on_fallback="hope")  # refused
"""


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """Runs mypy, or its stubtest. Reading NumPy's types takes long, and is done once."""
    pytest.importorskip("mypy")
    environment = {**os.environ, "MYPY_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}

    def run(*words, cwd):
        command = [sys.executable, "-m", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=cwd, env=environment)

    return run


def test_the_package_is_strictly_typed(mypy):
    assert (Path(firsttouch.__file__).parent / "py.typed").exists()
    done = mypy("mypy", "--strict", "-p", "firsttouch", cwd=SOURCES)
    assert done.returncode == 0, done.stdout + done.stderr


def test_users_see_the_types(mypy, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = mypy("mypy", "program.py", cwd=tmp_path)
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert len(errors) == 1 and "hope" in errors[0] + PROGRAM.splitlines()[int(errors[0].split(":")[1]) - 1], done.stdout


def test_the_stubs_are_those_of_the_module(mypy, tmp_path):
    done = mypy("mypy.stubtest", "--concise", "firsttouch._core", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
