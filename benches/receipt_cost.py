#!/usr/bin/env python3
"""What the looks for a receipt cost, by the size of what is looked at.

    benches/receipt_cost.py [SECONDS [LOOPS]]    10 seconds of processor time for each program, no loops if not given

Each program works for so many seconds of processor time under `run --receipt`, beside so many loops that keep processors busy. `looks`
is the processor time of all that is there beside the program, the start of the command included, as the kernel counted it, and its part
of the program's own. `seen` is what the receipt has of what was resident at the peak, of no file. FIRSTTOUCH names the command, CC the
compiler. Needs 7 GiB of free memory.
"""

import json
import os
import subprocess
import sys
import tempfile

FIRSTTOUCH = os.environ.get("FIRSTTOUCH", "target/release/firsttouch")
SOURCE = os.path.join(os.path.dirname(__file__), "looked_at.c")
SHAPES = [(100, 10, 1), (1000, 10, 1), (20000, 100, 1), (100, 1024, 1), (100, 6144, 1), (100, 1, 200)]


def looked_at(program, shape, seconds, folder):
    receipt = f"{folder}/receipt"
    words = [program, *map(str, shape), str(seconds)]
    running = subprocess.Popen([FIRSTTOUCH, "run", "--receipt", receipt, "--", *words], stdout=subprocess.PIPE)
    own_s = float(running.stdout.read())
    _, status, usage = os.wait4(running.pid, 0)
    running.returncode = status
    assert status == 0, status
    with open(receipt) as file:
        at_peak = json.load(file)["tree"]["at_peak"]
    seen = sum(at_peak.get(kind, {}).get("bytes", 0) for kind in ["placed", "private", "shared"])
    return own_s, usage.ru_utime + usage.ru_stime - own_s, seen


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    loops = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(loops)]
    try:
        with tempfile.TemporaryDirectory() as folder:
            program = f"{folder}/looked_at"
            subprocess.run([os.environ.get("CC", "cc"), "-O1", "-o", program, SOURCE], check=True)
            print(f"{'mappings':>8} {'MiB':>6} {'processes':>9} {'program':>9} {'looks':>19} {'seen':>9}")
            for shape in SHAPES:
                own_s, looks_s, seen = looked_at(program, shape, seconds, folder)
                mappings, mib, processes = shape
                print(
                    f"{mappings:8} {mib:6} {processes:9} {own_s:7.2f} s {1e3 * looks_s:7.0f} ms {100 * looks_s / own_s:6.2f} %"
                    f" {seen >> 20:5} MiB",
                    flush=True,
                )
    finally:
        for loop in busy:
            loop.kill()
            loop.wait()


main()
