"""Builds the package: maturin makes the extension module, and the command `firsttouch` goes beside it.

`firsttouch.tune` needs the command, and of the same version. A wheel takes it as data of the kind `scripts`, which pip puts
beside the interpreter. Only where the sources of the command are not there (a source distribution has those of the module
alone) is it left out, and looked for on the search path when it is needed.
"""

import os
import shlex
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import maturin
from maturin import (  # noqa: F401 (hooks of a build backend that need nothing else)
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)

HERE = Path(__file__).resolve().parent.parent
WORKSPACE = HERE.parent.parent


@contextmanager
def data():
    """The folder that maturin takes the data of a wheel from, as pyproject.toml names it, for the time of a step."""
    folder = HERE / "firsttouch.data"
    folder.mkdir(exist_ok=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    with data():
        return maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def prepare_metadata_for_build_editable(metadata_directory, config_settings=None):
    with data():
        return maturin.prepare_metadata_for_build_editable(metadata_directory, config_settings)


def build_sdist(sdist_directory, config_settings=None):
    with data():
        return maturin.build_sdist(sdist_directory, config_settings)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with data() as folder, both(folder):
        return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    with data() as folder, both(folder):
        return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


@contextmanager
def both(folder):
    """Has maturin's call of Cargo build the command, too, if its sources are there, and add it to the data of a wheel."""
    if not (WORKSPACE / "crates/firsttouch-cli/Cargo.toml").exists():
        yield
        return
    cargo = shutil.which(os.environ.get("CARGO", "cargo"))
    if cargo is None:
        raise SystemExit("Cargo is missing: install Rust 1.89 or newer from https://rustup.rs")
    scripts = folder / "scripts"
    # Beside the sources, because programs cannot be started from every folder for temporary files.
    with tempfile.TemporaryDirectory(prefix=".cargo-", dir=HERE) as place:
        # Maturin calls the program that the variable CARGO names, as Cargo's own subcommands do.
        instead = Path(place, "cargo")
        words = [sys.executable, "-I", HERE / "backend/firsttouch_cargo.py", cargo, scripts]
        instead.write_text("#!/bin/sh\nexec " + " ".join(shlex.quote(str(word)) for word in words) + ' "$@"\n')
        instead.chmod(0o700)
        before = os.environ.get("CARGO")
        os.environ["CARGO"] = str(instead)
        try:
            yield
        finally:
            del os.environ["CARGO"]
            if before is not None:
                os.environ["CARGO"] = before
    if not (scripts / "firsttouch").exists():
        raise SystemExit("the command `firsttouch` was not built: this maturin does not call the Cargo that CARGO names")
