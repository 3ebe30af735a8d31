#!/usr/bin/env python3
"""What `with firsttouch.pages("thp")` is worth to a memory-bound NumPy expression, as a ratio with an interval.

    benches/numpy_pages.py [--mib 2048] [--processes 10] [--rounds 4] [--pages thp] [--min-bytes N] [--seed N]

The expression is `a * b + a - b` over two arrays of half the size each. Every process evaluates it off and on, in random
order, on arrays made off and on: once to warm up, then so many times. Its ratio is that of the mean times; the interval is
Student's t over the logarithms of the processes. Before either, memory is touched and released, because in a virtual
machine the host takes freed memory back, and returns it slowly.

NumPy asks for huge pages itself, for arrays of 4 MiB and more, unless NUMPY_MADVISE_HUGEPAGE=0 is set; `off` has whatever
that gives, and the last lines tell what both had. Needs the package: pip install ./bindings/python
"""

import argparse
import json
import math
import mmap
import random
import statistics
import subprocess
import sys
import time

from attached import STUDENT

SAME = 0.02


def warm(bytes_):
    """Touches and releases memory."""
    with mmap.mmap(-1, bytes_, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        for page in range(0, bytes_, 4096):
            memory[page] = 1


def evaluate(arguments):
    """One process: the mean seconds of each side, and what its arrays had."""
    import contextlib

    import numpy as np

    import firsttouch

    count = arguments.mib * (1 << 20) // 2 // 8
    sides = {
        "off": contextlib.nullcontext,
        "on": lambda: firsttouch.pages(arguments.pages, min_bytes=arguments.min_bytes),
    }
    seen = {}
    for side in random.Random(arguments.seed).sample(sorted(sides), 2):
        warm(2 * arguments.mib << 20)
        with sides[side]():
            a, b = np.arange(count, dtype=float), np.linspace(0, 1, count)
            result, seconds = a * b + a - b, []
            for _ in range(arguments.rounds):
                # As in a program that computes again and again: the last result goes when the next one is there.
                begun = time.perf_counter()
                result = a * b + a - b
                seconds.append(time.perf_counter() - begun)
        share = [firsttouch.obtained(array).huge_share for array in (a, b, result)]
        check = float(result[::4099].sum())
        seen[side] = {"seconds": seconds, "huge": statistics.mean(share), "check": check}
        del a, b, result
    print(json.dumps(seen))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mib", type=int, default=2048)
    parser.add_argument("--processes", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--pages", default="thp")
    parser.add_argument("--min-bytes", type=int, default=1 << 20)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--evaluate", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.evaluate:
        return evaluate(arguments)
    if not 2 <= arguments.processes <= len(STUDENT) + 1:
        parser.error(f"2 to {len(STUDENT) + 1} processes")
    chance, runs = random.Random(arguments.seed), []
    for number in range(arguments.processes):
        words = [sys.executable, __file__, "--evaluate", "--seed", str(chance.randrange(1 << 32))]
        for name in ("mib", "rounds", "pages", "min_bytes"):
            words += [f"--{name.replace('_', '-')}", str(getattr(arguments, name))]
        runs.append(json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout))
        off, on = (statistics.mean(runs[-1][side]["seconds"]) for side in ("off", "on"))
        print(f"process {number + 1}: off {off:.3f} s, on {on:.3f} s", file=sys.stderr)
        if runs[-1]["off"]["check"] != runs[-1]["on"]["check"]:
            raise SystemExit("the results differ")
    means = {side: [statistics.mean(run[side]["seconds"]) for run in runs] for side in ("off", "on")}
    logs = [math.log(off / on) for off, on in zip(means["off"], means["on"])]
    mean, half = statistics.mean(logs), STUDENT[len(logs) - 2] * statistics.stdev(logs) / math.sqrt(len(logs))
    low, high = math.exp(mean - half), math.exp(mean + half)
    inside = 1 - SAME <= low and high <= 1 + SAME
    verdict = "same" if inside else "faster" if low > 1 else "slower" if high < 1 else "undecided"
    print(f"a * b + a - b over {arguments.mib} MiB, pages {arguments.pages}: {verdict}, "
          f"{math.exp(mean):.2f} [{low:.2f}, {high:.2f}] times as fast (seed {arguments.seed})")
    for side in ("off", "on"):
        huge = statistics.mean(run[side]["huge"] for run in runs)
        print(f"  {side:3} median {statistics.median(means[side]):.3f} s, {huge:.1%} of the arrays on huge pages")


if __name__ == "__main__":
    main()
