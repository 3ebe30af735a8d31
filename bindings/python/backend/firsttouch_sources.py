"""The source archive: the repository as git has it, and what makes it a package of Python's at its root.

Whoever builds from the archive has no git there, and gets the same archive again: it holds all that lies there.
"""

import gzip
import io
import os
import subprocess
import tarfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
ROOT = PACKAGE.parent.parent

#: What an archive has beside the files of the repository.
ADDED = ("PKG-INFO", "pyproject.toml")
#: Folders that are made beside the sources, by Cargo, Python and the tools that check it.
MADE = ("target", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", "firsttouch.data")


def write(folder, metadata):
    """Writes the archive into a folder, and says its name; `metadata` is what a wheel says of the package."""
    fields = dict(line.split(": ", 1) for line in metadata.decode().split("\n\n")[0].splitlines() if ": " in line)
    base = f"{fields['Name']}-{fields['Version']}"
    added = dict(zip(ADDED, (metadata, project().encode())))
    time = epoch()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted({*files(), *added}):
            about = tarfile.TarInfo(f"{base}/{name}")
            data = added[name] if name in added else (ROOT / name).read_bytes()
            about.size, about.mtime = len(data), time
            about.mode = 0o755 if name not in added and os.access(ROOT / name, os.X_OK) else 0o644
            archive.addfile(about, io.BytesIO(data))
    # Neither names nor times of this machine: of the same sources comes the same archive.
    with open(Path(folder, f"{base}.tar.gz"), "wb") as file:
        with gzip.GzipFile("", "wb", 9, file, mtime=time) as pressed:
            pressed.write(packed.getvalue())
    return f"{base}.tar.gz"


def files():
    """The files of the repository, by their names in it."""
    if (ROOT / ".git").exists():
        listed = git("ls-files", "-z").split("\0")
        # One that was removed and is not yet gone from the next commit is not packed.
        return [name for name in listed if name and (ROOT / name).is_file()]
    found = []
    for folder, inner, names in os.walk(ROOT):
        inner[:] = [name for name in inner if name not in MADE and not name.startswith(".cargo-")]
        found += [Path(folder, name).relative_to(ROOT).as_posix() for name in names]
    return [name for name in found if name not in ADDED]


def project():
    """The `pyproject.toml` at the root of an archive, which only says where the package in it is built."""
    text = (PACKAGE / "pyproject.toml").read_text()
    inner = 'backend-path = ["backend"]'
    if inner not in text:
        raise SystemExit(f"pyproject.toml does not say {inner}")
    system = text[: text.index("\n[project]")].replace(inner, 'backend-path = ["bindings/python/backend"]')
    return f"# What the package is stands in bindings/python/pyproject.toml.\n{system}"


def epoch():
    """The time of all files: SOURCE_DATE_EPOCH, that of the last commit, or that which an archive gave them."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is None and (ROOT / ".git").exists():
        given = git("log", "-1", "--format=%ct")
    return int((ROOT / "Cargo.toml").stat().st_mtime if given is None else given)


def git(*words):
    """What git says of the repository; it has to answer, or what is no source would be packed with the sources."""
    try:
        return subprocess.run(["git", "-C", ROOT, *words], stdout=subprocess.PIPE, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"git does not tell which files are sources: {error}") from error
