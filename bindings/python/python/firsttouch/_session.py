"""The process of a session of `tune`. It reads what is asked, a line, and writes what the session does and what came of it,
in lines, too; all of them are JSON.

The programs of a session are forked from the process that runs it, and the kernel counts what that one has in the peak
memory of what it forks: with the arrays of the caller, every program would seem as large. So a session has a process of its
own, which loads no NumPy.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from . import _core
from ._errors import TuneError

#: Keeps as many bytes warm as its last word says; the word before is where this package is.
WARM_UP = "import sys; sys.path.insert(0, sys.argv[1]); from firsttouch import _core; _core.warm(int(sys.argv[2]))"


def main() -> None:
    request = json.loads(sys.stdin.buffer.readline())
    here = Path(__file__).resolve().parent.parent
    request["warm_up"] = (sys.executable, ["-I", "-S", "-c", WARM_UP, str(here)])
    try:
        found = _core.session(request, list(os.environ.items()), lambda words: _write(said=words))
    except TuneError as error:
        _write(error=error.message, hint=error.hint, status=error.status)
    else:
        _write(**dict(zip(("document", "page", "text", "profile", "why"), found)))


def _write(**line: object) -> None:
    print(json.dumps(line), flush=True)
