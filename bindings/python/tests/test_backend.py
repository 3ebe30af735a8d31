"""The build backend, as far as it can be tried without building anything."""

import subprocess
import sys
from pathlib import Path

import pytest

BACKEND = Path(__file__).resolve().parent.parent / "backend"
if not BACKEND.exists():
    pytest.skip("the sources of the package are not beside its tests", allow_module_level=True)
pytest.importorskip("maturin")

STEP = f"""
import sys
sys.path.insert(0, {str(BACKEND)!r})
import firsttouch_build
with firsttouch_build.data() as folder:
    print("begun", flush=True)
    sys.stdin.readline()
    print(folder.exists(), flush=True)
"""


def test_two_builds_from_the_same_sources_come_one_after_the_other():
    def start():
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return subprocess.Popen([sys.executable, "-I", "-c", STEP], text=True, **pipes)

    with start() as first:
        assert first.stdout.readline() == "begun\n"
        with start() as second:
            # Without the wait it would take the folder away from under the first.
            second.stdin.close()
            second.stdin = None
            said = second.stderr.readline()
            told, _ = first.communicate("\n", timeout=60)
            assert (told, first.returncode) == ("True\n", 0)
            assert "waits for another build" in said
            assert second.communicate(timeout=60)[0] == "begun\nTrue\n"
