#!/usr/bin/env python3
"""What `firsttouch watch` costs, by the size of what it watches.

    benches/watch_cost.py [SECONDS]          20 seconds for each program if not given

Each program is brought into its state, then watched with the default interval and budget. `core` is the processor time of
the whole watching process, its start included, over the wall-clock time, as the kernel counted it for its parent; `said` is what
the last sample said of itself. `call` is the longest single call while the page tables were walked, the median over the walks and
the longest of all: no thread of the program that maps or unmaps memory waits longer. On a busy machine it holds the time that
others took the CPU. FIRSTTOUCH names the program, CC the compiler. Needs 5 GiB of free memory.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile

FIRSTTOUCH = os.environ.get("FIRSTTOUCH", "target/release/firsttouch")
SOURCE = "crates/firsttouch-cli/tests/cli/c/steps.c"
STATES = [
    ("a small program", []),
    ("4 GiB, small pages", ["map 4096", "touch"]),
    ("4 GiB, huge pages", ["map 4096", "touch", "collapse"]),
    ("4 GiB in 10,000 mappings", ["scatter 10000 4096"]),
    ("1,000 threads", ["threads 1000"]),
    ("100 processes (--tree)", ["child 8"] * 100),
]


def watched(program, steps, seconds):
    target = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for step in steps:
        target.stdin.write(step + "\n")
        target.stdin.flush()
        if target.stdout.readline() != "ok\n":
            return None
    options = ["--tree"] if steps and steps[0].startswith("child") else []
    command = [FIRSTTOUCH, "watch", "--json", "--duration", f"{seconds}s", *options, str(target.pid)]
    with tempfile.TemporaryFile("w+") as lines:
        watching = subprocess.Popen(command, stdout=lines)
        _, status, usage = os.wait4(watching.pid, 0)
        assert status == 0, status
        lines.seek(0)
        said = [json.loads(line) for line in lines]
    target.stdin.close()
    target.wait()
    # The first and the last line are of the whole.
    samples = [line for line in said if line["kind"] == "watch-sample"]
    return samples, usage.ru_utime + usage.ru_stime


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/steps"
        subprocess.run([os.environ.get("CC", "cc"), "-O1", "-pthread", "-o", program, SOURCE], check=True)
        print(f"{'':26} {'core':>8} {'said':>8} {'samples':>8} {'walks':>6} {'call':>9} {'longest':>9}")
        for name, steps in STATES:
            found = watched(program, steps, seconds)
            if not found:
                print(f"{name:26} not to be had here: memory is short, or in pieces")
                continue
            samples, used_s = found
            walks = [sample["memory"] for sample in samples if sample["memory"]]
            said = samples[-1]["cost"]["core_share"]
            calls = sorted(walk["longest_call_s"] for walk in walks)
            print(
                f"{name:26} {100 * used_s / seconds:6.2f} % {100 * said:6.2f} % {len(samples):8} {len(walks):6}"
                f" {1e3 * statistics.median(calls):6.2f} ms {1e3 * calls[-1]:6.2f} ms",
                flush=True,
            )


main()
