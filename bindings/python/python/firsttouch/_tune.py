"""Finding the best placement of a program, and proving it, by the command `firsttouch tune`.

A session starts many processes, controls what they inherit and times them: work for a process without an interpreter, its
threads and its memory. So it is the command that does it; the package installs it beside the interpreter.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Optional, Union

from ._errors import ArgumentError, TuneError, UnsupportedError

Word = Union[str, "os.PathLike[str]"]


class Tuned:
    """A session: what was asked, obtained and proved for every configuration."""

    def __init__(self, document: dict[str, Any], text: str, page: str) -> None:
        #: The document that `tune --export-json` writes (docs/reference.md).
        self.document = document
        #: The report as one HTML file, the document inside: `firsttouch report` opens it again.
        self.html = page
        self._text = text

    @property
    def winner(self) -> Optional[str]:
        """The name of the configuration that was faster than the baseline; `None` if nothing helps."""
        winner: Optional[str] = self.document["winner"]
        return winner

    @property
    def verdict(self) -> Optional[str]:
        """What the fresh runs said of the winner: faster, slower, same or undecided; `None` without one."""
        confirmation = self.document["confirmation"]
        return confirmation["verdict"] if confirmation else None

    @property
    def ratio(self) -> Optional[tuple[float, float, float]]:
        """How many times faster than the baseline the winner was in fresh runs, and the 95 % interval: value, low, high."""
        ratio = (self.document["confirmation"] or {}).get("ratio")
        return (ratio["value"], ratio["low"], ratio["high"]) if ratio else None

    def to_dict(self) -> dict[str, Any]:
        """The document."""
        return self.document

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        # What lies between the styles of the page, which are not for a notebook, and the document.
        _, begin, rest = self.html.partition("<header>")
        body, end, _ = rest.partition("</main>")
        return begin + body + end


def tune(
    command: Sequence[Word],
    *,
    configs: Union[None, str, Iterable[str]] = None,
    baseline: Optional[str] = None,
    rivals: bool = False,
    quick: bool = False,
    precision: Optional[str] = None,
    max_runs: Optional[int] = None,
    budget: Union[None, str, int, float] = None,
    seed: Optional[int] = None,
    save: Optional[Word] = None,
    progress: bool = True,
) -> Tuned:
    """Runs a command under several placements, in random order, and answers which is faster, by how much, and how sure that
    is. "Nothing helps" is an answer, too.

    >>> firsttouch.tune([sys.executable, "model.py"], quick=True)

    The arguments are the options of `firsttouch tune`: `configs` are placements in the short form (`"thp"`,
    `"2m,min-size=4M"`); `budget` is seconds, or a time such as `"10m"`; `save` keeps the winning placement as a profile
    for `firsttouch run --profile`. With `progress`, what the command says meanwhile goes to `sys.stderr`.
    """
    if isinstance(command, (str, bytes)) or not command:
        raise ArgumentError("a command is a list of words", 'tune(["python3", "model.py"]); shlex.split() cuts a line')
    if isinstance(configs, str):
        configs = [configs]
    if isinstance(budget, (int, float)):
        budget = f"{round(budget * 1000)}ms"
    options: list[str] = []
    for name, value in [
        ("--baseline", baseline),
        ("--precision", precision),
        ("--max-runs", max_runs),
        ("--budget", budget),
        ("--seed", seed),
        ("--save", save),
    ]:
        if value is not None:
            options += [name, os.fspath(value) if isinstance(value, os.PathLike) else str(value)]
    for config in configs or []:
        options += ["--configs", config]
    options += [name for name, wanted in [("--rivals", rivals), ("--quick", quick)] if wanted]
    with tempfile.TemporaryDirectory(prefix="firsttouch-") as folder:
        data, page, text = (Path(folder, name) for name in ("tune.json", "tune.html", "tune.txt"))
        words = [_program(), "tune", *options, "--export-json", str(data), "--export-html", str(page), "--"]
        words += [os.fspath(word) for word in command]
        status, said = _run(words, text, progress)
        if status != 0 or not data.exists():
            raise _failure(status, said)
        return Tuned(json.loads(data.read_text()), text.read_text(), page.read_text())


def _program() -> str:
    """The command, as it was installed with the package, or by the search path."""
    beside = Path(sysconfig.get_path("scripts"), "firsttouch")
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("firsttouch")
    if found is None:
        raise UnsupportedError(
            "the command `firsttouch` is neither beside this Python nor on the search path",
            "cargo install --path crates/firsttouch-cli",
        )
    return found


def _run(words: list[str], text: Path, progress: bool) -> tuple[int, str]:
    """The exit status, and the last lines of what was said on the way."""
    said: list[str] = []
    with text.open("w") as output:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE, text=True)
        with process:
            assert process.stderr is not None
            try:
                for line in process.stderr:
                    said = [*said[-39:], line]
                    if progress:
                        sys.stderr.write(line)
            except KeyboardInterrupt:
                # The command was interrupted as well, and puts back what it changed.
                process.wait()
                raise
    return process.returncode, "".join(said)


def _failure(status: int, said: str) -> TuneError:
    """The error as the command said it: what, its causes, and after an empty line the hint."""
    _, _, error = said.rpartition("error: ")
    what, _, rest = error.partition("\n\n")
    message = "; ".join(line.strip() for line in what.splitlines() if line.strip())
    hints = [line[len("hint: ") :] for line in rest.splitlines() if line.startswith("hint: ")]
    return TuneError(message or f"firsttouch tune ended with status {status}", " ".join(hints), status)
