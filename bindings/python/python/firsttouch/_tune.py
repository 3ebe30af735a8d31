"""Finding the best placement of a program, and proving it, by a session in a process of its own (`_session`)."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Optional, Union

from ._errors import ArgumentError, TuneError, UnsupportedError

Word = Union[str, "os.PathLike[str]"]

#: Run by an interpreter that reads no settings and no site packages, and finds this package where it was found here.
SESSION = "import sys; sys.path.insert(0, sys.argv[1]); from firsttouch import _session; _session.main()"


class Tuned:
    """A session: what was asked, obtained and proved for every configuration."""

    def __init__(self, document: dict[str, Any], text: str, page: str) -> None:
        #: The document that `tune --export-json` writes (docs/documents.md).
        self.document = document
        #: The report as one HTML file, the document inside: `firsttouch report` opens it again.
        self.html = page
        self._text = text

    @property
    def recommended(self) -> Optional[str]:
        """The name of the configuration that was found better than the baseline and asks least of those that cannot be told
        apart from the best; `None` if nothing was."""
        recommended: Optional[str] = self.document["recommended"]
        return recommended

    @property
    def best(self) -> list[str]:
        """The names of all that are better than the baseline and cannot be told apart from the best, the best first."""
        best: list[str] = self.document["best"]
        return best

    @property
    def state(self) -> Optional[str]:
        """What the fresh runs said of the recommended one: `confirmed`, `refuted` or `not-yet`; `None` without any."""
        confirmation = self.document["confirmation"]
        return confirmation["state"] if confirmation else None

    @property
    def ratio(self) -> Optional[tuple[float, float, float]]:
        """How many times faster than the baseline the recommended one was in fresh runs, or better in what was judged, and the 95 %
        interval: value, low, high. Above 1 is better."""
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
    vary: Optional[Mapping[str, Iterable[object]]] = None,
    configs: Union[None, str, Iterable[str]] = None,
    baseline: Optional[str] = None,
    alternatives: bool = False,
    quick: bool = False,
    metric: str = "wall",
    higher_is_better: bool = False,
    same: Optional[str] = None,
    precision: Optional[str] = None,
    max_runs: Optional[int] = None,
    budget: Union[None, str, int, float] = None,
    seed: Optional[int] = None,
    warmup: Optional[int] = None,
    input: Optional[Word] = None,
    setup: Optional[str] = None,
    prepare: Optional[str] = None,
    conclude: Optional[str] = None,
    cleanup: Optional[str] = None,
    ignore_failure: bool = False,
    save: Optional[Word] = None,
    progress: bool = True,
) -> Tuned:
    """Runs a command under several placements, in random order, and answers which is faster, by how much, and how sure that
    is. "Nothing helps" is an answer, too.

    >>> firsttouch.tune([sys.executable, "model.py"], quick=True)

    The arguments are the options of `firsttouch tune`: `vary` holds values for names in braces, in `command` and in the lines
    (`vary={"threads": [1, 2, 4]}` for `["env", "OMP_NUM_THREADS={threads}", "./model"]`), and all combinations are compared; `configs`
    are placements in the short form (`"thp"`, `"2m,min-size=4M"`, `"mine:thp,heap"` with a name of its own); `metric` is what is
    judged, less being better unless `higher_is_better`: `"cpu"`, `"rss"`, or what the program says (`r"stdout:elapsed ([0-9.]+)"`,
    `"json:out.json:/seconds"`); `budget` is seconds, or a time such as `"1h"`, or `"none"` (without it ten minutes); `save` keeps the
    confirmed placement as a profile for `firsttouch run --profile`. `setup`, `prepare`, `conclude` and `cleanup` are lines for the
    shell. With `progress`, what the session does goes to `sys.stderr`.
    """
    if isinstance(command, (str, bytes)) or not command:
        raise ArgumentError("a command is a list of words", 'tune(["python3", "model.py"]); shlex.split() cuts a line')
    if isinstance(configs, str):
        configs = [configs]
    if isinstance(budget, (int, float)):
        budget = f"{round(budget * 1000)}ms"
    request = {
        "command": [os.fsdecode(word) for word in command],
        "vary": [{"name": name, "values": [_word(value) for value in values]} for name, values in (vary or {}).items()],
        "configs": list(configs or []),
        "baseline": "plain" if baseline is None else baseline,
        "alternatives": alternatives,
        "quick": quick,
        "metric": metric,
        "higher_is_better": higher_is_better,
        "same": "2%" if same is None else str(same),
        "precision": None if precision is None else str(precision),
        "max_runs": None if max_runs is None else str(max_runs),
        "budget": budget,
        "seed": None if seed is None else str(seed),
        "warmup": None if warmup is None else str(warmup),
        "input": None if input is None else os.fsdecode(input),
        "setup": setup,
        "prepare": prepare,
        "conclude": conclude,
        "cleanup": cleanup,
        "ignore_failure": ignore_failure,
        "started": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "columns": shutil.get_terminal_size().columns,
    }
    found = _session(request, progress)
    if "error" in found:
        raise TuneError(found["error"], found["hint"], found["status"])
    if save is not None:
        _save(Path(save), found, progress)
    return Tuned(json.loads(found["document"]), found["text"], found["page"])


def _word(value: object) -> str:
    return os.fsdecode(value) if isinstance(value, (str, bytes, os.PathLike)) else str(value)


def _session(request: dict[str, Any], progress: bool) -> dict[str, Any]:
    """What came of a session, as its last line says it."""
    if not sys.executable:
        raise UnsupportedError("this process does not say where its Python is", "sys.executable is the path of a Python")
    here = Path(__file__).resolve().parent.parent
    words = [sys.executable, "-I", "-S", "-c", SESSION, str(here)]
    # Apart from the terminal, where Ctrl-C would reach the program before the session knows that its end is wanted.
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(json.dumps(request) + "\n")
                process.stdin.flush()
            for line in process.stdout:
                told: dict[str, Any] = json.loads(line)
                if "said" not in told:
                    return told
                if progress:
                    print(told["said"], file=sys.stderr)
        except BaseException:
            _end(process)
            raise
    raise TuneError("the process of the session ended before its time", "", process.returncode)


def _end(process: subprocess.Popen[str]) -> None:
    """Has a session end its program, and waits for both; whoever is interrupted once more waits no longer."""
    assert process.stdin is not None and process.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write("end\n")
        process.stdin.close()
    try:
        # What it still writes must not keep it.
        process.stdout.read()
        process.wait()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        raise


def _save(file: Path, found: dict[str, Any], progress: bool) -> None:
    if found["profile"] is not None:
        file.write_text(found["profile"])
        said = f"the placement is kept in {file}"
    else:
        said = f"{found['why']}: {file} is not written"
    if progress:
        print(said, file=sys.stderr)
