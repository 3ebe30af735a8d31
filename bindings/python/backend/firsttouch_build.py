"""Builds the package: maturin makes the extension module, and the command `firsttouch` goes beside it.

Whoever keeps a placement by `firsttouch.tune(…, save=…)` runs programs under it by the command, so both come together, of the
same version. A wheel takes the command as data of the kind `scripts`, which pip puts beside the interpreter. The module needs it
for nothing.
"""

import fcntl
import os
import shlex
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import firsttouch_sources
import firsttouch_tag
import maturin
from maturin import (  # noqa: F401 (hooks of a build backend that need nothing else)
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)

HERE = Path(__file__).resolve().parent.parent


@contextmanager
def alone():
    """Waits until nobody else builds from these sources."""
    sources = os.open(HERE, os.O_RDONLY)
    try:
        fcntl.flock(sources, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("firsttouch: waits for another build from the same sources", file=sys.stderr, flush=True)
        fcntl.flock(sources, fcntl.LOCK_EX)
    except OSError:
        # A file system without locks of folders (NFS): two builds at once are then not kept apart.
        pass
    try:
        yield
    finally:
        os.close(sources)


@contextmanager
def data():
    """The folder that maturin takes the data of a wheel from, as pyproject.toml names it, for the time of a step.

    Maturin looks for that file where it is started, and a source archive is built from its root.
    """
    folder, before = HERE / "firsttouch.data", Path.cwd()
    with alone():
        folder.mkdir(exist_ok=True)
        os.chdir(HERE)
        try:
            yield folder
        finally:
            os.chdir(before)
            shutil.rmtree(folder)


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    metadata_directory = os.path.abspath(metadata_directory)
    with data():
        return maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def prepare_metadata_for_build_editable(metadata_directory, config_settings=None):
    metadata_directory = os.path.abspath(metadata_directory)
    with data():
        return maturin.prepare_metadata_for_build_editable(metadata_directory, config_settings)


def build_sdist(sdist_directory, config_settings=None):
    with tempfile.TemporaryDirectory() as folder:
        about = prepare_metadata_for_build_wheel(folder, config_settings)
        return firsttouch_sources.write(sdist_directory, Path(folder, about, "METADATA").read_bytes())


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    wheel_directory = os.path.abspath(wheel_directory)
    with data() as folder, both(folder) as carried:
        name = maturin.build_wheel(wheel_directory, config_settings, metadata_directory)
        return firsttouch_tag.retag(Path(wheel_directory, name), list(carried.glob("*")))


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    wheel_directory = os.path.abspath(wheel_directory)
    with data() as folder, both(folder):
        return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


@contextmanager
def both(folder):
    """Has maturin's call of Cargo build the command, too, and adds it to the data of a wheel.

    Gives a folder where the agent lies then, as the command carries it.
    """
    cargo = shutil.which(os.environ.get("CARGO", "cargo"))
    if cargo is None:
        raise SystemExit("Cargo is missing: install Rust 1.89 or newer from https://rustup.rs")
    scripts = folder / "scripts"
    # Beside the sources, because programs cannot be started from every folder for temporary files.
    with tempfile.TemporaryDirectory(prefix=".cargo-", dir=HERE) as place:
        # Maturin calls the program that the variable CARGO names, as Cargo's own subcommands do.
        instead, carried = Path(place, "cargo"), Path(place, "carried")
        words = [sys.executable, "-I", HERE / "backend/firsttouch_cargo.py", cargo, scripts, carried]
        instead.write_text("#!/bin/sh\nexec " + " ".join(shlex.quote(str(word)) for word in words) + ' "$@"\n')
        instead.chmod(0o700)
        before = os.environ.get("CARGO")
        os.environ["CARGO"] = str(instead)
        try:
            yield carried
        finally:
            del os.environ["CARGO"]
            if before is not None:
                os.environ["CARGO"] = before
    if not (scripts / "firsttouch").exists():
        raise SystemExit("the command `firsttouch` was not built: this maturin does not call the Cargo that CARGO names")
