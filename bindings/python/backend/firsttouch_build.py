"""Builds the package: maturin makes the extension module, and the command `firsttouch` goes beside it.

`firsttouch.tune` needs the command, and of the same version. A wheel takes it as data of the kind `scripts`, which pip puts
beside the interpreter. Only where the sources of the command are not there (a source distribution has those of the module
alone) is it left out, and looked for on the search path when it is needed.
"""

import os
import shutil
import subprocess
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
    with data() as folder:
        add_command(folder, config_settings)
        return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    with data() as folder:
        add_command(folder, config_settings)
        return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


def add_command(folder, config_settings):
    """Builds the command, if its sources are there, and adds it to the data of a wheel."""
    if not (WORKSPACE / "crates/firsttouch-cli/Cargo.toml").exists():
        return
    if shutil.which("cargo") is None:
        raise SystemExit("Cargo is missing: install Rust 1.89 or newer from https://rustup.rs")
    # For a quicker build: pip install --config-settings=build-args=--profile=dev, which maturin understands as well.
    words = str((config_settings or {}).get("build-args", "")).split()
    profile = next((word.partition("=")[2] for word in words if word.startswith("--profile=")), "release")
    subprocess.run(
        ["cargo", "build", "--locked", "--profile", profile, "-p", "firsttouch-cli"], cwd=WORKSPACE, check=True
    )
    target = WORKSPACE / (os.environ.get("CARGO_TARGET_DIR") or "target")
    scripts = folder / "scripts"
    scripts.mkdir()
    shutil.copy2(target / ("debug" if profile == "dev" else profile) / "firsttouch", scripts)
