"""What the benches of `firsttouch attach` share: programs to attach to, and attaching.

The programs are those of the tests (crates/firsttouch-cli/tests/attach): they say `ready PID`, then a line a round.
"""

import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from stacks import Stacks

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCES = os.path.join(TOP, "crates/firsttouch-cli/tests/attach")
FIRSTTOUCH = os.environ.get("FIRSTTOUCH", os.path.join(TOP, "target/release/firsttouch"))


class Workshop:
    """A folder for what is built and what is written, gone at the end."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="firsttouch-attach-")
        os.chmod(self.folder, 0o755)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def compiled(self, source):
        program = os.path.join(self.folder, os.path.splitext(os.path.basename(source))[0])
        command = ["cc", "-O2", "-pthread", "-o", program, os.path.join(SOURCES, source)]
        subprocess.run(command, check=True)
        return program

    def programs(self):
        """The words that start each program that can be started here; the number of rounds and the size follow."""

        def source(name):
            return os.path.join(SOURCES, "programs", name)

        def built(*command, **variables):
            subprocess.run(command, check=True, env={**os.environ, **variables})

        found = {"C": [self.compiled("programs/gather.c")]}
        found["Python"] = [sys.executable, source("heap.py")]
        if shutil.which("Rscript"):
            found["R"] = ["Rscript", "--vanilla", source("heap.R")]
        if shutil.which("javac"):
            built("javac", "-d", self.folder, source("Heap.java"))
            found["Java"] = ["java", "-Xmx4g", "-cp", self.folder, "Heap"]
        if shutil.which("node"):
            found["Node.js"] = ["node", source("heap.js")]
        if shutil.which("go"):
            program = os.path.join(self.folder, "heap")
            built("go", "build", "-o", program, source("heap.go"), CGO_ENABLED="0", GO111MODULE="off")
            found["Go"] = [program]
        if shutil.which("postgres") or glob.glob("/usr/lib/postgresql/*/bin/postgres"):
            found["PostgreSQL"] = [source("postgres.sh")]
        return found


class Target:
    """A running program; `lines` has what it said, each with the time when it did."""

    def __init__(self, words, folder):
        self.folder = tempfile.mkdtemp(dir=folder)
        os.chmod(self.folder, 0o755)
        self.process = subprocess.Popen(
            words, cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        line = self.process.stdout.readline().split()
        if line[:1] != ["ready"]:
            sys.exit(f"{words[0]} said {line} instead of `ready`")
        self.pid = int(line[1])
        self.lines, self.heard = [], threading.Condition()
        threading.Thread(target=self._hear, daemon=True).start()

    def _hear(self):
        for line in self.process.stdout:
            with self.heard:
                self.lines.append((time.monotonic(), line.strip()))
                self.heard.notify_all()

    def ask(self, line):
        """Writes a line to its input; the document it answers with."""
        with self.heard:
            count = len(self.lines)
            print(line, file=self.process.stdin, flush=True)
            self.heard.wait_for(lambda: len(self.lines) > count)
            return json.loads(self.lines[count][1])

    def rate(self, seconds):
        """Rounds a second, from the first round that ends from now on to the last one within that time."""
        begin = time.monotonic()
        time.sleep(seconds)
        with self.heard:
            # Long rounds need longer.
            self.heard.wait_for(lambda: len(self._since(begin)) >= 4)
            times = self._since(begin)
        return (len(times) - 1) / (times[-1] - times[0])

    def _since(self, begin):
        return [at for at, _ in self.lines if at > begin]

    def finish(self):
        """Its exit status."""
        open(os.path.join(self.folder, "stop"), "w").close()
        self.process.stdin.close()
        return self.process.wait()


def warm(amount):
    """Creates and gives back as many bytes, on huge pages, so that free memory is as quick as it gets."""
    subprocess.run([FIRSTTOUCH, "warm", str(amount)], env={**os.environ, "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}, check=True)


def attach(target, folder, *options, waits=None):
    """Attaches to it; the report, and how many seconds that took. Where it waited is added to `waits`, if there are any."""
    command = [FIRSTTOUCH, "attach", str(target.pid), "--json", *options]
    begin = time.monotonic()
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env={**os.environ, "XDG_STATE_HOME": folder}, **piped) as running:
        sampler = None if waits is None else Stacks(running.pid)
        said, complaints = running.communicate()
        seconds = time.monotonic() - begin
        if sampler:
            waits += sampler.stop()
    if running.returncode:
        sys.exit(f"{' '.join(command)}: exit status {running.returncode}\n{complaints}")
    return json.loads(said), seconds


# 97.5 % quantiles of Student's t by degrees of freedom, from 1 to 30.
STUDENT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
           2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042]
