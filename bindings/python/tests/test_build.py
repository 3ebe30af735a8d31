"""How the package is built: the command and the extension module by one call of Cargo."""

import importlib.metadata
import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import firsttouch
import pytest

CALLED = Path(__file__).resolve().parent.parent / "backend/firsttouch_cargo.py"

#: A Cargo that writes down how it was called, and says that it built a library, the command and another program.
CARGO = """\
#!{python}
import json, os, sys
assert "CARGO" not in os.environ
with open({log!r}, "a") as log:
    print(json.dumps(sys.argv[1:]), file=log)
print(json.dumps({{"reason": "compiler-artifact", "filenames": ["lib_core.so"], "executable": None}}))
print(json.dumps({{"reason": "compiler-artifact", "filenames": [{program!r}], "executable": {program!r}}}))
print(json.dumps({{"reason": "compiler-artifact", "filenames": [{other!r}], "executable": {other!r}}}))
print(json.dumps({{"reason": "build-script-executed", "out_dir": {out!r}}}))
print(json.dumps({{"reason": "build-script-executed", "out_dir": "elsewhere"}}))
print("no message")
print(7)
sys.exit({status})
"""

#: What one call of Cargo puts where the wheel is made.
BOTH = ["firsttouch", "libfirsttouch_preload.so.z"]

if not CALLED.exists():
    pytest.skip("the sources of the package are not beside its tests", allow_module_level=True)


def call(folder, *words, status=0):
    """What Cargo was called with, what it was heard to say, the exit status, and what is put for the wheel."""
    program = folder / "firsttouch"
    program.write_text("the command")
    (folder / "libfirsttouch_preload.so.z").write_text("the agent")
    log, cargo, scripts, carried = folder / "log", folder / "cargo", folder / "scripts", folder / "carried"
    names = {"log": str(log), "program": str(program), "other": str(folder / "package-1"), "out": str(folder)}
    cargo.write_text(CARGO.format(python=sys.executable, status=status, **names))
    cargo.chmod(0o700)
    done = subprocess.run(
        [sys.executable, "-I", CALLED, cargo, scripts, carried, *words],
        env={**os.environ, "CARGO": str(CALLED)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    calls = [json.loads(line) for line in log.read_text().splitlines()]
    put = sorted(path.name for place in (scripts, carried) for path in place.glob("*"))
    return calls, done.stdout, done.returncode, put


def test_one_call_of_cargo_builds_both(tmp_path):
    calls, said, status, scripts = call(tmp_path, "rustc", "--profile", "dev", "--lib", "--locked")
    assert calls == [["build", "-p", "firsttouch-cli", "-p", "firsttouch-python", "--profile", "dev", "--locked"]]
    assert (status, scripts) == (0, BOTH)
    # Maturin looks for the library in what Cargo says, and knows nothing of a program.
    assert "lib_core.so" in said and "no message" in said and "executable\": \"" not in said


def test_flags_for_the_compiler_are_for_the_module_alone(tmp_path):
    calls, _, status, scripts = call(tmp_path, "rustc", "--lib", "--release", "--", "-C", "link-arg=-s")
    flags = ["--", "-C", "link-arg=-s"]
    assert calls == [["build", "-p", "firsttouch-cli", "--release"], ["rustc", "--lib", "--release", *flags]]
    assert (status, scripts) == (0, BOTH)


def test_other_calls_are_cargos_own(tmp_path):
    calls, _, status, scripts = call(tmp_path, "metadata", "--format-version", "1")
    assert (calls, status, scripts) == ([["metadata", "--format-version", "1"]], 0, [])


def test_a_build_that_fails_is_a_failure(tmp_path):
    for words in (["rustc", "--lib"], ["rustc", "--lib", "--", "-C", "link-arg=-s"]):
        calls, _, status, _ = call(tmp_path, *words, status=101)
        assert status == 101 and len(calls) == 1
        (tmp_path / "log").unlink()


def test_the_version_is_that_of_what_is_installed():
    installed = importlib.metadata.version("firsttouch")
    command = Path(sysconfig.get_path("scripts")) / "firsttouch"
    told = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout
    assert (firsttouch.__version__, told) == (installed, f"firsttouch {installed}\n")
